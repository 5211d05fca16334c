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
pub(crate) mod query;

pub use plan::{NormalPlan, NormalPrior};
pub use posterior::NormalColumn;

use crate::budget::Privacy;
use crate::model::conjugate::single::{
    Once, POSTERIOR, noise_treatment, only_numbers, parse_plan, unlimited_budget,
};
use crate::model::reference::{FOULDS, NOISE_AWARE};
use crate::model::settings::Settings;
use crate::model::{Declaration, Model, ModelError, Planned, Posterior, Saved, TableShape, Target};
use crate::wall::WallError;
use serde_json::Value;

pub(crate) struct NormalColumns;

/// Weakly informative: the mean has the weight of a tenth of a record, and standard deviations are about a quarter of
/// the bounds.
pub(crate) const PRIOR: NormalPrior = NormalPrior { mean: 0.0, strength: 0.1, shape: 1.5, scale: 0.1 };

const DECLARATION: Declaration = Declaration {
    name: "normal",
    about: "the means and standard deviations of independent numeric columns: normal distributions, recorded within bounds",
    not_for: "correlations (use multivariate-normal), or quantiles of columns that are far from normal",
    references: &[FOULDS, NOISE_AWARE],
    family: "draws",
    targets: &[Target::Nothing],
    settings: &[POSTERIOR],
    needs_bounds: true,
    can_be_private: true,
    can_be_pure: true,
};

impl Model for NormalColumns {
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
