//! `reticent._core.Schema`.

use pyo3::prelude::*;
use pyo3::types::PyType;
use reticent::arrow::schema::DataType;
use reticent::{Data, Kind, PrivacyUnit, Scale, Source};
use serde_json::json;

use crate::error::{OrRaise, json};
use crate::table::Table;

/// What is publicly known about a table.
#[pyclass(frozen, module = "reticent._core")]
pub(crate) struct Schema {
    pub(crate) schema: reticent::Schema,
}

#[pymethods]
impl Schema {
    /// A schema from TOML.
    #[classmethod]
    fn parse(_class: &Bound<'_, PyType>, py: Python<'_>, text: &str) -> PyResult<Self> {
        Ok(Self { schema: reticent::Schema::parse(text).or_raise(py)? })
    }

    /// A schema from a TOML file, whose vocabularies are beside it.
    #[classmethod]
    fn load(_class: &Bound<'_, PyType>, py: Python<'_>, file: std::path::PathBuf) -> PyResult<Self> {
        Ok(Self { schema: reticent::Schema::load(file).or_raise(py)? })
    }

    /// **Not private**: bounds and levels as they occur in the records, which are assumed to be public.
    #[classmethod]
    fn assuming_public(
        _class: &Bound<'_, PyType>,
        py: Python<'_>,
        table: &Table,
        target: Option<&str>,
    ) -> PyResult<Self> {
        let source = table.source();
        let read = py.detach(|| reticent::Schema::from_data_assuming_public(&source, target));
        Ok(Self { schema: read.or_raise(py)? })
    }

    /// The same as TOML.
    fn to_toml(&self) -> String {
        self.schema.to_toml()
    }

    /// Identifies the content.
    fn fingerprint(&self) -> String {
        self.schema.fingerprint()
    }

    /// All rows with the same value in a column are one privacy unit.
    fn with_privacy_unit(&self, py: Python<'_>, column: &str, rows: Option<usize>) -> PyResult<Self> {
        let unit = PrivacyUnit::new(column, rows).or_raise(py)?;
        Ok(Self { schema: self.schema.clone().with_privacy_unit(unit).or_raise(py)? })
    }

    /// The same with the class of the target that is modelled.
    fn with_positive(&self, py: Python<'_>, class: &str) -> PyResult<Self> {
        Ok(Self { schema: self.schema.with_positive(class).or_raise(py)? })
    }

    /// The columns: target, features, privacy unit, as JSON.
    fn columns(&self) -> String {
        let column = |column: &reticent::Column| {
            let (kind, bounds) = match column.kind() {
                Kind::Numeric { scale: Scale::Bounds { low, high }, .. } => ("numeric", Some([*low, *high])),
                Kind::Numeric { .. } => ("numeric", None),
                Kind::Boolean { .. } => ("boolean", None),
                Kind::Categorical { .. } => ("categorical", None),
                Kind::Text { .. } => ("text", None),
            };
            json!({ "name": column.name(), "kind": kind, "bounds": bounds, "levels": column.levels(),
                "unit": column.unit(), "description": column.description(), "origin": column.origin() })
        };
        let features: Vec<_> = self.schema.features().iter().map(column).collect();
        let unit = self.schema.privacy_unit();
        json(&json!({
            "target": self.schema.target().map(column),
            "features": features,
            "privacy_unit": unit.map(PrivacyUnit::column),
            "rows_per_unit": unit.and_then(PrivacyUnit::rows),
            "stated": self.schema.is_stated(),
        }))
    }
}

/// A schema to be filled in, from the names and types of columns alone: TOML.
#[pyfunction]
pub(crate) fn template(py: Python<'_>, table: &Table, target: Option<&str>) -> PyResult<String> {
    let declared = table.source().columns().or_raise(py)?;
    reticent::Schema::template(&declared, target).or_raise(py)
}

/// The names of types, for a table without rows.
pub(crate) fn data_type(name: &str) -> Option<DataType> {
    Some(match name {
        "number" => DataType::Float64,
        "integer" => DataType::Int64,
        "boolean" => DataType::Boolean,
        "text" => DataType::Utf8,
        _ => return None,
    })
}

/// The data of a table, or of a path.
pub(crate) fn data(given: &Bound<'_, PyAny>) -> PyResult<Data> {
    if let Ok(table) = given.cast::<Table>() {
        return Ok(Data::from(table.get().source()).named("records in memory"));
    }
    Ok(Data::from(given.extract::<std::path::PathBuf>()?))
}

/// The source of a table, or of a path.
pub(crate) fn source(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<Source> {
    match given.cast::<Table>() {
        Ok(table) => Ok(table.get().source()),
        Err(_) => Source::open(given.extract::<std::path::PathBuf>()?).or_raise(py),
    }
}

/// **Not private**: what a schema makes of records, as JSON and as text.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    schema: &Schema,
    records: &Bound<'_, PyAny>,
) -> PyResult<(String, String)> {
    let source = source(py, records)?;
    let check = py.detach(|| reticent::Check::new(&schema.schema, &source)).or_raise(py)?;
    Ok((json(&check), reticent_report::text::check(&check, &source)))
}
