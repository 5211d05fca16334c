//! Ranges of the fields of a plan.

use super::{MixturePlan, SitesPlan, StartPlan};
use crate::field::{self, FieldError};

impl MixturePlan {
    /// Checks that every field is in range and consistent with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        field::integer("records", self.records as u64, field::RECORDS)?;
        field::integer("components", self.components as u64, 1..=10_000)?;
        field::integer("dimension", self.dimension as u64, 1..=1 << 20)?;
        field::budget(self.epsilon, self.delta)?;
        self.start.validate(self.components, self.dimension)?;
        self.sites.validate()?;
        let expected = &self.expected;
        for (name, value) in [
            ("expected.data_sd", expected.data_sd),
            ("expected.privacy_sd", expected.privacy_sd),
            ("expected.kl", expected.kl),
            ("expected.seconds", expected.seconds),
        ] {
            field::number(name, value, 0.0..=1e30)?;
        }
        field::reasons(&self.why)
    }
}

impl StartPlan {
    fn validate(&self, components: usize, dimension: usize) -> Result<(), FieldError> {
        match self {
            Self::Sketch { frequencies, scale, noise_multiplier, restarts, temper, prior_share } => {
                field::integer("start.sketch.frequencies", *frequencies as u64, 1..=1 << 20)?;
                field::number("start.sketch.scale", *scale, 1e-6..=1e6)?;
                field::number("start.sketch.noise_multiplier", *noise_multiplier, field::NOISE_MULTIPLIER)?;
                field::integer("start.sketch.restarts", *restarts as u64, 1..=100_000)?;
                field::number("start.sketch.temper", *temper, 1e-3..=1e3)?;
                field::number("start.sketch.doubt", *prior_share, 0.0..=1e3)
            }
            Self::Public { means, sd } => {
                let lengths: Vec<usize> = means.iter().map(Vec::len).collect();
                field::agrees("the lengths of start.public.means", &lengths, &vec![dimension; components])?;
                let mut coordinates = means.iter().flatten();
                coordinates.try_for_each(|x| field::number("start.public.means", *x, -1e6..=1e6))?;
                field::number("start.public.sd", *sd, 1e-6..=1e6)
            }
        }
    }
}

impl SitesPlan {
    fn validate(&self) -> Result<(), FieldError> {
        field::integer("sites.steps", self.steps, field::STEPS)?;
        field::number("sites.clip", self.clip, field::CLIP)?;
        field::number("sites.count_scale", self.count_scale, 1e-6..=1e6)?;
        field::number("sites.noise_multiplier", self.noise_multiplier, field::NOISE_MULTIPLIER)?;
        field::integer("sites.simulated", self.simulated as u64, 1..=1 << 40)
    }
}
