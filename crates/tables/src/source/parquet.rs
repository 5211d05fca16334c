//! Parquet files.

use std::fs::File;
use std::path::Path;

use arrow_array::ArrayRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use super::{Declared, Format, Found, arranged, positions};
use crate::error::TableError;

/// What a file declares. The Arrow schema that some writers embed is left aside: the Parquet types say enough, and there
/// is less to go wrong with a damaged file.
fn declared(file: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, TableError> {
    let open = File::open(file)
        .map_err(|error| TableError::Unreadable { file: file.to_owned(), kind: error.kind() })?;
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    ParquetRecordBatchReaderBuilder::try_new_with_options(open, options).map_err(|_| damaged(file))
}

fn damaged(file: &Path) -> TableError {
    TableError::Damaged { file: file.to_owned(), format: Format::Parquet }
}

pub(super) fn columns(file: &Path) -> Result<Vec<Declared>, TableError> {
    let fields = declared(file)?.schema().fields().clone();
    let declare = |field: &arrow_schema::FieldRef| Declared {
        name: field.name().clone(),
        found: Some(Found::of(field.data_type())),
    };
    Ok(fields.iter().map(declare).collect())
}

pub(super) struct Reader {
    batches: ParquetRecordBatchReader,
    /// Where the wanted columns are in a batch, which has them in the order of the file.
    order: Vec<usize>,
}

impl Reader {
    pub(super) fn open(file: &Path, columns: &[String], rows: usize) -> Result<Self, TableError> {
        let builder = declared(file)?;
        let fields = builder.schema().fields().clone();
        let wanted =
            positions(file, &fields.iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), columns)?;
        let order =
            wanted.iter().map(|position| wanted.iter().filter(|other| *other < position).count()).collect();
        let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
        let batches =
            builder.with_projection(mask).with_batch_size(rows).build().map_err(|_| damaged(file))?;
        Ok(Self { batches, order })
    }

    pub(super) fn next_chunk(&mut self, file: &Path) -> Result<Option<(usize, Vec<ArrayRef>)>, TableError> {
        match self.batches.next() {
            None => Ok(None),
            Some(Ok(batch)) => Ok(Some(arranged(&batch, &self.order))),
            Some(Err(_)) => Err(damaged(file)),
        }
    }
}
