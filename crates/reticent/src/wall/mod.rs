//! The wall around the records: the only code that sees more than one of them, and the two doors in it.
//!
//! Read it in this order: [`Records`], [`Geometry`], `lattice.rs` (clipping in integers), [`Sampler`] (who takes part, and
//! what that costs), [`Plan`], `sum.rs`, `draw.rs`, and [`Wall`].

mod draw;
mod geometry;
mod lattice;
mod plan;
mod records;
mod sampler;
mod sum;

pub use crate::error::{PlanError, WallError};
pub use crate::release::{Drawn, Draws, Released, Sums};
pub use geometry::{Block, Geometry};
pub use plan::{DrawId, Plan, SumId};
pub use records::{Pass, Records};
pub use reticent_noise::{NoiseError, NoiseSource};
pub use sampler::{Rate, Sampler};

use crate::budget::{Guarantee, Ledger, NotPrivate, Privacy, Request, Spent, Ticket};
use crate::receipt::{Kind, Receipt};
use plan::Group;
use reticent_accounting::Adjacency;
use reticent_noise::Provenance;
use std::num::NonZeroU64;

/// What each record contributes to a sum.
///
/// # Privacy
/// This is the only code outside the wall that is shown a record, one at a time. It must be a pure function of that
/// record and of public state: nothing kept, printed or counted. What it writes may be anything; a query that
/// panics counts as one that wrote zeros, and its message is not printed.
pub trait Query: Sync {
    /// Coordinates of a contribution.
    fn width(&self) -> usize;
    /// Coordinates in a block, if contributions are sparse: they are 0 in all blocks but few. Only within a ball.
    fn block(&self) -> usize {
        self.width()
    }
    /// Names the blocks that a sparse contribution is about, in increasing order.
    fn blocks(&self, _record: &[f64], blocks: &mut Vec<usize>) {
        blocks.push(0);
    }
    /// Writes the contribution of a record, or only its blocks one after the other, to `out`, which holds zeros.
    fn contribute(&self, record: &[f64], out: &mut [f64]);
}

/// The records, and what may be asked about them.
///
/// # Privacy
/// Whatever the queries are, and however each depends on the releases before, everything that comes out together
/// costs at most what was reserved. Each release is charged before a record is read. Attacked by the tests of the
/// parts, and by `nothing_is_released_beyond_the_plan` and `the_ledger_comes_before_the_release`. It does not give its
/// records back:
///
/// ```compile_fail,E0616
/// fn look(wall: reticent::wall::Wall) -> reticent::wall::Records {
///     wall.records
/// }
/// ```
pub struct Wall {
    records: Records,
    source: NoiseSource,
    plan: Plan,
    guarantee: Guarantee,
    ledger: Box<dyn Ledger>,
    ticket: Ticket,
    started: bool,
    scratch: sum::Scratch,
}

impl Wall {
    /// Prices the plan, compares it with the privacy asked for and reserves it.
    ///
    /// # Errors
    /// Any [`WallError`] that says why this cannot be. Nothing has been released or charged then.
    pub fn new(
        records: Records,
        source: NoiseSource,
        mut plan: Plan,
        privacy: &Privacy,
        ledger: Box<dyn Ledger>,
    ) -> Result<Self, WallError> {
        plan.earlier = ledger.earlier();
        privacy.check(plan.records, plan.adjacency)?;
        let cost = plan.price(privacy.delta())?;
        let (planned, allowed) = (cost.epsilon.upper, privacy.epsilon());
        if planned.is_nan() || planned > allowed {
            return Err(WallError::OverBudget { planned, allowed });
        }
        let priced = plan.entries().all(|entry| entry.event.is_some());
        let guarantee = match source.provenance() {
            Provenance::OperatingSystem if priced => Guarantee::Private(cost),
            _ => Guarantee::None(NotPrivate::FixedSeed),
        };
        Self::build(records, source, plan, guarantee, ledger)
    }

    /// **Not private.** The same interface without noise, clipping and tempering, for baselines. The source only
    /// chooses the records.
    ///
    /// # Errors
    /// Any [`WallError`] that says why this cannot be.
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
        if plan.adjacency == Adjacency::ReplaceOne && records.rows != plan.records {
            return Err(WallError::RecordCount { planned: plan.records });
        }
        let releases = plan.entries().map(|entry| entry.what.clone()).collect();
        let ticket = ledger.reserve(&Request { guarantee, event: plan.event(), releases })?;
        sum::silence_queries();
        let (started, scratch) = (false, sum::Scratch::default());
        Ok(Self { records, source, plan, guarantee, ledger, ticket, started, scratch })
    }

    /// Releases a noisy sum of the contributions of a sample of records.
    ///
    /// # Errors
    /// [`WallError`] without a release. The budget of a step is gone if its noise failed.
    pub fn sum(&mut self, id: SumId, query: &impl Query) -> Result<Released, WallError> {
        self.charge(id.0, query, true)?;
        let open = self.guarantee == Guarantee::None(NotPrivate::NoNoise);
        let Group { entry, lattice, noise_sd, sample, .. } = &mut self.plan.groups[id.0];
        let Kind::Sum { geometry, sampler, .. } = &entry.kind else {
            return Err(WallError::UnknownGroup);
        };
        let expected_batch = sampler.expected(entry.made - 1, self.plan.records);
        let (mut values, noise_sd) = (vec![0.0; entry.width], noise_sd.clone());
        if let Some(recalled) = self.ledger.recall(&entry.what, entry.made, entry.width)? {
            values = recalled;
        } else {
            let batch = sampler.choose(entry.made - 1, self.records.rows, &mut self.source, sample)?;
            if open {
                sum::plain(&mut self.records, batch, query, &mut values);
            } else {
                let mut sums = vec![0; entry.width];
                sum::exact((&mut self.records, batch), query, lattice, (&mut self.scratch, &mut sums));
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
            self.ledger.released(&entry.what, entry.made, &values)?;
        }
        Ok(Released { values, noise_sd, expected_batch, step: entry.made, guarantee: self.guarantee })
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
        let one_each = log_weights.is_empty() || log_weights.len() == query.width();
        if !(one_each && log_weights.iter().all(|w| w.abs() < 1e6)) {
            return Err(WallError::LogWeights);
        }
        self.charge(id.0, query, false)?;
        let open = self.guarantee == Guarantee::None(NotPrivate::NoNoise);
        let Group { entry, lattice, weight, .. } = &self.plan.groups[id.0];
        let Kind::Draw { power, .. } = entry.kind else {
            return Err(WallError::UnknownGroup);
        };
        let power = if open { 1.0 } else { power };
        if let Some(&[index]) = self.ledger.recall(&entry.what, entry.made, 1)?.as_deref() {
            return Ok(Drawn { index: index as usize, power, step: entry.made, guarantee: self.guarantee });
        }
        let log_unit = plan::LOG_UNIT as f64;
        let mut weights: Vec<i128> = if open {
            let mut sums = vec![0.0; entry.width];
            sum::plain(&mut self.records, None, query, &mut sums);
            sums.iter().map(|sum| (sum * log_unit) as i128).collect()
        } else {
            let mut sums = vec![0; entry.width];
            sum::exact((&mut self.records, None), query, lattice, (&mut self.scratch, &mut sums));
            sums.iter().map(|&sum| i128::from(sum) * i128::from(*weight)).collect()
        };
        for (weight, base) in weights.iter_mut().zip(log_weights) {
            *weight = weight.saturating_add((base * log_unit) as i128);
        }
        let index = draw::index(&mut self.source.coins()?, &weights);
        self.ledger.released(&entry.what, entry.made, &[index as f64])?;
        Ok(Drawn { index, power, step: entry.made, guarantee: self.guarantee })
    }

    /// Counts a release of a group, or refuses it.
    fn charge(&mut self, group: usize, query: &impl Query, sum: bool) -> Result<(), WallError> {
        let Group { entry, lattice, .. } = self.plan.groups.get_mut(group).ok_or(WallError::UnknownGroup)?;
        if sum != matches!(entry.kind, Kind::Sum { .. }) {
            return Err(WallError::UnknownGroup);
        }
        let width = query.width();
        if entry.width != width {
            return Err(WallError::Width { planned: entry.width, given: width });
        }
        if query.block() < width && !lattice.is_ball() {
            return Err(WallError::Sparse);
        }
        if entry.made >= entry.planned {
            return Err(WallError::Exhausted { what: entry.what.clone(), planned: entry.planned });
        }
        self.ledger.release(&entry.what, entry.made + 1, entry.planned)?;
        if !self.started {
            self.ledger.start(&self.ticket)?;
            self.started = true;
        }
        entry.made += 1;
        Ok(())
    }

    /// Settles with the ledger and writes the receipt. `projections` is how often an engine had to move released values
    /// back into their domain.
    ///
    /// # Errors
    /// [`WallError::Ledger`]; what was reserved then stays spent.
    pub fn finish(mut self, projections: u64) -> Result<Receipt, WallError> {
        let Plan { records, adjacency, groups, earlier } = self.plan;
        let groups = groups.into_iter().map(|group| group.entry).chain(earlier).collect();
        let receipt =
            Receipt::new(self.guarantee, adjacency, records, groups, projections, self.ledger.name());
        let cost = self.guarantee.cost().filter(|_| self.started);
        self.ledger.settle(self.ticket, Spent { cost, receipt: &receipt })?;
        Ok(receipt)
    }
}
