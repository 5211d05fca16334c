//! Private regression, with and without features beside the linear part.

use reticent::budget::{Cost, Ledger, Privacy};
use reticent::model::regression::{
    FeaturesPlan, RefinementPlan, RegressionError, RegressionPlan, RegressionPosterior, ResidualsPlan,
};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records};
use serde_json::Value;

use crate::conjugate::plenty;
use crate::model::{out_of_range, parse, same_shape};
use crate::{
    Bounded, Estimate, Facts, Fitted, Model, ModelError, Outline, Planned, Predicted, Release, Saved, Target,
    Variances,
};

type Plan = fn(usize, usize, &Privacy) -> Result<RegressionPlan, RegressionError>;

/// As messages about plans call it; networks have such plans too.
const MODEL: &str = "regression";

/// A regression, planned in this way from inputs and records.
pub(crate) struct Regression {
    name: &'static str,
    about: &'static str,
    plan: Plan,
}

pub(crate) static REGRESSION: Regression = Regression {
    name: "regression",
    about: "a number by a smooth function of the inputs: a linear part, and random features if there are records enough",
    plan: RegressionPlan::new,
};

pub(crate) static LINEAR: Regression = Regression {
    name: "linear",
    about: "a number by a linear function of the inputs",
    plan: RegressionPlan::linear,
};

impl Model for Regression {
    fn name(&self) -> &'static str {
        self.name
    }
    fn about(&self) -> &'static str {
        self.about
    }
    fn family(&self) -> &'static str {
        "gaussian"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::Number]
    }
    fn new_plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new((self.plan)(facts.inputs(), facts.records, privacy.unwrap_or(&plenty()))?))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan(self.name, plan)
    }
    /// A matrix of the inputs is needed to say what features promise.
    fn least_estimate(&self, facts: &Facts) -> Option<Estimate> {
        Some(linear_estimate(facts.inputs(), facts.records, 1))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        Ok(Box::new(Bounded(saved.restore::<RegressionPosterior>(self.name)?)))
    }
}

pub(crate) fn parse_plan(model: &'static str, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
    Ok(Box::new(parse::<RegressionPlan>(model, plan)?))
}

/// Of rounds of moments: squares of inputs of each record, and eigenvectors.
pub(crate) fn linear_estimate(inputs: usize, records: usize, rounds: usize) -> Estimate {
    let (d, rounds) = (inputs as f64, rounds as f64);
    let width = 0.5 * (d + 2.0) * (d + 3.0);
    let start = Estimate::new(14.0 * d * d, rounds * 40.0 * d.powi(3), d * d + 8.0 * d);
    start.releases(rounds, width, records as f64, 3.0 * d * d + 20.0 * d + 100.0)
}

/// Of random features: products of matrices of their size, and a factor for each step.
fn features_estimate(start: Estimate, plan: &FeaturesPlan, inputs: usize, records: usize) -> Estimate {
    let (d, m, steps) = (inputs as f64, plan.frequencies as f64, plan.steps as f64);
    let mut all = start.releases(steps, 2.0 * m, records as f64, d * d + d * m + 60.0 * m);
    all.memory += 8.0 * (14.0 * m * m + 300.0 * m + d * m);
    all.operations += (steps + 12.0) * m.powi(3) + 20.0 * m * m * d;
    all.file_bytes += 8.0 * (d * m + 202.0 * m);
    all
}

/// Of a network of so many weights: releases of sites, each twice as wide.
pub(crate) fn network_estimate(start: Estimate, weights: f64, steps: u64, records: usize) -> Estimate {
    let mut all = start.releases(steps as f64, 2.0 * weights, records as f64, 60.0 * weights + 200.0);
    all.memory += 8.0 * 40.0 * weights;
    all.operations += steps as f64 * 60.0 * weights;
    all.file_bytes += 8.0 * 3.0 * weights;
    all
}

/// Weights of a network of these inputs and hidden layers, with the biases.
pub(crate) fn weights(inputs: usize, hidden: &[usize]) -> f64 {
    let below = std::iter::once(&inputs).chain(hidden);
    let above = hidden.iter().chain(std::iter::once(&1));
    below.zip(above).map(|(below, above)| (*below as f64 + 1.0) * *above as f64).sum()
}

impl Planned for RegressionPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn outline(&self) -> Outline {
        let mut releases = Vec::new();
        let mut release = |what: &str, width, times, clip, noise_multiplier| {
            releases.push(Release { what: what.into(), width, times, clip, noise_multiplier });
        };
        release("records with a known target", 1, 1, 1.0, self.count_noise_multiplier);
        let width = (self.inputs + 2) * (self.inputs + 3) / 2;
        for (k, round) in self.rounds.iter().enumerate() {
            release(
                &format!("moments of inputs and residual, round {}", k + 1),
                width,
                1,
                1.0,
                round.noise_multiplier,
            );
        }
        let refinement = match &self.refinement {
            None => None,
            Some(RefinementPlan::Features(plan)) => {
                let width = 2 * plan.frequencies;
                release("clipped pulls of features", width, plan.steps, 1.0, plan.noise_multiplier);
                Some(plan.check_noise_multiplier)
            }
            Some(RefinementPlan::Network(plan)) => {
                let width = plan.width(self.inputs);
                release("clipped sites of the network", width, plan.steps, plan.clip, plan.noise_multiplier);
                Some(plan.check_noise_multiplier)
            }
        };
        if let Some(noise_multiplier) = refinement {
            let norm = std::f64::consts::SQRT_2;
            release("squared residuals of both predictions", 2, 1, norm, noise_multiplier);
        }
        match self.residuals {
            ResidualsPlan::Histogram { noise_multiplier } => {
                release("histogram of residuals", 32, 1, 1.0, noise_multiplier);
            }
            ResidualsPlan::Squares { noise_multiplier } => {
                release("squared residuals", 1, 1, 1.0, noise_multiplier);
            }
        }
        let expected = vec![
            (
                "variance of errors of a linear fit, over the best possible linear one".into(),
                self.expected.linear,
            ),
            ("the same of this plan, if features explain half of the rest".into(), self.expected.features),
        ];
        Outline { releases, expected, why: self.why.clone() }
    }

    fn validate(&self, facts: &Facts) -> Result<(), ModelError> {
        same_shape(MODEL, (self.inputs, self.records), facts)?;
        RegressionPlan::validate(self).map_err(out_of_range(MODEL))
    }

    fn cost_estimate(&self) -> Estimate {
        let (inputs, records) = (self.inputs, self.records);
        let linear = linear_estimate(inputs, records, self.rounds.len());
        // Residuals are those of the whole prediction, once or twice more.
        let residuals = linear.releases(2.0, 32.0, records as f64, 2.0 * (inputs as f64).powi(2) + 200.0);
        match &self.refinement {
            None => residuals,
            Some(RefinementPlan::Features(plan)) => features_estimate(residuals, plan, inputs, records),
            Some(RefinementPlan::Network(plan)) => {
                network_estimate(residuals, weights(inputs, &plan.hidden), plan.steps + 3, records)
            }
        }
    }

    fn price(&self, _: &Privacy) -> Result<Cost, ModelError> {
        Ok(RegressionPlan::price(self)?)
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        let (posterior, receipt) = match privacy {
            Some(privacy) => RegressionPlan::fit(self, records, source, privacy, ledger)?,
            None => self.fit_without_privacy(records, source, ledger)?,
        };
        Ok((Box::new(Bounded(posterior)), receipt))
    }
}

impl Fitted for RegressionPosterior {
    fn predict(&self, inputs: &[f64], probabilities: &[f64]) -> Predicted {
        let prediction = RegressionPosterior::predict(self, inputs);
        let privacy = self.privacy_variance(inputs).min(prediction.variance);
        let records = prediction.variance - privacy;
        Predicted::Number {
            mean: prediction.mean,
            variances: Variances { records, privacy, targets: prediction.noise_variance },
            quantiles: probabilities.iter().map(|&p| self.quantile(&prediction, p)).collect(),
        }
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
