//! Mean-field variational inference for a network: the Gaussian with independent weights that maximises the evidence lower bound
//!
//! $$\sum_n E_q[\log N(y_n; f(x_n, w), s^2)] - \sum_l KL(q_l \Vert N(0, \tau_l I)).$$
//!
//! Expectations are over one draw for each record in each step, which depends on the step and the record alone: of the pre-activations of a layer, which are Gaussian given its
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
use crate::budget::{Adjacency, Ledger};
use crate::model::network::NetworkPosterior;
use crate::receipt::Receipt;
use crate::wall::{Geometry, NoiseSource, Plan, Query, Records, Sampler, Sums, Wall, WallError};
use rand::SeedableRng;
use rand::rngs::{ChaCha8Rng, SmallRng};
use rand_distr::{Distribution, StandardNormal};
use std::cell::RefCell;

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
    /// Fits this many records, rows of `inputs` inputs and a target. **Not private**: the wall is open.
    ///
    /// # Errors
    /// [`BaselineError`] for settings that make no sense.
    pub fn fit(
        &self,
        records: Records,
        count: usize,
        inputs: usize,
        source: NoiseSource,
        ledger: Box<dyn Ledger>,
    ) -> Result<(NetworkPosterior, Receipt), BaselineError> {
        let shape = Perceptron::new(inputs, &self.hidden)?;
        if count == 0 || self.passes == 0 || self.batch == 0 || self.learning_rate <= 0.0 {
            return Err(BaselineError::Settings);
        }
        let mut state = State::new(&shape, &mut ChaCha8Rng::seed_from_u64(self.seed));
        let (size, batch) = (state.parameters.len(), self.batch.min(count));
        let steps_of_a_pass = count.div_ceil(batch) as u64;
        let steps = self.passes as u64 * steps_of_a_pass;
        let mut plan = Plan::new(count, Adjacency::ReplaceOne);
        let sums = plan.sums(Sums {
            what: "gradients of the evidence lower bound".into(),
            width: size + 1,
            // An open wall neither clips nor adds noise.
            geometry: Geometry::Ball { radius: 1.0 },
            sampler: Sampler::Pass { batch },
            noise_multiplier: 1.0,
            steps,
        });
        let sums = sums.map_err(WallError::from)?;
        let mut wall = Wall::without_privacy(records, source, plan, ledger)?;
        let (mut adam, mut squares) = (Adam::new(size), 0.0);
        for step in 0..steps {
            state.condition();
            let released = wall.sum(sums, &Gradients { state: &state, seed: self.seed ^ step << 32 })?;
            let (mut gradient, batch) = (released.values, released.expected_batch);
            squares += gradient.pop().unwrap_or(0.0);
            state.divergence(batch / count as f64, &mut gradient);
            gradient.iter_mut().for_each(|g| *g /= batch);
            let left = (steps - step) as f64 / steps as f64;
            adam.step(&mut state.parameters, &gradient, self.learning_rate * left);
            if (step + 1) % steps_of_a_pass == 0 {
                state.noise_variance = squares / count as f64;
                state.refine_prior();
                squares = 0.0;
            }
        }
        state.condition();
        let model = shape.model(state.noise_variance)?;
        let means = shape.in_order_of_the_model(&state.parameters[..state.size], 1);
        let variances = shape.in_order_of_the_model(&state.variances, 2);
        let noise = state.noise_variance;
        let posterior = NetworkPosterior::from_moments(&model, means, variances.clone(), variances, noise);
        Ok((posterior, wall.finish(0)?))
    }
}

/// The gradient of a record, and its squared residual.
struct Gradients<'a> {
    state: &'a State<'a>,
    /// Of the draws of this step.
    seed: u64,
}

impl Query for Gradients<'_> {
    fn width(&self) -> usize {
        self.state.parameters.len() + 1
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        // A draw for each record that is a function of the record: no state is carried from one to the next.
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
        Self { shape, size, parameters, variances, noise_variance: 0.1, prior }
    }

    /// $\sigma^2$ from $\log\sigma$.
    pub(super) fn condition(&mut self) {
        let logs = &self.parameters[self.size..];
        self.variances.iter_mut().zip(logs).for_each(|(v, log)| *v = (2.0 * log).exp());
    }

    /// Adds the gradient of a record's $-E_q[\log N(y; f, s^2)]$, at one draw, and gives its squared residual.
    pub(super) fn record(&self, record: &[f64], rng: &mut SmallRng, gradient: &mut [f64]) -> f64 {
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
