//! The releases of a run, fixed before a record is read.

use super::error::{PlanError, WallError};
use super::geometry::{Distance, Geometry};
use super::lattice::Lattice;
use super::release::{Draws, Sums};
use super::sampler::Sampler;
use crate::receipt::{Entry, Kind};
use reticent_accounting::{Adjacency, Cost, Event, Mechanism, Method, Sampling, account};
use reticent_noise::{Resolution, TV_PER_DRAW};
use std::sync::Arc;

/// Lattice units between the lower and the upper bound of a score.
const SCORE_UNITS: u32 = 1 << 20;
/// The unit of tempered scores is one over this.
const WEIGHT_UNIT: u64 = 1 << 32;
/// The unit of log weights of candidates is one over this.
pub(super) const LOG_UNIT: u64 = SCORE_UNITS as u64 * WEIGHT_UNIT;

/// Identifies a group of sums of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumId(pub(super) usize);

/// Identifies a group of draws of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrawId(pub(super) usize);

/// Releases of the same query, geometry and sampler.
pub(super) struct Group {
    /// The entry of the receipt, which the wall also enforces.
    pub(super) entry: Entry,
    pub(super) lattice: Lattice,
    /// Standard deviation of the noise of each coordinate of a sum.
    pub(super) noise_sd: Arc<[f64]>,
    /// The state of the sampler of sums.
    pub(super) sample: Vec<usize>,
    /// Log weight of one lattice unit of a score, in units of 1/[`LOG_UNIT`].
    pub(super) weight: u64,
}

impl Group {
    /// Whether its contributions are those of a query of this width and block.
    pub(super) fn takes(&self, (width, block): (usize, usize)) -> Result<(), WallError> {
        let planned = self.lattice.outer.as_ref().map_or(self.entry.width, |outer| outer.size);
        if planned != width {
            return Err(WallError::Width { planned, given: width });
        }
        if block < width && !self.lattice.is_ball() { Err(WallError::Sparse) } else { Ok(()) }
    }
}

/// The releases of a run, priced as a whole.
///
/// # Privacy
/// A release may depend on earlier ones, in any order within the plan: the cost is that of their adaptive
/// composition. The number of records is public: the true number under replace-one adjacency, where it is checked,
/// and any public guess under add/remove.
pub struct Plan {
    pub(super) records: usize,
    pub(super) adjacency: Adjacency,
    pub(super) groups: Vec<Group>,
    /// Index of the first group of each stage after the first.
    pub(super) stages: Vec<usize>,
}

impl Plan {
    /// A plan for this many records, without releases.
    #[must_use]
    pub fn new(records: usize, adjacency: Adjacency) -> Self {
        Self { records, adjacency, groups: Vec::new(), stages: Vec::new() }
    }

    /// Adds sums to the plan.
    ///
    /// # Errors
    /// [`PlanError::Invalid`] and [`PlanError::Lattice`].
    pub fn sums(&mut self, spec: Sums) -> Result<SumId, PlanError> {
        let Sums { what, width, geometry, sampler, noise_multiplier, steps } = spec;
        let fault = if !(1..=1 << 26).contains(&width) || steps == 0 {
            Some("the width must be from 1 to 2^26, and the number of steps at least 1")
        } else if !sampler.fits(self.records) {
            Some("a batch must have at least 1 record and at most all of them")
        } else if !(1e-6..=1e9).contains(&noise_multiplier) {
            Some("the noise multiplier must be between 1e-6 and 1e9")
        } else {
            geometry.fault(width)
        };
        if let Some(fault) = fault {
            return Err(PlanError::Invalid { what, fault });
        }
        let distance = match (self.adjacency, sampler) {
            (Adjacency::AddRemove, _) => Distance::Norm,
            (Adjacency::ReplaceOne, Sampler::Poisson { .. }) => Distance::TwiceNorm,
            (Adjacency::ReplaceOne, _) => Distance::Diameter,
        };
        // The rounding errors of B contributions over T steps must stay far below the noise of all steps.
        let rounding = sampler.expected(0, self.records) * (steps as f64).sqrt();
        let mut order = [Resolution::Bits23, Resolution::Bits40];
        // Sums of outer products are rounded to the noise's lattice once, which the sensitivity includes.
        order.rotate_left(usize::from(rounding > 1e5 || matches!(geometry, Geometry::Outer { .. })));
        let lattice = order.into_iter().find_map(|resolution| {
            Lattice::new(&geometry, width, distance, noise_multiplier, resolution)
                .filter(|lattice| lattice.holds(self.records))
        });
        let none = || PlanError::Lattice { what: what.clone(), multiplier: noise_multiplier };
        let lattice = lattice.ok_or_else(none)?;
        let (mechanism, spread) = match geometry {
            Geometry::L1Ball { .. } => (Mechanism::Laplace { noise_multiplier }, 2f64.sqrt()),
            _ => (Mechanism::Gaussian { noise_multiplier }, 1.0),
        };
        let sd = spread * lattice.resolution.units_per_sigma() as f64 * lattice.step;
        let noise_sd = (0..width).map(|k| sd * lattice.scales.get(k).unwrap_or(&1.0)).collect();
        let event = sampler.event(mechanism, steps, self.records);
        let kind = Kind::Sum { geometry, sampler, noise_multiplier };
        let entry = Entry { what, width, kind, planned: steps, made: 0, event: Some(event) };
        self.groups.push(Group { entry, lattice, noise_sd, sample: Vec::new(), weight: 0 });
        Ok(SumId(self.groups.len() - 1))
    }

    /// Adds draws to the plan.
    ///
    /// # Errors
    /// [`PlanError::Invalid`].
    pub fn draws(&mut self, spec: Draws) -> Result<DrawId, PlanError> {
        let Draws { what, candidates, lower, upper, epsilon, draws } = spec;
        let (range, sane) = (upper - lower, 1e-6..=100.0);
        let lattice = Lattice::interval(candidates, lower, upper, SCORE_UNITS);
        let valid = candidates > 0 && draws > 0 && sane.contains(&range) && sane.contains(&epsilon);
        if !(valid && lower.abs() <= 1e6 * range && lattice.holds(self.records.max(1 << 36))) {
            let fault = "draws need candidates, an epsilon of 1e-6 to 100, and scores with a range of 1e-6 to 100 \
                         that is not far from 0";
            return Err(PlanError::Invalid { what, fault });
        }
        // Rounded down, and never sharper than the posterior itself. Neighbours differ in two records (replace-one)
        // or one.
        let factor = self.adjacency.sensitivity_factor(2.0);
        let weight = ((epsilon / factor).min(range) * WEIGHT_UNIT as f64) as u64;
        let tempered = weight as f64 / WEIGHT_UNIT as f64;
        let mechanism = Mechanism::BoundedRange { epsilon: factor * tempered };
        let event = Event::release(mechanism, Sampling::None).repeat(draws);
        let kind = Kind::Draw { scores: (lower, upper), power: tempered / range };
        let entry = Entry { what, width: candidates, kind, planned: draws, made: 0, event: Some(event) };
        self.groups.push(Group { entry, lattice, noise_sd: Arc::default(), sample: Vec::new(), weight });
        Ok(DrawId(self.groups.len() - 1))
    }

    /// Appends a plan about the same records as a further stage; both are priced as one. Its releases are made after
    /// [`Wall::next_stage`](super::Wall::next_stage). A run may estimate bounds in one stage, and fit records encoded
    /// by them in the next.
    ///
    /// # Errors
    /// [`PlanError::Invalid`] if the plans are not about the same records.
    pub fn then(mut self, next: Self) -> Result<Self, PlanError> {
        if (self.records, self.adjacency) != (next.records, next.adjacency) {
            let fault = "the stages of a plan must have the same number of records and adjacency";
            return Err(PlanError::Invalid { what: "stages".into(), fault });
        }
        let before = self.groups.len();
        self.stages.push(before);
        self.stages.extend(next.stages.into_iter().map(|stage| before + stage));
        self.groups.extend(next.groups);
        Ok(self)
    }

    /// The planned releases, one entry for each group.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.groups.iter().map(|group| &group.entry)
    }

    /// The accounting event of all releases.
    #[must_use]
    pub fn event(&self) -> Event {
        Event::Compose(self.entries().filter_map(|entry| entry.event.clone()).collect())
    }

    /// Total variation between the noise of all releases and ideal noise: by coupling, that of one Gaussian draw times their number.
    #[must_use]
    pub fn noise_deviation(&self) -> f64 {
        let gaussian = self.entries().filter(|entry| match &entry.kind {
            Kind::Sum { geometry, .. } => !matches!(geometry, Geometry::L1Ball { .. }),
            Kind::Draw { .. } => false,
        });
        gaussian.map(|entry| entry.width as f64 * entry.planned as f64 * TV_PER_DRAW).sum()
    }

    /// The cost of the whole plan, if its noise is secret.
    ///
    /// # Privacy
    /// [Noise that is not ideal](Self::noise_deviation) adds $(1 + e^\varepsilon) \tau$ to delta.
    /// A ten-thousandth of delta is kept for them, or up to half of it if needed (at an epsilon of 30 and more).
    ///
    /// # Errors
    /// [`PlanError`] if no accountant bounds the cost.
    pub fn price(&self, delta: f64) -> Result<Cost, PlanError> {
        let deviation = self.noise_deviation();
        let mut epsilon = 0.0;
        for share in [1e-4, 0.1, 0.5] {
            let cost = account(&self.event(), self.adjacency, delta * (1.0 - share), Method::Auto)?;
            epsilon = cost.epsilon.upper;
            if deviation == 0.0 || (1.0 + epsilon.exp()) * deviation <= share * delta {
                return Ok(Cost { delta, ..cost });
            }
        }
        Err(PlanError::Certificate { epsilon, largest: (0.5 * delta / deviation - 1.0).ln() })
    }
}
