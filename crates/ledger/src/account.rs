//! NoiseTreatment the ledger: what data sets there are, what they have left, and what it was spent on.

use std::fmt;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use rusqlite::{Connection, Row};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::amount::Units;
use crate::rows::{ChargeRow, DataSetRow};
use crate::store::Stop;
use crate::time::iso_8601;
use crate::{Amount, LedgerError};

/// A data set and the budget it was given. All of it is fixed when the data set is added.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DataSet {
    /// The user's name for it.
    pub id: String,
    /// Identifies the schema: column names, kinds and public bounds, never the data.
    pub schema_fingerprint: String,
    /// `"replace-one"` or `"add/remove"`.
    pub adjacency: String,
    /// What may be spent on it in total.
    pub cap: Amount,
    /// When it was added, in UTC as ISO-8601.
    pub added_at: String,
}

/// A data set's balance.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Account {
    /// The data set.
    #[serde(flatten)]
    pub data_set: DataSet,
    /// Everything charged: settled, started and reserved.
    pub spent: Amount,
    /// What a request may still ask for.
    pub remaining: Amount,
    /// The part of `spent` that is reserved or started and not settled: runs that go on now, or that crashed.
    pub unsettled: Amount,
    /// How many charges are in each state.
    pub counts: Counts,
    /// The runs that are charged and not settled.
    pub unfinished: Vec<Unfinished>,
}

/// A run that is charged and not settled: it goes on now, or it was stopped.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Unfinished {
    /// The number of its charge.
    pub id: i64,
    /// Reserved, which can be cancelled, or started.
    pub state: State,
    /// What the run is for, in the user's words.
    pub purpose: String,
    /// What it is charged.
    pub charged: Amount,
    /// When it was reserved, in UTC as ISO-8601.
    pub reserved_at: String,
    /// The file that it can be resumed from, if it keeps one.
    pub journal: Option<String>,
}

/// How many charges are in each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Not started yet, or abandoned before the start.
    pub reserved: u64,
    /// Running, or abandoned on the way.
    pub started: u64,
    /// Done.
    pub settled: u64,
    /// Given back.
    pub cancelled: u64,
}

/// Where a charge is on its way: reserved, then started, then settled; or reserved, then cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Charged in full; nothing was released yet.
    Reserved,
    /// Charged in full; something may have been released.
    Started,
    /// Charged with what was really spent.
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

/// One charge in a data set's history.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Charge {
    /// Its number in this ledger, rising with time.
    pub id: i64,
    /// Where it is on its way.
    pub state: State,
    /// What was reserved.
    pub reserved: Amount,
    /// What counts against the cap now.
    pub charged: Amount,
    /// When it was reserved, in UTC as ISO-8601.
    pub reserved_at: String,
    /// When it got into its state, in UTC as ISO-8601.
    pub changed_at: String,
    /// What the run is for, in the user's words.
    pub purpose: String,
    /// What the run set out to release: the JSON it was reserved with, letter for letter.
    pub plan: Box<RawValue>,
    /// What it released: the JSON it was settled with, letter for letter.
    pub receipt: Option<Box<RawValue>>,
    /// Where it keeps, or kept, what it released, so that it can be resumed.
    pub journal: Option<String>,
}

impl From<DataSetRow> for DataSet {
    fn from(row: DataSetRow) -> Self {
        let DataSetRow { name: id, schema_fingerprint, adjacency, cap, added_at, .. } = row;
        Self { id, schema_fingerprint, adjacency, cap: cap.at_most(), added_at: iso_8601(added_at) }
    }
}

pub(crate) fn find_data_set(connection: &Connection, id: &str) -> Result<DataSetRow, Stop> {
    DataSetRow::find(connection, id)?.ok_or_else(|| LedgerError::UnknownDataSet { id: id.to_owned() }.into())
}

pub(crate) fn all_data_sets(connection: &Connection) -> Result<Vec<DataSet>, Stop> {
    Ok(DataSetRow::all(connection)?.into_iter().map(DataSet::from).collect())
}

const SUMS: &str = "SELECT coalesce(sum(charged_epsilon), 0), coalesce(sum(charged_delta), 0) FROM charge WHERE data_set = ?1";

fn sums(row: &Row<'_>) -> rusqlite::Result<Units> {
    Ok(Units { epsilon: row.get(0)?, delta: row.get(1)? })
}

/// All that a data set is charged.
///
/// Exact: integers, far from overflow since no data set is charged above its cap. (SQLite reports an overflow as an
/// error; it never wraps.)
pub(crate) fn spent(connection: &Connection, key: i64) -> Result<Units, Stop> {
    Ok(connection.query_row(SUMS, [key], sums)?)
}

fn unsettled(connection: &Connection, key: i64) -> Result<Units, Stop> {
    Ok(connection.query_row(&format!("{SUMS} AND state IN ('reserved', 'started')"), [key], sums)?)
}

pub(crate) fn counts(connection: &Connection, key: i64) -> Result<Counts, Stop> {
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

pub(crate) fn account(connection: &Connection, id: &str) -> Result<Account, Stop> {
    let row = find_data_set(connection, id)?;
    let (key, cap) = (row.key, row.cap);
    let spent = spent(connection, key)?;
    let unfinished = ChargeRow::of_data_set(connection, key)?
        .into_iter()
        .filter(|charge| matches!(charge.state, State::Reserved | State::Started))
        .map(|ChargeRow { id, state, purpose, charged, reserved_at, journal, .. }| {
            let (charged, reserved_at) = (charged.at_least(), iso_8601(reserved_at));
            Unfinished { id, state, purpose, charged, reserved_at, journal }
        });
    Ok(Account {
        data_set: row.into(),
        spent: spent.at_least(),
        remaining: cap.minus(spent).at_most(),
        unsettled: unsettled(connection, key)?.at_least(),
        counts: counts(connection, key)?,
        unfinished: unfinished.collect(),
    })
}

pub(crate) fn history(connection: &Connection, id: &str) -> Result<Vec<Charge>, Stop> {
    let key = find_data_set(connection, id)?.key;
    ChargeRow::of_data_set(connection, key)?.into_iter().map(charge).collect()
}

fn charge(row: ChargeRow) -> Result<Charge, Stop> {
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

/// Checked on the way in, and again on the way out, so that a history is always valid JSON as a whole.
fn json(text: String) -> Result<Box<RawValue>, Stop> {
    RawValue::from_string(text).map_err(|_| Stop::Damage("a plan or a receipt is not JSON".to_owned()))
}
