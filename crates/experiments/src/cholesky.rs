//! Cholesky factors of small matrices, as owned vectors.

use reticent_core::math::matrix;

/// The factor of `A`, or `None` if the symmetric matrix `A` is not positive definite.
pub(crate) fn cholesky(a: &[f64], d: usize) -> Option<Vec<f64>> {
    let mut l = vec![0.0; d * d];
    matrix::cholesky(a, d, &mut l).then_some(l)
}

/// `L^-1 b`.
pub(crate) fn solve_lower(l: &[f64], b: &[f64]) -> Vec<f64> {
    let mut y = b.to_vec();
    matrix::solve_lower(l, b.len(), &mut y);
    y
}

pub(crate) use matrix::log_determinant;
