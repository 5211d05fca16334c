//! Results as a table and as a figure.

use super::{Method, Outcome, VIPS_PRINTED};
use crate::figure::{FigureError, Series, log_log};
use crate::table::{Cell, Table, TableError};
use serde::Serialize;

/// The mean over splits of what a method achieved at a budget.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// What was fitted.
    pub method: Method,
    /// Epsilon, or the noise multiplier of the printed experiment.
    pub asked: Option<f64>,
    /// What the paper prints, at its own delta of 1e-3.
    pub printed_epsilon: Option<f64>,
    /// What it costs at the delta of the experiment.
    pub epsilon: Option<f64>,
    /// How many splits.
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
/// None: rows are as wide as the table.
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

/// What privacy costs of the area under the curve, by epsilon: what is missing to the better fit without privacy, or to 1 if there is none or
/// something private was better.
///
/// # Errors
/// [`FigureError::Empty`] if no method was private.
pub fn figure(rows: &[Summary]) -> Result<String, FigureError> {
    let private = || rows.iter().filter_map(|row| Some((row.epsilon?, row)));
    let open = rows.iter().filter(|row| row.epsilon.is_none()).map(|row| row.auc).reduce(f64::max);
    let open = open.filter(|open| private().all(|(_, row)| row.auc < *open));
    let (best, axis) = match open {
        Some(open) => (open, "AUC lost to privacy on test records"),
        None => (1.0, "1 - AUC on test records"),
    };
    let mut series: Vec<Series> = Vec::new();
    for (epsilon, row) in private() {
        let name = row.method.name();
        let point = (epsilon, best - row.auc);
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(Series { name: name.to_owned(), points: vec![point] }),
        }
    }
    for series in &mut series {
        series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    log_log("epsilon", axis, &series)
}
