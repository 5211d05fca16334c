//! Tables in, model files out.
//!
//! - A [`Schema`] says what is publicly known about a table: which columns are used, and the [`Kind`], bounds or levels of
//!   each. It is a TOML file that a person writes, and [valid](Column::new) once it is read.
//! - A [`Source`] is a data set: CSV or Parquet files, read in batches.
//! - An [`Encoder`] turns records into rows of numbers by the schema alone. It streams [`Batches`], reads a [`Table`], or checks
//!   all [`Rows`] and reads them again in passes if they are too many to keep.
//! - [`Predictions`] go to a file, keyed to the records. A [`ModelFile`] holds a fitted model: arrays, schema, receipt.
//!
//! ```
//! # let folder = tempfile::tempdir()?;
//! # let file = folder.path().join("people.csv");
//! std::fs::write(&file, "age,work,income\n40,State,30\n250,,85\n")?; // one age is out of bounds, one work is missing
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
//!
//! let units = schema.target_units().expect("income is a number");
//! assert_eq!(units.decode(-0.4), 30.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Privacy
//! Everything here runs before the wall, on the side of the records. Rows are functions of one record and the schema, so
//! what is known about a row's range is public. Nothing is scaled by the data's own range or deviation, unless someone
//! [assumes](Schema::from_data_assuming_public) these to be public, and then the schema says so. Messages contain no value
//! of a record, and nothing is counted.

mod atomic;
mod caught;
mod encode;
mod error;
mod model_file;
mod predictions;
mod schema;
mod source;
mod words;

pub use encode::{Batch, Batches, Encoder, Rows, Stream, Table, Units};
pub use error::TableError;
pub use model_file::{Array, FORMAT_VERSION, Header, ModelFault, ModelFile, ModelFileError, write_whole};
pub use predictions::Predictions;
pub use schema::{Column, ColumnFault, Kind, Origin, Scale, Schema, SchemaError};
pub use source::{Declared, Format, Found, Source};
