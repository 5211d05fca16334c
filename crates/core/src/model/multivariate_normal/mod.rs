//! Means and covariances of numeric columns: a normal distribution with a Wishart prior, recorded within $[-1, 1]$.
//!
//! One release: sums of numbers, squares and products of pairs. The posterior draws all means and covariances given the noisy sums,
//! by slice sampling. One setting: `posterior`.
//!
//! Not for: more than 12 columns, or numbers of which a large part is clipped.

mod chain;
mod plan;
mod posterior;
mod query;

pub use plan::{MultivariatePlan, WishartPrior};
pub use posterior::MultivariatePosterior;

use crate::budget::Privacy;
use crate::model::conjugate::single::{
    Once, POSTERIOR, noise_treatment, only_numbers, parse_plan, unlimited_budget,
};
use crate::model::settings::Settings;
use crate::model::{Model, ModelError, Planned, Posterior, Saved, Setting, TableShape, Target};
use crate::wall::WallError;
use serde_json::Value;

pub(crate) struct MultivariateNormal;

/// With one column it is the prior of the model `normal`.
pub(crate) fn prior(columns: usize) -> WishartPrior {
    WishartPrior { strength: 0.1, freedom: columns as f64 + 2.0, scale: 0.2 }
}

impl Model for MultivariateNormal {
    fn name(&self) -> &'static str {
        "multivariate-normal"
    }
    fn about(&self) -> &'static str {
        "the means of up to 12 columns and how they go together: normal numbers with a covariance, within bounds"
    }
    fn family(&self) -> &'static str {
        "draws"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::Nothing]
    }
    fn settings(&self) -> &'static [Setting] {
        &[POSTERIOR]
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
