//! Conversion of ledgers of format 2, which had a write-ahead log and no checksums. [`Store::open`](crate::store::Store::open) calls it.

use rusqlite::Connection;

use crate::account::State;
use crate::amount::Units;
use crate::rows::{self, ChargeRow, DataSetRow};
use crate::store::{DbError, SCHEMA};

/// The tables of format 2.
pub(crate) const SCHEMA_2: &str = include_str!("schema_2.sql");

/// Converts the tables of format 2, with all rows, within the caller's transaction.
///
/// A suspended run of format 2 cannot be resumed, since the form of its checkpoint is no longer supported: it stays charged.
pub(crate) fn from_2(connection: &Connection) -> Result<(), DbError> {
    let data_sets = data_sets(connection)?;
    let charges = charges(connection)?;
    connection.execute_batch("DROP TABLE charge; DROP TABLE data_set;")?;
    connection.execute_batch(SCHEMA)?;
    rows::begin(connection)?;
    data_sets.iter().try_for_each(|row| row.insert_with_key(connection))?;
    charges.iter().try_for_each(|row| row.insert_with_key(connection))
}

fn data_sets(connection: &Connection) -> Result<Vec<DataSetRow>, DbError> {
    let sql =
        "SELECT id, name, schema_fingerprint, adjacency, cap_epsilon, cap_delta, added_at FROM data_set";
    let mut query = connection.prepare(sql)?;
    let rows = query.query_map([], |row| {
        Ok(DataSetRow {
            key: row.get(0)?,
            name: row.get(1)?,
            schema_fingerprint: row.get(2)?,
            adjacency: row.get(3)?,
            cap: Units { epsilon: row.get(4)?, delta: row.get(5)? },
            added_at: row.get(6)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn charges(connection: &Connection) -> Result<Vec<ChargeRow>, DbError> {
    let sql =
        "SELECT id, token, data_set, state, reserved_epsilon, reserved_delta, charged_epsilon, charged_delta,
        reserved_at, changed_at, purpose, plan, receipt FROM charge";
    let mut query = connection.prepare(sql)?;
    let rows = query.query_map([], |row| {
        Ok(ChargeRow {
            id: row.get(0)?,
            token: row.get(1)?,
            data_set: row.get(2)?,
            state: row.get::<_, State>(3)?,
            reserved: Units { epsilon: row.get(4)?, delta: row.get(5)? },
            charged: Units { epsilon: row.get(6)?, delta: row.get(7)? },
            reserved_at: row.get(8)?,
            changed_at: row.get(9)?,
            purpose: row.get(10)?,
            plan: row.get(11)?,
            receipt: row.get(12)?,
            journal: None,
            progress: None,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
