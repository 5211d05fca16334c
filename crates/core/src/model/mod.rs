//! Models: planned, priced, fitted, saved, loaded and used for predictions through the same traits.
//!
//! - A [`Model`] has a name and [settings](Setting), and turns the public [`TableShape`] of encoded rows into a plan.
//! - A [`Planned`] fit can be read, priced, edited as JSON and run on records.
//! - A [`Posterior`] has named [parameters](Parameters) in the units of a [`Codebook`], makes [predictions](Predicted), which a [`Score`]
//!   compares with the truth, and can be [`Saved`] as named arrays.
//!
//! Each model is one folder: `mod.rs` (what it is, its settings, what it is not for), `plan.rs`, `query.rs` (the contribution of
//! one record), `posterior.rs` and `tests.rs`. A new model is one folder and one line in `registry.rs`: see
//! `docs/adding-a-model.md`.
//!
//! ```
//! use reticent_core::budget::{Adjacency, Privacy, Unlimited};
//! use reticent_core::model::{TableShape, Target, model};
//! use reticent_core::wall::{NoiseSource, Records};
//!
//! let values = (0..5000).map(|n| f64::from(n) / 2500.0 - 1.0).flat_map(|x| [x, (3.0 * x).sin() / 2.0]).collect();
//! let privacy = Privacy::new(1.0, 1e-5, Adjacency::ReplaceOne)?;
//! let shape = TableShape::new(vec![1], Target::Number, 5000);
//! let plan = model("regression")?.plan(&shape, Some(&privacy))?; // from public numbers only
//!
//! let (fitted, receipt) =
//!     plan.run(Records::new(values, 2)?, NoiseSource::from_os()?, Some(&privacy), Box::new(Unlimited))?;
//! let again = model("regression")?.load(&fitted.save()?)?; // as if from a file
//! assert_eq!(again.predict_row(&[0.5], &[0.05, 0.95]), fitted.predict_row(&[0.5], &[0.05, 0.95]));
//! assert!(receipt.guarantee.cost().is_some_and(|cost| cost.epsilon.upper <= 1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod bernoulli;
mod bounded;
mod codebook;
mod coefficient_prior;
pub mod conjugate;
pub(crate) mod dirichlet;
mod error;
mod estimate;
pub mod hmm;
pub(crate) mod known_targets;
pub mod linear;
pub mod logistic;
pub mod mixture;
pub(crate) mod multivariate_normal;
pub(crate) mod naive_bayes;
pub mod network;
pub(crate) mod network_sgd;
pub(crate) mod network_vi;
pub(crate) mod normal;
pub mod parameters;
mod planned;
pub(crate) mod poisson;
pub mod polya_gamma;
mod posterior;
mod predicted;
mod prediction;
mod probit;
mod reference;
mod registry;
pub mod regression;
mod saved;
mod score;
mod settings;
mod shape;
pub mod sigmoid_belief;
mod tilt;
pub mod topics;
mod without_privacy;

pub use bounded::Bounded;
pub use codebook::{Code, Codebook, CodedColumn};
pub use coefficient_prior::CoefficientPrior;
pub use error::{DefinitionError, ErrorKind, FitError, ModelError};
pub use estimate::{Estimate, Limits, OPERATIONS_PER_SECOND};
pub use parameters::{Draws, Parameters, Summary};
pub use planned::{Outline, Planned, Release, out_of_range, parse, same_columns, same_shape};
pub use posterior::{Contrast, Posterior};
pub use predicted::{Link, Predicted, Variances};
pub use prediction::Prediction;
pub use reference::Reference;
pub use registry::{Declaration, Model, model, models, register};
pub use saved::Saved;
pub use score::{Calibration, QUANTILES, Score, Scorer};
pub use settings::{Setting, SettingKind, SettingValue, Settings, check_settings};
pub use shape::{TableShape, Target};
pub use without_privacy::without_privacy;
