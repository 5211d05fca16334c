//! The fit without privacy beside references that are computed here.

use super::*;
use crate::budget::{Adjacency, Privacy, Unlimited};
use crate::family::{Gamma, Moments};
use crate::math::matrix;
use crate::math::vector::{dot, log_sigmoid, sigmoid};
use crate::model::CoefficientPrior;
use crate::wall::{NoiseSource, Records};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// Records of columns with these numbers of levels (1: a number; 0: a boolean, which is -1 or 1) with normal weights of a standard deviation.
fn simulate(records: usize, columns: &[usize], sd: f64, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let size: usize = columns.iter().map(|levels| levels.max(&1)).sum();
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let weights: Vec<f64> = (0..size).map(|_| sd * normal()).collect();
    let mut values = Vec::new();
    for _ in 0..records {
        let mut row: Vec<f64> = Vec::new();
        for &levels in columns {
            match levels {
                0 => row.push(if rng.random() { 1.0 } else { -1.0 }),
                // Skewed, and correlated with what came before.
                1 => {
                    let before = row.last().copied().unwrap_or(0.0);
                    row.push((0.3 * before + rng.random_range(-1.0..0.6f64)).clamp(-1.0, 1.0));
                }
                _ => {
                    let level = (levels as f64 * rng.random::<f64>().powi(2)) as usize;
                    row.extend((0..levels).map(|k| f64::from(u8::from(k == level))));
                }
            }
        }
        let p = sigmoid(dot(&row, &weights) - 0.5);
        row.push(if rng.random::<f64>() < p { 1.0 } else { -1.0 });
        values.extend(row);
    }
    values
}

/// The mode of the log likelihood and a normal prior with a diagonal precision and a mean, by plain Newton steps that are halved until the log posterior
/// rises: the mode, its covariance, and the log likelihood there.
fn newton(values: &[f64], precision: &[f64], mean: &[f64]) -> (Moments, f64) {
    let n = precision.len();
    let likelihood = |w: &[f64]| -> f64 {
        let each = |row: &[f64]| log_sigmoid(row[n - 1] * (dot(&row[..n - 1], &w[..n - 1]) + w[n - 1]));
        values.chunks(n).map(each).sum()
    };
    let penalty = |w: &[f64]| -> f64 { (0..n).map(|k| 0.5 * precision[k] * (w[k] - mean[k]).powi(2)).sum() };
    let mut w = mean.to_vec();
    let mut covariance = Vec::new();
    for _ in 0..100 {
        let mut gradient: Vec<f64> = (0..n).map(|k| precision[k] * (mean[k] - w[k])).collect();
        let mut curvature = vec![0.0; n * n];
        (0..n).for_each(|k| curvature[k * (n + 1)] = precision[k]);
        for row in values.chunks(n) {
            let x: Vec<f64> = row[..n - 1].iter().copied().chain([1.0]).collect();
            let p = sigmoid(dot(&x, &w));
            for i in 0..n {
                gradient[i] += (0.5 * (row[n - 1] + 1.0) - p) * x[i];
                (0..n).for_each(|j| curvature[i * n + j] += p * (1.0 - p) * x[i] * x[j]);
            }
        }
        covariance = matrix::symmetric_inverse(&curvature, n).unwrap();
        let mut step = vec![0.0; n];
        matrix::times(&covariance, n, &gradient, &mut step);
        if dot(&step, &gradient) < 1e-14 {
            break;
        }
        let before = likelihood(&w) - penalty(&w);
        loop {
            let to: Vec<f64> = w.iter().zip(&step).map(|(w, step)| w + step).collect();
            if likelihood(&to) - penalty(&to) >= before - 1e-9 {
                w = to;
                break;
            }
            step.iter_mut().for_each(|step| *step *= 0.5);
        }
    }
    let found = likelihood(&w);
    (Moments { mean: w, covariance }, found)
}

/// The posterior for $w \sim N(0, \alpha^{-1}I)$ and a gamma prior of $\alpha$: an average over a grid of $\ln\alpha$, each weighted by Laplace's
/// approximation of its evidence.
fn hierarchical(values: &[f64], prior: Gamma, n: usize) -> (Vec<f64>, Vec<f64>) {
    let each: Vec<(f64, Moments)> = (-24..=16)
        .map(|k| {
            let log = 0.25 * f64::from(k);
            let alpha = log.exp();
            let (found, likelihood) = newton(values, &vec![alpha; n], &vec![0.0; n]);
            let mut l = vec![0.0; n * n];
            assert!(matrix::cholesky(&found.covariance, n, &mut l));
            let evidence = likelihood - 0.5 * alpha * dot(&found.mean, &found.mean)
                + 0.5 * n as f64 * log
                + 0.5 * matrix::log_determinant(&l, n);
            (evidence + prior.shape * log - prior.rate * alpha, found)
        })
        .collect();
    let top = each.iter().map(|(log, _)| *log).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = each.iter().map(|(log, _)| (log - top).exp()).sum();
    let average = |of: &dyn Fn(&Moments) -> f64| -> f64 {
        each.iter().map(|(log, found)| (log - top).exp() / total * of(found)).sum()
    };
    let mean: Vec<f64> = (0..n).map(|k| average(&|found| found.mean[k])).collect();
    let square =
        |k: usize| average(&|found| found.covariance[k * (n + 1)] + (found.mean[k] - mean[k]).powi(2));
    let sd = (0..n).map(|k| square(k).sqrt()).collect();
    (mean, sd)
}

fn openly(plan: &LogisticPlan, values: &[f64]) -> Moments {
    let records = Records::new(values.to_vec(), plan.size()).unwrap();
    plan.fit_openly(records, NoiseSource::insecure_from_seed(1)).unwrap().moments
}

/// Numbers, booleans and levels, with few weights and with many, of moderate size and large: within 5 % of a standard error of the posterior with
/// the prior of the plan, and standard deviations within 5 %. Weights of levels and the bias are only known together by a prior, so those
/// are compared by differences of levels, whose standard errors are those of coefficients.
#[test]
fn without_privacy_the_fit_is_the_posterior() {
    let cases: [(&[usize], usize, f64); 4] = [
        (&[1, 1, 0], 3000, 1.0),
        (&[1, 0, 3, 1, 5], 4000, 1.0),
        (&[1, 1, 4], 4000, 3.0),
        (&[12, 1, 9, 0, 1, 8], 8000, 0.7),
    ];
    for (columns, count, sd) in cases {
        let values = simulate(count, columns, sd, 3);
        let columns: Vec<usize> = columns.iter().map(|&levels| levels.max(1)).collect();
        let plan = LogisticPlan::new(&columns, count, 10.0, None).unwrap();
        let n = plan.size();
        let found = openly(&plan, &values);
        let (mean, deviation) = hierarchical(&values, plan.prior, n);
        for k in 0..n {
            let (gap, sd) = (found.mean[k] - mean[k], found.covariance[k * (n + 1)].sqrt());
            let relative = gap / deviation[k];
            assert!(relative.abs() < 0.05, "{columns:?}, {k}: {relative} standard errors");
            assert!((sd / deviation[k] - 1.0).abs() < 0.05, "{columns:?}, {k}: {sd} {}", deviation[k]);
        }
    }
}

/// Classes that inputs separate: the mode is found all the same, as more steps do not move it by a hundredth of a standard error.
#[test]
fn separable_classes_have_a_mode() {
    let mut values = simulate(300, &[1, 1, 3], 1.0, 5);
    values.chunks_mut(6).for_each(|row| row[5] = if row[0] + row[1] > -0.3 { 1.0 } else { -1.0 });
    let mut plan = LogisticPlan::new(&[1, 1, 3], 300, 100.0, None).unwrap();
    let found = openly(&plan, &values);
    plan.rounds.iter_mut().for_each(|round| round.steps = 400);
    let more = openly(&plan, &values);
    for k in 0..6 {
        let sd = more.covariance[7 * k].sqrt();
        assert!((found.mean[k] - more.mean[k]).abs() < 0.01 * sd, "{k}: {} {}", found.mean[k], more.mean[k]);
        assert!((found.covariance[7 * k].sqrt() / sd - 1.0).abs() < 0.01);
    }
    assert!(more.mean[0] > 5.0);
}

/// A stated prior of every weight leaves nothing to estimate about the prior: the fit is the mode of the penalised likelihood.
#[test]
fn stated_priors_penalise_the_likelihood() {
    let values = simulate(800, &[1, 0, 3], 1.0, 9);
    let mut plan = LogisticPlan::new(&[1, 1, 3], 800, 10.0, None).unwrap();
    // In units of which a weight is a multiple.
    let stated = [
        (1.0, 0.5, 0.1),
        (4.0, -1.0, 0.8),
        (1.0, 0.0, 0.3),
        (0.5, 2.0, 0.2),
        (1.0, 0.0, 2.0),
        (1.0, 0.3, 1.0),
    ];
    let one = |(k, &(factor, mean, sd)): (usize, &(f64, f64, f64))| CoefficientPrior {
        weights: vec![(k, factor)],
        mean,
        sd,
    };
    plan.priors = stated.iter().enumerate().map(one).collect();
    let found = openly(&plan, &values);
    let precision = stated.map(|(factor, _, sd)| (factor / sd).powi(2));
    let mean = stated.map(|(factor, mean, _)| mean / factor);
    let (reference, _) = newton(&values, &precision, &mean);
    for k in 0..6 {
        let sd = reference.covariance[7 * k].sqrt();
        assert!(
            (found.mean[k] - reference.mean[k]).abs() < 0.05 * sd,
            "{k}: {} {}",
            found.mean[k],
            reference.mean[k]
        );
        assert!((found.covariance[7 * k].sqrt() / sd - 1.0).abs() < 0.02, "{k}");
    }
}

/// With a large budget a stated prior that is narrow determines its coefficient, and one that is wide leaves it to the records; more weights than have
/// a curvature matrix, and coefficients that depend on each other, cannot have one.
#[test]
fn stated_priors_are_used_with_privacy() {
    let privacy = Privacy::new(8.0, 1e-5, Adjacency::ReplaceOne).unwrap();
    let columns = [1; 4];
    let values = simulate(6000, &columns, 1.0, 13);
    let one = |k: usize, mean: f64, sd: f64| CoefficientPrior { weights: vec![(k, 2.0)], mean, sd };
    let fit = |priors: Vec<CoefficientPrior>| {
        let plan = LogisticPlan::with_priors(&columns, 6000, 1.0, Some(&privacy), priors).unwrap();
        let records = Records::new(values.clone(), plan.size()).unwrap();
        let source = NoiseSource::insecure_from_seed(2);
        let (found, _) = plan.fit(records, source, Some(&privacy), Box::new(Unlimited)).unwrap();
        let n = plan.size();
        (found.moments.mean.clone(), [0, 1].map(|k| found.moments.covariance[k * (n + 1)].sqrt()))
    };
    let (free, sd) = fit(Vec::new());
    // The first weight is stated to be two standard errors from where the records have it, with a standard deviation of 0.005; of the second nothing
    // is stated that the records do not know better.
    let weight = free[0] + 2.0 * sd[0];
    let (found, stated) = fit(vec![one(0, 2.0 * weight, 0.01), one(1, 0.0, 100.0)]);
    assert!(
        (found[0] - weight).abs() < 0.2 * sd[0] && stated[0] < 0.006,
        "{} {weight} {stated:?} {sd:?}",
        found[0]
    );
    // The other follows the first one by their correlation, so by less than what that moved.
    assert!((found[1] - free[1]).abs() < 2.0 * sd[1], "{} {} {sd:?}", found[1], free[1]);
    assert!((0.5..2.0).contains(&(stated[1] / sd[1])), "{stated:?} {sd:?}");

    let prior = CoefficientPrior { weights: vec![(0, 1.0)], mean: 0.0, sd: 1.0 };
    for many in [vec![20, 20], vec![200, 200]] {
        let plan = LogisticPlan::with_priors(&many, 6000, 1.0, Some(&privacy), vec![prior.clone()]).unwrap();
        assert!(plan.validate().unwrap_err().to_string().contains("more than 30 weights"));
    }
    let twice =
        LogisticPlan::with_priors(&[1, 1], 6000, 1.0, Some(&privacy), vec![prior.clone(), prior]).unwrap();
    assert!(twice.validate().unwrap_err().to_string().contains("linearly independent"));
}
