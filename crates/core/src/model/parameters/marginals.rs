//! Distributions of one number.

use super::{Marginal, Sampled};
use crate::family::Beta;
use rand::rngs::ChaCha8Rng;
use rand_distr::Distribution;

/// The note of an estimate whose error is not known.
pub const POINT_ESTIMATE: &str = "point estimate: its error is not known";

/// A number without uncertainty: one that the settings fix, or an estimate whose error is not known. The
/// [note](super::Parameter::note) of its parameter must state which.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fixed(pub f64);

impl Marginal for Fixed {
    fn mean(&self) -> f64 {
        self.0
    }
    fn sd(&self) -> f64 {
        0.0
    }
    fn records_sd(&self) -> f64 {
        0.0
    }
    fn quantile(&self, _: f64) -> f64 {
        self.0
    }
    fn below(&self, x: f64) -> f64 {
        f64::from(u8::from(self.0 < x))
    }
    fn draw(&self, _: &mut ChaCha8Rng) -> f64 {
        self.0
    }
}

/// A beta density, with its standard deviation without privacy noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BetaMarginal {
    /// The density.
    pub density: Beta,
    /// Standard deviation without privacy noise.
    pub records_sd: f64,
}

/// Maximum share of $m(1 - m)$, the variance of a flag, that a beta density by moments has.
const MAX_SHARE: f64 = 0.999;

impl BetaMarginal {
    /// The density with this mean and variance; the variance is bounded by that of a flag with this mean.
    #[must_use]
    pub fn of_moments(mean: f64, variance: f64, records_variance: f64) -> Self {
        let mean = mean.clamp(1e-12, 1.0 - 1e-12);
        let flag = mean * (1.0 - mean);
        let total = flag / variance.clamp(1e-15 * flag, MAX_SHARE * flag) - 1.0;
        let density = Beta { a: mean * total, b: (1.0 - mean) * total };
        Self { density, records_sd: records_variance.max(0.0).sqrt() }
    }
}

impl Marginal for BetaMarginal {
    fn mean(&self) -> f64 {
        self.density.mean()
    }
    fn sd(&self) -> f64 {
        self.density.variance().sqrt()
    }
    fn records_sd(&self) -> f64 {
        self.records_sd
    }
    fn quantile(&self, probability: f64) -> f64 {
        self.density.quantile(probability)
    }
    fn below(&self, x: f64) -> f64 {
        self.density.cdf(x)
    }
    fn draw(&self, rng: &mut ChaCha8Rng) -> f64 {
        let Beta { a, b } = self.density;
        rand_distr::Beta::new(a, b).map_or(self.density.mean(), |beta| beta.sample(rng))
    }
}

impl Sampled {
    /// From draws, each with a number for each coordinate.
    pub fn new(draws: impl IntoIterator<Item = Vec<f64>>, records_sd: Vec<f64>) -> Self {
        Self { draws: draws.into_iter().flatten().collect(), records_sd }
    }
}
