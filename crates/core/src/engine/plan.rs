use super::{Average, Coordinates, Damping, Fit, Phase, SiteModel, sep};
use crate::budget::{Adjacency, Cost, Ledger, Privacy, Unlimited};
use crate::math::vector::norm;
use crate::receipt::Receipt;
use crate::wall::{Geometry, NoiseSource, Plan, PlanError, Records, Sampler, SumId, Sums, Wall, WallError};
use reticent_accounting::{calibrate, gaussian};
use serde::{Deserialize, Serialize};

/// A model that can simulate records, given parameters drawn from its prior.
pub trait Simulate: SiteModel {
    /// Numbers in a record.
    fn record_width(&self) -> usize;
    /// Simulates this many records for one draw of the parameters. The seed is public.
    fn simulate(&self, records: usize, seed: u64) -> Vec<f64>;
}

/// A plan for DP-SEP, chosen from public numbers: the model, its prior, the number of records and the budget. It can
/// be edited and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SepPlan {
    /// Number of records $N$.
    pub records: usize,
    /// The neighbour relation of data sets.
    pub adjacency: Adjacency,
    /// Records in a fixed-size batch; `None` for all records.
    pub batch: Option<usize>,
    /// Number of releases.
    pub steps: u64,
    /// Coordinates of the contributions.
    pub coordinates: Coordinates,
    /// Clipping norm of contributions.
    pub clip: f64,
    /// Damping of each step.
    pub damping: Damping,
    /// Standard deviation of the noise over the sensitivity.
    pub noise_multiplier: f64,
    /// Standard deviation of the noise in each natural parameter of the result.
    pub expected_noise: f64,
    /// Norm of the likelihood part fitted to as many simulated records.
    pub expected_norm: f64,
    /// The reasons for these choices.
    pub why: Vec<String>,
}

/// Number of releases of a plan over all records.
const STEPS: u64 = 20;
/// Number of simulated data sets behind a plan, and records in each.
const SIMULATED: (u64, usize) = (4, 1000);

impl SepPlan {
    /// A plan with this many releases over all records and this clipping norm.
    ///
    /// # Errors
    /// Those of the accountant.
    pub fn of_steps(
        steps: u64,
        clip: f64,
        damping: Damping,
        records: usize,
        privacy: &Privacy,
    ) -> Result<Self, WallError> {
        let single =
            gaussian::noise_multiplier(privacy.epsilon(), exact_delta(privacy)).map_err(PlanError::from)?;
        let factor = privacy.adjacency().sensitivity_factor(2.0);
        Ok(Self {
            records,
            adjacency: privacy.adjacency(),
            batch: None,
            steps,
            coordinates: Coordinates::Centred,
            clip,
            expected_noise: single * (steps as f64).sqrt() * damping.noise_left(steps) * factor * clip,
            damping,
            noise_multiplier: single * (steps as f64).sqrt() * (1.0 + 1e-6),
            expected_norm: 0.0,
            why: Vec::new(),
        })
    }

    /// Chooses a plan. Site norms are those of records simulated from the prior, near the end of a run without
    /// privacy.
    ///
    /// # Errors
    /// Those of the wall and the accountant.
    pub fn new<M: Simulate>(
        model: &M,
        records: usize,
        privacy: &Privacy,
        coordinates: Coordinates,
    ) -> Result<Self, WallError> {
        let mut norms = Vec::new();
        let mut learnt = 0.0;
        for seed in 0..SIMULATED.0 {
            let values = model.simulate(SIMULATED.1, seed);
            let likelihood = without_privacy(model, &values)?;
            learnt += norm(&likelihood) * records as f64 / (SIMULATED.0 as f64 * SIMULATED.1 as f64);
            let mut natural: Vec<f64> = model.prior().iter().zip(&likelihood).map(|(p, l)| p + l).collect();
            model.project(&mut natural);
            let mut cavity = M::Cavity::default();
            model.condition(&natural, &mut cavity);
            let mut out = vec![0.0; model.width()];
            for record in values.chunks_exact(model.record_width()) {
                out.fill(0.0);
                model.site(&cavity, record, &mut out);
                match coordinates {
                    Coordinates::Factor => {}
                    Coordinates::Centred => model.centre(&cavity, &mut out),
                    Coordinates::Difference => {
                        let each = SIMULATED.1 as f64;
                        out.iter_mut().zip(&likelihood).for_each(|(x, l)| *x -= l / each);
                    }
                }
                norms.push(norm(&out));
            }
        }
        norms.retain(|norm| norm.is_finite());
        norms.sort_by(f64::total_cmp);
        // Clipping half of the sites halves the noise that clipping none would need, or more if norms have a heavy
        // tail.
        let clip = norms.get(norms.len() / 2).copied().unwrap_or(1.0).max(1e-6);
        let longest = norms.last().copied().unwrap_or(1.0);
        Ok(Self {
            coordinates,
            expected_norm: learnt,
            why: vec![
                format!(
                    "clipping norm {clip:.3}: half of the sites of simulated records are shorter, and the longest is {longest:.3}"
                ),
                format!(
                    "{STEPS} releases over all records, averaged: the noise of their mean does not depend on their number"
                ),
            ],
            ..Self::of_steps(STEPS, clip, Damping::Harmonic, records, privacy)?
        })
    }

    /// The plan with batches of a fixed size and this many steps, for data sets too large to visit in full at each
    /// step.
    ///
    /// # Errors
    /// Those of the accountant.
    pub fn with_batch(mut self, batch: usize, steps: u64, privacy: &Privacy) -> Result<Self, WallError> {
        let sampler = Sampler::Fixed { batch };
        let event = |noise_multiplier: f64| {
            let mechanism = reticent_accounting::Mechanism::Gaussian { noise_multiplier };
            let (batch, records) = (batch as u64, self.records as u64);
            let sampling = reticent_accounting::Sampling::Fixed { batch, records };
            reticent_accounting::Event::release(mechanism, sampling).repeat(steps)
        };
        self.noise_multiplier = calibrate::noise_multiplier(
            event,
            self.adjacency,
            privacy.epsilon(),
            exact_delta(privacy),
            reticent_accounting::Method::Auto,
        )
        .map_err(PlanError::from)?
            * (1.0 + 1e-6);
        (self.batch, self.steps) = (Some(batch), steps);
        let factor = self.adjacency.sensitivity_factor(2.0);
        let per_step = self.noise_multiplier * factor * self.clip * self.records as f64 / batch as f64;
        self.expected_noise = per_step / (steps as f64).sqrt();
        self.why.push(format!("{steps} steps with {sampler}, as requested"));
        Ok(self)
    }

    /// All planned releases, for contributions of this width.
    ///
    /// # Errors
    /// Those of the wall.
    pub fn releases(&self, width: usize) -> Result<(Plan, SumId), PlanError> {
        self.validate()?;
        let mut plan = Plan::new(self.records, self.adjacency);
        let sums = Sums {
            what: "clipped sites".into(),
            width,
            geometry: Geometry::Ball { radius: self.clip },
            sampler: self.batch.map_or(Sampler::Full, |batch| Sampler::Fixed { batch }),
            noise_multiplier: self.noise_multiplier,
            steps: self.steps,
        };
        let id = plan.sums(sums)?;
        Ok((plan, id))
    }

    /// The cost of the plan, for contributions of this width.
    ///
    /// # Errors
    /// Those of the wall and the accountant.
    pub fn price(&self, width: usize, privacy: &Privacy) -> Result<Cost, WallError> {
        Ok(self.releases(width)?.0.price(privacy.delta())?)
    }

    /// Runs the plan on records, from the likelihood part `start`.
    ///
    /// # Errors
    /// Those of the wall.
    pub fn fit<M: SiteModel>(
        &self,
        model: &M,
        start: &[f64],
        records: Records,
        source: NoiseSource,
        privacy: &Privacy,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Fit, Receipt), WallError> {
        let mut wall = Wall::new(records, source, self.releases(model.width())?.0, privacy, ledger)?;
        let fit = self.fit_through(model, start, &mut wall)?;
        let receipt = wall.finish(fit.projections)?;
        Ok((fit, receipt))
    }

    /// Runs the plan through a wall, from the likelihood part `start`.
    ///
    /// # Errors
    /// Those of the wall.
    pub fn fit_through<M: SiteModel>(
        &self,
        model: &M,
        start: &[f64],
        wall: &mut Wall,
    ) -> Result<Fit, WallError> {
        let (_, sums) = self.releases(model.width())?;
        let phase = Phase {
            sums,
            steps: self.steps,
            coordinates: self.coordinates,
            damping: self.damping.clone(),
            clip: None,
        };
        sep(model, wall, self.records, start, &[phase], Average::Last)
    }
}

/// The delta that noise is calibrated for: as in the wall, a part is kept for the inexactness of the noise, and more
/// at large epsilons.
pub(crate) fn exact_delta(privacy: &Privacy) -> f64 {
    kept_delta(privacy, 0.6)
}

fn kept_delta(privacy: &Privacy, at_large_epsilons: f64) -> f64 {
    let kept = if privacy.epsilon() < 25.0 { 2e-4 } else { at_large_epsilons };
    privacy.delta() * (1.0 - kept)
}

/// The GDP parameter $\mu$ that a budget allows: releases of all records may have noise multipliers $z$ with
/// $\sum z^{-2} \le \mu^2$.
///
/// # Errors
/// Those of the accountant.
pub fn gdp_mu(privacy: &Privacy) -> Result<f64, reticent_accounting::Error> {
    Ok((1.0 - 1e-6) / gaussian::noise_multiplier(privacy.epsilon(), kept_delta(privacy, 0.11))?)
}

/// The likelihood part that SEP fits to simulated records, from zeros.
fn without_privacy<M: Simulate>(model: &M, values: &[f64]) -> Result<Vec<f64>, WallError> {
    let records = Records::new(values.to_vec(), model.record_width())?;
    let n = values.len() / model.record_width();
    let steps = 25;
    let mut plan = Plan::new(n, Adjacency::ReplaceOne);
    let geometry = Geometry::Ball { radius: 1.0 };
    let width = model.width();
    let sampler = Sampler::Full;
    let sums =
        plan.sums(Sums { what: "sites".into(), width, geometry, sampler, noise_multiplier: 1.0, steps })?;
    let mut wall = Wall::without_privacy(records, NoiseSource::from_os()?, plan, Box::new(Unlimited))?;
    let phase =
        Phase { sums, steps, coordinates: Coordinates::Factor, damping: Damping::Share(0.5), clip: None };
    let fit = sep(model, &mut wall, n, &vec![0.0; width], &[phase], Average::Last)?;
    Ok(fit.natural.iter().zip(model.prior()).map(|(q, p)| q - p).collect())
}
