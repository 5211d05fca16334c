//! Models: what each record says about the parameters.

pub mod hmm;
pub mod linear;
pub mod mixture;
pub mod network;
mod normal;
mod prediction;
pub mod regression;
mod tilt;

pub use prediction::Prediction;
