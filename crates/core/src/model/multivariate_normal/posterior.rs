//! Draws of a mean and a covariance, and summaries of them.

use crate::math::matrix;
use crate::model::{Highlight, ModelError, Point, Posterior, Predicted, Saved};
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
        Self { columns, strength, means, factors }
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

    fn points(&self) -> Vec<Point> {
        let moments = self.mean();
        vec![Point {
            name: "mean".into(),
            mean: moments.iter().map(|m| m.0).collect(),
            records_sd: moments.iter().map(|m| m.1.sqrt()).collect(),
            sd: moments.iter().map(|m| m.2.sqrt()).collect(),
        }]
    }

    /// The correlation of each pair of columns, strongest first.
    fn highlights(&self, inputs: &[String]) -> Vec<Highlight> {
        let d = self.columns();
        let pairs = (0..d).flat_map(|i| (0..i).map(move |j| (j, i)));
        let mut found: Vec<(f64, Highlight)> = pairs
            .filter_map(|(i, j)| {
                let (mean, sd) = self.correlation(i, j);
                let name = format!("{} and {}", inputs.get(i)?, inputs.get(j)?);
                let text = format!("correlation {mean:.2}, standard deviation {sd:.2}");
                Some((mean, Highlight { name, text }))
            })
            .collect();
        found.sort_by(|(a, _), (b, _)| b.abs().total_cmp(&a.abs()));
        found.into_iter().map(|(_, highlight)| highlight).collect()
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
