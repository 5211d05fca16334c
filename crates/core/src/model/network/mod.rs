//! Regression, or two classes, by a fully connected network of rectified linear units, by probabilistic backpropagation.
//!
//! Each weight is Gaussian in the approximation. A layer with $d$ inputs $z$ and a bias $z_{d+1} = 1$ has pre-activations
//! $a_j = (d+1)^{-1/2}\sum_i w_{ij} z_i$; hidden layers have $z = \max(a, 0)$, and the output is
//! $y \sim N(a, 1/\gamma)$. The noise precision $\gamma$ is known or has a gamma prior; or the target is a class $y = \pm1$ with probability
//! $\Phi(ya)$. Weights have the prior
//! $N(0, 1/\lambda)$ with a gamma hyper-prior of $\lambda$, which [`refine_prior`](Network::refine_prior) updates.
//!
//! Natural parameters are $m/v$ of all weights, then $1/v$ of all weights, and $(a - 1, -b)$ for the noise if it is unknown.
//! Records are rows of inputs and the target, already scaled: by public bounds if the fit is to be private.
//!
//! ```
//! use reticent_core::engine::Ep;
//! use reticent_core::model::network::{Network, NetworkPosterior, OutputNoise, Start};
//!
//! let mut network = Network::new(&[1, 10], OutputNoise::default())?;
//! let records: Vec<f64> = (0..100).map(|n| n as f64 / 25.0 - 2.0).flat_map(|x| [x, x.abs() - 1.0]).collect();
//! let mut state = Ep::new(&network, &records, 2, &network.start(1, Start::Prior));
//! for _ in 0..20 {
//!     state.pass(&network, &records, 0..100, 0.4);
//!     network.refine_prior(&state.natural(&network));
//! }
//! let posterior = NetworkPosterior::new(&network, &state.fit(&network));
//! assert!((posterior.predict(&[1.5]).mean - 0.5).abs() < 0.2);
//! # Ok::<(), reticent_core::model::DefinitionError>(())
//! ```
//!
//! Not for: several outputs, more than two classes, or inputs that are images.
//!
//! # Citation
//! Hernandez-Lobato, Adams, "Probabilistic backpropagation for scalable learning of Bayesian neural networks", ICML 2015; Li,
//! Hernandez-Lobato, Turner, "Stochastic expectation propagation", NeurIPS 2015, section 5.

mod parameters;
mod plan;
mod posterior;
mod refine;
mod relu;
mod site;

pub use crate::model::prediction::Prediction;
pub use posterior::NetworkPosterior;
pub use site::NetworkCavity;
pub(super) use site::tilted_gamma;

use crate::budget::Privacy;
use crate::engine::{Block, SiteModel, Sites};
use crate::family::Gamma;
use crate::jobs::Named;
use crate::model::DefinitionError;
use crate::model::network::plan::{NetworkPlan, Passes};
use crate::model::network::posterior::NetworkFit;
use crate::model::planned::parse;
use crate::model::reference::{DP_SEP, PBP, SEP};
use crate::model::regression::RegressionPlan;
use crate::model::settings::Settings;
use crate::model::{Declaration, Model, ModelError, Planned, Posterior, Saved, Setting, TableShape, Target};
use crate::wall::QuerySpec;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use reticent_noise::with_wide_vectors;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Range;

/// The noise about the network's output.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputNoise {
    /// $1/\gamma$.
    Known(f64),
    /// A prior of $\gamma$, with a shape above 1.
    Unknown(Gamma),
    /// 1, and only the sign of a target is observed: a class $+1$ (any positive target) or $-1$, with probability
    /// $\Phi(ya)$.
    Probit,
}

impl Default for OutputNoise {
    /// Shape and rate 6, for targets of unit variance.
    fn default() -> Self {
        Self::Unknown(DEFAULT_GAMMA)
    }
}

/// The default prior of $\gamma$ and of $\lambda$, that of the paper.
const DEFAULT_GAMMA: Gamma = Gamma { shape: 6.0, rate: 6.0 };

/// Maximum distance of the mean of a weight from 0, in standard deviations of its prior.
const MAX_PRIOR_SDS: f64 = 1000.0;

/// The start of the approximation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start {
    /// The variances of the prior, and random means of variance $1/(d+1)$.
    Prior,
    /// Means of 0.7 times that standard deviation, with additional precision: without it all weights move together,
    /// and too far, if many records are used at once.
    Held {
        /// The addition to $1/v$.
        precision: f64,
    },
    /// As `Prior`, with the vectors of $m/v$ and of $1/v$ of each layer scaled to a norm of at most 1: variances that
    /// grow with the root of the number of weights of the layer, and larger means. An unknown noise starts at a
    /// variance of 0.1, for targets of unit variance, with the information of this many records: so the errors of the
    /// first pass do not inflate it.
    Wide {
        /// Number of records $N$, public.
        records: usize,
    },
}

/// The weights between two layers, input by input, with the bias as the last input.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Layer {
    /// Number of inputs, without the bias.
    inputs: usize,
    units: usize,
    /// Index of the first weight.
    first: usize,
    /// $(d+1)^{-1/2}$.
    scale: f64,
}

impl Layer {
    fn weights(self) -> Range<usize> {
        self.first..self.first + (self.inputs + 1) * self.units
    }
}

/// A network, with its prior.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Network {
    layers: Vec<Layer>,
    noise: OutputNoise,
    hyper: refine::HyperPrior,
    prior: Vec<f64>,
    /// Minimum precision of a weight, relative to that of its prior.
    floor: f64,
}

/// Maximum number of weights: more are taken for an error in a plan.
const MAX_WEIGHTS: usize = 1 << 26;

impl Network {
    /// A network with these numbers of inputs and of units in each hidden layer, and one output. Without hidden layers it is linear
    /// regression.
    ///
    /// # Errors
    /// [`DefinitionError`] if the sizes are invalid.
    pub fn new(sizes: &[usize], noise: OutputNoise) -> Result<Self, DefinitionError> {
        if sizes.is_empty() || sizes[1..].contains(&0) {
            return Err(DefinitionError::NetworkShape);
        }
        let positive = match noise {
            OutputNoise::Known(variance) => variance > 0.0 && variance.is_finite(),
            OutputNoise::Unknown(prior) => prior.is_proper() && prior.shape > 1.0,
            OutputNoise::Probit => true,
        };
        if !positive {
            return Err(DefinitionError::NotPositive);
        }
        let (mut layers, mut first) = (Vec::new(), 0);
        for (k, &inputs) in sizes.iter().enumerate() {
            let units = sizes.get(k + 1).copied().unwrap_or(1);
            layers.push(Layer { inputs, units, first, scale: (inputs as f64 + 1.0).sqrt().recip() });
            first = inputs.saturating_add(1).saturating_mul(units).saturating_add(first);
        }
        if first > MAX_WEIGHTS {
            return Err(DefinitionError::NetworkShape);
        }
        let hyper = refine::HyperPrior::new(DEFAULT_GAMMA, first);
        let mut prior = [vec![0.0; first], vec![hyper.precision(); first]].concat();
        if let OutputNoise::Unknown(gamma) = noise {
            prior.extend(gamma.natural());
        }
        Ok(Self { layers, noise, hyper, prior, floor: 1e-3 })
    }

    /// Sets the hyper-prior of the precision $\lambda$ of weights, which starts at $(a - 1)/b$.
    ///
    /// # Errors
    /// [`DefinitionError::NotPositive`] if its shape is not above 1.
    pub fn with_weight_prior(mut self, prior: Gamma) -> Result<Self, DefinitionError> {
        if !(prior.is_proper() && prior.shape > 1.0) {
            return Err(DefinitionError::NotPositive);
        }
        self.hyper = refine::HyperPrior::new(prior, self.weights());
        let (precision, weights) = (self.hyper.precision(), self.weights());
        let [lambdas, precisions, _] = split_mut(&mut self.prior, weights);
        lambdas.fill(0.0);
        precisions.fill(precision);
        Ok(self)
    }

    /// Sets the minimum precision of a weight, as a share of its prior's: 0.001 by default. Noise makes some
    /// precisions negative, and the floor then limits their weights.
    ///
    /// # Errors
    /// [`DefinitionError::NotPositive`] if it is not positive.
    pub fn with_floor(mut self, floor: f64) -> Result<Self, DefinitionError> {
        if !(floor > 0.0 && floor.is_finite()) {
            return Err(DefinitionError::NotPositive);
        }
        self.floor = floor;
        Ok(self)
    }

    /// The number of inputs: a record has one value more.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.layers[0].inputs
    }

    /// Number of weights, biases included.
    #[must_use]
    pub fn weights(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.weights().end)
    }

    /// The noise about the output, with its prior.
    #[must_use]
    pub fn noise(&self) -> OutputNoise {
        self.noise
    }

    /// The likelihood part that gives weights random means, so that units differ. It is random, but public, and does
    /// not depend on records.
    #[must_use]
    pub fn start(&self, seed: u64, start: Start) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut likelihood = vec![0.0; self.width()];
        let [lambdas, precisions, gamma] = split_mut(&mut likelihood, self.weights());
        let [_, prior, _] = split(&self.prior, self.weights());
        for layer in &self.layers {
            let part = layer.weights();
            let (lambdas, prior) = (&mut lambdas[part.clone()], &prior[part.clone()]);
            for (lambda, prior) in lambdas.iter_mut().zip(prior) {
                let normal: f64 = StandardNormal.sample(&mut rng);
                *lambda = normal * layer.scale * prior;
            }
            if let Start::Held { precision } = start {
                let held = lambdas.iter_mut().zip(prior);
                held.for_each(|(lambda, prior)| *lambda *= 0.7 * (prior + precision) / prior);
                precisions[part].fill(precision);
            } else if start != Start::Prior {
                let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt().max(1.0);
                let (lambda, precision) = (norm(lambdas), norm(prior));
                lambdas.iter_mut().for_each(|x| *x /= lambda);
                precisions[part].iter_mut().zip(prior).for_each(|(x, prior)| *x = prior / precision - prior);
            }
        }
        if let (Start::Wide { records }, OutputNoise::Unknown(_)) = (start, self.noise) {
            let half = 0.5 * records as f64;
            gamma.copy_from_slice(&[half, -0.1 * half]);
        }
        likelihood
    }

    /// Projects the natural parameters of the noise, if it is unknown; returns whether they changed.
    fn project_noise(&self, natural: &mut [f64]) -> u64 {
        let OutputNoise::Unknown(prior) = self.noise else {
            return 0;
        };
        let min = Gamma { shape: 1.0 + 0.1 * (prior.shape - 1.0), rate: 1e-3 * prior.rate };
        u64::from(Gamma::raise(natural, min))
    }

    /// The current prior precision of weights: $(a - 1)/b$ of the approximation of $\lambda$.
    #[must_use]
    pub fn prior_precision(&self) -> f64 {
        self.hyper.precision()
    }

    /// Updates the prior of each weight by the hyper-prior, given the natural parameters of $q$. To be called after
    /// each pass over the records.
    ///
    /// # Privacy
    /// Depends on the records only through `natural`.
    ///
    /// # Panics
    /// If the natural parameters are not those of this network.
    pub fn refine_prior(&mut self, natural: &[f64]) {
        assert_eq!(natural.len(), self.prior.len(), "natural parameters of another model");
        let weights = self.weights();
        let ([lambdas, precisions, _], [prior_lambdas, prior_precisions, _]) =
            (split(natural, weights), split_mut(&mut self.prior, weights));
        self.hyper.refine((lambdas, precisions), (prior_lambdas, prior_precisions));
    }
}

impl Named for Network {
    const NAME: &'static str = "network-sites";
}

impl SiteModel for Network {
    type Cavity = NetworkCavity;

    fn width(&self) -> usize {
        self.prior.len()
    }

    fn prior(&self) -> &[f64] {
        &self.prior
    }

    fn condition(&self, natural: &[f64], cavity: &mut NetworkCavity) {
        cavity.prepare(self, natural);
    }

    fn sites_spec(sites: &Sites<'_, Self>) -> Option<QuerySpec> {
        QuerySpec::of(sites)
    }

    /// In one sweep, if no weight needs a projection.
    fn leave_out(
        &self,
        likelihood: &[f64],
        kept: f64,
        natural: &mut [f64],
        cavity: &mut NetworkCavity,
    ) -> u64 {
        let all = likelihood.iter().zip(&self.prior).zip(natural.iter_mut());
        if cavity.prepare_weights(self, likelihood, kept) {
            let gamma = 2 * self.weights();
            all.skip(gamma).for_each(|((likelihood, prior), x)| *x = prior + kept * likelihood);
            let moved = self.project_noise(&mut natural[gamma..]);
            cavity.prepare_noise(self, &natural[gamma..]);
            return moved;
        }
        all.for_each(|((likelihood, prior), x)| *x = prior + kept * likelihood);
        let moved = self.project(natural);
        self.condition(natural, cavity);
        moved
    }

    fn site(&self, cavity: &NetworkCavity, record: &[f64], out: &mut [f64]) {
        cavity.site::<false>(self, record, out);
    }

    fn site_centred(&self, cavity: &NetworkCavity, record: &[f64], out: &mut [f64]) {
        cavity.site::<true>(self, record, out);
    }

    /// Precisions of weights are at least a [share](Network::with_floor) of the prior's, and means at most a thousand
    /// of its standard deviations from 0, which only noise exceeds. The shape $a$ of the noise precision is such that
    /// $a - 1$ is at least a tenth of its prior's, and its rate at least a thousandth.
    fn project(&self, natural: &mut [f64]) -> u64 {
        let [lambdas, precisions, gamma] = split_mut(natural, self.weights());
        let [_, priors, _] = split(&self.prior, self.weights());
        let mut moved = 0;
        for ((lambda, precision), prior) in lambdas.iter_mut().zip(precisions).zip(priors) {
            let high = precision.max(self.floor * prior);
            let farthest = MAX_PRIOR_SDS * high / prior.sqrt();
            let near = lambda.clamp(-farthest, farthest);
            moved += u64::from(*precision != high || *lambda != near);
            (*lambda, *precision) = (near, high);
        }
        moved + self.project_noise(gamma)
    }

    fn centre(&self, cavity: &NetworkCavity, natural: &mut [f64]) {
        shift(natural, cavity.means(), -1.0);
    }

    fn uncentre(&self, cavity: &NetworkCavity, centred: &mut [f64]) {
        shift(centred, cavity.means(), 1.0);
    }

    fn shear<'a>(&self, cavity: &'a NetworkCavity) -> Option<&'a [f64]> {
        Some(cavity.means())
    }

    fn blocks(&self) -> Vec<Block> {
        let weights = self.weights();
        let pairs = (0..weights).map(|first| Block { first, stride: weights, len: 2 });
        let gamma =
            matches!(self.noise, OutputNoise::Unknown(_)).then(|| Block::from(2 * weights..self.width()));
        pairs.chain(gamma).collect()
    }
}

/// $m/v$ and $1/v$ of weights, and the remaining parameters.
fn split(natural: &[f64], weights: usize) -> [&[f64]; 3] {
    let (pairs, rest) = natural.split_at(2 * weights);
    let (lambdas, precisions) = pairs.split_at(weights);
    [lambdas, precisions, rest]
}

fn split_mut(natural: &mut [f64], weights: usize) -> [&mut [f64]; 3] {
    let (pairs, rest) = natural.split_at_mut(2 * weights);
    let (lambdas, precisions) = pairs.split_at_mut(weights);
    [lambdas, precisions, rest]
}

/// Adds $\pm pm$ to $\lambda$ for each weight.
fn shift(natural: &mut [f64], means: &[f64], sign: f64) {
    let [lambdas, precisions, _] = split_mut(natural, means.len());
    with_wide_vectors(
        #[inline(always)]
        || {
            for (lambda, (precision, mean)) in lambdas.iter_mut().zip(precisions.iter().zip(means)) {
                *lambda += sign * *precision * mean;
            }
        },
    );
}

pub(crate) struct Networks;

const SETTINGS: [Setting; 2] = [
    Setting::integer("hidden", "the number of units in the hidden layer", (1, 100_000)).or_integer(50),
    Setting::integer("passes", "the number of passes over the records", (1, 100_000)).or_integer(40),
];

const DECLARATION: Declaration = Declaration {
    name: "network",
    about: "a numeric target, or without privacy a target of two classes, by a neural network of rectified linear units",
    not_for: "several outputs, more than two classes, two classes with privacy (use logistic), or inputs that are images",
    references: &[PBP, SEP, DP_SEP],
    family: "gaussian",
    targets: &[Target::Number, Target::TwoClasses],
    settings: &SETTINGS,
    needs_bounds: false,
    can_be_private: true,
    can_be_pure: false,
};

impl Model for Networks {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        let settings = Settings::new(self, shape)?;
        let hidden = settings.integer("hidden");
        let passes = settings.integer("passes");
        let classes = shape.target == Target::TwoClasses;
        if let Some(privacy) = privacy {
            if classes {
                return Err(ModelError::PrivateClasses { model: self.name() });
            }
            let plan = RegressionPlan::network(shape.inputs(), &[hidden], shape.records, privacy)?;
            return Ok(Box::new(NetworkPlan::Residuals(Box::new(plan))));
        }
        let (inputs, records) = (shape.inputs(), shape.records);
        Ok(Box::new(NetworkPlan::Passes(Passes { inputs, hidden, passes, classes, records })))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new(parse::<NetworkPlan>(self.name(), plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        Ok(Box::new(saved.restore::<NetworkFit>(self.name())?))
    }
}

#[cfg(test)]
mod plan_tests;
#[cfg(test)]
mod propagation_tests;
#[cfg(test)]
mod tests;
