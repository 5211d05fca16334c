//! `reticent._core.evaluate` and `compare`: models on test records.

use std::sync::Arc;

use pyo3::prelude::*;
use reticent::{Evaluation, SavedModel};
use serde_json::json;

use crate::error::{OrRaise, json};
use crate::fit::Options;
use crate::model::Model;
use crate::run::run;
use crate::schema::data;

/// A private evaluation of models on test records, as JSON with its text.
#[pyfunction]
#[pyo3(signature = (models, names, records, options, progress=None))]
pub(crate) fn evaluate(
    py: Python<'_>,
    models: Vec<PyRef<'_, Model>>,
    names: Vec<String>,
    records: &Bound<'_, PyAny>,
    options: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let options = Options::parse(py, options)?;
    let records = data(records)?;
    let models: Vec<Arc<SavedModel>> = models.iter().map(|model| Arc::clone(&model.model)).collect();
    let done = run(py, progress, None, move |reporter, cancel| {
        let models: Vec<&SavedModel> = models.iter().map(AsRef::as_ref).collect();
        let mut evaluation = Evaluation::new(&models)?;
        if let Some(privacy) = options.privacy()? {
            evaluation = evaluation.privacy(privacy);
        }
        if let Some((file, data_set)) = &options.ledger {
            evaluation = evaluation.ledger(file, data_set);
        }
        if let Some(number) = options.records {
            evaluation = evaluation.records(number);
        }
        if let Some(out) = &options.out {
            evaluation = evaluation.out(out);
        }
        evaluation
            .resume(options.resume)
            .overwrite(options.overwrite)
            .on_progress(move |step| reporter.release(step))
            .cancelled_by(&cancel)
            .run(records)
    })?;
    let text = reticent_report::text::evaluation(&done, &names);
    Ok(json(&json!({ "evaluation": done, "text": text })))
}

/// **Not private**: exact scores of models on the same test records, as JSON.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    models: Vec<PyRef<'_, Model>>,
    records: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let records = data(records)?;
    let models: Vec<Arc<SavedModel>> = models.iter().map(|model| Arc::clone(&model.model)).collect();
    let compared = py.detach(move || {
        let models: Vec<&SavedModel> = models.iter().map(AsRef::as_ref).collect();
        reticent::compare(&models, records)
    });
    Ok(json(&compared.or_raise(py)?))
}
