//! Topics and sigmoid belief networks after Park, Foulds, Chaudhuri, Welling, "Variational Bayes in private settings (VIPS)", JAIR 2020.
//!
//! Where the paper's sensitivity or accounting does not hold, what it prints and what is true stand side by side.

pub mod belief;
mod data;
pub mod topics;

pub use data::{Corpus, Images};

use crate::table::TableError;
use reticent_core::wall::{PlanError, WallError};
use std::path::PathBuf;

/// Why an experiment could not be made.
#[derive(Debug, thiserror::Error)]
pub enum VipsError {
    /// A file is missing.
    #[error("there is no {file} in {}", folder.display())]
    NoData {
        /// Its name.
        file: &'static str,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// A file has another form.
    #[error("{} does not have the expected columns", file.display())]
    Form {
        /// Which.
        file: PathBuf,
    },
    /// Too few records.
    #[error("there are {found} records, and at least {needed} are needed")]
    TooFew {
        /// How many there are.
        found: usize,
        /// How many there should be.
        needed: usize,
    },
    /// A file cannot be read.
    #[error(transparent)]
    Table(#[from] reticent_tables::TableError),
    /// A column cannot be named so.
    #[error(transparent)]
    Schema(#[from] reticent_tables::SchemaError),
    /// What the wall refuses.
    #[error(transparent)]
    Wall(#[from] WallError),
    /// A budget that is none.
    #[error(transparent)]
    Privacy(#[from] reticent_core::budget::PrivacyError),
    /// What the accountant refuses.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// What the accountant refuses.
    #[error(transparent)]
    Accounting(#[from] reticent_accounting::Error),
    /// A row does not fit.
    #[error(transparent)]
    Row(#[from] TableError),
}
