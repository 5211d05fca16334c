//! What is known of the curvature of the scores, from noisy sums.

use super::query::Curvatures;
use crate::math::matrix::{self, EigenError};
use crate::math::symmetric;
use crate::math::vector::dot;
use crate::wall::Released;

/// What the curvature at the solution is to that at the start, before anything is known: mean and variance.
const USUAL: (f64, f64) = (0.5, 0.04);
/// What the variance of a weighted score is to its curvature, before anything is known. Weights are between 1/2 and 1, so it is as well.
const USUAL_VARIANCE: f64 = 0.7;
/// How much is known of that before: as much as a measurement of this relative variance.
const DOUBT: f64 = 0.02;

/// A symmetric matrix.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curvature {
    /// Its rows.
    pub(super) size: usize,
    /// Row by row.
    pub(super) elements: Vec<f64>,
    /// The standard deviation of the noise in a diagonal element; off-diagonals have half its variance.
    pub(super) noise: f64,
}

impl Curvature {
    /// From released sums. Two levels of a column are never both 1, so what noise says about that is known to be wrong.
    pub(super) fn read(released: &Released, columns: &[usize]) -> Self {
        let size = 1 + columns.iter().sum::<usize>();
        let values = &released.values[..Curvatures::width(size) - 1];
        let noise = released.noise_sd[0];
        let mut elements = vec![0.0; size * size];
        symmetric::from_coordinates(values, size, &mut elements);
        let mut first = 0;
        for &levels in columns {
            for i in first..first + levels {
                (first..first + levels).filter(|&j| j != i).for_each(|j| elements[i * size + j] = 0.0);
            }
            first += levels;
        }
        Self { size, elements, noise }
    }

    /// The spectral norm to expect of the noise, which is that of a random symmetric matrix.
    pub(super) fn spectral(&self) -> f64 {
        self.noise * (2.0 * self.size as f64).sqrt()
    }

    /// The same with each eigenvalue replaced; and how many of them were not positive.
    ///
    /// # Errors
    /// [`EigenError`]: without eigenvalues there is no curvature to take a step by.
    pub(super) fn mapped(&self, by: impl Fn(f64) -> f64) -> Result<(Self, u64), EigenError> {
        let n = self.size;
        let found = matrix::eigen(&self.elements, n)?;
        let lost = found.values.iter().filter(|value| **value <= 0.0).count() as u64;
        Ok((Self { size: n, elements: found.mapped(by), noise: self.noise }, lost))
    }

    /// What a second release at other weights says beside this one, which is positive: a multiple of this one, and what is left of the second as far
    /// as it exceeds its noise.
    ///
    /// # Citation
    /// The positive part of James and Stein's estimator, "Estimation with quadratic loss", 1961.
    pub(super) fn updated(&self, second: &Self) -> Self {
        let square = dot(&self.elements, &self.elements);
        let (known, unknown) = (square / second.noise.powi(2).max(1e-300), 1.0 / USUAL.1);
        let found = dot(&self.elements, &second.elements) / square.max(1e-300);
        let by =
            if known.is_finite() { (USUAL.0 * unknown + found * known) / (known + unknown) } else { found };
        let by = by.clamp(0.05, 1.0);
        let left = |a: f64, b: f64| b - by * a;
        let pairs = || self.elements.iter().zip(&second.elements);
        let found: f64 = pairs().map(|(&a, &b)| left(a, b).powi(2)).sum();
        // Elements that are 0 by nature have no noise. An off-diagonal one counts twice with half the variance.
        let free = pairs().filter(|(_, b)| **b != 0.0).count() as f64;
        let diagonal = self.size as f64;
        let noise = (second.noise.powi(2) + (by * self.noise).powi(2)) * 0.5 * (free + diagonal);
        let share = if found > 0.0 { (1.0 - noise / found).max(0.0) } else { 0.0 };
        let elements = pairs().map(|(&a, &b)| by * a + share * left(a, b)).collect();
        let noise = (by * (1.0 - share) * self.noise).hypot(share * second.noise);
        Self { size: self.size, elements, noise }
    }
}

/// What the variance of weighted scores is to their curvature, from a release at the end.
pub(super) fn variance_ratio(released: &Released, radius: f64, size: usize) -> f64 {
    let by = Curvatures::last(radius);
    let last = released.values.len() - 1;
    // The curvature of the bias, whose input is 1: the last diagonal element.
    let bias = symmetric::width(size) - 1;
    let (curvature, variance) = (released.values[bias], released.values[last] / by);
    let known = DOUBT * (curvature / (released.noise_sd[last] / by).max(1e-300)).powi(2);
    if curvature <= 0.0 {
        return USUAL_VARIANCE;
    }
    let found = variance / curvature;
    let ratio = if known.is_finite() { (USUAL_VARIANCE + known * found) / (1.0 + known) } else { found };
    ratio.clamp(0.5, 1.0)
}
