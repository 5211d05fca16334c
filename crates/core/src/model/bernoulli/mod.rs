//! Rates of columns that are yes or no: independent Bernoulli columns, each with the same beta prior.
//!
//! One release: $n_d - N/2$ for each column, the number of records above the middle of the bounds less half of all. The posterior of
//! a rate is a mixture of beta distributions, one for each count that the noisy one may stand for. Settings: `concentration`, both
//! parameters of the prior, and `posterior`.
//!
//! Not for: columns of more than two values, columns whose joint distribution matters, and add/remove adjacency.

mod plan;
mod posterior;
pub(crate) mod query;

pub use plan::BernoulliPlan;
pub use posterior::Rate;

use crate::budget::Privacy;
use crate::family::Beta;
use crate::model::conjugate::single::{
    Once, POSTERIOR, noise_treatment, only_numbers, parse_plan, unlimited_budget,
};
use crate::model::reference::{FOULDS, NOISE_AWARE};
use crate::model::settings::Settings;
use crate::model::{Declaration, Model, ModelError, Planned, Posterior, Saved, Setting, TableShape, Target};
use crate::wall::WallError;
use serde_json::Value;

pub(crate) struct BetaBernoulli;

const SETTINGS: [Setting; 2] = [
    Setting::number("concentration", "both parameters of the beta prior of each rate", (1e-6, 1e6))
        .or_number(1.0),
    POSTERIOR,
];

const DECLARATION: Declaration = Declaration {
    name: "beta-bernoulli",
    about: "the rates of independent columns of yes or no, each with a beta prior",
    not_for: "columns of more than two values (use dirichlet), columns whose joint distribution matters (use sigmoid-belief), or add/remove adjacency",
    references: &[FOULDS, NOISE_AWARE],
    family: "mixture of betas",
    targets: &[Target::Nothing],
    settings: &SETTINGS,
    needs_bounds: true,
    can_be_private: true,
    can_be_pure: true,
};

impl Model for BetaBernoulli {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        let settings = Settings::new(self, shape)?;
        let concentration = settings.number("concentration");
        let posterior = settings.choice("posterior");
        only_numbers(self, shape)?;
        let prior = Beta { a: concentration, b: concentration };
        let mut plan =
            BernoulliPlan::new(shape.inputs(), prior, shape.records, privacy.unwrap_or(&unlimited_budget()))
                .map_err(WallError::from)?;
        plan.noise_treatment = noise_treatment(posterior);
        Ok(Box::new(Once(plan)))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan::<BernoulliPlan>(plan)
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        Ok(Box::new(saved.restore::<Vec<Rate>>(self.name())?))
    }
}
