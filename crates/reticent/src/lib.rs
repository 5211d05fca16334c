//! Bayesian posteriors that may be published: fits under differential privacy, with a receipt and a durable budget.
//!
//! - A [`Schema`] states what is publicly known about a table: its columns, their bounds and levels.
//! - A [`Fit`] is a model, a schema and a [`Privacy`] budget. It can be [planned](Fit::planned), which gives a [`Plan`] of what it would
//!   release, cost and achieve, without a look at a record; and [run](Fit::run) on a [data set](Data).
//! - What comes out may be published: a [`Posterior`], and a [`Receipt`] that states what was spent, on what, and under which assumptions.
//!   Both are parts of a [`SavedModel`], which [summarises](SavedModel::summary) its parameters in the units of the schema, draws and
//!   predicts.
//! - A [`Ledger`] is a file with the budgets of data sets; a [`Session`] is a ledger and one of its data sets. A fit that is
//!   charged to one reserves its whole cost before the first release, and is refused if too little is left.
//! - An [`Error`] has a [kind](ErrorKind), a sentence and a hint.
//!
//! ```
//! use reticent::{Adjacency, Fit, Privacy, Schema};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = |name: &str| folder.path().join(name);
//! // A simulated ward: nobody is in it.
//! let rows: String = (0..2000).map(|n| format!("{},{}\n", 20 + n % 60, n % 60 > 30)).collect();
//! std::fs::write(path("patients.csv"), format!("age,stays\n{rows}")).unwrap();
//!
//! let schema = Schema::parse(r#"
//!     target = { name = "stays", kind = "boolean" }
//!     features = [{ name = "age", kind = "numeric", bounds = [18, 95], unit = "years" }]
//! "#)?;
//! let fit = Fit::new("logistic", &schema)?
//!     .privacy(Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne)?)
//!     .run(path("patients.csv"))?;
//! println!("{}", fit.receipt());
//! fit.save(path("model.reticent"))?;
//! # Ok::<(), reticent::Error>(())
//! ```
//!
//! # Privacy
//! The guarantee of a fit is that of its receipt: everything that depends on records was released through the wall of
//! [`reticent_core`], after the charge. No error, message or file beside the receipt depends on the value of a record. Test scores are the
//! exception, and marked: they are exact statistics of the test records.
//!
//! # Beyond this crate
//! The wall, the models and the engines are in [`reticent_core`], for those who write queries or models of their own; what releases cost is in
//! [`reticent_accounting`].

mod bounds;
mod cancel;
mod card;
mod charge;
mod codebook;
mod custom;
mod data;
mod day;
mod draws;
mod effects;
mod error;
mod evaluate;
mod fit;
mod fitted;
mod forecast;
mod guarded;
mod holdout;
mod joined;
mod journal;
mod memory;
mod plan;
mod predict;
mod residuals;
mod resume;
mod same_records;
mod saved;
mod scores;
mod session;
mod settings;
mod simulate;
mod typical;
mod typical_records;
mod variables;
pub mod visible;

pub use bounds::DEFAULT_BOUNDS_SHARE;
pub use cancel::Cancel;
pub use card::{Asked, Card, HeldOut, PublicTest};
pub use custom::{Contributions, Custom, CustomRun};
pub use data::Data;
pub use day::Day;
pub use effects::{Effect, EffectPoint, EffectScale, Effects};
pub use error::{Error, ErrorKind};
pub use evaluate::{Evaluation, PrivateEvaluation, compare};
pub use fit::Fit;
pub use fitted::Fitted;
pub use forecast::{ExpectedWidth, Forecast};
pub use guarded::silence_caught_panics;
pub use holdout::{Holdout, holdout_beside};
pub use memory::default_memory;
pub use plan::Plan;
pub use residuals::{ResidualBin, ResidualCheck};
pub use saved::SavedModel;
pub use scores::{PUBLIC_NOTE, SCORES_NOTE, load_with_scores, scores_beside};
pub use session::{Session, privacy_unit_of};
pub use settings::parse_setting;
pub use typical::{TypicalEffect, TypicalEffects, records_interval};
pub use variables::{Grid, grid, variables};

pub use reticent_accounting as accounting;
pub use reticent_core::budget::{Adjacency, Cost, Guarantee, NotPrivate, Privacy};
pub use reticent_core::evaluation::{
    CalibrationPoint, Compared, ComparedModel, Difference, Evaluated, EvaluatedModel, Figure,
};
pub use reticent_core::model::{
    Calibration, Code, Codebook, CodedColumn, Contrast, Declaration, Draws, Estimate, Link, Model,
    Parameters, Posterior, Predicted, Reference, Release, Score, Setting, SettingKind, SettingValue, Summary,
    Target, Variances, model, models,
};
pub use reticent_core::observer::Step;
pub use reticent_core::receipt::{Entry, Receipt};
pub use reticent_ledger::{
    Account, Amount, Charge, Composition, DataSet, Ledger, LedgerError, State, Unfinished,
};
pub use reticent_tables::arrow;
pub use reticent_tables::{
    Check, Column, ColumnCheck, Delimiter, Emphasis, Format, Header, Kind, Layout, ModelFile, Origin,
    PrivacyUnit, Scale, Schema, SchemaError, Source, Spots, TableError, UnitCheck, Units,
};

/// Compiles the example of the README of this crate, which is also that of the project's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
