//! Every model under one roof: planned, fitted, saved, loaded and asked for predictions in the same way.
//!
//! - A [`Model`] has a name, and turns public [`Facts`] about encoded rows into a plan.
//! - A [`Planned`] fit can be read, priced, edited as JSON and run on records.
//! - A [`Fitted`] model makes [predictions](Predicted), which a [`Score`] compares with the truth, and can be [`Saved`] as named arrays.
//!
//! What uses models knows only these, so that a new one needs one file here, one line in [`models`], and nothing elsewhere.
//!
//! ```
//! use reticent::budget::{Adjacency, Privacy, Unlimited};
//! use reticent::wall::{NoiseSource, Records};
//! use reticent_models::{Facts, Predicted, Target, model};
//!
//! let values = (0..5000).map(|n| f64::from(n) / 2500.0 - 1.0).flat_map(|x| [x, (3.0 * x).sin() / 2.0]).collect();
//! let privacy = Privacy::new(1.0, 1e-5, Adjacency::ReplaceOne)?;
//! let facts = Facts::new(vec![1], Target::Number, 5000);
//! let plan = model("regression")?.plan(&facts, Some(&privacy))?; // no record has been seen yet
//!
//! let (fitted, receipt) =
//!     plan.fit(Records::new(values, 2)?, NoiseSource::from_os()?, Some(&privacy), Box::new(Unlimited))?;
//! let again = model("regression")?.load(&fitted.save()?)?; // as if from a file
//! assert_eq!(again.predict(&[0.5], &[0.05, 0.95]), fitted.predict(&[0.5], &[0.05, 0.95]));
//! assert!(receipt.guarantee.cost().is_some_and(|cost| cost.epsilon.upper <= 1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod baseline;
mod bernoulli;
mod bounded;
mod categorical;
mod conjugate;
#[cfg(test)]
mod conjugate_tests;
mod error;
mod estimate;
mod hmm;
mod logistic;
mod mixture;
mod model;
mod multivariate;
mod naive_bayes;
mod network;
mod normal;
mod poisson;
mod predicted;
mod probit;
mod regression;
mod saved;
mod score;
mod setting;
mod sigmoid_belief;
mod topics;
mod without_privacy;

pub use bounded::Bounded;
pub use error::ModelError;
pub use estimate::{Estimate, Limits, OPERATIONS_PER_SECOND};
pub use model::{Facts, Fitted, Highlight, Model, Outline, Planned, Point, Release, Target, check_settings};
pub use predicted::{Link, Predicted, Variances};
pub use saved::Saved;
pub use score::{Calibration, QUANTILES, Score, Scorer};
pub use setting::{Range, Setting};
pub use without_privacy::without_privacy;

/// All models, by name.
#[must_use]
pub fn models() -> &'static [&'static dyn Model] {
    MODELS
}

static MODELS: &[&dyn Model] = &[
    &regression::REGRESSION,
    &regression::LINEAR,
    &logistic::Logistic,
    &probit::Probit,
    &mixture::Mixtures,
    &network::Networks,
    &hmm::HiddenMarkov,
    &topics::Topics,
    &sigmoid_belief::SigmoidBelief,
    &baseline::VariationalNetworks,
    &baseline::GradientNetworks,
    &bernoulli::BetaBernoulli,
    &categorical::DirichletCategorical,
    &naive_bayes::NaiveBayes,
    &normal::NormalColumns,
    &multivariate::MultivariateNormal,
    &poisson::PoissonCounts,
];

/// The model of this name.
///
/// # Errors
/// [`ModelError::Unknown`] lists those that there are.
pub fn model(name: &str) -> Result<&'static dyn Model, ModelError> {
    let found = models().iter().copied().find(|model| model.name() == name);
    found.ok_or_else(|| ModelError::Unknown { name: name.to_owned() })
}
