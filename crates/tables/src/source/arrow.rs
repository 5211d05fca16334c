//! Record batches of Apache Arrow: in memory, or from readers that are opened anew for each pass.
//!
//! # Stability
//! **One row of a batch is one record.** An added, removed or replaced row adds, removes or replaces one record, at its place, and all others
//! stay what they are. Where one batch ends and the next begins does not matter, nor does the order of columns, which are found by
//! name, nor the type of a column: values are converted one by one, and a dictionary is only a way to store them.
//!
//! What the claim is not about: how the batches were made. A join, a filter or a scale that depends on other rows lets one person change
//! several rows. And each pass must give the same rows.
//!
//! Attacked by `a_row_of_a_batch_is_a_record` and `no_value_and_no_type_is_an_error`.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, FieldRef, Schema};

use super::{Declared, Found, Wanted, typed_positions};
use crate::caught::caught;
use crate::error::TableError;

/// What messages have in place of the name of a file.
pub(crate) const NAME: &str = "record batches";

type Open = dyn Fn() -> Result<Box<dyn RecordBatchReader + Send>, ArrowError> + Send + Sync;

/// Where record batches come from.
#[derive(Clone)]
pub(super) enum Batches {
    Kept(Arc<[RecordBatch]>),
    Opened(Arc<Open>),
}

impl fmt::Debug for Batches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the values: they are private.
        f.write_str("Batches")
    }
}

impl Batches {
    /// The columns of the first batch, or of the reader.
    pub(super) fn columns(&self) -> Result<Vec<Declared>, TableError> {
        let declare = |field: &FieldRef| Declared {
            name: field.name().clone(),
            found: Some(Found::of(field.data_type())),
        };
        let of = |schema: &Schema| schema.fields().iter().map(declare).collect();
        Ok(match self {
            Self::Kept(batches) => batches.first().map(|batch| of(batch.schema_ref())).unwrap_or_default(),
            Self::Opened(open) => of(readable(|| open().map(|reader| reader.schema()))?.as_ref()),
        })
    }
}

/// What a call of a reader gives. The message of its error or panic is dropped: it may contain a value.
fn readable<T>(call: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, TableError> {
    caught(call).and_then(Result::ok).ok_or(TableError::Reader)
}

/// The wanted columns of a batch, in the wanted order.
pub(crate) fn project(batch: &RecordBatch, wanted: &[Wanted]) -> Result<RecordBatch, TableError> {
    let places = typed_positions(Path::new(NAME), batch.schema_ref(), wanted)?;
    batch.project(&places).map_err(|_| TableError::Reader)
}

/// Hands out rows of batches, some at a time.
pub(super) struct Reader {
    batches: Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>,
    /// The batch whose rows before `next` have been handed out.
    batch: RecordBatch,
    next: usize,
    rows: usize,
}

impl Reader {
    pub(super) fn open(from: &Batches, wanted: &[Wanted], rows: usize) -> Result<Self, TableError> {
        let batches: Box<dyn Iterator<Item = _> + Send> = match from {
            Batches::Kept(batches) => {
                let batches = Arc::clone(batches);
                Box::new((0..batches.len()).map(move |k| Ok(batches[k].clone())))
            }
            Batches::Opened(open) => {
                let reader = readable(|| open())?;
                // A column that is missing is an error without any batch too.
                typed_positions(Path::new(NAME), &reader.schema(), wanted)?;
                Box::new(reader)
            }
        };
        Ok(Self { batches, batch: RecordBatch::new_empty(Arc::new(Schema::empty())), next: 0, rows })
    }

    pub(super) fn next_chunk(&mut self, wanted: &[Wanted]) -> Result<Option<RecordBatch>, TableError> {
        while self.next == self.batch.num_rows() {
            let Some(batch) = readable(|| self.batches.next().transpose())? else { return Ok(None) };
            (self.batch, self.next) = (project(&batch, wanted)?, 0);
        }
        let rows = self.rows.min(self.batch.num_rows() - self.next);
        let chunk = self.batch.slice(self.next, rows);
        self.next += rows;
        Ok(Some(chunk))
    }
}
