//! Models: what each record says about the parameters.

pub mod linear;
pub mod logistic;
pub mod mixture;
pub mod mixture_vb;
pub mod network;
pub(crate) mod normal;
pub mod polya_gamma;
mod prediction;
pub mod regression;
mod tilt;

pub use prediction::Prediction;
