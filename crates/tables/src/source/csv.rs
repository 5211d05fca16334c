//! CSV files. Every field is read as text; the schema says what it means.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_csv::ReaderBuilder;
use arrow_csv::reader::{BufReader as BatchReader, Format as Dialect};
use arrow_schema::{ArrowError, DataType, Field, Schema};

use super::{Declared, Format, Wanted, positions};
use crate::error::TableError;

/// Larger reads than the standard ones are worth a little.
const BUFFER: usize = 1 << 18;

/// Fields that are read at once. The reader makes room for all fields of a batch, wanted or not, and a file may have
/// very many of them.
const FIELDS: usize = 1 << 20;

fn open(file: &Path) -> Result<BufReader<File>, TableError> {
    let unreadable = |error: io::Error| TableError::Unreadable { file: file.to_owned(), kind: error.kind() };
    let mut reader = BufReader::with_capacity(BUFFER, File::open(file).map_err(unreadable)?);
    // The byte order mark that spreadsheets write is not part of the first name.
    if reader.fill_buf().map_err(unreadable)?.starts_with(b"\xef\xbb\xbf") {
        reader.consume(3);
    }
    Ok(reader)
}

/// The names in the header.
fn header(file: &Path) -> Result<Vec<String>, TableError> {
    let (schema, _) = Dialect::default()
        .with_header(true)
        .infer_schema(open(file)?, Some(0))
        .map_err(|error| fault(file, &error))?;
    if schema.fields().is_empty() {
        return Err(TableError::Damaged { file: file.to_owned(), format: Format::Csv });
    }
    Ok(schema.fields().iter().map(|field| field.name().clone()).collect())
}

/// What may be told of an error: a position, never the text, which may quote the file.
fn fault(file: &Path, error: &ArrowError) -> TableError {
    let file = file.to_owned();
    let record = match error {
        ArrowError::IoError(_, error) => return TableError::Unreadable { file, kind: error.kind() },
        ArrowError::CsvError(text) => {
            ["incorrect number of fields for line ", "Encountered invalid UTF-8 data for line "]
                .iter()
                .find_map(|start| text.strip_prefix(start))
                .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok())
        }
        _ => None,
    };
    match record {
        Some(record) => TableError::Record { file, record },
        None => TableError::Damaged { file, format: Format::Csv },
    }
}

pub(super) fn columns(file: &Path) -> Result<Vec<Declared>, TableError> {
    Ok(header(file)?.into_iter().map(|name| Declared { name, found: None }).collect())
}

pub(super) struct Reader {
    batches: BatchReader<BufReader<File>>,
}

impl Reader {
    pub(super) fn open(file: &Path, columns: &[Wanted], rows: usize) -> Result<Self, TableError> {
        let names = header(file)?;
        let wanted = positions(file, &names.iter().map(String::as_str).collect::<Vec<_>>(), columns)?;
        let rows = rows.min(FIELDS / names.len()).max(1);
        let fields: Vec<Field> =
            names.into_iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
        let batches = ReaderBuilder::new(Arc::new(Schema::new(fields)))
            .with_header(true)
            .with_batch_size(rows)
            .with_projection(wanted)
            .build_buffered(open(file)?)
            .map_err(|error| fault(file, &error))?;
        Ok(Self { batches })
    }

    pub(super) fn next_chunk(&mut self, file: &Path) -> Result<Option<(usize, Vec<ArrayRef>)>, TableError> {
        match self.batches.next() {
            None => Ok(None),
            Some(Ok(batch)) => Ok(Some((batch.num_rows(), batch.columns().to_vec()))),
            Some(Err(error)) => Err(fault(file, &error)),
        }
    }
}
