//! Coefficients per unit of a column, and per level against a reference, as linear functions of encoded weights.

use super::{Parameter, Transform};
use crate::model::codebook::{Code, Codebook, CodedColumn};

/// A linear function of variables: a constant, and a factor for some of the variables.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// The index of a variable, and its factor.
    pub weights: Vec<(usize, f64)>,
    /// The constant.
    pub constant: f64,
}

impl Term {
    /// One of the variables.
    #[must_use]
    pub fn variable(index: usize) -> Self {
        Self { weights: vec![(index, 1.0)], constant: 0.0 }
    }

    /// The value at these variables.
    #[must_use]
    pub fn at(&self, variables: &[f64]) -> f64 {
        self.constant + self.weights.iter().map(|&(k, w)| w * variables[k]).sum::<f64>()
    }

    /// The function times a number.
    #[must_use]
    pub fn times(mut self, factor: f64) -> Self {
        self.constant *= factor;
        self.weights.iter_mut().for_each(|(_, w)| *w *= factor);
        self
    }
}

/// The intercept and the coefficients of a linear predictor, with the parameter of each.
///
/// The predictor is `weights . (x - centre) + bias`, with the bias as the last variable; an empty centre is 0. `scale` converts it to the unit of the
/// parameters, and `zero` is the value of a predictor of 0.
///
/// A coefficient is the difference that one more unit of a number makes; that the second of two levels makes against the first;
/// that a level of several makes against the first, the reference. The intercept is the predictor where all numbers are 0 in
/// the units of the schema, and all levels are the references.
#[must_use]
pub fn linear_terms(
    codebook: &Codebook,
    centre: &[f64],
    scale: f64,
    zero: f64,
) -> (Vec<Term>, Vec<Parameter>) {
    let bias = codebook.inputs();
    let mut intercept = Term { weights: vec![(bias, scale)], constant: zero };
    let (mut terms, mut parameters) = (Vec::new(), Vec::new());
    let target_unit = codebook.target_unit();
    let mut push = |term: Term, column: &CodedColumn, level: Option<&str>, note: Option<String>, unit| {
        let label = level.map_or_else(|| column.label(), |level| format!("{} = {level}", column.name));
        parameters.push(Parameter {
            unit,
            note,
            null: Some(0.0),
            ..Parameter::new("coefficient", vec![("term", label)], 1 + terms.len())
        });
        terms.push(term.times(scale));
    };
    for (first, column) in codebook.places() {
        let per_unit = || effect_unit(target_unit, column);
        let levels_unit = || target_unit.map(str::to_owned);
        match &column.code {
            Code::Number { scale: unit, centre: value } => {
                intercept.weights.push((first, -scale * value / unit));
                push(
                    Term { weights: vec![(first, 1.0 / unit)], constant: 0.0 },
                    column,
                    None,
                    None,
                    per_unit(),
                );
            }
            Code::Word { .. } => push(Term::variable(first), column, None, None, per_unit()),
            Code::Flag { levels } => {
                intercept.weights.push((first, -scale));
                let note = Some(format!("against {}", levels[0]));
                push(Term::variable(first).times(2.0), column, Some(&levels[1]), note, levels_unit());
            }
            Code::Missing => {
                intercept.weights.push((first, -scale));
                push(Term::variable(first).times(2.0), column, None, None, levels_unit());
            }
            Code::Levels { levels } => {
                intercept.weights.push((first, scale));
                for (k, level) in levels.iter().enumerate().skip(1) {
                    let term = Term { weights: vec![(first + k, 1.0), (first, -1.0)], constant: 0.0 };
                    push(term, column, Some(level), Some(format!("against {}", levels[0])), levels_unit());
                }
            }
        }
    }
    let shifted = centre.iter().enumerate().filter(|(_, centre)| **centre != 0.0);
    intercept.weights.extend(shifted.map(|(k, centre)| (k, -scale * centre)));
    terms.insert(0, merged(intercept));
    let unit = target_unit.map(str::to_owned);
    parameters.insert(0, Parameter { unit, ..Parameter::new("intercept", Vec::new(), 0) });
    (terms, parameters)
}

/// The unit of the target over that of the column: `days/years`, or `1/years` if the target has none. Units are free texts, so nothing is put into
/// the singular.
#[must_use]
pub fn effect_unit(target: Option<&str>, column: &CodedColumn) -> Option<String> {
    let below = if matches!(column.code, Code::Word { .. }) { Some("word") } else { column.unit.as_deref() };
    match (target, below) {
        (target, Some(below)) => Some(format!("{}/{}", factor(target.unwrap_or("1")), factor(below))),
        (Some(target), None) => Some(target.to_owned()),
        (None, None) => None,
    }
}

/// A unit as a part of a quotient: in parentheses if it is a quotient, a product or several words itself.
fn factor(unit: &str) -> String {
    let is_compound = unit.contains(|c: char| c.is_whitespace() || "/*\u{b7}\u{d7}\u{22c5}".contains(c));
    if is_compound { format!("({unit})") } else { unit.to_owned() }
}

/// The odds ratio of each coefficient, where the predictor is the logarithm of the odds. Ratios have no unit: where a coefficient is per unit of a number,
/// the note has the change that the ratio is for.
pub(crate) fn odds_ratios(coefficients: &[Parameter]) -> Vec<Parameter> {
    let ratio = |parameter: &Parameter| {
        let change = parameter.unit.as_deref().and_then(column_unit).map(|unit| format!("+1 {unit}"));
        Parameter {
            variable: "odds_ratio",
            unit: None,
            note: parameter.note.clone().or(change),
            null: Some(1.0),
            transform: Transform::Exp,
            ..parameter.clone()
        }
    };
    coefficients.iter().filter(|parameter| parameter.variable == "coefficient").map(ratio).collect()
}

/// The unit of the column of an [effect](effect_unit) on a target without a unit.
fn column_unit(effect: &str) -> Option<&str> {
    let below = effect.strip_prefix("1/")?;
    Some(below.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(below))
}

/// The same function with each variable once.
fn merged(term: Term) -> Term {
    let mut weights: Vec<(usize, f64)> = Vec::with_capacity(term.weights.len());
    let mut sorted = term.weights;
    sorted.sort_by_key(|(variable, _)| *variable);
    for (variable, weight) in sorted {
        match weights.last_mut() {
            Some((last, sum)) if *last == variable => *sum += weight,
            _ => weights.push((variable, weight)),
        }
    }
    Term { weights, constant: term.constant }
}
