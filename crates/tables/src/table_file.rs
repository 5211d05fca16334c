//! Tables out: record batches as a CSV or Parquet file.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use reticent_files::{Access, AtomicFile};

use crate::error::TableError;

/// Writes record batches to a CSV or Parquet file, whichever its name ends with. The file appears when it is finished.
///
/// Columns are numbers, integers, booleans or texts; a missing value is an empty field of a CSV file.
pub struct TableFile {
    file: AtomicFile,
    path: PathBuf,
    schema: SchemaRef,
    writer: Writer,
}

enum Writer {
    Csv(BufWriter<File>),
    Parquet(Box<ArrowWriter<File>>),
}

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Its owner alone: it depends on private records.
    Owner,
    /// As any other file of the user.
    Anyone,
}

fn unwritable(path: &Path, kind: io::ErrorKind) -> TableError {
    TableError::Unwritable { file: path.to_owned(), kind }
}

impl TableFile {
    /// Begins a file with these columns.
    ///
    /// # Errors
    /// [`TableError`] if the file cannot be written, is of an unknown format, or has two columns of the same name.
    pub fn create(path: impl AsRef<Path>, schema: SchemaRef, readers: Readers) -> Result<Self, TableError> {
        let path = path.as_ref();
        // Other endings that can be read are not written.
        let ending = |ending: &str| path.extension().is_some_and(|found| found.eq_ignore_ascii_case(ending));
        let is_csv = ending("csv");
        if !is_csv && !ending("parquet") {
            return Err(TableError::UnwritableFormat { file: path.to_owned() });
        }
        let mut seen = HashSet::new();
        if let Some(twice) = schema.fields().iter().find(|field| !seen.insert(field.name())) {
            return Err(TableError::TwoColumns { file: path.to_owned(), column: twice.name().clone() });
        }
        let access = match readers {
            Readers::Owner => Access::Owner,
            Readers::Anyone => Access::Umask,
        };
        let file = AtomicFile::create(path, access).map_err(|error| unwritable(path, error.kind()))?;
        let output = file.file().map_err(|error| unwritable(path, error.kind()))?;
        let writer = if is_csv {
            let mut writer = BufWriter::new(output);
            let header: Vec<String> = schema.fields().iter().map(|column| field(column.name())).collect();
            writeln!(writer, "{}", header.join(",")).map_err(|error| unwritable(path, error.kind()))?;
            Writer::Csv(writer)
        } else {
            let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let writer = ArrowWriter::try_new(output, schema.clone(), Some(properties));
            Writer::Parquet(Box::new(writer.map_err(|_| unwritable(path, io::ErrorKind::Other))?))
        };
        Ok(Self { file, path: path.to_owned(), schema, writer })
    }

    /// Appends rows: the values of each column.
    ///
    /// # Errors
    /// [`TableError`] if these are not the columns announced, of one length, or cannot be written.
    pub fn append(&mut self, columns: Vec<ArrayRef>) -> Result<(), TableError> {
        let (names, given) = (self.schema.fields().len(), columns.len());
        let batch = RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(|_| TableError::Columns { names, given })?;
        let written = match &mut self.writer {
            Writer::Csv(writer) => write_lines(writer, &batch).map_err(|error| error.kind()),
            Writer::Parquet(writer) => writer.write(&batch).map_err(|_| io::ErrorKind::Other),
        };
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

/// Numbers as the shortest decimals that they are.
fn write_lines(to: &mut impl Write, batch: &RecordBatch) -> io::Result<()> {
    for row in 0..batch.num_rows() {
        for (k, column) in batch.columns().iter().enumerate() {
            if k > 0 {
                write!(to, ",")?;
            }
            if column.is_null(row) {
                continue;
            }
            match column.data_type() {
                DataType::Float64 => write!(to, "{:?}", column.as_primitive::<Float64Type>().value(row))?,
                DataType::Int64 => write!(to, "{}", column.as_primitive::<Int64Type>().value(row))?,
                DataType::Boolean => write!(to, "{}", column.as_boolean().value(row))?,
                DataType::Utf8 => write!(to, "{}", field(column.as_string::<i32>().value(row)))?,
                other => return Err(io::Error::other(format!("no text of {other}"))),
            }
        }
        writeln!(to)?;
    }
    Ok(())
}
