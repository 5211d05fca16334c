//! Linear, probit and logistic regression.
//!
//! A record has inputs $x$ and a target $y$. With a bias as the last input, $x_{d+1} = 1$, and weights $w \sim N(0,
//! \Lambda_0^{-1})$, the target depends on $a = w \cdot x$ alone:
//!
//! | [`Response`] | $p(y \mid a)$ |
//! |---|---|
//! | `Known`, `Unknown` | $N(y; a, 1/\gamma)$, with a gamma prior of $\gamma$ if it is unknown |
//! | `Probit` | $\Phi(ya)$ for classes $y = \pm1$ |
//! | `Logistic` | $1/(1 + e^{-ya})$ for classes $y = \pm1$ |
//!
//! The approximation is Gaussian, with any covariance or with independent weights, and a gamma for an unknown $\gamma$. As all
//! responses are log-concave, sites never have a negative precision. Natural parameters are those of
//! [`Gaussian`], and $(a - 1, -b)$ for the noise if it is unknown. Records are rows of inputs and the target, already scaled:
//! by public bounds if the fit is to be private.
//!
//! ```
//! use reticent_core::engine::{Fit, Noise, SiteModel, ep};
//! use reticent_core::family::Covariance;
//! use reticent_core::model::linear::{Linear, LinearPosterior, Response};
//!
//! let model = Linear::new(1, 10.0, Covariance::Full, Response::Probit)?;
//! let records: Vec<f64> = (0..100).map(|n| n as f64 / 50.0 - 1.0).flat_map(|x| [x, (x - 0.2).signum()]).collect();
//! let natural = ep(&model, &records, 2, 5, 1.0);
//! let fit = Fit { natural, noise: Noise::none(model.blocks()), projections: 0 };
//! let posterior = LinearPosterior::new(&model, &fit).expect("proper");
//! assert!(posterior.positive(&[0.8]) > 0.95 && posterior.positive(&[-0.5]) < 0.05);
//! # Ok::<(), reticent_core::model::DefinitionError>(())
//! ```
//!
//! Not for: more than two classes; a full covariance with many inputs, since the covariance of the privacy noise then
//! has about $d^4/4$ elements (independent weights have $4d^2$).
//!
//! # Citation
//! Minka, "Expectation propagation for approximate Bayesian inference", UAI 2001; Hernandez-Lobato, Adams, "Probabilistic
//! backpropagation", ICML 2015, section 3.2, for the unknown noise.

mod clip;
mod logistic;
mod posterior;
mod site;

pub use super::prediction::Prediction;
pub use clip::{ClippingNorm, Simulated};
pub use posterior::LinearPosterior;
pub use site::LinearCavity;

use crate::engine::{Block, ClippedName, Noise, Simulate, SiteModel, Sites, UnbiasedClip};
use crate::family::{Covariance, Gamma, Gaussian};
use crate::jobs::Named;
use crate::math::matrix::{self, EigenError};
use crate::math::symmetric;
use crate::model::DefinitionError;
use crate::wall::QuerySpec;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// The conditional distribution of a target given $a = w \cdot x$.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// $N(a, s^2)$ with this $s^2$.
    Known(f64),
    /// Normal, with a gamma prior of $1/s^2$ of a shape above 1.
    Unknown(Gamma),
    /// The class $+1$ (any positive target) or $-1$, by the normal distribution function.
    Probit,
    /// The class $+1$ (any positive target) or $-1$, by the logistic function.
    Logistic,
}

/// A regression model, with its prior and its approximating family.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Linear {
    family: Gaussian,
    response: Response,
    /// The diagonal of $\Lambda_0$.
    precisions: Vec<f64>,
    prior: Vec<f64>,
    floor: f64,
}

impl Linear {
    /// Whether sites are the same on every platform: the integral of the logistic response uses functions of the system's library.
    fn is_portable(&self) -> bool {
        self.response != Response::Logistic
    }

    /// A model with this many inputs, and the same prior variance for all weights and the bias.
    ///
    /// # Errors
    /// [`DefinitionError`] if the arguments are invalid.
    pub fn new(
        inputs: usize,
        prior_variance: f64,
        covariance: Covariance,
        response: Response,
    ) -> Result<Self, DefinitionError> {
        if covariance == Covariance::Isotropic {
            return Err(DefinitionError::Covariance);
        }
        let proper = match response {
            Response::Known(variance) => variance > 0.0 && variance.is_finite(),
            Response::Unknown(prior) => prior.is_proper() && prior.shape > 1.0,
            Response::Probit | Response::Logistic => true,
        };
        if !proper {
            return Err(DefinitionError::NotPositive);
        }
        let family = Gaussian { dimension: inputs + 1, covariance };
        let model = Self { family, response, precisions: Vec::new(), prior: Vec::new(), floor: 0.9 };
        model.with_prior_precisions(&vec![1.0 / prior_variance; inputs + 1])
    }

    /// Sets a prior precision for each weight, that of the bias last. They must be public.
    ///
    /// # Errors
    /// [`DefinitionError`] if their number is wrong, or one is not positive.
    pub fn with_prior_precisions(mut self, precisions: &[f64]) -> Result<Self, DefinitionError> {
        let d = self.family.dimension;
        if precisions.len() != d {
            return Err(DefinitionError::LinearShape { inputs: d - 1, given: precisions.len() });
        }
        if !precisions.iter().all(|p| *p > 0.0 && p.is_finite()) {
            return Err(DefinitionError::NotPositive);
        }
        let matrix: Vec<f64> =
            (0..d * d).map(|k| if k % (d + 1) == 0 { precisions[k / d] } else { 0.0 }).collect();
        self.prior = vec![0.0; self.family.width()];
        self.family.set_precision(&matrix, &mut self.prior);
        if let Response::Unknown(gamma) = self.response {
            self.prior.extend(gamma.natural());
        }
        self.precisions = precisions.to_vec();
        Ok(self)
    }

    /// Sets the minimum precision of the weights, as a share of the prior's: 0.9 by default. The information of a
    /// record is never negative in these models, so only noise moves a precision below the prior's; the difference to
    /// 1 allows for rounding.
    ///
    /// # Errors
    /// [`DefinitionError::NotPositive`] if it is not between 0 and 1.
    pub fn with_floor(mut self, floor: f64) -> Result<Self, DefinitionError> {
        if !(floor > 0.0 && floor <= 1.0) {
            return Err(DefinitionError::NotPositive);
        }
        self.floor = floor;
        Ok(self)
    }

    /// Number of inputs, without the bias: a record has one value more.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.family.dimension - 1
    }

    /// The conditional distribution of the target.
    #[must_use]
    pub fn response(&self) -> Response {
        self.response
    }

    /// The family of the weights, with the bias as the last one.
    #[must_use]
    pub fn family(&self) -> Gaussian {
        self.family
    }

    /// Multiplies $\lambda$ by $\Lambda_0^{p}$ and the coordinates of $P$ by $(\Lambda_{0,ii}\Lambda_{0,jj})^p$: for $p =
    /// -\frac12$ they are those of weights in units of their prior standard deviations, and $p = \frac12$ is the
    /// inverse.
    fn rescale(&self, natural: &mut [f64], power: f64) {
        let d = self.family.dimension;
        let (lambda, precision) = natural.split_at_mut(d);
        let mut next = precision.iter_mut();
        for (i, lambda) in lambda.iter_mut().enumerate() {
            *lambda *= self.precisions[i].powf(power);
            let last = if self.family.covariance == Covariance::Full { d } else { i + 1 };
            for j in i..last {
                if let Some(x) = next.next() {
                    *x *= (self.precisions[i] * self.precisions[j]).powf(power);
                }
            }
        }
    }

    /// Raises the eigenvalues of the precision to the floor, for weights in units of the prior's. A raised direction
    /// has no information, so the mean in it is limited to one standard deviation of the prior from 0. Returns
    /// whether there was one.
    ///
    /// If the eigenvalues do not converge, every direction counts as raised: the diagonal is raised by as much as the
    /// Gershgorin bound is below the floor. A precision that is not finite is left as it is, and has no moments.
    fn raise(&self, weights: &mut [f64]) -> bool {
        let (d, floor) = (self.family.dimension, self.floor);
        let (lambda, precision) = weights.split_at_mut(d);
        if self.family.covariance == Covariance::Diagonal {
            let low = |x: &f64| x.is_nan() || *x < floor;
            let raised = precision.iter().any(low);
            for (lambda, x) in lambda.iter_mut().zip(precision).filter(|(_, x)| low(x)) {
                (*lambda, *x) = (lambda.clamp(-floor, floor), floor);
            }
            return raised;
        }
        let bound = matrix::gershgorin_bound(precision, d);
        if bound >= floor {
            return false;
        }
        let mut dense = vec![0.0; d * d];
        symmetric::from_coordinates(precision, d, &mut dense);
        match matrix::eigen(&dense, d) {
            Ok(found) => {
                let mut raised = false;
                for (_, vector) in found.pairs().filter(|(value, _)| *value < floor) {
                    raised = true;
                    let along: f64 = lambda.iter().zip(vector).map(|(a, b)| a * b).sum();
                    let kept = along.clamp(-floor, floor);
                    lambda.iter_mut().zip(vector).for_each(|(a, b)| *a += (kept - along) * b);
                }
                let missing = found.mapped(|value| (floor - value).max(0.0));
                dense.iter_mut().zip(&missing).for_each(|(x, missing)| *x += missing);
                symmetric::to_coordinates(&dense, d, precision);
                raised
            }
            Err(EigenError::NoConvergence { .. }) => {
                lambda.iter_mut().for_each(|x| *x = x.clamp(-floor, floor));
                (0..d).for_each(|k| dense[k * (d + 1)] += floor - bound);
                symmetric::to_coordinates(&dense, d, precision);
                true
            }
            Err(EigenError::NotFinite { .. }) => false,
        }
    }
}

impl Named for Linear {
    const NAME: &'static str = "linear-sites";
}

impl ClippedName for Linear {
    const CLIPPED: &'static str = "clipped-linear-sites";
}

impl SiteModel for Linear {
    type Cavity = LinearCavity;

    fn width(&self) -> usize {
        self.prior.len()
    }

    fn prior(&self) -> &[f64] {
        &self.prior
    }

    fn condition(&self, natural: &[f64], cavity: &mut LinearCavity) {
        cavity.prepare(self, natural);
    }

    fn sites_spec(sites: &Sites<'_, Self>) -> Option<QuerySpec> {
        if sites.model().is_portable() { QuerySpec::of(sites) } else { None }
    }

    fn clipped_sites_spec(sites: &Sites<'_, UnbiasedClip<'_, Self>>) -> Option<QuerySpec> {
        if sites.model().model().is_portable() { QuerySpec::of(sites) } else { None }
    }

    fn site(&self, cavity: &LinearCavity, record: &[f64], out: &mut [f64]) {
        cavity.site(self, record, out);
    }

    /// Eigenvalues of the precision (the precision of each weight, if they are independent) are at least a
    /// [share](Linear::with_floor) of the prior's, in units in which the prior is the identity; where they are raised, means
    /// are at most one standard deviation of the prior from 0. The shape $a$ of the noise precision is such that $a - 1$ is at
    /// least a tenth of its prior's, and its rate at least a thousandth.
    fn project(&self, natural: &mut [f64]) -> u64 {
        let (weights, gamma) = natural.split_at_mut(self.family.width());
        let mut scaled = weights.to_vec();
        self.rescale(&mut scaled, -0.5);
        let mut moved = 0;
        if self.raise(&mut scaled) {
            moved += 1;
            self.rescale(&mut scaled, 0.5);
            weights.copy_from_slice(&scaled);
        }
        if let Response::Unknown(prior) = self.response {
            let least = Gamma { shape: 1.0 + 0.1 * (prior.shape - 1.0), rate: 1e-3 * prior.rate };
            moved += u64::from(Gamma::raise(gamma, least));
        }
        moved
    }

    /// The [noise-aware](LinearPosterior::new) posterior of the releases so far. Directions without information keep
    /// the prior: otherwise noise in a precision of nearly 0 could move the mean anywhere.
    fn leave_out_noisy(
        &self,
        likelihood: &[f64],
        noise: &Noise,
        kept: f64,
        natural: &mut [f64],
        cavity: &mut LinearCavity,
    ) -> u64 {
        let moved = self.leave_out(likelihood, kept, natural, cavity);
        let full = self.family.covariance == Covariance::Full;
        if full
            && !matches!(self.response, Response::Unknown(_))
            && noise.variances().iter().any(|x| *x > 0.0)
        {
            let found = posterior::noise_aware(self, likelihood, noise, &cavity.moments());
            found.into_iter().for_each(|moments| cavity.set_moments(moments));
        }
        moved
    }

    fn centre(&self, cavity: &LinearCavity, natural: &mut [f64]) {
        self.family.shift(cavity.mean(), &mut natural[..self.family.width()], -1.0);
    }

    fn uncentre(&self, cavity: &LinearCavity, centred: &mut [f64]) {
        self.family.shift(cavity.mean(), &mut centred[..self.family.width()], 1.0);
    }

    fn blocks(&self) -> Vec<Block> {
        let weights = self.family.width();
        [0..weights, weights..self.prior.len()]
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(Block::from)
            .collect()
    }
}

/// Records with inputs uniform between -1 and 1, as scaled by bounds.
impl Simulate for Linear {
    fn record_width(&self) -> usize {
        self.inputs() + 1
    }

    fn simulate(&self, records: usize, seed: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let normal = |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) };
        let weights: Vec<f64> = self.precisions.iter().map(|p| normal(&mut rng) / p.sqrt()).collect();
        let noise = match self.response {
            Response::Known(variance) => variance,
            Response::Unknown(prior) => rand_distr::Gamma::new(prior.shape, 1.0 / prior.rate)
                .map_or(prior.rate / prior.shape, |gamma| 1.0 / gamma.sample(&mut rng).max(1e-6)),
            Response::Probit | Response::Logistic => 1.0,
        };
        let mut values = Vec::with_capacity(records * self.record_width());
        for _ in 0..records {
            let first = values.len();
            values.extend((0..self.inputs()).map(|_| rng.random_range(-1.0..1.0)));
            let a = values[first..].iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>()
                + weights[self.inputs()];
            let target = match self.response {
                Response::Known(_) | Response::Unknown(_) => a + noise.sqrt() * normal(&mut rng),
                Response::Probit => (a + normal(&mut rng)).signum(),
                Response::Logistic => {
                    let u: f64 = rng.random();
                    (a + (u / (1.0 - u)).ln()).signum()
                }
            };
            values.push(target);
        }
        values
    }
}

#[cfg(test)]
mod tests;
