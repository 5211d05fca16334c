//! Parquet files.

use std::fs::File;
use std::path::Path;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::FieldRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use super::{Declared, Format, Found, positions};
use crate::caught::caught;
use crate::error::TableError;

/// What a file declares. The Arrow schema that some writers embed is left aside: the Parquet types say enough, and there
/// is less to go wrong with a damaged file.
fn declared(file: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, TableError> {
    let open = File::open(file)
        .map_err(|error| TableError::Unreadable { file: file.to_owned(), kind: error.kind() })?;
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    undamaged(file, || ParquetRecordBatchReaderBuilder::try_new_with_options(open, options))
}

/// What a call of the reader gives, without its message or panic if it fails: these may quote the file.
fn undamaged<T, E>(file: &Path, call: impl FnOnce() -> Result<T, E>) -> Result<T, TableError> {
    match caught(call) {
        Some(Ok(result)) => Ok(result),
        Some(Err(_)) | None => Err(TableError::Damaged { file: file.to_owned(), format: Format::Parquet }),
    }
}

pub(super) fn columns(file: &Path) -> Result<Vec<Declared>, TableError> {
    let fields = declared(file)?.schema().fields().clone();
    let declare =
        |field: &FieldRef| Declared { name: field.name().clone(), found: Some(Found::of(field.data_type())) };
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
        let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        let wanted = positions(file, &names, columns)?;
        let mut sorted = wanted.clone();
        sorted.sort_unstable();
        let order = wanted.iter().map(|position| sorted.partition_point(|other| other < position)).collect();
        let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
        let batches = undamaged(file, || builder.with_projection(mask).with_batch_size(rows).build())?;
        Ok(Self { batches, order })
    }

    pub(super) fn next_chunk(&mut self, file: &Path) -> Result<Option<(usize, Vec<ArrayRef>)>, TableError> {
        let batch = undamaged(file, || self.batches.next().transpose())?;
        let arranged = |batch: &RecordBatch| self.order.iter().map(|&k| batch.column(k).clone()).collect();
        Ok(batch.map(|batch| (batch.num_rows(), arranged(&batch))))
    }
}
