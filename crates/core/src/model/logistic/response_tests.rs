//! Posteriors of strong weights, whose scores are far from linear on the path.

use super::curvature::Curvature;
use super::prior::WeightPrior;
use super::remainder::Simulated;
use super::response::{Path, Segment, posterior};
use super::*;
use crate::budget::{Adjacency, Unlimited};
use crate::family::Gamma;
use crate::math::matrix;
use crate::math::normal;
use crate::math::vector::{dot, sigmoid};
use crate::wall::{NoiseSource, Records};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

const NOISE: f64 = 1e-6;

/// A path without noise on simulated inputs, with a ridge that takes a fifth of the weights: the posterior mean is the truth, where a linear
/// response at the curvature that was released is off by more than a tenth of it.
#[test]
fn the_shrinkage_of_strong_weights_is_undone() {
    let (columns, truth) = ([1; 3], [4.0, -3.0, 2.0, 0.5]);
    let (n, ridge) = (4, 20.0);
    let expected = Curvature::expected(&columns, 2000.0);
    let simulated = Simulated::new(&expected, n, 0.5).unwrap();
    let none = vec![0.0; n * n];
    let segment = |at: &[f64]| {
        let mut steep = simulated.curvature(at, &none);
        (0..n).for_each(|k| steep[k * (n + 1)] += ridge);
        let inverse = matrix::symmetric_inverse(&steep, n).unwrap();
        Segment { inverse, steps: 8, noise_sd: NOISE }
    };
    let between: Vec<f64> = truth.iter().map(|w| 0.6 * w).collect();
    let legs = [segment(&[0.0; 4]), segment(&between)];
    let weights = simulated.path(&legs, ridge, 6, &truth);
    let length = dot(&truth, &truth);
    assert!(dot(&weights, &truth) < 0.9 * length);
    let released = |at: &[f64]| Curvature { size: n, elements: simulated.curvature(at, &none), noise: NOISE };
    let path = Path {
        legs,
        ridge,
        averaged: 6,
        weights,
        variance_ratio: 0.7,
        bound: 0.5,
        first: released(&[0.0; 4]),
        expected,
        second: released(&between),
        between,
    };
    let [found, _] =
        posterior(&path, &WeightPrior::new(Gamma { shape: 2.0, rate: 10.0 }, &[], n).unwrap()).unwrap();
    // The prior takes the share of its precision, about 1/10, in that of the records, which is some 20 along the weights.
    let share = dot(&found.mean, &truth) / length;
    assert!((share - 1.0).abs() < 0.03, "{share}");
}

/// Numbers that are uniform between their bounds and correlated, classes by weights for a standard deviation of scores, and the weights.
fn records(count: usize, score_sd: f64, correlation: f64, rng: &mut ChaCha8Rng) -> (Vec<f64>, Vec<f64>) {
    let mut weights: Vec<f64> = (0..5).map(|_| StandardNormal.sample(rng)).collect();
    let (sum, square) = (weights.iter().sum::<f64>(), dot(&weights, &weights));
    let variance = ((1.0 - correlation) * square + correlation * sum * sum) / 3.0;
    weights.iter_mut().for_each(|w| *w *= score_sd / variance.sqrt());
    let mut values = Vec::with_capacity(6 * count);
    for _ in 0..count {
        let mut draw = || -> f64 { StandardNormal.sample(rng) };
        let shared = correlation.sqrt() * draw();
        let x: Vec<f64> =
            (0..5).map(|_| 2.0 * normal::cdf(shared + (1.0 - correlation).sqrt() * draw()) - 1.0).collect();
        let class = if rng.random::<f64>() < sigmoid(dot(&x, &weights)) { 1.0 } else { -1.0 };
        values.extend(x);
        values.push(class);
    }
    (values, weights)
}

/// The share of weights within their intervals of 95 %, and the mean standard deviation.
fn coverage(count: usize, epsilon: f64, score_sd: f64, correlation: f64, sets: u64) -> (f64, f64) {
    let privacy = Privacy::new(epsilon, 1e-5, Adjacency::ReplaceOne).unwrap();
    let plan = LogisticPlan::new(&[1; 5], count, 10.0, Some(&privacy)).unwrap();
    let (mut covered, mut width) = (0, 0.0);
    for set in 0..sets {
        let (values, weights) =
            records(count, score_sd, correlation, &mut ChaCha8Rng::seed_from_u64(100 + set));
        let records = Records::new(values, 6).unwrap();
        let source = NoiseSource::from_os().unwrap();
        let (found, _) = plan.fit(records, source, Some(&privacy), Box::new(Unlimited)).unwrap();
        for (k, weight) in weights.iter().enumerate() {
            // A fit that is improper under the noise returns the prior, which has a diagonal.
            let full = found.moments.covariance.len() > 6;
            let sd = found.moments.covariance[if full { 7 * k } else { k }].sqrt();
            covered += u64::from((found.moments.mean[k] - weight).abs() < 1.96 * sd);
            width += sd;
        }
    }
    let all = 5.0 * sets as f64;
    (covered as f64 / all, width / all)
}

/// Intervals of 95 % hold the weights: of 200 in each cell (40 data sets of 5 weights) at least 0.86. Weights of a data set share noise; if that doubles
/// the variance of the share, its standard error is 0.022 at a coverage of 0.95, and 0.86 is four of them below: a false alarm has a
/// probability below 1e-3 in all cells together.
#[test]
fn intervals_of_strong_and_of_correlated_weights_cover() {
    for (count, epsilon, score_sd, correlation) in
        [(300, 10.0, 3.0, 0.0), (1000, 0.1, 3.0, 0.0), (3000, 1.0, 3.0, 0.0), (1000, 1.0, 1.0, 0.8)]
    {
        let (covered, _) = coverage(count, epsilon, score_sd, correlation, 40);
        assert!(covered >= 0.86, "{covered} with {count} records, epsilon {epsilon}");
    }
}
