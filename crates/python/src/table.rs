//! `reticent._core.Table`: records that Python holds, as the library reads them.
//!
//! Arrow data is used where it is. Columns of NumPy arrays are converted some thousand rows at a time, whenever the library reads them, so that
//! no second table is made.
//!
//! # Privacy
//! No value of a record is an error here: one that cannot be converted is missing, as in files. Attacked by `python/tests/test_hostile.py`.

use std::sync::Arc;

use numpy::ndarray::s;
use numpy::{PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use pyo3_arrow::input::{AnyArray, AnyRecordBatch};
use reticent::Source;
use reticent::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, new_empty_array,
};
use reticent::arrow::schema::{DataType, Field, Schema, SchemaRef};
use reticent::arrow::{ArrowError, RecordBatch, RecordBatchReader};

use crate::error::settings;
use crate::schema::data_type;

/// Rows that are converted at once.
const BLOCK: usize = 16_384;

/// Records in memory.
#[pyclass(frozen, module = "reticent._core")]
pub(crate) struct Table {
    values: Values,
    rows: usize,
}

/// Where the values are.
enum Values {
    /// In Arrow batches.
    Batches(Vec<RecordBatch>, SchemaRef),
    /// In columns of Python.
    Columns(Arc<Vec<Column>>, SchemaRef),
}

/// A column of Python.
enum Column {
    Numbers(Py<PyArray1<f64>>),
    Integers(Py<PyArray1<i64>>),
    Flags(Py<PyArray1<bool>>),
    /// The number of a level in each row; numbers that are none are missing values.
    Levels(Py<PyArray1<i32>>, Vec<String>),
    Array(ArrayRef),
}

impl Column {
    /// An array of NumPy, a pair of numbers and levels, Arrow data, or a list of anything.
    fn read(given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = given.py();
        if let Ok(array) = given.cast::<PyArray1<f64>>() {
            return Ok(Self::Numbers(array.clone().unbind()));
        }
        if let Ok(array) = given.cast::<PyArray1<i64>>() {
            return Ok(Self::Integers(array.clone().unbind()));
        }
        if let Ok(array) = given.cast::<PyArray1<bool>>() {
            return Ok(Self::Flags(array.clone().unbind()));
        }
        if let Ok((codes, levels)) = given.extract::<(Bound<'_, PyArray1<i32>>, Vec<String>)>() {
            return Ok(Self::Levels(codes.unbind(), levels));
        }
        if given.hasattr("__arrow_c_array__")? || given.hasattr("__arrow_c_stream__")? {
            let unreadable =
                || settings(py, "a column cannot be read as Arrow data", "give it as a NumPy array");
            let array: AnyArray = given.extract().map_err(|_| unreadable())?;
            let chunks = array.into_chunked_array().map_err(|_| unreadable())?.into_inner().0;
            let parts: Vec<_> = chunks.iter().map(|chunk| chunk.as_ref()).collect();
            return match &parts[..] {
                [] => Err(unreadable()),
                [_] => Ok(Self::Array(Arc::clone(&chunks[0]))),
                _ => Err(unreadable()),
            };
        }
        let texts = given.try_iter()?.map(|item| item.map(|item| text(&item)));
        Ok(Self::Array(Arc::new(texts.collect::<PyResult<StringArray>>()?)))
    }

    fn len(&self, py: Python<'_>) -> usize {
        match self {
            Self::Numbers(array) => array.bind(py).len(),
            Self::Integers(array) => array.bind(py).len(),
            Self::Flags(array) => array.bind(py).len(),
            Self::Levels(array, _) => array.bind(py).len(),
            Self::Array(array) => array.len(),
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Numbers(_) => DataType::Float64,
            Self::Integers(_) => DataType::Int64,
            Self::Flags(_) => DataType::Boolean,
            Self::Levels(..) => DataType::Utf8,
            Self::Array(array) => array.data_type().clone(),
        }
    }

    /// The values of some rows.
    fn array(&self, py: Python<'_>, first: usize, rows: usize) -> Option<ArrayRef> {
        fn part<T: numpy::Element + Copy>(
            py: Python<'_>,
            array: &Py<PyArray1<T>>,
            first: usize,
            rows: usize,
        ) -> Option<Vec<T>> {
            let array = array.bind(py).try_readonly().ok()?;
            let view = array.as_array();
            // An array that was made shorter meanwhile has no such rows.
            (first + rows <= view.len()).then(|| view.slice(s![first..first + rows]).to_vec())
        }
        Some(match self {
            Self::Numbers(array) => Arc::new(Float64Array::from(part(py, array, first, rows)?)),
            Self::Integers(array) => Arc::new(Int64Array::from(part(py, array, first, rows)?)),
            Self::Flags(array) => Arc::new(BooleanArray::from(part(py, array, first, rows)?)),
            Self::Levels(array, levels) => {
                let codes = part(py, array, first, rows)?;
                let level = |code: i32| usize::try_from(code).ok().and_then(|code| levels.get(code));
                Arc::new(codes.into_iter().map(level).collect::<StringArray>())
            }
            Self::Array(array) => array.slice(first, rows),
        })
    }
}

/// A value of a list as a text that a CSV file would have. Anything but texts, numbers and booleans is missing.
fn text(value: &Bound<'_, PyAny>) -> Option<String> {
    if let Ok(text) = value.cast::<PyString>() {
        return text.to_str().ok().map(str::to_owned);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Some(if flag.is_true() { "true" } else { "false" }.to_owned());
    }
    if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        let number: f64 = value.extract().ok()?;
        return number
            .is_finite()
            .then(|| value.extract::<i64>().map_or(number.to_string(), |n| n.to_string()));
    }
    // Scalars of NumPy.
    let number: f64 = value.getattr("dtype").and_then(|_| value.extract()).ok()?;
    number.is_finite().then(|| number.to_string())
}

#[pymethods]
impl Table {
    /// From anything with the Arrow PyCapsule interface.
    #[staticmethod]
    fn from_arrow(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<Self> {
        // The messages of other libraries may contain values.
        let unreadable = || {
            settings(
                py,
                "the records cannot be read as Arrow data",
                "give a table of pandas, polars, pyarrow or NumPy",
            )
        };
        let data: AnyRecordBatch = data.extract().map_err(|_| unreadable())?;
        let reader = data.into_reader().map_err(|_| unreadable())?;
        let schema = reader.schema();
        let batches = py.detach(|| reader.collect::<Result<Vec<_>, _>>()).map_err(|_| unreadable())?;
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        Ok(Self { values: Values::Batches(batches, schema), rows })
    }

    /// From columns of the same length.
    #[staticmethod]
    fn from_columns(py: Python<'_>, columns: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Self> {
        let mut fields = Vec::with_capacity(columns.len());
        let mut kept = Vec::with_capacity(columns.len());
        let mut rows = None;
        for (name, given) in columns {
            let values = Column::read(&given)?;
            if *rows.get_or_insert(values.len(py)) != values.len(py) {
                return Err(different_lengths(py));
            }
            fields.push(Field::new(name, values.data_type(), true));
            kept.push(values);
        }
        let schema = Arc::new(Schema::new(fields));
        Ok(Self { values: Values::Columns(Arc::new(kept), schema), rows: rows.unwrap_or(0) })
    }

    /// Without rows, from names and the names of types.
    #[staticmethod]
    fn of_types(columns: Vec<(String, String)>) -> Self {
        let types = columns.iter().map(|(name, kind)| (name, data_type(kind).unwrap_or(DataType::Binary)));
        let fields: Vec<Field> = types.map(|(name, kind)| Field::new(name, kind, true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let empty = schema.fields().iter().map(|field| new_empty_array(field.data_type())).collect();
        let batch = RecordBatch::try_new(Arc::clone(&schema), empty);
        Self { values: Values::Batches(batch.into_iter().collect(), schema), rows: 0 }
    }

    /// The same with one more column, in place of one of that name.
    fn with_column(&self, py: Python<'_>, name: String, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let column = Column::read(given)?;
        if column.len(py) != self.rows {
            return Err(different_lengths(py));
        }
        let field = Field::new(&name, column.data_type(), true);
        let mut batches = Vec::new();
        let mut first = 0;
        for batch in self.read() {
            let batch = batch.map_err(|_| different_lengths(py))?;
            let rows = batch.num_rows();
            let array = column.array(py, first, rows).ok_or_else(|| different_lengths(py))?;
            first += rows;
            batches.push((batch, array));
        }
        let old = self.schema();
        let kept: Vec<usize> = (0..old.fields().len()).filter(|&k| old.field(k).name() != &name).collect();
        let fields: Vec<Field> = kept.iter().map(|&k| old.field(k).clone()).chain([field]).collect();
        let schema = Arc::new(Schema::new(fields));
        let whole = batches.into_iter().map(|(batch, array)| {
            let columns = kept.iter().map(|&k| Arc::clone(batch.column(k))).chain([array]).collect();
            RecordBatch::try_new(Arc::clone(&schema), columns)
        });
        let whole = whole.collect::<Result<Vec<_>, _>>().map_err(|_| different_lengths(py))?;
        Ok(Self { values: Values::Batches(whole, schema), rows: self.rows })
    }

    /// The number of rows.
    #[getter]
    fn rows(&self) -> usize {
        self.rows
    }

    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.schema().fields().iter().map(|field| field.name().clone()).collect()
    }
}

fn different_lengths(py: Python<'_>) -> PyErr {
    settings(py, "the columns have different numbers of rows", "give as many targets as rows")
}

impl Table {
    fn schema(&self) -> SchemaRef {
        match &self.values {
            Values::Batches(_, schema) | Values::Columns(_, schema) => Arc::clone(schema),
        }
    }

    /// As the library reads it.
    pub(crate) fn source(&self) -> Source {
        match &self.values {
            // Without a batch there would be no columns.
            Values::Batches(batches, schema) if batches.is_empty() => {
                Source::from_batches([RecordBatch::new_empty(Arc::clone(schema))])
            }
            Values::Batches(batches, _) => Source::from_batches(batches.iter().cloned()),
            Values::Columns(columns, schema) => {
                let (columns, schema, rows) = (Arc::clone(columns), Arc::clone(schema), self.rows);
                Source::from_readers(move || {
                    Ok(Box::new(Blocks {
                        columns: Arc::clone(&columns),
                        schema: Arc::clone(&schema),
                        next: 0,
                        rows,
                    }))
                })
            }
        }
    }

    /// The records, batch by batch.
    pub(crate) fn read(&self) -> Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send> {
        match &self.values {
            Values::Batches(batches, _) => Box::new(batches.clone().into_iter().map(Ok)),
            Values::Columns(columns, schema) => {
                let (columns, schema) = (Arc::clone(columns), Arc::clone(schema));
                Box::new(Blocks { columns, schema, next: 0, rows: self.rows })
            }
        }
    }

    /// A batch of these columns without rows.
    pub(crate) fn no_rows(&self) -> RecordBatch {
        RecordBatch::new_empty(self.schema())
    }
}

/// Columns of Python, block by block. The interpreter is held for one block at a time.
struct Blocks {
    columns: Arc<Vec<Column>>,
    schema: SchemaRef,
    next: usize,
    rows: usize,
}

impl Iterator for Blocks {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (first, rows) = (self.next, BLOCK.min(self.rows - self.next));
        if rows == 0 {
            return None;
        }
        self.next += rows;
        let arrays = Python::attach(|py| {
            self.columns.iter().map(|column| column.array(py, first, rows)).collect::<Option<Vec<_>>>()
        });
        let changed = || ArrowError::CDataInterface("an array has changed".to_owned());
        Some(
            arrays
                .ok_or_else(changed)
                .and_then(|arrays| RecordBatch::try_new(Arc::clone(&self.schema), arrays)),
        )
    }
}

impl RecordBatchReader for Blocks {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
