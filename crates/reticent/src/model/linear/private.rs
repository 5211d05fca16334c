//! Private linear regression in one release.
//!
//! With $u = (x, 1, y)$ and a target between -1 and 1, all that a regression needs is $M = \sum_n c_n u_n u_n^T$, for any weights
//! $c_n$ of records that depend on inputs alone. In [isometric coordinates](crate::symmetric) the norm of $uu^T$ is
//! $|u|^2 \le |x|^2 + 2$, so $c = \min(1, C/(|x|^2 + 2))$ keeps contributions within $C$, and nothing is left to be clipped:
//! clipping would favour small targets, and so small weights. Everything else is done with the noisy $M$: the noise variance $s^2$
//! from the residuals $v^T M v$ at $v = (-w, 1)$, and the weights as [`LinearPosterior::new`] reads natural parameters
//! $\lambda_L = M_{xy}/s^2$ and $P_L = M_{xx}/s^2$, in turns.
//!
//! # Citation
//! Vu, Slavkovic, "Differential privacy for clinical trial data", ICDM workshops 2009, for releasing $M$; Bernstein, Sheldon,
//! "Differentially private Bayesian linear regression", NeurIPS 2019, for taking the noise in it into account (by sampling).

use super::{Linear, LinearError, LinearPosterior, Response};
use crate::budget::{Adjacency, Ledger, Privacy};
use crate::engine::{Fit, Noise, SiteModel, exact_delta};
use crate::family::{Covariance, Gamma, Gaussian};
use crate::receipt::Receipt;
use crate::symmetric;
use crate::wall::{Geometry, NoiseSource, Plan, PlanError, Query, Records, Sampler, Sums, Wall, WallError};
use reticent_accounting::gaussian;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Turns between the noise variance and the weights.
const TURNS: usize = 20;

/// A plan for a private linear regression, from public numbers. It can be edited and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinearPlan {
    /// $N$.
    pub records: usize,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// $C$: the largest norm of a contribution.
    pub clip: f64,
    /// The standard deviation of the noise over the sensitivity.
    pub noise_multiplier: f64,
}

/// Why a private regression cannot be planned or run.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message says what its variant is")]
pub enum LinearFitError {
    #[error(transparent)]
    Wall(#[from] WallError),
    #[error(transparent)]
    Model(#[from] LinearError),
    #[error("only regressions with any covariance can be fitted in one release; hint: plan classes with SEP")]
    NotARegression,
}

impl LinearPlan {
    /// For inputs and targets between -1 and 1; larger targets count as 1. $C$ is 2, the least $|x|^2 + 2$ there is, so that every
    /// record contributes at least half of what the noise is scaled for.
    ///
    /// # Errors
    /// What the accountant refuses.
    pub fn new(records: usize, privacy: &Privacy) -> Result<Self, LinearFitError> {
        let noise_multiplier = gaussian::noise_multiplier(privacy.epsilon(), exact_delta(privacy))
            .map_err(|error| WallError::from(PlanError::from(error)))?
            * (1.0 + 1e-6);
        Ok(Self { records, adjacency: privacy.adjacency(), clip: 2.0, noise_multiplier })
    }

    /// Runs the plan on records.
    ///
    /// # Privacy
    /// One noisy sum over all records; all else is post-processing.
    ///
    /// # Errors
    /// [`LinearFitError`].
    pub fn fit(
        &self,
        model: &Linear,
        records: Records,
        source: NoiseSource,
        privacy: &Privacy,
        ledger: Box<dyn Ledger>,
    ) -> Result<(LinearPosterior, Receipt), LinearFitError> {
        let regression = matches!(model.response, Response::Known(_) | Response::Unknown(_));
        if !regression || model.family.covariance != Covariance::Full {
            return Err(LinearFitError::NotARegression);
        }
        let size = model.inputs() + 2;
        let mut plan = Plan::new(self.records, self.adjacency);
        let sums = plan
            .sums(Sums {
                what: "clipped products of inputs and target".into(),
                width: symmetric::width(size),
                geometry: Geometry::Ball { radius: self.clip },
                sampler: Sampler::Full,
                noise_multiplier: self.noise_multiplier,
                steps: 1,
            })
            .map_err(WallError::from)?;
        let mut wall = Wall::new(records, source, plan, privacy, ledger)?;
        let released = wall.sum(sums, &Products { size, clip: self.clip })?;
        let mut products = vec![0.0; size * size];
        symmetric::from_coordinates(&released.values, size, &mut products);
        let (posterior, projections) = regress(model, &products, released.noise_sd[0])?;
        Ok((posterior, wall.finish(projections)?))
    }
}

/// $c\,uu^T$.
struct Products {
    size: usize,
    clip: f64,
}

impl Query for Products {
    fn width(&self) -> usize {
        symmetric::width(self.size)
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let (inputs, target) = record.split_at(self.size - 2);
        let square: f64 = inputs.iter().map(|x| x * x).sum();
        let weight = (self.clip / (square + 2.0)).min(1.0);
        let u = |i: usize| match i {
            _ if i < inputs.len() => inputs[i],
            _ if i == inputs.len() => 1.0,
            _ => target[0].clamp(-1.0, 1.0),
        };
        let mut next = out.iter_mut();
        for i in 0..self.size {
            for j in i..self.size {
                if let Some(out) = next.next() {
                    *out = weight * u(i) * u(j) * if i == j { 1.0 } else { std::f64::consts::SQRT_2 };
                }
            }
        }
    }
}

/// The posterior given $M$ with noise of standard deviation `sd` in each coordinate, and how often a density had to be restored.
fn regress(model: &Linear, products: &[f64], sd: f64) -> Result<(LinearPosterior, u64), LinearFitError> {
    let mut variance = match model.response {
        Response::Unknown(prior) => prior.rate / (prior.shape - 1.0),
        Response::Known(variance) => variance,
        _ => return Err(LinearFitError::NotARegression),
    };
    let mut found = read(model, products, sd, variance)?;
    if let Response::Unknown(prior) = model.response {
        for _ in 0..TURNS {
            variance = residual_variance(prior, products, sd, &found.0.moments.mean);
            found = read(model, products, sd, variance)?;
        }
    }
    Ok(found)
}

/// The noise variance at these weights. The weights of records add up to the product of the bias with itself.
fn residual_variance(prior: Gamma, products: &[f64], sd: f64, mean: &[f64]) -> f64 {
    let size = mean.len() + 1;
    let v: Vec<f64> = mean.iter().map(|m| -m).chain([1.0]).collect();
    let residuals: f64 = (0..size * size).map(|k| products[k] * v[k / size] * v[k % size]).sum();
    // The noise in it has this standard deviation, below which nothing can be told.
    let least = sd * v.iter().map(|x| x * x).sum::<f64>();
    let count = products[(size - 2) * (size + 1)].max(sd);
    (2.0 * prior.rate + residuals.max(least)) / (2.0 * (prior.shape - 1.0) + count)
}

/// The posterior of the weights for a noise variance.
fn read(
    model: &Linear,
    products: &[f64],
    sd: f64,
    variance: f64,
) -> Result<(LinearPosterior, u64), LinearFitError> {
    let d = model.inputs() + 1;
    let family = Gaussian { dimension: d, covariance: Covariance::Full };
    let known = Linear::new(d - 1, 1.0, Covariance::Full, Response::Known(variance))?
        .with_prior_precisions(&model.precisions)?
        .with_floor(model.floor)?;
    let precision: Vec<f64> = (0..d * d).map(|k| products[k / d * (d + 1) + k % d] / variance).collect();
    let mut natural = vec![0.0; family.width()];
    family.set_precision(&precision, &mut natural);
    (0..d).for_each(|i| natural[i] = products[i * (d + 1) + d] / variance);
    natural.iter_mut().zip(known.prior()).for_each(|(x, prior)| *x += prior);
    let projections = known.project(&mut natural);
    let mut noise = Noise::none(known.blocks());
    // Off-diagonal elements are coordinates over the root of 2; those of P are coordinates themselves.
    let mut spread = vec![sd / variance; family.width()];
    spread[..d].fill(sd / variance * std::f64::consts::FRAC_1_SQRT_2);
    noise.add(&spread, 1.0);
    let fit = Fit { natural, noise, projections };
    let posterior = LinearPosterior::new(&known, &fit).ok_or(LinearError::NotPositive)?;
    Ok((posterior, projections))
}
