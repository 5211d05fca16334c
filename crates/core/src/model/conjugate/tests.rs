//! Coverage of posteriors, against the truth of simulated data.

use super::*;
use crate::budget::{Adjacency, Privacy, Unlimited};
use crate::engine::conjugate::{NoiseDistribution, NoiseTreatment, NoisyCounts, Total, dirichlet};
use crate::family::{Beta, Gamma};
use crate::wall::{NoiseSource, Records, Wall};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

const FLAT: Beta = Beta { a: 1.0, b: 1.0 };

fn pure(epsilon: f64) -> Privacy {
    Privacy::new(epsilon, 0.0, Adjacency::ReplaceOne).unwrap()
}

fn bernoulli(p: f64, n: usize, rng: &mut impl Rng) -> Records {
    Records::new((0..n).map(|_| f64::from(u8::from(rng.random::<f64>() < p))).collect(), 1).unwrap()
}

/// Data sets behind a measured coverage. With 400 the standard error of 0.95 is 0.011, so a calibrated posterior
/// passes a bound of 0.93 minus three of them.
const SETS: u64 = 400;
const MIN: f64 = 0.93 - 3.0 * 0.011;

fn covers((low, high): (f64, f64), truth: f64) -> f64 {
    f64::from(u8::from(low <= truth && truth <= high))
}

/// At epsilon 0.1 and p = 0.3: with 100 records the naive posterior of the paper (both counts) covers 0.365, the naive one
/// of one count 0.562, the noise-aware one 0.988; with 1000 records 0.735, 0.872 and 0.955. Four standard errors.
#[test]
fn noise_aware_rates_cover_and_naive_ones_do_not() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let sets = 500;
    for (n, paper, naive, aware) in [(100, 0.365, 0.562, 0.988), (1000, 0.735, 0.872, 0.955)] {
        let mut found = [0.0; 3];
        let aware_plan = BernoulliPlan::new(1, FLAT, n, &pure(0.1)).unwrap();
        let naive_plan = BernoulliPlan { noise_treatment: NoiseTreatment::Naive, ..aware_plan.clone() };
        let both = CategoricalPlan::new(vec![1], 1.0, n, &pure(0.1)).unwrap();
        for seed in 0..sets {
            let source = || NoiseSource::insecure_from_seed(seed);
            let records = |rng: &mut ChaCha8Rng| bernoulli(0.3, n, rng);
            for (k, plan) in [&aware_plan, &naive_plan].into_iter().enumerate() {
                let (rates, _) =
                    plan.fit(records(&mut rng), source(), Some(&pure(0.1)), Box::new(Unlimited)).unwrap();
                found[k] += covers((rates[0].quantile(0.025), rates[0].quantile(0.975)), 0.3) / sets as f64;
            }
            // The paper's: both counts with noise of scale 2/epsilon, clipped to 0 from below, and a plain beta
            // density.
            let (of_wall, _) = both.statistics.releases().unwrap();
            let (records, ledger) = (records(&mut rng), Box::new(Unlimited));
            let mut wall = Wall::new(records, source(), of_wall, &pure(0.1), ledger).unwrap();
            let (released, _) = both.statistics.release(&both.query(), &mut wall).unwrap();
            let counts = released.values;
            let beta = Beta { a: 1.0 + counts[1].max(0.0), b: 1.0 + counts[0].max(0.0) };
            found[2] += covers((beta.quantile(0.025), beta.quantile(0.975)), 0.3) / sets as f64;
        }
        for (found, expected) in found.into_iter().zip([aware, naive, paper]) {
            // Both figures are estimates, of 500 and 600 runs.
            let error = (expected * (1.0 - expected) * (1.0 / 600.0 + 1.0 / sets as f64)).sqrt();
            assert!((found - expected).abs() < 4.0 * error, "{n}: {found} {expected} {error}");
        }
        assert!(found[0] >= 0.93, "{}", found[0]);
    }
}

/// Enumerated by hand: three records, uniform prior, a count of 1.2 with Laplace noise of scale 1. Under a uniform prior all
/// counts are equally likely before, so each weighs $e^{-|1.2 - n|}$ and has mean $(1 + n)/5$.
#[test]
fn rates_are_mixtures_over_the_counts() {
    let rate =
        Rate::new(FLAT, 3.0, 1.2, NoiseDistribution::Laplace { scale: 1.0 }, NoiseTreatment::NoiseAware);
    let weights = [0.0, 1.0, 2.0, 3.0].map(|n: f64| (-(1.2 - n).abs()).exp());
    let mean: f64 = weights.iter().zip(1..).map(|(w, k)| w * f64::from(k) / 5.0).sum::<f64>()
        / weights.iter().sum::<f64>();
    assert!((rate.mean() - mean).abs() < 1e-12);
    assert!((rate.cdf(rate.quantile(0.3)) - 0.3).abs() < 1e-9);
    assert!(rate.variance() > rate.records_variance());
    // With many records and little noise the noise is negligible, and the grid of counts is as good as all of them.
    let large = Rate::new(
        FLAT,
        1e6,
        300_000.0,
        NoiseDistribution::Laplace { scale: 10.0 },
        NoiseTreatment::NoiseAware,
    );
    let plain = Beta { a: 300_001.0, b: 700_001.0 };
    assert!(
        (large.mean() - plain.mean()).abs() < 1e-8
            && (large.variance() / plain.variance() - 1.0).abs() < 2e-3
    );
    // Without privacy it is the conjugate posterior.
    let exact = Rate::new(FLAT, 10.0, 4.0, NoiseDistribution::None, NoiseTreatment::NoiseAware);
    assert!((exact.mean() - 5.0 / 12.0).abs() < 1e-15 && exact.variance() == exact.records_variance());
}

/// Probabilities of twenty categories drawn from their prior: intervals of 95 % should cover 95 %, for every epsilon.
#[test]
fn noise_aware_shares_cover() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let (levels, n, sets) = (20, 500, 60);
    for epsilon in [0.1, 1.0, 10.0] {
        let mut covered = 0.0;
        for set in 0..sets {
            let truth = dirichlet((0..levels).map(|_| 1.0), &mut rng);
            let mut counts = vec![0.0; levels];
            for _ in 0..n {
                let mut u: f64 = rng.random();
                let level = truth
                    .iter()
                    .position(|p| {
                        u -= p;
                        u < 0.0
                    })
                    .unwrap_or(levels - 1);
                counts[level] += 1.0;
            }
            let scale = 2.0 / epsilon;
            let noisy: Vec<f64> = counts.iter().map(|n| n + laplace(scale, &mut rng)).collect();
            let concentration = vec![1.0; levels];
            let behind = NoisyCounts {
                noisy: &noisy,
                noise: NoiseDistribution::Laplace { scale },
                concentration: &concentration,
                total: Total::Known(n as f64),
            };
            let shares = Shares::new(&behind, NoiseTreatment::NoiseAware, set);
            for (k, &truth) in truth.iter().enumerate() {
                covered += covers((shares.quantile(k, 0.025), shares.quantile(k, 0.975)), truth)
                    / (levels as u64 * sets) as f64;
            }
        }
        // Levels of a set are nearly independent: 1200 of them have a standard error of 0.0063.
        assert!(covered > 0.93 - 3.0 * 0.0063 && covered < 0.98, "{epsilon}: {covered}");
    }
}

fn laplace(scale: f64, rng: &mut impl Rng) -> f64 {
    let u: f64 = rng.random::<f64>() - 0.5;
    -scale * u.signum() * (1.0 - 2.0 * u.abs()).ln()
}

/// A mean near a bound, where numbers are clipped: the posterior accounts for it.
#[test]
fn noise_aware_means_cover() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for (epsilon, truth) in [(0.1, 0.2), (1.0, 0.2), (10.0, 0.2), (10.0, 0.8)] {
        let n = 200;
        let plan = MeanPlan::new((-1.0, 1.0), 0.4, (0.0, 1.0), n, &pure(epsilon)).unwrap();
        let mut covered = 0.0;
        for seed in 0..SETS {
            let values = (0..n).map(|_| truth + 0.4 * rng.sample::<f64, _>(StandardNormal)).collect();
            let records = Records::new(values, 1).unwrap();
            let source = NoiseSource::insecure_from_seed(seed);
            let (mean, _) = plan.fit(records, source, Some(&pure(epsilon)), Box::new(Unlimited)).unwrap();
            covered += covers((mean.quantile(0.025), mean.quantile(0.975)), truth) / SETS as f64;
        }
        assert!(covered > MIN, "{epsilon} {truth}: {covered}");
    }
}

/// Means, standard deviations and rates of counts that are sometimes clipped, with Laplace and with Gaussian noise.
#[test]
fn noise_aware_moments_and_counts_cover() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let (sets, n) = (100, 300);
    let prior = NormalPrior { mean: 0.0, strength: 0.1, shape: 1.5, scale: 0.1 };
    for privacy in [pure(1.0), Privacy::new(1.0, 1e-4, Adjacency::ReplaceOne).unwrap()] {
        let plan = NormalPlan::new(1, prior, n, &privacy).unwrap();
        let counts = PoissonPlan::new(1, 6, Gamma { shape: 1.0, rate: 0.1 }, n, &privacy).unwrap();
        let mut covered = [0.0; 3];
        for seed in 0..sets {
            let values = (0..n).map(|_| 0.3 + 0.5 * rng.sample::<f64, _>(StandardNormal)).collect();
            let records = Records::new(values, 1).unwrap();
            let source = || NoiseSource::insecure_from_seed(seed);
            let (columns, _) = plan.fit(records, source(), Some(&privacy), Box::new(Unlimited)).unwrap();
            for (k, (draws, truth)) in
                [(columns[0].means(), 0.3), (columns[0].variances(), 0.25)].into_iter().enumerate()
            {
                let mut sorted = draws.to_vec();
                sorted.sort_by(f64::total_cmp);
                covered[k] += covers((sorted[24], sorted[975]), truth) / sets as f64;
            }
            let poisson = rand_distr::Poisson::new(3.0).unwrap();
            let values = (0..n).map(|_| poisson.sample(&mut rng)).collect();
            let records = Records::new(values, 1).unwrap();
            let (rates, _) = counts.fit(records, source(), Some(&privacy), Box::new(Unlimited)).unwrap();
            covered[2] += covers((rates[0].quantile(0.025), rates[0].quantile(0.975)), 3.0) / sets as f64;
        }
        // 100 sets: a standard error of 0.022.
        assert!(covered.iter().all(|&c| c > 0.93 - 3.0 * 0.022), "{covered:?}");
    }
}

/// Two columns that depend on the class and one that does not, with little noise: as good as counting.
#[test]
fn naive_bayes_is_the_ratio_of_counts() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let n = 20_000;
    let mut values = Vec::new();
    for _ in 0..n {
        let class = rng.random::<f64>() < 0.3;
        let level = if rng.random::<f64>() < 0.7 { usize::from(class) } else { 2 };
        let mut row = [0.0; 5];
        row[level] = 1.0;
        row[3] = if class { rng.random_range(0.0..1.0) } else { rng.random_range(-1.0..1.0) };
        row[4] = if class { 1.0 } else { -1.0 };
        values.extend(row);
    }
    let privacy = Privacy::new(5.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let plan = NaiveBayesPlan::new(vec![3, 1], 4, 1.0, n, &privacy).unwrap();
    for (privacy, source) in
        [(Some(&privacy), NoiseSource::insecure_from_seed(1)), (None, NoiseSource::insecure_from_seed(1))]
    {
        let records = Records::new(values.clone(), 5).unwrap();
        let (posterior, _) = plan.fit(records, source, privacy, Box::new(Unlimited)).unwrap();
        // A third level, which both classes have equally often, and a number above 0, which is half as likely in the first class.
        let (probability, records, all) = posterior.predict(&[0.0, 0.0, 1.0, 0.6]);
        assert!((probability - 0.6 / 1.3).abs() < 0.03, "{probability}");
        assert!(all >= records);
        // The first level is that of the first class.
        assert!(posterior.predict(&[1.0, 0.0, 0.0, -0.5]).0 < 1e-2);
    }
    // Under add/remove the number of records is a guess, and the posterior does not depend on it.
    let privacy = Privacy::new(5.0, 1e-6, Adjacency::AddRemove).unwrap();
    let plan = NaiveBayesPlan::new(vec![3, 1], 4, 1.0, 100, &privacy).unwrap();
    let records = Records::new(values, 5).unwrap();
    let source = NoiseSource::insecure_from_seed(1);
    let (posterior, _) = plan.fit(records, source, Some(&privacy), Box::new(Unlimited)).unwrap();
    let (probability, ..) = posterior.predict(&[0.0, 0.0, 1.0, 0.6]);
    assert!((probability - 0.6 / 1.3).abs() < 0.03, "{probability}");
}
