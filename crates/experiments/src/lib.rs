//! What the reproduction of published experiments needs besides inference.
//!
//! Four nouns: a [`Mixture`](mixture::Mixture) is a data set with the model behind it; its [`truth`] is the exact or
//! sampled posterior of the component means, as [`Moments`](metrics::Moments); the [`metrics`]
//! say how far a fit is from the truth; a [`Table`](table::Table) and a [`figure`] show the result. [`uci`] is about regressions on
//! public data sets, [`conjugate`] about posteriors from noisy statistics; a [`baseline`] is what they are compared with.
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
//! Everything here sees the records in the clear. It is for simulated or public data and for measuring, not for release.

pub mod adult;
pub mod baseline;
mod cholesky;
pub mod conjugate;
pub mod coverage;
pub mod crashes;
pub mod figure;
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
