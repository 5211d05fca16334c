//! Errors of all experiments.

use crate::metrics::MetricError;
use crate::mixture::MixtureError;
use crate::table::TableError;
use crate::truth::TruthError;
use reticent_core::budget::PrivacyError;
use reticent_core::model::{DefinitionError, FitError};
use reticent_core::wall::{NoiseError, PlanError, WallError};
use std::path::PathBuf;
use thiserror::Error;

/// Why an experiment has no result. The data are public or simulated, so messages may describe them.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message describes its variant and fields")]
pub enum ExperimentError {
    #[error("{file} is not in {}", folder.display())]
    NoData { file: String, folder: PathBuf },
    #[error("{} does not have the expected columns", file.display())]
    Form { file: PathBuf },
    #[error("there is no such column: {column}")]
    Column { column: &'static str },
    #[error("{} cannot be read or written: {kind}", file.display())]
    File { file: PathBuf, kind: std::io::ErrorKind },
    #[error("{what} has {found} records, and at least {needed} are needed")]
    TooFew { what: String, found: usize, needed: usize },
    #[error("there is no {what} {name}; hint: use one of {known}")]
    Unknown { what: &'static str, name: String, known: String },
    #[error("a private method needs a budget, and no other method has one")]
    Budget,
    #[error("no threads can be started")]
    NoThreads,
    #[error("the posterior is improper")]
    Improper,
    #[error(transparent)]
    Schema(#[from] reticent_tables::SchemaError),
    #[error(transparent)]
    Data(#[from] reticent_tables::TableError),
    #[error(transparent)]
    Fit(#[from] FitError),
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Wall(#[from] WallError),
    #[error(transparent)]
    Noise(#[from] NoiseError),
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    #[error(transparent)]
    Accounting(#[from] reticent_accounting::Error),
    #[error(transparent)]
    Mixture(#[from] MixtureError),
    #[error(transparent)]
    Metric(#[from] MetricError),
    #[error(transparent)]
    Truth(#[from] TruthError),
    #[error(transparent)]
    Table(#[from] TableError),
}

/// The item of this name, or [`ExperimentError::Unknown`] with the known names.
pub(crate) fn by_name<T: Copy>(
    what: &'static str,
    name: &str,
    items: &[T],
    name_of: impl Fn(T) -> &'static str,
) -> Result<T, ExperimentError> {
    items.iter().copied().find(|&item| name_of(item) == name).ok_or_else(|| {
        let known = items.iter().map(|&item| name_of(item)).collect::<Vec<_>>().join(", ");
        ExperimentError::Unknown { what, name: name.to_owned(), known }
    })
}
