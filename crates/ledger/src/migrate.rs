//! Ledgers of format 2, which had a write-ahead log and no checksums, are converted when they are opened.

use rusqlite::Connection;

use crate::account::State;
use crate::amount::Units;
use crate::rows::{self, ChargeRow, DataSetRow};
use crate::store::{SCHEMA, Stop};

/// The tables of format 2.
pub(crate) const SCHEMA_2: &str = include_str!("schema_2.sql");

/// Replaces the tables of format 2 by those of this one, with all that is in them. Within the caller's transaction.
///
/// A run that was stopped and could go on once has kept its checkpoint in a form that is gone with the format: it stays charged.
pub(crate) fn from_2(connection: &Connection) -> Result<(), Stop> {
    let data_sets = data_sets(connection)?;
    let charges = charges(connection)?;
    connection.execute_batch("DROP TABLE charge; DROP TABLE data_set;")?;
    connection.execute_batch(SCHEMA)?;
    rows::begin(connection)?;
    data_sets.iter().try_for_each(|row| row.insert_as_it_is(connection))?;
    charges.iter().try_for_each(|row| row.insert_as_it_is(connection))
}

fn data_sets(connection: &Connection) -> Result<Vec<DataSetRow>, Stop> {
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

fn charges(connection: &Connection) -> Result<Vec<ChargeRow>, Stop> {
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
