//! The cap of a data set: which requests are granted. The rule and its proof are in [`reticent_accounting::filter`].

use reticent_accounting::filter::{Figures, History};
use reticent_accounting::{Adjacency, Event};
use rusqlite::Connection;

use crate::account::{self, State};
use crate::amount::{Amount, Units};
use crate::error::{LedgerError, Refusal};
use crate::ledger::Request;
use crate::rows::{self, DataSetRow};
use crate::store::DbError;

/// The adjacencies of data sets, by their names in the file.
const ADJACENCIES: [(&str, Adjacency); 2] =
    [("replace-one", Adjacency::ReplaceOne), ("add/remove", Adjacency::AddRemove)];

pub(crate) fn adjacency(given: &str) -> Result<Adjacency, LedgerError> {
    let found = ADJACENCIES.into_iter().find(|(name, _)| *name == given);
    found
        .map(|(_, adjacency)| adjacency)
        .ok_or_else(|| LedgerError::UnknownAdjacency { given: given.to_owned() })
}

/// The charges of a data set, in the order in which they were requested: those that were cancelled do not count.
pub(crate) fn history(connection: &Connection, key: i64) -> Result<History, DbError> {
    let mut history = History::default();
    let mut query = connection.prepare(
        "SELECT state, charged_epsilon, charged_delta, gaussian, renyi, deviation FROM charge
         WHERE data_set = ?1 ORDER BY id",
    )?;
    let mut rows = query.query([key])?;
    while let Some(row) = rows.next()? {
        let figures = rows::figures(row, 3)?;
        match row.get(0)? {
            State::Cancelled => history.request(figures),
            State::Reserved | State::Started | State::Settled => {
                history.add(row.get(1)?, row.get(2)?, figures);
            }
        }
    }
    Ok(history)
}

/// The figures of a request, if it states its releases.
pub(crate) fn figures(row: &DataSetRow, request: &Request) -> Result<Option<Figures>, LedgerError> {
    let releases = request.releases.as_ref();
    releases.map(|releases| figures_of(row, &releases.event, releases.deviation)).transpose()
}

pub(crate) fn figures_of(row: &DataSetRow, event: &Event, deviation: f64) -> Result<Figures, LedgerError> {
    Figures::of(event, adjacency(&row.adjacency)?, row.limits.order, deviation)
        .map_err(|source| LedgerError::Releases { source })
}

/// Grants a request if all charges of the data set, this one included, are within its cap.
pub(crate) fn check(
    connection: &Connection,
    row: &DataSetRow,
    requested: Units,
    figures: Option<Figures>,
) -> Result<(), DbError> {
    let before = history(connection, row.key)?;
    let mut after = before;
    after.add(requested.epsilon, requested.delta, figures);
    if after.is_within(&row.limits) {
        return Ok(());
    }
    let joint = before.is_joint(&row.limits) == Some(true);
    let requested = requested.at_least();
    Err(LedgerError::Refused(Box::new(Refusal {
        data_set: row.name.clone(),
        cap: row.cap().at_most(),
        spent: account::spent(row, &before),
        requested,
        remaining: if joint {
            Amount::new(before.largest(&row.limits, requested.delta), requested.delta)
        } else {
            account::remaining(row, &before)
        },
        joint,
        never_started: account::counts(connection, row.key)?.reserved,
    }))
    .into())
}
