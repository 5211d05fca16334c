//! How far targets are from predictions: which prediction is better, and how residuals are distributed.
//!
//! These are errors on the records that the prediction was learnt from. Noise in the prediction is independent of them; what it learnt from
//! the records makes their errors a little smaller than those of new ones, by a factor that is known from its degrees of freedom.

use crate::math::normal;
use crate::wall::Released;
use serde::{Deserialize, Serialize};

/// Bins of a histogram of residuals.
pub(super) const BINS: usize = 32;

/// How many deviations it reaches to either side.
pub(super) const REACH: f64 = 4.0;

pub(super) const WIDTH: f64 = 2.0 * REACH / BINS as f64;

/// A residual counts as at most this many deviations where squares are summed.
pub(super) const FARTHEST: f64 = 3.0;

/// The share of the records by which a bin may differ from a Gaussian's where that has none. Simulated residuals that are a third wider or
/// a fifth narrower than they should be, Gaussian or with heavy tails, are then covered by 94 to 97 % from some 7,000 records on.
const UNUSUAL: f64 = 0.005;

/// The distribution of residuals over the deviations that a posterior gives them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Residuals {
    /// Their mean square: 1 if the posterior was right about them.
    pub square: f64,
    /// The share of them below each edge between bins; none if they are taken to be Gaussian.
    pub shape: Option<Vec<f64>>,
}

impl Residuals {
    /// Before anything is known of them.
    pub(super) fn gaussian() -> Self {
        Self { square: 1.0, shape: None }
    }

    pub(super) fn from_squares(released: &Released, records: f64) -> Self {
        // A sum that noise has made nothing of says only that it is small.
        let least = (released.noise_sd[0] / records).min(1.0);
        Self { square: FARTHEST * FARTHEST * (released.values[0] / records).clamp(least, 1.0), shape: None }
    }

    /// Counts are noisy, so each is drawn towards that of a Gaussian, the more so the fewer there should be.
    pub(super) fn from_histogram(released: &Released, records: f64) -> Self {
        let cdf = |k: usize| match k {
            0 => 0.0,
            BINS => 1.0,
            _ => normal::cdf(edge(k)),
        };
        let noise = released.noise_sd[0].powi(2);
        let mut shares: Vec<f64> = (0..BINS)
            .map(|k| {
                let usual = records * (cdf(k + 1) - cdf(k));
                let doubt = (0.5 * usual + UNUSUAL * records).powi(2);
                ((usual * noise + released.values[k] * doubt) / (noise + doubt)).max(0.0)
            })
            .collect();
        let total: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= total);
        let squares = shares.iter().enumerate();
        let square = squares.map(|(k, p)| p * ((edge(k) + 0.5 * WIDTH).powi(2) + WIDTH * WIDTH / 12.0)).sum();
        let mut below = 0.0;
        let shape = std::iter::once(0.0).chain(shares.iter().map(|share| {
            below += share;
            below
        }));
        Self { square, shape: Some(shape.collect()) }
    }

    /// The value below which a residual, over its deviation, is with this probability.
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
    bin as f64 * WIDTH - REACH
}
