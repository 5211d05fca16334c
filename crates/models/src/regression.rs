//! Private regression, with and without features beside the linear part.

use reticent::budget::{Cost, Ledger, Privacy};
use reticent::model::regression::{
    RefinementPlan, RegressionError, RegressionPlan, RegressionPosterior, ResidualsPlan,
};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records};
use serde_json::Value;

use crate::conjugate::plenty;
use crate::model::{parse, same_inputs, settle};
use crate::{
    Bounded, Facts, Fitted, Model, ModelError, Outline, Planned, Predicted, Release, Saved, Target, Variances,
};

type Plan = fn(usize, usize, &Privacy) -> Result<RegressionPlan, RegressionError>;

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
    fn plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        settle::<0>(self, facts)?;
        Ok(Box::new((self.plan)(facts.inputs(), facts.records, privacy.unwrap_or(&plenty()))?))
    }
    fn read_plan(&self, facts: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        read_plan(self, facts, plan)
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        Ok(Box::new(Bounded(saved.restore::<RegressionPosterior>(self.name)?)))
    }
}

pub(crate) fn read_plan(
    model: &dyn Model,
    facts: &Facts,
    plan: &Value,
) -> Result<Box<dyn Planned>, ModelError> {
    settle::<0>(model, facts)?;
    let plan: RegressionPlan = parse(model.name(), plan)?;
    same_inputs(model.name(), plan.inputs, facts)?;
    Ok(Box::new(plan))
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
