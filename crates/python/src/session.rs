//! Ledgers: `reticent._core.create`, `account`, `history` and `cancel`.

use std::path::PathBuf;

use pyo3::prelude::*;
use reticent::{Adjacency, Amount, Ledger, Privacy, Session, privacy_unit_of};
use serde_json::{Value, json};

use crate::error::{OrRaise, json, settings};
use crate::schema::Schema;

/// Gives a data set a budget, once and for all.
#[pyfunction]
#[pyo3(signature = (file, data_set, epsilon, delta, adjacency, schema=None, privacy_unit=None))]
pub(crate) fn create(
    py: Python<'_>,
    file: PathBuf,
    data_set: &str,
    epsilon: f64,
    delta: f64,
    adjacency: &str,
    schema: Option<&Schema>,
    privacy_unit: Option<&str>,
) -> PyResult<()> {
    let adjacency: Adjacency = serde_json::from_value(Value::from(adjacency))
        .map_err(|_| settings(py, "`adjacency` is replace-one or add-remove", "choose one of them"))?;
    let cap = Privacy::new(epsilon, delta, adjacency).or_raise(py)?;
    match privacy_unit {
        Some(column) => Session::create_for_units(file, data_set, &cap, column),
        None => Session::create(file, data_set, &cap, schema.map(|schema| &schema.schema)),
    }
    .or_raise(py)
    .map(drop)
}

/// The account of a data set as JSON, with what one more run would leave.
#[pyfunction]
#[pyo3(signature = (file, data_set, next=None))]
pub(crate) fn account(
    py: Python<'_>,
    file: PathBuf,
    data_set: &str,
    next: Option<(f64, f64)>,
) -> PyResult<String> {
    let account = Session::open(file, data_set).or_raise(py)?.account().or_raise(py)?;
    let after =
        next.map(|(epsilon, delta)| account.after(Amount::new(epsilon, delta)).map(|after| after.remaining));
    let mut value = serde_json::to_value(&account).unwrap_or_default();
    value["privacy_unit"] = json!(privacy_unit_of(&account.data_set));
    value["remaining_text"] = json!(reticent_report::remaining(&account));
    if let Some(after) = after {
        value["after"] = json!(after);
    }
    Ok(json(&value))
}

/// All charges of a data set as JSON, the oldest first.
#[pyfunction]
pub(crate) fn history(py: Python<'_>, file: PathBuf, data_set: &str) -> PyResult<String> {
    let session = Session::open(file, data_set).or_raise(py)?;
    Ok(json(&session.history().or_raise(py)?))
}

/// Cancels a reservation of which nothing was released.
#[pyfunction]
pub(crate) fn cancel(py: Python<'_>, file: PathBuf, reservation: i64) -> PyResult<()> {
    Ledger::open(file).and_then(|mut ledger| ledger.cancel(reservation)).or_raise(py)
}
