//! The posterior.

use crate::engine::conjugate::{NoiseDistribution, NoiseTreatment};
use crate::family::{Beta, bisect};
use crate::model::parameters::{Block, Joint, Marginal, Parameter};
use crate::model::{Code, Codebook, CodedColumn, ModelError, Parameters, Posterior, Predicted, Saved};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt};
use rand_distr::Distribution;
use serde::{Deserialize, Serialize};

/// The posterior of a rate: beta densities, one for each possible true count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    prior: Beta,
    records: f64,
    /// The first count and the step to the next.
    first: f64,
    stride: f64,
    weights: Vec<f64>,
}

/// Maximum number of distinct counts. Beyond that the counts are thinned.
const MAX_COUNTS: f64 = 4096.0;

/// Log weights this far below the largest are negligible.
const NEGLIGIBLE_LOG_RATIO: f64 = 35.0;

impl Rate {
    /// From a noisy count out of a public number. Each count $n$ weighs its beta-binomial prior times $f(y - n)$.
    #[must_use]
    pub fn new(
        prior: Beta,
        records: f64,
        noisy: f64,
        noise: NoiseDistribution,
        noise_treatment: NoiseTreatment,
    ) -> Self {
        if noise == NoiseDistribution::None || noise_treatment == NoiseTreatment::Naive {
            let first = noisy.clamp(0.0, records);
            return Self { prior, records, first, stride: 1.0, weights: vec![1.0] };
        }
        let log_weight = |n: f64| {
            libm::lgamma(prior.a + n) - libm::lgamma(n + 1.0) + libm::lgamma(prior.b + records - n)
                - libm::lgamma(records - n + 1.0)
                + noise.log_density(noisy - n)
        };
        // The grid is refined to the counts of non-negligible weight, until they are most of it or every count is
        // distinct.
        let (mut first, mut last) = (0.0_f64, records);
        loop {
            let stride = ((last - first + 1.0) / MAX_COUNTS).ceil().max(1.0);
            let count = ((last - first) / stride).floor() as usize + 1;
            let logs: Vec<f64> = (0..count).map(|k| log_weight(first + stride * k as f64)).collect();
            let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let some = |log: &f64| *log > top - NEGLIGIBLE_LOG_RATIO;
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

    /// The posterior variance if the count were known.
    #[must_use]
    pub fn records_variance(&self) -> f64 {
        self.average(Beta::variance)
    }

    /// The posterior variance, including the privacy noise.
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

    /// The quantile of this probability.
    #[must_use]
    pub fn quantile(&self, probability: f64) -> f64 {
        bisect(|p| self.cdf(p), probability, (0.0, 1.0))
    }

    /// A draw from the posterior, at no further cost.
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

/// Maximum number of beta densities of a quantile in a summary: neighbouring counts are merged. Over 16 standard deviations of the noise,
/// merged counts are an eighth of one apart, which changes the variance by 0.1 %.
const MAX_MERGED: usize = 128;

impl Rate {
    /// The same posterior with neighbouring counts merged, for quantiles.
    fn merged(&self) -> Self {
        let each = self.weights.len().div_ceil(MAX_MERGED).max(1);
        let weights = self.weights.chunks(each).map(|weights| weights.iter().sum()).collect();
        let first = self.first + 0.5 * self.stride * (each - 1) as f64;
        let stride = self.stride * each as f64;
        // The middle of the last chunk must be a possible count.
        let last = first + stride * (self.weights.len().div_ceil(each) - 1) as f64;
        if each == 1 || last > self.records {
            return self.clone();
        }
        Self { prior: self.prior, records: self.records, first, stride, weights }
    }
}

impl Marginal for Rate {
    fn mean(&self) -> f64 {
        self.mean()
    }
    fn sd(&self) -> f64 {
        self.variance().sqrt()
    }
    fn records_sd(&self) -> f64 {
        self.records_variance().sqrt()
    }
    fn quantile(&self, probability: f64) -> f64 {
        self.merged().quantile(probability)
    }
    fn below(&self, x: f64) -> f64 {
        self.cdf(x)
    }
    fn draw(&self, rng: &mut ChaCha8Rng) -> f64 {
        self.draw(rng)
    }
}

impl Posterior for Vec<Rate> {
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let log = |(rate, x): (&Rate, &f64)| {
            let yes = rate.mean();
            if *x > 0.0 { yes.ln() } else { (-yes).ln_1p() }
        };
        let log_density = self.iter().zip(inputs).map(log).sum();
        Predicted::Component { log_density, probabilities: Vec::new() }
    }

    /// `rate[column]`: the share of records with the second level of a flag, or with a number above the middle.
    fn parameters(&self, codebook: &Codebook) -> Parameters {
        let parameter = |(k, column): (usize, &CodedColumn)| {
            let parameter = Parameter::new("rate", vec![("column", column.label())], k);
            match column.code {
                Code::Missing => parameter,
                _ => parameter.with_note(format!("share of {}", column.sides()[1])),
            }
        };
        let parameters = codebook.columns.iter().take(self.len()).enumerate().map(parameter).collect();
        let rates = self.iter().map(|rate| Box::new(rate.clone()) as Box<dyn Marginal>);
        Parameters::new(vec![Block { parameters, joint: Joint::Independent(rates.collect()) }])
    }

    fn simulate(&self, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        let side = |rate: &Rate| if rng.random::<f64>() < rate.draw(rng) { 1.0 } else { -1.0 };
        Some(self.iter().map(side).collect())
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
