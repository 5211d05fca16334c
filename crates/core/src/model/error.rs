//! Errors of planning, fitting and loading models.

use crate::budget::LedgerError;
use crate::math::matrix::EigenError;
use crate::model::settings::SettingKind;
use crate::model::{Estimate, Limits};
use crate::wall::{PlanError, WallError};
use thiserror::Error;

/// Why a model was not planned, fitted or loaded. Nothing in it depends on a record, with the exceptions of [`WallError`].
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message explains its variant and fields")]
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
    #[error(
        "a {model} model needs a value for {name:?}, {range}: {about}; hint: give `setting` {name}=VALUE"
    )]
    NeedsSetting { model: &'static str, name: &'static str, range: SettingKind, about: &'static str },
    #[error("{name:?} of a {model} model must be {range}; hint: it is {about}")]
    Setting { model: &'static str, name: &'static str, range: SettingKind, about: &'static str },
    #[error(
        "this fit would take {estimate}, and without being asked for at most {limits}; hint: choose fewer columns, levels or \
         steps, or smaller settings, or allow it with `allow_large`"
    )]
    TooLarge { estimate: Estimate, limits: Limits },
    #[error(
        "a {model} model cannot be fitted with privacy yet; hint: use regression, or `without_privacy` for a result that you keep"
    )]
    OnlyWithoutPrivacy { model: &'static str },
    #[error(
        "a {model} model of two classes cannot be fitted with privacy: intervals of its probabilities would not hold the truth as often as they \
         state; hint: use `logistic` or `probit`, or `without_privacy` for a result that you keep"
    )]
    PrivateClasses { model: &'static str },
    #[error(
        "a {model} model cannot use the priors of coefficients that the schema states; hint: leave out `prior`, or use `linear` or `logistic`"
    )]
    Priors { model: &'static str },
    #[error(
        "this is not a plan for a {model} model of these inputs: {why}; hint: make one with `Plan::to_json`, and edit that"
    )]
    Plan { model: &'static str, why: String },
    #[error(
        "the posterior became improper under the noise; hint: a larger epsilon, fewer inputs or more records are needed"
    )]
    NoDensity,
    #[error("these arrays are not a fitted {model} model; hint: fit the model again")]
    NotSaved { model: &'static str },
    #[error("the fitted model has numbers that are not finite; hint: check the plan")]
    NotFinite,
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    #[error(transparent)]
    Fit(#[from] FitError),
    #[error(transparent)]
    Wall(#[from] WallError),
}

/// Why a fit of a model was not planned or not made.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message explains its variant")]
pub enum FitError {
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    #[error("the plan is for another model: {0}")]
    OtherModel(&'static str),
    #[error("delta must be positive: the noise is Gaussian")]
    NoDelta,
    #[error("the posterior became improper: the plan has too little noise or too large steps")]
    Improper,
    #[error("{0}: the plan has too little noise or too large steps")]
    Eigen(#[from] EigenError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Wall(#[from] WallError),
    #[error(transparent)]
    Accounting(#[from] reticent_accounting::Error),
}

/// Why a model or its plan is invalid. Nothing in it depends on a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "each message explains its variant and fields")]
pub enum DefinitionError {
    #[error("the covariance of weights must be full or diagonal")]
    Covariance,
    #[error("one prior precision is needed for each input and for the bias, not {given} for {inputs} inputs")]
    LinearShape { inputs: usize, given: usize },
    #[error("a mixture needs components, and means of the same dimension for them")]
    MixtureShape,
    #[error("a network needs a number of inputs, and at least one unit in each hidden layer")]
    NetworkShape,
    #[error(
        "variances, precisions and concentrations must be positive, the shape of a gamma prior above 1, and a floor \
         between 0 and 1"
    )]
    NotPositive,
    #[error(
        "a regression needs at least one input and one record, and a plan positive numbers within reason"
    )]
    Regression,
    #[error("a logistic regression needs columns and records, and a plan positive numbers within reason")]
    Logistic,
    #[error(
        "a private fit of a mixture needs a known noise variance and equal weights; hint: use the engine directly"
    )]
    MixtureUnsupported,
    #[error("epsilon and delta must be positive, and the numbers of the plan of a mixture too")]
    MixturePlan,
    #[error(
        "a hidden Markov model needs regions, steps and fields with categories, and less than 2^28 counts"
    )]
    HmmLayout,
    #[error("a hidden Markov model needs 1 to 1000 states, and positive priors")]
    HmmNumbers,
    #[error("there must be a count for each cell and category, and a mark for each cell")]
    HmmCounts,
    #[error(
        "rates, batches, clipping norms, passes and shares must be positive, and a batch at most all records"
    )]
    Baseline,
}

/// The category of an error, which determines what a caller may do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Budget: the plan costs more than is allowed, or the ledger refused it.
    Budget,
    /// The model, its settings, its plan, or the shape of the table.
    Settings,
    /// The records, or a saved model.
    Data,
    /// The observer stopped the fit.
    Stopped,
    /// An internal failure: noise, a journal, or numbers that are not finite.
    Internal,
}

impl ModelError {
    /// The category of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NotSaved { .. } => ErrorKind::Data,
            Self::NotFinite | Self::NoDensity => ErrorKind::Internal,
            Self::Fit(error) => error.kind(),
            Self::Wall(error) => wall_kind(error),
            _ => ErrorKind::Settings,
        }
    }

    /// The wall's refusal that caused it, if there is one.
    #[must_use]
    pub fn wall(&self) -> Option<&WallError> {
        match self {
            Self::Wall(error) | Self::Fit(FitError::Wall(error)) => Some(error),
            _ => None,
        }
    }
}

impl FitError {
    /// The category of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Wall(error) => wall_kind(error),
            Self::Improper | Self::Eigen(_) => ErrorKind::Internal,
            _ => ErrorKind::Settings,
        }
    }
}

fn wall_kind(error: &WallError) -> ErrorKind {
    match error {
        WallError::OverBudget { .. } | WallError::Ledger(LedgerError::Refused(_)) => ErrorKind::Budget,
        WallError::Stopped => ErrorKind::Stopped,
        WallError::Shape { .. } | WallError::RecordCount { .. } => ErrorKind::Data,
        WallError::Plan(_) | WallError::Privacy(_) => ErrorKind::Settings,
        _ => ErrorKind::Internal,
    }
}

fn names() -> String {
    let names: Vec<&str> = crate::model::models().iter().map(|model| model.name()).collect();
    names.join(", ")
}

fn settings(model: &str) -> String {
    let known = crate::model::model(model).map(|model| model.declaration().settings).unwrap_or_default();
    let names: Vec<String> =
        known.iter().map(|setting| format!("{} ({})", setting.name, setting.range())).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
