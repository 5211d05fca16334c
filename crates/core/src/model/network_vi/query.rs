//! Gradients of the evidence lower bound, record by record.

use crate::baseline::perceptron::Perceptron;
use crate::math::vector::wide_dot as dot;
use crate::model::network_vi::plan::START_DEVIATION;
use crate::wall::Query;
use rand::SeedableRng;
use rand::rngs::{ChaCha8Rng, SmallRng};
use rand_distr::{Distribution, StandardNormal};
use std::cell::RefCell;

/// The gradient of a record, and its squared residual.
pub(super) struct Gradients<'a> {
    pub(super) state: &'a State<'a>,
    /// Seed of the draws of this step.
    pub(super) seed: u64,
}

impl Query for Gradients<'_> {
    fn width(&self) -> usize {
        self.state.parameters.len() + 1
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        // The draw of each record is a function of the record: no state is carried from one to the next.
        let mix =
            |seed: u64, x: &f64| (seed ^ x.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        let mut rng = SmallRng::seed_from_u64(record.iter().fold(self.seed, mix));
        let (gradient, squares) = out.split_at_mut(self.state.parameters.len());
        squares[0] = self.state.record(record, &mut rng, gradient);
    }
}

/// The activations of one record. All are written before they are read.
#[derive(Default)]
struct Space {
    /// Inputs of layers, and the output.
    z: Vec<f64>,
    squares: Vec<f64>,
    /// $\epsilon/2\sqrt v$ of each unit.
    tilt: Vec<f64>,
    upper: Vec<f64>,
    lower: Vec<f64>,
}

thread_local! {
    static SPACE: RefCell<Space> = RefCell::default();
}

/// The approximation.
pub(crate) struct State<'a> {
    shape: &'a Perceptron,
    /// Number of weights.
    pub(super) size: usize,
    /// $\mu$ of all weights, and then $\log\sigma$.
    pub(crate) parameters: Vec<f64>,
    /// $\sigma^2$.
    pub(super) variances: Vec<f64>,
    /// $s^2$.
    pub(super) noise_variance: f64,
    /// $\tau_l$.
    prior: Vec<f64>,
}

impl<'a> State<'a> {
    pub(crate) fn new(shape: &'a Perceptron, rng: &mut ChaCha8Rng) -> Self {
        let mut parameters = shape.start(rng);
        let size = parameters.len();
        for layer in &shape.layers {
            let deviation = START_DEVIATION * ((layer.inputs + 1) as f64).sqrt().recip();
            parameters.extend(std::iter::repeat_n(deviation.ln(), (layer.inputs + 1) * layer.units));
        }
        let (variances, prior) = (vec![0.0; size], vec![1.0; shape.layers.len()]);
        Self { shape, size, parameters, variances, noise_variance: 0.1, prior }
    }

    /// $\sigma^2$ from $\log\sigma$.
    pub(crate) fn condition(&mut self) {
        let logs = &self.parameters[self.size..];
        self.variances.iter_mut().zip(logs).for_each(|(v, log)| *v = (2.0 * log).exp());
    }

    /// Adds the gradient of a record's $-E_q[\log N(y; f, s^2)]$, at one draw, and returns its squared residual.
    pub(crate) fn record(&self, record: &[f64], rng: &mut SmallRng, gradient: &mut [f64]) -> f64 {
        let (inputs, target) = record.split_at(self.shape.inputs());
        SPACE.with_borrow_mut(|space| {
            let residual = self.forward(inputs, rng, space) - target[0];
            self.backward(residual / self.noise_variance, space, gradient);
            residual * residual
        })
    }

    fn forward(&self, inputs: &[f64], rng: &mut SmallRng, space: &mut Space) -> f64 {
        let Space { z, squares, tilt, .. } = space;
        z.clear();
        z.extend_from_slice(inputs);
        squares.clear();
        squares.extend(inputs.iter().map(|x| x * x));
        tilt.clear();
        let mut place = 0;
        for (k, layer) in self.shape.layers.iter().enumerate() {
            let (last, d) = (k + 1 == self.shape.layers.len(), layer.inputs);
            for j in 0..layer.units {
                let (mean, spread) = (layer.unit(&self.parameters, j), layer.unit(&self.variances, j));
                let m = dot(&mean[..d], &z[place..place + d]) + mean[d];
                let sd = (dot(&spread[..d], &squares[place..place + d]) + spread[d]).sqrt();
                let epsilon: f64 = StandardNormal.sample(rng);
                let a = m + sd * epsilon;
                tilt.push(0.5 * epsilon / sd);
                let a = if last { a } else { a.max(0.0) };
                z.push(a);
                squares.push(a * a);
            }
            place += d;
        }
        z[place]
    }

    fn backward(&self, by_output: f64, space: &mut Space, gradient: &mut [f64]) {
        let Space { z, squares, tilt, upper, lower } = space;
        let (by_mean, by_log) = gradient.split_at_mut(self.size);
        upper.clear();
        upper.push(by_output);
        let (mut place, mut unit) = (z.len() - 1, tilt.len());
        for (k, layer) in self.shape.layers.iter().enumerate().rev() {
            let d = layer.inputs;
            (place, unit) = (place - d, unit - layer.units);
            let (z, squares) = (&z[place..place + d], &squares[place..place + d]);
            lower.clear();
            lower.resize(d, 0.0);
            for (j, &by) in upper.iter().enumerate().filter(|(_, by)| **by != 0.0) {
                let by_variance = by * tilt[unit + j];
                let spread = layer.unit(&self.variances, j);
                let into = layer.unit_mut(by_mean, j);
                into[..d].iter_mut().zip(z).for_each(|(into, z)| *into += by * z);
                into[d] += by;
                // d sigma^2 / d log sigma = 2 sigma^2.
                let into = layer.unit_mut(by_log, j);
                let terms = squares.iter().chain(&[1.0]).zip(spread);
                into.iter_mut().zip(terms).for_each(|(into, (z2, v))| *into += 2.0 * by_variance * z2 * v);
                if k > 0 {
                    let mean = layer.unit(&self.parameters, j);
                    for (((lower, m), v), z) in lower.iter_mut().zip(mean).zip(spread).zip(z) {
                        *lower += by * m + 2.0 * by_variance * v * z;
                    }
                }
            }
            lower.iter_mut().zip(z).filter(|(_, z)| **z <= 0.0).for_each(|(lower, _)| *lower = 0.0);
            std::mem::swap(upper, lower);
        }
    }

    /// Adds the gradient of a share of the divergence from the prior.
    pub(crate) fn divergence(&self, share: f64, gradient: &mut [f64]) {
        let (by_mean, by_log) = gradient.split_at_mut(self.size);
        for (layer, tau) in self.shape.layers.iter().zip(&self.prior) {
            for k in layer.first..layer.first + (layer.inputs + 1) * layer.units {
                by_mean[k] += share * self.parameters[k] / tau;
                by_log[k] += share * (self.variances[k] / tau - 1.0);
            }
        }
    }

    /// The optimal prior variance of a layer: the mean of $\mu^2 + \sigma^2$.
    pub(crate) fn refine_prior(&mut self) {
        self.condition();
        for (layer, tau) in self.shape.layers.iter().zip(&mut self.prior) {
            let count = (layer.inputs + 1) * layer.units;
            let part = layer.first..layer.first + count;
            let squares = self.parameters[part.clone()].iter().zip(&self.variances[part]);
            *tau = squares.map(|(m, v)| m * m + v).sum::<f64>() / count as f64;
        }
    }
}
