//! Planning and running a private fit.

use crate::budget::{Adjacency, Privacy};
use crate::engine::SiteModel;
use crate::math::symmetric;
use crate::model::known_targets::KnownTargets;
use crate::model::planned::{gaussian_mu, out_of_range, parse, same_shape};
use crate::model::regression::cost::{features_estimate, linear_estimate, network_estimate, weights};
use crate::model::regression::features::{Features, Refinement};
use crate::model::regression::network::NetworkPlan;
use crate::model::regression::query::Moments;
use crate::model::regression::residuals::BINS;
use crate::model::regression::rounds::Frame;
use crate::model::{
    Bounded, CoefficientPrior, Estimate, ModelError, Planned, Posterior, TableShape, known_targets,
};
use crate::model::{DefinitionError, FitError};
use crate::wall::{Geometry, Plan, PlanError, Sampler, SumId, Sums, Wall};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::f64::consts::SQRT_2;

/// The plan of a private regression, chosen from public numbers only. It can be edited and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RegressionPlan {
    /// Number of records $N$.
    pub records: usize,
    /// Inputs of a record.
    pub inputs: usize,
    /// $\varepsilon$ of the budget.
    pub epsilon: f64,
    /// $\delta$ of the budget.
    pub delta: f64,
    /// The neighbour relation of data sets.
    pub adjacency: Adjacency,
    /// The standard deviation of the noise in the number of records with a known target.
    pub count_noise_multiplier: f64,
    /// The rounds of moments, for the linear prediction.
    pub rounds: Vec<Round>,
    /// The refinement of the linear prediction, if there is one.
    pub refinement: Option<RefinementPlan>,
    /// The release about residuals.
    pub residuals: ResidualsPlan,
    /// Stated priors of coefficients, if the prediction is linear.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priors: Vec<CoefficientPrior>,
    /// Expected accuracy.
    pub expected: Expected,
    /// The reasons for these choices.
    pub why: Vec<String>,
}

/// A round of moments.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// The square of the clipping norm of records, relative to its expected value.
    #[serde(rename = "reach")]
    pub radius_factor: f64,
    /// Standard deviation of the noise over the sensitivity.
    pub noise_multiplier: f64,
}

/// The refinement of the linear prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefinementPlan {
    /// Random features.
    Features(FeaturesPlan),
    /// A network by DP-SEP.
    Network(NetworkPlan),
}

/// The refinement by random features.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FeaturesPlan {
    /// Number of frequencies; each has a cosine and a sine.
    pub frequencies: usize,
    /// Length scale of the covariance function, relative to the expected distance between two records.
    pub length_scale: f64,
    /// Seed of the public draw of the frequencies.
    pub seed: u64,
    /// Number of releases.
    pub steps: u64,
    /// Clipping bound of residuals, over the standard deviation that the rounds estimate.
    pub clip: f64,
    /// Factor of precisions over those for Gaussian inputs.
    pub inflation: f64,
    /// The standard deviation of the noise of a release over the sensitivity.
    pub noise_multiplier: f64,
    /// As `noise_multiplier`, for the release that compares the result with the linear prediction.
    pub check_noise_multiplier: f64,
}

/// The release about the residuals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ResidualsPlan {
    /// A histogram: quantiles need not be those of a Gaussian.
    Histogram {
        /// Standard deviation of the noise over the sensitivity.
        noise_multiplier: f64,
    },
    /// Their mean square: for few records.
    Squares {
        /// Standard deviation of the noise over the sensitivity.
        noise_multiplier: f64,
    },
}

/// The expected error variance of predictions relative to that of the best linear prediction, if features explain
/// half of the residual variance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Of the linear prediction with the whole budget.
    pub linear: f64,
    /// Of the prediction with features.
    pub features: f64,
}

/// Shares of the rounds in their budget, and the radius factor of each: the last one is for the prediction, and clips
/// less.
const ROUNDS: [(f64, f64); 3] = [(0.2, 1.0), (0.3, 1.0), (0.5, 2.0)];

/// Share of the budget for the rounds if there are features.
const ROUNDS_SHARE: f64 = 0.2;
/// Share of the budget for comparing features with the linear prediction.
const CHECK_SHARE: f64 = 0.02;
/// Share of the budget for the residuals.
const RESIDUALS_SHARE: f64 = 0.03;

/// Maximum error in the probability of a quantile from a histogram.
const COVERAGE_ERROR: f64 = 0.01;

/// Number of records per frequency.
const RECORDS_EACH: usize = 12;
/// Minimum and maximum number of frequencies.
const FREQUENCIES: (usize, usize) = (16, 600);

/// A GDP parameter $\mu$, with the number of steps and the clipping norm that suit a network at that budget.
const NETWORK: (f64, f64, f64) = (0.27, 100.0, 1.5);

/// Minimum expected gain of features, as they may explain less than half.
const MIN_GAIN: f64 = 0.3;

/// Number of frequencies for the estimate of the expected accuracy.
const ESTIMATE_FREQUENCIES: usize = 100;

impl RegressionPlan {
    /// Chooses a plan from the number of inputs and records and the budget: features if they should help.
    ///
    /// All releases are Gaussian and over all records, so the cost depends only on the sum of their squared GDP
    /// parameters; neither sampling nor many steps would change it.
    ///
    /// # Errors
    /// [`FitError`] for invalid arguments, and those of the accountant.
    pub fn new(inputs: usize, records: usize, privacy: &Privacy) -> Result<Self, FitError> {
        let linear = Self::linear(inputs, records, privacy)?;
        let mu = gaussian_mu(privacy)?;
        let frequencies = (records / RECORDS_EACH).clamp(FREQUENCIES.0, FREQUENCIES.1);
        let spare = 1.0 - ROUNDS_SHARE - CHECK_SHARE - RESIDUALS_SHARE - known_targets::SHARE;
        let steps = 24;
        let features = FeaturesPlan {
            frequencies,
            length_scale: 0.4,
            seed: 1,
            steps,
            clip: 0.8,
            inflation: 1.5,
            noise_multiplier: (steps as f64 / spare).sqrt() / mu,
            check_noise_multiplier: 1.0 / (mu * CHECK_SHARE.sqrt()),
        };
        let mut refined = Self {
            rounds: rounds(mu * ROUNDS_SHARE.sqrt()),
            refinement: Some(RefinementPlan::Features(features)),
            ..linear.clone()
        };
        refined.expected.features = refined.expect_features(&features) + refined.expect_linear() - 1.0;
        let gain = 1.0 - refined.expected.features / linear.expected.linear;
        let why = format!(
            "features are expected to change the error variance by {:+.0} %, if they explain half of the residual variance of a linear prediction",
            -100.0 * gain
        );
        let mut plan = if gain > MIN_GAIN { refined } else { linear };
        plan.why.push(why);
        Ok(plan)
    }

    /// A plan with a network by DP-SEP for the residual of a linear prediction, whether it is expected to help or
    /// not.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn network(
        inputs: usize,
        hidden: &[usize],
        records: usize,
        privacy: &Privacy,
    ) -> Result<Self, FitError> {
        let linear = Self::linear(inputs, records, privacy)?;
        let mu = gaussian_mu(privacy)?;
        let spare = 1.0 - ROUNDS_SHARE - CHECK_SHARE - RESIDUALS_SHARE - known_targets::SHARE;
        // With less noise, more steps and a larger clipping norm pay off.
        let more = (mu / NETWORK.0).sqrt().clamp(0.5, 3.0);
        let steps = (NETWORK.1 * more).round() as u64;
        let network = NetworkPlan {
            hidden: hidden.to_vec(),
            seed: 1,
            steps,
            clip: NETWORK.2 * more,
            damping: 0.05,
            noise_variance: 0.5,
            start_precision: 10.0,
            floor: 30.0,
            noise_multiplier: (steps as f64 / spare).sqrt() / mu,
            check_noise_multiplier: 1.0 / (mu * CHECK_SHARE.sqrt()),
        };
        let refinement = Some(RefinementPlan::Network(network));
        Ok(Self { rounds: rounds(mu * ROUNDS_SHARE.sqrt()), refinement, ..linear })
    }

    /// A plan without a refinement: private linear regression.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn linear(inputs: usize, records: usize, privacy: &Privacy) -> Result<Self, FitError> {
        if inputs == 0 || records == 0 {
            return Err(FitError::Definition(DefinitionError::Regression));
        }
        let mu = gaussian_mu(privacy)?;
        let noise_multiplier = 1.0 / (mu * RESIDUALS_SHARE.sqrt());
        let factor = privacy.adjacency().sensitivity_factor(SQRT_2);
        let error = noise_multiplier * factor * (BINS as f64 / 4.0).sqrt() / records as f64;
        let residuals = if error <= COVERAGE_ERROR {
            ResidualsPlan::Histogram { noise_multiplier }
        } else {
            ResidualsPlan::Squares { noise_multiplier }
        };
        let mut plan = Self {
            records,
            inputs,
            epsilon: privacy.epsilon(),
            delta: privacy.delta(),
            adjacency: privacy.adjacency(),
            count_noise_multiplier: 1.0 / (mu * known_targets::SHARE.sqrt()),
            rounds: rounds(mu * (1.0 - RESIDUALS_SHARE - known_targets::SHARE).sqrt()),
            refinement: None,
            residuals,
            priors: Vec::new(),
            expected: Expected { linear: 1.0, features: f64::NAN },
            why: vec![
                format!(
                    "{} rounds of moments over all records, each in coordinates whitened by the one before",
                    ROUNDS.len()
                ),
                "coefficients without a stated prior have a normal one about 0 that is as wide as if any direction of the inputs could explain all of the variance of targets; that variance is estimated with them".into(),
            ],
        };
        plan.expected.linear = plan.expect_linear();
        plan.expected.features = plan.expected.linear;
        Ok(plan)
    }

    /// The error variance due to noise in the last round: of slopes, and of shrinking them, if a linear prediction
    /// explains a third of the variance of targets.
    fn expect_linear(&self) -> f64 {
        let Some(last) = self.rounds.last() else { return 1.0 };
        let d = self.inputs as f64;
        let square = 1.0 + last.radius_factor * (d + 1.0);
        let noise =
            last.noise_multiplier * self.adjacency.sensitivity_factor(SQRT_2) * square / self.records as f64;
        let spectral = noise * (2.0 * (d + 2.0)).sqrt();
        1.0 + (0.5 * d * noise * noise + 0.5 * spectral * spectral) / (1.0 + spectral).powi(2)
    }

    /// The remaining share of the residual variance with features, for Gaussian inputs.
    fn expect_features(&self, plan: &FeaturesPlan) -> f64 {
        let mut frame = Frame::new(self.inputs);
        frame.residual_variance = 1.0;
        let count = plan.frequencies.min(ESTIMATE_FREQUENCIES);
        let features = Features::new(&frame, count, plan.length_scale, plan.seed);
        let records = self.records as f64;
        let mut refinement = Refinement::new(&frame, &features, records, 1.0);
        let noise = plan.noise_multiplier * self.adjacency.sensitivity_factor(2.0) * plan.clip
            / (plan.steps as f64).sqrt();
        let mut features = features;
        refinement.step(&mut features, &vec![0.0; 2 * count], noise * noise, 1.0);
        0.5 + refinement.finish(&mut features, records, 0).variance
    }

    pub(crate) fn releases(&self) -> Result<(Plan, Releases), FitError> {
        self.validate().map_err(PlanError::from)?;
        // Beyond these, powers of them would overflow.
        let positive = |x: f64| (1e-9..=1e9).contains(&x);
        let rounds =
            self.rounds.iter().all(|round| positive(round.radius_factor) && positive(round.noise_multiplier));
        let refinement = match &self.refinement {
            None => true,
            Some(RefinementPlan::Features(plan)) => {
                let numbers = [
                    plan.length_scale,
                    plan.clip,
                    plan.inflation,
                    plan.noise_multiplier,
                    plan.check_noise_multiplier,
                ];
                plan.frequencies > 0 && plan.steps > 0 && numbers.into_iter().all(positive)
            }
            Some(RefinementPlan::Network(plan)) => {
                let numbers = [plan.clip, plan.damping, plan.noise_variance, plan.check_noise_multiplier];
                plan.steps > 0
                    && (0.0..=1e9).contains(&plan.start_precision)
                    && numbers.into_iter().all(positive)
                    && plan.network(self.inputs).is_ok()
            }
        };
        let rounds = rounds && positive(self.count_noise_multiplier);
        if !(rounds && refinement && self.inputs > 0 && self.records > 0 && !self.rounds.is_empty()) {
            return Err(FitError::Definition(DefinitionError::Regression));
        }
        let mut plan = Plan::new(self.records, self.adjacency);
        let count = plan.sums(KnownTargets::sums(self.count_noise_multiplier))?;
        let mut sums = |what: &str, width, geometry, noise_multiplier, steps| {
            let (what, sampler) = (what.into(), Sampler::Full);
            plan.sums(Sums { what, width, geometry, sampler, noise_multiplier, steps })
        };
        let ball = || Geometry::Ball { radius: 1.0 };
        let width = symmetric::width(self.inputs + 2);
        let rounds = self
            .rounds
            .iter()
            .map(|round| {
                sums("moments of inputs and residual", width, Moments::geometry(), round.noise_multiplier, 1)
            })
            .collect::<Result<_, _>>()?;
        let unit = |width: usize| Geometry::Box { lower: vec![0.0; width], upper: vec![1.0; width] };
        let mut check = |noise| sums("squared residuals of both predictions", 2, unit(2), noise, 1);
        let refinement = match &self.refinement {
            Some(RefinementPlan::Features(plan)) => {
                let check = check(plan.check_noise_multiplier)?;
                let (width, noise) = (2 * plan.frequencies, plan.noise_multiplier);
                Some((sums("clipped residual-feature products", width, ball(), noise, plan.steps)?, check))
            }
            Some(RefinementPlan::Network(plan)) => {
                let check = check(plan.check_noise_multiplier)?;
                let width = plan
                    .network(self.inputs)
                    .map_err(|_| FitError::Definition(DefinitionError::Regression))?
                    .width();
                let geometry = Geometry::Ball { radius: plan.clip };
                let what = "clipped sites of the network in centred coordinates";
                Some((sums(what, width, geometry, plan.noise_multiplier, plan.steps)?, check))
            }
            None => None,
        };
        let residuals = match self.residuals {
            ResidualsPlan::Histogram { noise_multiplier } => {
                let geometry = Geometry::NonNegativeBall { radius: 1.0 };
                sums("histogram of residuals", BINS, geometry, noise_multiplier, 1)?
            }
            ResidualsPlan::Squares { noise_multiplier } => {
                sums("squared residuals", 1, unit(1), noise_multiplier, 1)?
            }
        };
        Ok((plan, Releases { count, rounds, refinement, residuals }))
    }

    /// The cost of the plan.
    ///
    /// # Errors
    /// [`FitError`] if the wall refuses the plan.
    pub fn price(&self) -> Result<reticent_accounting::Cost, FitError> {
        Ok(self.releases()?.0.price(self.delta)?)
    }
}

/// The ids of the planned sums.
pub(crate) struct Releases {
    pub(super) count: SumId,
    pub(super) rounds: Vec<SumId>,
    /// Residual-feature products or sites, and the comparison.
    pub(super) refinement: Option<(SumId, SumId)>,
    pub(super) residuals: SumId,
}

fn rounds(mu: f64) -> Vec<Round> {
    let round = |&(share, radius_factor): &(f64, f64)| Round {
        radius_factor,
        noise_multiplier: 1.0 / (mu * share.sqrt()),
    };
    ROUNDS.iter().map(round).collect()
}

/// The model name in messages about plans; networks have such plans too.
const MODEL: &str = "regression";

pub(crate) fn parse_plan(model: &'static str, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
    Ok(Box::new(parse::<RegressionPlan>(model, plan)?))
}

impl Planned for RegressionPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn releases(&self) -> Result<Plan, ModelError> {
        Ok(RegressionPlan::releases(self)?.0)
    }

    fn expected(&self) -> Vec<(String, f64)> {
        vec![
            (
                "expected error variance of a linear fit (relative to least squares)".into(),
                self.expected.linear,
            ),
            (
                "expected error variance with random features (relative to least squares)".into(),
                self.expected.features,
            ),
        ]
    }

    fn why(&self) -> Vec<String> {
        self.why.clone()
    }

    fn validate(&self, shape: &TableShape) -> Result<(), ModelError> {
        same_shape(MODEL, (self.inputs, self.records), shape)?;
        RegressionPlan::validate(self).map_err(out_of_range(MODEL))
    }

    fn cost_estimate(&self) -> Estimate {
        let (inputs, records) = (self.inputs, self.records);
        let linear = linear_estimate(inputs, records, self.rounds.len());
        // Residuals of the complete prediction are computed once or twice more.
        let residuals = linear.releases(2.0, 32.0, records as f64, 2.0 * (inputs as f64).powi(2) + 200.0);
        match &self.refinement {
            None => residuals,
            Some(RefinementPlan::Features(plan)) => features_estimate(residuals, plan, inputs, records),
            Some(RefinementPlan::Network(plan)) => {
                network_estimate(residuals, weights(inputs, &plan.hidden), plan.steps + 3, records)
            }
        }
    }

    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError> {
        let (posterior, projections) = self.fit_through(wall)?;
        Ok((Box::new(Bounded(posterior)), projections))
    }
}
