//! What private models are compared with.
//!
//! Other ways to fit the same network of rectified linear units to the same records:
//!
//! - [`Variational`]: mean-field variational inference, without privacy.
//! - [`DpSgd`]: weights without uncertainty by stochastic gradient descent with clipped and noised gradients.
//!
//! Both predict through [`NetworkPosterior`](crate::model::network::NetworkPosterior), as the model itself does. Records are
//! rows of inputs and the target, already scaled.
//!
//! - [`GaussianNaiveBayes`]: classes by normal columns, for naive Bayes by tables of counts.

mod adam;
mod dp_sgd;
mod gaussian_naive_bayes;
mod perceptron;
mod variational;

pub use dp_sgd::{DpSgd, DpSgdPlan, Optimiser};
pub use gaussian_naive_bayes::GaussianNaiveBayes;
pub use variational::Variational;

use crate::model::network::NetworkError;
use crate::wall::WallError;
use thiserror::Error;

/// Why a baseline cannot be fitted.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message says what its variant is")]
pub enum BaselineError {
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error(transparent)]
    Wall(#[from] WallError),
    #[error("rates, batches, clips, passes and shares must be positive, and a batch at most all records")]
    Settings,
}

#[cfg(test)]
mod tests;
