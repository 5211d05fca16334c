//! The contribution of a test record to the release of a private evaluation.
//!
//! # Layout
//! Each coordinate is non-negative. Those of a model, with their scales:
//!
//! | target | coordinates | scale | squared norm |
//! |---|---|---|---|
//! | number | 1 for the ring that the target is in: the central 50 % interval, 80 %, 95 %, outside, outside with a clipped error | 1/2 | 1/4 |
//! | | $t = \min(e^2/c^2, 1)$ of the error $e$ and the public clip $c$ | 1 | 1 |
//! | | $t^2$, for the sampling variance | 1/2 | 1/4 |
//! | two classes | 1 for the cell of the class and of the bin of the score | 1 | 1 |
//! | | 1 for the cell of the class and of the predicted class | 1/2 | 1/4 |
//! | | log loss over its maximum | 1/2 | 1/4 |
//!
//! Each model after the first has the squared difference of its $t$ (number) or log loss (classes) from that of the first, and for
//! classes a cell for records on which only one of both is right: 1/4 of squared norm each. They give the sampling variance of paired
//! differences.
//!
//! The squared radius is the sum: for one model 3/2. The largest share is that of the figure with the least signal, the squared error and the
//! histogram; the rest are counts of thousands of records, or needed to one digit.
//!
//! The bins of a score are of equal width on the scale of the log odds, so that probabilities near 0 are resolved too, and one of
//! their edges is 0, so that the predicted class is a function of the bin.

use crate::evaluation::Judged;
use crate::model::Predicted;
use crate::wall::Query;

/// Bins end at these log odds, a probability of 0.0003 from 0 and 1.
pub(super) const LIMIT: f64 = 8.0;
/// Number of bins.
pub(super) const BINS: usize = 32;
/// Their width in log odds.
pub(super) const BIN_WIDTH: f64 = 2.0 * LIMIT / BINS as f64;
/// Scale of coordinates that are not the main ones.
pub(super) const MINOR: f64 = 0.5;
/// Number of rings: the central intervals of 50, 80 and 95 %, outside, and outside with a clipped error.
pub(super) const RINGS: usize = 5;
/// Quantiles at the ends of the intervals.
pub(super) const PROBABILITIES: [f64; 6] = [0.025, 0.1, 0.25, 0.75, 0.9, 0.975];

/// Coordinates of a model for a numeric target: rings, $t$, $t^2$.
const NUMBER_WIDTH: usize = RINGS + 2;
/// Coordinates of a model for two classes: bins of both, confusions, log loss.
const CLASS_WIDTH: usize = 2 * BINS + 4 + 1;

/// What is measured of predictions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Losses {
    /// Squared errors, clipped at this error in encoded units, and coverage.
    Number { clip: f64 },
    /// Histograms of scores, confusions and log losses.
    Classes,
}

/// The loss that differences between models are measured in, from 0 to 1, and whether the predicted class is right.
#[derive(Clone, Copy)]
struct Loss {
    value: f64,
    right: bool,
}

/// The query: where each coordinate is, and its value for a record.
pub(super) struct Layout<'a> {
    pub(super) models: Vec<Judged<'a>>,
    pub(super) losses: Losses,
}

impl Layout<'_> {
    /// Coordinates of one model.
    pub(super) fn model_width(&self) -> usize {
        if self.losses == Losses::Classes { CLASS_WIDTH } else { NUMBER_WIDTH }
    }

    /// One encoded unit of a numeric target.
    pub(super) fn unit(&self) -> f64 {
        self.models.first().map_or(1.0, |model| model.unit)
    }

    /// Coordinates of a difference from the first model.
    pub(super) fn pair_width(&self) -> usize {
        if self.losses == Losses::Classes { 3 } else { 1 }
    }

    /// Values of a record: those of each model in turn.
    pub(super) fn record_width(&self) -> usize {
        self.models.iter().map(|model| model.middle.len() + 1).sum()
    }

    /// The largest norm of a contribution.
    ///
    /// # Privacy
    /// One cell of each histogram is 1 and the others are 0, and all other numbers are at most 1, so that the squared norm is the sum of the
    /// squared scales. The wall clips what is longer.
    pub(super) fn radius(&self) -> f64 {
        let pairs = (self.models.len() - 1) as f64;
        let pair = if self.losses == Losses::Classes { 2.0 } else { 1.0 };
        (self.models.len() as f64 * (1.0 + 2.0 * MINOR * MINOR) + pairs * pair * MINOR * MINOR).sqrt()
    }

    /// The contribution of one model to its coordinates, which hold zeros. `None` if the model has no such prediction.
    fn one(&self, model: &Judged<'_>, inputs: &[f64], target: f64, out: &mut [f64]) -> Option<Loss> {
        match (self.losses, model.posterior.predict_row(inputs, &PROBABILITIES)) {
            (Losses::Number { clip }, Predicted::Number { mean, quantiles, .. }) => {
                let t = ((target - mean) / clip).powi(2).min(1.0);
                let inside = (0..3).filter(|k| quantiles[*k] <= target && target <= quantiles[5 - k]);
                let ring = match inside.count() {
                    0 if t >= 1.0 => RINGS - 1,
                    inside => RINGS - 2 - inside,
                };
                out[ring] = MINOR;
                out[RINGS] = t;
                out[RINGS + 1] = MINOR * t * t;
                Some(Loss { value: t, right: true })
            }
            (Losses::Classes, Predicted::Class { probability, .. }) if probability.is_finite() => {
                let second = target > 0.0;
                let score = (probability / (1.0 - probability)).ln().clamp(-LIMIT, LIMIT);
                let bin = bin(score);
                let (class, predicted) = (usize::from(second), usize::from(bin >= BINS / 2));
                out[class * BINS + bin] = 1.0;
                out[2 * BINS + 2 * class + predicted] = MINOR;
                let value = log_loss(score, second) / max_log_loss();
                out[2 * BINS + 4] = MINOR * value;
                Some(Loss { value, right: class == predicted })
            }
            _ => None,
        }
    }
}

/// The bin of a score. A score of 0, whose predicted class is the first, is in the lower half.
pub(super) fn bin(score: f64) -> usize {
    (((score + LIMIT) / BIN_WIDTH).ceil() as usize).clamp(1, BINS) - 1
}

/// The score in the middle of a bin.
pub(super) fn middle_of(bin: usize) -> f64 {
    (bin as f64 + 0.5) * BIN_WIDTH - LIMIT
}

/// $-\log p$ of the class that occurred, for the log odds of the second one.
pub(super) fn log_loss(score: f64, second: bool) -> f64 {
    let wrong = if second { -score } else { score };
    wrong.max(0.0) + (-wrong.abs()).exp().ln_1p()
}

/// The log loss at the end of the bins.
pub(super) fn max_log_loss() -> f64 {
    log_loss(-LIMIT, true)
}

impl Query for Layout<'_> {
    fn width(&self) -> usize {
        self.models.len() * self.model_width() + (self.models.len() - 1) * self.pair_width()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let (mut at, mut first) = (0, None);
        let (own, pairs) = out.split_at_mut(self.models.len() * self.model_width());
        let mut pairs = pairs.chunks_exact_mut(self.pair_width());
        for (model, own) in self.models.iter().zip(own.chunks_exact_mut(self.model_width())) {
            let (inputs, target) = (&record[at..at + model.middle.len()], record[at + model.middle.len()]);
            at += model.middle.len() + 1;
            // The wall takes a contribution that is not finite for zeros.
            let Some(loss) = self.one(model, inputs, target, own) else { return out.fill(f64::NAN) };
            let Some(reference) = first else {
                first = Some(loss);
                continue;
            };
            let Some(pair) = pairs.next() else { continue };
            pair[0] = MINOR * (loss.value - reference.value).powi(2);
            if self.losses == Losses::Classes && loss.right != reference.right {
                pair[1 + usize::from(loss.right)] = MINOR;
            }
        }
    }
}
