//! Shares of the levels of columns: independent categorical columns with a Dirichlet prior.
//!
//! One release: the counts of all levels. The posterior has the true counts integrated out by Gibbs sampling, as draws of the shares.
//! Settings: `concentration`, the parameter of the prior for each level, and `posterior`.
//!
//! Not for: how columns depend on each other, or levels so many that most have fewer records than the noise.

pub(crate) mod plan;
mod posterior;

pub use plan::CategoricalPlan;
pub use posterior::Shares;

use crate::budget::Privacy;
use crate::model::conjugate::single::{Once, POSTERIOR, noise_treatment, parse_plan, unlimited_budget};
use crate::model::reference::{FOULDS, NOISE_AWARE};
use crate::model::settings::Settings;
use crate::model::{Declaration, Model, ModelError, Planned, Posterior, Saved, Setting, TableShape, Target};
use crate::wall::WallError;
use serde_json::Value;

pub(crate) struct DirichletCategorical;

const SETTINGS: [Setting; 2] = [
    Setting::number("concentration", "the parameter of the Dirichlet prior for each level", (1e-6, 1e6))
        .or_number(1.0),
    POSTERIOR,
];

const DECLARATION: Declaration = Declaration {
    name: "dirichlet",
    about: "the shares of the levels of independent columns, each with a Dirichlet prior; a number counts as below or above the middle of its bounds",
    not_for: "how columns depend on each other, or levels so many that most have fewer records than the noise",
    references: &[FOULDS, NOISE_AWARE],
    family: "mixture of dirichlets",
    targets: &[Target::Nothing],
    settings: &SETTINGS,
    needs_bounds: true,
    can_be_private: true,
    can_be_pure: true,
};

impl Model for DirichletCategorical {
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
        let privacy = privacy.copied().unwrap_or_else(unlimited_budget);
        let columns = shape.columns.clone();
        let mut plan =
            CategoricalPlan::new(columns, concentration, shape.records, &privacy).map_err(WallError::from)?;
        plan.noise_treatment = noise_treatment(posterior);
        Ok(Box::new(Once(plan)))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan::<CategoricalPlan>(plan)
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        let posterior = saved.restore::<Vec<Shares>>(self.name())?;
        if !posterior.iter().all(Shares::is_consistent) {
            return Err(ModelError::NotSaved { model: self.name() });
        }
        Ok(Box::new(posterior))
    }
}
