//! Ranges of the fields of a plan.

use super::{FeaturesPlan, NetworkPlan, RefinementPlan, RegressionPlan, ResidualsPlan};
use crate::field::{self, FieldError};
use crate::model::CoefficientPrior;

impl RegressionPlan {
    /// Checks that every field is in range and consistent with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        field::integer("records", self.records as u64, field::RECORDS)?;
        field::integer("inputs", self.inputs as u64, 1..=1 << 20)?;
        field::budget(self.epsilon, self.delta)?;
        field::number("count_noise_multiplier", self.count_noise_multiplier, field::NOISE_MULTIPLIER)?;
        field::integer("the number of rounds", self.rounds.len() as u64, 1..=100)?;
        for round in &self.rounds {
            field::number("rounds.reach", round.radius_factor, 1e-6..=1e6)?;
            field::number("rounds.noise_multiplier", round.noise_multiplier, field::NOISE_MULTIPLIER)?;
        }
        match &self.refinement {
            None => {}
            Some(RefinementPlan::Features(features)) => features.validate()?,
            Some(RefinementPlan::Network(network)) => network.validate()?,
        }
        let (ResidualsPlan::Histogram { noise_multiplier } | ResidualsPlan::Squares { noise_multiplier }) =
            self.residuals;
        CoefficientPrior::validate(&self.priors, self.inputs)?;
        if !self.priors.is_empty() && self.refinement.is_some() {
            let (expected, found) =
                ("empty where there is a refinement", format!("{} priors", self.priors.len()));
            return Err(FieldError { field: "priors".into(), expected: expected.into(), found });
        }
        field::number("residuals.noise_multiplier", noise_multiplier, field::NOISE_MULTIPLIER)?;
        field::number("expected.linear", self.expected.linear, 0.0..=1e30)?;
        field::number("expected.features", self.expected.features, -1e30..=1e30)?;
        field::reasons(&self.why)
    }
}

impl FeaturesPlan {
    fn validate(&self) -> Result<(), FieldError> {
        field::integer("features.frequencies", self.frequencies as u64, 1..=100_000)?;
        field::number("features.length_scale", self.length_scale, 1e-3..=1e3)?;
        field::integer("features.steps", self.steps, field::STEPS)?;
        field::number("features.clip", self.clip, 1e-6..=1e6)?;
        field::number("features.inflation", self.inflation, 1e-3..=1e3)?;
        field::number("features.noise_multiplier", self.noise_multiplier, field::NOISE_MULTIPLIER)?;
        let check = self.check_noise_multiplier;
        field::number("features.check_noise_multiplier", check, field::NOISE_MULTIPLIER)
    }
}

impl NetworkPlan {
    fn validate(&self) -> Result<(), FieldError> {
        field::hidden_layers("network.hidden", &self.hidden)?;
        field::integer("network.steps", self.steps, field::STEPS)?;
        field::number("network.clip", self.clip, 1e-6..=1e6)?;
        field::number("network.damping", self.damping, 1e-9..=1.0)?;
        field::number("network.noise_variance", self.noise_variance, 1e-6..=1e6)?;
        field::number("network.start_precision", self.start_precision, 0.0..=1e6)?;
        field::number("network.floor", self.floor, 1e-6..=1e6)?;
        field::number("network.noise_multiplier", self.noise_multiplier, field::NOISE_MULTIPLIER)?;
        let check = self.check_noise_multiplier;
        field::number("network.check_noise_multiplier", check, field::NOISE_MULTIPLIER)
    }
}
