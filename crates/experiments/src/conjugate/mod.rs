//! Posteriors from noisy statistics against posterior samples, after Foulds, Geumlek, Welling and Chaudhuri, UAI 2016.
//!
//! Data are simulated, and so is what the mechanisms do: counts get Laplace noise of the scale that the wall's plan states, and samples
//! come from the tempered, truncated density that the wall's draw has on its grid; tests of the library compare both with
//! the wall's own.

mod adult;
mod coverage;
mod densities;
mod efficiency;

pub use adult::{Adult, AdultScores};
pub use coverage::{Covered, Model, coverage};
pub use densities::{Densities, densities};
pub use efficiency::{Draws, Efficiency, efficiency};

use rand::{Rng, RngExt};
use reticent_core::engine::conjugate::{NoiseDistribution, NoiseTreatment};
use reticent_core::family::Beta;
use reticent_core::model::conjugate::Rate;

/// The uniform prior of a rate.
pub(crate) const FLAT: Beta = Beta { a: 1.0, b: 1.0 };

/// A beta-Bernoulli experiment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// The true rate.
    pub p: f64,
    /// Where samples are truncated on both sides.
    pub truncation: f64,
    /// The budget of each method, pure.
    pub epsilon: f64,
}

impl Setting {
    /// $T = 2\log\frac{1-a_0}{a_0}/\varepsilon$, at least 1.
    #[must_use]
    pub fn temperature(&self) -> f64 {
        (2.0 * ((1.0 - self.truncation) / self.truncation).ln() / self.epsilon).max(1.0)
    }

    /// The tempered posterior of a sample, not truncated.
    pub(crate) fn tempered(&self, records: f64, count: f64) -> Beta {
        let t = self.temperature();
        Beta { a: 1.0 + count / t, b: 1.0 + (records - count) / t }
    }

    /// The posterior of the paper: both noisy counts, clamped at 0, treated as exact.
    pub(crate) fn printed(&self, records: f64, count: f64, rng: &mut impl Rng) -> Beta {
        let scale = 2.0 / self.epsilon;
        let mut noisy = |n: f64| (n + laplace(scale, rng)).max(0.0);
        Beta { a: 1.0 + noisy(count), b: 1.0 + noisy(records - count) }
    }

    /// The noise-aware posterior of one count with half of that noise.
    pub(crate) fn noise_aware(&self, records: f64, count: f64, rng: &mut impl Rng) -> Rate {
        let scale = 1.0 / self.epsilon;
        let noisy = count + laplace(scale, rng);
        Rate::new(FLAT, records, noisy, NoiseDistribution::Laplace { scale }, NoiseTreatment::NoiseAware)
    }
}

/// Laplace noise, for simulations.
pub(crate) fn laplace(scale: f64, rng: &mut impl Rng) -> f64 {
    let u: f64 = rng.random::<f64>() - 0.5;
    -scale * u.signum() * (-2.0 * u.abs()).ln_1p()
}
