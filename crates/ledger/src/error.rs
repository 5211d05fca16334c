//! Errors of the ledger; every message ends with a hint.

use std::fmt;
use std::path::PathBuf;

use crate::{Amount, State};

/// Why an operation of the ledger failed.
///
/// A caller that gets an error instead of a [`Reservation`] or of a successful [`start`] must not release anything. Every
/// message ends with a hint.
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
    #[error("{name} must be {expected}, but it is {value}\nhint: correct the number and try again")]
    Amount {
        /// The number, as it appears in the message.
        name: &'static str,
        /// The domain, to complete "must be ...".
        expected: &'static str,
        /// The rejected number.
        value: f64,
    },

    /// The releases of a request, or a cap, that the accountant has no cost for.
    #[error("the cost of the releases cannot be computed: {source}\nhint: correct the request and try again")]
    Releases {
        /// The error of the accountant.
        source: reticent_accounting::Error,
    },

    /// An adjacency other than `"replace-one"` and `"add/remove"`.
    #[error("unknown adjacency {given:?}\nhint: use \"replace-one\" or \"add/remove\"")]
    UnknownAdjacency {
        /// The rejected text.
        given: String,
    },

    /// A data set id that is ambiguous, or hard to print or to type.
    #[error(
        "the data set id {given:?} {problem}\n\
         hint: use letters a to z, digits, and '-', '_' or '.' between them, such as \"trial-2026\""
    )]
    InvalidId {
        /// The rejected id.
        given: String,
        /// The problem, to complete "the id ...".
        problem: &'static str,
    },

    /// A plan or receipt that is not JSON.
    #[error("the {what} is not JSON: line {line}, column {column}\nhint: pass one JSON value as text")]
    InvalidJson {
        /// `"plan"` or `"receipt"`.
        what: &'static str,
        /// Line of the syntax error, from 1.
        line: usize,
        /// Column of the syntax error, from 1.
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

    /// The schema of the request differs from the one that the budget was set for.
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

    /// The adjacency of the request differs from that of the cap, so their costs cannot be added.
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

    /// This ledger did not make the reservation.
    #[error("reservation {id} is not in this ledger\nhint: use the ledger file that made the reservation")]
    UnknownReservation {
        /// The reservation's number.
        id: i64,
    },

    /// The resumed run is not the one that was reserved.
    #[error(
        "run {id} in the ledger has another data set or plan\n\
         hint: give the data set, the schema and the options that the run was active with"
    )]
    DifferentRun {
        /// The reservation's number.
        id: i64,
    },

    /// Another process has resumed the run, or the journal is not the newest.
    #[error(
        "run {id} has gone further than this journal\n\
         hint: only the newest journal of a run can be resumed, in one process at a time; `ledger show` names it"
    )]
    StaleJournal {
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
        /// Its current state.
        state: State,
    },

    /// More was spent than reserved. The reservation stays charged in full.
    #[error(
        "reservation {id} holds {reserved}, but the run reports {actual} as spent\n\
         hint: a run may not release more than it reserved; find the cause, and record the excess as a new reservation"
    )]
    AboveReservation {
        /// The reservation's number.
        id: i64,
        /// The reserved amount.
        reserved: Amount,
        /// The amount reported as spent.
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

    /// The file is not a ledger.
    #[error("{} is not a ledger: {reason}\nhint: check the path", path.display())]
    NotALedger {
        /// The path.
        path: PathBuf,
        /// The reason, to complete "it is not a ledger: ...".
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

    /// The ledger has the previous format, and cannot be converted on a read-only medium.
    #[error(
        "{} has the older ledger format {found}, and is on a medium that cannot be written\n\
         hint: copy it, with all files whose names begin with its own, to where it can be written, and open it there",
        path.display()
    )]
    OldFormat {
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
        /// The first problem found.
        detail: String,
    },

    /// The file system does not support the locking and journalling of a shared ledger.
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

    /// Other processes held the lock for longer than the timeout.
    #[error("{} is in use by other processes\nhint: nothing was changed; try again", path.display())]
    Busy {
        /// The path.
        path: PathBuf,
    },

    /// Reading or writing failed for another reason, such as a full disk.
    #[error("cannot use {}: {source}\nhint: check the disk; what is reserved stays reserved", path.display())]
    Storage {
        /// The path.
        path: PathBuf,
        /// The error of SQLite or of the operating system.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// A refused request, with the balance of the data set.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Refusal {
    /// The data set.
    pub data_set: String,
    /// The maximum total amount.
    pub cap: Amount,
    /// All charges so far, including reservations: their sum, or their joint cost at the cap's delta.
    pub spent: Amount,
    /// The requested amount.
    pub requested: Amount,
    /// The largest amount that would have been granted; with a joint cost, to a run of one Gaussian release at the requested delta.
    pub remaining: Amount,
    /// Whether the charges count by their joint cost.
    pub joint: bool,
    /// Number of reservations that count against the cap but were never started, so that they can be cancelled.
    pub never_started: u64,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { data_set, cap, spent, requested, remaining, joint, never_started } = self;
        writeln!(f, "the privacy budget of data set {data_set:?} does not cover this run")?;
        writeln!(f, "  requested  {requested}")?;
        writeln!(f, "  remaining  {remaining}")?;
        writeln!(f, "  spent      {spent}")?;
        writeln!(f, "  cap        {cap}")?;
        if remaining.epsilon == 0.0 {
            let what = if *joint { " at this delta" } else { "" };
            write!(
                f,
                "hint: the budget is used up{what}; results that were already released can be reused at no cost"
            )?;
        } else if *joint {
            write!(f, "hint: a run of one Gaussian release fits with at most {remaining}")?;
        } else if remaining.delta == 0.0 && requested.delta > 0.0 {
            write!(f, "hint: no delta remains; request delta 0 and at most epsilon {}", remaining.epsilon)?;
        } else {
            write!(f, "hint: request at most {remaining}")?;
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
            "its budget may be spent, so it is never refunded; settle it with the amount actually spent"
        }
        ("settle", State::Reserved) => {
            "start it before the first release, or cancel it if nothing will be released"
        }
        ("settle", State::Settled) => "a reservation is settled once; the first receipt is final",
        (_, State::Cancelled) => "nothing may be released on it; reserve again",
        _ => "a reservation pays for one run; reserve again for another",
    }
}
