//! Eigenvalues of symmetric matrices, and matrices with some of them changed.

use super::{blocked, loops, weighted_squares, wide_cholesky};
use crate::math::symmetric;
use std::f64::consts::FRAC_1_SQRT_2;
use thiserror::Error;

/// Sizes from which [`blocked::eigen`] is faster than [`loops::eigen`].
pub const BLOCKED_EIGEN: usize = 64;

/// Why a matrix has no eigenvalues. Nothing in it depends on an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EigenError {
    /// An element is infinite or not a number: the fit overflowed before.
    #[error("a matrix of {size} rows has elements that are not finite, so it has no eigenvalues")]
    NotFinite {
        /// Rows of the matrix.
        size: usize,
    },
    /// The iteration reached its maximum of sweeps.
    #[error("the eigenvalues of a matrix of {size} rows did not converge")]
    NoConvergence {
        /// Rows of the matrix.
        size: usize,
    },
}

/// Eigenvalues and eigenvectors of a symmetric matrix: $A = V^T \mathrm{diag}(\lambda) V$.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigen {
    /// $\lambda$, in no particular order.
    pub values: Vec<f64>,
    /// $V$: eigenvectors of length 1, as rows in the order of the values. Their signs are arbitrary.
    pub vectors: Vec<f64>,
}

impl Eigen {
    /// Each eigenvalue with its eigenvector.
    pub fn pairs(&self) -> impl Iterator<Item = (f64, &[f64])> {
        self.values.iter().copied().zip(self.vectors.chunks_exact(self.values.len()))
    }

    /// $V^T \mathrm{diag}(f(\lambda)) V$: the matrix with each eigenvalue replaced.
    #[must_use]
    pub fn mapped(&self, f: impl Fn(f64) -> f64) -> Vec<f64> {
        let size = self.values.len();
        let kept = self.pairs().map(|(value, vector)| (f(value), vector)).filter(|(value, _)| *value != 0.0);
        let (weights, rows): (Vec<f64>, Vec<&[f64]>) = kept.unzip();
        weighted_squares(&rows.concat(), &weights, size)
    }
}

/// Eigenvalues and eigenvectors of a symmetric matrix, of which the lower triangle is read.
///
/// # Errors
/// [`EigenError`] if an element is not finite or the iteration does not converge; no partial result is given.
pub fn eigen(matrix: &[f64], size: usize) -> Result<Eigen, EigenError> {
    let matrix = &matrix[..size * size];
    if !matrix.iter().all(|x| x.is_finite()) {
        return Err(EigenError::NotFinite { size });
    }
    // So that squares neither overflow nor vanish.
    let scale = matrix.iter().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
    let scaled: Vec<f64> = matrix.iter().map(|x| x / scale).collect();
    let mut found =
        if size < BLOCKED_EIGEN { loops::eigen(&scaled, size)? } else { blocked::eigen(&scaled, size)? };
    found.values.iter_mut().for_each(|x| *x *= scale);
    Ok(found)
}

/// A lower bound on the eigenvalues of a symmetric matrix in [isometric coordinates](crate::math::symmetric), by Gershgorin's circles.
#[must_use]
pub fn gershgorin_bound(coordinates: &[f64], size: usize) -> f64 {
    let mut least = f64::INFINITY;
    for row in 0..size {
        let mut bound = 0.0;
        // Element (i, j) with i <= j is at place i (2 size - i + 1) / 2 + j - i.
        let mut place = row;
        for i in 0..row {
            bound -= coordinates[place].abs();
            place += size - i - 1;
        }
        bound *= FRAC_1_SQRT_2;
        bound += coordinates[place];
        let rest = &coordinates[place + 1..place + size - row];
        bound -= FRAC_1_SQRT_2 * rest.iter().map(|x| x.abs()).sum::<f64>();
        if bound.is_nan() {
            return f64::NEG_INFINITY;
        }
        least = least.min(bound);
    }
    least
}

/// Raises the eigenvalues of a symmetric matrix to at least `floor`; whether any had to be.
///
/// Where the eigenvalues of a finite matrix do not converge, the diagonal is raised by as much as the Gershgorin bound is below the floor. That
/// raises all eigenvalues, by more than is needed, and leaves none below the floor.
///
/// # Errors
/// [`EigenError::NotFinite`]; the matrix is left as it is.
pub fn raise_eigenvalues(matrix: &mut [f64], size: usize, floor: f64) -> Result<bool, EigenError> {
    // A matrix less its floor that has a Cholesky factor has no eigenvalue below the floor, and that is found out fast.
    let mut shifted = matrix[..size * size].to_vec();
    (0..size).for_each(|k| shifted[k * (size + 1)] -= floor);
    let mut factor = vec![0.0; size * size];
    if wide_cholesky(&shifted, size, &mut factor) {
        return Ok(false);
    }
    raise(matrix, size, floor, eigen(matrix, size))
}

/// The same, given what a decomposition of the matrix resulted in.
pub(super) fn raise(
    matrix: &mut [f64],
    size: usize,
    floor: f64,
    found: Result<Eigen, EigenError>,
) -> Result<bool, EigenError> {
    match found {
        Ok(found) if found.values.iter().all(|value| *value >= floor) => Ok(false),
        Ok(found) => {
            let missing = found.mapped(|value| (floor - value).max(0.0));
            matrix.iter_mut().zip(&missing).for_each(|(x, missing)| *x += missing);
            Ok(true)
        }
        Err(EigenError::NoConvergence { .. }) => {
            let mut coordinates = vec![0.0; symmetric::width(size)];
            symmetric::to_coordinates(&matrix[..size * size], size, &mut coordinates);
            let missing = floor - gershgorin_bound(&coordinates, size);
            (0..size).for_each(|k| matrix[k * (size + 1)] += missing.max(0.0));
            Ok(missing > 0.0)
        }
        Err(error) => Err(error),
    }
}
