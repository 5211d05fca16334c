//! The plan: what is released, with which noise.

use crate::budget::{Ledger, Privacy};
use crate::engine::conjugate::{NoiseTreatment, Sensitivity, StatisticsPlan};
use crate::family::Beta;
use crate::field;
use crate::field::FieldError;
use crate::model::bernoulli::posterior::Rate;
use crate::model::bernoulli::query::Signs;
use crate::model::conjugate::needs_the_number_of_records;
use crate::model::conjugate::single::Single;
use crate::model::{Estimate, Posterior};
use crate::receipt::Receipt;
use crate::wall::{NoiseSource, PlanError, Query, Records, Wall, WallError};
use serde::{Deserialize, Serialize};

/// Rates of columns that are positive or not, each with the same beta prior.
///
/// # Privacy
/// Under replace-one adjacency the number of records is public, so the count of those that did not happen says nothing new: only
/// $n_+ - N/2$ is released, which one record moves by 1, half of what the paper's pair of counts needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BernoulliPlan {
    /// The prior of each rate.
    pub prior: Beta,
    /// The release.
    pub statistics: StatisticsPlan,
    /// What is made of it.
    pub reading: NoiseTreatment,
}

const WHAT: &str = "counts of positive values";

fn sensitivity(columns: usize) -> Sensitivity {
    let d = columns as f64;
    Sensitivity { l1: 0.5 * d, l2: 0.5 * d.sqrt(), non_negative: false }
}

impl BernoulliPlan {
    /// For so many columns.
    ///
    /// # Errors
    /// Add/remove adjacency, and what the accountant refuses.
    pub fn new(columns: usize, prior: Beta, records: usize, privacy: &Privacy) -> Result<Self, PlanError> {
        needs_the_number_of_records(WHAT, privacy)?;
        let statistics = StatisticsPlan::new(WHAT, records, columns, sensitivity(columns), privacy)?;
        Ok(Self { prior, statistics, reading: NoiseTreatment::NoiseAware })
    }

    /// Whether every field is in its range, and agrees with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        field::number("prior.a", self.prior.a, field::PRIOR)?;
        field::number("prior.b", self.prior.b, field::PRIOR)?;
        field::replace_one(self.statistics.adjacency)?;
        let columns = self.statistics.width;
        self.statistics.validate(WHAT, columns, sensitivity(columns))
    }

    pub(crate) fn query(&self) -> impl Query {
        Signs { width: self.statistics.width }
    }

    /// Runs it; without privacy if none is asked for. Records begin with the columns; what comes after them is not looked at.
    ///
    /// # Errors
    /// What the wall refuses.
    pub fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Vec<Rate>, Receipt), WallError> {
        self.validate().map_err(PlanError::from)?;
        let mut wall = Wall::open(records, source, self.statistics.releases()?.0, privacy, ledger)?;
        let posterior = self.fit_through(&mut wall)?;
        Ok((posterior, wall.finish(0)?))
    }

    /// The posterior from what a wall of these statistics releases.
    ///
    /// # Errors
    /// [`WallError`].
    pub fn fit_through(&self, wall: &mut Wall) -> Result<Vec<Rate>, WallError> {
        let (released, law) = self.statistics.release(&self.query(), wall)?;
        let records = self.statistics.records as f64;
        let rate = |sum: &f64| Rate::new(self.prior, records, sum + 0.5 * records, law, self.reading);
        Ok(released.values.iter().map(rate).collect())
    }
}

impl Single for BernoulliPlan {
    const MODEL: &'static str = "beta-bernoulli";

    fn fields(&self) -> Result<(), FieldError> {
        self.validate()
    }
    /// A weight for each count that could be behind the noisy one, at most 4096.
    fn posterior_estimate(&self) -> Estimate {
        let (columns, records) = (self.statistics.width as f64, self.statistics.records as f64);
        let spread = if self.statistics.laplace { 50.0 } else { 17.0 } * self.statistics.noise_sd() + 3.0;
        let weights = match self.reading {
            NoiseTreatment::NoiseAware => spread.min(records + 1.0).min(3000.0),
            NoiseTreatment::Naive => 1.0,
        };
        let rounds = 2.0 + (records / 4096.0).max(1.0).log2();
        Estimate::new(columns * 4096.0, columns * 4096.0 * 250.0 * rounds, columns * (weights + 60.0))
    }
    fn statistics(&self) -> &StatisticsPlan {
        &self.statistics
    }
    fn inputs(&self) -> usize {
        self.statistics.width
    }
    fn posterior(&self, wall: &mut Wall) -> Result<Box<dyn Posterior>, WallError> {
        let rates = self.fit_through(wall)?;
        Ok(Box::new(rates))
    }
}
