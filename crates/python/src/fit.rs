//! `reticent._core.fit`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::prelude::*;
use reticent::{Adjacency, Error, Fit, Privacy, PrivacyUnit, SettingValue};
use serde::Deserialize;
use serde_json::Value;

use crate::error::{OrRaise, settings};
use crate::model::Model;
use crate::run::run;
use crate::schema::{Schema, data};

/// The options of a fit, as JSON. Names are those of the methods of [`Fit`].
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Options {
    pub(crate) epsilon: Option<f64>,
    pub(crate) delta: Option<f64>,
    pub(crate) adjacency: Option<Adjacency>,
    pub(crate) allow_large_delta: bool,
    without_privacy: bool,
    settings: BTreeMap<String, SettingValue>,
    plan: Option<Value>,
    pub(crate) records: Option<usize>,
    memory: Option<u64>,
    bounds_share: Option<f64>,
    allow_large: bool,
    pub(crate) ledger: Option<(PathBuf, String)>,
    pub(crate) out: Option<PathBuf>,
    pub(crate) resume: bool,
    pub(crate) overwrite: bool,
    privacy_unit: Option<String>,
    rows_per_unit: Option<usize>,
    holdout: Option<f64>,
}

impl Options {
    pub(crate) fn parse(py: Python<'_>, text: &str) -> PyResult<Self> {
        serde_json::from_str(text)
            .map_err(|error| settings(py, &error.to_string(), "see the documentation of `fit`"))
    }

    /// What may be spent.
    pub(crate) fn privacy(&self) -> Result<Option<Privacy>, Error> {
        let Some(epsilon) = self.epsilon else { return Ok(None) };
        let adjacency = self.adjacency.unwrap_or(Adjacency::ReplaceOne);
        let privacy = Privacy::new(epsilon, self.delta.unwrap_or(0.0), adjacency)?;
        Ok(Some(if self.allow_large_delta { privacy.allow_large_delta() } else { privacy }))
    }

    /// A fit with these options but its budget's place, for plans too.
    pub(crate) fn fit(&self, model: &str, schema: &reticent::Schema) -> Result<Fit, Error> {
        let mut fit = Fit::new(model, schema)?;
        if let Some(privacy) = self.privacy()? {
            fit = fit.privacy(privacy);
        }
        if self.without_privacy {
            fit = fit.without_privacy();
        }
        if let Some(column) = &self.privacy_unit {
            fit = fit.privacy_unit(PrivacyUnit::new(column, self.rows_per_unit)?)?;
        }
        for (name, value) in &self.settings {
            fit = fit.setting(name, value.clone());
        }
        if let Some(plan) = &self.plan {
            fit = fit.plan(plan)?;
        }
        if let Some(share) = self.bounds_share {
            fit = fit.bounds_share(share);
        }
        if let Some(bytes) = self.memory {
            fit = fit.memory(bytes);
        }
        Ok(if self.allow_large { fit.allow_large() } else { fit })
    }

    fn run_of(&self, model: &str, schema: &reticent::Schema) -> Result<Fit, Error> {
        let mut fit = self.fit(model, schema)?.resume(self.resume).overwrite(self.overwrite);
        if let Some((file, data_set)) = &self.ledger {
            fit = fit.ledger(file, data_set);
        }
        if let Some(records) = self.records {
            fit = fit.records(records);
        }
        if let Some(out) = &self.out {
            fit = fit.out(out);
        }
        if let Some(share) = self.holdout {
            fit = fit.holdout(share);
        }
        Ok(fit)
    }
}

/// Fits a model to the records of a table or of files. The interpreter is released meanwhile.
#[pyfunction]
#[pyo3(signature = (model, schema, records, options, progress=None, notice=None))]
pub(crate) fn fit(
    py: Python<'_>,
    model: &str,
    schema: &Schema,
    records: &Bound<'_, PyAny>,
    options: &str,
    progress: Option<&Bound<'_, PyAny>>,
    notice: Option<&Bound<'_, PyAny>>,
) -> PyResult<Model> {
    let options = Options::parse(py, options)?;
    let (records, schema, model) = (data(records)?, schema.schema.clone(), model.to_owned());
    // What is wrong with the request is found before a thread is started.
    options.fit(&model, &schema).or_raise(py)?.check_settings().or_raise(py)?;
    let fitted = run(py, progress, notice, move |reporter, cancel| {
        let notices = reporter.clone();
        options
            .run_of(&model, &schema)?
            .on_progress(move |step| reporter.release(step))
            .on_notice(move |text| notices.notice(text))
            .cancelled_by(&cancel)
            .run(records)
    })?;
    Ok(Model::of(fitted))
}
