//! Ranges of the fields of a plan.

use super::{BeliefModel, BeliefPlan};
use crate::field::{self, FieldError};

impl BeliefPlan {
    /// Whether every field is in its range, and agrees with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        let BeliefModel { outputs, units, bias_variance, sweeps, .. } = self.model;
        field::integer("model.outputs", outputs as u64, 1..=1 << 24)?;
        field::integer("model.units", units as u64, 1..=100_000)?;
        field::number("model.bias_variance", bias_variance, field::PRIOR)?;
        field::integer("model.sweeps", sweeps as u64, 1..=1000)?;
        field::integer("records", self.records as u64, field::RECORDS)?;
        field::batch(self.batch, self.records)?;
        field::integer("steps", self.steps, field::STEPS)?;
        field::number("clip", self.clip, 1e-6..=1e3)?;
        field::number("noise_multiplier", self.noise_multiplier, field::NOISE_MULTIPLIER)?;
        self.step_size.validate()?;
        field::reasons(&self.why)
    }
}
