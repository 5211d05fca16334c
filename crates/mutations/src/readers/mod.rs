//! The readers.

mod csv;
mod data;
mod journal;
mod ledger;
mod model_file;
mod parquet;
mod plan;
mod schema;
mod subjects;

use crate::Reader;

/// Every reader of files that somebody else may have written, damaged or edited.
pub const READERS: &[Reader] = &[
    csv::READER,
    parquet::READER,
    schema::READER,
    plan::READER,
    model_file::READER,
    ledger::READER,
    journal::READER,
];
