//! The mean of bounded numbers.

use super::clipped::normal_moments;
use super::needs_the_number_of_records;
use crate::budget::{Ledger, Privacy};
use crate::engine::conjugate::{NoiseDistribution, NoiseTreatment, Scalar, Sensitivity, StatisticsPlan};
use crate::receipt::Receipt;
use crate::wall::{NoiseSource, PlanError, Query, Records, Wall, WallError};
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
        let what = "sum of bounded numbers";
        needs_the_number_of_records(what, privacy)?;
        let half = 0.5 * (bounds.1 - bounds.0);
        let sensitivity = Sensitivity { l1: half, l2: half, non_negative: false };
        let statistics = StatisticsPlan::new(what, records, 1, sensitivity, privacy)?;
        Ok(Self { bounds, sd, prior, statistics, noise_treatment: NoiseTreatment::NoiseAware })
    }

    /// Runs the plan; without privacy if there is no budget.
    ///
    /// # Errors
    /// Those of the wall.
    pub fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Scalar, Receipt), WallError> {
        let mut wall = Wall::open(records, source, self.statistics.releases()?.0, privacy, ledger)?;
        let posterior = self.fit_through(&mut wall)?;
        Ok((posterior, wall.finish(0)?))
    }

    /// The posterior from the releases of a wall of this plan.
    ///
    /// # Errors
    /// [`WallError`].
    pub fn fit_through(&self, wall: &mut Wall) -> Result<Scalar, WallError> {
        let (released, noise) = self.statistics.release(&self.query(), wall)?;
        Ok(self.posterior(released.values[0], noise))
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

struct Centred {
    bounds: (f64, f64),
}

impl Query for Centred {
    fn width(&self) -> usize {
        1
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let (low, high) = self.bounds;
        out[0] = record[0].clamp(low, high) - 0.5 * (low + high);
    }
}
