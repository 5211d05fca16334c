//! Exact comparison of models on the same test records. **Not private.**

use crate::model::{Predicted, QUANTILES, Score, Scorer};
use serde::Serialize;

/// A figure of a model less that of the first one, with its standard error over the records, which are paired.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Difference {
    /// The figure, with its standard error.
    pub value: f64,
    /// Standard error of the figure.
    pub standard_error: f64,
    /// The figure less that of the first model; 0 for the first.
    pub difference: f64,
    /// Standard error of the difference.
    pub difference_error: f64,
}

/// A model of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedModel {
    /// All scores.
    pub score: Score,
    /// Mean log probability or log density of a record.
    pub log_likelihood: Difference,
    /// Root mean squared error, in the unit of the column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rmse: Option<Difference>,
    /// Share of correct classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<Difference>,
    /// Area under the ROC curve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auc: Option<Difference>,
    /// Mean absolute difference of observed and predicted frequencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration_error: Option<Difference>,
    /// Coverage of the central 95 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage_95: Option<Difference>,
}

/// A comparison.
///
/// # Privacy
/// Statistics of the test records without noise: publish them only if these are public.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// Number of records that all models were scored on.
    pub records: u64,
    /// Number of further records without a target.
    pub without_target: u64,
    /// The models, in the order that they were given in.
    pub models: Vec<ComparedModel>,
}

/// Collects the predictions of several models for the same records.
pub struct Comparison {
    unit: f64,
    without_target: u64,
    models: Vec<Collected>,
}

/// What is kept of the predictions of one model.
struct Collected {
    scorer: Scorer,
    log_likelihoods: Vec<f64>,
    /// Squared errors of numbers, in the unit of the column.
    squares: Vec<f64>,
    /// Whether targets were below each quantile, as bits.
    below: Vec<u32>,
    inside: Vec<bool>,
    /// Probability of the second class, and whether it occurred.
    classes: Vec<(f64, bool)>,
}

impl Comparison {
    /// For so many models, and targets whose encoded unit is `unit` of the column's own.
    #[must_use]
    pub fn new(models: usize, unit: f64) -> Self {
        let empty = || Collected {
            scorer: Scorer::new(unit),
            log_likelihoods: Vec::new(),
            squares: Vec::new(),
            below: Vec::new(),
            inside: Vec::new(),
            classes: Vec::new(),
        };
        Self { unit, without_target: 0, models: (0..models).map(|_| empty()).collect() }
    }

    /// Counts a record whose target is not known.
    pub fn leave_out(&mut self) {
        self.without_target += 1;
    }

    /// Adds the prediction of a model, made with [`QUANTILES`], for the next of its records. All models must have the same
    /// records in the same order.
    ///
    /// # Panics
    /// If there is no such model.
    pub fn add(&mut self, model: usize, predicted: &Predicted, target: f64) {
        let Collected { scorer, log_likelihoods, squares, below, inside, classes } = &mut self.models[model];
        scorer.add(predicted, target);
        log_likelihoods.push(match predicted {
            Predicted::Number { mean, variances, quantiles } => {
                let (gap, variance) = (target - mean, variances.total());
                squares.push((gap * self.unit).powi(2));
                let bits = quantiles
                    .iter()
                    .enumerate()
                    .filter(|(_, quantile)| target < **quantile || (target == **quantile && target != -1.0));
                below.push(bits.fold(0, |bits, (k, _)| bits | 1 << k));
                inside.push(quantiles[0] <= target && target <= quantiles[QUANTILES.len() - 1]);
                -0.5 * ((std::f64::consts::TAU * variance).ln() + gap * gap / variance) - self.unit.ln()
            }
            Predicted::Class { probability, .. } => {
                let second = target > 0.0;
                classes.push((*probability, second));
                (if second { *probability } else { 1.0 - probability }).max(f64::MIN_POSITIVE).ln()
            }
            Predicted::Component { log_density, .. } => *log_density,
            Predicted::Topics { bound, .. } | Predicted::Reconstruction { bound, .. } => *bound,
        });
    }

    /// The comparison; `None` without records, or if the models have different numbers of them.
    #[must_use]
    pub fn finish(self) -> Option<Compared> {
        let records = self.models.first()?.log_likelihoods.len();
        if self.models.iter().any(|model| model.log_likelihoods.len() != records) {
            return None;
        }
        let models: Vec<(Score, Influences)> = self
            .models
            .into_iter()
            .map(|model| {
                let score = model.scorer.clone().finish()?;
                let influences = Influences::new(&model, &score);
                Some((score, influences))
            })
            .collect::<Option<_>>()?;
        let (first, reference) = models.first()?;
        let compared = models.iter().map(|(score, influences)| {
            let of = |figure: &dyn Fn(&Score) -> Option<f64>,
                      influence: &dyn Fn(&Influences) -> &Vec<f64>| {
                let (value, base) = (figure(score)?, figure(first)?);
                Some(Difference {
                    value,
                    standard_error: standard_error(influence(influences).iter().copied()),
                    difference: value - base,
                    difference_error: standard_error(
                        influence(influences).iter().zip(influence(reference)).map(|(a, b)| a - b),
                    ),
                })
            };
            Some(ComparedModel {
                log_likelihood: of(&|score| Some(score.log_likelihood), &|of| &of.log_likelihood)?,
                rmse: of(&|score| score.rmse, &|of| &of.rmse),
                // Of reconstructed inputs there is a mean over records, without influences.
                accuracy: of(&|score| score.accuracy, &|of| &of.accuracy).filter(|_| score.auc.is_some()),
                auc: of(&|score| score.auc, &|of| &of.auc),
                calibration_error: of(&|score| score.calibration_error, &|of| &of.calibration),
                coverage_95: of(&|score| score.coverage.map(|coverage| coverage[2]), &|of| &of.coverage),
                score: score.clone(),
            })
        });
        let models = compared.collect::<Option<Vec<_>>>()?;
        Some(Compared { records: records as u64, without_target: self.without_target, models })
    }
}

/// The influence of each record on each figure: a figure is, to first order, a mean of them, so that its standard error is their
/// standard deviation over the root of their number.
struct Influences {
    log_likelihood: Vec<f64>,
    rmse: Vec<f64>,
    accuracy: Vec<f64>,
    auc: Vec<f64>,
    calibration: Vec<f64>,
    coverage: Vec<f64>,
}

impl Influences {
    fn new(model: &Collected, score: &Score) -> Self {
        let double = 2.0 * score.rmse.unwrap_or(1.0).max(f64::MIN_POSITIVE);
        let right = |(p, second): &(f64, bool)| f64::from(u8::from((*p > 0.5) == *second));
        Self {
            log_likelihood: model.log_likelihoods.clone(),
            rmse: model.squares.iter().map(|square| square / double).collect(),
            accuracy: model.classes.iter().map(right).collect(),
            auc: auc_influences(&model.classes),
            calibration: match model.classes.is_empty() {
                true => number_calibration(&model.below),
                false => class_calibration(&model.classes),
            },
            coverage: model.inside.iter().map(|inside| f64::from(u8::from(*inside))).collect(),
        }
    }
}

fn standard_error(influences: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = influences.clone().count() as f64;
    let mean = influences.clone().sum::<f64>() / n;
    (influences.map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0) / n).sqrt()
}

/// Placements of DeLong, DeLong and Clarke-Pearson (1988): of a record of the second class, the share of the first class below it; of one of
/// the first, the share of the second above it; each over the share of its own class among all records.
fn auc_influences(classes: &[(f64, bool)]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..classes.len()).collect();
    order.sort_by(|a, b| classes[*a].0.total_cmp(&classes[*b].0));
    let n = classes.len() as f64;
    let seconds = classes.iter().filter(|(_, second)| *second).count() as f64;
    let firsts = n - seconds;
    let mut influences = vec![0.0; classes.len()];
    let (mut firsts_below, mut seconds_below) = (0.0, 0.0);
    for tied in order.chunk_by(|a, b| classes[*a].0 == classes[*b].0) {
        let second = tied.iter().filter(|k| classes[**k].1).count() as f64;
        let first = tied.len() as f64 - second;
        for &k in tied {
            influences[k] = if classes[k].1 {
                (firsts_below + 0.5 * first) / firsts * n / seconds
            } else {
                (seconds - seconds_below - 0.5 * second) / seconds * n / firsts
            };
        }
        firsts_below += first;
        seconds_below += second;
    }
    // The mean of each class is removed: the shares of the classes are not estimated by the area.
    for class in [false, true] {
        let of = || classes.iter().enumerate().filter(|(_, (_, second))| *second == class);
        let count = of().count().max(1) as f64;
        let mean = of().map(|(k, _)| influences[k]).sum::<f64>() / count;
        of().for_each(|(k, _)| influences[k] -= mean);
    }
    influences
}

/// Number of bins of the calibration error, as in [`Score`].
const BINS: usize = 10;

/// The calibration error is the mean of $\pm(p - y)$, with the sign of its bin.
fn class_calibration(classes: &[(f64, bool)]) -> Vec<f64> {
    let bin = |p: f64| ((p * BINS as f64) as usize).min(BINS - 1);
    let gap = |(p, second): &(f64, bool)| p - f64::from(u8::from(*second));
    let mut sums = [0.0; BINS];
    classes.iter().for_each(|class| sums[bin(class.0)] += gap(class));
    classes.iter().map(|class| sums[bin(class.0)].signum() * gap(class)).collect()
}

/// The same over quantiles, each with the sign of its own gap.
fn number_calibration(below: &[u32]) -> Vec<f64> {
    let is_below = |bits: &u32, k: usize| f64::from(bits >> k & 1);
    let n = below.len().max(1) as f64;
    let signs: Vec<f64> = QUANTILES
        .iter()
        .enumerate()
        .map(|(k, p)| (below.iter().map(|bits| is_below(bits, k)).sum::<f64>() / n - p).signum())
        .collect();
    let influence = |bits: &u32| {
        signs.iter().enumerate().map(|(k, sign)| sign * is_below(bits, k)).sum::<f64>() / signs.len() as f64
    };
    below.iter().map(influence).collect()
}
