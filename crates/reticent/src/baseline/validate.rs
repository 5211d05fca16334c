//! Ranges of the fields of a plan.

use super::{DpSgd, DpSgdPlan, Optimiser};
use crate::field::{self, FieldError};

impl DpSgdPlan {
    /// Whether every field is in its range, and agrees with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        field::integer("records", self.records as u64, field::RECORDS)?;
        self.settings.validate(self.records)?;
        field::number("noise_multiplier", self.noise_multiplier, field::NOISE_MULTIPLIER)?;
        field::number("residual_multiplier", self.residual_multiplier, field::NOISE_MULTIPLIER)
    }
}

impl DpSgd {
    fn validate(&self, records: usize) -> Result<(), FieldError> {
        field::hidden_layers("settings.hidden", &self.hidden)?;
        field::integer("settings.batch", self.batch as u64, 1..=records as u64)?;
        field::integer("settings.steps", self.steps, field::STEPS)?;
        field::number("settings.clip", self.clip, field::CLIP)?;
        field::number("settings.learning_rate", self.learning_rate, 1e-9..=1e3)?;
        if let Optimiser::Momentum(kept) = self.optimiser {
            field::number("settings.optimiser.momentum", kept, 0.0..=1.0)?;
        }
        // A step may not take away more of a weight than there is.
        field::number("settings.weight_decay", self.weight_decay, 0.0..=1.0 / self.learning_rate)?;
        field::number("settings.largest_residual", self.largest_residual, 1e-6..=1e6)?;
        field::number("settings.residual_share", self.residual_share, 1e-9..=1.0 - 1e-9)
    }
}
