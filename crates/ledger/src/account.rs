//! Reading the ledger: what data sets there are, what they have left, and what it was spent on.

use std::fmt;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::amount::Units;
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

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reserved => "reserved",
            Self::Started => "started",
            Self::Settled => "settled",
            Self::Cancelled => "cancelled",
        })
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
}

/// A data set as the rules need it.
pub(crate) struct DataSetRow {
    pub key: i64,
    pub data_set: DataSet,
    pub cap: Units,
}

const DATA_SET: &str =
    "SELECT id, name, schema_fingerprint, adjacency, cap_epsilon, cap_delta, added_at FROM data_set";

fn data_set_row(row: &Row<'_>) -> rusqlite::Result<DataSetRow> {
    let cap = Units { epsilon: row.get(4)?, delta: row.get(5)? };
    let data_set = DataSet {
        id: row.get(1)?,
        schema_fingerprint: row.get(2)?,
        adjacency: row.get(3)?,
        cap: cap.at_most(),
        added_at: iso_8601(row.get(6)?),
    };
    Ok(DataSetRow { key: row.get(0)?, data_set, cap })
}

pub(crate) fn find_data_set(connection: &Connection, id: &str) -> Result<DataSetRow, Stop> {
    connection
        .query_row(&format!("{DATA_SET} WHERE name = ?1"), [id], data_set_row)
        .optional()?
        .ok_or_else(|| LedgerError::UnknownDataSet { id: id.to_owned() }.into())
}

pub(crate) fn all_data_sets(connection: &Connection) -> Result<Vec<DataSet>, Stop> {
    let mut query = connection.prepare(&format!("{DATA_SET} ORDER BY id"))?;
    let rows = query.query_map([], |row| Ok(data_set_row(row)?.data_set))?;
    Ok(rows.collect::<Result<_, _>>()?)
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
    let DataSetRow { key, data_set, cap } = find_data_set(connection, id)?;
    let spent = spent(connection, key)?;
    Ok(Account {
        data_set,
        spent: spent.at_least(),
        remaining: cap.minus(spent).at_most(),
        unsettled: unsettled(connection, key)?.at_least(),
        counts: counts(connection, key)?,
    })
}

pub(crate) fn history(connection: &Connection, id: &str) -> Result<Vec<Charge>, Stop> {
    let key = find_data_set(connection, id)?.key;
    let mut query = connection.prepare(
        "SELECT id, state, reserved_epsilon, reserved_delta, charged_epsilon, charged_delta,
            reserved_at, changed_at, purpose, plan, receipt
         FROM charge WHERE data_set = ?1 ORDER BY id",
    )?;
    let rows = query.query_map([key], |row| {
        Ok(Charge {
            id: row.get(0)?,
            state: row.get(1)?,
            reserved: Units { epsilon: row.get(2)?, delta: row.get(3)? }.at_least(),
            charged: Units { epsilon: row.get(4)?, delta: row.get(5)? }.at_least(),
            reserved_at: iso_8601(row.get(6)?),
            changed_at: iso_8601(row.get(7)?),
            purpose: row.get(8)?,
            plan: row.get::<_, Json>(9)?.0,
            receipt: row.get::<_, Option<Json>>(10)?.map(|json| json.0),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Checked on the way in, and again on the way out, so that a history is always valid JSON as a whole.
struct Json(Box<RawValue>);

impl FromSql for Json {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let text = value.as_str()?.to_owned();
        RawValue::from_string(text).map(Self).map_err(|error| FromSqlError::Other(error.into()))
    }
}
