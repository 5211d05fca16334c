//! Tables in, model files out.
//!
//! - A [`Schema`] states what is publicly known about a table: which columns are used, and the [`Kind`], bounds or levels of
//!   each. It is a TOML file that a person writes, and [valid](Column::new) once it is read.
//! - A [`Source`] is a data set: CSV or Parquet files, a stream, or record batches of Apache [Arrow](arrow). One line of a file, and one row of
//!   a batch, is one record.
//! - An [`Encoder`] turns records into rows of numbers by the schema alone. It has a code for every value. It [encodes](Encoder::encode) a record batch,
//!   streams [`Batches`] of a source, reads a [`Table`], or counts all [`Rows`] and reads them again in passes if they are too many to keep.
//! - [`UnitRows`] have all rows of a privacy unit together, wherever they are in the files, in memory or in an encrypted temporary file.
//! - A [`Check`] counts the values that a schema does not allow, for the curator of the data. It is not private.
//! - [`Predictions`] go to a file, keyed to the records; any other table to a [`TableFile`]. A [`ModelFile`] holds a fitted model: arrays, schema, receipt.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let file = folder.path().join("people.csv");
//! // One age is out of bounds, one work is missing; the third line has a stray quote.
//! std::fs::write(&file, "age,work,income\n40,State,30\n250,,85\n40,\"State,30\n")?;
//!
//! use reticent_tables::{Encoder, Schema, Source};
//! let schema = Schema::parse(r#"
//!     target = { name = "income", kind = "numeric", bounds = [0, 100], unit = "kUSD" }
//!     features = [
//!         { name = "age", kind = "numeric", bounds = [0, 80] },
//!         { name = "work", kind = "categorical", levels = ["Private", "State"], missing = "missing" },
//!     ]
//! "#)?;
//! let table = Encoder::new(&schema)?.read(&Source::open(&file)?)?;
//! let rows: Vec<&[f64]> = table.rows().collect();
//! assert_eq!(rows[0], [0.0, /* Private */ 0.0, /* State */ 1.0, /* missing */ 0.0, /* income */ -0.4]);
//! assert_eq!(rows[1], [1.0, 0.0, 0.0, 1.0, 0.7]);
//! assert_eq!(rows[2][..4], [0.0, 0.0, 0.0, 1.0]); // a record of missing values,
//! assert!(rows[2][4].is_nan()); // which the wall takes for an absent one
//!
//! let units = schema.target_units().expect("income is a number");
//! assert_eq!(units.decode(-0.4), 30.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Privacy
//! Everything here runs before the wall, on the side of the records. One line of a file is one record, as is one row of a batch, and an encoded row is a function of
//! one record and the schema: neighbouring files are neighbouring data sets, and what is known about a row's range is public.
//! Every value and every stored type has a code, so no error depends on a record. Nothing is scaled by the data's own range or deviation, unless
//! these are [assumed](Schema::from_data_assuming_public) to be public, which the schema states. Messages contain no value
//! of a record, and nothing is counted but by a [`Check`].

pub mod arrow;
mod caught;
mod check;
mod check_units;
mod encode;
mod error;
mod model_file;
mod predictions;
mod schema;
mod source;
mod table_file;
mod units;
mod words;

pub use check::{Check, ColumnCheck, FileCheck, Spots};
pub use check_units::UnitCheck;
pub use encode::{Batch, Batches, Encoder, Rows, Stream, Table, Units};
pub use error::TableError;
pub use model_file::{Array, FORMAT_VERSION, Header, ModelFault, ModelFile, ModelFileError};
pub use predictions::Predictions;
pub use schema::{
    Column, ColumnFault, Emphasis, Kind, Missing, Origin, Prior, PrivacyUnit, Scale, Schema, SchemaError,
};
pub use source::{Declared, Delimiter, Format, Found, Layout, Source};
pub use table_file::{Readers, TableFile};
pub use units::{Collector, EachUnits, UnitKey, UnitRows, max_rows};
