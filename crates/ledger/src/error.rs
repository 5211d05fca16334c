//! What can go wrong, with enough in it to say what to do next.

use std::fmt;
use std::path::PathBuf;

use crate::{Amount, State};

/// Why the ledger did not do what it was asked.
///
/// Whatever the error, nothing was released on its account: a caller that gets one instead of a [`Reservation`] or of
/// a successful [`start`] must not release. Messages end with a line that says what to do.
///
/// [`Reservation`]: crate::Reservation
/// [`start`]: crate::Ledger::start
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The data set's budget does not cover the request.
    #[error("{0}")]
    Refused(Box<Refusal>),

    /// A number is outside its domain (NaN counts as outside).
    #[error("{name} must be {expected}, but it is {value}\nhint: correct the number and ask again")]
    Amount {
        /// Which number.
        name: &'static str,
        /// The domain, to complete "must be ...".
        expected: &'static str,
        /// What was given.
        value: f64,
    },

    /// An adjacency other than the two the ledger knows.
    #[error("unknown adjacency {given:?}\nhint: use \"replace-one\" or \"add/remove\"")]
    UnknownAdjacency {
        /// What was given.
        given: String,
    },

    /// A data set id that could not be told apart, printed or typed.
    #[error(
        "the data set id {given:?} {problem}\n\
         hint: use letters a to z, digits, and '-', '_' or '.' between them, such as \"trial-2026\""
    )]
    InvalidId {
        /// What was given.
        given: String,
        /// What is wrong with it, to complete "the id ...".
        problem: &'static str,
    },

    /// A plan or receipt that is not JSON.
    #[error("the {what} is not JSON: line {line}, column {column}\nhint: pass one JSON value as text")]
    InvalidJson {
        /// `"plan"` or `"receipt"`.
        what: &'static str,
        /// Where reading stopped.
        line: usize,
        /// Where reading stopped.
        column: usize,
    },

    /// The id is taken.
    #[error(
        "data set {id:?} is already in the ledger\nhint: its cap is fixed; use it as it is, or choose another id"
    )]
    DuplicateDataSet {
        /// The id.
        id: String,
    },

    /// No data set has this id.
    #[error("data set {id:?} is not in the ledger\nhint: check the spelling, or add it with a cap first")]
    UnknownDataSet {
        /// The id.
        id: String,
    },

    /// The request describes a table of another shape than the one the budget was set for.
    #[error(
        "the schema does not belong to data set {data_set:?}: its fingerprint is {given:?}, the ledger has {recorded:?}\n\
         hint: check that the right table and schema were given; a changed schema needs a data set id and cap of its own"
    )]
    SchemaMismatch {
        /// The data set.
        data_set: String,
        /// The fingerprint in the ledger.
        recorded: String,
        /// The fingerprint in the request.
        given: String,
    },

    /// The request measures privacy by another adjacency than the cap, so the two cannot be added.
    #[error(
        "data set {data_set:?} is budgeted under {recorded} adjacency, but the request is under {given}\n\
         hint: run under {recorded} adjacency; costs under different adjacencies do not add up"
    )]
    AdjacencyMismatch {
        /// The data set.
        data_set: String,
        /// The adjacency in the ledger.
        recorded: String,
        /// The adjacency in the request.
        given: String,
    },

    /// This ledger holds no such reservation.
    #[error("reservation {id} is not in this ledger\nhint: use the ledger file that made the reservation")]
    UnknownReservation {
        /// The reservation's number.
        id: i64,
    },

    /// The run that goes on is not the one that was reserved.
    #[error(
        "run {id} in the ledger has another data set or plan\n\
         hint: give the data set, the schema and the options that the run was begun with"
    )]
    OtherRun {
        /// The reservation's number.
        id: i64,
    },

    /// Somebody else has gone on with the run, or its journal is not the newest.
    #[error(
        "run {id} has gone further than this journal\n\
         hint: only the newest journal of a run goes on, in one process at a time; `ledger show` names it"
    )]
    Overtaken {
        /// The reservation's number.
        id: i64,
    },

    /// The reservation is not in a state that allows this.
    #[error("cannot {action} reservation {id}: it is {state}\nhint: {}", state_hint(action, *state))]
    WrongState {
        /// The reservation's number.
        id: i64,
        /// `"start"`, `"settle"` or `"cancel"`.
        action: &'static str,
        /// The state it is in.
        state: State,
    },

    /// More was spent than reserved. The reservation stays charged in full.
    #[error(
        "reservation {id} holds {reserved}, but {actual} is said to be spent\n\
         hint: a run may not release more than it reserved; find out how it could, and record the excess as a new reservation"
    )]
    AboveReservation {
        /// The reservation's number.
        id: i64,
        /// What was reserved.
        reserved: Amount,
        /// What is said to be spent.
        actual: Amount,
    },

    /// No file at the path.
    #[error("there is no ledger at {}\nhint: check the path, or create a ledger there first", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },

    /// Something is already at the path.
    #[error("{} already exists\nhint: open it if it is a ledger, or choose another path", path.display())]
    AlreadyExists {
        /// The path.
        path: PathBuf,
    },

    /// The file is something else.
    #[error("{} is not a ledger: {reason}\nhint: check the path", path.display())]
    NotALedger {
        /// The path.
        path: PathBuf,
        /// How it can be told.
        reason: &'static str,
    },

    /// The ledger was written by a version with another file format.
    #[error(
        "{} has ledger format {found}, and this version reads format {supported}\n\
         hint: use the version of the software that wrote it, or a newer one", path.display()
    )]
    Format {
        /// The path.
        path: PathBuf,
        /// The format of the file.
        found: i64,
        /// The format this version reads and writes.
        supported: i64,
    },

    /// The ledger has the format before this one, and cannot be converted where it is.
    #[error(
        "{} has the older ledger format {found}, and is on a medium that cannot be written\n\
         hint: copy it, with all files whose names begin with its own, to where it can be written, and open it there",
        path.display()
    )]
    Former {
        /// The path.
        path: PathBuf,
        /// The format of the file.
        found: i64,
    },

    /// The file or its folder cannot be written.
    #[error(
        "cannot write {}\n\
         hint: the ledger file and its folder must exist and be writable, since budget is recorded before it is used",
        path.display()
    )]
    NotWritable {
        /// The path.
        path: PathBuf,
    },

    /// The file is damaged, so its sums cannot be trusted.
    #[error(
        "{} is damaged: {detail}\n\
         hint: restore a copy, and count what was released since as spent before using it again", path.display()
    )]
    Corrupt {
        /// The path.
        path: PathBuf,
        /// What was found.
        detail: String,
    },

    /// The file system cannot hold a ledger that several processes share.
    #[error(
        "{} cannot use a rollback journal (journal mode is {mode:?})\n\
         hint: keep the ledger on a local disk, not on a network file system", path.display()
    )]
    NoRollbackJournal {
        /// The path.
        path: PathBuf,
        /// The journal mode that SQLite fell back to.
        mode: String,
    },

    /// Other processes held the ledger for the whole waiting time.
    #[error("{} is in use by other processes\nhint: nothing was changed; try again", path.display())]
    Busy {
        /// The path.
        path: PathBuf,
    },

    /// NoiseTreatment or writing failed for another reason, such as a full disk.
    #[error("cannot use {}: {source}\nhint: check the disk; what is reserved stays reserved", path.display())]
    Storage {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Why a request was refused: what is in the way, and what would fit.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Refusal {
    /// The data set.
    pub data_set: String,
    /// Its cap.
    pub cap: Amount,
    /// Everything charged to it so far, including what is reserved.
    pub spent: Amount,
    /// What was asked for.
    pub requested: Amount,
    /// What would have been granted.
    pub remaining: Amount,
    /// How many reservations count against the cap but were never started, so that they can still be cancelled.
    pub never_started: u64,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { data_set, cap, spent, requested, remaining, never_started } = self;
        writeln!(f, "the privacy budget of data set {data_set:?} does not cover this run")?;
        writeln!(f, "  requested  {requested}")?;
        writeln!(f, "  remaining  {remaining}")?;
        writeln!(f, "  spent      {spent}")?;
        writeln!(f, "  cap        {cap}")?;
        if remaining.epsilon == 0.0 {
            f.write_str(
                "hint: the budget is used up; what is already released can be used again at no cost",
            )?;
        } else if remaining.delta == 0.0 && requested.delta > 0.0 {
            write!(f, "hint: no delta remains; ask for delta 0 and at most epsilon {}", remaining.epsilon)?;
        } else {
            write!(f, "hint: ask for at most {remaining}")?;
        }
        match never_started {
            0 => Ok(()),
            1 => f.write_str("; one reservation was never started and can be cancelled"),
            n => write!(f, "; {n} reservations were never started and can be cancelled"),
        }
    }
}

fn state_hint(action: &str, state: State) -> &'static str {
    match (action, state) {
        ("cancel", State::Cancelled) => "there is nothing left to do",
        ("cancel", _) => {
            "its budget may be spent, so it is never refunded; settle it with what was really spent"
        }
        ("settle", State::Reserved) => {
            "start it before the first release, or cancel it if nothing will be released"
        }
        ("settle", State::Settled) => "a reservation is settled once; the first receipt stands",
        (_, State::Cancelled) => "nothing may be released on it; reserve again",
        _ => "a reservation pays for one run; reserve again for another",
    }
}
