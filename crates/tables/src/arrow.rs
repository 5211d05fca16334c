//! The types of Apache Arrow that data sets may be made of.
//!
//! They are those of the crates `arrow-array` and `arrow-schema`, version 59: a program that has these crates can use its own. A program that
//! has another version can hand batches over by Arrow's C data interface, or use [`mod@array`] from here.

pub use arrow_array::{self as array, RecordBatch, RecordBatchReader};
pub use arrow_schema::{self as schema, ArrowError};
