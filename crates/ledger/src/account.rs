//! Queries: data sets, their balances, and the history of their charges.

use std::fmt;

use reticent_accounting::filter::History;
use reticent_accounting::{Event, Mechanism, Sampling, gaussian};
use rusqlite::Connection;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::amount::{Role, Units};
use crate::cap;
use crate::rows::{ChargeRow, DataSetRow};
use crate::store::DbError;
use crate::time::iso_8601;
use crate::{Amount, LedgerError};

/// A data set and its budget, fixed when the data set is added.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DataSet {
    /// The id chosen by the user.
    pub id: String,
    /// Identifies the schema: column names, kinds and public bounds, never the data.
    pub schema_fingerprint: String,
    /// `"replace-one"` or `"add/remove"`.
    pub adjacency: String,
    /// The maximum total amount.
    pub cap: Amount,
    /// When it was added, in UTC as ISO-8601.
    pub added_at: String,
}

/// The balance of a data set.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Account {
    /// The data set.
    #[serde(flatten)]
    pub data_set: DataSet,
    /// How charges count; none before the first one.
    pub composition: Option<Composition>,
    /// All charges: settled, started and reserved. Their sum, or their joint cost at the cap's delta.
    pub spent: Amount,
    /// The largest amount that a request can be granted; with a joint cost, to a run of one Gaussian release.
    pub remaining: Amount,
    /// The sum of all charges, which is their cost by basic composition.
    pub sum: Amount,
    /// The part of `spent` that is reserved or started and not settled: runs in progress, and runs that crashed.
    pub unsettled: Amount,
    /// Number of charges by state.
    pub counts: Counts,
    /// The runs that are charged and not settled.
    pub unfinished: Vec<Unfinished>,
    #[serde(skip)]
    row: DataSetRow,
    #[serde(skip)]
    history: History,
}

/// How the charges of a data set count. The first one decides, for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Composition {
    /// By the sums of epsilon and delta.
    Basic,
    /// By the least of three filters at the cap's delta: see [`reticent_accounting::filter`].
    Joint,
}

impl Account {
    /// The account after one more run of one Gaussian release of this amount (of one pure release, if its delta is 0). None if it is refused.
    #[must_use]
    pub fn after(&self, amount: Amount) -> Option<Self> {
        let units = Units::read(amount, Role::Request).ok()?;
        let mechanism = if amount.delta > 0.0 {
            Mechanism::Gaussian {
                noise_multiplier: gaussian::noise_multiplier(amount.epsilon, amount.delta).ok()?,
            }
        } else {
            Mechanism::Pure { epsilon: amount.epsilon }
        };
        let event = Event::release(mechanism, Sampling::None);
        let figures = cap::figures_of(&self.row, &event, 0.0).ok()?;
        let mut history = self.history;
        history.add(units.epsilon, units.delta, Some(figures));
        history.is_within(&self.row.limits).then(|| self.clone().with(history))
    }

    /// The same data set with other charges.
    fn with(self, history: History) -> Self {
        let row = self.row;
        let (spent, remaining, sum) =
            (spent(&row, &history), remaining(&row, &history), sum(&history).at_least());
        let composition = composition(&row, &history);
        Self { composition, spent, remaining, sum, row, history, ..self }
    }
}

fn composition(row: &DataSetRow, history: &History) -> Option<Composition> {
    history.is_joint(&row.limits).map(|joint| if joint { Composition::Joint } else { Composition::Basic })
}

/// The sum of all charges that count.
fn sum(history: &History) -> Units {
    let (epsilon, delta) = history.sum();
    let units = |sum: i128| i64::try_from(sum).unwrap_or(i64::MAX);
    Units { epsilon: units(epsilon), delta: units(delta) }
}

/// The cost of all charges, by the rule that applies.
pub(crate) fn spent(row: &DataSetRow, history: &History) -> Amount {
    let cap = row.cap().at_most();
    let sum = sum(history);
    if composition(row, history) != Some(Composition::Joint) || sum.epsilon == 0 {
        return sum.at_least();
    }
    // Within the cap by integers, which a number that is computed from them may miss by a rounding error.
    let epsilon = history.epsilon(&row.limits);
    Amount::new(if history.is_within(&row.limits) { epsilon.min(cap.epsilon) } else { epsilon }, cap.delta)
}

/// The largest amount that a run is granted: with a joint cost one of a Gaussian release at the cap's delta, or a pure one if
/// that may have the larger epsilon.
pub(crate) fn remaining(row: &DataSetRow, history: &History) -> Amount {
    let cap = row.cap();
    if composition(row, history) != Some(Composition::Joint) {
        return cap.minus(sum(history)).at_most();
    }
    let delta = cap.at_most().delta;
    let [gaussian, pure] = [delta, 0.0].map(|delta| Amount::new(history.largest(&row.limits, delta), delta));
    if pure.epsilon > gaussian.epsilon { pure } else { gaussian }
}

/// A run that is charged and not settled: in progress, suspended or crashed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Unfinished {
    /// The number of its charge.
    pub id: i64,
    /// Reserved (which can be cancelled) or started.
    pub state: State,
    /// What the run is for, in the user's words.
    pub purpose: String,
    /// The amount that counts against the cap.
    pub charged: Amount,
    /// When it was reserved, in UTC as ISO-8601.
    pub reserved_at: String,
    /// Path of its journal, from which it can be resumed.
    pub journal: Option<String>,
}

/// Number of charges by state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Not started yet, or abandoned before the start.
    pub reserved: u64,
    /// In progress, suspended or crashed.
    pub started: u64,
    /// Finished, charged with the actual cost.
    pub settled: u64,
    /// Refunded before any release.
    pub cancelled: u64,
}

/// The state of a charge: reserved, then started, then settled; or reserved, then cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Charged in full; nothing was released yet.
    Reserved,
    /// Charged in full; something may have been released.
    Started,
    /// Charged with the actual cost.
    Settled,
    /// Charged with nothing; nothing was ever released.
    Cancelled,
}

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Started => "started",
            Self::Settled => "settled",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromSql for State {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value.as_str()? {
            "reserved" => Ok(Self::Reserved),
            "started" => Ok(Self::Started),
            "settled" => Ok(Self::Settled),
            "cancelled" => Ok(Self::Cancelled),
            _ => Err(FromSqlError::InvalidType),
        }
    }
}

/// One charge in the history of a data set.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Charge {
    /// Number of the charge in this ledger, increasing with time.
    pub id: i64,
    /// Current state.
    pub state: State,
    /// The reserved amount.
    pub reserved: Amount,
    /// The amount that counts against the cap.
    pub charged: Amount,
    /// When it was reserved, in UTC as ISO-8601.
    pub reserved_at: String,
    /// When its state last changed, in UTC as ISO-8601.
    pub changed_at: String,
    /// What the run is for, in the user's words.
    pub purpose: String,
    /// The planned releases: the JSON of the reservation, verbatim.
    pub plan: Box<RawValue>,
    /// The actual releases: the JSON of the settlement, verbatim.
    pub receipt: Option<Box<RawValue>>,
    /// Path of the journal of its releases, from which it can be resumed.
    pub journal: Option<String>,
}

impl From<DataSetRow> for DataSet {
    fn from(row: DataSetRow) -> Self {
        let cap = row.cap().at_most();
        let DataSetRow { name: id, schema_fingerprint, adjacency, added_at, .. } = row;
        Self { id, schema_fingerprint, adjacency, cap, added_at: iso_8601(added_at) }
    }
}

pub(crate) fn find_data_set(connection: &Connection, id: &str) -> Result<DataSetRow, DbError> {
    DataSetRow::find(connection, id)?.ok_or_else(|| LedgerError::UnknownDataSet { id: id.to_owned() }.into())
}

pub(crate) fn all_data_sets(connection: &Connection) -> Result<Vec<DataSet>, DbError> {
    Ok(DataSetRow::all(connection)?.into_iter().map(DataSet::from).collect())
}

pub(crate) fn counts(connection: &Connection, key: i64) -> Result<Counts, DbError> {
    let mut counts = Counts::default();
    let mut query =
        connection.prepare("SELECT state, count(*) FROM charge WHERE data_set = ?1 GROUP BY state")?;
    for row in query.query_map([key], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?)))? {
        let (state, count) = row?;
        let place = match state {
            State::Reserved => &mut counts.reserved,
            State::Started => &mut counts.started,
            State::Settled => &mut counts.settled,
            State::Cancelled => &mut counts.cancelled,
        };
        *place = count.unsigned_abs();
    }
    Ok(counts)
}

pub(crate) fn account(connection: &Connection, id: &str) -> Result<Account, DbError> {
    let row = find_data_set(connection, id)?;
    let key = row.key;
    let history = cap::history(connection, key)?;
    let mut unsettled = History::default();
    let mut unfinished = Vec::new();
    for charge in ChargeRow::of_data_set(connection, key)? {
        let ChargeRow { id, state, purpose, charged, reserved_at, journal, .. } = charge;
        if matches!(state, State::Reserved | State::Started) {
            unsettled.add(charged.epsilon, charged.delta, None);
            let (charged, reserved_at) = (charged.at_least(), iso_8601(reserved_at));
            unfinished.push(Unfinished { id, state, purpose, charged, reserved_at, journal });
        }
    }
    Ok(Account {
        data_set: row.clone().into(),
        composition: composition(&row, &history),
        spent: spent(&row, &history),
        remaining: remaining(&row, &history),
        sum: sum(&history).at_least(),
        unsettled: sum(&unsettled).at_least(),
        counts: counts(connection, key)?,
        unfinished,
        row,
        history,
    })
}

pub(crate) fn history(connection: &Connection, id: &str) -> Result<Vec<Charge>, DbError> {
    let key = find_data_set(connection, id)?.key;
    ChargeRow::of_data_set(connection, key)?.into_iter().map(charge).collect()
}

fn charge(row: ChargeRow) -> Result<Charge, DbError> {
    Ok(Charge {
        id: row.id,
        state: row.state,
        reserved: row.reserved.at_least(),
        charged: row.charged.at_least(),
        reserved_at: iso_8601(row.reserved_at),
        changed_at: iso_8601(row.changed_at),
        purpose: row.purpose,
        plan: json(row.plan)?,
        receipt: row.receipt.map(json).transpose()?,
        journal: row.journal,
    })
}

/// Checked on insertion, and again here, so that a history always serialises to valid JSON.
fn json(text: String) -> Result<Box<RawValue>, DbError> {
    RawValue::from_string(text).map_err(|_| DbError::Damage("a plan or a receipt is not JSON".to_owned()))
}
