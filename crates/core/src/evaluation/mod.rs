//! Evaluation of fitted models on test records: [private](EvaluationPlan), by one noisy sum, and
//! [exact](Comparison), without privacy.
//!
//! The private evaluation is one release of the [wall](crate::wall) about the test records. A record contributes
//! bounded numbers, laid out in the module `query`: cells of public histograms, a clipped error, its square. From the noisy sums
//! follow the accuracy figures, each with an interval of its value in the population that the test records are a sample of. The interval
//! has both sources of error: the sample, and the privacy noise.
//!
//! # Privacy
//! The sensitivity is that of a [`NonNegativeBall`](crate::wall::Geometry::NonNegativeBall) whose radius $r$ bounds the norm of a
//! contribution: $r$ under add/remove adjacency, $\sqrt2 r$ under replace-one. The unit is a row of the test data, or all rows of
//! one [privacy unit](crate::wall::Records::of_units), which contribute the mean of their vectors. Bins, clipping
//! and scales are public: they depend on the fitted models and on nothing in the test records. Attacked by
//! `contributions_reach_and_never_exceed_the_radius` and, in `crates/audit`, `evaluations_hold_their_claims`.

mod compare;
mod estimate;
mod query;

pub use compare::{Compared, ComparedModel, Comparison, Difference};
pub use estimate::{CalibrationPoint, Evaluated, EvaluatedModel, Figure};

use crate::budget::Privacy;
use crate::model::{Posterior, Predicted};
use crate::wall::{Geometry, Plan, PlanError, Query as _, Sampler, SumId, Sums, Wall, WallError};
use query::{Layout, Losses};
use thiserror::Error;

/// Description of the release on a receipt.
pub const WHAT: &str = "errors and histograms of predictions on test records";

/// Errors of numbers are clipped to this many predictive standard deviations. Of a calibrated Gaussian prediction, the part of
/// the squared error that is lost is $1.2 \cdot 10^{-4}$ of it.
const CLIP_SDS: f64 = 4.0;

/// A fitted model to be evaluated.
#[derive(Clone, Copy)]
pub struct Judged<'a> {
    /// The model.
    pub posterior: &'a dyn Posterior,
    /// Encoded inputs in the middle of every column, where the predictive standard deviation is taken. Their number is that of the
    /// inputs of a record; its target follows them.
    pub middle: &'a [f64],
    /// One encoded unit of a numeric target, in the unit of its column: the same for all models.
    pub unit: f64,
    /// Whether encoded targets and predictions are between -1 and 1.
    pub bounded: bool,
}

/// Why an evaluation was refused. Nothing in it depends on a record.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message explains its variant")]
pub enum EvaluationError {
    #[error("there is no model to evaluate")]
    NoModel,
    #[error(
        "private evaluation is for models whose target is a number or one of two classes; hint: evaluate without privacy, on public records"
    )]
    Target,
    #[error("delta must be positive: the noise is Gaussian; hint: a small probability such as 1e-5")]
    NoDelta,
    #[error(transparent)]
    Accounting(#[from] reticent_accounting::Error),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Wall(#[from] WallError),
}

/// A private evaluation of models on the same test records, planned from public information.
///
/// A record of the wall is one test record encoded for each model in turn: its inputs and its target. A record without a target is absent
/// and contributes nothing, so the number of scored records is estimated too.
pub struct EvaluationPlan<'a> {
    layout: Layout<'a>,
    records: usize,
    privacy: Privacy,
    noise_multiplier: f64,
}

impl<'a> EvaluationPlan<'a> {
    /// A plan for a public number of test records that spends all of the budget.
    ///
    /// # Errors
    /// [`EvaluationError`] if the models do not all predict a number, or all two classes, or delta is 0.
    pub fn new(models: Vec<Judged<'a>>, records: usize, privacy: &Privacy) -> Result<Self, EvaluationError> {
        let losses = losses(&models)?;
        if privacy.delta() == 0.0 {
            return Err(EvaluationError::NoDelta);
        }
        let noise_multiplier = 1.0 / crate::engine::gdp_mu(privacy)?;
        let layout = Layout { models, losses };
        Ok(Self { layout, records, privacy: *privacy, noise_multiplier })
    }

    fn sums(&self) -> Result<(Plan, SumId), PlanError> {
        let mut plan = Plan::new(self.records, self.privacy.adjacency());
        let id = plan.sums(Sums {
            what: WHAT.into(),
            width: self.layout.width(),
            geometry: Geometry::NonNegativeBall { radius: self.layout.radius() },
            sampler: Sampler::Full,
            noise_multiplier: self.noise_multiplier,
            steps: 1,
        })?;
        Ok((plan, id))
    }

    /// The release.
    ///
    /// # Errors
    /// [`PlanError`] if the wall refuses the plan.
    pub fn releases(&self) -> Result<Plan, PlanError> {
        Ok(self.sums()?.0)
    }

    /// Number of values of a record of the wall.
    #[must_use]
    pub fn record_width(&self) -> usize {
        self.layout.record_width()
    }

    /// The error that squared errors of a number are clipped at, in the unit of the column; `None` for classes.
    #[must_use]
    pub fn clip(&self) -> Option<f64> {
        match self.layout.losses {
            Losses::Number { clip } => Some(clip * self.layout.unit()),
            Losses::Classes => None,
        }
    }

    /// Makes the release and estimates the figures from it.
    ///
    /// # Errors
    /// [`EvaluationError::Wall`].
    pub fn evaluate(&self, wall: &mut Wall) -> Result<Evaluated, EvaluationError> {
        let (_, id) = self.sums()?;
        let released = wall.sum(id, &self.layout)?;
        Ok(estimate::evaluated(&self.layout, &released.values, released.noise_sd[0]))
    }
}

/// What is measured of the predictions of all models.
fn losses(models: &[Judged<'_>]) -> Result<Losses, EvaluationError> {
    let mut clip: f64 = 0.0;
    let (mut numbers, mut classes) = (0, 0);
    for model in models {
        match model.posterior.predict_row(model.middle, &query::PROBABILITIES) {
            Predicted::Number { variances, .. } => {
                numbers += 1;
                let sds = CLIP_SDS * variances.total().sqrt();
                let sane = if sds.is_finite() && sds > 1e-9 { sds } else { 2.0 };
                clip = clip.max(if model.bounded { sane.min(2.0) } else { sane });
            }
            Predicted::Class { .. } => classes += 1,
            _ => return Err(EvaluationError::Target),
        }
    }
    match (numbers, classes) {
        (0, 0) => Err(EvaluationError::NoModel),
        (_, 0) => Ok(Losses::Number { clip }),
        (0, _) => Ok(Losses::Classes),
        _ => Err(EvaluationError::Target),
    }
}

#[cfg(test)]
mod tests;
