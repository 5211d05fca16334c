use super::query::pairs;
use super::*;
use crate::budget::{Adjacency, Unlimited};
use crate::engine::conjugate::{NoiseDistribution, NoiseTreatment, StatisticsPlan};
use crate::model::conjugate::{ConjugatePlan as _, NormalPlan, NormalPrior};
use crate::model::multivariate_normal::chain::{Chain, Noisy};
use crate::wall::{NoiseSource, Query, Records};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::SQRT_2;

const PRIOR: WishartPrior = WishartPrior { strength: 0.1, freedom: 4.0, scale: 0.2 };

fn privacy(epsilon: f64, delta: f64) -> Privacy {
    Privacy::new(epsilon, delta, Adjacency::ReplaceOne).unwrap()
}

/// All records of one to three numbers on a grid: the norms of contributions attain the planned sensitivity, at a
/// corner, and never exceed it.
#[test]
fn products_reach_and_never_exceed_their_radius() {
    for columns in 1..=3 {
        for laplace in [true, false] {
            let mut plan = MultivariatePlan::new(columns, PRIOR, 10, &privacy(1.0, 0.0)).unwrap();
            plan.statistics.laplace = laplace;
            let query = plan.query();
            let mut farthest = 0.0_f64;
            for k in 0..21usize.pow(columns as u32) {
                let record: Vec<f64> =
                    (0..columns).map(|d| (k / 21usize.pow(d as u32) % 21) as f64 / 10.0 - 1.0).collect();
                let mut out = vec![0.0; query.width()];
                query.contribute(&record, &mut out);
                let norm: f64 = out.iter().map(|x| if laplace { x.abs() } else { x * x }).sum();
                // The norm of an outer product is the square of that of its vector.
                let root = !laplace && plan.statistics.outer.is_none();
                farthest = farthest.max(if root { norm.sqrt() } else { norm });
            }
            let sensitivity = plan.statistics.sensitivity;
            let l2 = plan.statistics.outer.unwrap_or(sensitivity.l2);
            let radius = if laplace { sensitivity.l1 } else { l2 };
            assert!((farthest / radius - 1.0).abs() < 1e-12, "{columns} {laplace}: {farthest} {radius}");
        }
    }
}

/// The sensitivity of outer products is never less than the largest distance of statistics between corners of the cube, which bounds all distances,
/// and less than twice the largest norm, by as much as that allows: at 12 columns, 17.68 where corners reach 17.66 and twice the norm is 24.
#[test]
fn outer_products_are_released_where_they_are_nearer() {
    let budget = privacy(1.0, 1e-5);
    for columns in 2..=12 {
        let prior = WishartPrior { freedom: 15.0, ..PRIOR };
        let plan = MultivariatePlan::new(columns, prior, 100, &budget).unwrap();
        let statistics = StatisticsPlan { laplace: false, ..plan.statistics };
        let sensitivity = statistics.noise_sd() / statistics.noise_multiplier;
        let corners =
            (0..=columns).map(|k| ((4 * k + 8 * k * (columns - k)) as f64).sqrt()).fold(0.0, f64::max);
        assert!(
            sensitivity >= corners && sensitivity < 2.0 * columns as f64,
            "{columns}: {sensitivity} {corners}"
        );
        assert!(columns < 12 || (sensitivity - 12.5 * SQRT_2).abs() < 1e-9, "{sensitivity}");
    }
}

/// Means, covariances, records and noise from their joint distribution: a few sweeps of the chain leave it invariant.
/// Differences are within five standard errors of 3000 sets, and almost every number moves.
#[test]
fn rounds_leave_the_posterior_as_it_is() {
    let (columns, n, sets) = (2, 30.0, 3000);
    let prior = WishartPrior { strength: 4.0, freedom: 12.0, scale: 1.0 };
    for (laplace, sd) in [(false, 2.0), (true, 2.0), (false, 40.0), (true, 40.0)] {
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let (mut sums, mut squares) = ([0.0; 6], [0.0; 6]);
        for _ in 0..sets {
            let none = Noisy { sums: vec![0.0; 5], sds: vec![1.0; 5], laplace };
            let mut at = Chain::new(columns, prior, 0.0, none).conjugate(&[0.0; 5], &mut rng).unwrap();
            let mut t = vec![0.0; 5];
            for _ in 0..n as usize {
                let z: [f64; 2] = [(); 2].map(|()| StandardNormal.sample(&mut rng));
                let mut x = [0.0; 3];
                crate::math::matrix::times_factor(&at.factor, 2, &z, &mut x);
                (0..2).for_each(|k| x[k] += at.mean[k]);
                x[2] = 1.0;
                t.iter_mut().zip(pairs(2)).for_each(|(t, (i, j))| *t += x[i] * x[j]);
            }
            let noisy = t.iter().map(|t| t + sd * noise(laplace, &mut rng)).collect();
            let chain = Chain::new(columns, prior, n, Noisy { sums: noisy, sds: vec![sd; 5], laplace });
            let before = numbers(&at.mean, &at.covariance(), &t);
            for _ in 0..4 {
                chain.round(&mut at, &mut t, &[0.5; 5], &mut rng);
            }
            let after = numbers(&at.mean, &at.covariance(), &t);
            for k in 0..6 {
                sums[k] += after[k] - before[k];
                squares[k] += (after[k] - before[k]).powi(2);
            }
        }
        for k in 0..6 {
            let (mean, error) = (sums[k] / f64::from(sets), squares[k].sqrt() / f64::from(sets));
            assert!(mean.abs() < 5.0 * error && error > 0.0, "{laplace} {sd} {k}: {mean} {error}");
        }
    }
}

/// The compared quantities: a mean, its square, a log variance, a covariance, and two of the sums.
fn numbers(mean: &[f64], covariance: &[f64], t: &[f64]) -> [f64; 6] {
    [mean[0], mean[1] * mean[1], covariance[0].ln(), covariance[1], t[1], t[3].ln()]
}

/// Noise of standard deviation 1.
fn noise(laplace: bool, rng: &mut impl Rng) -> f64 {
    if !laplace {
        return StandardNormal.sample(rng);
    }
    let u: f64 = rng.random::<f64>() - 0.5;
    -u.signum() * (-2.0 * u.abs()).ln_1p() / SQRT_2
}

/// One column is the model of [`NormalPlan`], which marginalises the true sums by the central limit theorem: the same
/// mean, standard deviation and variance. A thousand draws with an effective sample size of a quarter have a Monte
/// Carlo error of 0.063 standard deviations, and so have both: 0.35 is four errors.
#[test]
fn one_column_is_the_normal_model() {
    let (n, mean, sd) = (2000, 0.2, 0.2);
    let prior = WishartPrior { strength: 0.1, freedom: 3.0, scale: 0.2 };
    let same = NormalPrior { mean: 0.0, strength: 0.1, shape: 1.5, scale: 0.1 };
    for privacy in [privacy(0.5, 0.0), privacy(0.5, 1e-5), privacy(10.0, 0.0)] {
        let plan = MultivariatePlan::new(1, prior, n, &privacy).unwrap();
        let normal = NormalPlan::new(1, same, n, &privacy).unwrap();
        assert_eq!(plan.statistics.laplace, normal.statistics.laplace);
        assert!((plan.statistics.expected_noise / normal.statistics.expected_noise - 1.0).abs() < 1e-9);
        let noise = NoiseDistribution::of(plan.statistics.laplace, plan.statistics.expected_noise);
        let (s, q) = (n as f64 * mean, n as f64 * (sd * sd + mean * mean));
        // Half a standard deviation of noise in one sum, and minus as much in the other; squares come before sums.
        let noisy = [s + 0.5 * noise.sd(), q - 0.5 * noise.sd()];
        let centre = plan.scaling((0, 0)).1;
        let found = plan.posterior(&[noisy[1] - n as f64 * centre, noisy[0]], noise, 1);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let expected = normal.column(noisy, noise, &mut rng);
        let moments = |draws: &[f64]| {
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / draws.len() as f64;
            (mean, variance.sqrt())
        };
        let means: Vec<f64> = found.means().map(|mean| mean[0]).collect();
        let log_variances: Vec<f64> = found.covariances().map(|c| c[0].ln()).collect();
        let logs: Vec<f64> = expected.variances().iter().map(|x| x.ln()).collect();
        for (found, expected) in [(means, expected.means().to_vec()), (log_variances, logs)] {
            let ((m, s), (m_other, s_other)) = (moments(&found), moments(&expected));
            assert!((m - m_other).abs() < 0.35 * s_other, "{privacy:?}: {m} {m_other} {s_other}");
            assert!((s / s_other).ln().abs() < 0.3, "{privacy:?}: {s} {s_other}");
        }
    }
}

/// Means and covariances of two columns drawn from the prior, through the wall, with Laplace and with Gaussian noise:
/// intervals of 95 % cover 95 % of means, variances and covariances, however large the noise. 60 sets have a standard
/// error of 0.028. The naive posterior has intervals that ignore the noise, which is several times as wide.
#[test]
fn noise_aware_covariances_cover() {
    let (n, sets) = (1000, 60);
    // Standard deviations of 0.2, and means within 0.1: no number is near the bounds.
    let prior = WishartPrior { strength: 4.0, freedom: 12.0, scale: 0.36 };
    for privacy in [privacy(0.3, 0.0), privacy(0.3, 1e-5), privacy(5.0, 0.0)] {
        let plan = MultivariatePlan::new(2, prior, n, &privacy).unwrap();
        let naive = MultivariatePlan { noise_treatment: NoiseTreatment::Naive, ..plan.clone() };
        let (mut covered, mut naively) = ([0.0; 4], 0.0);
        for seed in 0..sets {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let none = Noisy { sums: vec![0.0; 5], sds: vec![1.0; 5], laplace: false };
            let truth = Chain::new(2, prior, 0.0, none).conjugate(&[0.0; 5], &mut rng).unwrap();
            let sigma = truth.covariance();
            let mut row = |_| {
                let z: [f64; 2] = [(); 2].map(|()| StandardNormal.sample(&mut rng));
                let mut x = [0.0; 2];
                crate::math::matrix::times_factor(&truth.factor, 2, &z, &mut x);
                [x[0] + truth.mean[0], x[1] + truth.mean[1]]
            };
            let values: Vec<f64> = (0..n).flat_map(&mut row).collect();
            let fit = |plan: &MultivariatePlan| {
                let records = Records::new(values.clone(), 2).unwrap();
                let source = NoiseSource::insecure_from_seed(seed);
                plan.fit(records, source, Some(&privacy), Box::new(Unlimited)).unwrap().0
            };
            let (found, plain) = (fit(&plan), fit(&naive));
            let mut draws: Vec<Vec<f64>> = (0..2).map(|k| found.means().map(|m| m[k]).collect()).collect();
            draws.extend([0, 1].map(|k| found.covariances().map(|c| c[k]).collect()));
            for (k, truth) in [truth.mean[0], truth.mean[1], sigma[0], sigma[1]].into_iter().enumerate() {
                covered[k] += covers(&mut draws[k], truth) / sets as f64;
            }
            let mut means: Vec<f64> = plain.means().map(|mean| mean[0]).collect();
            naively += covers(&mut means, truth.mean[0]) / sets as f64;
        }
        assert!(covered.iter().all(|&c| c > 0.93 - 3.0 * 0.028), "{privacy:?}: {covered:?}");
        assert!(privacy.epsilon() > 1.0 || naively < 0.7, "{privacy:?}: {naively}");
    }
}

fn covers(draws: &mut [f64], truth: f64) -> f64 {
    draws.sort_by(f64::total_cmp);
    let tail = draws.len() / 40;
    f64::from(u8::from(draws[tail] <= truth && truth <= draws[draws.len() - 1 - tail]))
}

/// Without noise it is the conjugate posterior: its mean is $s/(\kappa + n)$, and that of the covariance
/// $\Psi'/(\nu' - D - 1)$. The Monte Carlo error of a thousand draws is a thirtieth of a standard deviation, which is
/// $\sqrt{2/n}$ relative to a covariance.
#[test]
fn without_noise_it_is_the_conjugate_posterior() {
    let n = 400;
    let values: Vec<f64> =
        (0..n).flat_map(|k| [(k as f64 * 0.7).sin() * 0.5, (k as f64 * 1.3).cos() * 0.4 + 0.1]).collect();
    let plan = MultivariatePlan::new(2, PRIOR, n, &privacy(1.0, 1e-5)).unwrap();
    let records = Records::new(values.clone(), 2).unwrap();
    let source = NoiseSource::insecure_from_seed(1);
    let (posterior, _) = plan.fit(records, source, None, Box::new(Unlimited)).unwrap();
    let sum = |k: usize| values.chunks(2).map(|x| x[k]).sum::<f64>();
    let product = |i: usize, j: usize| values.chunks(2).map(|x| x[i] * x[j]).sum::<f64>();
    let together = 0.1 + n as f64;
    for (k, (mean, records, all)) in posterior.mean().into_iter().enumerate() {
        assert!((mean - sum(k) / together).abs() < 5.0 * (all / 1000.0).sqrt(), "{mean}");
        assert!(records <= all);
    }
    let covariance = posterior.covariance();
    for (i, j) in [(0, 0), (0, 1), (1, 1)] {
        let scale = product(i, j) - sum(i) * sum(j) / together + if i == j { 0.2 } else { 0.0 };
        let expected = scale / (4.0 + n as f64 - 3.0);
        let size = (covariance[0] * covariance[3]).sqrt() * (2.0 / n as f64).sqrt();
        assert!((covariance[2 * i + j] - expected).abs() < 5.0 * size / 1000f64.sqrt(), "{i} {j}");
    }
    // Far from the data the density is low, and it integrates to 1 over a grid that contains almost all of it.
    let step = 0.04;
    let cells =
        (-100..100).flat_map(|i| (-100..100).map(move |j| [f64::from(i) * step, f64::from(j) * step]));
    let mass: f64 = cells.map(|x| posterior.log_density(&x).exp() * step * step).sum();
    assert!((mass - 1.0).abs() < 1e-3, "{mass}");
}

#[test]
fn what_has_no_covariance_is_refused() {
    let privacy = privacy(1.0, 1e-5);
    assert!(MultivariatePlan::new(13, WishartPrior { freedom: 15.0, ..PRIOR }, 1000, &privacy).is_err());
    assert!(MultivariatePlan::new(5, WishartPrior { freedom: 7.0, ..PRIOR }, 6, &privacy).is_err());
    assert!(MultivariatePlan::new(2, WishartPrior { freedom: 1.0, ..PRIOR }, 100, &privacy).is_err());
    let add = Privacy::new(1.0, 1e-5, Adjacency::AddRemove).unwrap();
    assert!(MultivariatePlan::new(2, PRIOR, 100, &add).is_err());
}
