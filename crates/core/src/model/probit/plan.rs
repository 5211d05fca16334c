//! The plan: releases of clipped sites of all records, averaged.

use crate::budget::{Adjacency, Guarantee, NotPrivate, Privacy};
use crate::engine::SiteModel;
use crate::engine::{Average, Coordinates, Damping, Phase, SepPlan, UnbiasedClip, sep};
use crate::family::{Covariance, Moments};
use crate::field;
use crate::field::FieldError;
use crate::model::linear::{ClippingNorm, Linear, LinearPosterior, Response, Simulated};
use crate::model::planned::{out_of_range, same_shape};
use crate::model::probit::simulate::simulated;
use crate::model::{Estimate, ModelError, Planned, Posterior, TableShape};
use crate::wall::{Geometry, Plan, Sampler, SumId, Sums, Wall, WallError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Number of releases with privacy, and of steps without.
const STEPS: (u64, u64) = (40, 20);

/// The step from which all releases have full weight; earlier ones are far from the solution.
const FULL_WEIGHT: u64 = 8;

/// Number of simulated data sets that the clipping norm is chosen by, and records in each.
pub(super) const SIMULATED: (u64, usize) = (8, 500);

/// A plan with the model that it is for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ProbitPlan {
    pub(super) inputs: usize,
    pub(super) prior_variance: f64,
    /// `None` for a fit without privacy.
    pub(super) sep: Option<SepPlan>,
    pub(super) records: usize,
}

pub(super) fn linear(inputs: usize, prior_variance: f64) -> Result<Linear, ModelError> {
    Ok(Linear::new(inputs, prior_variance, Covariance::Full, Response::Probit)?)
}

/// A plan for few inputs, with the clipping norm of maximum information.
pub(super) fn private_plan(
    model: &Linear,
    columns: &[usize],
    prior_variance: f64,
    records: usize,
    privacy: &Privacy,
) -> Result<SepPlan, ModelError> {
    let plan = |clip| SepPlan::of_steps(STEPS.0, clip, Damping::Rising(FULL_WEIGHT), records, privacy);
    let sets: Vec<Simulated> =
        (0..SIMULATED.0).map(|seed| simulated(columns, prior_variance, seed)).collect();
    let noise_sd = plan(1.0)?.expected_noise;
    let chosen = ClippingNorm::choose(model, &sets, records, noise_sd).ok_or(ModelError::NoDensity)?;
    let ClippingNorm { norm, clipped, longest, expected_sd } = chosen;
    let why = vec![
        format!(
            "clipping norm {norm:.3}: it has the largest expected information about weights from the prior; {:.1} % of simulated sites \
             are longer, the longest {longest:.3}",
            100.0 * clipped
        ),
        "sites are clipped by a factor that does not depend on the class, so clipping adds no bias"
            .into(),
        format!(
            "{} releases over all records, averaged: the first {FULL_WEIGHT} with smaller weights",
            STEPS.0
        ),
        format!("expected standard deviation of a weight: {expected_sd:.3}, without the following widening"),
        "intervals are wider along the direction of the weights, by the share of their square that is noise: noise shrinks long weights"
            .into(),
    ];
    Ok(SepPlan { why, ..plan(norm)? })
}

impl ProbitPlan {
    fn width(&self) -> usize {
        let d = self.inputs + 1;
        d + d * (d + 1) / 2
    }

    fn fields(&self) -> Result<(), FieldError> {
        field::integer("inputs", self.inputs as u64, 1..=1 << 20)?;
        field::number("prior_variance", self.prior_variance, field::PRIOR)?;
        field::integer("records", self.records as u64, field::RECORDS)?;
        let Some(sep) = &self.sep else { return Ok(()) };
        field::agrees("sep.records", &sep.records, &self.records)?;
        sep.validate()
    }

    /// SEP without noise.
    fn fit_openly(
        &self,
        model: &Linear,
        start: &[f64],
        wall: &mut Wall,
        sums: SumId,
        steps: u64,
    ) -> Result<crate::engine::Fit, WallError> {
        let (coordinates, damping) = (Coordinates::Centred, Damping::Rising(FULL_WEIGHT));
        let phase = Phase { sums, steps, coordinates, damping, clip: None };
        sep(model, wall, self.records, start, &[phase], Average::Last)
    }

    /// The releases without privacy.
    fn without_noise(&self) -> Result<(Plan, SumId), WallError> {
        let mut plan = Plan::new(self.records, Adjacency::ReplaceOne);
        let sums = plan.sums(Sums {
            what: "sites".into(),
            width: self.width(),
            geometry: Geometry::Ball { radius: 1.0 },
            sampler: Sampler::Full,
            noise_multiplier: 1.0,
            steps: STEPS.1,
        })?;
        Ok((plan, sums))
    }
}

impl Planned for ProbitPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn releases(&self) -> Result<Plan, ModelError> {
        Ok(match &self.sep {
            Some(sep) => sep.releases(self.width()).map_err(WallError::from)?.0,
            None => self.without_noise()?.0,
        })
    }

    fn expected(&self) -> Vec<(String, f64)> {
        let Some(plan) = &self.sep else { return Vec::new() };
        vec![
            ("standard deviation of the noise in each natural parameter".into(), plan.expected_noise),
            ("norm of the likelihood part of as many simulated records".into(), plan.expected_norm),
        ]
    }

    fn why(&self) -> Vec<String> {
        self.sep.as_ref().map_or_else(Vec::new, |plan| plan.why.clone())
    }

    fn validate(&self, shape: &TableShape) -> Result<(), ModelError> {
        same_shape("probit", (self.inputs, self.records), shape)?;
        self.fields().map_err(out_of_range("probit"))
    }

    fn check_privacy(&self, privacy: Option<&Privacy>) -> Result<(), ModelError> {
        if privacy.is_some() && self.sep.is_none() {
            return Err(ModelError::Plan { model: "probit", why: "it is for a fit without privacy".into() });
        }
        Ok(())
    }

    fn cost_estimate(&self) -> Estimate {
        let (d, width, records) = (self.inputs as f64 + 1.0, self.width() as f64, self.records as f64);
        let steps = self.sep.as_ref().map_or(STEPS.1, |sep| sep.steps) as f64;
        // The covariance of the noise covers all natural parameters, and is updated at each step.
        let noise = if self.sep.is_some() { steps * width.powi(3) } else { 0.0 };
        let post = noise + (steps + 60.0) * 30.0 * d.powi(3);
        let start = Estimate::new(width * width + 30.0 * d * d, post, 2.0 * d * d + 3.0 * d);
        start.releases(steps, width, records, 8.0 * d * d + 200.0)
    }

    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError> {
        let model = linear(self.inputs, self.prior_variance)?;
        let start = vec![0.0; model.width()];
        let open = wall.guarantee() == Guarantee::None(NotPrivate::NoNoise);
        let fit = match &self.sep {
            Some(plan) if open => {
                // Without noise there is no clipping either.
                let (_, sums) = plan.releases(self.width()).map_err(WallError::from)?;
                self.fit_openly(&model, &start, wall, sums, plan.steps)?
            }
            Some(plan) => plan.fit_through(&UnbiasedClip::new(&model, plan.clip), &start, wall)?,
            None => self.fit_openly(&model, &start, wall, self.without_noise()?.1, STEPS.1)?,
        };
        let mut posterior =
            LinearPosterior::new(&model, &fit).unwrap_or_else(|| LinearPosterior::of_prior(&model));
        if self.sep.is_some() && !open {
            widen(&mut posterior);
        }
        Ok((Box::new(posterior), fit.projections))
    }
}

/// Adds the uncertainty of the length of the weights due to the noise to the covariance.
///
/// Sites are linearised at means that noise has moved. That shrinks weights, the more so the longer they are, since
/// probabilities near 0 and 1 change little with the length; a first-order covariance does not include it. The length
/// has the relative variance of the share of privacy noise in the expected square of the weights,
/// $\operatorname{tr}(V - V_0)/(|m|^2 + \operatorname{tr} V)$ with $V_0$ the covariance without noise: $mm^T$ times
/// that is added, which vanishes as the budget grows.
pub(super) fn widen(posterior: &mut LinearPosterior) {
    let Moments { mean, covariance } = &mut posterior.moments;
    let d = mean.len();
    let trace = |covariance: &[f64]| (0..d).map(|i| covariance[i * (d + 1)]).sum::<f64>();
    let (all, records) = (trace(covariance), trace(&posterior.naive.covariance));
    let square: f64 = mean.iter().map(|m| m * m).sum();
    let share = (all - records).max(0.0) / (square + all);
    for (row, a) in covariance.chunks_exact_mut(d).zip(&*mean) {
        row.iter_mut().zip(&*mean).for_each(|(x, b)| *x += share * a * b);
    }
}
