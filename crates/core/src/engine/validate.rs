//! Ranges of the fields of plans for SEP and variational Bayes.

use super::vb::StepSize;
use super::{Damping, SepPlan};
use crate::field::{self, FieldError};

impl SepPlan {
    /// Checks that every field is in range and consistent with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        field::integer("records", self.records as u64, field::RECORDS)?;
        field::batch(self.batch, self.records)?;
        field::integer("steps", self.steps, field::STEPS)?;
        field::number("clip", self.clip, field::CLIP)?;
        self.damping.validate(self.steps)?;
        field::number("noise_multiplier", self.noise_multiplier, field::NOISE_MULTIPLIER)?;
        field::number("expected_noise", self.expected_noise, 0.0..=1e30)?;
        field::number("expected_norm", self.expected_norm, 0.0..=1e30)?;
        field::reasons(&self.why)
    }
}

impl Damping {
    /// Checks that every damping is between 0 and 1.
    fn validate(&self, steps: u64) -> Result<(), FieldError> {
        match self {
            Self::Step(eta) => field::number("damping.step", *eta, 1e-9..=1e9),
            Self::Share(share) => field::number("damping.share", *share, 1e-9..=1.0),
            Self::Harmonic => Ok(()),
            Self::Rising(full) => field::integer("damping.rising", *full, 1..=1 << 20),
            Self::Planned(shares) => {
                field::agrees("the number of planned dampings", &(shares.len() as u64), &steps)?;
                shares.iter().try_for_each(|share| field::number("damping.planned", *share, 0.0..=1.0))
            }
        }
    }
}

impl StepSize {
    /// Checks the Robbins-Monro conditions.
    pub(crate) fn validate(&self) -> Result<(), FieldError> {
        let Self::Decay { delay, forgetting } = *self else { return Ok(()) };
        field::number("step_size.delay", delay, 0.0..=1e9)?;
        field::number("step_size.forgetting", forgetting, 0.5..=1.0)
    }
}
