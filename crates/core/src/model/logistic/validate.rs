//! Ranges of the fields of a plan.

use super::LogisticPlan;
use crate::field::{self, FieldError};

impl LogisticPlan {
    /// Checks that every field is in range and consistent with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        field::integer("records", self.records as u64, field::RECORDS)?;
        field::integer("the number of columns", self.columns.len() as u64, 1..=1 << 24)?;
        let mut columns = self.columns.iter();
        columns.try_for_each(|&inputs| field::integer("inputs of a column", inputs as u64, 1..=1 << 20))?;
        field::number("radius", self.radius, 1e-3..=1e6)?;
        if let Some(noise) = self.count_noise {
            field::number("count_noise", noise, field::NOISE_MULTIPLIER)?;
        }
        field::integer("the number of rounds", self.rounds.len() as u64, 1..=2)?;
        for round in &self.rounds {
            for (name, noise) in [
                ("rounds.sums_noise", round.sums_noise),
                ("rounds.curvature_noise", round.curvature_noise),
                ("rounds.score_noise", Some(round.score_noise)),
            ] {
                noise.map_or(Ok(()), |noise| field::number(name, noise, field::NOISE_MULTIPLIER))?;
            }
            field::integer("rounds.steps", round.steps, field::STEPS)?;
        }
        let last = self.rounds.last().map_or(1, |round| round.steps);
        field::integer("averaged", self.averaged, 1..=last)?;
        field::number("ridge", self.ridge, 1e-9..=1e9)?;
        field::number("prior.shape", self.prior.shape, 1.001..=1e6)?;
        field::number("prior.rate", self.prior.rate, field::PRIOR)?;
        field::reasons(&self.why)
    }
}
