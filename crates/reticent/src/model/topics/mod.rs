//! Topics

mod document;
mod exp_digamma;
mod infer;

pub use document::{Document, Layout};
pub use infer::{Expected, Inferred, Until};
