//! Baselines for private networks: other ways to fit the same network of rectified linear units to the same records.
//!
//! - [`Variational`]: mean-field variational inference, without privacy.
//! - [`DpSgd`]: point estimates by stochastic gradient descent with clipped and noisy gradients.
//!
//! Both predict through [`NetworkPosterior`](crate::model::network::NetworkPosterior), as the model itself does.
//! Records are rows of inputs and the target, already scaled.

mod adam;
pub(crate) mod perceptron;

pub use crate::model::network_sgd::{DpSgd, DpSgdPlan, Optimiser};
pub use crate::model::network_vi::Variational;
pub use adam::Adam;

#[cfg(test)]
mod tests;
