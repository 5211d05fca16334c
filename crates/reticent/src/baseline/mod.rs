//! What private models are compared with.
//!
//! Other ways to fit the same network of rectified linear units to the same records:
//!
//! - [`Variational`]: mean-field variational inference, without privacy.
//! - [`DpSgd`]: weights without uncertainty by stochastic gradient descent with clipped and noised gradients.
//!
//! Both of these predict through [`NetworkPosterior`](crate::model::network::NetworkPosterior), as the model itself does. Records are
//! rows of inputs and the target, already scaled.
//!
//! And what private logistic regression is compared with:
//!
//! - [`ObjectivePerturbation`]: the minimum of a loss to which a random slope was added.
//! - [`Dpvi`]: variational inference with clipped and noised gradients.
//!
//! And [`GaussianNaiveBayes`]: classes by normal columns, for naive Bayes by tables of counts.

mod adam;
mod dp_sgd;
mod dpvi;
mod gaussian_naive_bayes;
mod objective_perturbation;
mod perceptron;
mod validate;
mod variational;

pub use dp_sgd::{DpSgd, DpSgdPlan, Optimiser};
pub use dpvi::Dpvi;
pub use gaussian_naive_bayes::GaussianNaiveBayes;
pub use objective_perturbation::ObjectivePerturbation;
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
