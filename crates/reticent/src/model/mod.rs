//! Models: what each record says about the parameters.

pub mod linear;
pub mod logistic;
pub mod mixture;
pub mod network;
mod normal;
pub mod polya_gamma;
mod prediction;
pub mod regression;
pub mod sigmoid_belief;
mod tilt;
pub mod topics;

pub use prediction::Prediction;
