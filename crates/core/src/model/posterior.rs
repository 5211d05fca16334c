//! The posterior of a registered model.

use crate::model::{Codebook, ModelError, Parameters, Predicted, Saved};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

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
    /// The parameters, named and in the units of the schema, with their joint posterior distribution.
    fn parameters(&self, codebook: &Codebook) -> Parameters;
    /// The difference between the predictors of two records: of the target in encoded units, or of the score of two classes. `None`
    /// for models without a target.
    fn contrast(&self, _inputs: &[f64], _reference: &[f64]) -> Option<Contrast> {
        None
    }
    /// Encoded inputs near the mean of the records, if the fit has released them: what effects are compared with.
    fn centre(&self) -> Option<&[f64]> {
        None
    }
    /// A new encoded record from the posterior predictive distribution, without the target; `None` if the model has no distribution of
    /// records.
    fn simulate(&self, _rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        None
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

impl dyn Posterior + '_ {
    /// Simulated records of a public seed and of one of its streams, each with [`simulate`](Posterior::simulate).
    #[must_use]
    pub fn simulate_rows(&self, rows: usize, seed: u64, stream: u64) -> Option<Vec<Vec<f64>>> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stream);
        (0..rows).map(|_| self.simulate(&mut rng)).collect()
    }
}

/// The difference between the predictors of two records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrast {
    /// Posterior mean.
    pub mean: f64,
    /// Posterior variance without the privacy noise.
    pub records: f64,
    /// Variance added by the privacy noise.
    pub privacy: f64,
}
