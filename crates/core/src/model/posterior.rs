//! The posterior of a registered model.

use crate::model::{ModelError, Predicted, Saved};
use serde::Serialize;

/// A fitted model. All of it is public if the fit was private.
pub trait Posterior: Send + Sync {
    /// The prediction for a record with these inputs, with the quantiles of these probabilities if the target is
    /// numeric.
    fn predict(&self, inputs: &[f64], probabilities: &[f64]) -> Predicted;
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
