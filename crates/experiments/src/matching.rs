//! The assignment problem: which fitted component is which true one.

use thiserror::Error;

/// Errors of the assignment problem.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MatchingError {
    /// A row is longer or shorter than the number of rows.
    #[error("the cost matrix has {rows} rows, but row {row} has {columns} columns")]
    NotSquare {
        /// Rows of the matrix.
        rows: usize,
        /// The offending row.
        row: usize,
        /// Its length.
        columns: usize,
    },
    /// A cost is infinite or not a number.
    #[error("the cost of giving row {row} column {column} is not finite")]
    NotFinite {
        /// The row of the cost.
        row: usize,
        /// The column of the cost.
        column: usize,
    },
}

/// The column of each row in the assignment of minimum total cost.
///
/// The Hungarian method with shortest augmenting paths, `O(n^3)`: Jonker and Volgenant, "A shortest augmenting
/// path algorithm for dense and sparse linear assignment problems", Computing 38, 1987.
pub fn assignment(cost: &[Vec<f64>]) -> Result<Vec<usize>, MatchingError> {
    let n = cost.len();
    for (row, costs) in cost.iter().enumerate() {
        if costs.len() != n {
            return Err(MatchingError::NotSquare { rows: n, row, columns: costs.len() });
        }
        if let Some(column) = costs.iter().position(|c| !c.is_finite()) {
            return Err(MatchingError::NotFinite { row, column });
        }
    }

    // Column `n` is the root of each search tree; `row_of[n]` is the row being placed.
    let mut row_price = vec![0.0; n];
    let mut column_price = vec![0.0; n + 1];
    let mut row_of = vec![usize::MAX; n + 1];
    for row in 0..n {
        row_of[n] = row;
        let mut slack = vec![f64::INFINITY; n];
        let mut parent = vec![n; n];
        let mut visited = vec![false; n + 1];
        let mut column = n;
        while row_of[column] != usize::MAX {
            visited[column] = true;
            let from = row_of[column];
            for to in (0..n).filter(|&to| !visited[to]) {
                let reduced = cost[from][to] - row_price[from] - column_price[to];
                if reduced < slack[to] {
                    slack[to] = reduced;
                    parent[to] = column;
                }
            }
            let unvisited = (0..n).filter(|&to| !visited[to]);
            let nearest = unvisited.min_by(|&a, &b| slack[a].total_cmp(&slack[b]));
            let nearest = nearest.expect("a free column remains for every unplaced row");
            let step = slack[nearest];
            for c in 0..=n {
                if visited[c] {
                    row_price[row_of[c]] += step;
                    column_price[c] -= step;
                } else {
                    slack[c] -= step;
                }
            }
            column = nearest;
        }
        while column != n {
            row_of[column] = row_of[parent[column]];
            column = parent[column];
        }
    }

    let mut column_of = vec![0; n];
    for (column, &row) in row_of[..n].iter().enumerate() {
        column_of[row] = column;
    }
    Ok(column_of)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};

    use super::*;

    fn total(cost: &[Vec<f64>], columns: &[usize]) -> f64 {
        columns.iter().enumerate().map(|(row, &column)| cost[row][column]).sum()
    }

    fn minimum_by_brute_force(cost: &[Vec<f64>], taken: &mut Vec<usize>) -> f64 {
        if taken.len() == cost.len() {
            return total(cost, taken);
        }
        let mut minimum = f64::INFINITY;
        for column in 0..cost.len() {
            if !taken.contains(&column) {
                taken.push(column);
                minimum = minimum.min(minimum_by_brute_force(cost, taken));
                taken.pop();
            }
        }
        minimum
    }

    #[test]
    fn no_permutation_is_cheaper() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for n in 0..=6 {
            for trial in 0..100 {
                // Every other matrix has many ties and negative costs.
                let mut draw = || {
                    if trial % 2 == 0 { rng.random() } else { f64::from(rng.random_range(-2..3)) }
                };
                let cost: Vec<Vec<f64>> = (0..n).map(|_| (0..n).map(|_| draw()).collect()).collect();
                let columns = assignment(&cost).unwrap();
                let mut sorted = columns.clone();
                sorted.sort_unstable();
                assert!(sorted.iter().copied().eq(0..n));
                let minimum = minimum_by_brute_force(&cost, &mut Vec::new());
                assert!((total(&cost, &columns) - minimum).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn invalid_costs_are_refused() {
        let ragged = [vec![0.0, 1.0], vec![0.0]];
        assert_eq!(assignment(&ragged), Err(MatchingError::NotSquare { rows: 2, row: 1, columns: 1 }));
        let infinite = [vec![0.0, f64::NAN], vec![0.0, 1.0]];
        assert_eq!(assignment(&infinite), Err(MatchingError::NotFinite { row: 0, column: 1 }));
    }
}
