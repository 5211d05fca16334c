//! Coverage of 95 % intervals.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Binomial, Distribution, Gamma, StandardNormal};
use rayon::prelude::*;
use reticent_core::budget::{Adjacency, Privacy};
use reticent_core::engine::conjugate::{NoiseDistribution, NoiseTreatment, NoisyCounts, Total};
use reticent_core::family::Beta;
use reticent_core::model::conjugate::{MeanPlan, Rate, Shares};
use serde::Serialize;

use super::{FLAT, Setting, laplace};
use crate::error::ExperimentError;

/// What is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Model {
    /// A rate of 0.3 with a uniform prior.
    Bernoulli,
    /// Shares of twenty levels, drawn from their uniform prior.
    Dirichlet,
    /// A mean of 0.2 with deviation 0.4, numbers clipped to [-1, 1].
    Mean,
}

/// A measured coverage.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Covered {
    /// Of what.
    pub model: Model,
    /// $N$.
    pub records: usize,
    /// Pure, under replace-one adjacency.
    pub epsilon: f64,
    /// Coverage of noise-aware intervals.
    pub noise_aware: f64,
    /// Coverage if noisy sums are treated as exact.
    pub naive: f64,
    /// Coverage of the intervals of the paper, from both noisy counts; rates only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub printed: Option<f64>,
    /// One standard error of a share of 95 %.
    pub standard_error: f64,
}

const LEVELS: usize = 20;
const TRUTH: (f64, f64) = (0.2, 0.4);

/// Measures the coverage over simulated data sets.
///
/// # Errors
/// Errors of planning.
pub fn coverage(model: Model, records: usize, epsilon: f64, sets: u64) -> Result<Covered, ExperimentError> {
    let privacy = Privacy::new(epsilon, 0.0, Adjacency::ReplaceOne)?;
    let aware = MeanPlan::new((-1.0, 1.0), TRUTH.1, (0.0, 1.0), records, &privacy)?;
    let naive = MeanPlan { noise_treatment: NoiseTreatment::Naive, ..aware.clone() };
    let one = |set: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(set);
        match model {
            Model::Bernoulli => rate(records, epsilon, &mut rng),
            Model::Dirichlet => shares(records, epsilon, set, &mut rng),
            Model::Mean => mean(&aware, &naive, &mut rng),
        }
    };
    let add = |a: [f64; 3], b: [f64; 3]| std::array::from_fn(|k| a[k] + b[k]);
    let sums = (0..sets).into_par_iter().map(one).reduce(|| [0.0; 3], add);
    let [noise_aware, naive, printed] = sums.map(|sum| sum / sets as f64);
    let intervals = if model == Model::Dirichlet { sets * LEVELS as u64 } else { sets };
    let standard_error = (0.95 * 0.05 / intervals as f64).sqrt();
    let printed = (model == Model::Bernoulli).then_some(printed);
    Ok(Covered { model, records, epsilon, noise_aware, naive, printed, standard_error })
}

fn covers(low: f64, high: f64, truth: f64) -> f64 {
    f64::from(u8::from(low <= truth && truth <= high))
}

fn rate(records: usize, epsilon: f64, rng: &mut ChaCha8Rng) -> [f64; 3] {
    let setting = Setting { p: 0.3, truncation: 0.2, epsilon };
    let n = records as f64;
    let count = Binomial::new(records as u64, setting.p).map_or(0.0, |law| law.sample(rng) as f64);
    let (scale, truth) = (1.0 / epsilon, setting.p);
    let noisy = count + laplace(scale, rng);
    let of = |treatment| {
        let rate = Rate::new(FLAT, n, noisy, NoiseDistribution::Laplace { scale }, treatment);
        covers(rate.quantile(0.025), rate.quantile(0.975), truth)
    };
    let printed: Beta = setting.printed(n, count, rng);
    let printed = covers(printed.quantile(0.025), printed.quantile(0.975), truth);
    [of(NoiseTreatment::NoiseAware), of(NoiseTreatment::Naive), printed]
}

fn shares(records: usize, epsilon: f64, set: u64, rng: &mut ChaCha8Rng) -> [f64; 3] {
    let draws: Vec<f64> =
        (0..LEVELS).map(|_| Gamma::new(1.0, 1.0).map_or(1.0, |law| law.sample(rng))).collect();
    let sum: f64 = draws.iter().sum();
    let truth: Vec<f64> = draws.iter().map(|x| x / sum).collect();
    let mut noisy = vec![0.0; LEVELS];
    for _ in 0..records {
        let mut u: f64 = rng.random();
        let level = truth.iter().position(|p| {
            u -= p;
            u < 0.0
        });
        noisy[level.unwrap_or(LEVELS - 1)] += 1.0;
    }
    let scale = 2.0 / epsilon;
    noisy.iter_mut().for_each(|n| *n += laplace(scale, rng));
    let concentration = [1.0; LEVELS];
    let total = Total::Known(records as f64);
    let counts = NoisyCounts {
        noisy: &noisy,
        noise: NoiseDistribution::Laplace { scale },
        concentration: &concentration,
        total,
    };
    let of = |treatment| {
        let shares = Shares::new(&counts, treatment, set);
        let held = truth
            .iter()
            .enumerate()
            .map(|(k, &p)| covers(shares.quantile(k, 0.025), shares.quantile(k, 0.975), p));
        held.sum::<f64>() / LEVELS as f64
    };
    [of(NoiseTreatment::NoiseAware), of(NoiseTreatment::Naive), 0.0]
}

fn mean(aware: &MeanPlan, naive: &MeanPlan, rng: &mut ChaCha8Rng) -> [f64; 3] {
    let (truth, sd) = TRUTH;
    let number = |rng: &mut ChaCha8Rng| {
        let z: f64 = StandardNormal.sample(rng);
        (truth + sd * z).clamp(-1.0, 1.0)
    };
    let sum: f64 = (0..aware.statistics.records).map(|_| number(rng)).sum();
    let noise = NoiseDistribution::of(true, aware.statistics.expected_noise);
    let noisy = sum + laplace(noise.sd() / 2f64.sqrt(), rng);
    let of = |plan: &MeanPlan| {
        let posterior = plan.posterior(noisy, noise);
        covers(posterior.quantile(0.025), posterior.quantile(0.975), truth)
    };
    [of(aware), of(naive), 0.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few sets: the bound is 0.93 less three standard errors.
    #[test]
    fn noise_aware_intervals_cover() {
        for (model, records, sets) in
            [(Model::Bernoulli, 100, 300), (Model::Dirichlet, 300, 20), (Model::Mean, 100, 300)]
        {
            for epsilon in [0.1, 1.0] {
                let found = coverage(model, records, epsilon, sets).unwrap();
                assert!(found.noise_aware > 0.93 - 3.0 * found.standard_error, "{found:?}");
            }
            let little = coverage(model, records, 0.1, sets).unwrap();
            assert!(little.naive < 0.8, "{little:?}");
        }
    }
}
