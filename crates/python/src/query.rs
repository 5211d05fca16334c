//! `reticent._core.query`: queries that are functions of Python.
//!
//! Plans go in as JSON, and contributions come from a function of Python that gets blocks of rows: how it treats rows that fail is in
//! `python/reticent/query.py`.

mod plan;
mod run;

use pyo3::prelude::*;

/// Queries that are functions of Python.
#[pymodule]
pub(crate) mod query {
    #[pymodule_export]
    use super::plan::{calibrated, describe, price};
    #[pymodule_export]
    use super::run::Run;
}
