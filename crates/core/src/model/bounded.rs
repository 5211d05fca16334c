//! Predictions of a number that lies within known bounds.

use crate::model::{Codebook, Contrast, ModelError, Parameters, Posterior, Predicted, Saved};
use rand::rngs::ChaCha8Rng;

/// A model whose target is a number between -1 and 1, since it was clipped when it was encoded. Means and quantiles
/// outside are clipped to the nearer bound.
pub struct Bounded<F>(pub F);

impl<F: Posterior> Posterior for Bounded<F> {
    fn predict_row(&self, inputs: &[f64], probabilities: &[f64]) -> Predicted {
        self.0.predict_row(inputs, probabilities).within_bounds()
    }
    fn predict(&self, rows: &[f64], width: usize, probabilities: &[f64]) -> Vec<Predicted> {
        let predicted = self.0.predict(rows, width, probabilities);
        predicted.into_iter().map(Predicted::within_bounds).collect()
    }
    fn parameters(&self, codebook: &Codebook) -> Parameters {
        self.0.parameters(codebook)
    }
    fn contrast(&self, inputs: &[f64], reference: &[f64]) -> Option<Contrast> {
        self.0.contrast(inputs, reference)
    }
    fn centre(&self) -> Option<&[f64]> {
        self.0.centre()
    }
    fn simulate(&self, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        self.0.simulate(rng)
    }
    fn warnings(&self, inputs: &[String]) -> Vec<String> {
        self.0.warnings(inputs)
    }
    fn save(&self) -> Result<Saved, ModelError> {
        self.0.save()
    }
}

impl Posterior for Box<dyn Posterior> {
    fn predict_row(&self, inputs: &[f64], probabilities: &[f64]) -> Predicted {
        self.as_ref().predict_row(inputs, probabilities)
    }
    fn predict(&self, rows: &[f64], width: usize, probabilities: &[f64]) -> Vec<Predicted> {
        self.as_ref().predict(rows, width, probabilities)
    }
    fn parameters(&self, codebook: &Codebook) -> Parameters {
        self.as_ref().parameters(codebook)
    }
    fn contrast(&self, inputs: &[f64], reference: &[f64]) -> Option<Contrast> {
        self.as_ref().contrast(inputs, reference)
    }
    fn centre(&self) -> Option<&[f64]> {
        self.as_ref().centre()
    }
    fn simulate(&self, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        self.as_ref().simulate(rng)
    }
    fn warnings(&self, inputs: &[String]) -> Vec<String> {
        self.as_ref().warnings(inputs)
    }
    fn save(&self) -> Result<Saved, ModelError> {
        self.as_ref().save()
    }
}
