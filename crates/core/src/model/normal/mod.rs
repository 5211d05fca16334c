//! Means and variances of numeric columns: independent normal numbers, recorded within $[-1, 1]$.
//!
//! One release: for each column the sums of $x$ and of $x^2 - c$. The posterior draws the mean and the variance of the latent normal
//! distribution given both noisy sums, clipping included, by slice sampling. One setting: `posterior`.
//!
//! Not for: correlations (`multivariate-normal`), or quantiles of columns that are far from normal; means within the bounds are right
//! for any column.

mod chain;
mod plan;
mod posterior;
mod query;

pub use plan::{NormalPlan, NormalPrior};
pub use posterior::NormalColumn;

use crate::budget::Privacy;
use crate::model::conjugate::single::{
    Once, POSTERIOR, noise_treatment, only_numbers, parse_plan, unlimited_budget,
};
use crate::model::settings::Settings;
use crate::model::{Model, ModelError, Planned, Posterior, Saved, Setting, TableShape, Target};
use crate::wall::WallError;
use serde_json::Value;

pub(crate) struct NormalColumns;

/// Weakly informative: the mean has the weight of a tenth of a record, and standard deviations are about a quarter of
/// the bounds.
pub(crate) const PRIOR: NormalPrior = NormalPrior { mean: 0.0, strength: 0.1, shape: 1.5, scale: 0.1 };

impl Model for NormalColumns {
    fn name(&self) -> &'static str {
        "normal"
    }
    fn about(&self) -> &'static str {
        "the mean and the deviation of each column: independent normal numbers, recorded within bounds"
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
        let mut plan =
            NormalPlan::new(shape.inputs(), PRIOR, shape.records, &privacy).map_err(WallError::from)?;
        plan.noise_treatment = noise_treatment(posterior);
        Ok(Box::new(Once(plan)))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan::<NormalPlan>(plan)
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        let posterior = saved.restore::<Vec<NormalColumn>>(self.name())?;
        if !posterior.iter().all(NormalColumn::is_consistent) {
            return Err(ModelError::NotSaved { model: self.name() });
        }
        Ok(Box::new(posterior))
    }
}
