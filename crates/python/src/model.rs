//! `reticent._core.Model`: a fitted model, which is what a model file has.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3_arrow::PyTable;
use reticent::arrow::array::Array;
use reticent::arrow::array::cast::AsArray;
use reticent::arrow::schema::DataType;
use reticent::{Account, Effect, EffectScale, Error, Fitted, SavedModel, Session};
use serde_json::{Value, json};

use crate::error::{OrRaise, json, settings};
use crate::schema::{Schema, source};
use crate::table::Table;

/// Names and values of columns.
type Columns<'py> = (Vec<String>, Vec<Bound<'py, PyArray1<f64>>>);

/// A fitted model. It holds no record.
#[pyclass(frozen, module = "reticent._core")]
pub(crate) struct Model {
    pub(crate) model: Arc<SavedModel>,
    bytes: Arc<[u8]>,
}

impl Model {
    pub(crate) fn of(fitted: Fitted) -> Self {
        let bytes = Arc::from(fitted.bytes());
        Self { model: Arc::new(fitted.into_model()), bytes }
    }

    /// The account of the data set that the fit was charged to.
    fn account(&self, py: Python<'_>, ledger: Option<PathBuf>) -> PyResult<Option<Account>> {
        let (Some(ledger), Some(data_set)) = (ledger, self.model.data_set()) else { return Ok(None) };
        Session::open(ledger, data_set).and_then(|session| session.account()).or_raise(py).map(Some)
    }
}

#[pymethods]
impl Model {
    /// From the bytes of a model file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let model = py.detach(|| SavedModel::from_bytes(bytes)).or_raise(py)?;
        Ok(Self { model: Arc::new(model), bytes: Arc::from(bytes) })
    }

    /// The bytes of the model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.bytes)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py),)))
    }

    /// The name of the model.
    #[getter]
    fn name(&self) -> &'static str {
        self.model.kind().name()
    }

    /// How records are read.
    #[getter]
    fn schema(&self) -> Schema {
        Schema { schema: self.model.schema().clone() }
    }

    /// The receipt as JSON.
    #[getter]
    fn receipt(&self) -> String {
        json(self.model.receipt())
    }

    /// The receipt as text.
    #[getter]
    fn receipt_text(&self) -> String {
        reticent_report::text::receipt(self.model.receipt())
    }

    /// The model card as JSON.
    #[getter]
    fn card(&self) -> String {
        json(self.model.card())
    }

    /// The plan as JSON.
    #[getter]
    fn plan(&self) -> String {
        json(&self.model.header().plan)
    }

    /// What was fitted to what, in a sentence.
    fn sentence(&self) -> String {
        reticent_report::sentence(&self.model)
    }

    /// What `reticent show` prints.
    #[pyo3(signature = (ledger=None))]
    fn text(&self, py: Python<'_>, ledger: Option<PathBuf>) -> PyResult<String> {
        let account = self.account(py, ledger)?;
        let text = reticent_report::text::model(&self.model, account.as_ref()).or_raise(py)?;
        Ok(reticent::visible::lines(&text).into_owned())
    }

    /// What `reticent report` writes.
    #[pyo3(signature = (ledger=None))]
    fn html(&self, py: Python<'_>, ledger: Option<PathBuf>) -> PyResult<String> {
        let account = self.account(py, ledger)?;
        py.detach(|| reticent_report::page(&self.model, None, account.as_ref()))
            .map_err(|_| settings(py, "the report cannot be made", "fit the model again"))
    }

    /// The posterior of each parameter, as JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        Ok(json(&py.detach(|| self.model.summary()).or_raise(py)?))
    }

    /// Joint draws: a row for each, with a number for each parameter of the summary.
    fn draws<'py>(&self, py: Python<'py>, count: usize, seed: u64) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let draws = py.detach(|| self.model.draws(count, seed)).or_raise(py)?;
        let width = draws.names.len();
        PyArray1::from_vec(py, draws.values).reshape([count, width])
    }

    /// The predictions for the rows of a table: names of columns, and an array for each. Quantiles are at these probabilities.
    fn predict<'py>(
        &self,
        py: Python<'py>,
        table: &Table,
        probabilities: Vec<f64>,
    ) -> PyResult<Columns<'py>> {
        let batches = table.read();
        let predicted = py.detach(|| {
            let (mut names, mut columns) = (Vec::new(), Vec::new());
            // A table without rows has the same columns of predictions.
            for batch in std::iter::once(Ok(table.no_rows())).chain(batches) {
                let Ok(batch) = batch else { return Ok(None) };
                let predicted = self.model.predict_batch_at(&batch, &probabilities)?;
                names = predicted.schema().fields().iter().map(|field| field.name().clone()).collect();
                columns.resize(predicted.num_columns(), Vec::new());
                for (column, array) in columns.iter_mut().zip(predicted.columns()) {
                    if array.data_type() == &DataType::Float64 {
                        let array = array.as_primitive::<reticent::arrow::array::types::Float64Type>();
                        column.extend_from_slice(array.values());
                    }
                }
            }
            Ok::<_, Error>(Some((names, columns)))
        });
        let (names, columns): (Vec<String>, Vec<Vec<f64>>) = predicted
            .or_raise(py)?
            .ok_or_else(|| settings(py, "the records cannot be read", "do not change them meanwhile"))?;
        Ok((names, columns.into_iter().map(|column| PyArray1::from_vec(py, column)).collect()))
    }

    /// Simulated records, as an object with the Arrow PyCapsule interface.
    fn simulate(&self, py: Python<'_>, rows: usize, seed: u64) -> PyResult<PyTable> {
        let batches = py.detach(|| self.model.simulate_batches(rows, seed)).or_raise(py)?;
        let schema = batches[0].schema();
        PyTable::try_new(batches, schema)
    }

    /// **Not private**: exact scores on test records, as JSON.
    fn evaluate(&self, py: Python<'_>, records: &Bound<'_, PyAny>) -> PyResult<String> {
        let records = source(py, records)?;
        Ok(json(&py.detach(|| self.model.evaluate(records)).or_raise(py)?))
    }

    /// How the prediction changes along each column, as JSON; null without a target.
    fn effects(&self, py: Python<'_>) -> PyResult<String> {
        let effects = py.detach(|| self.model.guarded(SavedModel::effects)).or_raise(py)?;
        let point = |point: &reticent::EffectPoint| {
            json!({ "at": point.at, "label": point.label, "mean": point.mean,
                "records": point.records, "interval": point.with_privacy })
        };
        let effect = |effect: &Effect| {
            let points: Vec<Value> = effect.points.iter().map(point).collect();
            json!({ "column": effect.column, "unit": effect.unit, "description": effect.description,
                "reference": effect.reference, "levels": effect.levels, "points": points })
        };
        Ok(json(&effects.map(|effects| {
            let (scale, reference) = match effects.scale {
                EffectScale::Target { reference } => ("target", reference),
                EffectScale::Probability { reference } => ("probability", reference),
            };
            let columns: Vec<Value> = effects.columns.iter().map(effect).collect();
            json!({ "scale": scale, "reference": reference, "at_released_means": effects.at_released_means,
                "columns": columns })
        })))
    }
}

/// What each model declares about itself, as JSON.
#[pyfunction]
pub(crate) fn models() -> String {
    let setting = |setting: &reticent::Setting| {
        let (kind, limits) = match setting.kind {
            reticent::SettingKind::Number { min, max } => ("number", json!([min, max])),
            reticent::SettingKind::Integer { min, max } => ("integer", json!([min, max])),
            reticent::SettingKind::Choice(words) => ("choice", json!(words)),
            reticent::SettingKind::Flag => ("flag", Value::Null),
        };
        json!({ "name": setting.name, "kind": kind, "limits": limits, "range": setting.range().to_string(),
            "default": setting.default(), "unit": setting.unit, "about": setting.about })
    };
    let one = |model: &&dyn reticent::Model| {
        let declared = model.declaration();
        let settings: Vec<Value> = declared.settings.iter().map(setting).collect();
        let references: Vec<String> = declared.references.iter().map(ToString::to_string).collect();
        json!({ "name": declared.name, "about": declared.about, "not_for": declared.not_for, "family": declared.family,
            "targets": declared.targets, "settings": settings, "references": references,
            "needs_bounds": declared.needs_bounds, "can_be_private": declared.can_be_private,
            "can_be_pure": declared.can_be_pure })
    };
    json(&reticent::models().iter().map(one).collect::<Vec<_>>())
}
