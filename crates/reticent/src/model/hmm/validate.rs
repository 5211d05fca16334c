//! Ranges of the fields of a plan.

use super::{HmmPlan, Sampling};
use crate::field::{self, FieldError};

impl HmmPlan {
    /// Whether every field is in its range, and agrees with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        let model = &self.model;
        field::integer("model.states", model.states as u64, 1..=1000)?;
        field::number("model.transition_prior", model.transition_prior, field::PRIOR)?;
        field::number("model.emission_prior", model.emission_prior, field::PRIOR)?;
        let layout = self.coding.layout().ok();
        field::agrees("model.layout", &Some(&model.layout), &layout.as_ref())?;
        field::integer("records", self.records as u64, field::RECORDS)?;
        field::budget(1.0, self.delta)?;
        field::number("noise_multiplier", self.noise_multiplier, field::NOISE_MULTIPLIER)?;
        let (laplace, gaussian) = self.expected_sd;
        [Some(laplace), gaussian]
            .into_iter()
            .flatten()
            .try_for_each(|sd| field::number("expected_sd", sd, 0.0..=1e30))?;
        self.sampling.validate()?;
        field::reasons(&self.why)
    }
}

impl Sampling {
    /// Whether there are draws, and some of them are used.
    fn validate(&self) -> Result<(), FieldError> {
        field::integer("sampling.chains", self.chains as u64, 1..=1000)?;
        field::integer("sampling.iterations", self.iterations as u64, 1..=10_000_000)?;
        field::integer("sampling.burn_in", self.burn_in as u64, 0..=self.iterations as u64 - 1)
    }
}
