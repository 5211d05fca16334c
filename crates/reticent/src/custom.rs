//! Releases of one's own: sums of what a caller computes from the rows, through the wall and charged as fits are.

mod computed;

use std::path::PathBuf;

use reticent_core::budget::{Guarantee, NotPrivate, Privacy, Unlimited};
use reticent_core::receipt::{Entry, Kind, Receipt};
use reticent_core::wall::{Geometry, NoiseSource, Plan, Released, SumId, Wall, WallError};
use reticent_ledger::{Ledger, Run};
use reticent_tables::{self as tables, Encoder, Schema};

use computed::{Computed, Current, Pass, Rows, kept, streamed};

use crate::cancel::Cancel;
use crate::charge::{Account, Charge};
use crate::data::{self, Data, Encoded};
use crate::error::{Error, ErrorKind};
use crate::evaluate;
use crate::guarded::silence_caught_panics;
use crate::memory::{default_memory, numbers};
use crate::session;
use crate::settings::check_epsilon;

/// Computes the contributions of some rows, which are given one after the other, and writes them to its second argument, which holds zeros, one
/// after the other. A row whose contribution has a number that is not finite contributes nothing. So does an absent record, which is a row with a
/// number that is not finite: it is given like any other, so that it moves no other row to another place, and what is written for it is dropped.
///
/// # Privacy
/// A contribution must be a function of its own row and of public values: not of the other rows that are given with it, how many these are, or
/// earlier ones. It must keep, print and count nothing. If it panics, its message is not printed, and it is called for each row alone: those that it panics
/// for contribute nothing.
pub type Contributions = Box<dyn FnMut(&[f64], &mut [f64]) + Send>;

/// Planned sums of contributions that the caller computes, in this process only.
///
/// ```
/// use reticent::{Adjacency, Custom, Privacy};
/// use reticent_core::wall::{Geometry, Plan, Sampler, Sums};
///
/// let mut plan = Plan::new(5000, Adjacency::ReplaceOne);
/// let counts = plan.sums(Sums {
///     what: "records by decade".into(),
///     width: 10,
///     geometry: Geometry::NonNegativeBall { radius: 1.0 },
///     sampler: Sampler::Full,
///     noise_multiplier: 5.0,
///     steps: 1,
/// }).unwrap();
/// let ages: Vec<f64> = (0..5000).map(|n| f64::from(n % 97)).collect();
/// let mut run = Custom::new(plan)
///     .privacy(Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne)?)
///     .begin_rows(ages, 1)?;
/// let decades = |ages: &[f64], out: &mut [f64]| {
///     for (age, out) in ages.iter().zip(out.chunks_exact_mut(10)) {
///         out[(age / 10.0).clamp(0.0, 9.0) as usize] = 1.0;
///     }
/// };
/// let released = run.sum(counts, 10, Box::new(decades))?;
/// assert!((released.values[1] - 520.0).abs() < 100.0);
/// println!("{}", run.finish(0, Vec::new())?);
/// # Ok::<(), reticent::Error>(())
/// ```
#[must_use = "nothing is released until `begin`"]
pub struct Custom {
    plan: Plan,
    privacy: Option<Privacy>,
    without_privacy: bool,
    ledger: Option<(PathBuf, String)>,
    cancel: Cancel,
}

impl Custom {
    /// A run that makes the releases of a plan. A privacy budget must follow.
    pub fn new(plan: Plan) -> Self {
        let (privacy, ledger, cancel) = (None, None, Cancel::new());
        Self { plan, privacy, without_privacy: false, ledger, cancel }
    }

    /// What may be spent.
    pub fn privacy(self, privacy: Privacy) -> Self {
        Self { privacy: Some(privacy), without_privacy: false, ..self }
    }

    /// **Not private**: sums without noise and clipping, to keep to yourself.
    pub fn without_privacy(self) -> Self {
        Self { privacy: None, without_privacy: true, ..self }
    }

    /// Charges the run to a data set of a ledger, which refuses it if too little is left.
    pub fn ledger(self, file: impl Into<PathBuf>, data_set: impl Into<String>) -> Self {
        Self { ledger: Some((file.into(), data_set.into())), ..self }
    }

    /// Ends a release early once this flag is set, between blocks of rows.
    pub fn cancelled_by(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// Reserves the cost of the plan for rows of `width` numbers, which are taken as they are. A row with a number that is not finite is an absent record.
    ///
    /// # Errors
    /// [`Error`] if the plan is over budget, is not for as many records, or is refused by the ledger. Nothing is charged then.
    pub fn begin_rows(self, values: Vec<f64>, width: usize) -> Result<CustomRun, Error> {
        if width == 0 || !values.len().is_multiple_of(width) {
            return Err(Error::data(
                "the records are not whole rows",
                "give rows of at least one number each",
            ));
        }
        let units = values.len() / width;
        self.begun(Rows { units, width, least: 1, pass: kept(values, width) }, None)
    }

    /// Reserves the cost of the plan for records that are encoded by a schema: features, and then the target.
    ///
    /// # Errors
    /// Those of [`begin_rows`](Self::begin_rows), and those of the data set and the schema.
    pub fn begin(self, data: impl Into<Data>, schema: &Schema) -> Result<CustomRun, Error> {
        let private = schema.private_bounds().next().map(|(column, _)| column.name());
        if let Some(column) = private.or_else(|| data::without_bounds(schema)) {
            let message = format!("column {column:?}: queries need `bounds = [low, high]`");
            return Err(Error::new(ErrorKind::Schema, message, "state the range that is publicly known"));
        }
        let source = data.into().open(schema.layout())?;
        let width = Encoder::new(schema)?.width();
        let encoded = data::encoded(schema, &source, numbers(default_memory()), &self.cancel)?;
        let units = encoded.count();
        let (pass, least): (Box<Pass>, usize) = match encoded {
            Encoded::Rows(tables::Rows::Kept(table)) => (kept(table.into_values(), width), 1),
            Encoded::Rows(tables::Rows::Streamed(stream)) => (streamed(stream), 1),
            Encoded::Units(mut units, least) => {
                (Box::new(move |wanted, each| units.pass(wanted, each)), least)
            }
        };
        self.begun(Rows { units, width, least, pass }, Some(schema))
    }

    fn begun(self, rows: Rows, schema: Option<&Schema>) -> Result<CustomRun, Error> {
        silence_caught_panics();
        let account = self.account(schema)?;
        let charge = Charge::new(account, None, None, self.cancel.clone());
        let current = Current::default();
        let widest = self.plan.entries().map(contributed).max().unwrap_or(1);
        let records = rows.mapped(&current, widest, &self.cancel)?;
        let noise = NoiseSource::from_os()?;
        let wall =
            Wall::open(records, noise, self.plan, self.privacy.as_ref(), charge.ledger()).map_err(refused)?;
        let wall = Some(wall.observed_by(charge.observer()));
        Ok(CustomRun { wall, current, charge, schema: schema.cloned(), process: std::process::id() })
    }

    fn account(&self, schema: Option<&Schema>) -> Result<Account, Error> {
        match &self.privacy {
            Some(privacy) => check_epsilon(privacy)?,
            None if !self.without_privacy => {
                let hint = "give it a privacy budget, or ask for sums without privacy";
                return Err(Error::settings("a run needs a privacy budget", hint));
            }
            None => {}
        }
        let Some((file, data_set)) = &self.ledger else { return Ok(Account::None(Unlimited)) };
        let ledger = Ledger::open(file)?;
        let fingerprint = match schema {
            Some(schema) => session::fingerprint(&ledger, data_set, schema)?,
            None => {
                let known = ledger.account(data_set)?.data_set.schema_fingerprint;
                if known != session::NO_SCHEMA {
                    let message = format!(
                        "data set {data_set:?} has a budget for records of a schema or of a privacy unit"
                    );
                    let hint = "give the records with that schema; rows of numbers are for data sets that were added without one";
                    return Err(Error::new(ErrorKind::Schema, message, hint));
                }
                known
            }
        };
        Ok(Account::DataSet(Box::new(Run::new(ledger, data_set, &fingerprint, "query"))))
    }
}

/// The error for a refusal of the wall, with a hint for those who planned it themselves.
fn refused(error: WallError) -> Error {
    let hint = match &error {
        WallError::Stopped => "a run that was stopped makes no further release: begin another one",
        WallError::RecordCount { .. } => "plan for the number of records that there are, which is public",
        WallError::OverBudget { .. } => {
            "plan more noise or fewer steps, or leave the noise multiplier to the budget"
        }
        _ => return error.into(),
    };
    let error = Error::from(error);
    let message = error.message().to_owned();
    error.reworded(message, Some(hint.to_owned()))
}

/// The numbers that a query writes for each row.
fn contributed(entry: &Entry) -> usize {
    match &entry.kind {
        // The upper triangle has m (m + 1) / 2 elements.
        Kind::Sum { geometry: Geometry::Outer { .. }, .. } => (2 * entry.width).isqrt(),
        _ => entry.width,
    }
}

/// The records, and the releases that the plan allows about them.
///
/// # Privacy
/// The cost of the plan was reserved. It is charged before the first release, in full, and settled by [`finish`](Self::finish); a run that is dropped
/// after its first release stays charged, and one that is dropped before it is cancelled. Attacked by `own_queries_are_charged_before_they_are_released`.
///
/// A process that is forked has a copy of the run, with the same noise to come: releases of both would reveal more than they cost. So a run is of the process
/// that has begun it, and refuses all else.
pub struct CustomRun {
    wall: Option<Wall>,
    current: Current,
    charge: Charge,
    schema: Option<Schema>,
    /// Of which the run is.
    process: u32,
}

impl CustomRun {
    /// The guarantee of the whole plan.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        self.wall.as_ref().map_or(Guarantee::None(NotPrivate::NoNoise), Wall::guarantee)
    }

    /// Releases a noisy sum of contributions of `width` numbers each.
    ///
    /// # Errors
    /// [`Error`] without a release: the plan has no such sum, or all of them were released, or the run was cancelled.
    pub fn sum(&mut self, id: SumId, width: usize, contributions: Contributions) -> Result<Released, Error> {
        let wall = self.wall.as_mut().filter(|_| self.process == std::process::id()).ok_or_else(over)?;
        self.current.set(Some((width, contributions)));
        let released = wall.sum(id, &Computed { width });
        self.current.set(None);
        released.map_err(refused)
    }

    /// Writes the receipt, with further `assumptions` that the guarantee rests on, and settles the charge.
    ///
    /// # Errors
    /// [`Error`] if the ledger cannot be written; the reservation then stays spent.
    pub fn finish(mut self, projections: u64, assumptions: Vec<String>) -> Result<Receipt, Error> {
        if self.process != std::process::id() {
            return Err(over());
        }
        let wall = self.wall.take().ok_or_else(over)?;
        let mut closed = wall.close(projections);
        if closed.receipt.guarantee.cost().is_some() {
            if let Some(schema) = &self.schema {
                evaluate::complete(&mut closed.receipt, schema);
            }
            closed.receipt.assumptions.extend(assumptions);
        }
        Ok(closed.settle()?)
    }
}

fn over() -> Error {
    Error::data("the run is over, or of another process", "begin another one, in the process that uses it")
}

impl Drop for CustomRun {
    fn drop(&mut self) {
        let Some(wall) = self.wall.take() else { return };
        if self.process == std::process::id() {
            drop(wall);
            self.charge.abandon();
        } else {
            // The ledger is open in the other process, and closing it here would give up its locks.
            std::mem::forget(wall);
        }
    }
}

#[cfg(test)]
mod tests;
