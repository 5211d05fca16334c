//! Two classes by a linear score: probit regression, by DP-SEP.
//!
//! $p(y = 1|x) = \\Phi(w \\cdot x)$ with $w \\sim N(0, vI)$, where the last weight is that of a constant. The plan releases clipped sites
//! of all records in centred coordinates, and averages. Its site model is [`Linear`](crate::model::linear::Linear). One setting:
//! `prior-variance` ($v$).
//!
//! Not for: more than 32 inputs with privacy (`logistic` has no such limit), or classes that inputs separate perfectly.

mod plan;
mod simulate;

use crate::budget::Privacy;
use crate::model::linear::LinearPosterior;
use crate::model::planned::parse;
use crate::model::probit::plan::{ProbitPlan, linear, private_plan};
use crate::model::reference::{BOUNDED_INFLUENCE, DP_SEP, EP};
use crate::model::settings::Settings;
use crate::model::{Declaration, Model, ModelError, Planned, Posterior, Saved, Setting, TableShape, Target};
use serde_json::Value;

pub(crate) struct Probit;

/// Maximum number of inputs of a private fit. Intervals of independent weights, which would need less noise, are too
/// narrow where inputs are correlated, as levels are; and the covariance of the noise in a full precision has about
/// $d^4/8$ elements.
pub(crate) const MAX_INPUTS: usize = 32;

pub(crate) const SETTINGS: [Setting; 1] = [Setting::number(
    "prior-variance",
    "the prior variance of each weight, for inputs between -1 and 1",
    (1e-6, 1e6),
)
.or_number(1.0)];

const DECLARATION: Declaration = Declaration {
    name: "probit",
    about: "a target of two classes by probit regression: the normal distribution function of a linear score",
    not_for: "more than 32 inputs with privacy (logistic has no such limit), or classes that the inputs separate perfectly",
    references: &[DP_SEP, EP, BOUNDED_INFLUENCE],
    family: "gaussian",
    targets: &[Target::TwoClasses],
    settings: &SETTINGS,
    needs_bounds: true,
    can_be_private: true,
    can_be_pure: false,
};

impl Model for Probit {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        let settings = Settings::new(self, shape)?;
        let prior_variance = settings.number("prior-variance");
        let (inputs, records) = (shape.inputs(), shape.records);
        let sep = match privacy {
            Some(_) if inputs > MAX_INPUTS => return Err(too_many_inputs()),
            Some(privacy) => {
                let model = linear(inputs, prior_variance)?;
                Some(private_plan(&model, &shape.columns, prior_variance, records, privacy)?)
            }
            None => None,
        };
        Ok(Box::new(ProbitPlan { inputs, prior_variance, sep, records }))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        let plan: ProbitPlan = parse(self.name(), plan)?;
        if plan.sep.is_some() && plan.inputs > MAX_INPUTS {
            return Err(too_many_inputs());
        }
        Ok(Box::new(plan))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        Ok(Box::new(saved.restore::<LinearPosterior>(self.name())?))
    }
}

fn too_many_inputs() -> ModelError {
    let expected = "at most 32 inputs to be private (a logistic model may have more)";
    ModelError::Columns { model: "probit", expected }
}

#[cfg(test)]
mod tests;
