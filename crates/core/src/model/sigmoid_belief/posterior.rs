//! Reconstructions of records, and simulated records.

use crate::math::vector::sigmoid;
use crate::model::sigmoid_belief::{BeliefModel, Beliefs};
use crate::model::{Highlight, ModelError, Posterior, Predicted, Saved};
use rand::rngs::ChaCha12Rng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

/// The posterior of a network. All of it is public if the fit was private.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeliefPosterior {
    /// The public definition.
    pub model: BeliefModel,
    /// $q(W)\,q(b)\,q(c)$.
    pub beliefs: Beliefs,
}

impl BeliefPosterior {
    /// The probabilities of the outputs, given the expected units of a record; and the lower bound on the logarithm
    /// of its probability.
    #[must_use]
    pub fn reconstruct(&self, y: &[bool]) -> (Vec<f64>, f64) {
        let hidden = self.beliefs.infer(&self.model, y);
        let bound = self.beliefs.lower_bound(&self.model, y, &hidden);
        (hidden.mean.iter().map(|&x| sigmoid(x)).collect(), bound)
    }

    /// The share of outputs of a record that are on the correct side of one half when it is reconstructed.
    #[must_use]
    pub fn accuracy(&self, y: &[bool]) -> f64 {
        let (probabilities, _) = self.reconstruct(y);
        let right = probabilities.iter().zip(y).filter(|(p, y)| (**p > 0.5) == **y).count();
        right as f64 / y.len() as f64
    }

    /// Simulates records from the network with its mean weights. The seed is public.
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

/// Number of inputs in the summary of a unit.
const HIGHLIGHTED: usize = 5;

impl Posterior for BeliefPosterior {
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        assert_eq!(inputs.len(), self.model.outputs, "an input for each output");
        let ones: Vec<bool> = inputs.iter().map(|x| *x > 0.0).collect();
        let (probabilities, bound) = self.reconstruct(&ones);
        let right = probabilities.iter().zip(&ones).filter(|(p, y)| (**p > 0.5) == **y).count();
        Predicted::Reconstruction { bound, right: right as f64 / ones.len() as f64, probabilities }
    }

    /// The largest weights of each unit.
    fn highlights(&self, inputs: &[String]) -> Vec<Highlight> {
        let j = self.model.outputs;
        let one = |(unit, weights): (usize, &[f64])| {
            let mut order: Vec<usize> = (0..j).collect();
            order.sort_by(|&a, &b| weights[b].abs().total_cmp(&weights[a].abs()));
            let strongest = order.iter().take(HIGHLIGHTED);
            let texts = strongest
                .map(|&i| format!("{} {:+.2}", inputs.get(i).map_or("?", String::as_str), weights[i]));
            Highlight { name: format!("unit {}", unit + 1), text: texts.collect::<Vec<_>>().join(", ") }
        };
        self.beliefs.weights.chunks_exact(j).enumerate().map(one).collect()
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
