//! Models: what each record says about the parameters.

pub mod conjugate;
pub mod hmm;
pub(crate) mod known_targets;
pub mod linear;
pub mod logistic;
pub mod mixture;
pub mod mixture_vb;
pub mod network;
pub(crate) mod normal;
pub mod polya_gamma;
mod prediction;
pub mod regression;
pub mod sigmoid_belief;
mod tilt;
pub mod topics;

pub(crate) use normal::log_cdf as log_normal_cdf;
pub use prediction::Prediction;
