//! Naive Bayes on the census income data.

use std::path::Path;

use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::engine::conjugate::NoiseTreatment;
use reticent_core::model::conjugate::{ConjugatePlan as _, NaiveBayesPlan};
use reticent_core::wall::{NoiseSource, Records, WallError};
use reticent_tables::{Column, Encoder, Kind, Schema, Source};
use serde::Serialize;

use crate::baseline::GaussianNaiveBayes;
use crate::error::ExperimentError;

/// The data, encoded; bounds and levels are taken to be public.
pub struct Adult {
    /// Inputs of each column.
    columns: Vec<usize>,
    train: Vec<f64>,
    test: Vec<f64>,
}

/// Shares of right classes on the test part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AdultScores {
    /// $\varepsilon$.
    pub epsilon: f64,
    /// Tables of counts, without privacy.
    pub without_privacy: f64,
    /// With privacy, noise-aware; averaged over runs.
    pub noise_aware: f64,
    /// With privacy, noisy counts treated as exact.
    pub naive: f64,
    /// Normal numeric columns, without privacy.
    pub gaussian_without_privacy: f64,
    /// The same with privacy.
    pub gaussian: f64,
    /// Runs that private figures are averages of.
    pub runs: u64,
}

/// Bins of numbers.
const BINS: usize = 16;

impl Adult {
    /// Reads `adult.parquet` in a folder: the target is `income`, and the column `split` marks training rows.
    ///
    /// # Errors
    /// [`ExperimentError`] if there is no such file, or if it has other columns.
    pub fn read(folder: &Path) -> Result<Self, ExperimentError> {
        let file = folder.join("adult.parquet");
        if !file.is_file() {
            return Err(ExperimentError::NoData { file: "adult.parquet".into(), folder: folder.to_owned() });
        }
        let source = Source::open(&file)?;
        let all = Schema::from_data_assuming_public(&source, Some("income"))?;
        let mut features: Vec<Column> = all
            .features()
            .iter()
            .filter(|column| !["fnlwgt", "split"].contains(&column.name()))
            .cloned()
            .collect();
        let split = all.features().iter().find(|column| column.name() == "split");
        let split = split.ok_or(ExperimentError::Column { column: "split" })?;
        let training = split.levels().iter().position(|&level| level == "train");
        let training = training.ok_or(ExperimentError::Column { column: "split" })?;
        let width = |column: &Column| match column.kind() {
            Kind::Categorical { .. } => column.levels().len(),
            _ => 1,
        };
        let columns: Vec<usize> = features.iter().map(width).collect();
        let inputs: usize = columns.iter().sum();
        features.push(split.clone());
        let schema = Schema::new(all.target().cloned(), features)?;
        let table = Encoder::new(&schema)?.read(&source)?;
        let (mut train, mut test) = (Vec::new(), Vec::new());
        for row in table.rows() {
            let part = if row[inputs + training] > 0.5 { &mut train } else { &mut test };
            part.extend_from_slice(&row[..inputs]);
            part.push(row[row.len() - 1]);
        }
        Ok(Self { columns, train, test })
    }

    fn width(&self) -> usize {
        self.columns.iter().sum::<usize>() + 1
    }

    /// Rows of the columns that are numbers, with the class.
    fn numbers(&self, rows: &[f64]) -> (usize, Vec<f64>) {
        let mut places = Vec::new();
        let mut first = 0;
        for &inputs in &self.columns {
            if inputs == 1 {
                places.push(first);
            }
            first += inputs;
        }
        places.push(first);
        let pick = |row: &[f64]| places.iter().map(|&k| row[k]).collect::<Vec<_>>();
        (places.len() - 1, rows.chunks_exact(self.width()).flat_map(pick).collect())
    }

    /// Fits all models to the training part and scores them on the rest. The noise is fresh.
    ///
    /// # Errors
    /// Errors of the wall.
    pub fn scores(&self, epsilon: f64, delta: f64, runs: u64) -> Result<AdultScores, ExperimentError> {
        let privacy = Privacy::new(epsilon, delta, Adjacency::ReplaceOne)?;
        // Normal columns need no delta.
        let pure = Privacy::new(epsilon, 0.0, Adjacency::ReplaceOne)?;
        let count = self.train.len() / self.width();
        let plan =
            NaiveBayesPlan::new(self.columns.clone(), BINS, 1.0, count, &privacy).map_err(WallError::from)?;
        let tables = |noise_treatment: NoiseTreatment, privacy: Option<&Privacy>| {
            let plan = NaiveBayesPlan { noise_treatment, ..plan.clone() };
            let records = Records::new(self.train.clone(), self.width())?;
            let (posterior, _) = plan.fit(
                records,
                NoiseSource::from_os().map_err(WallError::from)?,
                privacy,
                Box::new(Unlimited),
            )?;
            Ok(accuracy(&self.test, self.width(), |inputs| posterior.predict(inputs).0 > 0.5))
        };
        let (columns, train) = self.numbers(&self.train);
        let (_, test) = self.numbers(&self.test);
        let normal = |privacy: Option<&Privacy>| {
            let records = Records::new(train.clone(), columns + 1)?;
            let source = NoiseSource::from_os().map_err(WallError::from)?;
            let (model, _) =
                GaussianNaiveBayes::fit(columns, count, records, source, privacy, Box::new(Unlimited))?;
            Ok(accuracy(&test, columns + 1, |inputs| model.log_odds(inputs) > 0.0))
        };
        let mean = |one: &dyn Fn() -> Result<f64, ExperimentError>| -> Result<f64, ExperimentError> {
            let all = (0..runs).map(|_| one()).collect::<Result<Vec<_>, _>>()?;
            Ok(all.iter().sum::<f64>() / runs as f64)
        };
        Ok(AdultScores {
            epsilon,
            without_privacy: tables(NoiseTreatment::NoiseAware, None)?,
            noise_aware: mean(&|| tables(NoiseTreatment::NoiseAware, Some(&privacy)))?,
            naive: mean(&|| tables(NoiseTreatment::Naive, Some(&privacy)))?,
            gaussian_without_privacy: normal(None)?,
            gaussian: mean(&|| normal(Some(&pure)))?,
            runs,
        })
    }
}

fn accuracy(rows: &[f64], width: usize, second: impl Fn(&[f64]) -> bool) -> f64 {
    let right =
        rows.chunks_exact(width).filter(|row| second(&row[..width - 1]) == (row[width - 1] > 0.0)).count();
    right as f64 / (rows.len() / width) as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::print_stderr, reason = "a skipped test prints a note")]

    use super::*;
    use std::path::PathBuf;

    /// At epsilon 1 within 0.005 of no privacy, and ahead of normal columns.
    #[test]
    fn private_tables_are_as_good_as_counting() {
        let folder = std::env::var_os("RETICENT_REFERENCE").map_or_else(
            || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
            |folder| PathBuf::from(folder).join("../data"),
        );
        let Ok(adult) = Adult::read(&folder) else {
            eprintln!("skipped: there is no adult.parquet in {}", folder.display());
            return;
        };
        let scores = adult.scores(1.0, 1e-6, 2).unwrap();
        assert!((scores.noise_aware - scores.without_privacy).abs() < 0.005, "{scores:?}");
        assert!(scores.noise_aware > scores.gaussian, "{scores:?}");
    }
}
