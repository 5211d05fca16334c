//! The posterior.

use crate::engine::conjugate::choose;
use crate::model::naive_bayes::plan::{CLASSES, level, levels};
use crate::model::naive_bayes::tables::{SHARES, Tables};
use crate::model::parameters::{Block, Joint, Parameter, Sampled};
use crate::model::{
    Code, Codebook, Contrast, Link, ModelError, Parameters, Posterior, Predicted, Saved, Variances,
};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
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
    /// What the draws were made of; early files have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tables: Option<Tables>,
}

impl NaiveBayesPosterior {
    /// Whether its parts are consistent, since a file may have been edited.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let width: usize = self.columns.iter().map(|&inputs| levels(inputs, self.bins)).sum();
        let width_all = CLASSES * (1 + width);
        let draws = self.draws.len() >= 2 && self.draws.iter().all(|draw| draw.len() == width_all);
        let tables = self.tables.as_ref().is_none_or(|tables| tables.is_consistent(&self.columns, self.bins));
        self.bins > 0 && draws && self.records_variances.len() == width_all && tables
    }

    /// The indices of the shares that a record's log odds depend on, within those of a class.
    fn places(&self, inputs: &[f64]) -> Vec<usize> {
        let mut places = vec![0];
        let (mut input, mut first) = (0, 1);
        for &width in &self.columns {
            if let Some(level) = level(&inputs[input..input + width], self.bins) {
                places.push(first + level);
            }
            input += width;
            first += levels(width, self.bins);
        }
        places
    }

    /// The probability of the second class, and the variance of its log odds without and with the privacy noise.
    #[must_use]
    pub fn predict(&self, inputs: &[f64]) -> (f64, f64, f64) {
        let half = self.records_variances.len() / CLASSES;
        let places = self.places(inputs);
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

    /// `class_share[class]`, and `share[class, column, level]`: the shares of the levels of a column within a class. Numbers are cut into bins.
    /// The chains are run again for more draws than predictions need; for files without the released tables the draws of predictions are all.
    fn parameters(&self, codebook: &Codebook) -> Parameters {
        let again = self.tables.as_ref().map(|tables| tables.draws(&self.columns, self.bins, SHARES));
        let (logs, variances) = match &again {
            Some(drawn) => (&drawn.draws, &drawn.records_variances),
            None => (&self.draws, &self.records_variances),
        };
        let half = variances.len() / CLASSES;
        let average = |k: usize| logs.iter().map(|draw| draw[k].exp()).sum::<f64>() / logs.len() as f64;
        let classes = codebook.classes().cloned().unwrap_or_else(|| ["no".into(), "yes".into()]);
        let mut parameters: Vec<Parameter> = (0..CLASSES)
            .map(|class| Parameter::new("class_share", vec![("class", classes[class].clone())], class))
            .collect();
        let positive = average(half);
        let records = again.as_ref().map_or(0.0, |drawn| drawn.totals.iter().sum::<f64>());
        let mut records_sd = vec![(positive * (1.0 - positive) / (records + 1.0)).sqrt(); CLASSES];
        // The shares of levels, which follow that of the class in each half.
        let mut places = Vec::new();
        for (class, name) in classes.iter().enumerate() {
            let mut first = class * half + 1;
            for (column, &inputs) in codebook.columns.iter().zip(&self.columns) {
                let count = levels(inputs, self.bins);
                let names = column.bins(count);
                // A flag is in the first or the last bin, and a word that is absent in that of 0.
                let sides = match column.code {
                    Code::Word { .. } => [level(&[0.0], self.bins), level(&[1.0], self.bins)],
                    _ => [Some(0), Some(count - 1)],
                };
                let all = names.len() == count;
                for (k, name_of_level) in names.into_iter().enumerate() {
                    let Some(offset) = (if all { Some(k) } else { sides.get(k).copied().flatten() }) else {
                        continue;
                    };
                    let place = first + offset;
                    let at =
                        vec![("class", name.clone()), ("column", column.label()), ("level", name_of_level)];
                    parameters.push(Parameter::new("share", at, parameters.len()));
                    // Of p, given the variance of log p.
                    records_sd.push(average(place) * variances[place].sqrt());
                    places.push(place);
                }
                first += count;
            }
        }
        if self.tables.as_ref().is_some_and(|tables| !tables.is_noisy()) {
            records_sd.fill(f64::INFINITY);
        }
        let row = |draw: &Vec<f64>| {
            let positive = draw[half].exp().min(1.0);
            let shares = places.iter().map(|&place| draw[place].exp());
            [1.0 - positive, positive].into_iter().chain(shares).collect::<Vec<f64>>()
        };
        let joint = Joint::Sampled(Sampled::new(logs.iter().map(row), records_sd));
        Parameters::new(vec![Block { parameters, joint }])
    }

    /// The difference of the log odds.
    fn contrast(&self, inputs: &[f64], reference: &[f64]) -> Option<Contrast> {
        let half = self.records_variances.len() / CLASSES;
        let (to, from) = (self.places(inputs), self.places(reference));
        let odds = |draw: &[f64], k: usize| draw[half + k] - draw[k];
        let difference = |draw: &Vec<f64>| {
            let sum = |places: &[usize]| places.iter().map(|&k| odds(draw, k)).sum::<f64>();
            sum(&to) - sum(&from)
        };
        let draws: Vec<f64> = self.draws.iter().map(difference).collect();
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        // Levels that both have cancel.
        let only = |a: &[usize], b: &[usize]| -> f64 {
            let changed = a.iter().filter(|k| !b.contains(k));
            changed.map(|&k| self.records_variances[k] + self.records_variances[half + k]).sum()
        };
        let records = (only(&to, &from) + only(&from, &to)).min(variance);
        Some(Contrast { mean, records, privacy: variance - records })
    }

    /// A class by its share, then a level of each column by its share in that class; a number is uniform within its bin.
    fn simulate(&self, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        let half = self.records_variances.len() / CLASSES;
        let draw = &self.draws[rng.random_range(0..self.draws.len())];
        let class = usize::from(rng.random::<f64>() < draw[half].exp());
        let (mut record, mut first) = (Vec::new(), class * half + 1);
        for &inputs in &self.columns {
            let count = levels(inputs, self.bins);
            let shares: Vec<f64> = draw[first..first + count].iter().map(|log| log.exp()).collect();
            let level = choose(&shares, rng);
            if inputs == 1 {
                let along = (level as f64 + rng.random::<f64>()) / self.bins as f64;
                record.push(2.0 * along - 1.0);
            } else {
                record.extend((0..inputs).map(|k| f64::from(u8::from(k == level))));
            }
            first += count;
        }
        Some(record)
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
