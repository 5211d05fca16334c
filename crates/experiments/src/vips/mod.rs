//! Topics and sigmoid belief networks after Park, Foulds, Chaudhuri, Welling, "Variational Bayes in private settings (VIPS)", JAIR 2020.
//!
//! Where the sensitivity or accounting of the paper does not hold, tables have the printed and the actual epsilon.

pub mod belief;
mod data;
pub mod topics;

pub use data::{Corpus, Images};
