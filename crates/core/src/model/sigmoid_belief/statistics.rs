//! Contributions of records, and the M-step.

#![allow(clippy::needless_range_loop, reason = "one index for several arrays")]

use super::denoise::{self, NoiseVariances};
use super::shrinkage::Shrinkage;
use super::{BeliefModel, Beliefs, Curvature, PrivacyVariances};
use crate::engine::vb::{ExpectationModel, ExpectedSums};
use crate::jobs::Named;
use crate::math::matrix;
use crate::math::symmetric;
use crate::model::polya_gamma;
use crate::wall::{Query, QuerySpec};
use rand::SeedableRng;
use rand::rngs::ChaCha12Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;

/// The state of a fit.
#[derive(Debug, Clone)]
pub struct BeliefLearning {
    pub(super) model: BeliefModel,
    pub(super) beliefs: Beliefs,
    pub(super) privacy: PrivacyVariances,
    shrinkage: Shrinkage,
    /// Whether the prior of the weights is updated too.
    shrinks: bool,
}

/// Sums of statistics with the centring undone, in rows of outputs.
pub(super) struct Parts {
    pub(super) units: Vec<f64>,
    pub(super) linear: Vec<f64>,
    pub(super) linear_units: Vec<f64>,
    pub(super) curvature: Vec<f64>,
    pub(super) curvature_units: Vec<f64>,
    /// $\sum\kappa zz^T$, one for each output or one for all.
    pub(super) pairs: Vec<Vec<f64>>,
}

impl BeliefLearning {
    /// Starts from small random weights, which are public.
    #[must_use]
    pub fn new(model: &BeliefModel, seed: u64) -> Self {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let (j, k) = (model.outputs, model.units);
        let beliefs = Beliefs {
            weights: (0..j * k).map(|_| 0.1 * normal()).collect(),
            variances: vec![0.01; j * k],
            unit_biases: vec![0.0; k],
            unit_variances: vec![0.01; k],
            output_biases: vec![0.0; j],
            output_variances: vec![0.01; j],
        };
        let (privacy, shrinkage) = (PrivacyVariances::default(), Shrinkage::new(j, k));
        Self { model: *model, beliefs, privacy, shrinkage, shrinks: true }
    }

    /// Fixes the prior of the weights to $N(0, 1)$.
    #[must_use]
    pub fn with_fixed_prior(mut self) -> Self {
        self.shrinks = false;
        self
    }

    /// Decodes sums; values that noise moved out of their domain are projected back, and counted.
    /// A matrix that is not finite becomes 0, which every domain contains.
    fn parts(&self, sums: &ExpectedSums) -> (Parts, u64) {
        let BeliefModel { outputs: j, units: k, curvature, .. } = self.model;
        let n = sums.records;
        let mut moved = 0;
        let mut rest = &sums.values[..];
        let mut take = |width: usize, centre: f64, limits: Option<(f64, f64)>| -> Vec<f64> {
            let (part, after) = rest.split_at(width);
            rest = after;
            let each = |x: &f64| {
                let x = x + centre * n;
                limits.map_or(x, |(low, high)| {
                    moved += u64::from(!(low * n..=high * n).contains(&x));
                    x.clamp(low * n, high * n)
                })
            };
            part.iter().map(each).collect()
        };
        let units = take(k, 0.5, Some((0.0, 1.0)));
        let linear = take(j, 0.0, None);
        let linear_units = take(j * k, 0.0, None);
        let size = symmetric::width(k);
        let (curvature, curvature_units, pairs) = match curvature {
            Curvature::PolyaGamma => (
                take(j, 0.125, Some((0.0, 0.25))),
                take(j * k, 0.125, Some((0.0, 0.25))),
                (0..j).map(|_| take(size, 0.0, None)).collect(),
            ),
            Curvature::Quadratic => {
                let pairs = take(size, 0.0, None);
                (vec![0.25 * n; j], Vec::new(), vec![pairs])
            }
        };
        let (centre, factor) =
            if pairs.len() > 1 || curvature_units.len() == j * k { (0.125, 1.0) } else { (0.5, 0.25) };
        let mut matrices = Vec::with_capacity(pairs.len());
        for pairs in pairs {
            let mut full = vec![0.0; k * k];
            symmetric::from_coordinates(&pairs, k, &mut full);
            full.iter_mut().for_each(|x| *x = factor * (*x + centre * n));
            moved += match matrix::raise_eigenvalues(&mut full, k, 0.0) {
                Ok(raised) => u64::from(raised),
                Err(_) => {
                    full.fill(0.0);
                    1
                }
            };
            matrices.push(full);
        }
        let curvature_units = if curvature_units.is_empty() {
            units.iter().flat_map(|z| std::iter::repeat_n(0.25 * z, j)).collect()
        } else {
            curvature_units
        };
        let parts = Parts { units, linear, linear_units, curvature, curvature_units, pairs: matrices };
        (parts, moved)
    }

    /// The noise in each block, if there is any and all outputs share a matrix.
    fn noise(&self, sums: &ExpectedSums) -> Option<NoiseVariances> {
        let BeliefModel { outputs: j, units: k, curvature, .. } = self.model;
        let [units, linear, linear_units, pairs] =
            [0, k, k + j, k + j + j * k].map(|first| sums.noise_variance[first]);
        let shared = curvature == Curvature::Quadratic;
        (shared && linear_units > 0.0).then_some(NoiseVariances { units, linear, linear_units, pairs })
    }

    /// $q(w_j)$ for all outputs: $A_j = \sum\kappa zz^T + \mathrm{diag}(1/\zeta_j)$, $h_j = \sum (l - \kappa c_j) z$.
    fn update_weights(&mut self, parts: &Parts) {
        let BeliefModel { outputs: j, units: k, .. } = self.model;
        let mut factor = vec![0.0; k * k];
        let mut mean = vec![0.0; k];
        for output in 0..j {
            let mut a = parts.pairs[output.min(parts.pairs.len() - 1)].clone();
            for unit in 0..k {
                let cell = unit * j + output;
                a[unit * (k + 1)] += self.shrinkage.precision[cell];
                mean[unit] = parts.linear_units[cell]
                    - self.beliefs.output_biases[output] * parts.curvature_units[cell];
            }
            if !matrix::cholesky(&a, k, &mut factor) {
                continue;
            }
            matrix::solve(&factor, k, &mut mean);
            for unit in 0..k {
                self.beliefs.weights[unit * j + output] = mean[unit];
                self.beliefs.variances[unit * j + output] = 1.0 / a[unit * (k + 1)];
            }
        }
    }

    /// $q(c)$: eq. 88 with a coefficient of 1 before the weights; and $q(b)$, whose Polya-Gamma variables do not
    /// depend on records.
    fn update_biases(&mut self, parts: &Parts, records: f64) {
        let BeliefModel { outputs: j, bias_variance, .. } = self.model;
        let beliefs = &mut self.beliefs;
        for output in 0..j {
            let cells = beliefs.weights.iter().zip(&parts.curvature_units).skip(output).step_by(j);
            let explained: f64 = cells.map(|(w, x)| w * x).sum();
            let precision = 1.0 / bias_variance + parts.curvature[output];
            beliefs.output_variances[output] = 1.0 / precision;
            beliefs.output_biases[output] = (parts.linear[output] - explained) / precision;
        }
        for (unit, z) in parts.units.iter().enumerate() {
            let (b, variance) = (beliefs.unit_biases[unit], beliefs.unit_variances[unit]);
            let precision = 1.0 / bias_variance + records * polya_gamma::mean((b * b + variance).sqrt());
            beliefs.unit_variances[unit] = 1.0 / precision;
            beliefs.unit_biases[unit] = (z - 0.5 * records) / precision;
        }
    }
}

/// The expected statistics of a record's hidden units.
#[derive(Serialize, Deserialize)]
pub(crate) struct BeliefStatistics<B> {
    model: BeliefModel,
    beliefs: B,
}

impl<B> Named for BeliefStatistics<B> {
    const NAME: &'static str = "belief-statistics";
}

impl<B: Borrow<Beliefs> + Serialize + Sync> Query for BeliefStatistics<B> {
    fn width(&self) -> usize {
        self.model.width()
    }

    /// A record's numbers above 0 are ones.
    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let BeliefModel { outputs: j, units: k, curvature, .. } = self.model;
        let y: Vec<bool> = record.iter().map(|x| *x > 0.0).collect();
        let hidden = self.beliefs.borrow().infer(&self.model, &y);
        let z = &hidden.units;
        let (units, out) = out.split_at_mut(k);
        units.iter_mut().zip(z).for_each(|(out, z)| *out = z - 0.5);
        let (linear, out) = out.split_at_mut(j);
        linear.copy_from_slice(&hidden.linear);
        let (linear_units, out) = out.split_at_mut(j * k);
        for (row, z) in linear_units.chunks_exact_mut(j).zip(z) {
            row.iter_mut().zip(&hidden.linear).for_each(|(out, l)| *out = l * z);
        }
        let pair = |a: usize, b: usize| if a == b { z[a] } else { z[a] * z[b] };
        let coordinates = |out: &mut [f64], factor: f64, centre: f64| {
            let mut next = out.iter_mut();
            for a in 0..k {
                for b in a..k {
                    let length = if a == b { 1.0 } else { std::f64::consts::SQRT_2 };
                    if let Some(out) = next.next() {
                        *out = length * (factor * pair(a, b) - centre);
                    }
                }
            }
        };
        match curvature {
            Curvature::PolyaGamma => {
                let (curvatures, out) = out.split_at_mut(j);
                curvatures.iter_mut().zip(&hidden.curvature).for_each(|(out, x)| *out = x - 0.125);
                let (curvature_units, out) = out.split_at_mut(j * k);
                for (row, z) in curvature_units.chunks_exact_mut(j).zip(z) {
                    row.iter_mut().zip(&hidden.curvature).for_each(|(out, x)| *out = x * z - 0.125);
                }
                for (out, x) in out.chunks_exact_mut(symmetric::width(k)).zip(&hidden.curvature) {
                    coordinates(out, *x, 0.125);
                }
            }
            Curvature::Quadratic => coordinates(out, 1.0, 0.5),
        }
    }
}

impl ExpectationModel for BeliefLearning {
    type Expectations = Beliefs;

    fn width(&self) -> usize {
        self.model.width()
    }

    fn condition(&self) -> Beliefs {
        self.beliefs.clone()
    }

    fn statistics(&self, beliefs: &Beliefs, record: &[f64], out: &mut [f64]) {
        BeliefStatistics { model: self.model, beliefs }.contribute(record, out);
    }

    fn spec(&self, beliefs: &Beliefs) -> Option<QuerySpec> {
        QuerySpec::of(&BeliefStatistics { model: self.model, beliefs })
    }

    fn maximise(&mut self, sums: &ExpectedSums) -> u64 {
        let (parts, moved) = self.parts(sums);
        let noisy = self.noise(sums);
        match &noisy {
            Some(noise) => {
                let (weights, variances) = denoise::weights(&parts, noise, sums.records);
                let outputs = self.model.outputs;
                let records = |unit: usize| 1.0 / parts.pairs[0][unit * (self.model.units + 1)].max(1.0);
                let added = variances.iter().enumerate().map(|(unit, x)| (x - records(unit)).max(0.0));
                self.privacy.weights = added.flat_map(|x| std::iter::repeat_n(x, outputs)).collect();
                self.beliefs.variances =
                    variances.iter().flat_map(|x| std::iter::repeat_n(*x, outputs)).collect();
                self.beliefs.weights = weights;
            }
            None => self.update_weights(&parts),
        }
        self.update_biases(&parts, sums.records);
        // To first order: the noise in a sum over the precision that divides it.
        let of = |variances: &[f64], noise: f64| variances.iter().map(|v| v * v * noise).collect();
        self.privacy.unit_biases = of(&self.beliefs.unit_variances, sums.noise_variance[0]);
        self.privacy.output_biases =
            of(&self.beliefs.output_variances, sums.noise_variance[self.model.units]);
        if self.shrinks && noisy.is_none() {
            let squares: Vec<f64> = self
                .beliefs
                .weights
                .iter()
                .zip(&self.beliefs.variances)
                .map(|(w, variance)| w * w + variance)
                .collect();
            self.shrinkage.update(&squares);
        }
        moved
    }
}
