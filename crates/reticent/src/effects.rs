//! Marginal effects: predictions as one column moves and the others stay in the middle. Public, as the model is.

use reticent_core::model::{Predicted, Variances};
use reticent_tables::{Column, Kind, Missing, Scale, Schema, Units};

use crate::saved::SavedModel;

/// Points of a numeric column.
const POINTS: usize = 25;
/// Quantiles of a prediction.
const BAND: [f64; 2] = [0.05, 0.95];

/// The predictions along a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The column.
    pub column: String,
    /// The unit of its numbers.
    pub unit: Option<String>,
    /// From its lower to its upper bound, or one for each level.
    pub points: Vec<EffectPoint>,
    /// Whether the points are levels rather than numbers.
    pub levels: bool,
}

/// A prediction, in the target's own units: a probability for classes.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectPoint {
    /// The column's value: a number in its own units, or the number of a level.
    pub at: f64,
    /// The same as a text: the name of the level.
    pub label: String,
    /// The mean prediction.
    pub mean: f64,
    /// Between which the target is with 90 %; nothing for classes.
    pub target: Option<(f64, f64)>,
    /// Two standard deviations of the mean to each side, without the privacy noise.
    pub records: (f64, f64),
    /// The same with the privacy noise.
    pub with_privacy: (f64, f64),
}

impl Effect {
    /// By how much the prediction moves along the column.
    #[must_use]
    pub fn size(&self) -> f64 {
        let means = || self.points.iter().map(|point| point.mean);
        means().fold(f64::NEG_INFINITY, f64::max) - means().fold(f64::INFINITY, f64::min)
    }
}

/// Inputs in the middle of every column.
pub(crate) fn middle(schema: &Schema) -> Vec<f64> {
    schema.features().iter().flat_map(neutral).collect()
}

fn neutral(column: &Column) -> Vec<f64> {
    match column.kind() {
        Kind::Categorical { .. } => {
            let levels = column.levels().len();
            vec![1.0 / levels as f64; levels]
        }
        Kind::Text { vocabulary, .. } => vec![0.0; vocabulary.len()],
        // The value is there, so its indicator is -1.
        Kind::Numeric { missing: Missing::Indicator, .. } | Kind::Boolean { missing: Missing::Indicator } => {
            vec![0.0, -1.0]
        }
        Kind::Numeric { .. } | Kind::Boolean { .. } => vec![0.0],
    }
}

/// The effect of every column but texts, the largest first.
pub(crate) fn effects(model: &SavedModel) -> Vec<Effect> {
    let middle = middle(model.schema());
    let mut first = 0;
    let mut found = Vec::new();
    for column in model.schema().features() {
        let width = neutral(column).len();
        let places = first..first + width;
        first += width;
        let settings: Vec<(f64, String, Vec<f64>)> = match column.kind() {
            Kind::Text { .. } => continue,
            Kind::Numeric { scale, .. } => (0..POINTS).map(|k| number(*scale, k)).collect(),
            Kind::Boolean { .. } => {
                vec![(0.0, "false".to_owned(), vec![-1.0]), (1.0, "true".to_owned(), vec![1.0])]
            }
            Kind::Categorical { .. } => {
                let one = |k: usize| (0..width).map(|j| f64::from(u8::from(j == k))).collect();
                let levels = column.levels().into_iter().enumerate();
                levels.map(|(k, level)| (k as f64, level.to_owned(), one(k))).collect()
            }
        };
        let mut rows = middle.repeat(settings.len());
        for (row, (.., inputs)) in rows.chunks_exact_mut(middle.len()).zip(&settings) {
            // An indicator of missing values stays as it is.
            row[places.start..places.start + inputs.len()].copy_from_slice(inputs);
        }
        let predicted = model.posterior().predict(&rows, middle.len(), &BAND);
        let point = |((at, label, _), predicted): ((f64, String, Vec<f64>), Predicted)| {
            bands(predicted, model.units()).map(|(mean, target, records, with_privacy)| EffectPoint {
                at,
                label,
                mean,
                target,
                records,
                with_privacy,
            })
        };
        let points: Option<Vec<EffectPoint>> = settings.into_iter().zip(predicted).map(point).collect();
        let levels = !matches!(column.kind(), Kind::Numeric { .. });
        let (name, unit) = (column.name().to_owned(), column.unit().map(str::to_owned));
        found.extend(points.map(|points| Effect { column: name, unit, points, levels }));
    }
    found.sort_by(|a, b| b.size().total_cmp(&a.size()));
    found
}

/// A point of a numeric column: its value, a label, and how it is encoded.
fn number(scale: Scale, k: usize) -> (f64, String, Vec<f64>) {
    let share = k as f64 / (POINTS - 1) as f64;
    let (at, encoded) = match scale {
        Scale::Bounds { low, high } => (low + (high - low) * share, 2.0 * share - 1.0),
        Scale::Moments { mean, sd } => (mean + sd * (4.0 * share - 2.0), 4.0 * share - 2.0),
        Scale::Private { .. } => (share, 2.0 * share - 1.0),
    };
    (at, format!("{at:.4}"), vec![encoded])
}

type Bands = (f64, Option<(f64, f64)>, (f64, f64), (f64, f64));

/// A prediction with its bands, in the target's own units; `None` for models without a target.
fn bands(predicted: Predicted, units: Units) -> Option<Bands> {
    let about = |mean: f64, sd: f64, map: &dyn Fn(f64) -> f64| (map(mean - 2.0 * sd), map(mean + 2.0 * sd));
    match predicted {
        Predicted::Number { mean, variances: Variances { records, privacy, .. }, quantiles } => {
            let decode = |value: f64| units.decode(value);
            let target = Some((decode(quantiles[0]), decode(quantiles[1])));
            let both = about(mean, (records + privacy).sqrt(), &decode);
            Some((decode(mean), target, about(mean, records.sqrt(), &decode), both))
        }
        Predicted::Class { probability, score, link, variances: Variances { records, privacy, .. } } => {
            // Deviations are of the score, so that bands are ends of intervals of the score.
            let probability_of = |score: f64| link.probability(score);
            let both = about(score, (records + privacy).sqrt(), &probability_of);
            Some((probability, None, about(score, records.sqrt(), &probability_of), both))
        }
        Predicted::Component { .. } | Predicted::Topics { .. } | Predicted::Reconstruction { .. } => None,
    }
}
