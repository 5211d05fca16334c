//! Means and covariances of numeric columns: a normal distribution with a Wishart prior, recorded within $[-1, 1]$.
//!
//! One release: sums of numbers, squares and products of pairs. The posterior draws all means and covariances given the noisy sums,
//! by slice sampling. One setting: `posterior`.
//!
//! Not for: more than 12 columns, or numbers of which a large part is clipped.

mod chain;
mod plan;
mod posterior;
pub(crate) mod query;

pub use plan::{MultivariatePlan, WishartPrior};
pub use posterior::MultivariatePosterior;

use crate::budget::Privacy;
use crate::model::conjugate::single::{
    Once, POSTERIOR, noise_treatment, only_numbers, parse_plan, unlimited_budget,
};
use crate::model::reference::{FOULDS, NOISE_AWARE};
use crate::model::settings::Settings;
use crate::model::{Declaration, Model, ModelError, Planned, Posterior, Saved, TableShape, Target};
use crate::wall::WallError;
use serde_json::Value;

pub(crate) struct MultivariateNormal;

/// With one column it is the prior of the model `normal`.
pub(crate) fn prior(columns: usize) -> WishartPrior {
    WishartPrior { strength: 0.1, freedom: columns as f64 + 2.0, scale: 0.2 }
}

const DECLARATION: Declaration = Declaration {
    name: "multivariate-normal",
    about: "the means and covariances of up to 12 numeric columns: a normal distribution, recorded within bounds",
    not_for: "more than 12 columns, or columns of which the bounds cut off a large part",
    references: &[NOISE_AWARE, FOULDS],
    family: "draws",
    targets: &[Target::Nothing],
    settings: &[POSTERIOR],
    needs_bounds: true,
    can_be_private: true,
    can_be_pure: true,
};

impl Model for MultivariateNormal {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        let settings = Settings::new(self, shape)?;
        let posterior = settings.choice("posterior");
        only_numbers(self, shape)?;
        let privacy = privacy.copied().unwrap_or_else(unlimited_budget);
        let columns = shape.inputs();
        let mut plan = MultivariatePlan::new(columns, prior(columns), shape.records, &privacy)
            .map_err(WallError::from)?;
        plan.noise_treatment = noise_treatment(posterior);
        Ok(Box::new(Once(plan)))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan::<MultivariatePlan>(plan)
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        let posterior = saved.restore::<MultivariatePosterior>(self.name())?;
        if !posterior.is_consistent() {
            return Err(ModelError::NotSaved { model: self.name() });
        }
        Ok(Box::new(posterior))
    }
}

#[cfg(test)]
mod tests;
