//! The mean of bounded numbers.

use super::clipped::normal_moments;
use super::needs_the_number_of_records;
use crate::budget::{Ledger, Privacy};
use crate::engine::conjugate::{NoiseDistribution, NoiseTreatment, Scalar, Sensitivity, StatisticsPlan};
use crate::receipt::Receipt;
use crate::wall::{NoiseSource, PlanError, Query, Records, Wall, WallError};
use serde::{Deserialize, Serialize};

/// The mean of normal numbers of a known deviation that are recorded within public bounds.
///
/// The posterior knows the noise and the bounds: the released sum is about $N m(\mu)$ with variance $N v(\mu)$, the moments of a
/// normal number that is moved to the nearer bound if it is outside; exactly so if none is, and by the central limit theorem
/// else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeanPlan {
    /// What numbers are clipped to.
    pub bounds: (f64, f64),
    /// The deviation of a number about the mean.
    pub sd: f64,
    /// The mean and the deviation of the normal prior.
    pub prior: (f64, f64),
    /// The release.
    pub statistics: StatisticsPlan,
    /// What is made of it.
    pub reading: NoiseTreatment,
}

impl MeanPlan {
    /// For so many records of one number.
    ///
    /// # Errors
    /// Add/remove adjacency, and what the accountant refuses.
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
        Ok(Self { bounds, sd, prior, statistics, reading: NoiseTreatment::NoiseAware })
    }

    /// Runs it; without privacy if none is asked for.
    ///
    /// # Errors
    /// What the wall refuses.
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

    /// The posterior from what a wall of these statistics releases.
    ///
    /// # Errors
    /// [`WallError`].
    pub fn fit_through(&self, wall: &mut Wall) -> Result<Scalar, WallError> {
        let (released, law) = self.statistics.release(&self.query(), wall)?;
        Ok(self.posterior(released.values[0], law))
    }

    pub(super) fn query(&self) -> impl Query {
        Centred { bounds: self.bounds }
    }

    /// The posterior from a noisy sum of numbers less the middle of their bounds.
    #[must_use]
    pub fn posterior(&self, noisy: f64, law: NoiseDistribution) -> Scalar {
        let records = self.statistics.records as f64;
        let middle = 0.5 * (self.bounds.0 + self.bounds.1);
        let law = if self.reading == NoiseTreatment::Naive { NoiseDistribution::None } else { law };
        let log_density = |mean: f64| {
            let prior = -0.5 * ((mean - self.prior.0) / self.prior.1).powi(2);
            let (centre, variance) = match self.reading {
                NoiseTreatment::Naive => (mean, self.sd * self.sd),
                NoiseTreatment::NoiseAware => {
                    let moments = normal_moments(mean, self.sd, self.bounds);
                    (moments[1], (moments[2] - moments[1] * moments[1]).max(1e-12 * self.sd * self.sd))
                }
            };
            prior + law.log_density_about(noisy - records * (centre - middle), records * variance)
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
