//! Logistic regression on the adult data set, with and without privacy: Section 6.4 of the paper on private variational Bayes.
//!
//! # Citation
//! Park, Foulds, Chaudhuri, Welling, "Variational Bayes in private settings (VIPS)", JAIR 2020.

mod data;
mod method;
mod report;

pub use data::{Adult, Split};
pub use method::{Method, Outcome, VIPS_PRINTED};
pub use report::{Summary, figure, summarise, table};

use reticent_core::model::FitError;
use reticent_core::wall::{NoiseError, PlanError, WallError};
use std::path::PathBuf;
use thiserror::Error;

/// Why the experiment did not happen.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message says what its variant and fields are")]
pub enum AdultError {
    #[error("adult.parquet is not in {}", folder.display())]
    NoData { folder: PathBuf },
    #[error("there is no method {name}; hint: use one of {}", Method::names())]
    NoMethod { name: String },
    #[error(transparent)]
    Columns(#[from] reticent_tables::SchemaError),
    #[error(transparent)]
    Data(#[from] reticent_tables::TableError),
    #[error(transparent)]
    Fit(#[from] FitError),
    #[error(transparent)]
    Budget(#[from] reticent_core::budget::PrivacyError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Wall(#[from] WallError),
    #[error(transparent)]
    Noise(#[from] NoiseError),
}

/// The share of pairs of a record of either class in which the one of class 1 has the higher score; ties count half.
#[must_use]
pub fn auc(scores: &[f64], classes: &[f64]) -> f64 {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let (mut below, mut wins, mut positives) = (0.0, 0.0, 0.0);
    for tied in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
        let high = tied.iter().filter(|&&k| classes[k] > 0.0).count() as f64;
        let low = tied.len() as f64 - high;
        wins += high * (below + 0.5 * low);
        below += low;
        positives += high;
    }
    wins / (below * positives)
}

#[cfg(test)]
mod tests;
