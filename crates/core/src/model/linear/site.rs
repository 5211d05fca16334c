//! The site of a record: one-dimensional moment matching along $x$.
//!
//! In a cavity $N(m, V)$, $a = w \cdot x$ is $N(m \cdot x, x^T V x)$, and the tilted moments of $a$ give $g$, $k$ and $u$ as in
//! `tilt.rs`. For any covariance the tilted moments of $w$ are $m + gVx$ and $V - kVxx^TV$, so the site is
//!
//! $$P_n = p_n xx^T, \qquad p_n = \frac ku, \qquad \lambda_n = \Bigl(\frac gu + p_n\, m \cdot x\Bigr)x,$$
//!
//! and in centred coordinates $\lambda_n - P_n m = gx/u$. For independent weights each has its own $u_i = 1 - v_i x_i^2 k$ and
//! the site $p_i = x_i^2 k/u_i$, $\lambda_i = x_i g/u_i + p_i m_i$.

use super::{Linear, Response, logistic};
use crate::family::{Covariance, Gamma, Moments};
use crate::model::network::tilted_gamma;
use crate::model::tilt::{Tilt, class};
use serde::{Deserialize, Serialize};
use std::f64::consts::SQRT_2;

/// Moments of a cavity.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LinearCavity {
    /// Mean $m$.
    mean: Vec<f64>,
    /// Covariance $V$ in row-major order, or its diagonal.
    covariance: Vec<f64>,
    noise: Option<Gamma>,
    noise_variance: f64,
}

/// A record with a larger absolute value contributes nothing.
const LARGEST: f64 = 1e30;

/// Smaller remaining shares of a variance are due to rounding.
const MIN_LEFT: f64 = 1e-14;

impl LinearCavity {
    /// $m$.
    pub(super) fn mean(&self) -> &[f64] {
        &self.mean
    }

    pub(super) fn moments(&self) -> Moments {
        Moments { mean: self.mean.clone(), covariance: self.covariance.clone() }
    }

    /// With another mean and covariance, of any form.
    pub(super) fn set_moments(&mut self, moments: Moments) {
        (self.mean, self.covariance) = (moments.mean, moments.covariance);
    }

    pub(super) fn prepare(&mut self, model: &Linear, natural: &[f64]) {
        let (weights, gamma) = natural.split_at(model.family.width());
        let d = model.family.dimension;
        if model.family.covariance == Covariance::Full {
            // An improper cavity makes sites NaN, which contribute nothing.
            let none = || Moments { mean: vec![f64::NAN; d], covariance: vec![f64::NAN; d * d] };
            let moments = model.family.moments(weights).unwrap_or_else(none);
            (self.mean, self.covariance) = (moments.mean, moments.covariance);
        } else {
            let (lambda, precision) = weights.split_at(d);
            self.covariance.clear();
            self.covariance.extend(precision.iter().map(|p| 1.0 / p));
            self.mean.clear();
            self.mean.extend(lambda.iter().zip(&self.covariance).map(|(lambda, v)| lambda * v));
        }
        (self.noise, self.noise_variance) = match model.response {
            Response::Known(variance) => (None, variance),
            Response::Unknown(_) => {
                let gamma = Gamma::from_natural(gamma);
                (Some(gamma), gamma.rate / (gamma.shape - 1.0))
            }
            Response::Probit | Response::Logistic => (None, 0.0),
        };
    }

    pub(super) fn site(&self, model: &Linear, record: &[f64], out: &mut [f64]) {
        if record.iter().any(|x| x.abs() > LARGEST) {
            return;
        }
        let (inputs, target) = (&record[..model.inputs()], record[model.inputs()]);
        let (weights, gamma) = out.split_at_mut(model.family.width());
        let full = model.family.covariance == Covariance::Full;
        let (m, v) = along(&self.mean, &self.covariance, full, inputs);
        let tilt = match model.response {
            Response::Known(_) | Response::Unknown(_) => Tilt::gaussian(m, v, self.noise_variance, target),
            Response::Probit => Tilt::probit(m, v, class(target)),
            Response::Logistic => logistic::tilt(m, v, class(target)),
        };
        if full {
            full_site(tilt, m, inputs, weights);
        } else {
            self.diagonal_site(tilt, v, inputs, weights);
        }
        if let Some(cavity) = self.noise
            && let Some(tilted) = tilted_gamma(cavity, target - m, v)
        {
            gamma[0] = tilted.shape - cavity.shape;
            gamma[1] = cavity.rate - tilted.rate;
        }
    }

    fn diagonal_site(&self, tilt: Tilt, v: f64, inputs: &[f64], out: &mut [f64]) {
        let d = self.mean.len();
        let (lambda, precision) = out.split_at_mut(d);
        for i in 0..d {
            let x = input(inputs, i);
            // u_i from the remaining share of the total variance, without cancellation.
            let others = (v - self.covariance[i] * x * x).max(0.0);
            let left = (tilt.left + tilt.curvature * others).max(MIN_LEFT);
            precision[i] = x * x * tilt.curvature / left;
            lambda[i] = x * tilt.slope / left + precision[i] * self.mean[i];
        }
    }
}

/// The inputs, followed by the constant 1 of the bias.
fn input(inputs: &[f64], i: usize) -> f64 {
    inputs.get(i).copied().unwrap_or(1.0)
}

/// The mean and the variance of $a = w \cdot x$.
pub(super) fn along(mean: &[f64], covariance: &[f64], full: bool, inputs: &[f64]) -> (f64, f64) {
    let d = mean.len();
    let (mut m, mut v) = (0.0, 0.0);
    for i in 0..d {
        let x = input(inputs, i);
        m += mean[i] * x;
        if full {
            let row = &covariance[i * d..][..d];
            let inner: f64 = row[..d - 1].iter().zip(inputs).map(|(c, x)| c * x).sum();
            v += x * (inner + row[d - 1]);
        } else {
            v += covariance[i] * x * x;
        }
    }
    (m, v)
}

fn full_site(tilt: Tilt, m: f64, inputs: &[f64], out: &mut [f64]) {
    let d = inputs.len() + 1;
    let left = tilt.left.max(MIN_LEFT);
    let p = tilt.curvature / left;
    let (lambda, precision) = out.split_at_mut(d);
    let by = tilt.slope / left + p * m;
    let mut next = precision.iter_mut();
    for (i, lambda) in lambda.iter_mut().enumerate() {
        let x = input(inputs, i);
        *lambda = by * x;
        for j in i..d {
            if let Some(out) = next.next() {
                *out = p * x * input(inputs, j) * if i == j { 1.0 } else { SQRT_2 };
            }
        }
    }
}
