//! Why a model was not planned, fitted or loaded.

use reticent::baseline::BaselineError;
use reticent::model::hmm::HmmError;
use reticent::model::linear::LinearError;
use reticent::model::logistic::LogisticError;
use reticent::model::mixture::{FitError, MixtureError};
use reticent::model::network::NetworkError;
use reticent::model::regression::RegressionError;
use reticent::wall::WallError;
use thiserror::Error;

use crate::setting::Range;
use crate::{Estimate, Limits};

/// Why a model was not planned, fitted or loaded. Nothing in it depends on a record, with the exceptions of [`WallError`].
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message says what its variant and fields are")]
pub enum ModelError {
    #[error("there is no model {name:?}; hint: known are {}", names())]
    Unknown { name: String },
    #[error(
        "a {model} model needs {expected}, and the schema has {found}; hint: choose another model or another target"
    )]
    Target { model: &'static str, expected: &'static str, found: &'static str },
    #[error("a {model} model needs {expected}; hint: choose other columns or another model")]
    Columns { model: &'static str, expected: &'static str },
    #[error(
        "a {model} model needs columns of words alone; hint: give each a `vocabulary` and `kind = \"text\"` in the schema, and leave the others out"
    )]
    Words { model: &'static str },
    #[error("a {model} model has no setting {name:?}; hint: it has {}", settings(model))]
    NoSetting { model: &'static str, name: String },
    #[error("a {model} model needs a value for {name:?}, {range}: {about}; hint: add --set {name}=NUMBER")]
    NeedsSetting { model: &'static str, name: &'static str, range: Range, about: &'static str },
    #[error("{name:?} of a {model} model must be {range}; hint: it is {about}")]
    Setting { model: &'static str, name: &'static str, range: Range, about: &'static str },
    #[error(
        "this fit would take {estimate}, and without being asked for at most {limits}; hint: choose fewer columns, levels or \
         steps, or smaller settings, or add --allow-large"
    )]
    TooLarge { estimate: Estimate, limits: Limits },
    #[error(
        "a {model} model cannot be fitted with privacy yet; hint: use regression, or --no-privacy for a result that you keep"
    )]
    OnlyWithoutPrivacy { model: &'static str },
    #[error(
        "a {model} model of two classes cannot be fitted with privacy: intervals of its probabilities would not hold the truth as often as they \
         state; hint: use `logistic` or `probit`, or --no-privacy for a result that you keep"
    )]
    PrivateClasses { model: &'static str },
    #[error(
        "a {model} model can only be fitted with privacy; hint: a large epsilon comes close to a fit without"
    )]
    OnlyWithPrivacy { model: &'static str },
    #[error(
        "this is not a plan for a {model} model of these inputs: {why}; hint: make one with `reticent plan {model} --json`, and edit that"
    )]
    Plan { model: &'static str, why: String },
    #[error("the noise left no density; hint: a larger epsilon, fewer inputs or more records are needed")]
    NoDensity,
    #[error("these arrays are not a fitted {model} model; hint: fit the model again")]
    NotSaved { model: &'static str },
    #[error("the fitted model has numbers that are not finite; hint: check the plan")]
    NotFinite,
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    #[error(transparent)]
    Hmm(#[from] HmmError),
    #[error(transparent)]
    Linear(#[from] LinearError),
    #[error(transparent)]
    Logistic(#[from] LogisticError),
    #[error(transparent)]
    Mixture(#[from] MixtureError),
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error(transparent)]
    MixtureFit(#[from] FitError),
    #[error(transparent)]
    Regression(#[from] RegressionError),
    #[error(transparent)]
    Wall(#[from] WallError),
}

fn names() -> String {
    let names: Vec<&str> = crate::models().iter().map(|model| model.name()).collect();
    names.join(", ")
}

fn settings(model: &str) -> String {
    let known = crate::model(model).map(|model| model.settings()).unwrap_or_default();
    let names: Vec<String> =
        known.iter().map(|setting| format!("{} ({})", setting.name, setting.range())).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
