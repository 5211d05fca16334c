//! Research baselines that `reticent fit` does not offer.
//!
//! Baselines of private logistic regression:
//!
//! - [`ObjectivePerturbation`]: the minimum of a loss to which a random slope was added.
//! - [`Dpvi`]: variational inference with clipped and noised gradients.
//!
//! [`GaussianNaiveBayes`] assumes normal columns, where naive Bayes of the product counts; [`VariationalMixture`] is a mixture by
//! variational Bayes, where that of the product uses expectation propagation. The baselines of networks are models of the product:
//! [`reticent_core::baseline`].

mod dpvi;
mod gaussian_naive_bayes;
mod mixture_vb;
mod objective_perturbation;

pub use dpvi::Dpvi;
pub use gaussian_naive_bayes::GaussianNaiveBayes;
pub use mixture_vb::VariationalMixture;
pub use objective_perturbation::ObjectivePerturbation;
