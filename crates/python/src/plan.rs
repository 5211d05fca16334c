//! `reticent._core.plan` and `forecast`: what a fit would release, cost and achieve.

use pyo3::prelude::*;
use reticent::Plan;
use serde_json::json;

use crate::error::{OrRaise, json};
use crate::fit::Options;
use crate::schema::Schema;

/// The plan of a fit to so many records, as JSON. No record is read.
#[pyfunction]
pub(crate) fn plan(
    py: Python<'_>,
    model: &str,
    schema: &Schema,
    records: usize,
    options: &str,
) -> PyResult<String> {
    let options = Options::parse(py, options)?;
    let plan = planned(py, model, schema, records, &options)?;
    let estimate = plan.estimate();
    Ok(json(&json!({
        "model": plan.model().name(),
        "records": plan.records(),
        "privacy_unit": plan.privacy_unit().map(reticent::PrivacyUnit::column),
        "inputs": plan.inputs(),
        "releases": plan.releases().or_raise(py)?,
        "cost": plan.cost().or_raise(py)?,
        "expected": plan.expected(),
        "why": plan.why(),
        "seconds": estimate.seconds(),
        "memory": estimate.memory,
        "file_bytes": estimate.file_bytes,
        "journal_bytes": plan.journal_bytes().or_raise(py)?,
        "plan": plan.to_json(),
    })))
}

/// What the fit is expected to give, from simulated data sets, as JSON; null where that cannot be simulated.
#[pyfunction]
pub(crate) fn forecast(
    py: Python<'_>,
    model: &str,
    schema: &Schema,
    records: usize,
    options: &str,
    data_sets: usize,
    seed: u64,
) -> PyResult<String> {
    let options = Options::parse(py, options)?;
    let (model, schema) = (model.to_owned(), schema.schema.clone());
    let forecast =
        py.detach(move || options.fit(&model, &schema)?.planned(records)?.forecast(data_sets, seed));
    Ok(json(&forecast.or_raise(py)?))
}

fn planned(
    py: Python<'_>,
    model: &str,
    schema: &Schema,
    records: usize,
    options: &Options,
) -> PyResult<Plan> {
    options.fit(model, &schema.schema).and_then(|fit| fit.planned(records)).or_raise(py)
}
