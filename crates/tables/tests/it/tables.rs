//! Tables that the tests write.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use reticent_tables::{Encoder, Schema, Source, TableError};
use tempfile::TempDir;

/// A folder that is gone after the test.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("there is room for a folder")
}

pub(crate) fn write_csv(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let file = folder.path().join(name);
    std::fs::write(&file, text).expect("the folder can be written");
    file
}

pub(crate) fn write_parquet(folder: &TempDir, name: &str, columns: Vec<(&str, ArrayRef)>) -> PathBuf {
    write_compressed(folder, name, columns, Compression::SNAPPY)
}

pub(crate) fn write_compressed(
    folder: &TempDir,
    name: &str,
    columns: Vec<(&str, ArrayRef)>,
    compression: Compression,
) -> PathBuf {
    let file = folder.path().join(name);
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .expect("the columns have one length");
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = ArrowWriter::try_new(
        File::create(&file).expect("the folder can be written"),
        batch.schema(),
        Some(properties),
    )
    .expect("these types can be written");
    writer.write(&batch).expect("the batch can be written");
    writer.close().expect("the file can be closed");
    file
}

/// An array as a column.
pub(crate) fn array<A: arrow_array::Array + 'static>(array: A) -> ArrayRef {
    Arc::new(array)
}

/// The encoded rows of a file.
pub(crate) fn rows(schema: &Schema, path: &Path) -> Result<Vec<Vec<f64>>, TableError> {
    let table = Encoder::new(schema)?.read(&Source::open(path)?)?;
    Ok(table.rows().map(<[f64]>::to_vec).collect())
}
