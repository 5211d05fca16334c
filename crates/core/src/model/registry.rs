//! The registry of models: one line each.

use crate::budget::Privacy;
use crate::model::planned::Planned;
use crate::model::posterior::Posterior;
use crate::model::settings::check_settings;
use crate::model::shape::{TableShape, Target};
use crate::model::{Estimate, ModelError, Reference, Saved, Setting};
use serde_json::Value;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A kind of model.
pub trait Model: Sync {
    /// In lower case, with hyphens: how callers choose it.
    fn name(&self) -> &'static str;
    /// What it is for: one sentence without a full stop, in lower case.
    fn about(&self) -> &'static str;
    /// What it is not for, and what to use instead: one sentence without a full stop, in lower case.
    fn not_for(&self) -> &'static str;
    /// The papers that the model or its fit follows; the most important first.
    fn references(&self) -> &'static [Reference];
    /// The family of its posterior.
    fn family(&self) -> &'static str;
    /// What it can predict.
    fn targets(&self) -> &'static [Target];
    /// What it can be given, with ranges and defaults.
    fn settings(&self) -> &'static [Setting] {
        &[]
    }
    /// Whether numbers must be scaled by bounds: what is outside -1 and 1 would be cut off.
    fn needs_bounds(&self) -> bool {
        true
    }
    /// Whether there is a fit with privacy.
    fn can_be_private(&self) -> bool {
        true
    }
    /// Whether there is a fit with a delta of 0: one whose noise can be Laplace noise.
    fn can_be_pure(&self) -> bool {
        false
    }
    /// Makes a plan, given that the target and the settings are allowed. Use `plan`, which sees to that.
    ///
    /// # Errors
    /// [`ModelError`] if there is no such fit.
    fn new_plan(&self, facts: &TableShape, privacy: Option<&Privacy>)
    -> Result<Box<dyn Planned>, ModelError>;
    /// Reads a plan without a look at its numbers. Use `read_plan`, which has one.
    ///
    /// # Errors
    /// [`ModelError::Plan`] if it is none.
    fn parse_plan(&self, facts: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError>;
    /// What the smallest fit of such a model takes, before a plan is made; by default nothing, where making a plan takes next to nothing.
    fn least_estimate(&self, _facts: &TableShape) -> Option<Estimate> {
        None
    }
    /// Reads a fitted model.
    ///
    /// # Errors
    /// [`ModelError::NotSaved`] if it is none.
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError>;
}

impl dyn Model + '_ {
    /// Plans a fit from public facts; without privacy if none is asked for.
    ///
    /// # Errors
    /// [`ModelError`] if there is no such fit, a setting is out of its range, or it would take more than the [limits](TableShape::limits).
    pub fn plan(
        &self,
        facts: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        check_settings(self, facts)?;
        self.least_estimate(facts).map_or(Ok(()), |least| least.check(&facts.limits))?;
        accepted(self.new_plan(facts, privacy)?, facts)
    }

    /// Reads a plan that [`Planned::to_json`] wrote and someone may have edited. Every field of it is in its range and agrees with
    /// the others and with the facts: what is read can be fitted.
    ///
    /// # Errors
    /// [`ModelError::Plan`] if it is none, [`ModelError::TooLarge`] if it would take more than the [limits](TableShape::limits).
    pub fn read_plan(&self, facts: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        check_settings(self, facts)?;
        accepted(self.parse_plan(facts, plan)?, facts)
    }
}

fn accepted(planned: Box<dyn Planned>, facts: &TableShape) -> Result<Box<dyn Planned>, ModelError> {
    planned.validate(facts)?;
    planned.cost_estimate().check(&facts.limits)?;
    Ok(planned)
}

/// All models: those of this crate, and those that were [registered](register).
#[must_use]
pub fn models() -> &'static [&'static dyn Model] {
    static ALL: OnceLock<Vec<&'static dyn Model>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
        added.1 = true;
        MODELS.iter().copied().chain(added.0.iter().copied()).collect()
    })
}

/// Models of other crates, and whether the list has been read.
static ADDED: Mutex<(Vec<&'static dyn Model>, bool)> = Mutex::new((Vec::new(), false));

/// Adds a model of another crate, so that it is planned, fitted, saved and loaded by its name like every other. It has to be added
/// before the first look at the list, since the list does not change after that; returns whether it was.
pub fn register(model: &'static dyn Model) -> bool {
    let mut added = ADDED.lock().unwrap_or_else(PoisonError::into_inner);
    if !added.1 {
        added.0.push(model);
    }
    !added.1
}

static MODELS: &[&dyn Model] = &[
    &super::regression::REGRESSION,
    &super::regression::LINEAR,
    &super::logistic::Logistic,
    &super::probit::Probit,
    &super::mixture::Mixtures,
    &super::network::Networks,
    &super::hmm::HiddenMarkov,
    &super::topics::Topics,
    &super::sigmoid_belief::SigmoidBelief,
    &super::network_vi::VariationalNetworks,
    &super::network_sgd::GradientNetworks,
    &super::bernoulli::BetaBernoulli,
    &super::dirichlet::DirichletCategorical,
    &super::naive_bayes::NaiveBayes,
    &super::normal::NormalColumns,
    &super::multivariate_normal::MultivariateNormal,
    &super::poisson::PoissonCounts,
];

/// The model of this name.
///
/// # Errors
/// [`ModelError::Unknown`] lists those that there are.
pub fn model(name: &str) -> Result<&'static dyn Model, ModelError> {
    let found = models().iter().copied().find(|model| model.name() == name);
    found.ok_or_else(|| ModelError::Unknown { name: name.to_owned() })
}
