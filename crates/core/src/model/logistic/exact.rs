//! The fit without privacy: the mode of the posterior, and the curvature there.
//!
//! With no noise there is nothing to trade: records have the weight 1, so that scores are the gradient of the log likelihood, and the fit is that of the
//! penalised likelihood, with the covariance of Laplace's approximation. The log likelihood is concave and its curvature at weights 0 is no less
//! than elsewhere. A first round of steps starts from there with that curvature, which later scores update; the second one starts at the mode
//! with the exact curvature.
//!
//! # Citation
//! Nocedal and Wright, "Numerical optimization", 2006, section 6.1, for the update of Broyden, Fletcher, Goldfarb and Shanno.

use super::LogisticPlan;
use super::curvature::Curvature;
use super::prior::WeightPrior;
use super::query::{Curvatures, Scores};
use crate::family::Moments;
use crate::math::matrix;
use crate::math::vector::dot;
use crate::model::FitError;
use crate::wall::{SumId, Wall};

/// Twice the expected increase of the log posterior below which weights are at the mode: they are within a thousandth of a standard error of it.
const TOLERANCE: f64 = 1e-6;
/// Relative change of the precision of the prior below which it is found.
const ALPHA_TOLERANCE: f64 = 1e-5;
/// Iterations for the precision of the prior in each step.
const ROUNDS: usize = 3;
/// A step is too long if the slope along it at its end is below minus this share of that at its start.
const OVERSHOOT: f64 = 0.5;

/// The mode of the posterior, with the covariance of Laplace's approximation.
///
/// Not private: called for a wall without noise only.
pub(super) fn maximise(plan: &LogisticPlan, wall: &mut Wall, ids: &[SumId]) -> Result<Moments, FitError> {
    let (n, radius, bound) = (plan.size(), plan.radius, plan.residual_bound);
    let prior = WeightPrior::new(plan.prior, &plan.priors, n).ok_or(FitError::Improper)?;
    let mut ascent = Ascent {
        alpha: prior.start(),
        natural: prior.natural(),
        prior,
        curvature: Vec::new(),
        weights: vec![0.0; n],
        start: None,
    };
    let mut exact = Vec::new();
    for (k, round) in plan.rounds.iter().enumerate() {
        let released = wall.sum(ids[2 * k], &Curvatures { weights: &ascent.weights, radius, bound })?;
        exact = Curvature::read(&released, &plan.columns).elements;
        ascent.curvature.clone_from(&exact);
        for _ in 0..round.steps {
            let released = wall.sum(ids[2 * k + 1], &Scores { weights: &ascent.weights, radius, bound })?;
            if ascent.climb(released.values).ok_or(FitError::Improper)? {
                break;
            }
        }
        ascent.return_to_start();
    }
    let precision = sum(&exact, &ascent.prior.precision(ascent.alpha));
    let covariance = matrix::symmetric_inverse(&precision, n).ok_or(FitError::Improper)?;
    let moments = Moments { mean: ascent.weights, covariance };
    let finite = moments.mean.iter().chain(&moments.covariance).all(|x| x.is_finite());
    if finite { Ok(moments) } else { Err(FitError::Improper) }
}

struct Ascent {
    prior: WeightPrior,
    natural: Vec<f64>,
    /// The precision of the prior.
    alpha: f64,
    /// An estimate of the curvature of the log likelihood.
    curvature: Vec<f64>,
    weights: Vec<f64>,
    /// Weights and score at the start of the step that led to the weights.
    start: Option<(Vec<f64>, Vec<f64>)>,
}

impl Ascent {
    /// Takes a step from the score at the weights; returns whether they are the mode already, or `None` if a matrix is not positive definite.
    fn climb(&mut self, score: Vec<f64>) -> Option<bool> {
        let n = self.weights.len();
        if let Some((from, before)) = self.start.take() {
            let step: Vec<f64> = self.weights.iter().zip(&from).map(|(to, from)| to - from).collect();
            let slope = dot(&step, &self.gradient(&from, &before));
            let after = dot(&step, &self.gradient(&self.weights, &score));
            let fall: Vec<f64> = before.iter().zip(&score).map(|(before, after)| before - after).collect();
            self.update(&step, &fall);
            if after < -OVERSHOOT * slope && slope > 0.0 {
                // The slope falls along the step, as the log posterior is concave: its maximum is about here.
                let share = slope / (slope - after);
                self.weights = from.iter().zip(&step).map(|(from, step)| from + share * step).collect();
                self.start = Some((from, before));
                return Some(false);
            }
        }
        let (mut step, mut rise, found) = (vec![0.0; n], 0.0, self.alpha);
        for _ in 0..ROUNDS {
            let precision = sum(&self.curvature, &self.prior.precision(self.alpha));
            let covariance = matrix::symmetric_inverse(&precision, n)?;
            let gradient = self.gradient(&self.weights, &score);
            matrix::times(&covariance, n, &gradient, &mut step);
            rise = dot(&step, &gradient);
            let mode: Vec<f64> = self.weights.iter().zip(&step).map(|(w, step)| w + step).collect();
            self.alpha = self.prior.alpha(&mode, &covariance);
        }
        let to = self.weights.iter().zip(&step).map(|(w, step)| w + step).collect();
        self.start = Some((std::mem::replace(&mut self.weights, to), score));
        Some(rise < TOLERANCE && (self.alpha / found - 1.0).abs() < ALPHA_TOLERANCE)
    }

    /// The gradient of the log posterior.
    fn gradient(&self, weights: &[f64], score: &[f64]) -> Vec<f64> {
        let n = weights.len();
        let mut pull = vec![0.0; n];
        matrix::times(&self.prior.precision(self.alpha), n, weights, &mut pull);
        (0..n).map(|k| score[k] + self.natural[k] - pull[k]).collect()
    }

    /// Changes the curvature so that it explains by how much scores fell along a step.
    fn update(&mut self, step: &[f64], fall: &[f64]) {
        let n = step.len();
        let mut expected = vec![0.0; n];
        matrix::times(&self.curvature, n, step, &mut expected);
        let (found, before) = (dot(step, fall), dot(step, &expected));
        // Not along directions without variation, nor where the fall is rounding error.
        if before <= 0.0 || found < 1e-3 * before {
            return;
        }
        for (i, row) in self.curvature.chunks_exact_mut(n).enumerate() {
            for (j, x) in row.iter_mut().enumerate() {
                *x += fall[i] * fall[j] / found - expected[i] * expected[j] / before;
            }
        }
    }

    /// Returns to the start of a step whose end was not tried.
    fn return_to_start(&mut self) {
        if let Some((from, _)) = self.start.take() {
            self.weights = from;
        }
    }
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}
