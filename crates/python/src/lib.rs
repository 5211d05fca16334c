//! The native part of the Python package `reticent`: the library as Python sees it.
//!
//! It converts arguments and results, and nothing else: what a fit does is in the crate `reticent`. Texts, numbers and JSON go in and out; the classes
//! that people use are in `python/reticent`.

mod accounting;
mod query;

use pyo3::prelude::*;

/// Native functions of the package `reticent`. Not for direct use.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::accounting::accounting;
    #[pymodule_export]
    use super::query::query;
}
