//! The E-step: the posterior of the hidden units of one record.

#![allow(clippy::needless_range_loop, reason = "one index for several arrays")]

use super::{BeliefModel, Curvature, MAX_CHI};
use crate::math::vector::sigmoid;
use crate::model::polya_gamma;
use reticent_noise::with_wide_vectors;
use serde::{Deserialize, Serialize};

/// $q(W)\,q(b)\,q(c)$. Weights are in rows of $J$, one for each unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beliefs {
    /// Means of the weights.
    pub weights: Vec<f64>,
    /// Their variances.
    pub variances: Vec<f64>,
    /// Means of the biases $b$ of units.
    pub unit_biases: Vec<f64>,
    /// Their variances.
    pub unit_variances: Vec<f64>,
    /// Means of the biases $c$ of outputs.
    pub output_biases: Vec<f64>,
    /// Their variances.
    pub output_variances: Vec<f64>,
}

/// The variances that the privacy noise adds to those of the records, in the order of [`Beliefs`]; empty where there is none. Those of the weights are
/// part of [`Beliefs::variances`]; those of the biases are not part of theirs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PrivacyVariances {
    /// Of the weights.
    pub weights: Vec<f64>,
    /// Of the biases of units.
    pub unit_biases: Vec<f64>,
    /// Of the biases of outputs.
    pub output_biases: Vec<f64>,
}

/// $q(z)$ of a record, and the Gaussian bound at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Hidden {
    /// The probability of each unit.
    pub units: Vec<f64>,
    /// The mean of $\psi$ for each output.
    pub mean: Vec<f64>,
    /// $E[\psi^2]$.
    pub square: Vec<f64>,
    /// $l$.
    pub linear: Vec<f64>,
    /// $\kappa$.
    pub curvature: Vec<f64>,
}

impl Beliefs {
    /// Coordinate ascent on $q(z)$ and the bound (eqs. 67 to 71), from the units' own probabilities.
    #[must_use]
    pub fn infer(&self, model: &BeliefModel, y: &[bool]) -> Hidden {
        let (j, k) = (model.outputs, model.units);
        let mut hidden = Hidden {
            units: self.unit_biases.iter().map(|&b| sigmoid(b)).collect(),
            mean: vec![0.0; j],
            square: vec![0.0; j],
            linear: vec![0.0; j],
            curvature: vec![0.0; j],
        };
        for _ in 0..model.sweeps {
            self.bound(model, y, &mut hidden);
            for unit in 0..k {
                let (weights, variances) = (&self.weights[unit * j..][..j], &self.variances[unit * j..][..j]);
                let Hidden { units, mean, linear, curvature, .. } = &mut hidden;
                let old = units[unit];
                let mut logit = 0.0;
                with_wide_vectors(
                    #[inline(always)]
                    || {
                        let mut lanes = [0.0; 8];
                        for i in 0..j {
                            let w = weights[i];
                            let others = mean[i] - w * old;
                            let half = 0.5 * (w * w + variances[i]);
                            lanes[i % 8] += linear[i] * w - curvature[i] * (w * others + half);
                        }
                        logit = lanes.iter().sum();
                    },
                );
                let new = sigmoid(self.unit_biases[unit] + logit);
                units[unit] = new;
                mean.iter_mut().zip(weights).for_each(|(mean, w)| *mean += (new - old) * w);
            }
        }
        self.bound(model, y, &mut hidden);
        hidden
    }

    /// $E[\psi]$, $E[\psi^2]$ and the best bound for these units.
    fn bound(&self, model: &BeliefModel, y: &[bool], hidden: &mut Hidden) {
        let j = model.outputs;
        hidden.mean.copy_from_slice(&self.output_biases);
        hidden.square.copy_from_slice(&self.output_variances);
        for (unit, &z) in hidden.units.iter().enumerate() {
            let (weights, variances) = (&self.weights[unit * j..][..j], &self.variances[unit * j..][..j]);
            let each = hidden.mean.iter_mut().zip(&mut hidden.square).zip(weights.iter().zip(variances));
            for ((mean, square), (w, variance)) in each {
                *mean += z * w;
                *square += z * ((1.0 - z) * w * w + variance);
            }
        }
        for i in 0..j {
            let mean = hidden.mean[i];
            hidden.square[i] += mean * mean;
            let y = f64::from(u8::from(y[i]));
            (hidden.linear[i], hidden.curvature[i]) = match model.curvature {
                Curvature::PolyaGamma => (y - 0.5, polya_gamma::mean(hidden.square[i].sqrt())),
                Curvature::Quadratic => {
                    let at = mean.clamp(-MAX_CHI, MAX_CHI);
                    (y - sigmoid(at) + 0.25 * at, 0.25)
                }
            };
        }
    }

    /// The part of the lower bound that is about one record.
    #[must_use]
    pub fn lower_bound(&self, model: &BeliefModel, y: &[bool], hidden: &Hidden) -> f64 {
        let mut bound = 0.0;
        for i in 0..model.outputs {
            let (y, mean, square) = (f64::from(u8::from(y[i])), hidden.mean[i], hidden.square[i]);
            bound += match model.curvature {
                Curvature::PolyaGamma => (y - 0.5) * mean - polya_gamma::log_normaliser(square.sqrt()),
                Curvature::Quadratic => {
                    let at = mean.clamp(-MAX_CHI, MAX_CHI);
                    let gap = square - 2.0 * at * mean + at * at;
                    y * mean - 0.125 * gap - sigmoid(at) * (mean - at) - at.exp().ln_1p()
                }
            };
        }
        let units = hidden.units.iter().zip(self.unit_biases.iter().zip(&self.unit_variances));
        for (&z, (b, variance)) in units {
            bound += (z - 0.5) * b - polya_gamma::log_normaliser((b * b + variance).sqrt());
            for p in [z, 1.0 - z] {
                bound -= if p > 0.0 { p * p.ln() } else { 0.0 };
            }
        }
        bound
    }
}
