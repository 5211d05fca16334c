//! The posterior.

use crate::model::{ModelError, Point, Posterior, Predicted, Saved};
use serde::{Deserialize, Serialize};

/// The posterior of a column: draws of the mean and the variance of the latent normal numbers, and of the recorded
/// column, whose numbers are clipped to the bounds.
///
/// The two differ if numbers are clipped, and more so if they are skewed: the normal distribution whose clipped
/// numbers have the column's sums can have a mean far from the column's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NormalColumn {
    #[serde(rename = "latent_means")]
    means: Vec<f64>,
    #[serde(rename = "latent_variances")]
    variances: Vec<f64>,
    column_means: Vec<f64>,
    column_variances: Vec<f64>,
    /// Number of records plus the prior sample size.
    strength: f64,
}

impl NormalColumn {
    pub(super) fn new(latent: &[(f64, f64)], column: Vec<(f64, f64)>, strength: f64) -> Self {
        let (means, variances) = latent.iter().copied().unzip();
        let (column_means, column_variances) = column.into_iter().unzip();
        Self { means, variances, column_means, column_variances, strength }
    }

    /// Whether its parts are consistent, since a file may have been edited.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let draws = self.means.len();
        let lengths = [&self.variances, &self.column_means, &self.column_variances].map(Vec::len);
        draws >= 2 && lengths.iter().all(|length| *length == draws)
    }

    /// Draws of the mean of the latent normal numbers, before clipping.
    #[must_use]
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Draws of their variance, in the same order.
    #[must_use]
    pub fn variances(&self) -> &[f64] {
        &self.variances
    }

    /// The posterior mean of the column's mean within its bounds, and its variance: without and with the privacy
    /// noise.
    #[must_use]
    pub fn mean(&self) -> (f64, f64, f64) {
        let n = self.column_means.len() as f64;
        let mean = self.column_means.iter().sum::<f64>() / n;
        let variance = self.column_means.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let records = self.column_variances.iter().sum::<f64>() / n / self.strength;
        (mean, records.min(variance), variance)
    }

    /// The logarithm of the density of a number, averaged over the draws.
    #[must_use]
    pub fn log_density(&self, x: f64) -> f64 {
        let densities = self.means.iter().zip(&self.variances).map(|(mean, variance)| {
            (-0.5 * (x - mean).powi(2) / variance).exp() / (std::f64::consts::TAU * variance).sqrt()
        });
        (densities.sum::<f64>() / self.means.len() as f64).max(f64::MIN_POSITIVE).ln()
    }
}

impl Posterior for Vec<NormalColumn> {
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let log_density = self.iter().zip(inputs).map(|(column, &x)| column.log_density(x)).sum();
        Predicted::Component { log_density, probabilities: Vec::new() }
    }

    fn points(&self) -> Vec<Point> {
        let moments: Vec<(f64, f64, f64)> = self.iter().map(NormalColumn::mean).collect();
        vec![Point {
            name: "mean of each column, within its bounds".into(),
            mean: moments.iter().map(|m| m.0).collect(),
            records_sd: moments.iter().map(|m| m.1.sqrt()).collect(),
            sd: moments.iter().map(|m| m.2.sqrt()).collect(),
        }]
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
