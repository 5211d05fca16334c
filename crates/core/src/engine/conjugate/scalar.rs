//! The posterior of one parameter, on a grid.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// Number of cells of a grid.
const CELLS: usize = 2048;
/// Log weights this far below the largest are negligible.
const NEGLIGIBLE_LOG_RATIO: f64 = 50.0;

/// The posterior of one parameter: cells of equal width, each with a probability, uniform within.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scalar {
    low: f64,
    width: f64,
    weights: Vec<f64>,
}

impl Scalar {
    /// From the logarithm of its density, up to a constant, between two bounds. The grid is refined to the cells of
    /// non-negligible weight until they are most of it.
    ///
    /// The density must be wide enough to be non-negligible at one of the points of the first grid.
    pub fn new((mut low, mut high): (f64, f64), log_density: impl Fn(f64) -> f64) -> Self {
        loop {
            let width = (high - low) / CELLS as f64;
            let log = |k: usize| log_density(low + width * (k as f64 + 0.5));
            let mut logs: Vec<f64> = (0..CELLS).map(log).collect();
            // NaN counts as a density of 0; if all of it is 0, the result is uniform.
            logs.iter_mut().filter(|log| !log.is_finite()).for_each(|log| *log = f64::NEG_INFINITY);
            if !logs.iter().any(|log| log.is_finite()) {
                logs.fill(0.0);
            }
            let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let some = |log: &f64| *log > top - NEGLIGIBLE_LOG_RATIO;
            let first = logs.iter().position(some).unwrap_or(0).saturating_sub(1);
            let last = logs.iter().rposition(some).map_or(CELLS, |last| (last + 2).min(CELLS));
            if last - first > CELLS / 2 || width < 1e-12 * low.abs().max(high.abs()) {
                let mut weights: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
                let sum: f64 = weights.iter().sum();
                weights.iter_mut().for_each(|weight| *weight /= sum);
                return Self { low, width, weights };
            }
            (low, high) = (low + width * first as f64, low + width * last as f64);
        }
    }

    /// The centre and the probability of each cell.
    pub fn cells(&self) -> impl Iterator<Item = (f64, f64)> {
        self.weights.iter().enumerate().map(|(k, &weight)| (self.low + self.width * (k as f64 + 0.5), weight))
    }

    /// The width of a cell.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.width
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.cells().map(|(x, weight)| x * weight).sum()
    }

    /// The variance.
    #[must_use]
    pub fn variance(&self) -> f64 {
        let mean = self.mean();
        self.cells().map(|(x, weight)| (x - mean).powi(2) * weight).sum::<f64>() + self.width.powi(2) / 12.0
    }

    /// The quantile of this probability.
    #[must_use]
    pub fn quantile(&self, probability: f64) -> f64 {
        let mut rest = probability.clamp(0.0, 1.0);
        for (k, weight) in self.weights.iter().enumerate() {
            if rest <= *weight && *weight > 0.0 {
                return self.low + self.width * (k as f64 + rest / weight);
            }
            rest -= weight;
        }
        self.low + self.width * self.weights.len() as f64
    }

    /// A draw from the posterior.
    pub fn draw(&self, rng: &mut impl Rng) -> f64 {
        self.quantile(rng.random())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A narrow normal density within wide bounds: its moments and quantiles.
    #[test]
    fn the_grid_finds_where_the_density_is() {
        let scalar = Scalar::new((-100.0, 100.0), |x| -0.5 * ((x - 3.0) / 0.02).powi(2));
        assert!((scalar.mean() - 3.0).abs() < 1e-9);
        assert!((scalar.variance().sqrt() - 0.02).abs() < 1e-5, "{}", scalar.variance().sqrt());
        assert!((scalar.quantile(0.975) - (3.0 + 0.02 * 1.959_964)).abs() < 1e-5);
    }
}
