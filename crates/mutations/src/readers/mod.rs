//! The readers of untrusted files.

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

/// All readers of untrusted files.
pub const READERS: &[Reader] = &[
    csv::READER,
    parquet::READER,
    schema::READER,
    plan::READER,
    model_file::READER,
    ledger::READER,
    journal::READER,
];
