//! Parquet files.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, FieldRef, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use super::{Declared, Format, Found, Wanted, positions};
use crate::caught::caught;
use crate::error::TableError;

/// An open file and what it declares. The Arrow schema that some writers embed is left aside: the Parquet types say
/// enough, and there is less to go wrong with a damaged file.
fn declared(file: &Path) -> Result<(File, ArrowReaderMetadata), TableError> {
    let open = File::open(file)
        .map_err(|error| TableError::Unreadable { file: file.to_owned(), kind: error.kind() })?;
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = undamaged(file, || ArrowReaderMetadata::load(&open, options))?;
    Ok((open, metadata))
}

/// The same, with these columns as dictionaries where they are texts.
fn with_dictionaries(
    metadata: &ArrowReaderMetadata,
    few: &[usize],
) -> parquet::errors::Result<ArrowReaderMetadata> {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let mut fields: Vec<FieldRef> = metadata.schema().fields().iter().cloned().collect();
    for &position in few {
        if fields[position].data_type() == &DataType::Utf8 {
            fields[position] = Arc::new(fields[position].as_ref().clone().with_data_type(dictionary.clone()));
        }
    }
    let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(fields)));
    ArrowReaderMetadata::try_new(metadata.metadata().clone(), options)
}

/// What a call of the reader gives, without its message or panic if it fails: these may quote the file.
fn undamaged<T, E>(file: &Path, call: impl FnOnce() -> Result<T, E>) -> Result<T, TableError> {
    match caught(call) {
        Some(Ok(result)) => Ok(result),
        Some(Err(_)) | None => Err(TableError::Damaged { file: file.to_owned(), format: Format::Parquet }),
    }
}

pub(super) fn columns(file: &Path) -> Result<Vec<Declared>, TableError> {
    let (_, metadata) = declared(file)?;
    let declare =
        |field: &FieldRef| Declared { name: field.name().clone(), found: Some(Found::of(field.data_type())) };
    Ok(metadata.schema().fields().iter().map(declare).collect())
}

pub(super) struct Reader {
    batches: ParquetRecordBatchReader,
    /// Where the wanted columns are in a batch, which has them in the order of the file.
    order: Vec<usize>,
}

impl Reader {
    pub(super) fn open(file: &Path, columns: &[Wanted], rows: usize) -> Result<Self, TableError> {
        let (open, metadata) = declared(file)?;
        let names: Vec<&str> = metadata.schema().fields().iter().map(|field| field.name().as_str()).collect();
        let wanted = positions(file, &names, columns)?;
        let few = wanted.iter().zip(columns).filter(|(_, column)| column.few).map(|(&position, _)| position);
        let metadata = undamaged(file, || with_dictionaries(&metadata, &few.collect::<Vec<_>>()))?;
        let mut sorted = wanted.clone();
        sorted.sort_unstable();
        let order = wanted.iter().map(|position| sorted.partition_point(|other| other < position)).collect();
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(open, metadata);
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
