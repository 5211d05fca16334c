//! The wall around the records: the only code that sees more than one of them, and the two doors in it.
//!
//! Read it in this order: [`Records`], [`Geometry`], `lattice.rs` (clipping in integers), [`Sampler`] (who takes part, and
//! what that costs), [`Plan`], `sum.rs`, `draw.rs`, and [`Wall`].

mod draw;
mod geometry;
mod lattice;
pub(crate) mod plan;
mod records;
mod sampler;
mod sum;

pub use geometry::{Block, Geometry};
pub use plan::{DrawId, Draws, Plan, PlanError, SumId, Sums};
pub use records::Records;
pub use reticent_noise::{NoiseError, NoiseSource};
pub use sampler::{Rate, Sampler};

use crate::budget::{
    Guarantee, Ledger, LedgerError, NotPrivate, Privacy, PrivacyError, Request, Spent, Ticket,
};
use crate::receipt::{self, Receipt};
use plan::Group;
use reticent_accounting::Adjacency;
use reticent_noise::Provenance;
use serde::Serialize;
use std::num::NonZeroU64;
use std::sync::Arc;

/// What each record contributes to a sum.
///
/// # Privacy
/// This is the only code outside the wall that is shown a record, one at a time. It must be a pure function of that
/// record and of public state: nothing kept, printed or counted. What it writes may be anything; a query that
/// panics counts as one that wrote zeros, though its message may name what it should not.
pub trait Query: Sync {
    /// Coordinates of a contribution.
    fn width(&self) -> usize;
    /// Writes the contribution of a record to `out`, which holds zeros.
    fn contribute(&self, record: &[f64], out: &mut [f64]);
}

/// A noisy sum.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Released {
    /// The sums.
    pub values: Vec<f64>,
    /// The standard deviation of the noise in each.
    #[serde(serialize_with = "as_slice")]
    pub noise_sd: Arc<[f64]>,
    /// How many records take part in such a sum on average. How many did in a Poisson sample stays secret.
    pub expected_batch: f64,
    /// Which release of its group it was charged as, from 1.
    pub step: u64,
    /// What can be said about the whole plan.
    pub guarantee: Guarantee,
}

/// A tempered draw.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drawn {
    /// The candidate.
    pub index: usize,
    /// The power that the scores were tempered with, at most 1.
    pub power: f64,
    /// Which release of its group it was charged as, from 1.
    pub step: u64,
    /// What can be said about the whole plan.
    pub guarantee: Guarantee,
}

/// Why the wall stayed shut. Nothing in it depends on a record, except for [`NotFinite`](Self::NotFinite) and
/// [`RecordCount`](Self::RecordCount), which come before the first release and must not be published.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its variant and fields are")]
pub enum WallError {
    #[error("the records are not whole rows of {width} values")]
    Shape { width: usize },
    #[error("a record has a value that is not finite; hint: encode missing values before")]
    NotFinite,
    #[error("there are not {planned} records, as planned")]
    RecordCount { planned: usize },
    #[error("the plan has no such group")]
    UnknownGroup,
    #[error("a width of {planned} was planned, not {given}")]
    Width { planned: usize, given: usize },
    #[error("all {planned} planned releases of {what:?} have been made; hint: plan more of them beforehand")]
    Exhausted { what: String, planned: u64 },
    #[error("log weights must be none, or one finite number below 1e6 for each candidate")]
    LogWeights,
    #[error(
        "the plan costs epsilon {planned:.4} and at most {allowed} is allowed; hint: more noise or fewer steps"
    )]
    OverBudget { planned: f64, allowed: f64 },
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Noise(#[from] NoiseError),
}

/// The records, and what may be asked about them.
///
/// # Privacy
/// Whatever the queries are, and however each depends on the releases before, everything that comes out together
/// costs at most what was reserved. Each release is charged before a record is read. Attacked by the tests of the
/// parts, and by `nothing_is_released_beyond_the_plan` and `the_ledger_comes_before_the_release`.
pub struct Wall {
    records: Records,
    source: NoiseSource,
    plan: Plan,
    guarantee: Guarantee,
    ledger: Box<dyn Ledger>,
    ticket: Ticket,
    started: bool,
    /// For each group: releases made, and the state of its sampler.
    made: Vec<u64>,
    samples: Vec<Vec<usize>>,
    noise_sd: Vec<Arc<[f64]>>,
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
            Provenance::FixedSeed => Guarantee::None(NotPrivate::FixedSeed),
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
        plan: Plan,
        ledger: Box<dyn Ledger>,
    ) -> Result<Self, WallError> {
        Self::build(records, source, plan, Guarantee::None(NotPrivate::NoNoise), ledger)
    }

    fn build(
        records: Records,
        source: NoiseSource,
        plan: Plan,
        guarantee: Guarantee,
        mut ledger: Box<dyn Ledger>,
    ) -> Result<Self, WallError> {
        if plan.adjacency == Adjacency::ReplaceOne && records.rows() != plan.records {
            return Err(WallError::RecordCount { planned: plan.records });
        }
        let open = guarantee == Guarantee::None(NotPrivate::NoNoise);
        let noise_sd = plan.groups.iter().map(|group| if open { Vec::new() } else { group.noise_sd() });
        let noise_sd = noise_sd.map(Arc::from).collect();
        let releases = plan.groups.iter().map(|group| group.what().into()).collect();
        let ticket = ledger.reserve(&Request { guarantee, event: plan.event(), releases })?;
        let (made, samples) = (vec![0; plan.groups.len()], vec![Vec::new(); plan.groups.len()]);
        let scratch = sum::Scratch::default();
        let started = false;
        Ok(Self {
            records,
            source,
            plan,
            guarantee,
            ledger,
            ticket,
            started,
            made,
            samples,
            noise_sd,
            scratch,
        })
    }

    /// Releases a noisy sum of the contributions of a sample of records.
    ///
    /// # Errors
    /// [`WallError`] without a release. The budget of a step is gone if its noise failed.
    pub fn sum(&mut self, id: SumId, query: &impl Query) -> Result<Released, WallError> {
        self.charge(id.0, query.width())?;
        let Group::Sums { spec, lattice } = &self.plan.groups[id.0] else {
            return Err(WallError::UnknownGroup);
        };
        let step = self.made[id.0];
        let (rows, coins) = (self.records.rows(), self.source.coins()?);
        let batch = spec.sampler.choose(step - 1, rows, coins, &mut self.samples[id.0])?;
        let values = if self.guarantee == Guarantee::None(NotPrivate::NoNoise) {
            sum::plain(&self.records, batch, query)
        } else {
            sum::exact(&self.records, batch, query, lattice, &mut self.scratch);
            let mut values = vec![0.0; spec.width];
            let sums = &mut self.scratch.sum;
            if let Geometry::L1Ball { .. } = spec.geometry {
                let scale = NonZeroU64::MIN.saturating_add(lattice.resolution.units_per_sigma() as u64 - 1);
                let mut noise = self.source.laplace(scale, NonZeroU64::MIN)?;
                for (value, sum) in values.iter_mut().zip(sums) {
                    *value = sum.wrapping_add(noise.draw()) as f64 * lattice.step;
                }
            } else {
                self.source.gaussian(lattice.resolution)?.release(sums, lattice.step, &mut values)?;
            }
            values.iter_mut().zip(&lattice.scales).for_each(|(value, scale)| *value *= scale);
            values
        };
        let expected_batch = spec.sampler.expected(step - 1, self.plan.records);
        let noise_sd = self.noise_sd[id.0].clone();
        Ok(Released { values, noise_sd, expected_batch, step, guarantee: self.guarantee })
    }

    /// Draws a candidate with probability proportional to $e^{b_c + \lambda \sum_n s_{nc}}$, for public log weights $b$
    /// (none: all 0) and the scores $s_n$ that `query` contributes, clipped to the planned range.
    ///
    /// # Privacy
    /// Scores are integers between 0 and a top $m$ of $2^{20}$ units. Exchanging a record changes each candidate's
    /// log weight by $-\lambda m$ to $\lambda m$, so log ratios lie in a range of $2\lambda m$; adding one, by 0 to $\lambda m$. That
    /// range is the epsilon charged, and $\lambda$ is rounded down to meet it and kept at most 1.
    ///
    /// # Citation
    /// Dong, Durfee, Rogers, "Optimal differential privacy composition for exponential mechanisms", ICML 2020.
    ///
    /// # Errors
    /// [`WallError`] without a release.
    pub fn draw(&mut self, id: DrawId, query: &impl Query, log_weights: &[f64]) -> Result<Drawn, WallError> {
        let none = log_weights.is_empty();
        if !(none || log_weights.len() == query.width() && log_weights.iter().all(|w| w.abs() < 1e6)) {
            return Err(WallError::LogWeights);
        }
        self.charge(id.0, query.width())?;
        let Group::Draws { spec, lattice, weight } = &self.plan.groups[id.0] else {
            return Err(WallError::UnknownGroup);
        };
        let all = sampler::Batch::All(self.records.rows());
        let base = |c: usize| if none { 0.0 } else { log_weights[c] };
        let (index, power) = if self.guarantee == Guarantee::None(NotPrivate::NoNoise) {
            let sums = sum::plain(&self.records, all, query);
            let coins = self.source.coins()?;
            let gumbel = |u: u64| -(-((u >> 11) as f64 + 0.5).ln() + 53.0 * std::f64::consts::LN_2).ln();
            let keys: Vec<f64> = (0..sums.len()).map(|c| sums[c] + base(c) + gumbel(coins.u64())).collect();
            ((0..keys.len()).max_by(|&a, &b| keys[a].total_cmp(&keys[b])).unwrap_or_default(), 1.0)
        } else {
            let above = Above { query, lower: spec.lower };
            sum::exact(&self.records, all, &above, lattice, &mut self.scratch);
            let log_weight = |(c, &sum): (usize, &i64)| {
                i128::from(sum) * i128::from(*weight) + (base(c) * plan::LOG_UNIT as f64) as i128
            };
            let weights: Vec<i128> = self.scratch.sum.iter().enumerate().map(log_weight).collect();
            (draw::index(self.source.coins()?, &weights), plan::power(spec, *weight))
        };
        Ok(Drawn { index, power, step: self.made[id.0], guarantee: self.guarantee })
    }

    /// Counts a release of a group, or refuses it.
    fn charge(&mut self, group: usize, width: usize) -> Result<(), WallError> {
        let spec = self.plan.groups.get(group).ok_or(WallError::UnknownGroup)?;
        if spec.width() != width {
            return Err(WallError::Width { planned: spec.width(), given: width });
        }
        if self.made[group] >= spec.planned() {
            return Err(WallError::Exhausted { what: spec.what().into(), planned: spec.planned() });
        }
        if !self.started {
            self.ledger.start(&self.ticket)?;
            self.started = true;
        }
        self.made[group] += 1;
        Ok(())
    }

    /// Settles with the ledger and writes the receipt. `projections` is how often an engine had to move released values
    /// back into their domain.
    ///
    /// # Errors
    /// [`WallError::Ledger`]; what was reserved then stays spent.
    pub fn finish(mut self, projections: u64) -> Result<Receipt, WallError> {
        let groups = self.plan.groups.iter().zip(self.plan.events()).zip(&self.made);
        let receipt = Receipt {
            software: concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).into(),
            guarantee: self.guarantee,
            adjacency: self.plan.adjacency,
            records: self.plan.records,
            groups: groups.map(|((group, event), &made)| group.receipt(event, made)).collect(),
            projections,
            noise: match self.guarantee {
                Guarantee::None(reason) => reason.to_string(),
                Guarantee::Private(_) => self.source.provenance().to_string(),
            },
            ledger: self.ledger.name(),
            assumptions: receipt::assumptions(self.plan.adjacency),
        };
        let cost = self.guarantee.cost().filter(|_| self.started);
        self.ledger.settle(self.ticket, Spent { cost, receipt: &receipt })?;
        Ok(receipt)
    }
}

/// Scores from their lower bound up.
struct Above<'a, Q> {
    query: &'a Q,
    lower: f64,
}

impl<Q: Query> Query for Above<'_, Q> {
    fn width(&self) -> usize {
        self.query.width()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        self.query.contribute(record, out);
        out.iter_mut().for_each(|x| *x -= self.lower);
    }
}

fn as_slice<S: serde::Serializer>(values: &Arc<[f64]>, serializer: S) -> Result<S::Ok, S::Error> {
    values[..].serialize(serializer)
}
