//! Predictions out, keyed to the records that they are for.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use reticent_files::{Access, AtomicFile};

use crate::error::TableError;

/// The column with the number of the record that a prediction is for, from 0.
const ROW: &str = "row";

/// Writes predictions to a CSV or Parquet file, whichever its name ends with. The file appears when it is finished.
///
/// Predictions for private records are private. The file is readable by its owner alone.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("predictions.csv");
/// use reticent_tables::Predictions;
///
/// let mut predictions = Predictions::create(&path, &["mean", "sd"])?;
/// predictions.append(&[&[1.5, 2.0], &[0.25, 0.5]])?;
/// predictions.finish()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "row,mean,sd\n0,1.5,0.25\n1,2.0,0.5\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Predictions {
    file: AtomicFile,
    path: PathBuf,
    schema: SchemaRef,
    writer: Writer,
    rows: i64,
}

enum Writer {
    Csv(BufWriter<File>),
    Parquet(Box<ArrowWriter<File>>),
}

fn unwritable(path: &Path, kind: io::ErrorKind) -> TableError {
    TableError::Unwritable { file: path.to_owned(), kind }
}

impl Predictions {
    /// Begins a file with these columns beside the row number.
    ///
    /// # Errors
    /// [`TableError`] if the file cannot be written, is of an unknown format, or has two columns of the same name.
    pub fn create(path: impl AsRef<Path>, names: &[&str]) -> Result<Self, TableError> {
        let path = path.as_ref();
        // Other endings that can be read are not written.
        let ending = |ending: &str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending));
        let is_csv = ending("csv");
        if !is_csv && !ending("parquet") {
            return Err(TableError::UnknownFormat { file: path.to_owned() });
        }
        let mut seen = HashSet::from([ROW]);
        if let Some(twice) = names.iter().find(|name| !seen.insert(name)) {
            return Err(TableError::TwoColumns { file: path.to_owned(), column: (*twice).to_owned() });
        }
        let numbers = names.iter().map(|name| Field::new(*name, DataType::Float64, false));
        let fields: Vec<Field> =
            [Field::new(ROW, DataType::Int64, false)].into_iter().chain(numbers).collect();
        let schema = Arc::new(Schema::new(fields));
        let file = AtomicFile::create(path, Access::Owner).map_err(|error| unwritable(path, error.kind()))?;
        let output = file.file().map_err(|error| unwritable(path, error.kind()))?;
        let writer = if is_csv {
            let mut writer = BufWriter::new(output);
            let header: Vec<String> = [ROW].iter().chain(names).map(|name| field(name)).collect();
            writeln!(writer, "{}", header.join(",")).map_err(|error| unwritable(path, error.kind()))?;
            Writer::Csv(writer)
        } else {
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let writer = ArrowWriter::try_new(output, schema.clone(), Some(properties));
            Writer::Parquet(Box::new(writer.map_err(|_| unwritable(path, io::ErrorKind::Other))?))
        };
        Ok(Self { file, path: path.to_owned(), schema, writer, rows: 0 })
    }

    /// Appends predictions for the next records: the values of each column.
    ///
    /// # Errors
    /// [`TableError`] if these are not the columns announced, of one length, or cannot be written.
    pub fn append(&mut self, columns: &[&[f64]]) -> Result<(), TableError> {
        let names = self.schema.fields().len() - 1;
        let rows = columns.first().map_or(0, |column| column.len());
        if columns.len() != names || columns.iter().any(|column| column.len() != rows) {
            return Err(TableError::Columns { names, given: columns.len() });
        }
        let written = match &mut self.writer {
            Writer::Csv(writer) => {
                write_lines(writer, self.rows, rows, columns).map_err(|error| error.kind())
            }
            Writer::Parquet(writer) => {
                let numbers =
                    columns.iter().map(|column| Arc::new(Float64Array::from(column.to_vec())) as ArrayRef);
                let keys =
                    Arc::new(Int64Array::from_iter_values(self.rows..self.rows + rows as i64)) as ArrayRef;
                let arrays = [keys].into_iter().chain(numbers).collect();
                let batch = RecordBatch::try_new(self.schema.clone(), arrays)
                    .expect("the columns are those of the schema");
                writer.write(&batch).map_err(|_| io::ErrorKind::Other)
            }
        };
        self.rows += rows as i64;
        written.map_err(|kind| unwritable(&self.path, kind))
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// [`TableError::Unwritable`]; there is no file then.
    pub fn finish(self) -> Result<(), TableError> {
        match self.writer {
            Writer::Csv(mut writer) => {
                writer.flush().map_err(|error| unwritable(&self.path, error.kind()))?;
            }
            Writer::Parquet(writer) => {
                writer.close().map_err(|_| unwritable(&self.path, io::ErrorKind::Other))?;
            }
        }
        self.file.finish().map(drop).map_err(|error| unwritable(&self.path, error.kind()))
    }
}

/// A text as a field of a line, in quotes if it needs them.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// The shortest decimals that are these numbers.
fn write_lines(to: &mut impl Write, first: i64, rows: usize, columns: &[&[f64]]) -> io::Result<()> {
    for row in 0..rows {
        write!(to, "{}", first + row as i64)?;
        columns.iter().try_for_each(|column| write!(to, ",{:?}", column[row]))?;
        writeln!(to)?;
    }
    Ok(())
}
