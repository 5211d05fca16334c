//! Sigmoid belief networks: binary records from binary hidden units.
//!
//! $z_k \sim \mathrm{Bern}(\sigma(b_k))$ for $K$ units, $y_j \sim \mathrm{Bern}(\sigma(w_j \cdot z + c_j))$ for $J$ outputs. The logistic likelihood is bounded
//! by a Gaussian in $\psi_j = w_j\cdot z + c_j$, $e^{l_j\psi_j - \kappa_j\psi_j^2/2}$ up to a constant, in one of two ways ([`Curvature`]); then all of $q(W)$, $q(b)$, $q(c)$ are
//! Gaussian, and $q(z)$ of a record is Bernoulli. The statistics of a record are $z$, $l$, $l z^T$ and those of the
//! curvature.
//!
//! $q(W)$ is factorised: given the others its means solve the full linear system $A_j\mu_j = h_j$, and its variances are $1/A_{j,kk}$. So an E-step
//! costs $JK$ for each sweep and is exact, where full covariances would cost $JK^2$.
//!
//! With noise, and the quadratic bound, the prior of the weights is estimated from the noisy sums (`denoise.rs`).
//!
//! # Privacy
//! One record is one row. Every number of its statistics is between known bounds, and centred between them: the
//! sensitivity under replace-one is at most the length of the box's diagonal, which is that of the wall's block
//! geometry, unless it is clipped to less. $E[\omega]$ of the biases $b$ is a function of released values, and is no
//! release (the paper's $s_2$). The E-step has no state between records. Attacked by
//! `corners_reach_and_never_exceed_the_sensitivity`.
//!
//! # Citation
//! Neal, "Connectionist learning of belief networks", 1992; Gan, Henao, Carlson, Carin, "Learning deep sigmoid belief networks with data
//! augmentation", AISTATS 2015; Park et al., "Variational Bayes in private settings (VIPS)", JAIR 2020, Algorithm 6.

mod denoise;
mod infer;
mod plan;
mod posterior;
mod shrinkage;
pub(crate) mod statistics;

pub use infer::{Beliefs, Hidden, PrivacyVariances};
pub use plan::BeliefPlan;
pub use posterior::BeliefPosterior;
pub use statistics::BeliefLearning;

use crate::budget::Privacy;
use crate::math::symmetric;
use crate::model::planned::parse;
use crate::model::reference::{BELIEF_NETWORKS, DEEP_BELIEF, POLYA_GAMMA, VIPS};
use crate::model::settings::Settings;
use crate::model::{Declaration, Model, ModelError, Planned, Posterior, Saved, Setting, TableShape, Target};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How the logistic likelihood is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Curvature {
    /// By Polya-Gamma variables, as in the paper: $\kappa_{nj}$ depends on the record, so a $K \times K$ matrix is
    /// released for each output.
    PolyaGamma,
    /// By its largest curvature, $\kappa = 1/4$ for all (Böhning): one matrix for all outputs, so that far fewer
    /// numbers are released. The bound is looser where outputs are nearly certain.
    Quadratic,
}

/// The public definition of a network.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BeliefModel {
    /// Number of outputs $J$.
    pub outputs: usize,
    /// Number of hidden units $K$.
    pub units: usize,
    /// How the likelihood is bounded.
    pub curvature: Curvature,
    /// The prior variance of the biases.
    pub bias_variance: f64,
    /// Sweeps of an E-step.
    pub sweeps: usize,
}

/// Clipping bound of $\chi$ in the quadratic bound, which holds for any $\chi$: $|y - \sigma(\chi) + \chi/4|$ is then
/// below 1.02.
const MAX_CHI: f64 = 4.0;

impl BeliefModel {
    /// A model with broad priors of the biases.
    #[must_use]
    pub fn new(outputs: usize, units: usize, curvature: Curvature) -> Self {
        Self { outputs, units, curvature, bias_variance: 100.0, sweeps: 5 }
    }

    /// The blocks of the statistics of a record, in order: the number of coordinates, and the bound of each after
    /// centring.
    #[must_use]
    pub fn blocks(&self) -> Vec<(usize, f64)> {
        let (j, k) = (self.outputs, self.units);
        let pairs = symmetric::width(k);
        match self.curvature {
            Curvature::PolyaGamma => {
                vec![(k, 0.5), (j, 0.5), (j * k, 0.5), (j, 0.125), (j * k, 0.125), (j * pairs, 0.125)]
            }
            Curvature::Quadratic => {
                let linear = 1.0 + 0.25 * MAX_CHI - 1.0 / (1.0 + (-MAX_CHI).exp()) + 1e-12;
                vec![(k, 0.5), (j, linear.max(1.02)), (j * k, linear.max(1.02)), (pairs, 0.5)]
            }
        }
    }

    /// Number of coordinates of the statistics of a record.
    #[must_use]
    pub fn width(&self) -> usize {
        self.blocks().iter().map(|(width, _)| width).sum()
    }

    /// Why the model is invalid, if it is.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let counts = self.outputs > 0 && self.units > 0 && self.sweeps > 0;
        let sane = (1e-6..=1e6).contains(&self.bias_variance);
        (!(counts && sane)).then_some(
            "outputs, units and sweeps must be at least 1, and the prior variance between 1e-6 and 1e6",
        )
    }
}

pub(crate) struct SigmoidBelief;

const SETTINGS: [Setting; 1] =
    [Setting::integer("units", "the number of hidden units", (1, 100_000)).or_integer(50)];

/// Passes over the records of a fit without privacy.
const PASSES: u64 = 30;

const DECLARATION: Declaration = Declaration {
    name: "sigmoid-belief",
    about: "binary records from binary hidden units: a sigmoid belief network; an input above the middle of its bounds is a one",
    not_for: "columns whose values between the bounds matter, the meaning of single units, which can be exchanged, or intervals: parameters are point estimates",
    references: &[VIPS, BELIEF_NETWORKS, DEEP_BELIEF, POLYA_GAMMA],
    family: "gaussian",
    targets: &[Target::Nothing],
    settings: &SETTINGS,
    needs_bounds: true,
    can_be_private: true,
    can_be_pure: false,
};

impl Model for SigmoidBelief {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        let settings = Settings::new(self, shape)?;
        let units = settings.integer("units");
        let model = BeliefModel::new(shape.inputs(), units, Curvature::Quadratic);
        Ok(Box::new(match privacy {
            Some(privacy) => BeliefPlan::new(&model, shape.records, privacy)?,
            None => BeliefPlan::with_noise(&model, shape.records, None, PASSES, 1.0),
        }))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new(parse::<BeliefPlan>(self.name(), plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        let posterior: BeliefPosterior = saved.restore(self.name())?;
        let (j, k) = (posterior.model.outputs, posterior.model.units);
        let beliefs = &posterior.beliefs;
        let cells = [&beliefs.weights, &beliefs.variances].iter().all(|x| x.len() == j * k);
        let units = [&beliefs.unit_biases, &beliefs.unit_variances].iter().all(|x| x.len() == k);
        let outputs = [&beliefs.output_biases, &beliefs.output_variances].iter().all(|x| x.len() == j);
        if !(cells && units && outputs) {
            return Err(ModelError::NotSaved { model: self.name() });
        }
        Ok(Box::new(posterior))
    }
}

#[cfg(test)]
mod registry_tests;
#[cfg(test)]
mod tests;
