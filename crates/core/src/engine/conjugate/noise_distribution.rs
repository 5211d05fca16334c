//! The distribution of the noise in a release.

use crate::math::normal::log_cdf as log_normal_cdf;
use serde::{Deserialize, Serialize};
use std::f64::consts::{SQRT_2, TAU};

/// The distribution of the noise in each coordinate of a release. It is public.
///
/// The wall's noise is on a lattice that is millions of times finer than its standard deviation, so it is described
/// by a density.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseDistribution {
    /// No noise: the statistics are the true ones.
    None,
    /// $e^{-|x|/b}/2b$.
    Laplace {
        /// Scale $b$.
        scale: f64,
    },
    /// Normal with mean 0.
    Gaussian {
        /// Standard deviation.
        sd: f64,
    },
}

impl NoiseDistribution {
    /// The noise of a release of the wall, Laplace or Gaussian, with this standard deviation.
    #[must_use]
    pub fn of(laplace: bool, noise_sd: f64) -> Self {
        match (noise_sd, laplace) {
            (0.0, _) => Self::None,
            (sd, true) => Self::Laplace { scale: sd / SQRT_2 },
            (sd, false) => Self::Gaussian { sd },
        }
    }

    /// The standard deviation.
    #[must_use]
    pub fn sd(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Laplace { scale } => SQRT_2 * scale,
            Self::Gaussian { sd } => sd,
        }
    }

    /// The logarithm of the density. Without noise all mass is at 0.
    #[must_use]
    pub fn log_density(self, x: f64) -> f64 {
        match self {
            Self::None if x == 0.0 => 0.0,
            Self::None => f64::NEG_INFINITY,
            Self::Laplace { scale } => -x.abs() / scale - (2.0 * scale).ln(),
            Self::Gaussian { sd } => log_normal(x, sd * sd),
        }
    }

    /// The logarithm of the density of the sum of the noise and a centred normal variable.
    ///
    /// For Laplace noise of scale $b$ and a standard deviation $s$ it is
    /// $\log\frac{e^{s^2/2b^2}}{2b}\bigl[e^{-x/b}\Phi(\tfrac xs - \tfrac sb) + e^{x/b}\Phi(-\tfrac xs - \tfrac sb)\bigr]$.
    #[must_use]
    pub fn log_density_about(self, x: f64, variance: f64) -> f64 {
        match self {
            Self::None => log_normal(x, variance),
            Self::Gaussian { sd } => log_normal(x, variance + sd * sd),
            Self::Laplace { scale } => {
                let s = variance.sqrt();
                if s < 1e-9 * scale {
                    return self.log_density(x);
                }
                let side = |x: f64| log_normal_cdf(x / s - s / scale) - x / scale;
                let (right, left) = (side(x), side(-x));
                let top = right.max(left);
                let sum = ((right - top).exp() + (left - top).exp()).ln();
                top + sum + 0.5 * variance / (scale * scale) - (2.0 * scale).ln()
            }
        }
    }
}

fn log_normal(x: f64, variance: f64) -> f64 {
    -0.5 * (x * x / variance + (TAU * variance).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against quadrature of $\int N(s; 0, v) f(x - s) ds$, narrow and wide, near and far.
    #[test]
    fn the_convolution_is_the_integral() {
        for noise in [NoiseDistribution::Laplace { scale: 2.0 }, NoiseDistribution::Gaussian { sd: 1.5 }] {
            for (x, variance) in [(0.0, 1.0), (3.0, 0.25), (-7.0, 9.0), (25.0, 4.0)] {
                let sd = f64::sqrt(variance);
                let (step, half) = (sd / 2000.0, 40_000);
                let integral: f64 = (-half..=half)
                    .map(|k| f64::from(k) * step)
                    .map(|s| (log_normal(s, variance) + noise.log_density(x - s)).exp() * step)
                    .sum();
                let found = noise.log_density_about(x, variance);
                assert!(
                    (found - integral.ln()).abs() < 1e-5,
                    "{noise:?} {x} {variance}: {found} {}",
                    integral.ln()
                );
            }
        }
        // A variance far above that of the noise dominates.
        let found = NoiseDistribution::Laplace { scale: 1.0 }.log_density_about(500.0, 1e6);
        assert!((found - log_normal(500.0, 1e6 + 2.0)).abs() < 1e-8);
    }

    #[test]
    fn deviations_are_those_of_the_release() {
        assert_eq!(NoiseDistribution::of(true, 0.0), NoiseDistribution::None);
        assert!((NoiseDistribution::of(true, 3.0).sd() - 3.0).abs() < 1e-15);
        assert_eq!(NoiseDistribution::of(false, 3.0), NoiseDistribution::Gaussian { sd: 3.0 });
    }
}
