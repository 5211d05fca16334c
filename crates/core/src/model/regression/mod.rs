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

pub(crate) mod cost;
mod features;
mod fit;
mod network;
pub(crate) mod plan;
mod posterior;
mod query;
mod residuals;
mod rounds;
mod validate;

pub use crate::model::prediction::Prediction;
pub use features::Features;
pub use network::{NetworkPlan, Weights};
pub use plan::{Expected, FeaturesPlan, RefinementPlan, RegressionPlan, ResidualsPlan, Round};
pub use posterior::RegressionPosterior;
pub use residuals::Residuals;
pub use rounds::Frame;

use crate::budget::Privacy;
use crate::model::FitError;
use crate::model::conjugate::single::unlimited_budget;
use crate::model::regression::cost::linear_estimate;
use crate::model::regression::plan::parse_plan;
use crate::model::{Bounded, Estimate, Model, ModelError, Planned, Posterior, Saved, TableShape, Target};
use serde_json::Value;

pub(crate) type Plan = fn(usize, usize, &Privacy) -> Result<RegressionPlan, FitError>;

/// A regression with its way of planning from inputs and records.
pub(crate) struct Regression {
    name: &'static str,
    about: &'static str,
    plan: Plan,
}

pub(crate) static REGRESSION: Regression = Regression {
    name: "regression",
    about: "a number by a smooth function of the inputs: a linear part, and random features if there are records enough",
    plan: RegressionPlan::new,
};

pub(crate) static LINEAR: Regression = Regression {
    name: "linear",
    about: "a number by a linear function of the inputs",
    plan: RegressionPlan::linear,
};

impl Model for Regression {
    fn name(&self) -> &'static str {
        self.name
    }
    fn about(&self) -> &'static str {
        self.about
    }
    fn family(&self) -> &'static str {
        "gaussian"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::Number]
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new((self.plan)(shape.inputs(), shape.records, privacy.unwrap_or(&unlimited_budget()))?))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan(self.name, plan)
    }
    /// A matrix of the inputs is needed to estimate the gain of features.
    fn min_estimate(&self, shape: &TableShape) -> Option<Estimate> {
        Some(linear_estimate(shape.inputs(), shape.records, 1))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        Ok(Box::new(Bounded(saved.restore::<RegressionPosterior>(self.name)?)))
    }
}

#[cfg(test)]
mod tests;
