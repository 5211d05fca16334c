//! Effects: how the prediction changes as one column moves away from a reference. Public, as the model is.
//!
//! An effect is a difference between two predictions with the other columns at the reference, so its interval is that of the difference: what
//! is unknown about the level of all predictions is not in it.

use reticent_core::model::{Contrast, Link, Posterior, Predicted};
use reticent_tables::{Column, Kind, Missing, Scale, Schema, Units};

use crate::saved::SavedModel;
use crate::typical::Z95;

/// Points of a numeric column.
const POINTS: usize = 25;
/// The share of a column's range that counts as a typical change.
pub(crate) const TYPICAL_SHARE: f64 = 0.25;

/// The effects of all columns, on one scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Effects {
    /// What the numbers of the points are.
    pub scale: EffectScale,
    /// Whether the reference is the means that the fit has released; otherwise it is the middle of the bounds.
    pub at_released_means: bool,
    /// The column whose typical change has the largest effect first.
    pub columns: Vec<Effect>,
}

/// The scale of effects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EffectScale {
    /// Differences of the target, in its own units.
    Target {
        /// The prediction at the reference.
        reference: f64,
    },
    /// Differences of the probability of the positive class.
    Probability {
        /// The probability at the reference.
        reference: f64,
    },
}

/// How the prediction changes along a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The column.
    pub column: String,
    /// The unit of its numbers.
    pub unit: Option<String>,
    /// What it is, in the words of the schema.
    pub description: Option<String>,
    /// The value that all points are compared with: a number in the column's own units, or the first level.
    pub reference: String,
    /// From its lower to its upper bound, or one for each level.
    pub points: Vec<EffectPoint>,
    /// Whether the points are levels rather than numbers.
    pub levels: bool,
}

/// The difference between the prediction at a value and that at the reference.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectPoint {
    /// The column's value: a number in its own units, or the number of a level.
    pub at: f64,
    /// The same as a text: the name of the level.
    pub label: String,
    /// The difference.
    pub mean: f64,
    /// Its 95 % interval without the privacy noise; none if the model has no distribution of differences.
    pub records: Option<(f64, f64)>,
    /// The same with the privacy noise.
    pub with_privacy: Option<(f64, f64)>,
}

impl Effect {
    /// By how much the prediction moves along the column.
    #[must_use]
    pub fn size(&self) -> f64 {
        let means = || self.points.iter().map(|point| point.mean);
        means().fold(f64::NEG_INFINITY, f64::max) - means().fold(f64::INFINITY, f64::min)
    }

    /// By how much a typical change moves the prediction: from level to level, or along a quarter of the range of a number.
    #[must_use]
    pub fn typical_size(&self) -> f64 {
        if self.levels { self.size() } else { TYPICAL_SHARE * self.size() }
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

/// The inputs that others are compared with, and whether they are released means. Indicators of missing values are off in them.
fn reference(model: &SavedModel) -> (Vec<f64>, bool) {
    let middle = middle(model.schema());
    let centre = model.posterior().centre().and_then(|centre| centre.get(..middle.len()));
    let Some(centre) = centre.filter(|centre| centre.iter().all(|x| x.is_finite())) else {
        return (middle, false);
    };
    let mut row = centre.to_vec();
    let mut first = 0;
    for column in model.schema().features() {
        let plain = neutral(column);
        let codes = &mut row[first..first + plain.len()];
        first += plain.len();
        match column.kind() {
            // Noise may have put a mean outside of the range of codes.
            Kind::Numeric { scale: Scale::Bounds { .. }, .. } | Kind::Boolean { .. } => {
                codes[0] = codes[0].clamp(-1.0, 1.0);
                codes[1..].copy_from_slice(&plain[1..]);
            }
            Kind::Numeric { .. } => codes[1..].copy_from_slice(&plain[1..]),
            _ => {}
        }
    }
    (row, true)
}

/// The effect of every column but texts; `None` for models without a target.
pub(crate) fn effects(model: &SavedModel) -> Option<Effects> {
    let (centre, at_released_means) = reference(model);
    let scaling = Scaling::of(model, &centre)?;
    let mut first = 0;
    let mut columns = Vec::new();
    for column in model.schema().features() {
        let width = neutral(column).len();
        let place = first;
        first += width;
        let Some((settings, zero)) = settings(column, centre[place]) else { continue };
        // An indicator of missing values stays as it is.
        let row = |codes: &[f64]| {
            let mut row = centre.clone();
            row[place..place + codes.len()].copy_from_slice(codes);
            row
        };
        let from = row(&zero.codes);
        let point = |setting: Setting| {
            let (mean, records, with_privacy) =
                scaling.difference(model.posterior(), &row(&setting.codes), &from);
            EffectPoint { at: setting.at, label: setting.label, mean, records, with_privacy }
        };
        columns.push(Effect {
            column: column.name().to_owned(),
            unit: column.unit().map(str::to_owned),
            description: column.description().map(str::to_owned),
            reference: zero.label,
            points: settings.into_iter().map(point).collect(),
            levels: !matches!(column.kind(), Kind::Numeric { .. }),
        });
    }
    columns.sort_by(|a, b| b.typical_size().total_cmp(&a.typical_size()));
    Some(Effects { scale: scaling.scale, at_released_means, columns })
}

/// A value of a column and its codes.
struct Setting {
    at: f64,
    label: String,
    codes: Vec<f64>,
}

/// The values of a column that are shown, and the one that they are compared with; none for texts.
fn settings(column: &Column, centre: f64) -> Option<(Vec<Setting>, Setting)> {
    let level =
        |k: usize, label: &str, codes: Vec<f64>| Setting { at: k as f64, label: label.to_owned(), codes };
    let levels = column.levels();
    let of_level = |k: usize| match column.kind() {
        Kind::Boolean { .. } => level(k, levels[k], vec![2.0 * k as f64 - 1.0]),
        _ => level(k, levels[k], (0..levels.len()).map(|j| f64::from(u8::from(j == k))).collect()),
    };
    match column.kind() {
        Kind::Text { .. } => None,
        Kind::Numeric { scale, .. } => {
            let span = if matches!(scale, Scale::Moments { .. }) { 2.0 } else { 1.0 };
            let units = Units::of(*scale).unwrap_or(Units { centre: 0.0, unit: 1.0 });
            let number = |code: f64| {
                let at = units.decode(code);
                Setting { at, label: rounded(at, units.unit), codes: vec![code] }
            };
            let code = |k: usize| span * (2.0 * k as f64 / (POINTS - 1) as f64 - 1.0);
            Some(((0..POINTS).map(|k| number(code(k))).collect(), number(centre)))
        }
        Kind::Boolean { .. } | Kind::Categorical { .. } if levels.is_empty() => None,
        Kind::Boolean { .. } | Kind::Categorical { .. } => {
            Some(((0..levels.len()).map(of_level).collect(), of_level(0)))
        }
    }
}

/// A value, rounded to about a thousandth of the range.
fn rounded(value: f64, half_range: f64) -> String {
    let decimals = (2.0 - half_range.abs().log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// From differences of the predictor to those of the target.
struct Scaling {
    scale: EffectScale,
    units: Units,
    /// For classes.
    link: Option<Link>,
}

impl Scaling {
    fn of(model: &SavedModel, centre: &[f64]) -> Option<Self> {
        let units = model.units();
        match model.posterior().predict_row(centre, &[]) {
            Predicted::Number { mean, .. } => {
                Some(Self { scale: EffectScale::Target { reference: units.decode(mean) }, units, link: None })
            }
            Predicted::Class { score, link, .. } => {
                let scale = EffectScale::Probability { reference: link.probability(score) };
                Some(Self { scale, units, link: Some(link) })
            }
            _ => None,
        }
    }

    /// The difference between the predictions at two rows, with its intervals.
    ///
    /// The probability is a function of the score: its interval has the ends of that of the difference of scores, added to
    /// the score of the row that is compared with.
    fn difference(&self, posterior: &dyn Posterior, to: &[f64], from: &[f64]) -> Difference {
        let (to_score, from_score) = (predictor(posterior, to), predictor(posterior, from));
        let shown = |difference: f64| match self.link {
            None => self.units.unit * difference,
            Some(link) => link.probability(from_score + difference) - link.probability(from_score),
        };
        match posterior.contrast(to, from) {
            None => (shown(to_score - from_score), None, None),
            Some(Contrast { mean, records, privacy }) => {
                let interval = |variance: f64| {
                    let half = Z95 * variance.max(0.0).sqrt();
                    Some((shown(mean - half), shown(mean + half)))
                };
                (shown(mean), interval(records), interval(records + privacy))
            }
        }
    }
}

type Difference = (f64, Option<(f64, f64)>, Option<(f64, f64)>);

/// The encoded target, or the score of two classes.
fn predictor(posterior: &dyn Posterior, row: &[f64]) -> f64 {
    match posterior.predict_row(row, &[]) {
        Predicted::Number { mean, .. } => mean,
        Predicted::Class { score, .. } => score,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_by_the_range() {
        assert_eq!(rounded(56.5, 38.5), "56.5");
        assert_eq!(rounded(12_345.678, 50_000.0), "12346");
        assert_eq!(rounded(-0.000_01, 1.0), "0");
        assert_eq!(rounded(0.25, 0.5), "0.25");
    }
}
