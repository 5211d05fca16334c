//! Rates of counts: independent Poisson columns, recorded up to a public bound $M$, with an exponential prior.
//!
//! One release: sums of $\\min(x, M) - M/2$. The posterior of each rate is a density on a grid that includes noise and bound, by the
//! central limit theorem. Settings: `bound` ($M$), `prior-mean` and `posterior`.
//!
//! Not for: counts that vary more than a Poisson variable does, or a bound far above the rate: noise is proportional to it.

mod plan;
mod posterior;
pub(crate) mod query;

pub use plan::{MAX_COUNT, PoissonPlan};

use crate::budget::Privacy;
use crate::family::Gamma;
use crate::model::conjugate::single::{
    Once, POSTERIOR, noise_treatment, only_numbers, parse_plan, unlimited_budget,
};
use crate::model::poisson::posterior::Rates;
use crate::model::reference::{FOULDS, NOISE_AWARE};
use crate::model::settings::Settings;
use crate::model::{Declaration, Model, ModelError, Planned, Posterior, Saved, Setting, TableShape, Target};
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

const DECLARATION: Declaration = Declaration {
    name: "poisson",
    about: "the rates of independent columns of counts: Poisson distributions, recorded up to a bound",
    not_for: "counts that vary more than a Poisson variable does, or a bound far above the rate: the noise is proportional to the bound",
    references: &[FOULDS, NOISE_AWARE],
    family: "grid",
    targets: &[Target::Nothing],
    settings: &SETTINGS,
    needs_bounds: true,
    can_be_private: true,
    can_be_pure: true,
};

impl Model for PoissonCounts {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
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
