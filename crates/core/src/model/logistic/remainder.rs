//! The path of the weights on simulated inputs, for what a linear response leaves out.
//!
//! Inputs are normal with the released second moments, weighted as records are. Of their distribution only that of scores $w \cdot x$ matters, and
//! for sums of several inputs that is about normal whatever the inputs are.

use super::query::score_weight;
use super::response::Segment;
use crate::math::matrix;
use crate::math::vector::{dot, sigmoid};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Number of simulated inputs.
const DRAWS: usize = 1000;

/// Simulated inputs, with the last one 1, and the sum of their weights.
pub(super) struct Simulated {
    size: usize,
    rows: Vec<f64>,
    /// A standard normal number for each of the inputs.
    normals: Vec<f64>,
    weight: f64,
    /// The bound of residuals.
    bound: f64,
}

impl Simulated {
    /// Normal inputs whose weighted second moments are those of a positive definite curvature at weights 0.
    pub(super) fn new(curvature: &[f64], size: usize, bound: f64) -> Option<Self> {
        let last = size - 1;
        let weight = 4.0 * curvature[size * size - 1];
        let mean: Vec<f64> = (0..last).map(|k| 4.0 * curvature[k * size + last] / weight).collect();
        let covariance: Vec<f64> = (0..last * last)
            .map(|k| 4.0 * curvature[k / last * size + k % last] / weight - mean[k / last] * mean[k % last])
            .collect();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        // In pairs of opposite signs, so that means are exact, and rescaled so that covariances are.
        let half: Vec<f64> = (0..DRAWS / 2 * last).map(|_| StandardNormal.sample(&mut rng)).collect();
        let found = matrix::weighted_squares(&half, &[2.0 / DRAWS as f64; DRAWS / 2], last);
        let (mut from, mut to) = (vec![0.0; last * last], vec![0.0; last * last]);
        if !(weight > 0.0 && lower(&found, last, &mut from) && lower(&covariance, last, &mut to)) {
            return None;
        }
        let map = matrix::multiply(&to, &matrix::general_inverse(&from, last)?, last);
        let mut rows = Vec::with_capacity(DRAWS * size);
        let mut x = vec![0.0; last];
        for draw in half.chunks_exact(last.max(1)) {
            matrix::times(&map, last, draw, &mut x);
            for sign in [1.0, -1.0] {
                rows.extend(x.iter().zip(&mean).map(|(x, mean)| mean + sign * x));
                rows.push(1.0);
            }
        }
        let normals = (0..DRAWS).map(|_| StandardNormal.sample(&mut rng)).collect();
        Some(Self { size, rows, normals, weight, bound })
    }

    /// The curvature at weights, averaged over normal ones about them with this covariance.
    pub(super) fn curvature(&self, weights: &[f64], covariance: &[f64]) -> Vec<f64> {
        let by = self.weight / DRAWS as f64;
        let mut along = vec![0.0; self.size];
        let each: Vec<f64> = self
            .rows
            .chunks_exact(self.size)
            .zip(&self.normals)
            .map(|(x, normal)| {
                matrix::times(covariance, self.size, x, &mut along);
                let p = sigmoid(dot(x, weights) + normal * dot(x, &along).max(0.0).sqrt());
                by * score_weight(p, self.bound) * p * (1.0 - p)
            })
            .collect();
        matrix::weighted_squares(&self.rows, &each, self.size)
    }

    /// The average of the last weights of a path without noise, for classes by these weights.
    pub(super) fn path(&self, legs: &[Segment; 2], ridge: f64, averaged: u64, truth: &[f64]) -> Vec<f64> {
        let n = self.size;
        let classes: Vec<f64> = self.rows.chunks_exact(n).map(|x| sigmoid(dot(x, truth))).collect();
        let by = self.weight / DRAWS as f64;
        let (mut weights, mut mean, mut step) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        let last = legs[1].steps - averaged;
        for (k, leg) in legs.iter().enumerate() {
            for taken in 0..leg.steps {
                let mut score: Vec<f64> = weights.iter().map(|w| -ridge * w).collect();
                for (x, class) in self.rows.chunks_exact(n).zip(&classes) {
                    let p = sigmoid(dot(x, &weights));
                    let by = by * score_weight(p, self.bound) * (class - p);
                    score.iter_mut().zip(x).for_each(|(score, x)| *score += by * x);
                }
                matrix::times(&leg.inverse, n, &score, &mut step);
                weights.iter_mut().zip(&step).for_each(|(w, step)| *w += step);
                if k == 1 && taken >= last {
                    mean.iter_mut().zip(&weights).for_each(|(mean, w)| *mean += w / averaged as f64);
                }
            }
        }
        mean
    }
}

/// The lower Cholesky factor; whether the matrix is positive definite.
pub(super) fn lower(a: &[f64], size: usize, out: &mut [f64]) -> bool {
    let positive = matrix::wide_cholesky(a, size, out);
    // Factors have inverse diagonals.
    (0..size).for_each(|k| out[k * (size + 1)] = 1.0 / out[k * (size + 1)]);
    for i in 0..size {
        out[i * size + i + 1..(i + 1) * size].fill(0.0);
    }
    positive
}
