//! The posterior of a registered model.

use crate::model::{ModelError, Predicted, Saved};
use serde::Serialize;

/// A fitted model. All of it is public if the fit was private.
pub trait Posterior: Send + Sync {
    /// The prediction for one record with these inputs, with the quantiles of these probabilities if the target is a number.
    fn predict_row(&self, inputs: &[f64], probabilities: &[f64]) -> Predicted;
    /// The predictions for many records: `rows` has the inputs of one after the other, `width` numbers each. The same as
    /// [`predict_row`](Self::predict_row) for each, with one virtual call for all.
    ///
    /// # Panics
    /// If `width` is 0.
    fn predict(&self, rows: &[f64], width: usize, probabilities: &[f64]) -> Vec<Predicted> {
        rows.chunks_exact(width).map(|inputs| self.predict_row(inputs, probabilities)).collect()
    }
    /// Estimated points in the space of inputs, such as the means of components. Most models have none.
    fn points(&self) -> Vec<Point> {
        Vec::new()
    }
    /// Short summaries, such as the top words of topics, given the names of the inputs. Most models have none.
    fn highlights(&self, _inputs: &[String]) -> Vec<Highlight> {
        Vec::new()
    }
    /// Warnings for readers of the model, as sentences, given the names of the inputs. Most models have none.
    fn warnings(&self, _inputs: &[String]) -> Vec<String> {
        Vec::new()
    }
    /// The posterior as named arrays.
    ///
    /// # Errors
    /// [`ModelError::NotFinite`] if it contains numbers that JSON cannot represent.
    fn save(&self) -> Result<Saved, ModelError>;
}

/// A short summary of a part of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Highlight {
    /// Name of the part.
    pub name: String,
    /// Its main content.
    pub text: String,
}

/// An estimated point in the space of inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Name of the point.
    pub name: String,
    /// Posterior mean, in encoded units.
    pub mean: Vec<f64>,
    /// Standard deviation of each coordinate without the privacy noise.
    pub records_sd: Vec<f64>,
    /// Standard deviation of each coordinate with the privacy noise.
    pub sd: Vec<f64>,
}
