//! Why a table could not be read or written.

use std::io;
use std::path::PathBuf;

use crate::source::Format;

/// Why a table could not be read or written.
///
/// # Privacy
/// A message names files, columns and types, never a value of a record. It does not list the columns of a CSV file
/// either, since the first line of one without a header is a record. The position of a fault is given only where the file
/// is no CSV file there; which record has a missing value or an unknown level is not said. That there is one is: such
/// messages are for the person who holds the data. Attacked by `no_message_contains_a_value`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its variant and fields are")]
pub enum TableError {
    #[error("{}: cannot be read ({kind}); hint: check the path and its permissions", file.display())]
    Unreadable { file: PathBuf, kind: io::ErrorKind },
    #[error("{}: cannot be written ({kind}); hint: check that the folder exists and has room", file.display())]
    Unwritable { file: PathBuf, kind: io::ErrorKind },
    #[error("{}: no .csv or .parquet files there; hint: give a file, a folder or a pattern such as 'data/*.parquet'", path.display())]
    NoFiles { path: PathBuf },
    #[error("{}: neither a .csv nor a .parquet file; hint: rename it if it is one", file.display())]
    UnknownFormat { file: PathBuf },
    #[error("{}: holds both CSV and Parquet files; hint: choose one kind with a pattern such as '*.parquet'", path.display())]
    MixedFormats { path: PathBuf },
    #[error("{}: not a readable {format} file; hint: it may be cut short or of another format", file.display())]
    Damaged { file: PathBuf, format: Format },
    #[error(
        "{}: record {record}, counted from the header, has not as many fields as it, or is not UTF-8; hint: check its commas and quotes",
        file.display()
    )]
    Record { file: PathBuf, record: u64 },
    #[error("{}: there is no column {column:?}; hint: check the header and the schema", file.display())]
    NoColumn { file: PathBuf, column: String },
    #[error("{}: there are two columns {column:?}; hint: rename one", file.display())]
    TwoColumns { file: PathBuf, column: String },
    #[error("{}, column {column:?}: expected {expected}, found {found}; hint: correct `kind` in the schema, or the file", file.display())]
    Type { file: PathBuf, column: String, expected: &'static str, found: &'static str },
    #[error("{}, column {column:?}: a value is missing, and the schema has no rule for that; hint: `missing = ...` says what to take instead", file.display())]
    Missing { file: PathBuf, column: String },
    #[error("{}, column {column:?}: a value is none of the levels; hint: list all levels, or say `unknown = \"other\"`", file.display())]
    Unknown { file: PathBuf, column: String },
    #[error(
        "column {column:?}: its bounds have yet to be bought; hint: buy them first, or state `bounds = [low, high]`"
    )]
    NoBounds { column: String },
    #[error("{}, column {column:?}: more than {most} different texts; hint: leave it out, or make it a text with a vocabulary", file.display())]
    ManyLevels { file: PathBuf, column: String, most: usize },
    #[error("the data set has no column {column:?} for a target; hint: check the spelling")]
    NoTarget { column: String },
    #[error("{names} columns were announced and {given} were given, or they differ in length")]
    Columns { names: usize, given: usize },
    #[error(transparent)]
    Schema(#[from] crate::schema::SchemaError),
}
