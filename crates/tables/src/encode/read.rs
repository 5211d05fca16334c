//! Encoded records, in batches or all at once.

use super::Encoder;
use crate::error::TableError;
use crate::source::{Chunks, Format, Source};

/// Numbers in a batch: enough to keep the readers busy, few enough to stay in a cache.
const VALUES: usize = 1 << 17;

/// A source, encoded batch by batch.
///
/// ```no_run
/// # use reticent_tables::{Encoder, Schema, Source};
/// let (schema, source) = (Schema::load("schema.toml")?, Source::open("data/*.parquet")?);
/// let encoder = Encoder::new(&schema)?;
/// let mut batches = encoder.stream(&source);
/// while let Some(batch) = batches.next_batch()? {
///     for row in batch.rows() {
///         assert_eq!(row.len(), encoder.width());
///     }
/// }
/// # Ok::<(), reticent_tables::TableError>(())
/// ```
pub struct Batches<'a> {
    encoder: &'a Encoder,
    chunks: Chunks<'a>,
    format: Format,
    values: Vec<f64>,
    read: u64,
}

/// Some encoded records. They are private: there is no way to print them by accident.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    values: &'a [f64],
    width: usize,
    first_row: u64,
}

impl<'a> Batches<'a> {
    pub(super) fn new(encoder: &'a Encoder, source: &'a Source) -> Self {
        let rows = (VALUES / encoder.width).clamp(64, 8192);
        let chunks = source.chunks(&encoder.wanted, rows);
        Self { encoder, chunks, format: source.format(), values: Vec::new(), read: 0 }
    }

    /// The next records, until there are none.
    ///
    /// # Errors
    /// [`TableError`] if the files are not what the schema says.
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>, TableError> {
        self.values.clear();
        let Some(chunk) = self.chunks.next_chunk()? else {
            return Ok(None);
        };
        self.encoder.encode(&chunk, self.format, &mut self.values)?;
        let first_row = self.read;
        self.read += chunk.rows as u64;
        Ok(Some(Batch { values: &self.values, width: self.encoder.width, first_row }))
    }
}

impl<'a> Batch<'a> {
    /// The rows.
    pub fn rows(self) -> impl ExactSizeIterator<Item = &'a [f64]> {
        self.values.chunks_exact(self.width)
    }

    /// The same, one after the other.
    #[must_use]
    pub fn values(self) -> &'a [f64] {
        self.values
    }

    /// Which record of the source the first row is, from 0.
    #[must_use]
    pub fn first_row(self) -> u64 {
        self.first_row
    }
}

/// All records of a source, encoded. They are private: there is no way to print them by accident.
pub struct Table {
    values: Vec<f64>,
    width: usize,
}

impl Table {
    pub(super) fn read(encoder: &Encoder, source: &Source) -> Result<Self, TableError> {
        let mut values = Vec::new();
        let mut chunks = Batches::new(encoder, source).chunks;
        while let Some(chunk) = chunks.next_chunk()? {
            encoder.encode(&chunk, source.format(), &mut values)?;
        }
        Ok(Self { values, width: encoder.width })
    }

    /// Numbers in a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.width)
    }

    /// All rows, one after the other, as the wall's records want them.
    #[must_use]
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }
}
