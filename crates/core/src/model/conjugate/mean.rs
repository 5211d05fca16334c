//! The mean of bounded numbers.

use super::clipped::normal_moments;
use super::{ConjugatePlan, needs_the_number_of_records};
use crate::budget::Privacy;
use crate::engine::conjugate::{NoiseDistribution, NoiseTreatment, Scalar, Sensitivity, StatisticsPlan};
use crate::field::FieldError;
use crate::jobs::Named;
use crate::wall::{PlanError, Query, QuerySpec, Wall, WallError};
use serde::{Deserialize, Serialize};

/// The mean of normal numbers of a known standard deviation that are recorded within public bounds.
///
/// The posterior accounts for the noise and the clipping: the released sum is about $N m(\mu)$ with variance
/// $N v(\mu)$, the moments of a clipped normal number; exactly if none is clipped, and by the central limit theorem
/// otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeanPlan {
    /// Clipping bounds of numbers.
    pub bounds: (f64, f64),
    /// Standard deviation of a number about the mean.
    pub sd: f64,
    /// Mean and standard deviation of the normal prior.
    pub prior: (f64, f64),
    /// The release.
    pub statistics: StatisticsPlan,
    /// Noise treatment of the posterior.
    #[serde(rename = "reading")]
    pub noise_treatment: NoiseTreatment,
}

const WHAT: &str = "sum of bounded numbers";

/// Numbers minus the centre of their bounds.
fn sensitivity((low, high): (f64, f64)) -> Sensitivity {
    let half = 0.5 * (high - low);
    Sensitivity { l1: half, l2: half, non_negative: false }
}

impl MeanPlan {
    /// A plan for this many records of one number.
    ///
    /// # Errors
    /// Add/remove adjacency, and those of the accountant.
    pub fn new(
        bounds: (f64, f64),
        sd: f64,
        prior: (f64, f64),
        records: usize,
        privacy: &Privacy,
    ) -> Result<Self, PlanError> {
        needs_the_number_of_records(WHAT, privacy)?;
        let statistics = StatisticsPlan::new(WHAT, records, 1, sensitivity(bounds), privacy)?;
        Ok(Self { bounds, sd, prior, statistics, noise_treatment: NoiseTreatment::NoiseAware })
    }

    pub(super) fn query(&self) -> impl Query {
        Centred { bounds: self.bounds }
    }

    /// The posterior from a noisy sum of numbers minus the centre of their bounds.
    #[must_use]
    pub fn posterior(&self, noisy: f64, noise: NoiseDistribution) -> Scalar {
        let records = self.statistics.records as f64;
        let middle = 0.5 * (self.bounds.0 + self.bounds.1);
        let noise =
            if self.noise_treatment == NoiseTreatment::Naive { NoiseDistribution::None } else { noise };
        let log_density = |mean: f64| {
            let prior = -0.5 * ((mean - self.prior.0) / self.prior.1).powi(2);
            let (centre, variance) = match self.noise_treatment {
                NoiseTreatment::Naive => (mean, self.sd * self.sd),
                NoiseTreatment::NoiseAware => {
                    let moments = normal_moments(mean, self.sd, self.bounds);
                    (moments[1], (moments[2] - moments[1] * moments[1]).max(1e-12 * self.sd * self.sd))
                }
            };
            prior + noise.log_density_about(noisy - records * (centre - middle), records * variance)
        };
        let (from, to) = (self.prior.0 - 10.0 * self.prior.1, self.prior.0 + 10.0 * self.prior.1);
        Scalar::new((from, to), log_density)
    }
}

impl ConjugatePlan for MeanPlan {
    type Posterior = Scalar;

    fn statistics(&self) -> &StatisticsPlan {
        &self.statistics
    }

    fn validate(&self) -> Result<(), FieldError> {
        self.statistics.validate(WHAT, 1, sensitivity(self.bounds))
    }

    fn fit_through(&self, wall: &mut Wall) -> Result<Self::Posterior, WallError> {
        let (released, noise) = self.statistics.release(&self.query(), wall)?;
        Ok(self.posterior(released.values[0], noise))
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Centred {
    bounds: (f64, f64),
}

impl Named for Centred {
    const NAME: &'static str = "bounded-numbers";
}

impl Query for Centred {
    fn width(&self) -> usize {
        1
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let (low, high) = self.bounds;
        out[0] = record[0].clamp(low, high) - 0.5 * (low + high);
    }

    fn spec(&self) -> Option<QuerySpec> {
        QuerySpec::of(self)
    }
}
