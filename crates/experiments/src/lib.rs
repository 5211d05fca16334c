//! Reproduction of published experiments: data, ground truth, metrics, tables and figures.
//!
//! Four nouns: a [`Mixture`](mixture::Mixture) is a data set with the model behind it; its [`truth`] is the exact or
//! sampled posterior of the component means, as [`Moments`](metrics::Moments); the [`metrics`]
//! measure the distance of a fit from the truth; a [`Table`](table::Table) and a [`figure`] show the result. [`uci`] is about regressions on
//! public data sets, [`conjugate`] about posteriors from noisy statistics; a [`baseline`] is a method to compare with.
//!
//! ```
//! use reticent_experiments::{metrics, mixture, truth};
//!
//! let data = mixture::paper_data(60, 1000, 4, 4)?;
//! let exact = truth::given_labels(&data);
//! let wrong_prior = truth::published(&data);
//! assert!(metrics::accuracy(&exact, &wrong_prior)?.f_mean > 0.01);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate has unprotected access to the records. It is for simulated or public data and for measurements, not for release.

pub mod adult;
pub mod baseline;
mod cholesky;
pub mod conjugate;
pub mod coverage;
pub mod crashes;
pub mod error;
pub mod figure;
pub mod jobs;
pub mod matching;
pub mod memory;
pub mod metrics;
pub mod mixture;
pub mod numpy;
pub mod table;
pub mod table1;
pub mod truth;
pub mod uci;
pub mod vips;
pub mod year;
