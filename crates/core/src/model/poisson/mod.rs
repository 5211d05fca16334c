//! Rates of counts: independent Poisson columns, recorded up to a public bound $M$, with an exponential prior.
//!
//! One release: sums of $\\min(x, M) - M/2$. The posterior of each rate is a density on a grid that includes noise and bound, by the
//! central limit theorem. Settings: `bound` ($M$), `prior-mean` and `posterior`.
//!
//! Not for: counts that vary more than a Poisson variable does, or a bound far above the rate: noise is proportional to it.

mod plan;
mod posterior;
mod query;

pub use plan::{MAX_COUNT, PoissonPlan};

use crate::budget::Privacy;
use crate::family::Gamma;
use crate::model::conjugate::single::{
    Once, POSTERIOR, noise_treatment, only_numbers, parse_plan, unlimited_budget,
};
use crate::model::poisson::posterior::Rates;
use crate::model::settings::Settings;
use crate::model::{Model, ModelError, Planned, Posterior, Saved, Setting, TableShape, Target};
use crate::wall::WallError;
use serde_json::Value;

pub(crate) struct PoissonCounts;

const SETTINGS: [Setting; 3] = [
    Setting::integer(
        "bound",
        "the upper bound that the schema states for every column; the lower one must be 0",
        (1, MAX_COUNT),
    ),
    Setting::number("prior-mean", "the mean of the prior of each rate, which is exponential", (1e-6, 1e6))
        .or_number(10.0),
    POSTERIOR,
];

impl Model for PoissonCounts {
    fn name(&self) -> &'static str {
        "poisson"
    }
    fn about(&self) -> &'static str {
        "the rate of each column of counts: independent Poisson counts, recorded up to a bound"
    }
    fn family(&self) -> &'static str {
        "grid"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::Nothing]
    }
    fn settings(&self) -> &'static [Setting] {
        &SETTINGS
    }
    fn can_be_pure(&self) -> bool {
        true
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        let settings = Settings::new(self, shape)?;
        let bound = settings.integer("bound");
        let prior_mean = settings.number("prior-mean");
        let posterior = settings.choice("posterior");
        only_numbers(self, shape)?;
        let privacy = privacy.copied().unwrap_or_else(unlimited_budget);
        let prior = Gamma { shape: 1.0, rate: 1.0 / prior_mean };
        let plan = PoissonPlan::new(shape.inputs(), bound, prior, shape.records, &privacy);
        let mut plan = plan.map_err(WallError::from)?;
        (plan.scaled, plan.noise_treatment) = (true, noise_treatment(posterior));
        Ok(Box::new(Once(plan)))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan::<PoissonPlan>(plan)
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        Ok(Box::new(saved.restore::<Rates>(self.name())?))
    }
}
