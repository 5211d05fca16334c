//! The distribution of residuals, and the comparison of predictions.
//!
//! These are errors on the training records. Noise in the prediction is independent of them; overfitting makes them
//! slightly smaller than those of new records, by a factor that follows from the degrees of freedom.

use crate::math::normal;
use crate::wall::Released;
use serde::{Deserialize, Serialize};

/// Bins of a histogram of residuals.
pub(super) const BINS: usize = 32;

/// Standard deviations covered to either side.
pub(super) const HALF_RANGE: f64 = 4.0;
/// Width of a bin in standard deviations.
pub(super) const WIDTH: f64 = 2.0 * HALF_RANGE / BINS as f64;
/// Clipping bound of standardised residuals where squares are summed.
pub(super) const MAX_STANDARDISED: f64 = 3.0;

/// Prior standard deviation of the share of a bin where a Gaussian has none. Simulated residuals that are a third
/// wider or a fifth narrower than stated, Gaussian or with heavy tails, are then covered by 94 to 97 % from some
/// 7,000 records on.
const PRIOR_SHARE_SD: f64 = 0.005;

/// Prior standard deviation of the mean square where the residual variance is known without noise: clipped moments of residuals that are not
/// Gaussian differ from it.
const MISFIT_SD: f64 = 0.25;

/// The distribution of standardised residuals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Residuals {
    /// Their mean square: 1 if the posterior is calibrated.
    pub square: f64,
    /// The cumulative share at each edge between bins; `None` for a Gaussian.
    pub shape: Option<Vec<f64>>,
    /// The standard deviation of the error of the root of the mean square, relative to it.
    #[serde(default)]
    pub sd_error: f64,
    /// The same without the privacy noise.
    #[serde(default)]
    pub records_sd_error: f64,
}

impl Residuals {
    /// The prior: a standard normal.
    pub(super) fn gaussian() -> Self {
        Self { square: 1.0, shape: None, sd_error: 0.0, records_sd_error: 0.0 }
    }

    /// From the noisy sum of their squares. `error` is the standard deviation of the relative error of the variance that they were divided by: how far
    /// the mean square may be from 1.
    pub(super) fn from_squares(released: &Released, records: f64, error: f64) -> Self {
        let bound = MAX_STANDARDISED * MAX_STANDARDISED;
        let found = bound * (released.values[0] / records).clamp(0.0, 1.0);
        let noise = (bound * released.noise_sd[0] / records).powi(2);
        // The variance of a squared Gaussian residual is twice the square of its mean.
        let sampling = 2.0 / records;
        let prior = error * error + MISFIT_SD * MISFIT_SD;
        let share = prior / (prior + noise + sampling);
        let square = 1.0 + share * (found - 1.0);
        Self { square, shape: None, sd_error: 0.0, records_sd_error: 0.0 }
            .with_errors(share * sampling, share * noise)
    }

    /// Sets the errors of the root of the mean square, by the variances of the mean square from the records and from the privacy noise.
    fn with_errors(self, records: f64, privacy: f64) -> Self {
        let relative = |variance: f64| 0.5 * variance.max(0.0).sqrt() / self.square.max(f64::MIN_POSITIVE);
        Self { sd_error: relative(records + privacy), records_sd_error: relative(records), ..self }
    }

    /// Counts are noisy, so each is shrunk towards that of a Gaussian, the more so the smaller the expected count.
    pub(super) fn from_histogram(released: &Released, records: f64) -> Self {
        let cdf = |k: usize| match k {
            0 => 0.0,
            BINS => 1.0,
            _ => normal::cdf(edge(k)),
        };
        let noise = released.noise_sd[0].powi(2);
        let mut shares: Vec<f64> = (0..BINS)
            .map(|k| {
                let gaussian_count = records * (cdf(k + 1) - cdf(k));
                let prior_variance = (0.5 * gaussian_count + PRIOR_SHARE_SD * records).powi(2);
                ((gaussian_count * noise + released.values[k] * prior_variance) / (noise + prior_variance))
                    .max(0.0)
            })
            .collect();
        let total: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= total);
        let in_bin = |k: usize| (edge(k) + 0.5 * WIDTH).powi(2) + WIDTH * WIDTH / 12.0;
        let square: f64 = shares.iter().enumerate().map(|(k, p)| p * in_bin(k)).sum();
        let fourth: f64 = shares.iter().enumerate().map(|(k, p)| p * in_bin(k).powi(2)).sum();
        let privacy: f64 =
            (0..BINS).map(|k| (in_bin(k) - square).powi(2)).sum::<f64>() * noise / total.powi(2);
        let mut below = 0.0;
        let shape = std::iter::once(0.0).chain(shares.iter().map(|share| {
            below += share;
            below
        }));
        Self { square, shape: Some(shape.collect()), sd_error: 0.0, records_sd_error: 0.0 }
            .with_errors((fourth - square * square) / records, privacy)
    }

    /// The quantile of a standardised residual.
    pub(super) fn quantile(&self, probability: f64) -> f64 {
        let Some(shape) = &self.shape else {
            return self.square.sqrt() * normal::quantile(probability);
        };
        let k = shape[1..BINS].partition_point(|&below| below < probability);
        let share = shape[k + 1] - shape[k];
        let within = if share > 0.0 { ((probability - shape[k]) / share).clamp(0.0, 1.0) } else { 0.5 };
        edge(k) + within * WIDTH
    }
}

/// The lower edge of a bin.
fn edge(bin: usize) -> f64 {
    bin as f64 * WIDTH - HALF_RANGE
}
