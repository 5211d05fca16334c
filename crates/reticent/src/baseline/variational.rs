//! Mean-field variational inference for a network: the Gaussian with independent weights that maximises the evidence lower bound
//!
//! $$\sum_n E_q[\log N(y_n; f(x_n, w), s^2)] - \sum_l KL(q_l \Vert N(0, \tau_l I)).$$
//!
//! Expectations are over one draw for each record in each pass: of the pre-activations of a layer, which are Gaussian given its
//! inputs, $a = m + \sqrt v\,\epsilon$ with $m = \sum \mu z$ and $v = \sum \sigma^2 z^2$. So gradients are those of
//! backpropagation by $m$ and, times $\epsilon/2\sqrt v$, by $v$. The noise $s^2$ and the prior variances $\tau_l$ of layers
//! are set to the best for the moment after each pass.
//!
//! # Citation
//! Graves, "Practical variational inference for neural networks", NIPS 2011; Kingma, Salimans, Welling, "Variational dropout
//! and the local reparameterization trick", NIPS 2015, for the draws.

use super::BaselineError;
use super::adam::Adam;
use super::perceptron::{Perceptron, dot};
use crate::model::network::NetworkPosterior;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};

/// Settings of variational inference. **Not private.**
#[derive(Debug, Clone, PartialEq)]
pub struct Variational {
    /// Units in each hidden layer.
    pub hidden: Vec<usize>,
    /// Passes over the records.
    pub passes: usize,
    /// Records between steps.
    pub batch: usize,
    /// The size of Adam's first steps; it falls to 0.
    pub learning_rate: f64,
    /// Of the start, the order of records and the draws.
    pub seed: u64,
}

impl Default for Variational {
    /// 50 units, for targets of unit variance.
    fn default() -> Self {
        Self { hidden: vec![50], passes: 200, batch: 32, learning_rate: 0.005, seed: 1 }
    }
}

/// Of the weights at the start, over that of their means' spread.
const START_DEVIATION: f64 = 0.05;

impl Variational {
    /// Fits the records, rows of `inputs` inputs and a target. **Not private.**
    ///
    /// # Errors
    /// [`BaselineError`] for settings that make no sense.
    pub fn fit(&self, values: &[f64], inputs: usize) -> Result<NetworkPosterior, BaselineError> {
        let shape = Perceptron::new(inputs, &self.hidden)?;
        let count = values.len() / (inputs + 1);
        if count == 0 || self.passes == 0 || self.batch == 0 || self.learning_rate <= 0.0 {
            return Err(BaselineError::Settings);
        }
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut state = State::new(&shape, &mut rng);
        let (mut adam, mut gradient) = (Adam::new(2 * state.size), vec![0.0; 2 * state.size]);
        let mut order: Vec<usize> = (0..count).collect();
        let total = (self.passes * count.div_ceil(self.batch)) as f64;
        let mut steps = 0.0;
        for _ in 0..self.passes {
            order.shuffle(&mut rng);
            let mut squares = 0.0;
            for batch in order.chunks(self.batch) {
                gradient.fill(0.0);
                state.condition();
                for &n in batch {
                    squares += state.record(&values[n * (inputs + 1)..][..=inputs], &mut rng, &mut gradient);
                }
                state.divergence(batch.len() as f64 / count as f64, &mut gradient);
                gradient.iter_mut().for_each(|g| *g /= batch.len() as f64);
                adam.step(&mut state.parameters, &gradient, self.learning_rate * (1.0 - steps / total));
                steps += 1.0;
            }
            state.noise_variance = squares / count as f64;
            state.refine_prior();
        }
        state.condition();
        let model = shape.model(state.noise_variance)?;
        let means = shape.in_order_of_the_model(&state.parameters[..state.size], 1);
        let variances = shape.in_order_of_the_model(&state.variances, 2);
        Ok(NetworkPosterior::from_moments(&model, means, variances.clone(), variances, state.noise_variance))
    }
}

/// The approximation, and the activations of one record.
pub(super) struct State<'a> {
    shape: &'a Perceptron,
    /// Weights.
    size: usize,
    /// $\mu$ of all weights, and then $\log\sigma$.
    pub(super) parameters: Vec<f64>,
    /// $\sigma^2$.
    variances: Vec<f64>,
    /// $s^2$.
    noise_variance: f64,
    /// $\tau_l$.
    prior: Vec<f64>,
    /// Inputs of layers, and the output.
    z: Vec<f64>,
    squares: Vec<f64>,
    /// $\epsilon/2\sqrt v$ of each unit.
    tilt: Vec<f64>,
    upper: Vec<f64>,
    lower: Vec<f64>,
}

impl<'a> State<'a> {
    pub(super) fn new(shape: &'a Perceptron, rng: &mut ChaCha8Rng) -> Self {
        let mut parameters = shape.start(rng);
        let size = parameters.len();
        for layer in &shape.layers {
            let deviation = START_DEVIATION * ((layer.inputs + 1) as f64).sqrt().recip();
            parameters.extend(std::iter::repeat_n(deviation.ln(), (layer.inputs + 1) * layer.units));
        }
        let (variances, prior) = (vec![0.0; size], vec![1.0; shape.layers.len()]);
        let [z, squares, tilt, upper, lower] = [const { Vec::new() }; 5];
        let noise_variance = 0.1;
        Self { shape, size, parameters, variances, noise_variance, prior, z, squares, tilt, upper, lower }
    }

    /// $\sigma^2$ from $\log\sigma$.
    pub(super) fn condition(&mut self) {
        let logs = &self.parameters[self.size..];
        self.variances.iter_mut().zip(logs).for_each(|(v, log)| *v = (2.0 * log).exp());
    }

    /// Adds the gradient of a record's $-E_q[\log N(y; f, s^2)]$, at one draw, and gives its squared residual.
    pub(super) fn record(&mut self, record: &[f64], rng: &mut ChaCha8Rng, gradient: &mut [f64]) -> f64 {
        let (inputs, target) = record.split_at(self.shape.inputs());
        let residual = self.forward(inputs, rng) - target[0];
        self.backward(residual / self.noise_variance, gradient);
        residual * residual
    }

    fn forward(&mut self, inputs: &[f64], rng: &mut ChaCha8Rng) -> f64 {
        let (z, squares) = (&mut self.z, &mut self.squares);
        z.clear();
        z.extend_from_slice(inputs);
        squares.clear();
        squares.extend(inputs.iter().map(|x| x * x));
        self.tilt.clear();
        let mut place = 0;
        for (k, layer) in self.shape.layers.iter().enumerate() {
            let (last, d) = (k + 1 == self.shape.layers.len(), layer.inputs);
            for j in 0..layer.units {
                let (mean, spread) = (layer.unit(&self.parameters, j), layer.unit(&self.variances, j));
                let m = dot(&mean[..d], &z[place..place + d]) + mean[d];
                let sd = (dot(&spread[..d], &squares[place..place + d]) + spread[d]).sqrt();
                let epsilon: f64 = StandardNormal.sample(rng);
                let a = m + sd * epsilon;
                self.tilt.push(0.5 * epsilon / sd);
                let a = if last { a } else { a.max(0.0) };
                z.push(a);
                squares.push(a * a);
            }
            place += d;
        }
        z[place]
    }

    fn backward(&mut self, by_output: f64, gradient: &mut [f64]) {
        let (by_mean, by_log) = gradient.split_at_mut(self.size);
        self.upper.clear();
        self.upper.push(by_output);
        let (mut place, mut unit) = (self.z.len() - 1, self.tilt.len());
        for (k, layer) in self.shape.layers.iter().enumerate().rev() {
            let d = layer.inputs;
            (place, unit) = (place - d, unit - layer.units);
            let (z, squares) = (&self.z[place..place + d], &self.squares[place..place + d]);
            self.lower.clear();
            self.lower.resize(d, 0.0);
            for (j, &by) in self.upper.iter().enumerate().filter(|(_, by)| **by != 0.0) {
                let by_variance = by * self.tilt[unit + j];
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
                    for (((lower, m), v), z) in self.lower.iter_mut().zip(mean).zip(spread).zip(z) {
                        *lower += by * m + 2.0 * by_variance * v * z;
                    }
                }
            }
            self.lower.iter_mut().zip(z).filter(|(_, z)| **z <= 0.0).for_each(|(lower, _)| *lower = 0.0);
            std::mem::swap(&mut self.upper, &mut self.lower);
        }
    }

    /// Adds the gradient of a share of the divergence from the prior.
    fn divergence(&self, share: f64, gradient: &mut [f64]) {
        let (by_mean, by_log) = gradient.split_at_mut(self.size);
        for (layer, tau) in self.shape.layers.iter().zip(&self.prior) {
            for k in layer.first..layer.first + (layer.inputs + 1) * layer.units {
                by_mean[k] += share * self.parameters[k] / tau;
                by_log[k] += share * (self.variances[k] / tau - 1.0);
            }
        }
    }

    /// The prior variance that is best for a layer: the mean of $\mu^2 + \sigma^2$.
    fn refine_prior(&mut self) {
        self.condition();
        for (layer, tau) in self.shape.layers.iter().zip(&mut self.prior) {
            let count = (layer.inputs + 1) * layer.units;
            let part = layer.first..layer.first + count;
            let squares = self.parameters[part.clone()].iter().zip(&self.variances[part]);
            *tau = squares.map(|(m, v)| m * m + v).sum::<f64>() / count as f64;
        }
    }
}
