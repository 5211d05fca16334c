//! Rates of things that happen or not.

use super::needs_the_number_of_records;
use crate::budget::{Ledger, Privacy};
use crate::engine::conjugate::{Law, Reading, Sensitivity, StatisticsPlan};
use crate::family::{Beta, bisect};
use crate::field::{self, FieldError};
use crate::receipt::Receipt;
use crate::wall::{NoiseSource, PlanError, Query, Records, WallError};
use rand::{Rng, RngExt};
use rand_distr::Distribution;
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
    pub reading: Reading,
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
        Ok(Self { prior, statistics, reading: Reading::NoiseAware })
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

    pub(super) fn query(&self) -> impl Query {
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
        let (released, law, receipt) =
            self.statistics.release(&self.query(), records, source, privacy, ledger)?;
        let records = self.statistics.records as f64;
        let rate = |sum: &f64| Rate::new(self.prior, records, sum + 0.5 * records, law, self.reading);
        Ok((released.values.iter().map(rate).collect(), receipt))
    }
}

/// A half for what happened and less a half for what did not.
struct Signs {
    width: usize,
}

impl Query for Signs {
    fn width(&self) -> usize {
        self.width
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        for (out, &x) in out.iter_mut().zip(record) {
            *out = if x > 0.0 { 0.5 } else { -0.5 };
        }
    }
}

/// The posterior of a rate: beta densities, one for each count that could be behind the noisy one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    prior: Beta,
    records: f64,
    /// The first count and how far it is to the next.
    first: f64,
    stride: f64,
    weights: Vec<f64>,
}

/// Counts that are told apart. Beyond that only every second one is, or fewer.
const MOST: f64 = 4096.0;
/// Log weights farther than this below the best are nothing.
const NOTHING: f64 = 35.0;

impl Rate {
    /// From a noisy count out of a public number. Each count $n$ weighs its beta-binomial prior times $f(y - n)$.
    #[must_use]
    pub fn new(prior: Beta, records: f64, noisy: f64, law: Law, reading: Reading) -> Self {
        if law == Law::None || reading == Reading::Naive {
            let first = noisy.clamp(0.0, records);
            return Self { prior, records, first, stride: 1.0, weights: vec![1.0] };
        }
        let log_weight = |n: f64| {
            libm::lgamma(prior.a + n) - libm::lgamma(n + 1.0) + libm::lgamma(prior.b + records - n)
                - libm::lgamma(records - n + 1.0)
                + law.log_density(noisy - n)
        };
        // Laid again over where there is something, until that is most of it or every count is told apart.
        let (mut first, mut last) = (0.0_f64, records);
        loop {
            let stride = ((last - first + 1.0) / MOST).ceil().max(1.0);
            let count = ((last - first) / stride).floor() as usize + 1;
            let logs: Vec<f64> = (0..count).map(|k| log_weight(first + stride * k as f64)).collect();
            let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let some = |log: &f64| *log > top - NOTHING;
            let from = logs.iter().position(some).unwrap_or(0).saturating_sub(1);
            let to = logs.iter().rposition(some).map_or(count, |to| (to + 2).min(count));
            if stride == 1.0 || to - from > count / 2 {
                let mut weights: Vec<f64> = logs[from..to].iter().map(|log| (log - top).exp()).collect();
                let sum: f64 = weights.iter().sum();
                weights.iter_mut().for_each(|weight| *weight /= sum);
                return Self { prior, records, first: first + stride * from as f64, stride, weights };
            }
            (first, last) = (first + stride * from as f64, records.min(first + stride * (to - 1) as f64));
        }
    }

    /// The beta density of each count, and the probability of that count.
    pub fn components(&self) -> impl Iterator<Item = (f64, Beta)> {
        self.weights.iter().enumerate().map(|(k, &weight)| {
            let n = self.first + self.stride * k as f64;
            (weight, Beta { a: self.prior.a + n, b: self.prior.b + self.records - n })
        })
    }

    fn average(&self, f: impl Fn(Beta) -> f64) -> f64 {
        self.components().map(|(weight, beta)| weight * f(beta)).sum()
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.average(Beta::mean)
    }

    /// The variance that the records leave, were the count known.
    #[must_use]
    pub fn records_variance(&self) -> f64 {
        self.average(Beta::variance)
    }

    /// The variance, with what the privacy noise adds.
    #[must_use]
    pub fn variance(&self) -> f64 {
        let mean = self.mean();
        self.records_variance() + self.average(|beta| (beta.mean() - mean).powi(2))
    }

    /// The density.
    #[must_use]
    pub fn density(&self, p: f64) -> f64 {
        self.average(|beta| beta.log_density(p).exp())
    }

    /// The probability below.
    #[must_use]
    pub fn cdf(&self, p: f64) -> f64 {
        self.average(|beta| beta.cdf(p))
    }

    /// The value that is not exceeded with this probability.
    #[must_use]
    pub fn quantile(&self, probability: f64) -> f64 {
        bisect(|p| self.cdf(p), probability, (0.0, 1.0))
    }

    /// A draw. Any number of them is free.
    pub fn draw(&self, rng: &mut impl Rng) -> f64 {
        let mut rest: f64 = rng.random();
        let chosen = self.components().find(|(weight, _)| {
            rest -= weight;
            rest <= 0.0
        });
        let beta = chosen.or_else(|| self.components().last()).map_or(self.prior, |(_, beta)| beta);
        rand_distr::Beta::new(beta.a, beta.b).map_or(beta.mean(), |beta| beta.sample(rng))
    }
}
