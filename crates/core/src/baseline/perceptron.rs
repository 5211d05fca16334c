//! A network of rectified linear units with one output, and its gradient.

use crate::math::vector::wide_dot as dot;
use crate::model::DefinitionError;
use crate::model::network::{Network, OutputNoise};
use rand::RngExt;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

/// The weights between two layers, unit by unit, with the bias of each last.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Layer {
    /// Number of inputs, without the bias.
    pub(crate) inputs: usize,
    pub(crate) units: usize,
    /// Index of the first weight.
    pub(crate) first: usize,
}

impl Layer {
    /// The weights of a unit, in all weights of the network.
    #[inline(always)]
    pub(crate) fn unit<'a>(&self, weights: &'a [f64], j: usize) -> &'a [f64] {
        &weights[self.first + j * (self.inputs + 1)..][..=self.inputs]
    }

    /// The same, to be written.
    #[inline(always)]
    pub(crate) fn unit_mut<'a>(&self, weights: &'a mut [f64], j: usize) -> &'a mut [f64] {
        &mut weights[self.first + j * (self.inputs + 1)..][..=self.inputs]
    }
}

/// The shape of a network.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Perceptron {
    sizes: Vec<usize>,
    pub(crate) layers: Vec<Layer>,
}

/// Activations of each layer, and derivatives of the loss by those of one and of the layer below. All are written
/// before they are read.
#[derive(Default)]
struct Space {
    activations: Vec<f64>,
    upper: Vec<f64>,
    lower: Vec<f64>,
}

thread_local! {
    static SPACE: RefCell<Space> = RefCell::default();
}

impl Perceptron {
    /// A network with this many inputs, and these numbers of units in hidden layers.
    pub(crate) fn new(inputs: usize, hidden: &[usize]) -> Result<Self, DefinitionError> {
        let sizes = [&[inputs], hidden].concat();
        if hidden.contains(&0) {
            return Err(DefinitionError::NetworkShape);
        }
        let (mut layers, mut first) = (Vec::new(), 0);
        for (k, &inputs) in sizes.iter().enumerate() {
            let units = sizes.get(k + 1).copied().unwrap_or(1);
            layers.push(Layer { inputs, units, first });
            first += (inputs + 1) * units;
        }
        Ok(Self { sizes, layers })
    }

    /// Number of weights, biases included.
    pub(crate) fn weights(&self) -> usize {
        self.layers.iter().map(|layer| (layer.inputs + 1) * layer.units).sum()
    }

    pub(crate) fn inputs(&self) -> usize {
        self.sizes[0]
    }

    /// Uniform weights and biases between $\pm d^{-1/2}$ for $d$ inputs of a layer: the initialisation of PyTorch.
    pub(crate) fn start(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let bounds = self.layers.iter().flat_map(|layer| {
            let bound = (layer.inputs.max(1) as f64).sqrt().recip();
            std::iter::repeat_n(bound, (layer.inputs + 1) * layer.units)
        });
        bounds.map(|bound| rng.random_range(-bound..bound)).collect()
    }

    /// The same network as a model.
    pub(crate) fn model(&self, noise_variance: f64) -> Result<Network, DefinitionError> {
        Network::new(&self.sizes, OutputNoise::Known(noise_variance))
    }

    /// Reorders values of weights to the order of the model, input by input. As it divides sums by $\sqrt{d+1}$, they
    /// are multiplied by a power of that: 1 for weights, 2 for their variances.
    pub(crate) fn in_order_of_the_model(&self, values: &[f64], power: i32) -> Vec<f64> {
        let mut out = vec![0.0; values.len()];
        for layer in &self.layers {
            let by = ((layer.inputs + 1) as f64).sqrt().powi(power);
            for j in 0..layer.units {
                for (i, x) in layer.unit(values, j).iter().enumerate() {
                    out[layer.first + i * layer.units + j] = by * x;
                }
            }
        }
        out
    }

    /// The output minus the target.
    pub(crate) fn residual(&self, weights: &[f64], record: &[f64]) -> f64 {
        SPACE.with_borrow_mut(|space| self.forward(weights, &record[..self.inputs()], space))
            - record[self.inputs()]
    }

    /// The gradient of half the squared residual, written to `out`.
    pub(crate) fn gradient(&self, weights: &[f64], record: &[f64], out: &mut [f64]) {
        SPACE.with_borrow_mut(|space| {
            let inputs = self.inputs();
            let residual = self.forward(weights, &record[..inputs], space) - record[inputs];
            self.backward(weights, residual, space, out);
        });
    }

    fn forward(&self, weights: &[f64], inputs: &[f64], space: &mut Space) -> f64 {
        let z = &mut space.activations;
        z.clear();
        z.extend_from_slice(inputs);
        let mut place = 0;
        for (k, layer) in self.layers.iter().enumerate() {
            let last = k + 1 == self.layers.len();
            for j in 0..layer.units {
                let unit = layer.unit(weights, j);
                let a = dot(&unit[..layer.inputs], &z[place..place + layer.inputs]) + unit[layer.inputs];
                z.push(if last { a } else { a.max(0.0) });
            }
            place += layer.inputs;
        }
        z[place]
    }

    fn backward(&self, weights: &[f64], by_output: f64, space: &mut Space, out: &mut [f64]) {
        let Space { activations, upper, lower } = space;
        upper.clear();
        upper.push(by_output);
        let mut place = activations.len() - 1;
        for (k, layer) in self.layers.iter().enumerate().rev() {
            place -= layer.inputs;
            let z = &activations[place..place + layer.inputs];
            lower.clear();
            lower.resize(layer.inputs, 0.0);
            for (j, &by) in upper.iter().enumerate() {
                let into = layer.unit_mut(out, j);
                into[..layer.inputs].iter_mut().zip(z).for_each(|(into, z)| *into = by * z);
                into[layer.inputs] = by;
                if k > 0 && by != 0.0 {
                    let unit = &layer.unit(weights, j)[..layer.inputs];
                    lower.iter_mut().zip(unit).for_each(|(lower, w)| *lower += by * w);
                }
            }
            // Through the units below: inactive units have no gradient.
            lower.iter_mut().zip(z).filter(|(_, z)| **z <= 0.0).for_each(|(lower, _)| *lower = 0.0);
            std::mem::swap(upper, lower);
        }
    }
}
