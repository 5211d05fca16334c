//! Draws of a mean and a covariance, and summaries of them.

use crate::math::matrix;
use crate::model::parameters::{Block, Joint, Parameter, Sampled};
use crate::model::{Codebook, ModelError, Parameters, Posterior, Predicted, Saved};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// The posterior: draws of the mean and of the Cholesky factor of the covariance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MultivariatePosterior {
    columns: usize,
    /// Number of records plus the prior sample size.
    strength: f64,
    /// Draws of the mean, concatenated.
    means: Vec<f64>,
    /// Draws of the factor, concatenated, in row-major order, with the reciprocals of the diagonal.
    factors: Vec<f64>,
    /// Whether the draws have no privacy noise in them.
    #[serde(default)]
    noise_free: bool,
}

/// A mean and the factor of a covariance, in the form of [`matrix::cholesky`].
#[derive(Debug, Clone)]
pub(super) struct Draw {
    pub(super) mean: Vec<f64>,
    pub(super) factor: Vec<f64>,
}

impl MultivariatePosterior {
    pub(super) fn new(columns: usize, strength: f64, draws: &[Draw]) -> Self {
        let means = draws.iter().flat_map(|draw| draw.mean.iter().copied()).collect();
        let factors = draws.iter().flat_map(|draw| draw.factor.iter().copied()).collect();
        Self { columns, strength, means, factors, noise_free: false }
    }

    /// The same, with draws that have no privacy noise in them.
    pub(super) fn without_noise(self) -> Self {
        Self { noise_free: true, ..self }
    }

    /// Whether its parts are consistent, since a file may have been edited.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let (d, draws) = (self.columns, self.means.len() / self.columns.max(1));
        let square = d.checked_mul(d).and_then(|square| square.checked_mul(draws));
        let lengths = self.means.len() == draws * d && square == Some(self.factors.len());
        d > 0 && draws >= 2 && lengths && self.strength > 0.0
    }

    /// How many columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Draws of the mean, one after the other.
    pub fn means(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.means.chunks_exact(self.columns)
    }

    /// Draws of the covariance, row by row.
    pub fn covariances(&self) -> impl ExactSizeIterator<Item = Vec<f64>> + '_ {
        self.factors.chunks_exact(self.columns * self.columns).map(|factor| covariance(factor, self.columns))
    }

    /// The posterior mean of each column's mean, and its variance without and with the privacy noise.
    #[must_use]
    pub fn mean(&self) -> Vec<(f64, f64, f64)> {
        let draws = self.means().len() as f64;
        let column = |k: usize| {
            let mean = self.means().map(|mean| mean[k]).sum::<f64>() / draws;
            let variance = self.means().map(|x| (x[k] - mean).powi(2)).sum::<f64>() / (draws - 1.0);
            let spread = self.covariances().map(|c| c[k * (self.columns + 1)]).sum::<f64>() / draws;
            (mean, (spread / self.strength).min(variance), variance)
        };
        (0..self.columns).map(column).collect()
    }

    /// The mean of the covariance, row by row.
    #[must_use]
    pub fn covariance(&self) -> Vec<f64> {
        let mut sum = vec![0.0; self.columns * self.columns];
        let draws = self.covariances().len() as f64;
        for draw in self.covariances() {
            sum.iter_mut().zip(draw).for_each(|(sum, x)| *sum += x / draws);
        }
        sum
    }

    /// The correlation of two columns, and its standard deviation.
    #[must_use]
    pub fn correlation(&self, i: usize, j: usize) -> (f64, f64) {
        let at = |c: &[f64], i: usize, j: usize| c[i * self.columns + j];
        let of = |c: Vec<f64>| at(&c, i, j) / (at(&c, i, i) * at(&c, j, j)).sqrt();
        let draws: Vec<f64> = self.covariances().map(of).collect();
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        (mean, (draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
    }

    /// The logarithm of the density of a record, averaged over the draws.
    #[must_use]
    pub fn log_density(&self, record: &[f64]) -> f64 {
        let (d, mut gap) = (self.columns, vec![0.0; self.columns]);
        let factors = self.factors.chunks_exact(d * d);
        let logs = self.means().zip(factors).map(|(mean, factor)| {
            gap.iter_mut().zip(record).zip(mean).for_each(|((gap, x), mean)| *gap = x - mean);
            matrix::solve_lower(factor, d, &mut gap);
            let square: f64 = gap.iter().map(|x| x * x).sum();
            -0.5 * (square + matrix::log_determinant(factor, d) + d as f64 * std::f64::consts::TAU.ln())
        });
        let logs: Vec<f64> = logs.collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        top + (logs.iter().map(|log| (log - top).exp()).sum::<f64>() / logs.len() as f64).ln()
    }
}

/// $LL^T$.
fn covariance(factor: &[f64], size: usize) -> Vec<f64> {
    let entry = |i: usize, j: usize| match i.cmp(&j) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 1.0 / factor[i * size + i],
        std::cmp::Ordering::Greater => factor[i * size + j],
    };
    let of = |i: usize, j: usize| (0..=i.min(j)).map(|k| entry(i, k) * entry(j, k)).sum();
    (0..size * size).map(|k| of(k / size, k % size)).collect()
}

impl Draw {
    /// $\Sigma$.
    pub(super) fn covariance(&self) -> Vec<f64> {
        covariance(&self.factor, self.mean.len())
    }
}

impl Posterior for MultivariatePosterior {
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        Predicted::Component { log_density: self.log_density(inputs), probabilities: Vec::new() }
    }

    /// `mean[column]`, `sd[column]` and `correlation[column, with]`.
    fn parameters(&self, codebook: &Codebook) -> Parameters {
        let d = self.columns;
        let coded = &codebook.columns[..d];
        let pairs: Vec<(usize, usize)> = (0..d).flat_map(|i| (i + 1..d).map(move |j| (i, j))).collect();
        let row = |(mean, covariance): (&[f64], Vec<f64>)| {
            let sd = |i: usize| covariance[i * (d + 1)].sqrt();
            let means = mean.iter().zip(coded).map(|(x, column)| column.decode(*x));
            let sds = coded.iter().enumerate().map(|(i, column)| column.decode_difference(sd(i)));
            let correlations = pairs.iter().map(|&(i, j)| covariance[i * d + j] / (sd(i) * sd(j)));
            means.chain(sds).chain(correlations).collect::<Vec<f64>>()
        };
        let draws: Vec<Vec<f64>> = self.means().zip(self.covariances()).map(row).collect();
        let average = |k: usize| draws.iter().map(|draw| draw[k]).sum::<f64>() / draws.len() as f64;
        // Without noise: s/sqrt(n), s/sqrt(2n) and (1 - r^2)/sqrt(n).
        let root = self.strength.sqrt();
        let records = (0..d).map(|i| average(d + i) / root);
        let sds = (0..d).map(|i| average(d + i) / (root * std::f64::consts::SQRT_2));
        let correlations = (0..pairs.len()).map(|k| (1.0 - average(2 * d + k).powi(2)) / root);
        let known = |sd: f64| if self.noise_free { f64::INFINITY } else { sd };
        let records_sd = records.chain(sds).chain(correlations).map(known).collect();
        let column = |(k, variable): (usize, &'static str)| {
            let coded = &coded[k % d];
            Parameter::new(variable, vec![("column", coded.label())], k).with_unit(coded.unit.as_deref())
        };
        let variables = std::iter::repeat_n("mean", d).chain(std::iter::repeat_n("sd", d));
        let of_pairs = pairs.iter().enumerate().map(|(k, &(i, j))| Parameter {
            null: Some(0.0),
            ..Parameter::new(
                "correlation",
                vec![("column", coded[i].label()), ("with", coded[j].label())],
                2 * d + k,
            )
        });
        let parameters = variables.enumerate().map(column).chain(of_pairs).collect();
        Parameters::new(vec![Block { parameters, joint: Joint::Sampled(Sampled::new(draws, records_sd)) }])
    }

    /// Numbers of a draw of the parameters, clipped to the bounds.
    fn simulate(&self, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        let (d, draw) = (self.columns, rng.random_range(0..self.means().len()));
        let (mean, factor) = (&self.means[draw * d..][..d], &self.factors[draw * d * d..][..d * d]);
        let normal: Vec<f64> = (0..d).map(|_| StandardNormal.sample(rng)).collect();
        // The factor has the reciprocals of its diagonal.
        let number = |i: usize| {
            let below: f64 = (0..i).map(|j| factor[i * d + j] * normal[j]).sum();
            (mean[i] + below + normal[i] / factor[i * (d + 1)]).clamp(-1.0, 1.0)
        };
        Some((0..d).map(number).collect())
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
