//! Plans of sums, from JSON: priced and calibrated.

use pyo3::prelude::*;
use reticent::{Adjacency, Privacy};
use reticent_accounting::{Event, Mechanism, Method, Sampling, calibrate};
use reticent_core::wall::{Geometry, Plan, PlanError, Sampler, SumId, Sums};
use serde::Deserialize;

use crate::error::{OrRaise, settings};

/// Shares of delta that are kept for the inexactness of the noise, in the order in which they are tried. The wall keeps as much.
const KEPT: [f64; 3] = [2e-4, 0.11, 0.6];
/// Noise multipliers are larger than needed by this, relatively, so that rounding does not exceed a budget.
const MARGIN: f64 = 1e-6;

/// A plan, as `reticent.query.Plan` writes it.
#[derive(Deserialize)]
pub(super) struct Written {
    records: usize,
    pub(super) adjacency: Adjacency,
    sums: Vec<WrittenSums>,
}

/// A group of sums. One without a noise multiplier gets it from the budget.
#[derive(Deserialize)]
struct WrittenSums {
    what: String,
    width: usize,
    geometry: Geometry,
    sampler: Sampler,
    noise_multiplier: Option<f64>,
    steps: u64,
    /// The part of what the other groups leave of the budget, relative to those of others.
    share: f64,
}

impl WrittenSums {
    fn mechanism(&self, noise_multiplier: f64) -> Mechanism {
        match self.geometry {
            Geometry::L1Ball { .. } => Mechanism::Laplace { noise_multiplier },
            _ => Mechanism::Gaussian { noise_multiplier },
        }
    }

    /// How the records of a release are sampled, how often the accountant counts a release, and the share of the records.
    fn sampling(&self, records: usize) -> (Sampling, u64, f64) {
        let part = |batch: usize| batch as f64 / records as f64;
        match self.sampler {
            Sampler::Full => (Sampling::None, self.steps, 1.0),
            Sampler::Fixed { batch } => {
                (Sampling::Fixed { batch: batch as u64, records: records as u64 }, self.steps, part(batch))
            }
            Sampler::Poisson { rate } => (Sampling::Poisson { rate: rate.value() }, self.steps, rate.value()),
            Sampler::Pass { batch } => {
                (Sampling::Pass, self.steps.div_ceil(records.div_ceil(batch) as u64), 1.0)
            }
        }
    }

    /// The noise multiplier relative to that of other groups: Gaussian releases about all records take parts of a budget in
    /// proportion to the squares of their reciprocals, and samples of a share of the records about that share as much.
    fn relative(&self, records: usize) -> f64 {
        let (_, times, rate) = self.sampling(records);
        rate * (times as f64 / self.share).sqrt()
    }
}

impl Written {
    pub(super) fn read(py: Python<'_>, text: &str) -> PyResult<Self> {
        serde_json::from_str(text).map_err(|error| {
            settings(
                py,
                &format!("a sum of the plan is invalid: {error}"),
                "see `help(reticent.query.Plan.sums)`",
            )
        })
    }

    /// The plan of the wall with these noise multipliers.
    fn with(&self, multipliers: &[f64]) -> Result<(Plan, Vec<SumId>), PlanError> {
        let mut plan = Plan::new(self.records, self.adjacency);
        let group = |(sums, multiplier): (&WrittenSums, &f64)| {
            let WrittenSums { what, width, geometry, sampler, steps, .. } = sums;
            plan.sums(Sums {
                what: what.clone(),
                width: *width,
                geometry: geometry.clone(),
                sampler: *sampler,
                noise_multiplier: *multiplier,
                steps: *steps,
            })
        };
        let ids = self.sums.iter().zip(multipliers).map(group).collect::<Result<_, _>>()?;
        Ok((plan, ids))
    }

    /// The noise multipliers that are stated; those that are not are `other`.
    fn multipliers(&self, other: f64) -> Vec<f64> {
        let free = || self.sums.iter().filter(|sums| sums.noise_multiplier.is_none());
        let largest = free().map(|sums| sums.relative(self.records)).fold(0.0, f64::max);
        let multiplier = |sums: &WrittenSums| {
            sums.noise_multiplier.unwrap_or_else(|| other * sums.relative(self.records) / largest)
        };
        self.sums.iter().map(multiplier).collect()
    }

    /// The same as accounting events.
    fn event(&self, other: f64) -> Event {
        let release = |(sums, multiplier): (&WrittenSums, f64)| {
            let (sampling, times, _) = sums.sampling(self.records);
            Event::release(sums.mechanism(multiplier), sampling).repeat(times)
        };
        Event::Compose(self.sums.iter().zip(self.multipliers(other)).map(release).collect())
    }

    /// The plan of the wall, without noise multipliers of its own.
    pub(super) fn stated(&self) -> Result<(Plan, Vec<SumId>), PlanError> {
        self.with(&self.multipliers(1.0))
    }

    /// The noise multipliers of all groups for a budget.
    fn calibrated(&self, privacy: &Privacy) -> Result<Vec<f64>, PlanError> {
        // What is wrong with the plan itself is reported first.
        self.stated()?;
        if self.sums.iter().all(|sums| sums.noise_multiplier.is_some()) {
            return Ok(self.multipliers(1.0));
        }
        if privacy.delta() == 0.0 {
            return Ok(self.pure(privacy.epsilon()));
        }
        let mut found = Vec::new();
        for kept in KEPT {
            let delta = privacy.delta() * (1.0 - kept);
            let (epsilon, event) = (privacy.epsilon(), |other| self.event(other));
            let other = calibrate::noise_multiplier(event, self.adjacency, epsilon, delta, Method::Auto)?;
            found = self.multipliers(other * (1.0 + MARGIN));
            let price = self.with(&found).and_then(|(plan, _)| plan.price(privacy.delta()));
            if price.is_ok_and(|cost| cost.epsilon.upper <= epsilon) {
                break;
            }
        }
        Ok(found)
    }

    /// The same for Laplace noise without a delta: epsilons add up.
    fn pure(&self, epsilon: f64) -> Vec<f64> {
        let cost = |others: bool| {
            let sums = self.sums.iter().zip(self.multipliers(1.0));
            let counted = sums.filter(|(sums, _)| sums.noise_multiplier.is_none() == others);
            counted.map(|(sums, multiplier)| sums.sampling(self.records).1 as f64 / multiplier).sum::<f64>()
        };
        let left = (epsilon - cost(false)).max(1e-9);
        self.multipliers(cost(true) / left * (1.0 + MARGIN))
    }
}

/// The noise multipliers of all groups of a plan for a budget.
#[pyfunction]
pub(crate) fn calibrated(py: Python<'_>, plan: &str, epsilon: f64, delta: f64) -> PyResult<Vec<f64>> {
    let plan = Written::read(py, plan)?;
    let privacy = Privacy::new(epsilon, delta, plan.adjacency).or_raise(py)?;
    py.detach(|| plan.calibrated(&privacy)).or_raise(py)
}

/// The epsilon of a plan at a delta, and the same in words.
#[pyfunction]
pub(crate) fn price(py: Python<'_>, plan: &str, delta: f64) -> PyResult<(f64, String)> {
    let plan = Written::read(py, plan)?;
    let cost = py.detach(|| plan.stated()?.0.price(delta)).or_raise(py)?;
    Ok((cost.epsilon.upper, cost.to_string()))
}

/// The releases of a plan, one line for each group.
#[pyfunction]
pub(crate) fn describe(py: Python<'_>, plan: &str) -> PyResult<Vec<String>> {
    let plan = Written::read(py, plan)?;
    let (built, _) = plan.stated().or_raise(py)?;
    let line = |entry: &reticent::Entry| {
        format!("{}: {} releases, {} numbers each, {}", entry.what, entry.planned, entry.width, entry.kind)
    };
    Ok(built.entries().map(line).collect())
}
