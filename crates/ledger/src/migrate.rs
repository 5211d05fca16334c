//! Conversion of older formats. [`Store::open`](crate::store::Store::open) calls it.
//!
//! Format 2 had a write-ahead log and no checksums, format 3 no figures of the filters. Charges of both have none, so they count by
//! their epsilon and delta: a data set that has such a charge as its first one is under basic composition for good.

use reticent_accounting::filter::Limits;
use rusqlite::Connection;

use crate::rows::{self, ChargeRow, DataSetRow};
use crate::store::{DbError, SCHEMA};

/// The formats that can be converted, with their tables.
pub(crate) const OLDER: [(i64, &str); 2] =
    [(2, include_str!("schema_2.sql")), (3, include_str!("schema_3.sql"))];

/// Converts the tables of an older format, with all rows, within the caller's transaction.
///
/// A suspended run of format 2 cannot be resumed, since the form of its checkpoint is no longer supported: it stays charged.
pub(crate) fn convert(connection: &Connection, format: i64) -> Result<(), DbError> {
    if format > 2 {
        rows::verify(connection, format)?;
    }
    let mut data_sets = {
        let mut query = connection.prepare(&rows::data_sets_of(format))?;
        let rows = query.query_map([], |row| Ok(DataSetRow::read(row)?.0))?;
        rows.collect::<Result<Vec<_>, _>>()?
    };
    let charges = {
        let mut query = connection.prepare(&rows::charges_of(format))?;
        let rows = query.query_map([], |row| Ok(ChargeRow::read(row)?.0))?;
        rows.collect::<Result<Vec<_>, _>>()?
    };
    for row in &mut data_sets {
        row.limits = limits(row)?;
    }
    connection.execute_batch("DROP TABLE charge; DROP TABLE data_set; DROP TABLE IF EXISTS whole;")?;
    connection.execute_batch(SCHEMA)?;
    rows::begin(connection)?;
    data_sets.iter().try_for_each(|row| row.insert_with_key(connection))?;
    charges.iter().try_for_each(|row| row.insert_with_key(connection))
}

fn limits(row: &DataSetRow) -> Result<Limits, DbError> {
    let damage = |error| DbError::Damage(format!("the cap of data set {:?}: {error}", row.name));
    Limits::of(row.limits.epsilon, row.limits.delta).map_err(damage)
}
