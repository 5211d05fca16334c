//! Results as tables.

use super::{Experiment, Method, Outcome, Regions};
use crate::error::ExperimentError;
use crate::figure::Series;
use crate::table::{Cell, Table};
use reticent_core::model::hmm::Mechanism;
use serde_json::{Value, json};

/// Results of an experiment, as far as its jobs are finished.
#[derive(Debug)]
pub struct Report<'a> {
    experiment: &'a Experiment,
    outcomes: &'a [Outcome],
}

/// A row: a method at a budget.
struct Row {
    method: Method,
    epsilon: Option<f64>,
    mechanism: Option<Mechanism>,
    /// Mean and standard deviation over splits.
    log_likelihood: (f64, f64),
    /// Gain over naive Bayes at the same budget: mean over splits, and its standard error.
    gain: Option<(f64, f64)>,
    /// Gain as a share of that without privacy.
    share: Option<f64>,
    /// Gain over treating noisy counts as exact, with its standard error.
    ahead_of_naive: Option<(f64, f64)>,
}

impl<'a> Report<'a> {
    /// Looks up the jobs of an experiment.
    #[must_use]
    pub fn new(experiment: &'a Experiment, outcomes: &'a [Outcome]) -> Self {
        Self { experiment, outcomes }
    }

    fn of(
        &self,
        regions: Regions,
        method: Method,
        epsilon: Option<f64>,
    ) -> impl Iterator<Item = (usize, &Outcome)> {
        (0..self.experiment.splits).filter_map(move |split| {
            let job = self.experiment.job(regions, method, epsilon, split);
            Some((split, self.outcomes.iter().find(|outcome| outcome.job == job)?))
        })
    }

    /// Differences between two methods, split by split: the mean and its standard error.
    fn ahead(&self, regions: Regions, epsilon: Option<f64>, of: Method, than: Method) -> Option<(f64, f64)> {
        let other: Vec<(usize, f64)> =
            self.of(regions, than, epsilon).map(|(split, o)| (split, o.figures.log_likelihood)).collect();
        let gaps: Vec<f64> = self
            .of(regions, of, epsilon)
            .filter_map(|(split, outcome)| {
                let (_, log) = other.iter().find(|(known, _)| *known == split)?;
                Some(outcome.figures.log_likelihood - log)
            })
            .collect();
        let (mean, sd) = moments(&gaps)?;
        Some((mean, sd / (gaps.len() as f64).sqrt()))
    }

    fn rows(&self, regions: Regions) -> Vec<Row> {
        let open_gain =
            self.ahead(regions, None, Method::NoiseAware, Method::NaiveBayes).map(|(gain, _)| gain);
        let row = |(method, epsilon): (Method, Option<f64>)| {
            let found: Vec<&Outcome> =
                self.of(regions, method, epsilon).map(|(_, outcome)| outcome).collect();
            let logs: Vec<f64> = found.iter().map(|outcome| outcome.figures.log_likelihood).collect();
            let is_hmm = method != Method::NaiveBayes;
            let gain = if is_hmm { self.ahead(regions, epsilon, method, Method::NaiveBayes) } else { None };
            let aware = method == Method::NoiseAware && epsilon.is_some();
            Some(Row {
                method,
                epsilon,
                mechanism: found.first().and_then(|outcome| outcome.figures.mechanism),
                log_likelihood: moments(&logs)?,
                gain,
                share: gain.zip(open_gain).map(|((gain, _), open)| gain / open),
                ahead_of_naive: if aware {
                    self.ahead(regions, epsilon, method, Method::Naive)
                } else {
                    None
                },
            })
        };
        self.experiment.rows().into_iter().filter_map(row).collect()
    }

    /// A table for a terminal.
    ///
    /// # Errors
    /// None in practice: rows are as wide as the table.
    pub fn table(&self, regions: Regions) -> Result<Table, ExperimentError> {
        let columns = [
            "method",
            "epsilon",
            "noise",
            "log-likelihood",
            "ahead of naive Bayes",
            "of the gain",
            "ahead of naive",
        ];
        let mut table = Table::new(&columns);
        let pair = |(mean, error): (f64, f64)| format!("{mean:.4} \u{b1} {error:.4}");
        for row in self.rows(regions) {
            let cells = [
                row.method.title().to_owned(),
                row.epsilon.map_or("not private".to_owned(), |epsilon| epsilon.to_string()),
                row.mechanism.map_or(String::new(), |mechanism| name(mechanism).to_owned()),
                pair(row.log_likelihood),
                row.gain.map_or(String::new(), pair),
                row.share.map_or(String::new(), |share| format!("{:.0} %", 100.0 * share)),
                row.ahead_of_naive.map_or(String::new(), pair),
            ];
            table.push(cells.iter().map(|cell| cell.as_str().into()).collect())?;
        }
        Ok(table)
    }

    /// All rows, numbers to the last digit.
    ///
    /// # Errors
    /// None in practice: rows are as wide as the table.
    pub fn summary(&self) -> Result<Table, ExperimentError> {
        let mut table = Table::new(&[
            "regions",
            "method",
            "epsilon",
            "noise",
            "log_likelihood",
            "log_likelihood_sd",
            "gain",
            "gain_se",
            "share_of_gain",
            "ahead_of_naive",
            "ahead_of_naive_se",
        ]);
        for &regions in &self.experiment.regions {
            for row in self.rows(regions) {
                let number = |value: Option<f64>| value.map_or(Cell::from(""), Cell::from);
                table.push(vec![
                    regions.name().into(),
                    row.method.name().into(),
                    number(row.epsilon),
                    row.mechanism.map_or("", name).into(),
                    row.log_likelihood.0.into(),
                    row.log_likelihood.1.into(),
                    number(row.gain.map(|gain| gain.0)),
                    number(row.gain.map(|gain| gain.1)),
                    number(row.share),
                    number(row.ahead_of_naive.map(|ahead| ahead.0)),
                    number(row.ahead_of_naive.map(|ahead| ahead.1)),
                ])?;
            }
        }
        Ok(table)
    }

    /// All results, with the outcome of each fit.
    ///
    /// # Errors
    /// None in practice: rows are as wide as the table.
    pub fn to_json(&self) -> Result<Value, ExperimentError> {
        let Experiment { delta, splits, states, chains, iterations, .. } = self.experiment;
        let jobs = self.experiment.jobs();
        let outcomes: Vec<&Outcome> =
            self.outcomes.iter().filter(|outcome| jobs.contains(&outcome.job)).collect();
        Ok(json!({
            "private": false,
            "why_not_private": "the data are public, and held-out events are scored in the clear",
            "settings": {
                "delta": delta, "splits": splits, "states": states, "chains": chains, "iterations": iterations,
                "adjacency": "add-remove", "held_out": 0.1,
            },
            "summary": self.summary()?.to_json(),
            "outcomes": outcomes,
        }))
    }

    /// The log-likelihood by budget: a curve for each method, and a level for each without privacy.
    #[must_use]
    pub fn curves(&self, regions: Regions) -> Vec<Series> {
        let rows = self.rows(regions);
        let ends = self.experiment.epsilons.iter().copied();
        let (low, high) = ends.fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
        let mut curves = Vec::new();
        for &method in &self.experiment.methods {
            let own = || rows.iter().filter(move |row| row.method == method);
            let points = own().filter_map(|row| Some((row.epsilon?, row.log_likelihood.0)));
            curves.push(Series::new(method.title(), points.collect()));
            if let Some(open) = own().find(|row| row.epsilon.is_none()) {
                let level = open.log_likelihood.0;
                let kind = if method == Method::NaiveBayes { "naive Bayes" } else { "HMM" };
                curves.push(Series {
                    name: format!("{kind}, not private"),
                    points: vec![(low, level), (high, level)],
                    is_reference: true,
                });
            }
        }
        curves.retain(|curve| !curve.points.is_empty());
        curves
    }
}

fn name(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Laplace => "Laplace",
        Mechanism::Gaussian => "Gaussian",
    }
}

/// Mean and standard deviation over splits.
fn moments(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (!values.is_empty()).then(|| (mean, (squares / (n - 1.0).max(1.0)).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::super::Figures;
    use super::*;

    /// Two splits: without privacy 0.3 and 0.5 ahead, with it 0.2 and 0.4, and 0.1 in both ahead of the naive one.
    #[test]
    fn shares_and_gains_are_of_the_same_splits() {
        let experiment = Experiment {
            regions: vec![Regions::Division],
            methods: vec![Method::NaiveBayes, Method::Naive, Method::NoiseAware],
            epsilons: vec![5.0],
            delta: 1e-6,
            splits: 2,
            states: 10,
            chains: 1,
            iterations: 10,
        };
        let log = |job: &super::super::Job| {
            let base = -6.0 - job.split as f64;
            let gain = match (job.method, job.epsilon) {
                (Method::NaiveBayes, _) => 0.0,
                (Method::NoiseAware, None) => 0.3,
                (Method::NoiseAware, _) => 0.2,
                _ => 0.1,
            };
            base + gain + if job.method == Method::NaiveBayes { 0.0 } else { 0.2 * job.split as f64 }
        };
        let outcomes: Vec<Outcome> = experiment
            .jobs()
            .into_iter()
            .map(|job| Outcome { job, figures: Figures { log_likelihood: log(&job), mechanism: None } })
            .collect();
        assert_eq!(outcomes.len(), 2 * 5);
        let report = Report::new(&experiment, &outcomes);
        let rows = report.rows(Regions::Division);
        let aware = rows.last().unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(aware.gain.unwrap().0, 0.3) && near(aware.share.unwrap(), 0.75));
        // The standard error of 0.2 and 0.4 is half their distance; both are 0.1 ahead.
        assert!(near(aware.gain.unwrap().1, 0.1));
        assert!(near(aware.ahead_of_naive.unwrap().0, 0.1) && near(aware.ahead_of_naive.unwrap().1, 0.0));
        assert!(report.table(Regions::Division).unwrap().to_text().contains("75 %"));
        assert_eq!(report.curves(Regions::Division).len(), 5);
        assert_eq!(report.summary().unwrap().rows().len(), 5);
    }
}
