//! Independent columns, in coordinates that diagonalise their covariance.
//!
//! The covariance of the levels of a column is $\mathrm{diag}(m) - mm^T$. In the coordinates of its eigenvectors
//! scores, weights and their information are scalars, so the work grows linearly with the number of weights. One of
//! its eigenvalues is 0: weights of levels are identified up to a constant, which changes no score. The covariance of
//! a column of very many levels is nearly diagonal, since products of its small means are negligible.

use super::columns::Independent;
use crate::math::matrix::{self, Eigen};
use crate::math::vector::dot;

/// Maximum number of levels of a column that is rotated.
const MAX_ROTATED: usize = 100;
/// Eigenvalues below this share of the largest of a column are 0.
const NEGLIGIBLE: f64 = 1e-9;

/// The coordinates, column by column and, last, the bias.
pub(super) struct Basis {
    /// Levels of each column, and its eigenvectors as rows; empty if it is not rotated.
    columns: Vec<(usize, Vec<f64>)>,
    /// $\lambda$: variances of the coordinates, 0 for the bias.
    pub(super) variance: Vec<f64>,
}

impl Basis {
    pub(super) fn new(known: &Independent, columns: &[usize]) -> Self {
        let mut variance = known.variances();
        let mut rest = &mut variance[..];
        let mut means = &known.mean[..];
        let mut turn = |&levels: &usize| {
            let (column, after) = std::mem::take(&mut rest).split_at_mut(levels);
            let (mean, later) = means.split_at(levels);
            (rest, means) = (after, later);
            if levels == 1 || levels > MAX_ROTATED {
                return (levels, Vec::new());
            }
            let product = |k: usize| -mean[k / levels] * mean[k % levels];
            let mut covariance: Vec<f64> = (0..levels * levels).map(product).collect();
            (0..levels).for_each(|k| covariance[k * (levels + 1)] += mean[k]);
            // A column without eigenvalues is left as it is, as one of very many levels.
            let Ok(Eigen { values, vectors }) = matrix::eigen(&covariance, levels) else {
                return (levels, Vec::new());
            };
            let most = values.iter().copied().fold(0.0, f64::max);
            let value = |x: &f64| if *x > NEGLIGIBLE * most { *x } else { 0.0 };
            column.iter_mut().zip(&values).for_each(|(column, x)| *column = value(x));
            (levels, vectors)
        };
        let columns = columns.iter().map(&mut turn).collect();
        Self { columns, variance }
    }

    /// Transforms inputs, or vectors dual to them, to these coordinates.
    pub(super) fn rotated(&self, x: &[f64]) -> Vec<f64> {
        let mut out = x.to_vec();
        self.each(|column, vectors| {
            for (out, row) in out[column.clone()].iter_mut().zip(vectors.chunks_exact(column.len())) {
                *out = dot(row, &x[column.clone()]);
            }
        });
        out
    }

    /// The inverse transformation.
    pub(super) fn back(&self, rotated: &[f64]) -> Vec<f64> {
        let mut out = rotated.to_vec();
        self.each(|column, vectors| {
            let out = &mut out[column.clone()];
            out.fill(0.0);
            for (x, row) in rotated[column].iter().zip(vectors.chunks_exact(out.len())) {
                out.iter_mut().zip(row).for_each(|(out, v)| *out += x * v);
            }
        });
        out
    }

    /// Variances of weights, from those of independent ones in these coordinates. The unidentified constant of a
    /// column is left out. Levels of one column are then slightly correlated, so that variances of scores from the
    /// diagonal alone would be too small; the variances are inflated by $L/(L-1)$, which is exact for equally
    /// frequent levels.
    pub(super) fn variances_back(&self, rotated: &[f64]) -> Vec<f64> {
        let mut out = rotated.to_vec();
        self.each(|column, vectors| {
            let levels = column.len() as f64;
            let out = &mut out[column.clone()];
            out.fill(0.0);
            for (k, row) in
                column.zip(vectors.chunks_exact(out.len())).filter(|(k, _)| self.variance[*k] > 0.0)
            {
                out.iter_mut()
                    .zip(row)
                    .for_each(|(out, v)| *out += rotated[k] * v * v * levels / (levels - 1.0));
            }
        });
        out
    }

    /// Calls `work` with the range of each rotated column, and its eigenvectors.
    fn each(&self, mut work: impl FnMut(std::ops::Range<usize>, &[f64])) {
        let mut first = 0;
        for (levels, vectors) in &self.columns {
            if !vectors.is_empty() {
                work(first..first + levels, vectors);
            }
            first += levels;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::tests::independent;
    use super::*;

    /// In the coordinates of the basis the covariance is diagonal, and the transformation is invertible.
    #[test]
    fn covariances_are_diagonals() {
        let columns = [3, 1, 2];
        let known = independent(&columns, &[0.2, 0.5, 0.3, -0.4, 0.9, 0.1, 1.0], 0.3);
        let basis = Basis::new(&known, &columns);
        let covariance = known.covariance();
        for i in 0..7 {
            let mut unit = [0.0; 7];
            unit[i] = 1.0;
            let along = basis.back(&unit);
            for (a, b) in basis.rotated(&along).iter().zip(unit) {
                assert!((a - b).abs() < 1e-14);
            }
            let mut times = vec![0.0; 7];
            matrix::times(&covariance, 7, &along, &mut times);
            for (k, x) in basis.rotated(&times).iter().enumerate() {
                let expected = if k == i { basis.variance[i] } else { 0.0 };
                assert!((x - expected).abs() < 1e-9, "{i} {k}: {x} {expected}");
            }
        }
        // The constant of each column of levels does not vary, and neither does the bias.
        assert_eq!(basis.variance.iter().filter(|v| **v == 0.0).count(), 3);
    }

    /// For equally frequent levels with equal variances of weights, the variance of a score is exact.
    #[test]
    fn variances_of_scores_are_kept() {
        for levels in [2, 5, 40] {
            let mut mean = vec![1.0 / levels as f64; levels];
            mean.push(1.0);
            let basis = Basis::new(&independent(&[levels], &mean, 0.0), &[levels]);
            let variances = basis.variances_back(&vec![0.7; levels + 1]);
            let mut z: Vec<f64> = mean[..levels].iter().map(|m| -m).collect();
            z[0] += 1.0;
            let exact = 0.7 * dot(&z, &z);
            let found: f64 = variances.iter().zip(&z).map(|(v, z)| v * z * z).sum();
            assert!((found / exact - 1.0).abs() < 1e-12, "{levels}: {found} {exact}");
        }
    }
}
