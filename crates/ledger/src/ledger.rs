//! The rules: who may spend what, and in which order.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use crate::Amount;
use crate::account::{self, Account, Charge, DataSet, DataSetRow, State};
use crate::amount::{Role, Units};
use crate::error::{LedgerError, Refusal};
use crate::store::{Stop, Store};
use crate::time::now;

const ADJACENCIES: [&str; 2] = ["replace-one", "add/remove"];
const MAX_ID_LENGTH: usize = 200;

/// The privacy budgets of any number of data sets, in one file that any number of processes share.
///
/// Each change is one transaction that holds the write lock from before its first read, and is on the disk when the
/// method returns. A process that dies at any moment leaves each charge either as it was or as it was to become.
///
/// Open one per process, and again after a fork. Keep the file on a local disk. It guards against mistakes, crashes
/// and races, not against its owner: whoever can write the file can put back an older copy of it.
#[derive(Debug)]
pub struct Ledger {
    store: Store,
}

/// What a run asks for before its first release.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// An upper bound on what the whole run may cost.
    pub amount: Amount,
    /// The fingerprint of the schema that the run reads the data with.
    pub schema_fingerprint: String,
    /// The adjacency that `amount` is computed under: `"replace-one"` or `"add/remove"`.
    pub adjacency: String,
    /// What the run is for, in the user's words.
    pub purpose: String,
    /// What the run sets out to release, as one JSON value.
    pub plan_json: String,
}

/// Budget set aside for one run: the right to [start](Ledger::start) it and to [settle](Ledger::settle) it.
///
/// Only [`Ledger::reserve`] makes one, and it cannot be copied, so that nobody but the run itself can lower its charge.
/// Dropping it gives nothing back.
#[derive(Debug)]
#[must_use = "the budget is charged until the reservation is settled or cancelled"]
pub struct Reservation {
    id: i64,
    /// Random, so that a reservation never passes for one of the same number in another file or an older copy.
    token: String,
    data_set: String,
    reserved: Amount,
}

impl Reservation {
    /// Its number in the ledger, as in the [history](Ledger::history).
    pub fn id(&self) -> i64 {
        self.id
    }

    /// What [`Ledger::resume`] wants to see. Whoever has it can settle the run.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The data set it is charged to.
    pub fn data_set(&self) -> &str {
        &self.data_set
    }

    /// What is set aside: the amount that was requested, rounded up to whole units.
    pub fn reserved(&self) -> Amount {
        self.reserved
    }
}

impl Ledger {
    /// Makes a new ledger at `path`, without data sets.
    ///
    /// # Errors
    /// [`AlreadyExists`](LedgerError::AlreadyExists) if there is anything at `path` other than an empty file, and
    /// [`NotWritable`](LedgerError::NotWritable) if the folder is missing or may not be written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        Ok(Self { store: Store::create(path.as_ref())? })
    }

    /// Opens the ledger at `path` and checks all of it, which takes time in proportion to its history.
    ///
    /// # Errors
    /// [`Missing`](LedgerError::Missing), [`NotALedger`](LedgerError::NotALedger), [`Format`](LedgerError::Format),
    /// [`Corrupt`](LedgerError::Corrupt) or [`NotWritable`](LedgerError::NotWritable).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, LedgerError> {
        Ok(Self { store: Store::open(path.as_ref())? })
    }

    /// Gives a data set its budget. None of it can be changed later.
    ///
    /// `schema_fingerprint` identifies the schema and must not depend on the data: the ledger is not private.
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
        check_adjacency(adjacency)?;
        let cap = Units::read(cap, Role::Cap)?;
        self.store.write(|transaction| {
            let added = transaction.execute(
                "INSERT INTO data_set (name, schema_fingerprint, adjacency, cap_epsilon, cap_delta, added_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (name) DO NOTHING",
                params![id, schema_fingerprint, adjacency, cap.epsilon, cap.delta, now()],
            )?;
            if added == 0 {
                return Err(LedgerError::DuplicateDataSet { id: id.to_owned() }.into());
            }
            Ok(())
        })
    }

    /// Sets budget aside for a run, or refuses. Nothing may be released yet.
    ///
    /// # Privacy
    /// Grants the request only if the sum of all charges of the data set, this one included, is within the cap in both
    /// epsilon and delta (basic composition, which holds for any adaptive sequence of runs). The check and the
    /// charge are one transaction. Attacked by `race::eight_processes_never_overspend_one_cap`.
    ///
    /// # Errors
    /// [`Refused`](LedgerError::Refused) with spent, requested and remaining;
    /// [`SchemaMismatch`](LedgerError::SchemaMismatch) or [`AdjacencyMismatch`](LedgerError::AdjacencyMismatch) if the
    /// request is not about the data set that the cap was set for.
    pub fn reserve(&mut self, data_set: &str, request: &Request) -> Result<Reservation, LedgerError> {
        check_adjacency(&request.adjacency)?;
        check_json("plan", &request.plan_json)?;
        let requested = Units::read(request.amount, Role::Request)?;
        self.store.write(|transaction| {
            let row = account::find_data_set(transaction, data_set)?;
            check_subject(&row.data_set, request)?;
            check_cap(transaction, &row, requested)?;
            let (id, token) = transaction.query_row(
                "INSERT INTO charge (token, data_set, state, reserved_epsilon, reserved_delta,
                    charged_epsilon, charged_delta, reserved_at, changed_at, purpose, plan)
                 VALUES (lower(hex(randomblob(16))), ?1, 'reserved', ?2, ?3, ?2, ?3, ?4, ?4, ?5, ?6)
                 RETURNING id, token",
                params![
                    row.key,
                    requested.epsilon,
                    requested.delta,
                    now(),
                    request.purpose,
                    request.plan_json
                ],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            Ok(Reservation { id, token, data_set: data_set.to_owned(), reserved: requested.at_least() })
        })
    }

    /// Records that releases are about to begin. From here on the reservation cannot be cancelled.
    ///
    /// # Privacy
    /// On the disk when it returns, so a run that waits for it cannot release anything that the ledger does not charge
    /// in full. Attacked by `crash::two_hundred_kills_never_lose_a_charge`.
    ///
    /// # Errors
    /// [`WrongState`](LedgerError::WrongState) if it was started before or was cancelled meanwhile. After any error
    /// nothing may be released.
    pub fn start(&mut self, reservation: &Reservation) -> Result<(), LedgerError> {
        self.store.write(|transaction| {
            find_own(transaction, reservation, "start", State::Reserved)?;
            transaction.execute(
                "UPDATE charge SET state = 'started', changed_at = ?2 WHERE id = ?1",
                params![reservation.id, now()],
            )?;
            Ok(())
        })
    }

    /// Lets a run that was stopped after its start go on: the reservation again, with a new token. The old one is worth nothing
    /// from then on.
    ///
    /// # Privacy
    /// A stopped run is charged for all that it planned, so it may make what is left of its releases, once: two runs that went on
    /// from the same point would make them twice. Of any number that try, one is let through, and only with the plan that
    /// was reserved. Attacked by `a_stopped_run_goes_on_once_and_with_its_own_plan`.
    ///
    /// # Errors
    /// [`UnknownReservation`](LedgerError::UnknownReservation) if the run went on before, or is not of this ledger, data set or plan;
    /// [`WrongState`](LedgerError::WrongState) if it was not started, or is over.
    pub fn resume(
        &mut self,
        data_set: &str,
        id: i64,
        token: &str,
        plan_json: &str,
    ) -> Result<Reservation, LedgerError> {
        self.store.write(|transaction| {
            let row = account::find_data_set(transaction, data_set)?;
            let unknown = LedgerError::UnknownReservation { id };
            let same: bool = transaction
                .query_row(
                    "SELECT data_set = ?2 AND plan = ?3 FROM charge WHERE id = ?1",
                    params![id, row.key, plan_json],
                    |row| row.get(0),
                )
                .optional()?
                .unwrap_or(false);
            if !same {
                return Err(unknown.into());
            }
            let (token, data_set) = (token.to_owned(), data_set.to_owned());
            let old = Reservation { id, token, data_set, reserved: Amount::new(0.0, 0.0) };
            let reserved = find_own(transaction, &old, "resume", State::Started)?.at_least();
            let token = transaction.query_row(
                "UPDATE charge SET token = lower(hex(randomblob(16))), changed_at = ?2 WHERE id = ?1 RETURNING token",
                params![id, now()],
                |row| row.get(0),
            )?;
            Ok(Reservation { token, reserved, ..old })
        })
    }

    /// Records that releases are over, and lowers the charge to what they really cost.
    ///
    /// `actual` may be anything up to what was reserved, in each of epsilon and delta. A run that is never settled
    /// stays charged in full.
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
            let reserved = find_own(transaction, reservation, "settle", State::Started)?;
            if !spent.fits_in(reserved) {
                let (id, reserved) = (reservation.id, reserved.at_least());
                return Err(LedgerError::AboveReservation { id, reserved, actual }.into());
            }
            transaction.execute(
                "UPDATE charge SET state = 'settled', charged_epsilon = ?2, charged_delta = ?3, receipt = ?4,
                    changed_at = ?5 WHERE id = ?1",
                params![reservation.id, spent.epsilon, spent.delta, receipt_json, now()],
            )?;
            Ok(())
        })
    }

    /// Gives back a reservation that was never started.
    ///
    /// It takes the number, so that what a crashed run left behind can be given back too. That is safe even if the run
    /// is alive after all: its [`start`](Self::start) then fails, and it releases nothing.
    ///
    /// # Errors
    /// [`WrongState`](LedgerError::WrongState) if it was started, since something may have been released.
    pub fn cancel(&mut self, reservation_id: i64) -> Result<(), LedgerError> {
        self.store.write(|transaction| {
            let state = transaction
                .query_row("SELECT state FROM charge WHERE id = ?1", [reservation_id], |row| row.get(0))
                .optional()?
                .ok_or(LedgerError::UnknownReservation { id: reservation_id })?;
            check_state(reservation_id, "cancel", state, State::Reserved)?;
            transaction.execute(
                "UPDATE charge SET state = 'cancelled', charged_epsilon = 0, charged_delta = 0, changed_at = ?2
                 WHERE id = ?1",
                params![reservation_id, now()],
            )?;
            Ok(())
        })
    }

    /// All data sets, in the order they were added.
    pub fn data_sets(&self) -> Result<Vec<DataSet>, LedgerError> {
        self.store.read(|transaction| account::all_data_sets(transaction))
    }

    /// What a data set has spent and has left.
    pub fn account(&self, data_set: &str) -> Result<Account, LedgerError> {
        self.store.read(|transaction| account::account(transaction, data_set))
    }

    /// All charges of a data set, cancelled ones included, in the order they were reserved.
    pub fn history(&self, data_set: &str) -> Result<Vec<Charge>, LedgerError> {
        self.store.read(|transaction| account::history(transaction, data_set))
    }
}

/// What `reservation` holds, if this file made it and it is in the state that `action` needs.
fn find_own(
    connection: &Connection,
    reservation: &Reservation,
    action: &'static str,
    needed: State,
) -> Result<Units, Stop> {
    let id = reservation.id;
    let (state, reserved) = connection
        .query_row(
            "SELECT state, reserved_epsilon, reserved_delta FROM charge WHERE id = ?1 AND token = ?2",
            params![id, reservation.token],
            |row| Ok((row.get(0)?, Units { epsilon: row.get(1)?, delta: row.get(2)? })),
        )
        .optional()?
        .ok_or(LedgerError::UnknownReservation { id })?;
    check_state(id, action, state, needed)?;
    Ok(reserved)
}

fn check_state(id: i64, action: &'static str, state: State, needed: State) -> Result<(), LedgerError> {
    if state == needed { Ok(()) } else { Err(LedgerError::WrongState { id, action, state }) }
}

/// The request must be about the table, and in the currency, that the cap was set for.
fn check_subject(recorded: &DataSet, request: &Request) -> Result<(), LedgerError> {
    if recorded.schema_fingerprint != request.schema_fingerprint {
        return Err(LedgerError::SchemaMismatch {
            data_set: recorded.id.clone(),
            recorded: recorded.schema_fingerprint.clone(),
            given: request.schema_fingerprint.clone(),
        });
    }
    if recorded.adjacency != request.adjacency {
        return Err(LedgerError::AdjacencyMismatch {
            data_set: recorded.id.clone(),
            recorded: recorded.adjacency.clone(),
            given: request.adjacency.clone(),
        });
    }
    Ok(())
}

fn check_cap(connection: &Connection, row: &DataSetRow, requested: Units) -> Result<(), Stop> {
    let spent = account::spent(connection, row.key)?;
    let remaining = row.cap.minus(spent);
    if requested.fits_in(remaining) {
        return Ok(());
    }
    Err(LedgerError::Refused(Box::new(Refusal {
        data_set: row.data_set.id.clone(),
        cap: row.cap.at_most(),
        spent: spent.at_least(),
        requested: requested.at_least(),
        remaining: remaining.at_most(),
        never_started: account::counts(connection, row.key)?.reserved,
    }))
    .into())
}

fn check_adjacency(given: &str) -> Result<(), LedgerError> {
    if ADJACENCIES.contains(&given) {
        Ok(())
    } else {
        Err(LedgerError::UnknownAdjacency { given: given.to_owned() })
    }
}

/// Two ids that look the same must be the same.
fn check_id(given: &str) -> Result<(), LedgerError> {
    let problem = if given.is_empty() {
        "is empty"
    } else if given.trim() != given {
        "begins or ends with a space"
    } else if given.chars().any(char::is_control) {
        "contains a control character"
    } else if given.len() > MAX_ID_LENGTH {
        "is longer than 200 bytes"
    } else {
        return Ok(());
    };
    Err(LedgerError::InvalidId { given: given.to_owned(), problem })
}

/// Says where reading stopped and not what was there: a message may be logged where a plan may not.
fn check_json(what: &'static str, text: &str) -> Result<(), LedgerError> {
    serde_json::from_str::<serde::de::IgnoredAny>(text)
        .map(|_| ())
        .map_err(|error| LedgerError::InvalidJson { what, line: error.line(), column: error.column() })
}
