//! The posterior.

use crate::model::naive_bayes::plan::{CLASSES, level, levels};
use crate::model::{Link, ModelError, Posterior, Predicted, Saved, Variances};
use serde::{Deserialize, Serialize};

/// The posterior of a naive Bayes model: draws of the logarithms of all shares.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NaiveBayesPosterior {
    pub(super) columns: Vec<usize>,
    pub(super) bins: usize,
    /// In each: for each class its share, and then the shares of the levels of each column.
    pub(super) draws: Vec<Vec<f64>>,
    /// The variances of the same that the records leave.
    pub(super) records_variances: Vec<f64>,
}

impl NaiveBayesPosterior {
    /// Whether its parts are consistent, since a file may have been edited.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let width: usize = self.columns.iter().map(|&inputs| levels(inputs, self.bins)).sum();
        let width_all = CLASSES * (1 + width);
        let draws = self.draws.len() >= 2 && self.draws.iter().all(|draw| draw.len() == width_all);
        self.bins > 0 && draws && self.records_variances.len() == width_all
    }

    pub(super) fn push(&mut self, logs: impl Iterator<Item = Vec<f64>>, variances: Vec<f64>) {
        self.draws.iter_mut().zip(logs).for_each(|(draw, logs)| draw.extend(logs));
        self.records_variances.extend(variances);
    }

    /// The probability of the second class, and the variance of its log odds without and with the privacy noise.
    #[must_use]
    pub fn predict(&self, inputs: &[f64]) -> (f64, f64, f64) {
        let half = self.records_variances.len() / CLASSES;
        let mut places = vec![0];
        let (mut input, mut first) = (0, 1);
        for &width in &self.columns {
            if let Some(level) = level(&inputs[input..input + width], self.bins) {
                places.push(first + level);
            }
            input += width;
            first += levels(width, self.bins);
        }
        let odds = |draw: &Vec<f64>| places.iter().map(|k| draw[half + k] - draw[*k]).sum::<f64>();
        let odds: Vec<f64> = self.draws.iter().map(odds).collect();
        let n = odds.len() as f64;
        let probability = odds.iter().map(|x| 1.0 / (1.0 + (-x).exp())).sum::<f64>() / n;
        let mean = odds.iter().sum::<f64>() / n;
        let variance = odds.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let records: f64 =
            places.iter().map(|k| self.records_variances[*k] + self.records_variances[half + k]).sum();
        (probability, records.min(variance), variance)
    }
}

/// Maximum log odds: beyond it a probability is 0 or 1 in floating point.
const MAX_SCORE: f64 = 36.0;

impl Posterior for NaiveBayesPosterior {
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let (probability, records, all) = NaiveBayesPosterior::predict(self, inputs);
        let variances = Variances { records, privacy: all - records, targets: 0.0 };
        let score = (probability / (1.0 - probability)).ln().clamp(-MAX_SCORE, MAX_SCORE);
        Predicted::Class { probability, score, link: Link::Logistic, variances }
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
