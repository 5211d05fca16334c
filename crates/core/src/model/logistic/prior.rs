//! The prior of the weights: $w \sim N(0, \alpha^{-1}I)$ with a gamma prior of $\alpha$, but for coefficients whose own prior is stated.

use crate::family::Gamma;
use crate::math::matrix;
use crate::math::vector::dot;
use crate::model::coefficient_prior::{CoefficientPrior, StatedPriors};

/// The 95 % quantile of a standard normal variable.
const NORMAL_QUANTILE: f64 = 1.644_85;

/// With $R$ the projection to the stated coefficients, the precision of the weights is $\alpha(I - R)$ and what the stated priors add.
pub(super) struct WeightPrior {
    gamma: Gamma,
    size: usize,
    stated: Option<StatedPriors>,
}

impl WeightPrior {
    /// For so many weights, the bias last; `None` if stated coefficients depend on each other linearly.
    pub(super) fn new(gamma: Gamma, priors: &[CoefficientPrior], size: usize) -> Option<Self> {
        let stated = if priors.is_empty() {
            None
        } else {
            let mut unit = vec![0.0; size * size];
            (0..size).for_each(|k| unit[k * (size + 1)] = 1.0);
            Some(StatedPriors::new(priors, &unit, size, |prior| row(prior, size))?)
        };
        Some(Self { gamma, size, stated })
    }

    /// $\alpha$ before any record: $1/E[\alpha^{-1}]$.
    pub(super) fn start(&self) -> f64 {
        (self.gamma.shape - 1.0) / self.gamma.rate
    }

    /// The lower 5 % quantile of $\alpha$ before any record, by the approximation of Wilson and Hilferty, "The distribution of chi-square", 1931.
    pub(super) fn low(&self) -> f64 {
        let Gamma { shape, rate } = self.gamma;
        let ninth = 1.0 / (9.0 * shape);
        let root = 1.0 - ninth - NORMAL_QUANTILE * ninth.sqrt();
        shape * root.max(0.1).powi(3) / rate
    }

    /// The prior precision of the weights.
    pub(super) fn precision(&self, alpha: f64) -> Vec<f64> {
        let mut out = vec![0.0; self.size * self.size];
        (0..self.size).for_each(|k| out[k * (self.size + 1)] = alpha);
        if let Some(StatedPriors { removed, added, .. }) = &self.stated {
            let both = removed.iter().zip(added);
            out.iter_mut().zip(both).for_each(|(out, (removed, added))| *out += added - alpha * removed);
        }
        out
    }

    /// The prior precision times the prior mean.
    pub(super) fn natural(&self) -> Vec<f64> {
        self.stated.as_ref().map_or_else(|| vec![0.0; self.size], |stated| stated.natural.clone())
    }

    /// The prior mean and covariance; `None` if numbers are not finite.
    pub(super) fn moments(&self, alpha: f64) -> Option<(Vec<f64>, Vec<f64>)> {
        let covariance = matrix::symmetric_inverse(&self.precision(alpha), self.size)?;
        let mut mean = vec![0.0; self.size];
        matrix::times(&covariance, self.size, &self.natural(), &mut mean);
        Some((mean, covariance))
    }

    /// $\alpha$ given the moments of the weights. It is $1/E[\alpha^{-1}]$ instead of $E[\alpha]$: few weights carry little information about their
    /// precision, and intervals must include that.
    pub(super) fn alpha(&self, mean: &[f64], covariance: &[f64]) -> f64 {
        let n = self.size;
        let trace: f64 = (0..n).map(|k| covariance[k * (n + 1)]).sum();
        let (mut square, mut free) = (dot(mean, mean) + trace, n);
        if let Some(StatedPriors { removed, count, .. }) = &self.stated {
            let mut projected = vec![0.0; n];
            matrix::times(removed, n, mean, &mut projected);
            square -= dot(mean, &projected) + dot(removed, covariance);
            free -= count;
        }
        (self.gamma.shape - 1.0 + 0.5 * free as f64) / (self.gamma.rate + 0.5 * square.max(0.0))
    }
}

/// The factors of a coefficient for all weights.
pub(super) fn row(prior: &CoefficientPrior, size: usize) -> Vec<f64> {
    let mut row = vec![0.0; size];
    prior.weights.iter().for_each(|&(k, factor)| row[k] += factor);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For a shape of 2 the distribution function is $1 - e^{-x}(1 + x)$ with $x$ the rate times $\alpha$.
    #[test]
    fn low_precisions_are_quantiles() {
        let prior = WeightPrior::new(Gamma { shape: 2.0, rate: 10.0 }, &[], 3).expect("no stated priors");
        let x = 10.0 * prior.low();
        let below = 1.0 - (-x).exp() * (1.0 + x);
        assert!((below - 0.05).abs() < 0.005, "{below}");
    }
}
