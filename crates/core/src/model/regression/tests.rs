use super::features::{Refinement, sin_cos};
use super::query::{Moments, ResidualFeatures};
use super::*;
use crate::budget::{Adjacency, Privacy, Unlimited};
use crate::math::matrix;
use crate::math::vector::dot;
use crate::model::{DefinitionError, FitError};
use crate::wall::{NoiseSource, Query, Records, Released};
use proptest::prelude::*;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

fn privacy(epsilon: f64) -> Privacy {
    Privacy::new(epsilon, 1e-5, Adjacency::ReplaceOne).expect("numbers")
}

fn source() -> NoiseSource {
    NoiseSource::from_os().expect("the system has random bits")
}

/// Two inputs, one of which varies a hundred times less, and a target that is nonlinear in the first.
fn values(records: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..records)
        .flat_map(|_| {
            let (a, b) = (rng.random_range(-0.9..0.9), 0.008 * normal(&mut rng));
            let target = 0.4 * (4.0 * a + 0.5f64).sin() + 12.0 * b + 0.05 * normal(&mut rng);
            [a, 0.3 * a + b, target]
        })
        .collect()
}

fn features_of(plan: &mut RegressionPlan) -> &mut FeaturesPlan {
    match &mut plan.refinement {
        Some(RefinementPlan::Features(features)) => features,
        _ => panic!("a plan with features"),
    }
}

fn root_mean_square(posterior: &RegressionPosterior, values: &[f64]) -> f64 {
    let squares = values.chunks_exact(3).map(|row| (posterior.predict(&row[..2]).mean - row[2]).powi(2));
    (squares.sum::<f64>() / (values.len() / 3) as f64).sqrt()
}

/// A frame as rounds may leave it, from arbitrary released values.
fn frame_after(d: usize, released: &[f64]) -> Frame {
    let values = released[..crate::math::symmetric::width(d + 2)].to_vec();
    let noise_sd = vec![0.01; values.len()].into();
    let guarantee = crate::budget::Guarantee::None(crate::budget::NotPrivate::NoNoise);
    let released = Released { values, noise_sd, expected_batch: 1.0, step: 1, guarantee };
    let frame = Frame::new(d);
    let radius = frame.radius(1.0);
    let (mut frame, observed, _) = frame.observe(&released, radius, 1.0).expect("finite moments");
    coefficients::infer(&mut frame, &[observed], &[], 1.0).expect("a proper posterior");
    frame
}

proptest! {
    /// Whatever was released before and whatever a record is, its contribution has a norm of at most 1 before the
    /// wall clips it: the clip of the wall then changes nothing.
    #[test]
    fn contributions_are_within_the_ball(
        released in prop::collection::vec(-2.0..2.0f64, 15),
        record in prop::collection::vec(prop_oneof![-1.0..1.0f64, -1e9..1e9f64], 4),
        weights in prop::collection::vec(-10.0..10.0f64, 14),
    ) {
        let frame = frame_after(3, &released);
        let moments = Moments { frame: &frame, radius: frame.radius(1.0) };
        let mut features = Features::new(&frame, 7, 0.4, 1);
        features.weights.copy_from_slice(&weights);
        let products = ResidualFeatures { frame: &frame, features: &features, clip: 0.3 };
        let norm = |query: &dyn Fn(&mut [f64]), width: usize| {
            let mut out = vec![0.0; width];
            query(&mut out);
            dot(&out, &out).sqrt()
        };
        prop_assert!(norm(&|out| moments.contribute(&record, out), moments.width()) <= 1.0 + 1e-12);
        prop_assert!(norm(&|out| products.contribute(&record, out), products.width()) <= 1.0 + 1e-12);
    }

    #[test]
    fn sines_and_cosines_are_those_of_the_library(x in -1e5..1e5f64) {
        let (s, c) = sin_cos(x);
        // A unit in the last place of the angle is 1.5e-11 at 1e5, and reducing it loses no more than that.
        let error = 4.0 * f64::EPSILON * (1.0 + x.abs());
        prop_assert!((s - x.sin()).abs() <= error && (c - x.cos()).abs() <= error, "{x}");
    }
}

/// Features have norm 1, and over Gaussian inputs the moments that the refinement assumes: against a Monte Carlo mean
/// of 40,000, whose elements have standard deviations below 0.005 / m.
#[test]
fn moments_of_features_are_those_of_gaussian_inputs() {
    let (d, count, draws) = (3, 6, 40_000);
    let mut frame = Frame::new(d);
    frame.spread = vec![1.0, 0.5, 0.1];
    let features = Features::new(&frame, count, 0.4, 3);
    let refinement = Refinement::new(&frame, &features, 1.0, 1.0);
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut mean = vec![0.0; 4 * count * count];
    for _ in 0..draws {
        let z: Vec<f64> = frame.spread.iter().map(|v| v.sqrt() * normal(&mut rng)).collect();
        let phi = features.of(&z);
        assert!((dot(&phi, &phi) - 1.0).abs() < 1e-12);
        for (k, mean) in mean.iter_mut().enumerate() {
            *mean += phi[k / (2 * count)] * phi[k % (2 * count)] / f64::from(draws);
        }
    }
    for (k, mean) in mean.iter().enumerate() {
        let (i, j) = (k / (2 * count), k % (2 * count));
        let expected = match (i < count, j < count) {
            (true, true) => refinement.gram(0)[i * count + j],
            (false, false) => refinement.gram(1)[(i - count) * count + j - count],
            _ => 0.0,
        };
        assert!((mean - expected).abs() < 5.0 * 0.005 / count as f64, "{i} {j}");
    }
}

/// After one release $b = Gw + e$, mean and variance are those of $p(w \mid b)$ by conditioning the joint Gaussian of $w$ and $b$: with
/// $B = \tau^2 G^2 + s^2 G + \nu I$, the covariance of $b$, they are $\tau^2 G B^{-1} b$ and $\tau^2 I - \tau^4 G B^{-1} G$.
#[test]
fn the_posterior_of_features_includes_the_noise() {
    let count = 5;
    let mut frame = Frame::new(2);
    frame.residual_variance = 0.3;
    let mut features = Features::new(&frame, count, 0.4, 5);
    let mut refinement = Refinement::new(&frame, &features, 200.0, 1.0);
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let b: Vec<f64> = (0..2 * count).map(|_| 20.0 * normal(&mut rng)).collect();
    let (weight_variance, noise, variance) = (0.15, 0.15, 7.0);
    refinement.step(&mut features, &b, variance, 1.0);
    let summary = refinement.finish(&mut features, 200.0, 7);
    let mut left = 0.0;
    for block in 0..2 {
        let g = refinement.gram(block);
        let square = matrix::multiply(g, g, count);
        let total: Vec<f64> = (0..count * count)
            .map(|k| {
                weight_variance * square[k] + noise * g[k] + if k % (count + 1) == 0 { variance } else { 0.0 }
            })
            .collect();
        let gain = matrix::multiply(g, &matrix::general_inverse(&total, count).expect("regular"), count);
        let mut mean = vec![0.0; count];
        matrix::times(&gain, count, &b[block * count..][..count], &mut mean);
        for (found, mean) in features.weights[block * count..][..count].iter().zip(&mean) {
            assert!((found - weight_variance * mean).abs() < 1e-9, "{found} {mean}");
        }
        let taken = matrix::multiply(&gain, g, count);
        for k in 0..count * count {
            let prior = if k % (count + 1) == 0 { weight_variance } else { 0.0 };
            left += g[k] * (prior - weight_variance * weight_variance * taken[k]) / 200.0;
        }
    }
    assert!((summary.variance - left).abs() < 1e-9, "{} {left}", summary.variance);
    // A sum of squares of 100 draws: to five standard deviations.
    let phi = features.of(&[0.3, -0.2]);
    let mut many = features.clone();
    let mean: f64 = (0..200)
        .map(|seed| {
            refinement.finish(&mut many, 200.0, seed);
            many.variance(&phi) / 200.0
        })
        .sum();
    assert!((features.variance(&phi) / mean - 1.0).abs() < 5.0 * (2.0f64 / 100.0).sqrt());
}

/// Without noise and clipping the rounds are least squares.
#[test]
fn rounds_without_noise_are_least_squares() {
    let n = 500;
    let values = values(n, 1);
    let mut plan = RegressionPlan::linear(2, n, &privacy(1.0)).expect("a plan");
    plan.rounds.iter_mut().for_each(|round| round.radius_factor = 1e6);
    let records = Records::new(values.clone(), 3).expect("whole rows");
    let (posterior, receipt) =
        plan.fit_without_privacy(records, source(), Box::new(Unlimited)).expect("a fit");
    assert!(receipt.guarantee.cost().is_none());
    let (mut gram, mut cross) = (vec![0.0; 9], vec![0.0; 3]);
    for row in values.chunks_exact(3) {
        let x = [1.0, row[0].clamp(-1.0, 1.0), row[1].clamp(-1.0, 1.0)];
        (0..9).for_each(|k| gram[k] += x[k / 3] * x[k % 3]);
        (0..3).for_each(|k| cross[k] += x[k] * row[2].clamp(-1.0, 1.0));
    }
    let mut solution = vec![0.0; 3];
    matrix::times(&matrix::symmetric_inverse(&gram, 3).expect("regular"), 3, &cross, &mut solution);
    for x in [[0.0, 0.0], [0.5, 0.1], [-0.3, -0.1]] {
        let expected = solution[0] + solution[1] * x[0] + solution[2] * x[1];
        assert!((posterior.predict(&x).mean - expected).abs() < 1e-6);
    }
}

/// At epsilon 1 a private fit finds the direction of small variance and the nonlinearity, and has intervals that
/// cover. The margins are wide: the error from the noise in the target alone is 0.05, without features it would be
/// 0.27, and coverage of 4,000 has a standard deviation of 0.0035.
#[test]
fn a_private_fit_is_close_within_its_stated_error() {
    let n = 20_000;
    let privacy = privacy(1.0);
    let plan = RegressionPlan::new(2, n, &privacy).expect("a plan");
    assert!(plan.price().expect("a price").epsilon.upper <= 1.0);
    let records = Records::new(values(n, 2), 3).expect("whole rows");
    let (posterior, receipt) = plan.fit(records, source(), &privacy, Box::new(Unlimited)).expect("a fit");
    assert!(receipt.guarantee.cost().is_some_and(|cost| cost.epsilon.upper <= 1.0));
    let test = values(4000, 3);
    let error = root_mean_square(&posterior, &test);
    assert!(posterior.is_refined() && error < 0.1, "{error}");
    let covered = test.chunks_exact(3).filter(|row| {
        let prediction = posterior.predict(&row[..2]);
        (posterior.quantile(&prediction, 0.025)..=posterior.quantile(&prediction, 0.975)).contains(&row[2])
    });
    let covered = covered.count() as f64 / 4000.0;
    assert!((0.92..0.98).contains(&covered), "{covered}");
}

/// With a hundred thousand times the noise nothing of the records is left: predictions are no better than the centre of the
/// bounds. Slopes are noise of the size of the prior variance over the noise, so that they are nearly 0.
#[test]
fn noise_destroys_the_model() {
    let n = 2000;
    let mut plan = RegressionPlan::new(2, n, &privacy(1.0)).expect("a plan");
    plan.rounds.iter_mut().for_each(|round| round.noise_multiplier *= 1e5);
    let features = features_of(&mut plan);
    features.noise_multiplier *= 1e5;
    features.check_noise_multiplier *= 1e5;
    let test = values(2000, 5);
    let middle = (test.chunks_exact(3).map(|row| row[2] * row[2]).sum::<f64>() / 2000.0).sqrt();
    for _ in 0..3 {
        let records = Records::new(values(n, 4), 3).expect("whole rows");
        let (posterior, _) = plan.fit(records, source(), &privacy(1.0), Box::new(Unlimited)).expect("a fit");
        let error = root_mean_square(&posterior, &test);
        assert!(error > 0.9 * middle, "{error} {middle}");
    }
}

/// Steps that are much too long diverge. The comparison detects it, and the linear prediction is kept: otherwise a
/// sum over 10,000 records would have to get the wrong sign.
#[test]
fn features_that_do_not_help_are_dropped() {
    let n = 10_000;
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let values: Vec<f64> = (0..n)
        .flat_map(|_| {
            let x: f64 = rng.random_range(-1.0..1.0);
            [x, 0.5 * x + 0.1 * normal(&mut rng)]
        })
        .collect();
    let mut plan = RegressionPlan::new(1, n, &privacy(1.0)).expect("a plan");
    features_of(&mut plan).inflation = 0.01;
    let records = Records::new(values, 2).expect("whole rows");
    let (posterior, _) = plan.fit(records, source(), &privacy(1.0), Box::new(Unlimited)).expect("a fit");
    assert!(!posterior.is_refined());
    assert!((posterior.predict(&[0.5]).mean - 0.25).abs() < 0.05);
}

#[test]
fn plans_are_public_and_survive_a_file() {
    let plan = RegressionPlan::new(4, 8000, &privacy(1.0)).expect("a plan");
    let text = serde_json::to_string(&plan).expect("a plan is data");
    assert_eq!(serde_json::from_str::<RegressionPlan>(&text).expect("the same"), plan);
    // Few records are not enough for features.
    assert!(plan.refinement.is_some());
    assert!(RegressionPlan::new(11, 500, &privacy(1.0)).expect("a plan").refinement.is_none());
    assert!(matches!(
        RegressionPlan::new(0, 500, &privacy(1.0)),
        Err(FitError::Definition(DefinitionError::Regression))
    ));
    let mut broken = plan;
    broken.rounds[0].radius_factor = -1.0;
    assert!(matches!(broken.price(), Err(FitError::Plan(_))));
}

/// A network fits the nonlinearity too, by DP-SEP. Without it the error would be 0.27.
#[test]
fn a_private_network_bends() {
    let n = 20_000;
    let privacy = privacy(1.0);
    let plan = RegressionPlan::network(2, &[20], n, &privacy).expect("a plan");
    assert!(plan.price().expect("a price").epsilon.upper <= 1.0);
    let text = serde_json::to_string(&plan).expect("a plan is data");
    assert_eq!(serde_json::from_str::<RegressionPlan>(&text).expect("the same"), plan);
    let records = Records::new(values(n, 2), 3).expect("whole rows");
    let (posterior, _) = plan.fit(records, source(), &privacy, Box::new(Unlimited)).expect("a fit");
    let error = root_mean_square(&posterior, &values(4000, 3));
    assert!(posterior.is_refined() && error < 0.18, "{error}");
    let text = serde_json::to_string(&posterior).expect("a posterior is data");
    assert_eq!(serde_json::from_str::<RegressionPosterior>(&text).expect("the same"), posterior);
}

#[test]
fn broken_plans_of_networks_are_refused() {
    let plan = RegressionPlan::network(2, &[20], 1000, &privacy(1.0)).expect("a plan");
    let broken = |change: &dyn Fn(&mut NetworkPlan)| {
        let mut plan = plan.clone();
        if let Some(RefinementPlan::Network(network)) = &mut plan.refinement {
            change(network);
        }
        matches!(plan.price(), Err(FitError::Plan(_)))
    };
    assert!(broken(&|plan| plan.hidden = vec![0]));
    assert!(broken(&|plan| plan.damping = -0.1));
    assert!(broken(&|plan| plan.floor = 0.0));
    assert!(broken(&|plan| plan.start_precision = f64::NAN));
    assert!(!broken(&|_| ()));
}

/// Few records, and inputs far from the centre of their bounds: no fit may be far worse than the mean of the targets,
/// whatever the noise. The noise leaves slopes an error of about 0.1 of the standard deviation of the target for each
/// of ten inputs, which adds about 5 % to it.
#[test]
fn all_fits_are_near_the_truth() {
    let (n, d) = (1400, 10);
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let mut row = || {
        let mut row: Vec<f64> = (0..d).map(|_| -0.8 + 0.1 * normal(&mut rng)).collect();
        row.push(row[0] - row[1] + 0.3 * normal(&mut rng));
        row
    };
    let values: Vec<f64> = (0..n).flat_map(|_| row()).collect();
    let test: Vec<Vec<f64>> = (0..400).map(|_| row()).collect();
    let plan = RegressionPlan::linear(d, n, &privacy(1.0)).expect("a plan");
    for _ in 0..60 {
        let records = Records::new(values.clone(), d + 1).expect("whole rows");
        let (posterior, _) = plan.fit(records, source(), &privacy(1.0), Box::new(Unlimited)).expect("a fit");
        let errors = test.iter().map(|row| (posterior.predict(&row[..d]).mean - row[d]).powi(2));
        let error = (errors.sum::<f64>() / 400.0).sqrt();
        assert!(error < 1.5 * 0.33, "{error}");
    }
}

/// Few records under much noise: impossible moments are projected, and counted in the receipt.
#[test]
fn projections_are_counted() {
    let privacy = privacy(0.1);
    let plan = RegressionPlan::linear(2, 100, &privacy).expect("a plan");
    let moved = (0..20).map(|_| {
        let records = Records::new(values(100, 1), 3).expect("whole rows");
        plan.fit(records, source(), &privacy, Box::new(Unlimited)).expect("a fit").1.projections
    });
    // Each of 60 rounds has an eigenvalue of pure noise, which is negative half of the time.
    assert!(moved.sum::<u64>() > 0);
}

/// A fit by passes over streamed rows is the same fit, to the last bit.
#[test]
fn a_streamed_fit_is_the_same() {
    let records = 3000;
    let privacy = Privacy::new(2.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let values: Vec<f64> = (0..records)
        .flat_map(|n| {
            let (x, z) = ((n as f64 * 0.7).sin(), (n as f64 * 1.1).cos());
            [x, z, (x * z + 0.3 * x).clamp(-1.0, 1.0)]
        })
        .collect();
    let rows = values.clone();
    let pass = move |_: Option<&[usize]>, each: &mut dyn FnMut(&[f64]) -> std::ops::ControlFlow<()>| {
        let _ = rows.chunks(3 * 77).try_for_each(each);
    };
    let streamed = Records::streamed(records, 3, Box::new(pass)).unwrap();
    let plan = RegressionPlan::new(2, records, &privacy).unwrap();
    let fit = |records| {
        let source = NoiseSource::insecure_from_seed(5);
        plan.fit(records, source, &privacy, Box::new(Unlimited)).unwrap()
    };
    assert_eq!(fit(streamed), fit(Records::new(values, 3).unwrap()));
}

/// Residuals that are not standard normal, in a histogram with the noise of a thirtieth of epsilon 1 and delta
/// $10^{-5}$: intervals by it cover 94 to 97 % on average of 50. Each has a standard deviation of about 0.009, so
/// that of the mean is 0.0013.
#[test]
fn quantiles_of_noisy_histograms_cover() {
    use super::residuals::{BINS, Residuals};
    let (n, noise) = (7000, 30.0);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut wide = |rng: &mut ChaCha8Rng| 1.33 * normal(rng);
    let mut narrow = |rng: &mut ChaCha8Rng| 0.8 * normal(rng);
    let heavy = rand_distr::StudentT::new(3.0f64).expect("degrees of freedom");
    let mut heavy = |rng: &mut ChaCha8Rng| heavy.sample(rng) / 3f64.sqrt();
    let distributions: [&mut dyn FnMut(&mut ChaCha8Rng) -> f64; 3] = [&mut wide, &mut narrow, &mut heavy];
    for (k, distribution) in distributions.into_iter().enumerate() {
        let mut covered = 0;
        for _ in 0..50 {
            let mut values = vec![0.0; BINS];
            for _ in 0..n {
                values[(((distribution(&mut rng) + 4.0) * 4.0) as usize).min(BINS - 1)] += 1.0;
            }
            values.iter_mut().for_each(|value| *value += noise * normal(&mut rng));
            let guarantee = crate::budget::Guarantee::None(crate::budget::NotPrivate::NoNoise);
            let released = Released {
                values,
                noise_sd: vec![noise; BINS].into(),
                expected_batch: n as f64,
                step: 1,
                guarantee,
            };
            let residuals = Residuals::from_histogram(&released, n as f64);
            let interval = residuals.quantile(0.025)..=residuals.quantile(0.975);
            covered += (0..1000).filter(|_| interval.contains(&distribution(&mut rng))).count();
        }
        let covered = covered as f64 / 50_000.0;
        assert!((0.935..0.975).contains(&covered), "law {k}: {covered}");
    }
}
