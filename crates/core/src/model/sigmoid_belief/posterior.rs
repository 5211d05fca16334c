//! Reconstructions of records, and simulated records.

use crate::math::vector::sigmoid;
use crate::model::parameters::{Block, Fixed, Joint, Marginal, POINT_ESTIMATE, Parameter};
use crate::model::sigmoid_belief::{BeliefModel, Beliefs, PrivacyVariances};
use crate::model::{Codebook, ModelError, Parameters, Posterior, Predicted, Saved};
use rand::rngs::{ChaCha8Rng, ChaCha12Rng};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// The posterior of a network. All of it is public if the fit was private.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeliefPosterior {
    /// The public definition.
    pub model: BeliefModel,
    /// $q(W)\,q(b)\,q(c)$.
    pub beliefs: Beliefs,
    /// What the privacy noise adds to the variances; early files have none.
    #[serde(default)]
    pub privacy: PrivacyVariances,
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

impl Posterior for BeliefPosterior {
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        assert_eq!(inputs.len(), self.model.outputs, "an input for each output");
        let ones: Vec<bool> = inputs.iter().map(|x| *x > 0.0).collect();
        let (probabilities, bound) = self.reconstruct(&ones);
        let right = probabilities.iter().zip(&ones).filter(|(p, y)| (**p > 0.5) == **y).count();
        Predicted::Reconstruction { bound, right: right as f64 / ones.len() as f64, probabilities }
    }

    /// `output_bias[output]`, `unit_bias[unit]` and `weight[unit, output]`, all on the scale of log odds, as point estimates: the variational posterior
    /// takes units as independent of each other given a record, and its variances are far below the squared errors. The order and the signs of
    /// units are arbitrary.
    fn parameters(&self, codebook: &Codebook) -> Parameters {
        let unit = |k: usize| ("unit", (k + 1).to_string());
        let output = |k: usize| {
            ("output", codebook.columns.get(k).map_or_else(|| k.to_string(), |column| column.label()))
        };
        let block = |variable, values: &[f64], place: &dyn Fn(usize) -> Vec<(&'static str, String)>| {
            let parameter = |k| Parameter::new(variable, place(k), k).with_note(POINT_ESTIMATE);
            let marginal = |&value: &f64| Box::new(Fixed(value)) as Box<dyn Marginal>;
            Block {
                parameters: (0..values.len()).map(parameter).collect(),
                joint: Joint::Independent(values.iter().map(marginal).collect()),
            }
        };
        let (beliefs, j) = (&self.beliefs, self.model.outputs);
        Parameters::new(vec![
            block("output_bias", &beliefs.output_biases, &|k| vec![output(k)]),
            block("unit_bias", &beliefs.unit_biases, &|k| vec![unit(k)]),
            block("weight", &beliefs.weights, &|k| vec![unit(k / j), output(k % j)]),
        ])
    }

    /// Units by draws of their biases, and outputs by draws of weights and biases.
    fn simulate(&self, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        let (Beliefs { weights, variances, .. }, j) = (&self.beliefs, self.model.outputs);
        let mut normal = |mean: f64, variance: f64| -> f64 {
            let z: f64 = StandardNormal.sample(rng);
            mean + z * variance.max(0.0).sqrt()
        };
        let added = |of: &[f64], k: usize| of.get(k).copied().unwrap_or(0.0);
        let of =
            |means: &[f64], variances: &[f64], privacy: &[f64], normal: &mut dyn FnMut(f64, f64) -> f64| {
                let one = |(k, (mean, variance)): (usize, (&f64, &f64))| {
                    normal(*mean, variance + added(privacy, k))
                };
                means.iter().zip(variances).enumerate().map(one).collect::<Vec<f64>>()
            };
        let Beliefs { unit_biases, unit_variances, output_biases, output_variances, .. } = &self.beliefs;
        let units = of(unit_biases, unit_variances, &self.privacy.unit_biases, &mut normal);
        let mut psi = of(output_biases, output_variances, &self.privacy.output_biases, &mut normal);
        for (unit, b) in units.into_iter().enumerate() {
            if rng.random_bool(sigmoid(b)) {
                for (output, psi) in psi.iter_mut().enumerate() {
                    let cell = unit * j + output;
                    let z: f64 = StandardNormal.sample(rng);
                    *psi += weights[cell] + z * variances[cell].max(0.0).sqrt();
                }
            }
        }
        Some(psi.into_iter().map(|psi| if rng.random_bool(sigmoid(psi)) { 1.0 } else { -1.0 }).collect())
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
