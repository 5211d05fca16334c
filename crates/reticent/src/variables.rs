//! Variables of a summary, and their elements as rows and columns of a table.

use reticent_core::model::Summary;

/// The elements of each variable, in order.
#[must_use]
pub fn variables(summaries: &[Summary]) -> Vec<&[Summary]> {
    summaries.chunk_by(|a, b| a.variable == b.variable).collect()
}

/// The elements of a variable as a table, in the order in which labels occur.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid<'a> {
    /// The name of the dimension whose labels are the columns.
    pub across: &'static str,
    /// The labels of the columns.
    pub columns: Vec<String>,
    /// For each row the labels of the other dimensions, and the element of each column. Not all need be there.
    pub rows: Vec<(Vec<String>, Vec<Option<&'a Summary>>)>,
}

/// The elements of a variable as a table, with a column for each label of a dimension; nothing if the variable does not have this dimension
/// and another one.
#[must_use]
pub fn grid<'a>(elements: &'a [Summary], across: &str) -> Option<Grid<'a>> {
    let first = elements.first().filter(|element| element.place.len() > 1)?;
    let at = first.place.iter().position(|(dimension, _)| *dimension == across)?;
    let mut grid = Grid { across: first.place[at].0, columns: Vec::new(), rows: Vec::new() };
    let mut column_of = std::collections::HashMap::new();
    let mut row_of = std::collections::HashMap::new();
    for element in elements {
        let mut labels: Vec<String> = element.place.iter().map(|(_, label)| label.clone()).collect();
        // All elements of a variable have its dimensions.
        if labels.len() != first.place.len() {
            return None;
        }
        let column = labels.remove(at);
        let column = *column_of.entry(column.clone()).or_insert_with(|| {
            grid.columns.push(column);
            grid.columns.len() - 1
        });
        let row = *row_of.entry(labels.clone()).or_insert_with(|| {
            grid.rows.push((labels, Vec::new()));
            grid.rows.len() - 1
        });
        let cells = &mut grid.rows[row].1;
        cells.resize(cells.len().max(column + 1), None);
        cells[column] = Some(element);
    }
    let columns = grid.columns.len();
    grid.rows.iter_mut().for_each(|(_, cells)| cells.resize(columns, None));
    Some(grid)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An element of a variable with this mean.
    pub(crate) fn element(variable: &'static str, place: &[(&'static str, &str)], mean: f64) -> Summary {
        Summary {
            name: variable.into(),
            variable,
            place: place.iter().map(|(dimension, label)| (*dimension, (*label).to_owned())).collect(),
            unit: None,
            note: None,
            mean,
            sd: 0.1,
            records_sd: 0.08,
            privacy_sd: 0.06,
            quantiles: [-0.2, -0.07, 0.0, 0.07, 0.2].map(|x| mean + x),
            direction: None,
        }
    }

    #[test]
    fn elements_are_rows_and_columns() {
        let all = [
            element("weight", &[("state", "1")], 0.5),
            element("profile", &[("state", "1"), ("column", "age"), ("level", "old")], 0.1),
            element("profile", &[("state", "1"), ("column", "age"), ("level", "young")], 0.9),
            element("profile", &[("state", "2"), ("column", "age"), ("level", "old")], 0.4),
        ];
        let groups = variables(&all);
        assert_eq!(groups.iter().map(|group| group.len()).collect::<Vec<_>>(), [1, 3]);
        let grid = grid(groups[1], "state").unwrap();
        assert_eq!((grid.across, grid.columns.clone()), ("state", vec!["1".to_owned(), "2".to_owned()]));
        let means: Vec<Vec<Option<f64>>> = grid
            .rows
            .iter()
            .map(|(_, cells)| cells.iter().map(|cell| cell.map(|cell| cell.mean)).collect())
            .collect();
        assert_eq!(means, [[Some(0.1), Some(0.4)], [Some(0.9), None]]);
        assert_eq!(grid.rows[1].0, ["age", "young"]);
        assert!(super::grid(groups[0], "state").is_none() && super::grid(groups[1], "topic").is_none());
    }
}
