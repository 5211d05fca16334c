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
    /// What is known of points among the inputs, such as the means of components. Most models have none.
    fn points(&self) -> Vec<Point> {
        Vec::new()
    }
    /// What the model is about in a few words each, such as the words of topics, given the names of the inputs. Most models have none.
    fn highlights(&self, _inputs: &[String]) -> Vec<Highlight> {
        Vec::new()
    }
    /// What a reader must know before relying on the model, as sentences, given the names of the inputs. Most models have none.
    fn warnings(&self, _inputs: &[String]) -> Vec<String> {
        Vec::new()
    }
    /// The model as named arrays.
    ///
    /// # Errors
    /// [`ModelError::NotFinite`] if it cannot be written.
    fn save(&self) -> Result<Saved, ModelError>;
}

/// A part of a model in a few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Highlight {
    /// What it is.
    pub name: String,
    /// What is most of it.
    pub text: String,
}

/// A point among the inputs that is not known exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// What it is.
    pub name: String,
    /// Where it is.
    pub mean: Vec<f64>,
    /// The standard deviation of each coordinate that the records leave.
    pub records_sd: Vec<f64>,
    /// The same with what the privacy noise adds.
    pub sd: Vec<f64>,
}
