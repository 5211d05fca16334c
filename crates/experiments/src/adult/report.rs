//! Results as a table and as a figure.

use super::{Method, Outcome, VIPS_PRINTED};
use crate::figure::{Scale, Series, lines};
use crate::table::{Cell, Table, TableError};
use serde::Serialize;

/// The mean over splits of what a method achieved at a budget.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The fitted method.
    pub method: Method,
    /// Epsilon, or the noise multiplier of the printed experiment.
    pub asked: Option<f64>,
    /// Epsilon as printed in the paper, at its delta of 1e-3.
    pub printed_epsilon: Option<f64>,
    /// Epsilon at the delta of the experiment.
    pub epsilon: Option<f64>,
    /// Number of splits.
    pub runs: usize,
    /// Their mean area under the curve.
    pub auc: f64,
    /// The standard deviation over splits.
    pub auc_sd: f64,
    /// The mean log-likelihood of a test record.
    pub log_likelihood: f64,
}

/// Groups outcomes by method and budget, in the order in which they are first seen.
#[must_use]
pub fn summarise(outcomes: &[Outcome]) -> Vec<Summary> {
    let mut groups: Vec<(Method, Option<f64>, Vec<&Outcome>)> = Vec::new();
    for outcome in outcomes {
        let same = |group: &&mut (Method, Option<f64>, Vec<&Outcome>)| {
            group.0 == outcome.method && group.1 == outcome.asked
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.2.push(outcome),
            None => groups.push((outcome.method, outcome.asked, vec![outcome])),
        }
    }
    groups.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.unwrap_or(0.0).total_cmp(&b.1.unwrap_or(0.0))));
    let summary = |(method, asked, outcomes): (Method, Option<f64>, Vec<&Outcome>)| {
        let n = outcomes.len() as f64;
        let mean = |of: fn(&Outcome) -> f64| outcomes.iter().map(|outcome| of(outcome)).sum::<f64>() / n;
        let auc = mean(|outcome| outcome.auc);
        let square = outcomes.iter().map(|outcome| (outcome.auc - auc).powi(2)).sum::<f64>();
        let printed =
            VIPS_PRINTED.0.iter().find(|(sigma, _)| Some(*sigma) == asked).map(|(_, epsilon)| *epsilon);
        Summary {
            method,
            asked,
            printed_epsilon: printed.filter(|_| method == Method::VipsPrinted),
            epsilon: outcomes[0].epsilon,
            runs: outcomes.len(),
            auc,
            auc_sd: (square / (n - 1.0).max(1.0)).sqrt(),
            log_likelihood: mean(|outcome| outcome.log_likelihood),
        }
    };
    groups.into_iter().map(summary).collect()
}

/// A row for each method and budget.
///
/// # Errors
/// None in practice: rows are as wide as the table.
pub fn table(rows: &[Summary]) -> Result<Table, TableError> {
    let columns =
        ["method", "asked", "printed epsilon", "true epsilon", "runs", "AUC", "sd", "log-likelihood"];
    let mut table = Table::new(&columns);
    for row in rows {
        let number = |x: Option<f64>| x.map_or(Cell::from(""), Cell::from);
        table.push(vec![
            row.method.name().into(),
            number(row.asked),
            number(row.printed_epsilon),
            number(row.epsilon),
            (row.runs as f64).into(),
            row.auc.into(),
            row.auc_sd.into(),
            row.log_likelihood.into(),
        ])?;
    }
    Ok(table)
}

/// The area under the curve by epsilon, with the methods without privacy as dashed lines. `None` if no method was private.
#[must_use]
pub fn figure(rows: &[Summary]) -> Option<String> {
    let mut series: Vec<Series> = Vec::new();
    for (epsilon, row) in rows.iter().filter_map(|row| Some((row.epsilon?, row))) {
        let (name, point) = (row.method.name(), (epsilon, row.auc));
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(Series::new(name, vec![point])),
        }
    }
    series.iter_mut().for_each(|series| series.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    let epsilons = || series.iter().flat_map(|series| &series.points).map(|point| point.0);
    let (least, most) = (epsilons().reduce(f64::min)?, epsilons().reduce(f64::max)?);
    for row in rows.iter().filter(|row| row.epsilon.is_none()) {
        let points = vec![(least, row.auc), (most, row.auc)];
        series.push(Series { is_reference: true, ..Series::new(row.method.name(), points) });
    }
    let title = "Logistic regression on the adult data: AUC on test records";
    let axes = (("epsilon", Scale::Logarithmic), ("area under the curve", Scale::Linear));
    Some(lines(title, axes.0, axes.1, &series))
}
