//! The rules of the ledger: requests, states of a charge, and the cap.

use std::path::Path;

use reticent_accounting::Event;
use reticent_accounting::filter::Limits;
use rusqlite::Connection;

use crate::Amount;
use crate::account::{self, Account, Charge, DataSet, State};
use crate::amount::{Role, Units};
use crate::cap;
use crate::error::LedgerError;
use crate::rows::{ChargeRow, DataSetRow};
use crate::store::{DbError, Store};
use crate::time::now;

const MAX_ID_LENGTH: usize = 200;

/// The privacy budgets of any number of data sets, in one file that any number of processes share.
///
/// Each change is one transaction that holds the write lock from before its first read, and is on the disk when the
/// method returns. A crash at any moment leaves each charge either in its old or in its new state. Every row is compared
/// with its checksum first: damage is an error and never changes a budget.
///
/// Open one per process, and again after a fork. Keep the file on a local disk. It protects against mistakes, crashes
/// and races, not against its owner: anyone with write access can restore an older copy.
#[derive(Debug)]
pub struct Ledger {
    store: Store,
}

/// A request for budget, made before the first release of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// An upper bound on the cost of all releases of the run.
    pub amount: Amount,
    /// The fingerprint of the schema that the run reads the data with.
    pub schema_fingerprint: String,
    /// The adjacency that `amount` is computed under: `"replace-one"` or `"add/remove"`.
    pub adjacency: String,
    /// What the run is for, in the user's words.
    pub purpose: String,
    /// The planned releases, as one JSON value.
    pub plan_json: String,
    /// The same for the accountant, so that the joint cost of several runs can be computed. None: by basic composition alone.
    pub releases: Option<Releases>,
}

/// All releases of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Releases {
    /// Their accounting event, under the adjacency of the request.
    pub event: Event,
    /// Total variation between their noise and that of the event.
    pub deviation: f64,
}

/// Budget reserved for one run: the right to [start](Ledger::start) it and to [settle](Ledger::settle) it.
///
/// Only [`Ledger::reserve`] creates one, and it cannot be copied, so that only the run itself can lower its charge.
/// Dropping it refunds nothing. A run that keeps its [`Token`] can obtain it again by [`Ledger::find`].
#[derive(Debug)]
#[must_use = "the budget is charged until the reservation is settled or cancelled"]
pub struct Reservation {
    id: i64,
    /// Random, to distinguish reservations of the same number in other files or older copies.
    token: String,
    data_set: String,
    reserved: Amount,
}

/// The secret that identifies a run, before it is charged and whenever it is resumed. Its holder can settle the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Restores a token from its text.
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text to store; secret.
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// The recorded state of a run.
#[derive(Debug)]
pub struct Found {
    /// The right to resume it.
    pub reservation: Reservation,
    /// Current state of its charge.
    pub state: State,
    /// The digest of its newest durable release.
    pub progress: Option<String>,
}

impl Reservation {
    /// Number of the charge, as in the [history](Ledger::history).
    pub fn id(&self) -> i64 {
        self.id
    }

    fn of(row: &ChargeRow, data_set: &str) -> Self {
        let (id, token, data_set) = (row.id, row.token.clone(), data_set.to_owned());
        Self { id, token, data_set, reserved: row.reserved.at_least() }
    }

    /// The data set it is charged to.
    pub fn data_set(&self) -> &str {
        &self.data_set
    }

    /// The requested amount, rounded up to a unit.
    pub fn reserved(&self) -> Amount {
        self.reserved
    }
}

impl Ledger {
    /// Creates a ledger at `path`, without data sets, readable by its owner only.
    ///
    /// # Errors
    /// [`AlreadyExists`](LedgerError::AlreadyExists) if there is anything at `path` other than an empty file, and
    /// [`NotWritable`](LedgerError::NotWritable) if the folder is missing or may not be written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        Ok(Self { store: Store::create(path.as_ref())? })
    }

    /// Opens the ledger at `path`, or creates it if there is none, or if a crash interrupted its creation.
    ///
    /// # Errors
    /// Those of [`create`](Self::create) and [`open`](Self::open).
    pub fn open_or_create(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        let path = path.as_ref();
        match Self::create(path) {
            Err(LedgerError::AlreadyExists { .. }) => Self::open(path),
            made => made,
        }
    }

    /// Opens the ledger at `path` and verifies all of it, in time proportional to its history.
    ///
    /// # Errors
    /// [`Missing`](LedgerError::Missing), [`NotALedger`](LedgerError::NotALedger), [`Format`](LedgerError::Format),
    /// [`Corrupt`](LedgerError::Corrupt) or [`NotWritable`](LedgerError::NotWritable).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        Ok(Self { store: Store::open(path.as_ref())? })
    }

    /// As [`open`](Self::open), but falls back to read-only access if the file or its medium cannot be written. Changes are errors then.
    ///
    /// # Errors
    /// Those of [`open`](Self::open), and [`OldFormat`](LedgerError::OldFormat) if it would have to be converted first.
    pub fn open_to_read(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        Ok(Self { store: Store::open_to_read(path.as_ref())? })
    }

    /// Adds a data set with its budget. Neither can be changed later.
    ///
    /// `schema_fingerprint` identifies the schema and must not depend on the data: the contents of the ledger are not protected.
    ///
    /// # Errors
    /// [`DuplicateDataSet`](LedgerError::DuplicateDataSet) if `id` is taken, even with the same cap.
    pub fn add_data_set(
        &mut self,
        id: &str,
        schema_fingerprint: &str,
        cap: Amount,
        adjacency: &str,
    ) -> Result<(), LedgerError> {
        check_id(id)?;
        cap::adjacency(adjacency)?;
        let cap = Units::read(cap, Role::Cap)?;
        let limits = Limits::of(cap.epsilon, cap.delta).map_err(|source| LedgerError::Releases { source })?;
        self.store.write(|transaction| {
            let same = |other: &DataSet| other.id.eq_ignore_ascii_case(id);
            match account::all_data_sets(transaction)?.into_iter().find(same) {
                Some(other) if other.id == id => {
                    return Err(LedgerError::DuplicateDataSet { id: other.id }.into());
                }
                Some(_) => {
                    let problem = "differs from that of another data set in upper and lower case alone";
                    return Err(LedgerError::InvalidId { given: id.to_owned(), problem }.into());
                }
                None => {}
            }
            let row = DataSetRow {
                key: 0,
                name: id.to_owned(),
                schema_fingerprint: schema_fingerprint.to_owned(),
                adjacency: adjacency.to_owned(),
                limits,
                added_at: now(),
            };
            row.insert(transaction)
        })
    }

    /// Reserves budget for a run, or refuses. Nothing may be released yet.
    ///
    /// # Privacy
    /// Grants the request only if all charges of the data set, this one included, are within the cap by the rule of
    /// [`reticent_accounting::filter`], which holds for any adaptive sequence of runs. The check and the charge are one
    /// transaction. Attacked by `race::eight_processes_never_overspend_one_cap`.
    ///
    /// # Errors
    /// [`Refused`](LedgerError::Refused) with the spent, requested and remaining amounts;
    /// [`SchemaMismatch`](LedgerError::SchemaMismatch) or [`AdjacencyMismatch`](LedgerError::AdjacencyMismatch) if the
    /// request is not about the data set that the cap was set for.
    pub fn reserve(&mut self, data_set: &str, request: &Request) -> Result<Reservation, LedgerError> {
        let token = self.token()?;
        self.reserve_as(&token, None, data_set, request)
    }

    /// A new token for a run, to be stored before the run is reserved so that it can be resumed after a crash.
    ///
    /// # Errors
    /// [`LedgerError`] if SQLite fails.
    pub fn token(&self) -> Result<Token, LedgerError> {
        self.store.random().map(Token)
    }

    /// As [`reserve`](Self::reserve), for a run that has a token and keeps its releases in the file `journal`.
    ///
    /// A run that stores its token first, and calls [`find`](Self::find) after a crash, is charged once, wherever it
    /// crashes.
    ///
    /// # Errors
    /// Those of [`reserve`](Self::reserve).
    pub fn reserve_as(
        &mut self,
        token: &Token,
        journal: Option<&Path>,
        data_set: &str,
        request: &Request,
    ) -> Result<Reservation, LedgerError> {
        cap::adjacency(&request.adjacency)?;
        check_json("plan", &request.plan_json)?;
        let requested = Units::read(request.amount, Role::Request)?;
        self.store.write(|transaction| {
            let set = account::find_data_set(transaction, data_set)?;
            check_subject(&set, request)?;
            let figures = cap::figures(&set, request)?;
            cap::check(transaction, &set, requested, figures)?;
            let now = now();
            let mut row = ChargeRow {
                id: 0,
                token: token.0.clone(),
                data_set: set.key,
                state: State::Reserved,
                reserved: requested,
                charged: requested,
                figures,
                reserved_at: now,
                changed_at: now,
                purpose: request.purpose.clone(),
                plan: request.plan_json.clone(),
                receipt: None,
                journal: journal.map(|path| path.display().to_string()),
                progress: None,
            };
            row.id = row.clone().insert(transaction)?;
            Ok(Reservation::of(&row, data_set))
        })
    }

    /// The run that was reserved with a token, if any.
    ///
    /// # Errors
    /// [`DifferentRun`](LedgerError::DifferentRun) if it was for another data set or plan.
    pub fn find(&self, token: &Token, data_set: &str, plan_json: &str) -> Result<Option<Found>, LedgerError> {
        self.store.read(|transaction| {
            let Some(row) = ChargeRow::with_token(transaction, &token.0)? else { return Ok(None) };
            if row.data_set != account::find_data_set(transaction, data_set)?.key || row.plan != plan_json {
                return Err(LedgerError::DifferentRun { id: row.id }.into());
            }
            let reservation = Reservation::of(&row, data_set);
            Ok(Some(Found { reservation, state: row.state, progress: row.progress }))
        })
    }

    /// The state and the progress digest of the run that was reserved with a token, if any.
    ///
    /// # Errors
    /// [`LedgerError`] if the file cannot be read.
    pub fn look_up(&self, token: &Token) -> Result<Option<(State, Option<String>)>, LedgerError> {
        self.store.read(|transaction| {
            Ok(ChargeRow::with_token(transaction, &token.0)?.map(|row| (row.state, row.progress)))
        })
    }

    pub(crate) fn charge_of(&self, token: &Token) -> Result<Option<(i64, State)>, LedgerError> {
        self.store.read(|transaction| {
            Ok(ChargeRow::with_token(transaction, &token.0)?.map(|row| (row.id, row.state)))
        })
    }

    /// Records that the first release is about to be made. Afterwards the reservation cannot be cancelled.
    ///
    /// # Privacy
    /// Durable when it returns, so a run that waits for it cannot release anything that the ledger does not charge
    /// in full. Attacked by `crash::two_hundred_kills_never_lose_a_charge`.
    ///
    /// # Errors
    /// [`WrongState`](LedgerError::WrongState) if it was started before or was cancelled meanwhile. After any error
    /// nothing may be released.
    pub fn start(&mut self, reservation: &Reservation) -> Result<(), LedgerError> {
        self.start_at(reservation, None)
    }

    /// As [`start`](Self::start), for a run whose journal has this digest, so that it can be resumed from there.
    ///
    /// # Errors
    /// Those of [`start`](Self::start).
    pub fn start_at(&mut self, reservation: &Reservation, progress: Option<&str>) -> Result<(), LedgerError> {
        self.store.write(|transaction| {
            find_own(transaction, reservation, "start", State::Reserved)?.update(transaction, |row| {
                row.state = State::Started;
                row.progress = progress.map(str::to_owned);
                row.changed_at = now();
            })
        })
    }

    /// Records the progress of a started run: the digest of its newest durable release replaces the one that the caller recorded
    /// last.
    ///
    /// # Privacy
    /// A suspended run is charged for all planned releases, so it may make the remaining ones with fresh noise. Two processes
    /// that resumed from one point would make them twice. So nothing that follows from a point may be revealed before the point
    /// is recorded here, and of several processes that resume from one point only the first can record the next one.
    /// Attacked by `only_the_newest_journal_of_a_run_can_be_resumed`.
    ///
    /// # Errors
    /// [`StaleJournal`](LedgerError::StaleJournal) if another digest than `from` is recorded.
    pub fn advance(
        &mut self,
        reservation: &Reservation,
        from: Option<&str>,
        to: &str,
    ) -> Result<(), LedgerError> {
        self.store.write(|transaction| {
            let row = find_own(transaction, reservation, "resume", State::Started)?;
            if row.progress.as_deref() != from {
                return Err(LedgerError::StaleJournal { id: row.id }.into());
            }
            row.update(transaction, |row| {
                row.progress = Some(to.to_owned());
                row.changed_at = now();
            })
        })
    }

    /// Records the end of the releases, and lowers the charge to their actual cost.
    ///
    /// `actual` may be anything up to what was reserved, in each of epsilon and delta. A run that is never settled
    /// stays charged in full.
    ///
    /// # Privacy
    /// When to stop may depend on the releases, so an actual cost below the reserved one must be the sum of the costs of the
    /// releases that were made. The figures of the joint cost stay as they were reserved.
    ///
    /// # Errors
    /// [`AboveReservation`](LedgerError::AboveReservation) if more was spent than reserved;
    /// [`WrongState`](LedgerError::WrongState) if it was not started, or settled before. The charge then stays as it is.
    pub fn settle(
        &mut self,
        reservation: &Reservation,
        actual: Amount,
        receipt_json: &str,
    ) -> Result<(), LedgerError> {
        check_json("receipt", receipt_json)?;
        let spent = Units::read(actual, Role::Actual)?;
        self.store.write(|transaction| {
            let row = find_own(transaction, reservation, "settle", State::Started)?;
            if !spent.fits_in(row.reserved) {
                let (id, reserved) = (reservation.id, row.reserved.at_least());
                return Err(LedgerError::AboveReservation { id, reserved, actual }.into());
            }
            row.update(transaction, |row| {
                (row.state, row.charged, row.changed_at) = (State::Settled, spent, now());
                row.receipt = Some(receipt_json.to_owned());
            })
        })
    }

    /// Cancels and refunds a reservation that was never started.
    ///
    /// It takes the number, so that the reservation of a crashed run can be refunded too. That is safe even if the run
    /// is still alive: its [`start`](Self::start) then fails, and it releases nothing.
    ///
    /// # Errors
    /// [`WrongState`](LedgerError::WrongState) if it was started, since something may have been released.
    pub fn cancel(&mut self, reservation_id: i64) -> Result<(), LedgerError> {
        self.store.write(|transaction| {
            let row = ChargeRow::find(transaction, reservation_id)?
                .ok_or(LedgerError::UnknownReservation { id: reservation_id })?;
            check_state(reservation_id, "cancel", row.state, State::Reserved)?;
            row.update(transaction, |row| {
                (row.state, row.charged, row.changed_at) = (State::Cancelled, Units::default(), now());
            })
        })
    }

    /// All data sets, in the order they were added.
    pub fn data_sets(&self) -> Result<Vec<DataSet>, LedgerError> {
        self.store.read(|transaction| account::all_data_sets(transaction))
    }

    /// The balance of a data set.
    pub fn account(&self, data_set: &str) -> Result<Account, LedgerError> {
        self.store.read(|transaction| account::account(transaction, data_set))
    }

    /// All charges of a data set, cancelled ones included, in the order they were reserved.
    pub fn history(&self, data_set: &str) -> Result<Vec<Charge>, LedgerError> {
        self.store.read(|transaction| account::history(transaction, data_set))
    }
}

/// The charge of `reservation`, if this file made it and it is in the state that `action` needs.
fn find_own(
    connection: &Connection,
    reservation: &Reservation,
    action: &'static str,
    needed: State,
) -> Result<ChargeRow, DbError> {
    let id = reservation.id;
    let row = ChargeRow::find(connection, id)?
        .filter(|row| row.token == reservation.token)
        .ok_or(LedgerError::UnknownReservation { id })?;
    check_state(id, action, row.state, needed)?;
    Ok(row)
}

fn check_state(id: i64, action: &'static str, state: State, needed: State) -> Result<(), LedgerError> {
    if state == needed { Ok(()) } else { Err(LedgerError::WrongState { id, action, state }) }
}

/// The request must have the schema and the adjacency of the cap.
fn check_subject(recorded: &DataSetRow, request: &Request) -> Result<(), LedgerError> {
    if recorded.schema_fingerprint != request.schema_fingerprint {
        return Err(LedgerError::SchemaMismatch {
            data_set: recorded.name.clone(),
            recorded: recorded.schema_fingerprint.clone(),
            given: request.schema_fingerprint.clone(),
        });
    }
    if recorded.adjacency != request.adjacency {
        return Err(LedgerError::AdjacencyMismatch {
            data_set: recorded.name.clone(),
            recorded: recorded.adjacency.clone(),
            given: request.adjacency.clone(),
        });
    }
    Ok(())
}

/// Ids that look the same must be the same, so only ASCII letters are allowed: other scripts have look-alikes. Ids accepted by
/// older versions remain valid.
fn check_id(given: &str) -> Result<(), LedgerError> {
    let allowed = |c: char| c.is_ascii_alphanumeric();
    let problem = if given.is_empty() {
        "is empty"
    } else if given.len() > MAX_ID_LENGTH {
        "is longer than 200 bytes"
    } else if !given.chars().all(|c| allowed(c) || "-_.".contains(c)) {
        "contains something else than letters, digits, '-', '_' and '.'"
    } else if !(given.starts_with(allowed) && given.ends_with(allowed)) {
        "begins or ends with something else than a letter or digit"
    } else {
        return Ok(());
    };
    Err(LedgerError::InvalidId { given: given.to_owned(), problem })
}

/// The error has the position only, not the text: a message may be logged where a plan may not.
fn check_json(what: &'static str, text: &str) -> Result<(), LedgerError> {
    serde_json::from_str::<serde::de::IgnoredAny>(text)
        .map(|_| ())
        .map_err(|error| LedgerError::InvalidJson { what, line: error.line(), column: error.column() })
}
