//! The wall around the records: the only code that reads more than one record at a time, and its two exits,
//! [`Wall::sum`] and [`Wall::draw`].
//!
//! Read it in this order: [`Records`], [`Geometry`], `lattice.rs` (clipping in integers), `outer.rs` (outer products),
//! [`Sampler`] (which records take part, and the accounting event), [`Plan`], `sum.rs`, `draw.rs`, [`Job`] (records that are elsewhere),
//! and [`Wall`].

mod draw;
mod error;
mod geometry;
mod job;
mod lattice;
mod outer;
mod plan;
mod records;
mod release;
mod sampler;
mod sum;

pub use crate::jobs::QuerySpec;
pub use error::{PlanError, WallError};
pub use geometry::{Block, Geometry};
pub use job::{Job, Partial};
pub use plan::{DrawId, Plan, SumId};
pub use records::{Pass, Place, Records};
pub use release::{Drawn, Draws, Released, Sums};
pub use reticent_noise::{NoiseError, NoiseSource};
pub use sampler::{Rate, Sampler};
pub(crate) use sum::Contributor;
pub use sum::silence_query_panics;

use crate::budget::{Guarantee, Ledger, NotPrivate, Privacy, Request, Spent, Ticket};
use crate::observer::{Observer, Step, Unobserved};
use crate::receipt::{Entry, Kind, Receipt};
use job::Description;
use plan::Group;
use reticent_accounting::{Adjacency, Cost};
use reticent_noise::{Provenance, SampleKey};
use std::num::NonZeroU64;
use sum::Total;

/// The contribution of each record to a sum.
///
/// # Privacy
/// This is the only code outside the wall that reads a record, one at a time. It must be a pure function of that
/// record and of public state: it keeps, prints and counts nothing. Its output may be any vector; a query that panics
/// contributes zeros, and its message is not printed.
pub trait Query: Sync {
    /// Coordinates of a contribution; of the vector, if its outer product is added.
    fn width(&self) -> usize;
    /// Coordinates in a block, if contributions are sparse (0 in all blocks but few). Only within a ball.
    fn block(&self) -> usize {
        self.width()
    }
    /// Writes the indices of the non-zero blocks of a sparse contribution, in increasing order.
    fn blocks(&self, _record: &[f64], blocks: &mut Vec<usize>) {
        blocks.push(0);
    }
    /// Writes the contribution of a record to `out`, which holds zeros: all coordinates, or only those of its blocks,
    /// one block after the other.
    fn contribute(&self, record: &[f64], out: &mut [f64]);
    /// The query as data, from which another process makes it again; `None` if there is only one in this process.
    fn spec(&self) -> Option<QuerySpec> {
        None
    }
}

/// The records, and the releases that a plan allows about them.
///
/// # Privacy
/// Whatever the queries are, and however each depends on earlier releases, all releases together cost at most what
/// was reserved. Each release is charged before a record is read. Attacked by the tests of the parts, and by
/// `nothing_is_released_beyond_the_plan` and `the_ledger_comes_before_the_release`. The records cannot be taken out
/// again:
///
/// ```compile_fail,E0616
/// fn look(wall: reticent_core::wall::Wall) -> reticent_core::wall::Records {
///     wall.records
/// }
/// ```
pub struct Wall {
    records: Records,
    source: NoiseSource,
    plan: Plan,
    guarantee: Guarantee,
    ledger: Box<dyn Ledger>,
    observer: Box<dyn Observer>,
    ticket: Ticket,
    started: bool,
    /// The groups of the current stage.
    stage: std::ops::Range<usize>,
}

impl Wall {
    /// Prices the plan, checks that it is within the budget and reserves it.
    ///
    /// # Errors
    /// [`WallError`] if the plan is invalid, over budget or not reserved. Nothing has been released or charged then.
    pub fn new(
        records: Records,
        source: NoiseSource,
        plan: Plan,
        privacy: &Privacy,
        ledger: Box<dyn Ledger>,
    ) -> Result<Self, WallError> {
        privacy.check(plan.records, plan.adjacency)?;
        let cost = plan.price(privacy.delta())?;
        let (planned, allowed) = (cost.epsilon.upper, privacy.epsilon());
        if planned.is_nan() || planned > allowed {
            return Err(WallError::OverBudget { planned, allowed });
        }
        let guarantee = match source.provenance() {
            Provenance::OperatingSystem => Guarantee::Private(cost),
            _ => Guarantee::None(NotPrivate::FixedSeed),
        };
        Self::build(records, source, plan, guarantee, ledger)
    }

    /// **Not private.** The same interface without noise, clipping and tempering, for baselines. The source only
    /// samples the records.
    ///
    /// # Errors
    /// [`WallError`] if the plan is invalid or not reserved.
    pub fn without_privacy(
        records: Records,
        source: NoiseSource,
        mut plan: Plan,
        ledger: Box<dyn Ledger>,
    ) -> Result<Self, WallError> {
        plan.groups
            .iter_mut()
            .for_each(|group| group.noise_sd = group.noise_sd.iter().map(|_| 0.0).collect());
        Self::build(records, source, plan, Guarantee::None(NotPrivate::NoNoise), ledger)
    }

    fn build(
        records: Records,
        source: NoiseSource,
        plan: Plan,
        guarantee: Guarantee,
        mut ledger: Box<dyn Ledger>,
    ) -> Result<Self, WallError> {
        check_count(&plan, &records)?;
        sum::silence_query_panics_once();
        let releases = plan.entries().map(|entry| entry.what.clone()).collect();
        let deviation = plan.noise_deviation();
        let ticket = ledger.reserve(&Request { guarantee, event: plan.event(), deviation, releases })?;
        let (started, observer) = (false, Box::new(Unobserved));
        let stage = 0..plan.stages.first().copied().unwrap_or(plan.groups.len());
        Ok(Self { records, source, plan, guarantee, ledger, observer, ticket, started, stage })
    }

    /// Reports all releases to an observer, which may end the run or replay values that were released before.
    #[must_use]
    pub fn observed_by(mut self, observer: Box<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// The guarantee of the whole plan.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// The public number of rows that a unit [counts as at least](Records::counting_at_least).
    #[must_use]
    pub fn rows_per_unit(&self) -> usize {
        self.records.least
    }

    /// Enters the next stage of the plan, with the same records encoded anew. Ids are those of the plan of that
    /// stage, and groups of earlier stages are closed.
    ///
    /// # Privacy
    /// Each new record must be a function of one old record, in any order, and of released values. Then neighbouring
    /// data sets stay neighbours, and the stages compose as adaptive releases about the same records, which is how
    /// the plan was priced.
    ///
    /// # Errors
    /// [`WallError::NoStage`] after the last stage, [`WallError::RecordCount`] if the number of records is public and
    /// differs.
    pub fn next_stage(&mut self, records: Records) -> Result<(), WallError> {
        if self.stage.end == self.plan.groups.len() {
            return Err(WallError::NoStage);
        }
        check_count(&self.plan, &records)?;
        let later = self.plan.stages.iter().find(|start| **start > self.stage.end);
        self.stage = self.stage.end..later.copied().unwrap_or(self.plan.groups.len());
        self.records = records;
        Ok(())
    }

    /// Releases a noisy sum of the contributions of a sample of records.
    ///
    /// # Errors
    /// [`WallError`] without a release. If the noise source fails, the release stays charged.
    pub fn sum(&mut self, id: SumId, query: &impl Query) -> Result<Released, WallError> {
        self.sum_of(id, query)
    }

    fn sum_of(&mut self, id: SumId, query: &dyn Contributor) -> Result<Released, WallError> {
        let key = self.source.sample_key()?;
        let job = if self.records.place.is_some() { Some(self.job(id, query, &key)?) } else { None };
        let group = self.charge(id.0, query, true)?;
        let open = self.guarantee == Guarantee::None(NotPrivate::NoNoise);
        let Group { entry, lattice, noise_sd, sample, .. } = &mut self.plan.groups[group];
        let Kind::Sum { geometry, sampler, .. } = &entry.kind else {
            return Err(WallError::UnknownGroup);
        };
        let expected_batch = sampler.expected(entry.made - 1, self.plan.records);
        let (mut values, noise_sd) = (vec![0.0; entry.width], noise_sd.clone());
        let step = step(entry);
        if let Some(replayed) = self.observer.replay(step)? {
            values = replayed;
        } else {
            let now = (entry.made - 1, &key);
            let mut stop = || self.observer.should_stop();
            let total = match (job, &mut self.records.place) {
                (Some(job), Some(place)) => job.join(place.add(&job, &mut stop)?)?,
                _ => {
                    let batch = sampler.choose(now, self.records.units, &mut self.source, sample)?;
                    self.records.sum(batch, &mut stop, query, (lattice, entry.width, open))?
                }
            };
            if let Total::Plain(sums) = total {
                values = sums;
            } else {
                let sums = total.units(lattice);
                if let Geometry::L1Ball { .. } = geometry {
                    let scale =
                        NonZeroU64::MIN.saturating_add(lattice.resolution.units_per_sigma() as u64 - 1);
                    let mut noise = self.source.laplace(scale, NonZeroU64::MIN)?;
                    for (value, sum) in values.iter_mut().zip(sums) {
                        *value = sum.wrapping_add(noise.draw()) as f64 * lattice.step;
                    }
                } else {
                    self.source.gaussian(lattice.resolution)?.release(&sums, lattice.step, &mut values)?;
                }
                values.iter_mut().zip(&lattice.scales).for_each(|(value, scale)| *value *= scale);
            }
            self.observer.on_release(step, &values)?;
        }
        Ok(Released { values, noise_sd, expected_batch, step: entry.made, guarantee: self.guarantee })
    }

    /// The next release of a group as a job for the place of the records. Nothing is charged.
    fn job(&self, id: SumId, query: &dyn Contributor, key: &SampleKey) -> Result<Job, WallError> {
        let group = self.stage.clone().nth(id.0).ok_or(WallError::UnknownGroup)?;
        let Entry { what, width, kind, planned, made, .. } = &self.plan.groups[group].entry;
        let local = || WallError::Local { what: what.clone() };
        let (Kind::Sum { geometry, sampler, noise_multiplier }, Some(query), Some(place)) =
            (kind.clone(), query.data(), &self.records.place)
        else {
            return Err(local());
        };
        if !sampler.in_parts() || self.guarantee == Guarantee::None(NotPrivate::NoNoise) {
            return Err(local());
        }
        let (what, width, steps) = (what.clone(), *width, *planned);
        Job::new(Description {
            version: env!("CARGO_PKG_VERSION").into(),
            sums: Sums { what, width, geometry, sampler, noise_multiplier, steps },
            records: self.plan.records,
            adjacency: self.plan.adjacency,
            step: made + 1,
            key: key.words(),
            units: self.records.units,
            width: self.records.width,
            least: self.records.least,
            encoding: place.encoding(),
            query,
        })
    }

    /// Draws a candidate with probability proportional to $e^{b_c + \lambda \sum_n s_{nc}}$, for public log weights $b$
    /// (none: all 0) and the scores $s_n$ that `query` contributes, clipped to the planned range.
    ///
    /// # Privacy
    /// Scores are integers between two that are $m = 2^{20}$ units apart. Exchanging a record changes each candidate's
    /// log weight by $-\lambda m$ to $\lambda m$, so log ratios lie in a range of $2\lambda m$; adding one, by amounts
    /// $\lambda m$ apart. That range is the epsilon charged, and $\lambda$ is rounded down to meet it and kept at most 1.
    ///
    /// # Citation
    /// Dong, Durfee, Rogers, "Optimal differential privacy composition for exponential mechanisms", ICML 2020.
    ///
    /// # Errors
    /// [`WallError`] without a release.
    pub fn draw(&mut self, id: DrawId, query: &impl Query, log_weights: &[f64]) -> Result<Drawn, WallError> {
        self.draw_of(id, query, log_weights)
    }

    fn draw_of(
        &mut self,
        id: DrawId,
        query: &dyn Contributor,
        log_weights: &[f64],
    ) -> Result<Drawn, WallError> {
        let one_each = log_weights.is_empty() || log_weights.len() == query.shape().0;
        if !(one_each && log_weights.iter().all(|w| w.abs() < 1e6)) {
            return Err(WallError::LogWeights);
        }
        let group = self.charge(id.0, query, false)?;
        let open = self.guarantee == Guarantee::None(NotPrivate::NoNoise);
        let Group { entry, lattice, weight, .. } = &self.plan.groups[group];
        let Kind::Draw { power, .. } = entry.kind else {
            return Err(WallError::UnknownGroup);
        };
        let power = if open { 1.0 } else { power };
        let step = step(entry);
        if let Some(&[index]) = self.observer.replay(step)?.as_deref() {
            return Ok(Drawn { index: index as usize, power, step: entry.made, guarantee: self.guarantee });
        }
        let log_unit = plan::LOG_UNIT as f64;
        let mut stop = || self.observer.should_stop();
        let mut weights: Vec<i128> =
            match self.records.sum(None, &mut stop, query, (lattice, entry.width, open))? {
                Total::Plain(sums) => sums.iter().map(|sum| (sum * log_unit) as i128).collect(),
                total => {
                    total.units(lattice).iter().map(|&sum| i128::from(sum) * i128::from(*weight)).collect()
                }
            };
        for (weight, base) in weights.iter_mut().zip(log_weights) {
            *weight = weight.saturating_add((base * log_unit) as i128);
        }
        let index = draw::index(&mut self.source.coins()?, &weights);
        self.observer.on_release(step, &[index as f64])?;
        Ok(Drawn { index, power, step: entry.made, guarantee: self.guarantee })
    }

    /// Counts a release of a group of the current stage, or refuses it. Returns the index of the group in the plan.
    fn charge(&mut self, id: usize, query: &dyn Contributor, sum: bool) -> Result<usize, WallError> {
        let group = self.stage.clone().nth(id).ok_or(WallError::UnknownGroup)?;
        self.plan.groups[group].takes(query.shape())?;
        let entry = &mut self.plan.groups[group].entry;
        if sum != matches!(entry.kind, Kind::Sum { .. }) {
            return Err(WallError::UnknownGroup);
        }
        if !sum && self.records.place.is_some() {
            return Err(WallError::Local { what: entry.what.clone() });
        }
        if entry.made >= entry.planned {
            return Err(WallError::Exhausted { what: entry.what.clone(), planned: entry.planned });
        }
        if self.observer.should_stop() {
            return Err(WallError::Stopped);
        }
        if !self.started {
            self.ledger.start(&self.ticket)?;
            self.started = true;
        }
        entry.made += 1;
        Ok(group)
    }

    /// Writes the receipt and settles the charge. `projections` counts how often an engine projected released values
    /// back into their domain.
    ///
    /// # Errors
    /// [`WallError::Ledger`]; the reservation then stays spent.
    pub fn finish(self, projections: u64) -> Result<Receipt, WallError> {
        self.close(projections).settle()
    }

    /// Writes the receipt, which can be completed before it is settled, once its model is saved.
    pub fn close(self, projections: u64) -> Closed {
        let Plan { records, adjacency, groups, .. } = self.plan;
        let groups = groups.into_iter().map(|group| group.entry).collect();
        let receipt =
            Receipt::new(self.guarantee, adjacency, records, groups, projections, self.ledger.name());
        let cost = self.guarantee.cost().filter(|_| self.started);
        Closed { receipt, cost, ledger: self.ledger, ticket: self.ticket }
    }
}

/// A run without further releases that is not settled yet. If it is dropped, the reservation stays spent.
#[must_use]
pub struct Closed {
    /// The receipt that the ledger will keep.
    pub receipt: Receipt,
    cost: Option<Cost>,
    ledger: Box<dyn Ledger>,
    ticket: Ticket,
}

impl Closed {
    /// Settles the charge with the ledger.
    ///
    /// # Errors
    /// [`WallError::Ledger`]; the reservation then stays spent.
    pub fn settle(mut self) -> Result<Receipt, WallError> {
        self.ledger.settle(self.ticket, Spent { cost: self.cost, receipt: &self.receipt })?;
        Ok(self.receipt)
    }
}

/// Checks the number of records against the plan, where that number is public.
fn check_count(plan: &Plan, records: &Records) -> Result<(), WallError> {
    if plan.adjacency == Adjacency::ReplaceOne && records.units != plan.records {
        return Err(WallError::RecordCount { planned: plan.records });
    }
    Ok(())
}

/// The newest release of a group, as reported to an observer.
fn step(entry: &Entry) -> Step<'_> {
    let width = if matches!(entry.kind, Kind::Sum { .. }) { entry.width } else { 1 };
    Step { what: &entry.what, step: entry.made, planned: entry.planned, width }
}

#[cfg(test)]
mod unit_tests;
