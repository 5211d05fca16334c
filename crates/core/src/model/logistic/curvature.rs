//! The curvature of the scores, from noisy sums.

use super::query::Curvatures;
use crate::math::matrix::{self, EigenError};
use crate::math::symmetric;
use crate::math::vector::dot;
use crate::wall::Released;

/// Prior mean and variance of the ratio of the curvature at the solution to that at the start.
const PRIOR_CURVATURE_RATIO: (f64, f64) = (0.5, 0.04);
/// Prior mean of the ratio of the variance of a weighted score to its curvature. Weights are between 1/2 and 1, and
/// so is the ratio.
const PRIOR_VARIANCE_RATIO: f64 = 0.7;
/// Prior relative variance of that ratio.
const PRIOR_RELATIVE_VARIANCE: f64 = 0.02;

/// A symmetric matrix.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Curvature {
    /// Number of rows.
    pub(super) size: usize,
    /// Elements in row-major order.
    pub(super) elements: Vec<f64>,
    /// The standard deviation of the noise in a diagonal element; off-diagonals have half its variance.
    pub(super) noise: f64,
}

impl Curvature {
    /// From released sums. Two levels of a column are never both 1, so their noisy products are set to 0.
    pub(super) fn read(released: &Released, columns: &[usize]) -> Self {
        let size = 1 + columns.iter().sum::<usize>();
        let noise = released.noise_sd[0];
        let mut all = vec![0.0; (size + 1) * (size + 1)];
        symmetric::from_triangle(&released.values, size + 1, &mut all);
        let mut elements: Vec<f64> =
            all.chunks_exact(size + 1).take(size).flat_map(|row| &row[..size]).copied().collect();
        let mut first = 0;
        for &levels in columns {
            for i in first..first + levels {
                (first..first + levels).filter(|&j| j != i).for_each(|j| elements[i * size + j] = 0.0);
            }
            first += levels;
        }
        Self { size, elements, noise }
    }

    /// The mean curvature given this one, for an expected one whose off-diagonal elements have this standard deviation before; diagonal elements have
    /// twice the variance, as the noise has.
    pub(super) fn shrunk(&self, expected: &[f64], sd: f64) -> Self {
        let share = 1.0 / (1.0 + 0.5 * (self.noise / sd).powi(2));
        let elements =
            self.elements.iter().zip(expected).map(|(x, expected)| expected + share * (x - expected));
        Self { size: self.size, elements: elements.collect(), noise: self.noise * share.sqrt() }
    }

    /// The expected curvature at weights 0 of records whose numbers are uniform between -1 and 1, and whose levels are equally frequent.
    pub(super) fn expected(columns: &[usize], records: f64) -> Vec<f64> {
        let mean = |levels: usize| if levels == 1 { 0.0 } else { 1.0 / levels as f64 };
        let inputs =
            columns.iter().enumerate().flat_map(|(k, &levels)| std::iter::repeat_n((k, levels), levels));
        let inputs: Vec<(usize, usize)> = inputs.collect();
        let size = inputs.len() + 1;
        let element = |i: usize, j: usize| match (inputs.get(i), inputs.get(j)) {
            (Some((a, levels)), Some((b, others))) if a != b => mean(*levels) * mean(*others),
            (Some((_, 1)), Some(_)) => 1.0 / 3.0,
            (Some((_, levels)), Some(_)) => {
                if i == j {
                    mean(*levels)
                } else {
                    0.0
                }
            }
            (Some((_, levels)), None) | (None, Some((_, levels))) => mean(*levels),
            (None, None) => 1.0,
        };
        (0..size * size).map(|k| 0.25 * records * element(k / size, k % size)).collect()
    }

    /// The expected spectral norm of the noise, which is that of a random symmetric matrix.
    pub(super) fn spectral(&self) -> f64 {
        self.noise * (2.0 * self.size as f64).sqrt()
    }

    /// The matrix with each eigenvalue mapped; and how many of them were not positive.
    ///
    /// # Errors
    /// [`EigenError`]: without eigenvalues there is no curvature to take a step by.
    pub(super) fn mapped(&self, by: impl Fn(f64) -> f64) -> Result<(Self, u64), EigenError> {
        let n = self.size;
        let found = matrix::eigen(&self.elements, n)?;
        let lost = found.values.iter().filter(|value| **value <= 0.0).count() as u64;
        Ok((Self { size: n, elements: found.mapped(by), noise: self.noise }, lost))
    }

    /// Combines this positive matrix with a second release at other weights: a multiple of this one, and the
    /// remainder of the second as far as it exceeds its noise.
    ///
    /// # Citation
    /// The positive part of James and Stein's estimator, "Estimation with quadratic loss", 1961.
    pub(super) fn updated(&self, second: &Self) -> Self {
        let square = dot(&self.elements, &self.elements);
        let (known, unknown) = (square / second.noise.powi(2).max(1e-300), 1.0 / PRIOR_CURVATURE_RATIO.1);
        let found = dot(&self.elements, &second.elements) / square.max(1e-300);
        let by = if known.is_finite() {
            (PRIOR_CURVATURE_RATIO.0 * unknown + found * known) / (known + unknown)
        } else {
            found
        };
        let by = by.clamp(0.05, 1.0);
        let left = |a: f64, b: f64| b - by * a;
        let pairs = || self.elements.iter().zip(&second.elements);
        let found: f64 = pairs().map(|(&a, &b)| left(a, b).powi(2)).sum();
        // Elements that are structurally 0 have no noise. An off-diagonal one counts twice with half the variance.
        let free = pairs().filter(|(_, b)| **b != 0.0).count() as f64;
        let diagonal = self.size as f64;
        let noise = (second.noise.powi(2) + (by * self.noise).powi(2)) * 0.5 * (free + diagonal);
        let share = if found > 0.0 { (1.0 - noise / found).max(0.0) } else { 0.0 };
        let elements = pairs().map(|(&a, &b)| by * a + share * left(a, b)).collect();
        let noise = (by * (1.0 - share) * self.noise).hypot(share * second.noise);
        Self { size: self.size, elements, noise }
    }
}

/// The ratio of the variance of weighted scores to their curvature, from a release at the end.
pub(super) fn variance_ratio(released: &Released, radius: f64) -> f64 {
    let by = Curvatures::last(radius);
    let last = released.values.len() - 1;
    // The curvature of the bias, whose input is 1: the diagonal element before the last, whose row has two elements.
    let bias = last - 2;
    let (curvature, variance) = (released.values[bias], released.values[last] / by);
    let known = PRIOR_RELATIVE_VARIANCE * (curvature / (released.noise_sd[last] / by).max(1e-300)).powi(2);
    if curvature <= 0.0 {
        return PRIOR_VARIANCE_RATIO;
    }
    let found = variance / curvature;
    let ratio =
        if known.is_finite() { (PRIOR_VARIANCE_RATIO + known * found) / (1.0 + known) } else { found };
    ratio.clamp(0.5, 1.0)
}
