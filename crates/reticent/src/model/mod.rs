//! Models: what each record says about the parameters.

pub mod linear;
pub mod mixture;
pub mod network;
mod normal;
mod prediction;
mod tilt;

pub use prediction::Prediction;
