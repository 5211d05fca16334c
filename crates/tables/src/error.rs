//! Why a table could not be read or written.

use std::io;
use std::path::PathBuf;

use crate::source::Format;

/// Why a table could not be read or written.
///
/// # Privacy
/// There is no error for a value of a record, only for files and their columns. A message names files, columns of the
/// schema and types, never a value, nor the columns of a CSV file, since the first line of one without a header is a
/// record. Attacked by `no_message_contains_a_value` and `no_value_and_no_type_is_an_error`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message describes its variant and fields")]
pub enum TableError {
    #[error("{}: cannot be read ({kind}); hint: check the path and its permissions", file.display())]
    Unreadable { file: PathBuf, kind: io::ErrorKind },
    #[error("{}: cannot be written ({kind}); hint: check that the folder exists and has room", file.display())]
    Unwritable { file: PathBuf, kind: io::ErrorKind },
    #[error("{}: no .csv, .tsv, .csv.gz or .parquet files there; hint: give a file, a folder or a pattern such as 'data/*.parquet'", path.display())]
    NoFiles { path: PathBuf },
    #[error("{}: neither a .csv, .tsv, .csv.gz nor a .parquet file; hint: rename it if it is one", file.display())]
    UnknownFormat { file: PathBuf },
    #[error("{}: tables are written as .csv or .parquet files; hint: choose a name that ends so", file.display())]
    UnwritableFormat { file: PathBuf },
    #[error("{}: holds both CSV and Parquet files; hint: choose one kind with a pattern such as '*.parquet'", path.display())]
    MixedFormats { path: PathBuf },
    #[error("{}: not a readable {format} file; hint: it may be cut short or of another format", file.display())]
    Damaged { file: PathBuf, format: Format },
    #[error("{}: there is no column {column:?}; hint: compare the header with the schema; `Check` finds a wrong delimiter", file.display())]
    NoColumn { file: PathBuf, column: String },
    #[error("{}: there are no columns {}; hint: compare the header with the schema; `Check` finds a wrong delimiter", file.display(), quoted(columns))]
    NoColumns { file: PathBuf, columns: Vec<String> },
    #[error("{}: there are two columns {column:?}; hint: rename one", file.display())]
    TwoColumns { file: PathBuf, column: String },
    #[error(
        "column {column:?}: its private bounds have yet to be estimated; hint: estimate them first, or state `bounds = [low, high]`"
    )]
    NoBounds { column: String },
    #[error(
        "{}: the privacy unit {column:?} is a column of lists, intervals or another type without texts, in which no two rows are the same unit; \
         hint: store one text or number for each row", file.display()
    )]
    NoUnits { file: PathBuf, column: String },
    #[error("{}, column {column:?}: more than {max} different texts; hint: leave it out, or make it a text with a vocabulary", file.display())]
    ManyLevels { file: PathBuf, column: String, max: usize },
    #[error(
        "temporary files cannot be written ({kind}); hint: check that the folder for them, TMPDIR, has room for the records"
    )]
    NoTemporary { kind: io::ErrorKind },
    /// Without the message of the reader, which may contain a value.
    #[error("the reader of record batches failed; hint: read the batches without a fit to see why")]
    Reader,
    #[error("the data set has no column {column:?} for a target; hint: check the spelling")]
    NoTarget { column: String },
    #[error("column {column:?} has no value that can be used; hint: choose another target")]
    NoValues { column: String },
    #[error("{names} columns were announced and {given} were given, or they differ in length")]
    Columns { names: usize, given: usize },
    #[error(transparent)]
    Schema(#[from] crate::schema::SchemaError),
}

/// Names in quotes, with commas between them.
fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}
