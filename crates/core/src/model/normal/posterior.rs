//! The posterior.

use crate::model::parameters::{Block, Joint, Parameter, Sampled};
use crate::model::{Codebook, ModelError, Parameters, Posterior, Predicted, Saved};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
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
    /// Whether the draws have no privacy noise in them.
    #[serde(default)]
    noise_free: bool,
}

impl NormalColumn {
    pub(super) fn new(latent: &[(f64, f64)], column: Vec<(f64, f64)>, strength: f64) -> Self {
        let (means, variances) = latent.iter().copied().unzip();
        let (column_means, column_variances) = column.into_iter().unzip();
        Self { means, variances, column_means, column_variances, strength, noise_free: false }
    }

    /// The same, with draws that have no privacy noise in them.
    pub(super) fn without_noise(self) -> Self {
        Self { noise_free: true, ..self }
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

    /// `mean[column]` and `sd[column]`: those of the recorded column, whose numbers are within its bounds.
    fn parameters(&self, codebook: &Codebook) -> Parameters {
        let draws = self.iter().map(|column| column.column_means.len()).min().unwrap_or(0);
        let columns = || self.iter().zip(&codebook.columns);
        let row = |draw: usize| {
            let means = columns().map(|(column, coded)| coded.decode(column.column_means[draw]));
            let sds = columns().map(|(column, coded)| {
                coded.decode_difference(column.column_variances[draw].max(0.0).sqrt())
            });
            means.chain(sds).collect::<Vec<f64>>()
        };
        let known = |column: &NormalColumn, sd: f64| if column.noise_free { f64::INFINITY } else { sd };
        let records =
            columns().map(|(column, coded)| known(column, coded.decode_difference(column.mean().1.sqrt())));
        // The standard deviation of n normal numbers has the relative error 1/sqrt(2n).
        let sd_errors = columns().map(|(column, coded)| {
            let variance = column.column_variances.iter().sum::<f64>() / draws as f64;
            known(column, coded.decode_difference((0.5 * variance / column.strength).sqrt()))
        });
        let joint = Joint::Sampled(Sampled::new((0..draws).map(row), records.chain(sd_errors).collect()));
        let variables =
            ["mean", "sd"].into_iter().flat_map(|variable| columns().map(move |(_, c)| (variable, c)));
        let parameters = variables.enumerate().map(|(k, (variable, column))| {
            Parameter::new(variable, vec![("column", column.label())], k)
                .with_unit(column.unit.as_deref())
                .with_note("within the bounds")
        });
        Parameters::new(vec![Block { parameters: parameters.collect(), joint }])
    }

    /// A number of the latent normal distribution of a draw, clipped to the bounds.
    fn simulate(&self, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        let number = |column: &NormalColumn| {
            let draw = rng.random_range(0..column.means.len());
            let z: f64 = StandardNormal.sample(rng);
            (column.means[draw] + z * column.variances[draw].max(0.0).sqrt()).clamp(-1.0, 1.0)
        };
        Some(self.iter().map(number).collect())
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
