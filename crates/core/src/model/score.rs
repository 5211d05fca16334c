//! Scores of predictions on records with known targets.

use crate::model::Predicted;
use serde::{Deserialize, Serialize};

/// Probabilities of the quantiles that scores need: 2.5 %, 97.5 %, and all multiples of 5 % between.
pub const QUANTILES: [f64; 21] = [
    0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9,
    0.95, 0.975,
];

/// Number of bins of the probability of a class.
const BINS: usize = 10;

/// A point of a calibration curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// For a number: a probability. For a class: the mean of the probabilities in a bin.
    pub predicted: f64,
    /// For a number: the share of targets below that quantile. For a class: the observed frequency of the second one.
    pub happened: f64,
    /// Number of records in the bin.
    pub count: u64,
}

/// Scores of predictions.
///
/// # Privacy
/// A statistic of the test records without noise: publish it only if these are public.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Number of scored records.
    pub records: u64,
    /// Number of further records without a target.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub without_target: u64,
    /// Mean log probability or log density of the target; of the record, for mixtures, and a lower bound of it for
    /// topics and belief networks.
    #[serde(deserialize_with = "number_or_null")]
    pub log_likelihood: f64,
    /// Root mean squared error of a numeric target, in the column's unit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rmse: Option<f64>,
    /// Coverage of the central credible intervals of 50, 80 and 95 %, for a numeric target.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub coverage: Option<[f64; 3]>,
    /// $e^{-\text{bound}/\text{words}}$ over all words of documents: an upper bound.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub perplexity: Option<f64>,
    /// Accuracy: the share of correct classes, or of correctly reconstructed inputs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub accuracy: Option<f64>,
    /// Area under the ROC curve: the probability that a record of the second class has a higher predicted probability
    /// than one of the first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub auc: Option<f64>,
    /// Mean absolute difference of observed and predicted frequencies.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub calibration_error: Option<f64>,
    /// The calibration curve.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub calibration: Vec<Calibration>,
}

/// JSON has no infinity: a target of probability 0 makes the mean log-likelihood null.
fn number_or_null<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Collects predictions made with [`QUANTILES`] and targets into a [`Score`].
#[derive(Debug, Clone)]
pub struct Scorer {
    unit: f64,
    records: u64,
    without_target: u64,
    log_likelihood: f64,
    squares: f64,
    inside: [u64; 3],
    below: [u64; QUANTILES.len()],
    /// The probability of the second class, and whether it occurred.
    classes: Vec<(f64, bool)>,
    numbers: bool,
    /// Number of words, for documents.
    words: f64,
    /// Sum of the shares of correctly reconstructed inputs, for belief networks.
    right: Option<f64>,
}

impl Scorer {
    /// For targets whose encoded unit is `unit` of the column's own units.
    #[must_use]
    pub fn new(unit: f64) -> Self {
        Self {
            unit,
            records: 0,
            without_target: 0,
            log_likelihood: 0.0,
            squares: 0.0,
            inside: [0; 3],
            below: [0; QUANTILES.len()],
            classes: Vec::new(),
            numbers: false,
            words: 0.0,
            right: None,
        }
    }

    /// Counts a record whose target is not known.
    pub fn leave_out(&mut self) {
        self.without_target += 1;
    }

    /// Adds a record: its prediction, and its encoded target, which mixtures do not have.
    pub fn add(&mut self, predicted: &Predicted, target: f64) {
        self.records += 1;
        match predicted {
            Predicted::Number { mean, variances, quantiles } => {
                self.numbers = true;
                let variance = variances.total();
                let gap = target - mean;
                self.squares += (gap * self.unit).powi(2);
                self.log_likelihood -=
                    0.5 * ((std::f64::consts::TAU * variance).ln() + gap * gap / variance) + self.unit.ln();
                for (below, quantile) in self.below.iter_mut().zip(quantiles) {
                    // A quantile clipped to the lower bound is below all targets.
                    *below += u64::from(target < *quantile || (target == *quantile && target != -1.0));
                }
                let last = quantiles.len() - 1;
                for (inside, (low, high)) in self.inside.iter_mut().zip([(5, 15), (2, last - 2), (0, last)]) {
                    *inside += u64::from(quantiles[low] <= target && target <= quantiles[high]);
                }
            }
            Predicted::Class { probability, .. } => {
                let second = target > 0.0;
                let right = if second { *probability } else { 1.0 - probability };
                self.log_likelihood += right.max(f64::MIN_POSITIVE).ln();
                self.classes.push((*probability, second));
            }
            Predicted::Component { log_density, .. } => self.log_likelihood += log_density,
            Predicted::Topics { bound, words, .. } => {
                self.log_likelihood += bound;
                self.words += words;
            }
            Predicted::Reconstruction { bound, right, .. } => {
                self.log_likelihood += bound;
                self.right = Some(self.right.unwrap_or(0.0) + right);
            }
        }
    }

    /// The score; `None` without records.
    #[must_use]
    pub fn finish(mut self) -> Option<Score> {
        if self.records == 0 {
            return None;
        }
        let n = self.records as f64;
        let mut score = Score {
            records: self.records,
            without_target: self.without_target,
            log_likelihood: self.log_likelihood / n,
            rmse: None,
            coverage: None,
            perplexity: (self.words > 0.0).then(|| (-self.log_likelihood / self.words).exp()),
            accuracy: self.right.map(|right| right / n),
            auc: None,
            calibration_error: None,
            calibration: Vec::new(),
        };
        if self.numbers {
            score.rmse = Some((self.squares / n).sqrt());
            score.coverage = Some(self.inside.map(|count| count as f64 / n));
            let points = QUANTILES.iter().zip(&self.below);
            score.calibration = points
                .map(|(&predicted, &below)| Calibration {
                    predicted,
                    happened: below as f64 / n,
                    count: self.records,
                })
                .collect();
            let gaps = score.calibration.iter().map(|point| (point.predicted - point.happened).abs());
            score.calibration_error = Some(gaps.sum::<f64>() / QUANTILES.len() as f64);
        } else if !self.classes.is_empty() {
            let right = self.classes.iter().filter(|(p, second)| (*p > 0.5) == *second).count();
            score.accuracy = Some(right as f64 / n);
            score.calibration = binned(&self.classes);
            let gaps = score
                .calibration
                .iter()
                .map(|point| point.count as f64 * (point.predicted - point.happened).abs());
            score.calibration_error = Some(gaps.sum::<f64>() / n);
            score.auc = auc(&mut self.classes);
        }
        Some(score)
    }
}

fn binned(classes: &[(f64, bool)]) -> Vec<Calibration> {
    let mut bins = [(0u64, 0.0, 0u64); BINS];
    for (p, second) in classes {
        let (count, sum, seconds) = &mut bins[((p * BINS as f64) as usize).min(BINS - 1)];
        *count += 1;
        *sum += p;
        *seconds += u64::from(*second);
    }
    let filled = bins.into_iter().filter(|(count, ..)| *count > 0);
    filled
        .map(|(count, sum, seconds)| Calibration {
            predicted: sum / count as f64,
            happened: seconds as f64 / count as f64,
            count,
        })
        .collect()
}

/// By ranks, with ties counted as half; `None` if all records are of one class.
fn auc(classes: &mut [(f64, bool)]) -> Option<f64> {
    classes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut firsts, mut seconds, mut pairs) = (0.0, 0.0, 0.0);
    for tied in classes.chunk_by(|a, b| a.0 == b.0) {
        let second = tied.iter().filter(|(_, second)| *second).count() as f64;
        let first = tied.len() as f64 - second;
        pairs += second * (firsts + 0.5 * first);
        firsts += first;
        seconds += second;
    }
    (firsts > 0.0 && seconds > 0.0).then(|| pairs / (firsts * seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Variances;

    fn class(probability: f64) -> Predicted {
        let score = (probability / (1.0 - probability)).ln();
        Predicted::Class {
            probability,
            score,
            link: crate::model::Link::Logistic,
            variances: Variances::default(),
        }
    }

    /// Of the four pairs of a second and a first class three are in order and one is tied.
    #[test]
    fn classes_are_scored() {
        let mut scorer = Scorer::new(1.0);
        for (p, target) in [(0.9, 1.0), (0.4, 1.0), (0.4, -1.0), (0.1, -1.0)] {
            scorer.add(&class(p), target);
        }
        let score = scorer.finish().unwrap();
        assert_eq!(score.auc, Some(3.5 / 4.0));
        assert_eq!(score.accuracy, Some(0.75));
        let expected = (0.9f64.ln() + 0.4f64.ln() + 0.6f64.ln() + 0.9f64.ln()) / 4.0;
        assert!((score.log_likelihood - expected).abs() < 1e-12);
        // Bins of 0.1, 0.4 (one of two) and 0.9.
        assert!((score.calibration_error.unwrap() - (0.1 + 2.0 * 0.1 + 0.1) / 4.0).abs() < 1e-12);
    }

    /// Targets at the centre of each of a thousand slices of a uniform distribution on [-1, 1], predicted by that
    /// distribution.
    #[test]
    fn right_quantiles_are_calibrated() {
        let mut scorer = Scorer::new(2.0);
        let quantiles: Vec<f64> = QUANTILES.iter().map(|p| 2.0 * p - 1.0).collect();
        let variances = Variances { targets: 1.0 / 3.0, ..Variances::default() };
        for k in 0..1000 {
            let predicted = Predicted::Number { mean: 0.0, variances, quantiles: quantiles.clone() };
            scorer.add(&predicted, (f64::from(k) + 0.5) / 500.0 - 1.0);
        }
        let score = scorer.finish().unwrap();
        for (found, expected) in score.coverage.unwrap().iter().zip([0.5, 0.8, 0.95]) {
            assert!((found - expected).abs() < 2e-3, "{found} {expected}");
        }
        assert!(score.calibration_error.unwrap() < 1e-3);
        // In units of twice the encoding's, the standard deviation is 2/sqrt(3), up to the width of a slice.
        assert!((score.rmse.unwrap() - 2.0 / 3f64.sqrt()).abs() < 1e-5);
        assert!(Scorer::new(1.0).finish().is_none());
    }
}
