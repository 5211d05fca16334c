//! The readers.

mod csv;
mod data;
mod ledger;
mod parquet;
mod plan;
mod schema;
mod subjects;

use crate::Reader;

/// Every reader of files that somebody else may have written, damaged or edited.
pub const READERS: &[Reader] = &[csv::READER, parquet::READER, schema::READER, plan::READER, ledger::READER];
