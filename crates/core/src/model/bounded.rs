//! Predictions of a number that lies within known bounds.

use crate::model::{Highlight, ModelError, Point, Posterior, Predicted, Saved};

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
    fn points(&self) -> Vec<Point> {
        self.0.points()
    }
    fn highlights(&self, inputs: &[String]) -> Vec<Highlight> {
        self.0.highlights(inputs)
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
    fn points(&self) -> Vec<Point> {
        self.as_ref().points()
    }
    fn highlights(&self, inputs: &[String]) -> Vec<Highlight> {
        self.as_ref().highlights(inputs)
    }
    fn warnings(&self, inputs: &[String]) -> Vec<String> {
        self.as_ref().warnings(inputs)
    }
    fn save(&self) -> Result<Saved, ModelError> {
        self.as_ref().save()
    }
}
