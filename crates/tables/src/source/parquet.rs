//! Parquet files.
//!
//! A row is a record, and whatever type a column has, its values are read one by one: no value makes the reader fail. Texts
//! are read as bytes, since one that is not UTF-8 is a missing value, and columns of lists and other nested types are
//! not read at all. What fails is a file that is damaged.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, NullArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Type as PhysicalType;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataBuilder};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use super::{Declared, Format, Found, Wanted, typed_positions};
use crate::caught::caught;
use crate::error::TableError;

/// An open file and what it declares. The Arrow schema that some writers embed is left aside: the Parquet types are
/// enough, and there is less to go wrong with a damaged file.
fn declared(file: &Path) -> Result<(File, ArrowReaderMetadata), TableError> {
    let open = File::open(file)
        .map_err(|error| TableError::Unreadable { file: file.to_owned(), kind: error.kind() })?;
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = undamaged(file, || ArrowReaderMetadata::load(&open, options))?;
    Ok((open, metadata))
}

/// The same metadata with bytes for texts, and with dictionaries of bytes for these columns of them.
fn with_bytes(metadata: &ArrowReaderMetadata, few: &[usize]) -> ParquetResult<ArrowReaderMetadata> {
    let is_text: Vec<bool> =
        metadata.schema().fields().iter().map(|field| field.data_type() == &DataType::Utf8).collect();
    let bytes = Arc::new(without_texts(metadata.metadata(), &is_text)?);
    let plain = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let plain = ArrowReaderMetadata::try_new(Arc::clone(&bytes), plain)?;
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeBinary));
    let typed = |(position, field): (usize, &FieldRef)| match field.data_type() {
        DataType::Binary if few.contains(&position) => {
            Arc::new(field.as_ref().clone().with_data_type(dictionary.clone()))
        }
        // With offsets of 64 bits no length of a text is too much.
        DataType::Binary => Arc::new(field.as_ref().clone().with_data_type(DataType::LargeBinary)),
        _ => Arc::clone(field),
    };
    let fields: Vec<FieldRef> = plain.schema().fields().iter().enumerate().map(typed).collect();
    let options = ArrowReaderOptions::new().with_schema(Arc::new(Schema::new(fields)));
    ArrowReaderMetadata::try_new(bytes, options)
}

/// The same metadata without the mark that makes texts of these columns' bytes: the reader refuses a file with a
/// text that is not UTF-8, whatever the others are.
fn without_texts(metadata: &ParquetMetaData, is_text: &[bool]) -> ParquetResult<ParquetMetaData> {
    let file = metadata.file_metadata();
    let root = file.schema_descr().root_schema();
    let unmarked = |(column, is_text): (&TypePtr, &bool)| {
        if !is_text {
            return Ok(Arc::clone(column));
        }
        let builder = Type::primitive_type_builder(column.name(), PhysicalType::BYTE_ARRAY);
        builder.with_repetition(column.get_basic_info().repetition()).build().map(Arc::new)
    };
    let columns = root.get_fields().iter().zip(is_text).map(unmarked).collect::<ParquetResult<Vec<_>>>()?;
    let root = Type::group_type_builder(root.name()).with_fields(columns).build()?;
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        None,
        None,
        Arc::new(SchemaDescriptor::new(Arc::new(root))),
        None,
    );
    Ok(ParquetMetaDataBuilder::new(file).set_row_groups(metadata.row_groups().to_vec()).build())
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
    /// Wanted columns of nested types, which are not read: their values are missing.
    nested: Vec<FieldRef>,
    /// Where the wanted columns are in a batch, which has them in the order of the file, followed by the nested ones.
    order: Vec<usize>,
}

impl Reader {
    pub(super) fn open(file: &Path, columns: &[Wanted], rows: usize) -> Result<Self, TableError> {
        let (open, metadata) = declared(file)?;
        let wanted = typed_positions(file, metadata.schema(), columns)?;
        let few = wanted.iter().zip(columns).filter(|(_, column)| column.few).map(|(&position, _)| position);
        let metadata = undamaged(file, || with_bytes(&metadata, &few.collect::<Vec<_>>()))?;
        let is_nested = |&position: &usize| metadata.schema().field(position).data_type().is_nested();
        let (unread, mut read): (Vec<usize>, Vec<usize>) =
            wanted.iter().partition(|&position| is_nested(position));
        read.sort_unstable();
        let places: HashMap<usize, usize> = read.iter().chain(&unread).copied().zip(0..).collect();
        let order = wanted.iter().map(|position| places[position]).collect();
        let missing = |&position: &usize| {
            Arc::new(Field::new(metadata.schema().field(position).name(), DataType::Null, true))
        };
        let nested = unread.iter().map(missing).collect();
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(open, metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), read);
        let batches = undamaged(file, || builder.with_projection(mask).with_batch_size(rows).build())?;
        Ok(Self { batches, nested, order })
    }

    pub(super) fn next_chunk(&mut self, file: &Path) -> Result<Option<RecordBatch>, TableError> {
        let batch = undamaged(file, || self.batches.next().transpose())?;
        batch.map(|batch| undamaged(file, || self.arranged(batch))).transpose()
    }

    /// All wanted columns, in the wanted order.
    fn arranged(&self, mut batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
        if !self.nested.is_empty() {
            let rows = batch.num_rows();
            let missing = self.nested.iter().map(|_| Arc::new(NullArray::new(rows)) as ArrayRef);
            let columns = batch.columns().iter().cloned().chain(missing).collect();
            let fields: Vec<FieldRef> =
                batch.schema_ref().fields().iter().chain(&self.nested).cloned().collect();
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?;
        }
        batch.project(&self.order)
    }
}
