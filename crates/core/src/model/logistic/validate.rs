//! Ranges of the fields of a plan.

use super::LogisticPlan;
use super::prior::WeightPrior;
use crate::field::{self, FieldError};
use crate::model::CoefficientPrior;

/// Maximum number of weights of a plan with stated priors.
const MAX_STATED: usize = 2000;

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
        field::number("residual_bound", self.residual_bound, 0.5..=1.0)?;
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
        CoefficientPrior::validate(&self.priors, self.size())?;
        let refused = |expected: &str| {
            let found = format!("{} priors", self.priors.len());
            Err(FieldError { field: "priors".into(), expected: expected.into(), found })
        };
        if !self.priors.is_empty() {
            if self.rounds.len() != 2 || self.size() > MAX_STATED {
                return refused(
                    "empty with more than 30 weights and privacy, where scores are assumed to be normally distributed",
                );
            }
            if WeightPrior::new(self.prior, &self.priors, self.size()).is_none() {
                return refused("of coefficients that are linearly independent");
            }
        }
        field::reasons(&self.why)
    }
}
