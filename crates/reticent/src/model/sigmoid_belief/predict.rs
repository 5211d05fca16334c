//! What a network says about records, and records that it makes up.

use super::{BeliefModel, Beliefs, sigmoid};
use rand::rngs::ChaCha12Rng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

/// A network that has been learnt. All of it is public if it was learnt privately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeliefPosterior {
    /// What was known beforehand.
    pub model: BeliefModel,
    /// $q(W)\,q(b)\,q(c)$.
    pub beliefs: Beliefs,
}

impl BeliefPosterior {
    /// The probabilities of the outputs, given the units that a record lets expect; and the lower bound on the logarithm of its own probability.
    #[must_use]
    pub fn reconstruct(&self, y: &[bool]) -> (Vec<f64>, f64) {
        let hidden = self.beliefs.infer(&self.model, y);
        let bound = self.beliefs.lower_bound(&self.model, y, &hidden);
        (hidden.mean.iter().map(|&x| sigmoid(x)).collect(), bound)
    }

    /// The share of outputs of a record that are on the right side of one half when it is reconstructed.
    #[must_use]
    pub fn accuracy(&self, y: &[bool]) -> f64 {
        let (probabilities, _) = self.reconstruct(y);
        let right = probabilities.iter().zip(y).filter(|(p, y)| (**p > 0.5) == **y).count();
        right as f64 / y.len() as f64
    }

    /// So many records from the network with its mean weights. The seed is public.
    #[must_use]
    pub fn sample(&self, records: usize, seed: u64) -> Vec<Vec<bool>> {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let (beliefs, j) = (&self.beliefs, self.model.outputs);
        let mut one = || {
            let mut psi = beliefs.output_biases.clone();
            for (unit, &b) in beliefs.unit_biases.iter().enumerate() {
                if rng.random_bool(sigmoid(b)) {
                    psi.iter_mut().zip(&beliefs.weights[unit * j..]).for_each(|(psi, w)| *psi += w);
                }
            }
            psi.into_iter().map(|psi| rng.random_bool(sigmoid(psi))).collect()
        };
        (0..records).map(|_| one()).collect()
    }
}
