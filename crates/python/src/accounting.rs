//! `reticent._core.accounting`: what releases cost.

use pyo3::prelude::*;

/// What releases cost.
#[pymodule]
pub(crate) mod accounting {}
