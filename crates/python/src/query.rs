//! `reticent._core.query`: queries that are functions of Python.

use pyo3::prelude::*;

/// Queries that are functions of Python.
#[pymodule]
pub(crate) mod query {}
