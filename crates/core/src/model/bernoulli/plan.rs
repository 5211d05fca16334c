//! The plan: the release and its noise.

use crate::budget::Privacy;
use crate::engine::conjugate::{NoiseTreatment, Sensitivity, StatisticsPlan};
use crate::family::Beta;
use crate::field;
use crate::field::FieldError;
use crate::model::bernoulli::posterior::Rate;
use crate::model::bernoulli::query::Signs;
use crate::model::conjugate::ConjugatePlan;
use crate::model::conjugate::needs_the_number_of_records;
use crate::model::conjugate::single::Single;
use crate::model::{Estimate, Posterior};
use crate::wall::{PlanError, Query, Wall, WallError};
use serde::{Deserialize, Serialize};

/// Rates of columns that are positive or not, each with the same beta prior.
///
/// # Privacy
/// Under replace-one adjacency the number of records is public, so the count of negative values adds no information:
/// only $n_+ - N/2$ is released, with sensitivity 1, half of that of the paper's pair of counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BernoulliPlan {
    /// The prior of each rate.
    pub prior: Beta,
    /// The release.
    pub statistics: StatisticsPlan,
    /// Noise treatment of the posterior.
    #[serde(rename = "reading")]
    pub noise_treatment: NoiseTreatment,
}

const WHAT: &str = "counts of positive values";

fn sensitivity(columns: usize) -> Sensitivity {
    let d = columns as f64;
    Sensitivity { l1: 0.5 * d, l2: 0.5 * d.sqrt(), non_negative: false }
}

impl BernoulliPlan {
    /// A plan for this many columns.
    ///
    /// # Errors
    /// Add/remove adjacency, and those of the accountant.
    pub fn new(columns: usize, prior: Beta, records: usize, privacy: &Privacy) -> Result<Self, PlanError> {
        needs_the_number_of_records(WHAT, privacy)?;
        let statistics = StatisticsPlan::new(WHAT, records, columns, sensitivity(columns), privacy)?;
        Ok(Self { prior, statistics, noise_treatment: NoiseTreatment::NoiseAware })
    }

    pub(crate) fn query(&self) -> impl Query {
        Signs { width: self.statistics.width }
    }
}

impl ConjugatePlan for BernoulliPlan {
    type Posterior = Vec<Rate>;

    fn statistics(&self) -> &StatisticsPlan {
        &self.statistics
    }

    fn validate(&self) -> Result<(), FieldError> {
        field::number("prior.a", self.prior.a, field::PRIOR)?;
        field::number("prior.b", self.prior.b, field::PRIOR)?;
        field::replace_one(self.statistics.adjacency)?;
        let columns = self.statistics.width;
        self.statistics.validate(WHAT, columns, sensitivity(columns))
    }

    fn fit_through(&self, wall: &mut Wall) -> Result<Self::Posterior, WallError> {
        let (released, noise) = self.statistics.release(&self.query(), wall)?;
        let records = self.statistics.records as f64;
        let rate =
            |sum: &f64| Rate::new(self.prior, records, sum + 0.5 * records, noise, self.noise_treatment);
        Ok(released.values.iter().map(rate).collect())
    }
}

impl Single for BernoulliPlan {
    const MODEL: &'static str = "beta-bernoulli";

    /// A weight for each possible true count, at most 4096.
    fn posterior_estimate(&self) -> Estimate {
        let (columns, records) = (self.statistics.width as f64, self.statistics.records as f64);
        let spread = if self.statistics.laplace { 50.0 } else { 17.0 } * self.statistics.noise_sd() + 3.0;
        let weights = match self.noise_treatment {
            NoiseTreatment::NoiseAware => spread.min(records + 1.0).min(3000.0),
            NoiseTreatment::Naive => 1.0,
        };
        let rounds = 2.0 + (records / 4096.0).max(1.0).log2();
        Estimate::new(columns * 4096.0, columns * 4096.0 * 250.0 * rounds, columns * (weights + 60.0))
    }
    fn inputs(&self) -> usize {
        self.statistics.width
    }
    fn posterior(&self, wall: &mut Wall) -> Result<Box<dyn Posterior>, WallError> {
        let rates = self.fit_through(wall)?;
        Ok(Box::new(rates))
    }
}
