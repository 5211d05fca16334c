//! Private regression that needs no tuning: a linear prediction from moments in rounds, refined by random features.
//!
//! Records are rows of inputs and a target between -1 and 1, scaled by public bounds. The model is
//! $y \sim N(\beta_0 + \beta \cdot x + f(x), s^2)$ with a Gaussian process $f$, by [features](Features).
//!
//! 1. Rounds of second moments give the linear part, the scale of the residuals, and coordinates in which inputs are about white.
//! 2. If there are enough records for the budget, DP-SEP in centred coordinates fits the weights of random features.
//! 3. A release compares both predictions, and the better one is kept. Another one describes the residuals, so that
//!    intervals are calibrated.
//!
//! Everything is released by the [wall](crate::wall) as a sum over all records, according to a [`RegressionPlan`]
//! that was made, and can be read
//! and edited, before any record is read.
//!
//! ```
//! use reticent_core::budget::{Adjacency, Privacy, Unlimited};
//! use reticent_core::model::regression::RegressionPlan;
//! use reticent_core::wall::{NoiseSource, Records};
//!
//! let values = (0..5000).map(|n| f64::from(n) / 2500.0 - 1.0).flat_map(|x| [x, (3.0 * x).sin() / 2.0]).collect();
//! let privacy = Privacy::new(1.0, 1e-5, Adjacency::ReplaceOne)?;
//! let plan = RegressionPlan::new(1, 5000, &privacy)?;
//! let (posterior, receipt) =
//!     plan.fit(Records::new(values, 2)?, NoiseSource::from_os()?, &privacy, Box::new(Unlimited))?;
//! let prediction = posterior.predict(&[0.5]);
//! assert!((prediction.mean - 1.5f64.sin() / 2.0).abs() < 0.2);
//! assert!(receipt.guarantee.cost().is_some_and(|cost| cost.epsilon.upper <= 1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Not for: many inputs for the number of records (rounds release about $d^2/2$ moments), or targets in classes.

mod coefficients;
pub(crate) mod cost;
pub(crate) mod features;
mod fit;
pub(crate) mod network;
mod parameters;
pub(crate) mod plan;
pub(crate) mod posterior;
pub(crate) mod query;
mod residuals;
pub(crate) mod rounds;
mod validate;

pub use crate::model::prediction::Prediction;
pub use coefficients::Coefficients;
pub use features::Features;
pub use network::{NetworkPlan, Weights};
pub use plan::{Expected, FeaturesPlan, RefinementPlan, RegressionPlan, ResidualsPlan, Round};
pub use posterior::RegressionPosterior;
pub use residuals::Residuals;
pub use rounds::Frame;

use crate::budget::Privacy;
use crate::model::FitError;
use crate::model::conjugate::single::unlimited_budget;
use crate::model::reference::{COINPRESS, DP_SEP, ORTHOGONAL_FEATURES, PRIVATE_LINEAR, RANDOM_FEATURES};
use crate::model::regression::cost::linear_estimate;
use crate::model::regression::plan::parse_plan;
use crate::model::{
    Bounded, Declaration, Estimate, Model, ModelError, Planned, Posterior, Saved, TableShape, Target,
};
use serde_json::Value;

/// The radius factor of fits without privacy: a record of 30 times the expected square has its full weight, so that they are least squares.
const UNCLIPPED: f64 = 30.0;

pub(crate) type Plan = fn(usize, usize, &Privacy) -> Result<RegressionPlan, FitError>;

/// A regression with its way of planning from inputs and records.
pub(crate) struct Regression {
    declaration: &'static Declaration,
    plan: Plan,
}

pub(crate) static REGRESSION: Regression = Regression {
    declaration: &Declaration {
        name: "regression",
        about: "a numeric target by a smooth function of the inputs: a linear part, and random features where there are enough records",
        not_for: "many inputs for the number of records (about half the square of their number is released), or targets in classes (use logistic)",
        references: &[DP_SEP, RANDOM_FEATURES, ORTHOGONAL_FEATURES, COINPRESS, PRIVATE_LINEAR],
        family: "gaussian",
        targets: &[Target::Number],
        settings: &[],
        needs_bounds: true,
        can_be_private: true,
        can_be_pure: false,
    },
    plan: RegressionPlan::new,
};

pub(crate) static LINEAR: Regression = Regression {
    declaration: &Declaration {
        name: "linear",
        about: "a numeric target by a linear function of the inputs",
        not_for: "targets that are not linear in the inputs (use regression), many inputs for the number of records, or targets in classes (use logistic)",
        references: &[COINPRESS, PRIVATE_LINEAR],
        family: "gaussian",
        targets: &[Target::Number],
        settings: &[],
        needs_bounds: true,
        can_be_private: true,
        can_be_pure: false,
    },
    plan: RegressionPlan::linear,
};

impl Model for Regression {
    fn declaration(&self) -> &'static Declaration {
        self.declaration
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        let mut plan = (self.plan)(shape.inputs(), shape.records, privacy.unwrap_or(&unlimited_budget()))?;
        if privacy.is_none() {
            plan.rounds.iter_mut().for_each(|round| round.radius_factor = UNCLIPPED);
        }
        plan.priors.clone_from(&shape.priors);
        Ok(Box::new(plan))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan(self.name(), plan)
    }
    /// Those of a regression with features have no coefficients.
    fn takes_priors(&self) -> bool {
        std::ptr::eq(self, &raw const LINEAR)
    }
    /// A matrix of the inputs is needed to estimate the gain of features.
    fn min_estimate(&self, shape: &TableShape) -> Option<Estimate> {
        Some(linear_estimate(shape.inputs(), shape.records, 1))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        Ok(Box::new(Bounded(saved.restore::<RegressionPosterior>(self.name())?)))
    }
}

#[cfg(test)]
mod coefficients_tests;
#[cfg(test)]
mod coverage_tests;
#[cfg(test)]
mod tests;
