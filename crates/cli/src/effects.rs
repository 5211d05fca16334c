//! What a fitted model says as one column moves and the others stay in the middle: public, as the model is.

use reticent_models::{Predicted, Variances};
use reticent_tables::{Column, Kind, Missing, Scale};

use crate::opened::Opened;

/// Points of a numeric column.
const POINTS: usize = 25;
/// Quantiles of a prediction.
pub(crate) const BAND: [f64; 2] = [0.05, 0.95];

/// The predictions along a column.
pub(crate) struct Effect {
    pub(crate) column: String,
    pub(crate) unit: Option<String>,
    pub(crate) points: Vec<EffectPoint>,
    /// Whether the points are levels rather than numbers.
    pub(crate) levels: bool,
}

/// A prediction, in the target's own units: a probability for classes.
pub(crate) struct EffectPoint {
    /// The column's value: a number in its own units, or the number of a level.
    pub(crate) at: f64,
    pub(crate) label: String,
    pub(crate) mean: f64,
    /// Between which the target is with 90 %; nothing for classes.
    pub(crate) target: Option<(f64, f64)>,
    /// Two standard deviations of the function: what the records leave open, and with the privacy noise.
    pub(crate) records: (f64, f64),
    pub(crate) with_privacy: (f64, f64),
}

impl Effect {
    /// By how much the prediction moves along the column.
    pub(crate) fn reach(&self) -> f64 {
        let means = || self.points.iter().map(|point| point.mean);
        means().fold(f64::NEG_INFINITY, f64::max) - means().fold(f64::INFINITY, f64::min)
    }
}

/// Inputs in the middle of every column.
pub(crate) fn middle(opened: &Opened) -> Vec<f64> {
    opened.schema.features().iter().flat_map(neutral).collect()
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
pub(crate) fn effects(opened: &Opened) -> Vec<Effect> {
    let middle = middle(opened);
    let mut first = 0;
    let mut found = Vec::new();
    for column in opened.schema.features() {
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
        let point = |(at, label, inputs): (f64, String, Vec<f64>)| {
            let mut row = middle.clone();
            // An indicator of missing values stays as it is.
            row[places.start..places.start + inputs.len()].copy_from_slice(&inputs);
            predicted(opened, &row).map(|(mean, target, records, with_privacy)| EffectPoint {
                at,
                label,
                mean,
                target,
                records,
                with_privacy,
            })
        };
        let points: Option<Vec<EffectPoint>> = settings.into_iter().map(point).collect();
        let levels = !matches!(column.kind(), Kind::Numeric { .. });
        let (name, unit) = (column.name().to_owned(), column.unit().map(str::to_owned));
        found.extend(points.map(|points| Effect { column: name, unit, points, levels }));
    }
    found.sort_by(|a, b| b.reach().total_cmp(&a.reach()));
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

/// A prediction with its bands, in the target's own units; none for models that predict nothing.
fn predicted(opened: &Opened, inputs: &[f64]) -> Option<Bands> {
    let units = opened.units();
    let about = |mean: f64, sd: f64, map: &dyn Fn(f64) -> f64| (map(mean - 2.0 * sd), map(mean + 2.0 * sd));
    match opened.fitted.predict(inputs, &BAND) {
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
