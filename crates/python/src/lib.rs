//! The native part of the Python package `reticent`: the library as Python sees it.
//!
//! It converts arguments and results, and nothing else: what a fit does is in the crate `reticent`. Texts, numbers and JSON go in and out; the classes
//! that people use are in `python/reticent`.

#![allow(
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    reason = "functions of Python get converted values, and have keywords"
)]

mod accounting;
mod error;
mod evaluate;
mod fit;
mod model;
mod plan;
mod query;
mod run;
mod schema;
mod session;
mod table;

use pyo3::prelude::*;

/// Native functions of the package `reticent`. Not for direct use.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::accounting::accounting;
    #[pymodule_export]
    use super::evaluate::{compare, evaluate};
    #[pymodule_export]
    use super::fit::fit;
    #[pymodule_export]
    use super::model::{Model, models};
    #[pymodule_export]
    use super::plan::{forecast, plan};
    #[pymodule_export]
    use super::query::query;
    #[pymodule_export]
    use super::schema::{Schema, check, template};
    #[pymodule_export]
    use super::session::{account, cancel, create, history};
    #[pymodule_export]
    use super::table::Table;

    /// Panics of forged model files are errors, and nothing of them is printed.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        reticent::silence_caught_panics();
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
