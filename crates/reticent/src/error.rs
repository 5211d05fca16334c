//! Errors: a kind for programs, a sentence and a hint for people.
//!
//! Texts are read by callers of the library, of the command line and of other languages. They name options and functions as this crate does,
//! in backquotes; a program whose users type something else replaces these names.

use std::fmt;
use std::io;
use std::path::Path;

use reticent_core::bounds::BoundsError;
use reticent_core::budget::{self, PrivacyError};
use reticent_core::evaluation::EvaluationError;
use reticent_core::model::ModelError;
use reticent_core::wall::{NoiseError, PlanError, WallError};
use reticent_ledger::LedgerError;
use reticent_tables::{ModelFileError, SchemaError, TableError};

use crate::visible;

/// The kind of an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The budget does not cover the run, or the ledger refuses it.
    Budget,
    /// The schema is invalid, or does not suit this model or data set.
    Schema,
    /// A file of records, a plan, a journal or a saved model cannot be used.
    Data,
    /// The request is invalid: no such model, a setting out of its range, an impossible budget.
    Settings,
    /// The caller cancelled the run.
    Stopped,
    /// Something could not be read or written.
    Io,
}

/// Why something was refused or failed.
///
/// # Privacy
/// Neither the kind nor a text contains a value of a record, or depends on one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: Some(hint.into()) }
    }

    /// An error of another crate, whose text may end with a hint; else this is the hint.
    pub(crate) fn of(kind: ErrorKind, error: &dyn fmt::Display, usual_hint: &str) -> Self {
        let text = error.to_string();
        let (message, hint) = text.split_once("hint: ").unwrap_or((&text, usual_hint));
        Self::new(kind, message.trim_end().trim_end_matches(';'), hint)
    }

    pub(crate) fn settings(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ErrorKind::Settings, message, hint)
    }

    pub(crate) fn data(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ErrorKind::Data, message, hint)
    }

    pub(crate) fn not_written(path: &Path, error: &io::Error) -> Self {
        let message = format!("{} cannot be written: {error}", path.display());
        Self::new(ErrorKind::Io, message, "choose a path that you may write to (`out`)")
    }

    /// The same error with another message or hint.
    pub(crate) fn reworded(self, message: String, hint: Option<String>) -> Self {
        Self { message, hint, ..self }
    }

    pub(crate) fn with_kind(self, kind: ErrorKind) -> Self {
        Self { kind, ..self }
    }

    /// The same error with the file that it is about.
    #[must_use]
    pub fn in_file(self, file: &Path) -> Self {
        Self { message: format!("{}: {}", file.display(), self.message), ..self }
    }

    /// The kind, for programs.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What happened and where, in one sentence.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// One line, and another with the hint. Names from files are part of it, so hidden characters are shown as their numbers.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible::line(&self.message))?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {}", visible::line(hint)))
    }
}

impl std::error::Error for Error {}

const SEE_HELP: &str = "see `Fit` for what each option means";

impl From<TableError> for Error {
    fn from(error: TableError) -> Self {
        let kind = match &error {
            TableError::Unreadable { .. } | TableError::Unwritable { .. } => ErrorKind::Io,
            TableError::Schema(_) | TableError::NoBounds { .. } => ErrorKind::Schema,
            _ => ErrorKind::Data,
        };
        Self::of(kind, &error, "check the file and the schema")
    }
}

impl From<SchemaError> for Error {
    fn from(error: SchemaError) -> Self {
        let kind = match &error {
            SchemaError::Unreadable { .. } => ErrorKind::Io,
            _ => ErrorKind::Schema,
        };
        Self::of(kind, &error, "`Schema::template_for` writes one to fill in")
    }
}

impl From<ModelFileError> for Error {
    fn from(error: ModelFileError) -> Self {
        let kind = match &error {
            ModelFileError::Fault { .. } => ErrorKind::Data,
            _ => ErrorKind::Io,
        };
        Self::of(kind, &error, "give a file that a fit has written")
    }
}

impl From<ModelError> for Error {
    fn from(error: ModelError) -> Self {
        let kind = match &error {
            ModelError::Unknown { .. }
            | ModelError::NoSetting { .. }
            | ModelError::NeedsSetting { .. }
            | ModelError::Setting { .. }
            | ModelError::TooLarge { .. }
            | ModelError::OnlyWithoutPrivacy { .. } => ErrorKind::Settings,
            ModelError::Target { .. } | ModelError::Columns { .. } | ModelError::Words { .. } => {
                ErrorKind::Schema
            }
            ModelError::Wall(error) => kind_of_refusal(error),
            _ => ErrorKind::Data,
        };
        Self::of(kind, &error, SEE_HELP)
    }
}

impl From<WallError> for Error {
    fn from(error: WallError) -> Self {
        Self::of(kind_of_refusal(&error), &error, SEE_HELP)
    }
}

fn kind_of_refusal(error: &WallError) -> ErrorKind {
    match error {
        WallError::OverBudget { .. } | WallError::Ledger(budget::LedgerError::Refused(_)) => {
            ErrorKind::Budget
        }
        WallError::Ledger(_) | WallError::Observer(_) | WallError::Noise(_) => ErrorKind::Io,
        WallError::Stopped => ErrorKind::Stopped,
        _ => ErrorKind::Data,
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        Self::of(ErrorKind::Data, &error, SEE_HELP)
    }
}

impl From<NoiseError> for Error {
    fn from(error: NoiseError) -> Self {
        Self::of(ErrorKind::Io, &error, "the operating system gives no random numbers: check it")
    }
}

impl From<BoundsError> for Error {
    fn from(error: BoundsError) -> Self {
        let kind = match &error {
            BoundsError::Share(_) | BoundsError::NoDelta => ErrorKind::Settings,
            BoundsError::Wall(error) => kind_of_refusal(error),
            _ => ErrorKind::Data,
        };
        Self::of(kind, &error, SEE_HELP)
    }
}

impl From<EvaluationError> for Error {
    fn from(error: EvaluationError) -> Self {
        let kind = match &error {
            EvaluationError::NoModel | EvaluationError::NoDelta | EvaluationError::Target => {
                ErrorKind::Settings
            }
            EvaluationError::Wall(error) => kind_of_refusal(error),
            _ => ErrorKind::Data,
        };
        Self::of(kind, &error, "see `Evaluation` for what each option means")
    }
}

impl From<PrivacyError> for Error {
    fn from(error: PrivacyError) -> Self {
        if let PrivacyError::LargeDelta { delta, records } = error {
            let message = format!("a delta of {delta} could reveal one of {records} records outright");
            let hint = format!(
                "choose one far below {:.1e}, or allow it with `allow_large_delta`",
                1.0 / records as f64
            );
            return Self::settings(message, hint);
        }
        let hint = "epsilon is positive, and delta a small probability such as 1e-5";
        Self::of(ErrorKind::Settings, &error, hint)
    }
}

impl From<LedgerError> for Error {
    fn from(error: LedgerError) -> Self {
        let kind = match &error {
            LedgerError::SchemaMismatch { .. } => ErrorKind::Schema,
            LedgerError::Refused(_)
            | LedgerError::Amount { .. }
            | LedgerError::UnknownAdjacency { .. }
            | LedgerError::InvalidId { .. }
            | LedgerError::DuplicateDataSet { .. }
            | LedgerError::UnknownDataSet { .. }
            | LedgerError::AdjacencyMismatch { .. }
            | LedgerError::UnknownReservation { .. }
            | LedgerError::DifferentRun { .. }
            | LedgerError::StaleJournal { .. }
            | LedgerError::WrongState { .. }
            | LedgerError::AboveReservation { .. } => ErrorKind::Budget,
            _ => ErrorKind::Io,
        };
        Self::of(kind, &error, "check the ledger")
    }
}

impl From<budget::LedgerError> for Error {
    fn from(error: budget::LedgerError) -> Self {
        let kind = match &error {
            budget::LedgerError::Refused(_) => ErrorKind::Budget,
            budget::LedgerError::Failed(_) => ErrorKind::Io,
        };
        Self::of(kind, &error, "check the disk")
    }
}
