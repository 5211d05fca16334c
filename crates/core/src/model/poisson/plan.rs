//! The plan: the release and its noise.

use crate::budget::Privacy;
use crate::engine::conjugate::{NoiseDistribution, NoiseTreatment, Scalar, Sensitivity, StatisticsPlan};
use crate::family::Gamma;
use crate::field;
use crate::field::FieldError;
use crate::model::conjugate::ConjugatePlan;
use crate::model::conjugate::needs_the_number_of_records;
use crate::model::conjugate::poisson_moments;
use crate::model::conjugate::single::Single;
use crate::model::poisson::posterior::Rates;
use crate::model::poisson::query::Centred;
use crate::model::{Estimate, Posterior};
use crate::wall::{PlanError, Query, Wall, WallError};
use serde::{Deserialize, Serialize};

/// Rates of Poisson counts, recorded up to a public bound $M$, with a gamma prior.
///
/// As for [means](crate::model::conjugate::MeanPlan), the posterior accounts for the noise and the bound, by the central limit theorem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoissonPlan {
    /// Upper bound $M$ of counts.
    #[serde(rename = "most")]
    pub max_count: usize,
    /// Whether records hold counts that were scaled from $[0, M]$ to $[-1, 1]$, as tables are encoded.
    pub scaled: bool,
    /// The prior of each rate.
    pub prior: Gamma,
    /// The release.
    pub statistics: StatisticsPlan,
    /// Noise treatment of the posterior.
    #[serde(rename = "reading")]
    pub noise_treatment: NoiseTreatment,
}

const WHAT: &str = "sums of counts";

/// The largest allowed bound of counts: the posterior sums over the probabilities of all counts below it.
pub const MAX_COUNT: u64 = 1_000_000;

fn sensitivity(columns: usize, max_count: usize) -> Sensitivity {
    let (d, half) = (columns as f64, 0.5 * max_count as f64);
    Sensitivity { l1: half * d, l2: half * d.sqrt(), non_negative: false }
}

impl PoissonPlan {
    /// A plan for this many columns.
    ///
    /// # Errors
    /// Add/remove adjacency, and those of the accountant.
    pub fn new(
        columns: usize,
        max_count: usize,
        prior: Gamma,
        records: usize,
        privacy: &Privacy,
    ) -> Result<Self, PlanError> {
        needs_the_number_of_records(WHAT, privacy)?;
        let statistics =
            StatisticsPlan::new(WHAT, records, columns, sensitivity(columns, max_count), privacy)?;
        Ok(Self { max_count, scaled: false, prior, statistics, noise_treatment: NoiseTreatment::NoiseAware })
    }

    pub(crate) fn query(&self) -> impl Query {
        Centred { width: self.statistics.width, max_count: self.max_count as f64, scaled: self.scaled }
    }

    /// The posterior of a rate from a noisy sum of counts minus half of the bound.
    #[must_use]
    pub fn posterior(&self, noisy: f64, noise: NoiseDistribution) -> Scalar {
        let records = self.statistics.records as f64;
        let sum = noisy + 0.5 * records * self.max_count as f64;
        let Gamma { shape, rate } = self.prior;
        let bounds = (0.0, 3.0 * self.max_count as f64 + 10.0);
        if noise == NoiseDistribution::None || self.noise_treatment == NoiseTreatment::Naive {
            let shape = shape + sum.max(0.0);
            return Scalar::new(bounds, |x| (shape - 1.0) * x.ln() - (rate + records) * x);
        }
        Scalar::new(bounds, |x| {
            let (mean, variance) = poisson_moments(x, self.max_count);
            let likelihood = noise.log_density_about(sum - records * mean, records * variance.max(1e-12));
            (shape - 1.0) * x.ln() - rate * x + likelihood
        })
    }
}

impl ConjugatePlan for PoissonPlan {
    type Posterior = Vec<Scalar>;

    fn statistics(&self) -> &StatisticsPlan {
        &self.statistics
    }

    fn validate(&self) -> Result<(), FieldError> {
        field::integer("most", self.max_count as u64, 1..=MAX_COUNT)?;
        field::number("prior.shape", self.prior.shape, 1e-3..=1e6)?;
        field::number("prior.rate", self.prior.rate, 1e-9..=1e6)?;
        field::replace_one(self.statistics.adjacency)?;
        let columns = self.statistics.width;
        self.statistics.validate(WHAT, columns, sensitivity(columns, self.max_count))
    }

    fn fit_through(&self, wall: &mut Wall) -> Result<Self::Posterior, WallError> {
        let (released, noise) = self.statistics.release(&self.query(), wall)?;
        Ok(released.values.iter().map(|&noisy| self.posterior(noisy, noise)).collect())
    }
}

impl Single for PoissonPlan {
    const MODEL: &'static str = "poisson";

    fn fields(&self) -> Result<(), FieldError> {
        // Records of tables are always scaled.
        field::agrees("scaled", &self.scaled, &true)?;
        self.validate()
    }
    /// A grid of 2048 cells, refined up to about 20 times, with a sum over all counts for each.
    fn posterior_estimate(&self) -> Estimate {
        let columns = self.statistics.width as f64;
        let each = 20.0
            + if self.noise_treatment == NoiseTreatment::NoiseAware {
                10.0 * self.max_count as f64
            } else {
                0.0
            };
        Estimate::new(columns * 2048.0, columns * 2048.0 * 20.0 * each, columns * (2048.0 + 40.0))
    }
    fn inputs(&self) -> usize {
        self.statistics.width
    }
    fn posterior(&self, wall: &mut Wall) -> Result<Box<dyn Posterior>, WallError> {
        let rates = self.fit_through(wall)?;
        Ok(Box::new(Rates { rates, max_count: self.max_count, records: self.statistics.records }))
    }
}
