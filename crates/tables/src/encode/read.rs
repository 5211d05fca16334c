//! Encoded records, in batches or all at once.

use std::ops::ControlFlow;
use std::sync::mpsc::{SyncSender, sync_channel};

use super::Encoder;
use crate::caught::caught;
use crate::error::TableError;
use crate::source::{Chunks, Source};
use crate::units::UnitKey;

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
    values: Vec<f64>,
    carried: Vec<Vec<Option<String>>>,
    units: Vec<Option<UnitKey>>,
    read: u64,
}

/// Some encoded records. They are private: there is no way to print them by accident.
#[derive(Clone, Copy)]
pub struct Batch<'a> {
    values: &'a [f64],
    carried: &'a [Vec<Option<String>>],
    units: &'a [Option<UnitKey>],
    width: usize,
    first_row: u64,
}

impl<'a> Batches<'a> {
    pub(super) fn new(encoder: &'a Encoder, source: &'a Source) -> Self {
        let chunks = source.chunks(&encoder.wanted, encoder.rows_at_once());
        Self { encoder, chunks, values: Vec::new(), carried: Vec::new(), units: Vec::new(), read: 0 }
    }

    /// The next records, until there are none.
    ///
    /// # Errors
    /// [`TableError`] if a file cannot be read or lacks a column.
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>, TableError> {
        self.values.clear();
        let Some(chunk) = self.chunks.next_chunk()? else {
            return Ok(None);
        };
        self.encoder.append_chunk(&chunk, &mut self.values);
        self.carried = self.encoder.carried(&chunk);
        self.units = self.encoder.units(&chunk);
        let first_row = self.read;
        self.read += chunk.rows() as u64;
        let (values, carried, units) = (&self.values[..], &self.carried[..], &self.units[..]);
        Ok(Some(Batch { values, carried, units, width: self.encoder.width, first_row }))
    }
}

impl<'a> Batch<'a> {
    /// One slice for each record, as wide as the encoder.
    pub fn rows(self) -> impl ExactSizeIterator<Item = &'a [f64]> {
        self.values.chunks_exact(self.width)
    }

    /// The same, one after the other.
    #[must_use]
    pub fn values(self) -> &'a [f64] {
        self.values
    }

    /// The texts of each [carried](Encoder::carrying) column: one for each record.
    #[must_use]
    pub fn carried(self) -> &'a [Vec<Option<String>>] {
        self.carried
    }

    /// The privacy unit of each record, if the encoder has a [unit column](Encoder::with_unit_of); `None` for a record that is a unit of its own.
    #[must_use]
    pub fn units(self) -> &'a [Option<UnitKey>] {
        self.units
    }

    /// Which record of the source the first row is, from 0.
    #[must_use]
    pub fn first_row(self) -> u64 {
        self.first_row
    }
}

/// Encoded records: those of a whole source, or of a batch. They are private: there is no way to print them by accident.
pub struct Table {
    values: Vec<f64>,
    width: usize,
}

impl Table {
    pub(super) fn new(values: Vec<f64>, width: usize) -> Self {
        Self { values, width }
    }

    pub(super) fn read(encoder: &Encoder, source: &Source) -> Result<Self, TableError> {
        let mut values = Vec::new();
        let mut chunks = Batches::new(encoder, source).chunks;
        while let Some(chunk) = chunks.next_chunk()? {
            encoder.append_chunk(&chunk, &mut values);
        }
        Ok(Self { values, width: encoder.width })
    }

    /// Numbers in a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// One slice for each record.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.width)
    }

    /// All rows, one after the other, as `Records::new` of the wall takes them.
    #[must_use]
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }
}

/// All records of a source, encoded: in memory, or read again whenever they are needed.
pub enum Rows {
    /// In memory.
    Kept(Table),
    /// Too many for that.
    Streamed(Stream),
}

impl Rows {
    /// Nothing if it was to stop.
    pub(super) fn read(
        encoder: &Encoder,
        source: &Source,
        max: usize,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Self>, TableError> {
        let (mut values, mut count) = (Some(Vec::new()), 0);
        let mut batches = Batches::new(encoder, source);
        while let Some(batch) = batches.next_batch()? {
            if stop() {
                return Ok(None);
            }
            count += batch.rows().len();
            values = values.filter(|values| values.len() + batch.values().len() <= max);
            if let Some(values) = &mut values {
                values.extend_from_slice(batch.values());
            }
        }
        let width = encoder.width;
        Ok(Some(match values {
            Some(values) => Self::Kept(Table { values, width }),
            None => Self::Streamed(Stream { encoder: encoder.clone(), source: source.clone(), count }),
        }))
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Kept(table) => table.rows().len(),
            Self::Streamed(stream) => stream.count,
        }
    }

    /// Numbers in a row.
    #[must_use]
    pub fn width(&self) -> usize {
        match self {
            Self::Kept(table) => table.width,
            Self::Streamed(stream) => stream.encoder.width,
        }
    }
}

/// Records that are read again in each pass. They were read once without an error, and the files, or the rows of a reader, must not change
/// from then on.
pub struct Stream {
    encoder: Encoder,
    source: Source,
    count: usize,
}

/// Blocks that are read ahead of the one that is being used.
const AHEAD: usize = 2;

impl Stream {
    /// Calls `each` with all rows, some at a time, from the first to the last, until it returns [`Break`](ControlFlow::Break).
    ///
    /// # Privacy
    /// It does not fail in the middle of a run: what follows a part of a file that cannot be read any more is left out.
    pub fn pass(&self, each: &mut dyn FnMut(&[f64]) -> ControlFlow<()>) {
        let (sender, blocks) = sync_channel(AHEAD);
        std::thread::scope(|scope| {
            scope.spawn(move || caught(|| self.send(&sender)));
            // The sender ends once the receiver is gone, which it is at the end of this scope.
            let blocks = blocks;
            let _ = blocks.iter().try_for_each(|block: Vec<f64>| each(&block));
        });
    }

    /// These rows, given in the order of the file, one after the other. Those that are missing are left out, and so are all after
    /// `stop` returns true, which is called for each block.
    ///
    /// # Privacy
    /// It does not fail, as a [pass](Self::pass) does not.
    #[must_use]
    pub fn some(&self, wanted: &[usize], stop: &mut dyn FnMut() -> bool) -> Vec<f64> {
        let (width, mut first, mut left, mut values) = (self.encoder.width(), 0, wanted, Vec::new());
        self.pass(&mut |block| {
            if stop() {
                return ControlFlow::Break(());
            }
            let end = first + block.len() / width;
            let (here, after) = left.split_at(left.partition_point(|row| *row < end));
            here.iter().for_each(|row| values.extend_from_slice(&block[(row - first) * width..][..width]));
            (first, left) = (end, after);
            if left.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        values
    }

    /// Reads until all is read, the source fails, or the receiver is gone.
    fn send(&self, sender: &SyncSender<Vec<f64>>) {
        let mut chunks = Batches::new(&self.encoder, &self.source).chunks;
        while let Ok(Some(chunk)) = chunks.next_chunk() {
            let mut values = Vec::new();
            self.encoder.append_chunk(&chunk, &mut values);
            if sender.send(values).is_err() {
                return;
            }
        }
    }
}
