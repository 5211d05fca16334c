//! The registry of models: one line each.

use crate::budget::Privacy;
use crate::model::planned::Planned;
use crate::model::posterior::Posterior;
use crate::model::settings::check_settings;
use crate::model::shape::{TableShape, Target};
use crate::model::{Estimate, ModelError, Reference, Saved, Setting};
use serde_json::Value;
use std::sync::{Mutex, OnceLock, PoisonError};

/// What a model states about itself: command line, documentation and checks of settings are driven by it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Declaration {
    /// In lower case, with hyphens: how callers choose it.
    pub name: &'static str,
    /// What it is for: one sentence without a full stop, in lower case.
    pub about: &'static str,
    /// What it is not for, and what to use instead: one sentence without a full stop, in lower case.
    pub not_for: &'static str,
    /// The papers that the model or its fit follows; the most important first.
    pub references: &'static [Reference],
    /// The family of its posterior.
    pub family: &'static str,
    /// The kinds of target that it supports.
    pub targets: &'static [Target],
    /// Its settings, with ranges and defaults.
    pub settings: &'static [Setting],
    /// Whether numbers must be scaled by bounds: values outside -1 and 1 are clipped.
    pub needs_bounds: bool,
    /// Whether there is a fit with privacy.
    pub can_be_private: bool,
    /// Whether there is a fit with a delta of 0: one whose noise can be Laplace noise.
    pub can_be_pure: bool,
}

/// A kind of model.
pub trait Model: Sync {
    /// What it is, and what it can be given.
    fn declaration(&self) -> &'static Declaration;
    /// The name of its [declaration](Declaration::name).
    fn name(&self) -> &'static str {
        self.declaration().name
    }
    /// Makes a plan for a valid target and valid settings. Call `plan`, which checks them.
    ///
    /// # Errors
    /// [`ModelError`] if no fit is possible.
    fn new_plan(&self, shape: &TableShape, privacy: Option<&Privacy>)
    -> Result<Box<dyn Planned>, ModelError>;
    /// Parses a plan without checking its numbers. Call `read_plan`, which does.
    ///
    /// # Errors
    /// [`ModelError::Plan`] if it cannot be parsed.
    fn parse_plan(&self, shape: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError>;
    /// Resources of the smallest fit of such a model, before a plan is made; `None` where making a plan is cheap.
    fn min_estimate(&self, _shape: &TableShape) -> Option<Estimate> {
        None
    }
    /// Whether its plans use the [priors of coefficients](TableShape::priors) that a schema states.
    fn takes_priors(&self) -> bool {
        false
    }
    /// Loads a fitted model.
    ///
    /// # Errors
    /// [`ModelError::NotSaved`] if the arrays are not those of this model.
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError>;
}

impl dyn Model + '_ {
    /// Plans a fit from the public table shape; without privacy if there is no budget.
    ///
    /// # Errors
    /// [`ModelError`] if no fit is possible, a setting is out of range, or the fit would exceed the
    /// [limits](TableShape::limits).
    pub fn plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        check_settings(self, shape)?;
        if !shape.priors.is_empty() && !self.takes_priors() {
            return Err(ModelError::Priors { model: self.name() });
        }
        self.min_estimate(shape).map_or(Ok(()), |least| least.check(&shape.limits))?;
        accepted(self.new_plan(shape, privacy)?, shape)
    }

    /// Reads a plan that [`Planned::to_json`] wrote and a user may have edited. Every field is checked to be in range
    /// and consistent with the others and with the table shape, so that the result can be fitted.
    ///
    /// # Errors
    /// [`ModelError::Plan`] if it is invalid, [`ModelError::TooLarge`] if it would exceed the
    /// [limits](TableShape::limits).
    pub fn read_plan(&self, shape: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        check_settings(self, shape)?;
        accepted(self.parse_plan(shape, plan)?, shape)
    }
}

fn accepted(planned: Box<dyn Planned>, shape: &TableShape) -> Result<Box<dyn Planned>, ModelError> {
    planned.validate(shape)?;
    planned.cost_estimate().check(&shape.limits)?;
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

/// Registers a model of another crate, so that it is planned, fitted, saved and loaded by its name like every other.
/// It must be registered before the first use of the list, which does not change after that; returns whether it was.
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
/// [`ModelError::Unknown`] with a list of the models.
pub fn model(name: &str) -> Result<&'static dyn Model, ModelError> {
    let found = models().iter().copied().find(|model| model.name() == name);
    found.ok_or_else(|| ModelError::Unknown { name: name.to_owned() })
}
