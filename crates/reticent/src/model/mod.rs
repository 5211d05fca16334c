//! Models: what each record says about the parameters.

pub mod mixture;
pub mod network;
