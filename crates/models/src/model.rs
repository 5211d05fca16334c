//! What a model is to whoever uses it.

use std::collections::BTreeMap;

use reticent::budget::{Cost, Ledger, Privacy};
use reticent::field::FieldError;
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Estimate, Limits, ModelError, Predicted, Saved, Setting};

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// A number between -1 and 1.
    Number,
    /// One of two classes, encoded as -1 and 1.
    TwoClasses,
    /// One of several classes.
    Classes,
    /// Nothing: records have inputs only.
    Nothing,
}

impl Target {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "a numeric target",
            Self::TwoClasses => "a target of two classes",
            Self::Classes => "a target of more than two classes",
            Self::Nothing => "no target",
        }
    }
}

/// What is publicly known about the rows that a model is fitted to: inputs between -1 and 1 and, last, the target.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// The number of inputs that each column became: one, or one for each level of which one is 1 and the others are 0.
    pub columns: Vec<usize>,
    /// What is predicted.
    pub target: Target,
    /// The public number of records.
    pub records: usize,
    /// How many of the columns count words of texts; none if the caller does not state it.
    pub words: Option<usize>,
    /// Settings that differ from their defaults.
    pub settings: BTreeMap<String, f64>,
    /// What the fit may take.
    pub limits: Limits,
}

impl Facts {
    /// With the default settings and limits.
    #[must_use]
    pub fn new(columns: Vec<usize>, target: Target, records: usize) -> Self {
        let (words, settings, limits) = (None, BTreeMap::new(), Limits::default());
        Self { columns, target, records, words, settings, limits }
    }

    /// Inputs of a record.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.columns.iter().sum()
    }

    /// Numbers in a record.
    #[must_use]
    pub fn width(&self) -> usize {
        self.inputs() + usize::from(self.target != Target::Nothing)
    }
}

/// A kind of model.
pub trait Model: Sync {
    /// As on the command line.
    fn name(&self) -> &'static str;
    /// In a sentence.
    fn about(&self) -> &'static str;
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
    /// Whether there is a fit with a delta of 0: one whose noise can be Laplace noise.
    fn can_be_pure(&self) -> bool {
        false
    }
    /// Makes a plan, given that the target and the settings are allowed. Use `plan`, which sees to that.
    ///
    /// # Errors
    /// [`ModelError`] if there is no such fit.
    fn new_plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError>;
    /// Reads a plan without a look at its numbers. Use `read_plan`, which has one.
    ///
    /// # Errors
    /// [`ModelError::Plan`] if it is none.
    fn parse_plan(&self, facts: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError>;
    /// What the smallest fit of such a model takes, before a plan is made; by default nothing, where making a plan takes next to nothing.
    fn least_estimate(&self, _facts: &Facts) -> Option<Estimate> {
        None
    }
    /// Reads a fitted model.
    ///
    /// # Errors
    /// [`ModelError::NotSaved`] if it is none.
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError>;
}

impl dyn Model + '_ {
    /// Plans a fit from public facts; without privacy if none is asked for.
    ///
    /// # Errors
    /// [`ModelError`] if there is no such fit, a setting is out of its range, or it would take more than the [limits](Facts::limits).
    pub fn plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        check_settings(self, facts)?;
        self.least_estimate(facts).map_or(Ok(()), |least| least.check(&facts.limits))?;
        accepted(self.new_plan(facts, privacy)?, facts)
    }

    /// Reads a plan that [`Planned::to_json`] wrote and someone may have edited. Every field of it is in its range and agrees with
    /// the others and with the facts: what is read can be fitted.
    ///
    /// # Errors
    /// [`ModelError::Plan`] if it is none, [`ModelError::TooLarge`] if it would take more than the [limits](Facts::limits).
    pub fn read_plan(&self, facts: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        check_settings(self, facts)?;
        accepted(self.parse_plan(facts, plan)?, facts)
    }
}

fn accepted(planned: Box<dyn Planned>, facts: &Facts) -> Result<Box<dyn Planned>, ModelError> {
    planned.validate(facts)?;
    planned.cost_estimate().check(&facts.limits)?;
    Ok(planned)
}

/// A fit that could be made.
pub trait Planned {
    /// The plan, to be edited.
    fn to_json(&self) -> Value;
    /// What it would release and achieve.
    fn outline(&self) -> Outline;
    /// Whether every field is in its range, and agrees with the others and with the facts.
    ///
    /// # Errors
    /// [`ModelError::Plan`] with the field and its range.
    fn validate(&self, facts: &Facts) -> Result<(), ModelError>;
    /// What it takes, from the numbers of the plan alone.
    fn cost_estimate(&self) -> Estimate;
    /// What it costs.
    ///
    /// # Errors
    /// [`ModelError`] if the wall would refuse it.
    fn price(&self, privacy: &Privacy) -> Result<Cost, ModelError>;
    /// Runs it; without privacy if none is asked for.
    ///
    /// # Errors
    /// [`ModelError`]; nothing was released if the wall could not be built.
    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError>;
}

/// A fitted model. All of it is public if the fit was private.
pub trait Fitted {
    /// What is known of a record with these inputs, with the quantiles of these probabilities if the target is a number.
    fn predict(&self, inputs: &[f64], probabilities: &[f64]) -> Predicted;
    /// What is known of points among the inputs, such as the means of components. Most models have none.
    fn points(&self) -> Vec<Point> {
        Vec::new()
    }
    /// What the model is about in a few words each, such as the words of topics, given the names of the inputs. Most models have none.
    fn highlights(&self, _inputs: &[String]) -> Vec<Highlight> {
        Vec::new()
    }
    /// What a reader must know before relying on the model, as sentences, given the names of the inputs. Most models have none.
    fn warnings(&self, _inputs: &[String]) -> Vec<String> {
        Vec::new()
    }
    /// The model as named arrays.
    ///
    /// # Errors
    /// [`ModelError::NotFinite`] if it cannot be written.
    fn save(&self) -> Result<Saved, ModelError>;
}

/// A part of a model in a few words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Highlight {
    /// What it is.
    pub name: String,
    /// What is most of it.
    pub text: String,
}

/// A point among the inputs that is not known exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// What it is.
    pub name: String,
    /// Where it is.
    pub mean: Vec<f64>,
    /// The standard deviation of each coordinate that the records leave.
    pub records_sd: Vec<f64>,
    /// The same with what the privacy noise adds.
    pub sd: Vec<f64>,
}

/// What a plan does, for people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outline {
    /// What it releases.
    pub releases: Vec<Release>,
    /// What to expect of it: a name and a number each.
    pub expected: Vec<(String, f64)>,
    /// Why it is this plan.
    pub why: Vec<String>,
}

/// Releases of the same kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Release {
    /// What is released.
    pub what: String,
    /// Numbers in each.
    pub width: usize,
    /// How many.
    pub times: u64,
    /// The norm that contributions are clipped to.
    pub clip: f64,
    /// The standard deviation of the noise over the sensitivity.
    pub noise_multiplier: f64,
}

/// Refuses a target that a model has no fit for, and settings that it does not have or that are out of their ranges. Nothing else about
/// the records need be known for that.
///
/// # Errors
/// [`ModelError`] with the range of the setting.
pub fn check_settings(model: &dyn Model, facts: &Facts) -> Result<(), ModelError> {
    if !model.targets().contains(&facts.target) {
        let expected = model.targets().first().map_or("another target", |target| target.name());
        return Err(ModelError::Target { model: model.name(), expected, found: facts.target.name() });
    }
    let known = |name: &str| model.settings().iter().any(|setting| setting.name == name);
    if let Some(name) = facts.settings.keys().find(|name| !known(name)) {
        return Err(ModelError::NoSetting { model: model.name(), name: name.clone() });
    }
    model.settings().iter().try_for_each(|setting| value(model, facts, setting).map(|_| ()))
}

/// The value of a setting: the one given, or the default.
fn value(model: &dyn Model, facts: &Facts, setting: &Setting) -> Result<f64, ModelError> {
    let &Setting { name, about, default, .. } = setting;
    let (model, range) = (model.name(), setting.range());
    let needed = ModelError::NeedsSetting { model, name, range, about };
    let value = facts.settings.get(name).copied().or(default).ok_or(needed)?;
    if setting.allows(value) { Ok(value) } else { Err(ModelError::Setting { model, name, range, about }) }
}

/// The values of all settings, in the order of [`Model::settings`].
pub(crate) fn settings<const N: usize>(model: &dyn Model, facts: &Facts) -> Result<[f64; N], ModelError> {
    let mut values = [0.0; N];
    for (found, setting) in values.iter_mut().zip(model.settings()) {
        *found = value(model, facts, setting)?;
    }
    Ok(values)
}

/// Reads a part of a plan.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(
    model: &'static str,
    plan: &Value,
) -> Result<T, ModelError> {
    T::deserialize(plan).map_err(|error| ModelError::Plan { model, why: error.to_string() })
}

/// Whether a plan is for records of as many inputs as the schema has, and for as many of them as there are.
pub(crate) fn same_shape(
    model: &'static str,
    (inputs, records): (usize, usize),
    facts: &Facts,
) -> Result<(), ModelError> {
    let why = if inputs != facts.inputs() {
        format!("it has {inputs} inputs, and the schema {}", facts.inputs())
    } else if records != facts.records {
        format!("it is for {records} records, and there are {}", facts.records)
    } else {
        return Ok(());
    };
    Err(ModelError::Plan { model, why })
}

/// The same for plans that have the inputs of each column.
pub(crate) fn same_columns(
    model: &'static str,
    (columns, records): (&[usize], usize),
    facts: &Facts,
) -> Result<(), ModelError> {
    if columns != facts.columns {
        let why = "its columns are not those of the schema".to_owned();
        return Err(ModelError::Plan { model, why });
    }
    same_shape(model, (facts.inputs(), records), facts)
}

/// A field of a plan that is out of its range.
pub(crate) fn out_of_range(model: &'static str) -> impl Fn(FieldError) -> ModelError {
    move |error| ModelError::Plan { model, why: error.to_string() }
}
