//! Mixtures of Gaussians with a shared spherical noise.
//!
//! $$\mu_k \sim N(m_k, v I), \qquad p(x_n) = \sum_{k=1}^J w_k\, N(x_n; \mu_k, s^2 I)$$
//!
//! The weights $w$ are equal or have a Dirichlet prior, and $s^2$ is known or its reciprocal has a gamma prior. The
//! approximation is a product of a Gaussian for each mean, and of a gamma and a Dirichlet where they are unknown. Labels
//! are summed out in each site and never kept: nothing in the result grows with the data. The posterior of a mixture
//! has $J!$ equal modes; the initial means determine which of them is approximated.
//!
//! Not for: components of different shapes or sizes (the noise is shared and spherical), or choosing their number.
//!
//! # Citation
//! Vinaroz, Park, "Differentially private stochastic expectation propagation", TMLR 2022, section 6.1; Li,
//! Hernandez-Lobato, Turner, "Stochastic expectation propagation", NeurIPS 2015, section 5.

mod plan;
mod posterior;
pub(crate) mod query;
mod refine;
mod site;
pub(crate) mod sketch;
mod validate;

pub use plan::{Expected, MixturePlan, SitesPlan, StartPlan};
pub use posterior::{Component, MixturePosterior};
pub use site::MixtureCavity;

use crate::budget::Privacy;
use crate::engine::{Block, Simulate, SiteModel};
use crate::family::{Covariance, Dirichlet, Gamma, Gaussian, Moments};
use crate::model::DefinitionError;
use crate::model::conjugate::single::unlimited_budget;
use crate::model::mixture::plan::{PlannedMixture, matrices, mixture};
use crate::model::planned::parse;
use crate::model::reference::{DP_SEP, RANDOM_FEATURES, SEP, SKETCHED_MIXTURES};
use crate::model::settings::Settings;
use crate::model::{
    Declaration, Estimate, Model, ModelError, Planned, Posterior, Saved, Setting, SettingValue, TableShape,
    Target,
};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use serde_json::Value;
use std::ops::Range;

/// The noise about a component's mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoiseVariance {
    /// $s^2$.
    Known(f64),
    /// A prior of $1/s^2$, with a shape above 1.
    Unknown(Gamma),
}

/// The weights of components.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Weights {
    /// All equal.
    Uniform,
    /// A symmetric Dirichlet prior with this concentration.
    Dirichlet(f64),
}

/// A mixture, with its prior and its approximating family.
#[derive(Debug, Clone)]
pub struct Mixture {
    family: Gaussian,
    components: usize,
    noise: NoiseVariance,
    weights: Weights,
    prior_precision: f64,
    prior: Vec<f64>,
}

impl Mixture {
    /// A mixture of as many components as there are prior means, with known noise and equal weights.
    ///
    /// # Errors
    /// [`DefinitionError`] if these are not means and variances.
    pub fn new(
        prior_means: &[Vec<f64>],
        prior_variance: f64,
        covariance: Covariance,
        noise: NoiseVariance,
        weights: Weights,
    ) -> Result<Self, DefinitionError> {
        let dimension = prior_means.first().map_or(0, Vec::len);
        if dimension == 0 || prior_means.iter().any(|mean| mean.len() != dimension) {
            return Err(DefinitionError::MixtureShape);
        }
        let noise_is_positive = match noise {
            NoiseVariance::Known(variance) => variance > 0.0,
            NoiseVariance::Unknown(prior) => prior.is_proper() && prior.shape > 1.0,
        };
        let weights_are_positive = match weights {
            Weights::Uniform => true,
            Weights::Dirichlet(alpha) => alpha > 0.0,
        };
        if !(prior_variance > 0.0 && prior_variance.is_finite() && noise_is_positive && weights_are_positive)
        {
            return Err(DefinitionError::NotPositive);
        }
        let (family, components) = (Gaussian { dimension, covariance }, prior_means.len());
        let mut prior = Vec::new();
        for mean in prior_means {
            let covariance = (0..dimension * dimension)
                .map(|k| if k % (dimension + 1) == 0 { prior_variance } else { 0.0 })
                .collect();
            let moments = Moments { mean: mean.clone(), covariance };
            prior.extend(family.natural(&moments).ok_or(DefinitionError::NotPositive)?);
        }
        if let NoiseVariance::Unknown(gamma) = noise {
            prior.extend(gamma.natural());
        }
        if let Weights::Dirichlet(alpha) = weights {
            prior.extend(Dirichlet { concentration: vec![alpha; components] }.natural());
        }
        Ok(Self { family, components, noise, weights, prior_precision: 1.0 / prior_variance, prior })
    }

    /// Number of components $J$.
    #[must_use]
    pub fn components(&self) -> usize {
        self.components
    }

    /// Number of columns $D$.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.family.dimension
    }

    /// The family of each mean.
    #[must_use]
    pub fn family(&self) -> Gaussian {
        self.family
    }

    /// The likelihood part that moves the means of the prior to these, each with this precision: a possible start of
    /// SEP.
    ///
    /// # Panics
    /// If there is not one mean for each component.
    #[must_use]
    pub fn start(&self, means: &[Vec<f64>], precision: f64) -> Vec<f64> {
        assert_eq!(means.len(), self.components, "one mean for each component");
        let d = self.dimension();
        let mut likelihood = vec![0.0; self.width()];
        let mut added = vec![0.0; d * d];
        (0..d).for_each(|i| added[i * (d + 1)] = precision);
        for (k, mean) in means.iter().enumerate() {
            let range = self.component(k);
            self.family.set_precision(&added, &mut likelihood[range.clone()]);
            for (i, mean) in mean.iter().enumerate() {
                let prior = self.prior[range.start + i];
                likelihood[range.start + i] = mean * (precision + self.prior_precision) - prior;
            }
        }
        likelihood
    }

    /// $m_k$ of the prior.
    fn prior_mean(&self, k: usize) -> Vec<f64> {
        self.prior[self.component(k)][..self.dimension()].iter().map(|x| x / self.prior_precision).collect()
    }

    /// The coordinates of a component.
    fn component(&self, k: usize) -> Range<usize> {
        k * self.family.width()..(k + 1) * self.family.width()
    }

    /// The coordinates of the noise, and of the weights; empty if they are known.
    fn gamma_and_dirichlet(&self) -> (Range<usize>, Range<usize>) {
        let first = self.components * self.family.width();
        let second = first + if matches!(self.noise, NoiseVariance::Unknown(_)) { Gamma::WIDTH } else { 0 };
        (first..second, second..self.prior.len())
    }
}

impl SiteModel for Mixture {
    type Cavity = MixtureCavity;

    fn width(&self) -> usize {
        self.prior.len()
    }

    fn prior(&self) -> &[f64] {
        &self.prior
    }

    fn condition(&self, natural: &[f64], cavity: &mut MixtureCavity) {
        cavity.prepare(self, natural);
    }

    fn site(&self, cavity: &MixtureCavity, record: &[f64], out: &mut [f64]) {
        cavity.site(self, record, out);
    }

    /// A tenth of the prior's precision, concentration and rate, and the prior's shape: the information of records
    /// may be slightly negative, but not more than that.
    fn project(&self, natural: &mut [f64]) -> u64 {
        let mut moved = 0;
        for k in 0..self.components {
            moved +=
                u64::from(self.family.project(&mut natural[self.component(k)], 0.1 * self.prior_precision));
        }
        let (gamma, dirichlet) = self.gamma_and_dirichlet();
        if let NoiseVariance::Unknown(prior) = self.noise {
            let min = Gamma { rate: 0.1 * prior.rate, ..prior };
            moved += u64::from(Gamma::raise(&mut natural[gamma], min));
        }
        if let Weights::Dirichlet(alpha) = self.weights {
            for x in &mut natural[dirichlet] {
                let allowed = x.max(0.1 * alpha - 1.0);
                moved += u64::from(*x != allowed);
                *x = allowed;
            }
        }
        moved
    }

    fn centre(&self, cavity: &MixtureCavity, natural: &mut [f64]) {
        self.shift(cavity, natural, -1.0);
    }

    fn uncentre(&self, cavity: &MixtureCavity, centred: &mut [f64]) {
        self.shift(cavity, centred, 1.0);
    }

    fn blocks(&self) -> Vec<Block> {
        let (gamma, dirichlet) = self.gamma_and_dirichlet();
        let parts =
            (0..self.components).map(|k| self.component(k)).chain([gamma]).filter(|part| !part.is_empty());
        parts.chain(dirichlet.map(|k| k..k + 1)).map(Block::from).collect()
    }
}

impl Simulate for Mixture {
    fn record_width(&self) -> usize {
        self.dimension()
    }

    fn simulate(&self, records: usize, seed: u64) -> Vec<f64> {
        let mut rng = public_rng(1000 + seed);
        let (j, d) = (self.components, self.dimension());
        let spread = self.prior_precision.sqrt().recip();
        let means: Vec<Vec<f64>> = (0..j)
            .map(|k| self.prior_mean(k).iter().map(|m| m + spread * normal(&mut rng)).collect())
            .collect();
        let noise = match self.noise {
            NoiseVariance::Known(variance) => variance,
            NoiseVariance::Unknown(prior) => rand_distr::Gamma::new(prior.shape, 1.0 / prior.rate)
                .map_or(prior.rate / prior.shape, |gamma| 1.0 / gamma.sample(&mut rng).max(1e-6)),
        };
        let sizes: Vec<f64> = match self.weights {
            Weights::Uniform => vec![1.0; j],
            Weights::Dirichlet(alpha) => {
                let gamma = rand_distr::Gamma::new(alpha, 1.0);
                (0..j).map(|_| gamma.map_or(1.0, |gamma| gamma.sample(&mut rng))).collect()
            }
        };
        let total: f64 = sizes.iter().sum();
        let mut values = Vec::with_capacity(records * d);
        for _ in 0..records {
            let mut left = total * rng.random::<f64>();
            let component = sizes.iter().position(|size| {
                left -= size;
                left < 0.0
            });
            let mean = &means[component.unwrap_or(j - 1)];
            values.extend(mean.iter().map(|m| m + noise.sqrt() * normal(&mut rng)));
        }
        values
    }
}

impl Mixture {
    /// Adds $\pm Pm$ to $\lambda$ for each component, at the means of the cavity.
    fn shift(&self, cavity: &MixtureCavity, natural: &mut [f64], sign: f64) {
        for k in 0..self.components {
            self.family.shift(cavity.mean(k, self.dimension()), &mut natural[self.component(k)], sign);
        }
    }
}

/// Public randomness: for simulations of the model, never for noise.
pub(crate) fn public_rng(purpose: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(purpose)
}

pub(crate) fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

pub(crate) struct Mixtures;

const SETTINGS: [Setting; 3] = [
    Setting::integer("components", "the number of components", (1, 1000)),
    Setting::number(
        "noise-sd",
        "the standard deviation of a record about its component's mean, for inputs between -1 and 1",
        (1e-4, 1e3),
    ),
    Setting::number(
        "prior-variance",
        "the prior variance of each coordinate of a mean, for inputs between -1 and 1",
        (1e-6, 1e6),
    )
    .or_number(0.25),
];

const DECLARATION: Declaration = Declaration {
    name: "mixture",
    about: "clusters of records: Gaussian components with a known, shared and spherical variance",
    not_for: "components of different shapes or sizes, or choosing the number of components",
    references: &[DP_SEP, SEP, RANDOM_FEATURES, SKETCHED_MIXTURES],
    family: "gaussian",
    targets: &[Target::Nothing],
    settings: &SETTINGS,
    needs_bounds: true,
    can_be_private: true,
    can_be_pure: false,
};

impl Model for Mixtures {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        let settings = Settings::new(self, shape)?;
        let components = settings.integer("components");
        let noise_sd = settings.number("noise-sd");
        let prior_variance = settings.number("prior-variance");
        let model = mixture(components, shape.inputs(), noise_sd, prior_variance)?;
        let plan = MixturePlan::new(&model, shape.records, privacy.unwrap_or(&unlimited_budget()))?;
        Ok(Box::new(PlannedMixture { noise_sd, prior_variance, plan }))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new(parse::<PlannedMixture>(self.name(), plan)?))
    }
    /// The prior has a matrix for each component.
    fn min_estimate(&self, shape: &TableShape) -> Option<Estimate> {
        let components = shape.settings.get("components").and_then(SettingValue::as_f64).unwrap_or(1.0);
        Some(matrices(components, shape.inputs() as f64))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        Ok(Box::new(saved.restore::<MixturePosterior>(self.name())?))
    }
}

#[cfg(test)]
mod tests;
