//! What a run will release, fixed before it sees a record.

use super::geometry::{Distance, Geometry};
use super::lattice::Lattice;
use super::sampler::Sampler;
use crate::receipt;
use reticent_accounting::pld::Bracket;
use reticent_accounting::{Adjacency, Cost, Event, Mechanism, Method, Sampling, account};
use reticent_noise::{Resolution, TV_PER_DRAW};

/// The share of delta kept for what is not exact in the noise.
const NOISE_SHARE: f64 = 1e-4;

/// Lattice units between the lower and the upper bound of a score.
pub(super) const SCORE_UNITS: u32 = 1 << 20;

/// Log weights of candidates are integers over this.
pub(super) const LOG_UNIT: u64 = (SCORE_UNITS as u64) << 32;

/// A number of noisy sums of the same kind.
#[derive(Debug, Clone)]
pub struct Sums {
    /// What is summed, for the receipt.
    pub what: String,
    /// Coordinates of a contribution.
    pub width: usize,
    /// What contributions are clipped to. An [`L1Ball`](Geometry::L1Ball) gets Laplace noise, all others Gaussian.
    pub geometry: Geometry,
    /// Which records take part.
    pub sampler: Sampler,
    /// The standard deviation (Laplace: the scale) of the noise over the sensitivity under the plan's adjacency. For
    /// Poisson samples under replace-one, over twice the reach of the geometry.
    pub noise_multiplier: f64,
    /// How many sums.
    pub steps: u64,
}

/// A number of draws from exponential mechanisms of the same kind, each about all records.
#[derive(Debug, Clone)]
pub struct Draws {
    /// What is drawn, for the receipt.
    pub what: String,
    /// How many candidates there are.
    pub candidates: usize,
    /// The least score of a record for a candidate.
    pub lower: f64,
    /// The greatest score of a record for a candidate.
    pub upper: f64,
    /// The width of the range of log probability ratios between neighbours, for one draw.
    pub epsilon: f64,
    /// How many draws.
    pub draws: u64,
}

/// Names a group of sums of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumId(pub(super) usize);

/// Names a group of draws of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawId(pub(super) usize);

/// Why a plan is not possible. Nothing in it depends on a record.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its variant and fields are")]
pub enum PlanError {
    #[error("{what}: {fault}")]
    Invalid { what: String, fault: &'static str },
    #[error(
        "{what}: no lattice suits a noise multiplier of {multiplier} here; \
             hint: take one nearer to 1, fewer coordinates or a box nearer to 0"
    )]
    Lattice { what: String, multiplier: f64 },
    #[error(transparent)]
    Accounting(#[from] reticent_accounting::Error),
    #[error("a guarantee without delta needs Laplace sums and draws only; hint: choose a positive delta")]
    DeltaNeeded,
    #[error(
        "epsilon {epsilon:.3} is beyond what the noise is certified for; hint: plan fewer or noisier releases"
    )]
    Certificate { epsilon: f64 },
}

pub(super) enum Group {
    Sums { spec: Sums, lattice: Lattice },
    Draws { spec: Draws, lattice: Lattice, weight: u64 },
}

/// What a run will release, priced as a whole.
///
/// # Privacy
/// Releases may depend on the ones before, in any order within the plan: the cost is that of their adaptive
/// composition. The number of records is a public number: the true one under replace-one adjacency, where it is
/// checked, and any public guess under add/remove.
pub struct Plan {
    pub(crate) records: usize,
    pub(crate) adjacency: Adjacency,
    pub(super) groups: Vec<Group>,
}

impl Plan {
    /// A plan for this many records, without releases yet.
    #[must_use]
    pub fn new(records: usize, adjacency: Adjacency) -> Self {
        Self { records, adjacency, groups: Vec::new() }
    }

    /// Adds sums to the plan.
    ///
    /// # Errors
    /// [`PlanError::Invalid`] and [`PlanError::Lattice`].
    pub fn sums(&mut self, spec: Sums) -> Result<SumId, PlanError> {
        let fault = if spec.width == 0 || spec.steps == 0 {
            Some("the width and the number of steps must be at least 1")
        } else if !spec.sampler.fits(self.records) {
            Some("a batch must have at least 1 record and at most all of them")
        } else if !(1e-6..=1e9).contains(&spec.noise_multiplier) {
            Some("the noise multiplier must be between 1e-6 and 1e9")
        } else {
            spec.geometry.fault(spec.width)
        };
        let what = spec.what.clone();
        if let Some(fault) = fault {
            return Err(PlanError::Invalid { what, fault });
        }
        let distance = match (self.adjacency, spec.sampler) {
            (Adjacency::AddRemove, _) => Distance::Reach,
            (Adjacency::ReplaceOne, Sampler::Poisson { .. }) => Distance::TwiceReach,
            (Adjacency::ReplaceOne, _) => Distance::Diameter,
        };
        // The rounding of B contributions over T steps must stay far below the noise of all.
        let rounding = spec.sampler.expected(0, self.records) * (spec.steps as f64).sqrt();
        let order = if rounding > 1e5 {
            [Resolution::Bits40, Resolution::Bits23]
        } else {
            [Resolution::Bits23, Resolution::Bits40]
        };
        let lattice = order.into_iter().find_map(|resolution| {
            Lattice::new(&spec.geometry, spec.width, distance, spec.noise_multiplier, resolution)
                .filter(|lattice| lattice.holds(self.records))
        });
        let lattice = lattice.ok_or(PlanError::Lattice { what, multiplier: spec.noise_multiplier })?;
        self.groups.push(Group::Sums { spec, lattice });
        Ok(SumId(self.groups.len() - 1))
    }

    /// Adds draws to the plan.
    ///
    /// # Errors
    /// [`PlanError::Invalid`].
    pub fn draws(&mut self, spec: Draws) -> Result<DrawId, PlanError> {
        let range = spec.upper - spec.lower;
        let valid = spec.candidates > 0
            && spec.draws > 0
            && spec.lower.abs().max(spec.upper.abs()) <= 1e100
            && (1e-6..=100.0).contains(&range)
            && (1e-6..=100.0).contains(&spec.epsilon)
            && self.records < 1 << 40;
        if !valid {
            let fault =
                "draws need candidates, scores with a range of 1e-6 to 100 and an epsilon of 1e-6 to 100";
            return Err(PlanError::Invalid { what: spec.what, fault });
        }
        // Rounded down, and never sharper than the posterior itself.
        let power = (spec.epsilon / self.record_ends()).min(range);
        let weight = (power * (1u64 << 32) as f64) as u64;
        let lattice = Lattice::interval(spec.candidates, range, SCORE_UNITS);
        self.groups.push(Group::Draws { spec, lattice, weight });
        Ok(DrawId(self.groups.len() - 1))
    }

    /// How many records' scores a pair of neighbours differs by.
    fn record_ends(&self) -> f64 {
        if self.adjacency == Adjacency::ReplaceOne { 2.0 } else { 1.0 }
    }

    /// One event per group.
    pub(crate) fn events(&self) -> impl Iterator<Item = Event> + '_ {
        self.groups.iter().map(|group| match group {
            Group::Sums { spec, .. } => {
                let noise_multiplier = spec.noise_multiplier;
                let mechanism = match spec.geometry {
                    Geometry::L1Ball { .. } => Mechanism::Laplace { noise_multiplier },
                    _ => Mechanism::Gaussian { noise_multiplier },
                };
                spec.sampler.event(mechanism, spec.steps, self.records)
            }
            Group::Draws { spec, weight, .. } => {
                let epsilon = self.record_ends() * *weight as f64 / (1u64 << 32) as f64;
                Event::release(Mechanism::BoundedRange { epsilon }, Sampling::None).repeat(spec.draws)
            }
        })
    }

    /// All that will happen.
    #[must_use]
    pub fn event(&self) -> Event {
        Event::Compose(self.events().collect())
    }

    /// What the whole plan costs, would its noise be secret.
    ///
    /// # Privacy
    /// By coupling, $n$ Gaussian draws add $(1 + e^\varepsilon) n \tau$ to delta, with the $\tau$ of [`TV_PER_DRAW`]; a
    /// ten-thousandth of delta is kept for them. Without delta, the epsilons of the releases add up.
    ///
    /// # Errors
    /// [`PlanError`] if no accountant has a bound for it.
    pub fn price(&self, delta: f64) -> Result<Cost, PlanError> {
        let (event, adjacency) = (self.event(), self.adjacency);
        if delta == 0.0 {
            let mut total = 0.0;
            for (release, times) in event.releases()? {
                let epsilon = match release.mechanism {
                    Mechanism::Laplace { noise_multiplier } => 1.0 / noise_multiplier,
                    Mechanism::Pure { epsilon } | Mechanism::BoundedRange { epsilon } => epsilon,
                    Mechanism::Gaussian { .. } => return Err(PlanError::DeltaNeeded),
                };
                total += epsilon * times as f64;
            }
            let epsilon = Bracket { lower: 0.0, upper: total * (1.0 + 1e-12) };
            return Ok(Cost { epsilon, delta, adjacency, method: Method::Composition });
        }
        let cost = account(&event, adjacency, delta * (1.0 - NOISE_SHARE), Method::Auto)?;
        let gaussian = self.groups.iter().map(|group| match group {
            Group::Sums { spec, .. } => spec.width as f64 * spec.steps as f64,
            Group::Draws { .. } => 0.0,
        });
        let gap = (1.0 + cost.epsilon.upper.exp()) * gaussian.sum::<f64>() * TV_PER_DRAW;
        if gap > NOISE_SHARE * delta {
            return Err(PlanError::Certificate { epsilon: cost.epsilon.upper });
        }
        Ok(Cost { delta, ..cost })
    }
}

/// The power of the scores that a weight stands for.
pub(super) fn power(spec: &Draws, weight: u64) -> f64 {
    weight as f64 / (1u64 << 32) as f64 / (spec.upper - spec.lower)
}

impl Group {
    /// The standard deviation of the noise in each coordinate; none for draws.
    pub(super) fn noise_sd(&self) -> Vec<f64> {
        let Self::Sums { spec, lattice } = self else { return Vec::new() };
        let units = lattice.resolution.units_per_sigma() as f64;
        let spread = if let Geometry::L1Ball { .. } = spec.geometry { std::f64::consts::SQRT_2 } else { 1.0 };
        let scale = |k: usize| lattice.scales.get(k).copied().unwrap_or(1.0);
        (0..spec.width).map(|k| spread * units * lattice.step * scale(k)).collect()
    }

    /// What the receipt says about it.
    pub(super) fn receipt(&self, event: Event, made: u64) -> receipt::Group {
        let kind = match self {
            Self::Sums { spec, .. } => receipt::Kind::Sum {
                geometry: spec.geometry.clone(),
                sampler: spec.sampler,
                noise_multiplier: spec.noise_multiplier,
            },
            Self::Draws { spec, weight, .. } => {
                receipt::Kind::Draw { scores: (spec.lower, spec.upper), power: power(spec, *weight) }
            }
        };
        receipt::Group {
            what: self.what().into(),
            width: self.width(),
            kind,
            planned: self.planned(),
            made,
            event,
        }
    }

    pub(super) fn what(&self) -> &str {
        match self {
            Self::Sums { spec, .. } => &spec.what,
            Self::Draws { spec, .. } => &spec.what,
        }
    }

    pub(super) fn width(&self) -> usize {
        match self {
            Self::Sums { spec, .. } => spec.width,
            Self::Draws { spec, .. } => spec.candidates,
        }
    }

    pub(super) fn planned(&self) -> u64 {
        match self {
            Self::Sums { spec, .. } => spec.steps,
            Self::Draws { spec, .. } => spec.draws,
        }
    }
}
