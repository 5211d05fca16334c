//! Effects of typical changes: coefficients of different columns on one scale.

use reticent_core::model::{Code, CodedColumn, Summary};

use crate::effects::TYPICAL_SHARE;
use crate::error::Error;
use crate::saved::SavedModel;

/// The 0.975 quantile of the standard normal distribution.
pub(crate) const Z95: f64 = 1.959_963_984_540_054;

/// The effects of typical changes of all inputs, on one scale.
#[derive(Debug, Clone, PartialEq)]
pub struct TypicalEffects {
    /// Whether they are ratios of odds, whose null value is 1; otherwise they are differences, whose null value is 0.
    pub are_odds_ratios: bool,
    /// By the size of the largest effect of the column; the levels of a column are together.
    pub rows: Vec<TypicalEffect>,
}

/// The effect of a typical change of one input.
#[derive(Debug, Clone, PartialEq)]
pub struct TypicalEffect {
    /// The name of the coefficient.
    pub label: String,
    /// The change, such as "+20 years" or "against never".
    pub change: String,
    /// The posterior median.
    pub estimate: f64,
    /// The 95 % interval without the privacy noise.
    pub records: (f64, f64),
    /// The 95 % interval.
    pub with_privacy: (f64, f64),
    /// The probability that the effect has the sign of its median.
    pub direction: Option<f64>,
}

/// The 95 % interval of a parameter without the privacy noise: the whole interval, narrower about the median by the ratio of the standard
/// deviations.
#[must_use]
pub fn records_interval(summary: &Summary) -> (f64, f64) {
    let [low, _, median, _, high] = summary.quantiles;
    let share = if summary.sd > 0.0 { (summary.records_sd / summary.sd).min(1.0) } else { 1.0 };
    (median + share * (low - median), median + share * (high - median))
}

/// The typical change of each coefficient of a column: how many units it is, and its text.
fn changes(column: &CodedColumn) -> Vec<(f64, String)> {
    let unit = column.unit.as_ref().map_or(String::new(), |unit| format!(" {unit}"));
    match &column.code {
        Code::Number { scale, .. } => {
            let step = round_number(2.0 * TYPICAL_SHARE * scale.abs());
            vec![(step, format!("+{step}{unit}"))]
        }
        Code::Word { .. } => vec![(1.0, "+1 occurrence".to_owned())],
        Code::Missing => vec![(1.0, "against a known value".to_owned())],
        Code::Flag { levels } => vec![(1.0, format!("against {}", levels[0]))],
        Code::Levels { levels } => {
            let reference = levels.first().map_or("", String::as_str);
            levels.iter().skip(1).map(|_| (1.0, format!("against {reference}"))).collect()
        }
    }
}

/// The round number nearest to a positive one, by ratio: 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6 or 8 times a power of ten.
fn round_number(x: f64) -> f64 {
    let power = x.log10().floor();
    if !power.is_finite() {
        return x;
    }
    let distance = |a: f64| (a.ln() - x.ln()).abs();
    let candidates = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    // By parsing, so that 20 is not 20.000000000000004.
    let all = candidates.iter().filter_map(|m| format!("{m}e{power}").parse::<f64>().ok());
    all.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(x)
}

impl SavedModel {
    /// The effects of typical changes: of a number by about a quarter of its range, of a level against the reference. They are coefficients, or
    /// average slopes, times the change: odds ratios where the model has them. Nothing for models without coefficients.
    ///
    /// # Errors
    /// [`Error`] if the file is forged, so that its parts do not fit together.
    pub fn typical_effects(&self) -> Result<Option<TypicalEffects>, Error> {
        let summaries = self.summary()?;
        let codebook = self.codebook();
        let of = |variable: &str| -> Vec<&Summary> {
            summaries.iter().filter(|summary| summary.variable == variable).collect()
        };
        let linear = [of("coefficient"), of("effect")].into_iter().find(|found| !found.is_empty());
        let changes: Vec<Vec<(f64, String)>> = codebook.columns.iter().map(changes).collect();
        let count: usize = changes.iter().map(Vec::len).sum();
        // Coefficients are in the order of the columns.
        let Some(coefficients) = linear.filter(|found| found.len() == count) else { return Ok(None) };
        let are_odds_ratios = !of("odds_ratio").is_empty();
        let mut left = coefficients.into_iter();
        let mut columns: Vec<Vec<TypicalEffect>> = Vec::new();
        for column in changes {
            let rows = column.into_iter().zip(left.by_ref());
            columns.push(rows.map(|((by, change), summary)| row(summary, by, change)).collect());
        }
        let size = |rows: &Vec<TypicalEffect>| rows.iter().map(|row| row.estimate.abs()).fold(0.0, f64::max);
        columns.sort_by(|a, b| size(b).total_cmp(&size(a)));
        let mut rows: Vec<TypicalEffect> = columns.into_iter().flatten().collect();
        if are_odds_ratios {
            rows.iter_mut().for_each(TypicalEffect::exponentiate);
        }
        Ok(Some(TypicalEffects { are_odds_ratios, rows }))
    }
}

fn row(summary: &Summary, by: f64, change: String) -> TypicalEffect {
    let times = |(low, high): (f64, f64)| (by * low, by * high);
    TypicalEffect {
        label: summary.place.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>().join(", "),
        change,
        estimate: by * summary.quantiles[2],
        records: times(records_interval(summary)),
        with_privacy: times(summary.interval()),
        direction: summary.direction,
    }
}

impl TypicalEffect {
    fn exponentiate(&mut self) {
        let exp = |(low, high): (f64, f64)| (low.exp(), high.exp());
        (self.estimate, self.records, self.with_privacy) =
            (self.estimate.exp(), exp(self.records), exp(self.with_privacy));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typical_changes_are_round() {
        for (x, round) in [
            (19.25, 20.0),
            (7.5, 8.0),
            (35.0, 40.0),
            (8.75, 8.0),
            (0.0123, 0.012),
            (12.5, 12.0),
            (0.25, 0.25),
            (9.6, 10.0),
        ] {
            assert_eq!(round_number(x), round, "{x}");
        }
        assert!(round_number(f64::NAN).is_nan());
        assert_eq!(round_number(0.0), 0.0);
    }

    #[test]
    fn changes_are_in_the_units_of_columns() {
        let column = |unit: Option<&str>, code: Code| CodedColumn {
            name: "c".into(),
            unit: unit.map(str::to_owned),
            code,
        };
        let age = column(Some("years"), Code::Number { centre: 56.5, scale: 38.5 });
        assert_eq!(changes(&age), [(20.0, "+20 years".to_owned())]);
        let levels = ["never", "former", "current"].map(str::to_owned).to_vec();
        let against = (1.0, "against never".to_owned());
        assert_eq!(changes(&column(None, Code::Levels { levels })), [against.clone(), against]);
    }

    #[test]
    fn an_interval_without_noise_is_narrower_about_the_median() {
        let summary = Summary {
            name: "coefficient[age]".into(),
            variable: "coefficient",
            place: vec![("term", "age".into())],
            unit: None,
            note: None,
            mean: 1.0,
            sd: 0.5,
            records_sd: 0.3,
            privacy_sd: 0.4,
            quantiles: [0.0, 0.6, 1.0, 1.4, 2.0],
            direction: Some(0.975),
        };
        let (low, high) = records_interval(&summary);
        assert!((low - 0.4).abs() < 1e-12 && (high - 1.6).abs() < 1e-12);
        let mut found = row(&summary, 2.0, "+2".into());
        assert_eq!((found.estimate, found.with_privacy), (2.0, (0.0, 4.0)));
        found.exponentiate();
        assert_eq!((found.estimate, found.with_privacy), (2f64.exp(), (1.0, 4f64.exp())));
    }
}
