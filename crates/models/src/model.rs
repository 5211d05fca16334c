//! What a model is to whoever uses it.

use std::collections::BTreeMap;

use reticent::budget::{Cost, Ledger, Privacy};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ModelError, Predicted, Saved};

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
    /// Settings that differ from the usual ones.
    pub settings: BTreeMap<String, f64>,
}

impl Facts {
    /// With the usual settings.
    #[must_use]
    pub fn new(columns: Vec<usize>, target: Target, records: usize) -> Self {
        Self { columns, target, records, words: None, settings: BTreeMap::new() }
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

/// A number that a model can be told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// What it is usually; without that it must be given.
    pub usual: Option<f64>,
    /// Whether it is a whole number.
    pub whole: bool,
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
    /// What it can be told.
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
    /// Plans a fit from public facts; without privacy if none is asked for.
    ///
    /// # Errors
    /// [`ModelError`] if there is no such fit.
    fn plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError>;
    /// Reads a plan that [`Planned::to_json`] wrote and someone may have edited.
    ///
    /// # Errors
    /// [`ModelError::Plan`] if it is none.
    fn read_plan(&self, facts: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError>;
    /// Reads a fitted model.
    ///
    /// # Errors
    /// [`ModelError::NotSaved`] if it is none.
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError>;
}

/// A fit that could be made.
pub trait Planned {
    /// The plan, to be edited.
    fn to_json(&self) -> Value;
    /// What it would release and achieve.
    fn outline(&self) -> Outline;
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

/// Checks the target and reads the settings, in the order of [`Model::settings`].
pub(crate) fn settle<const N: usize>(model: &dyn Model, facts: &Facts) -> Result<[f64; N], ModelError> {
    if !model.targets().contains(&facts.target) {
        let expected = model.targets().first().map_or("another target", |target| target.name());
        return Err(ModelError::Target { model: model.name(), expected, found: facts.target.name() });
    }
    let known = |name: &str| model.settings().iter().any(|setting| setting.name == name);
    if let Some(name) = facts.settings.keys().find(|name| !known(name)) {
        return Err(ModelError::NoSetting { model: model.name(), name: name.clone() });
    }
    let mut values = [0.0; N];
    for (value, setting) in values.iter_mut().zip(model.settings()) {
        let &Setting { name, about, usual, whole } = setting;
        let needed = ModelError::NeedsSetting { model: model.name(), name, about };
        *value = facts.settings.get(name).copied().or(usual).ok_or(needed)?;
        let right = *value > 0.0 && value.is_finite() && (!whole || (value.fract() == 0.0 && *value < 1e9));
        if !right {
            let expected = if whole { "a whole number above 0" } else { "a number above 0" };
            return Err(ModelError::Setting { model: model.name(), name, expected, about });
        }
    }
    Ok(values)
}

/// The largest whole number in a plan, and the largest where numbers are sizes of something that takes memory.
const MOST: (u64, u64) = (1 << 40, 1 << 20);

/// Whether all whole numbers are within reason: people edit plans, and a slip must not ask for all the memory there is.
fn within_reason(value: &Value, most: u64) -> bool {
    match value {
        Value::Object(entries) => entries.iter().all(|(name, value)| {
            let count = ["records", "steps", "seed"].contains(&name.as_str());
            within_reason(value, if count { MOST.0 } else { MOST.1 })
        }),
        Value::Array(values) => values.iter().all(|value| within_reason(value, most)),
        value => value.as_u64().is_none_or(|number| number <= most),
    }
}

/// Reads a part of a plan.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(
    model: &'static str,
    plan: &Value,
) -> Result<T, ModelError> {
    if !within_reason(plan, MOST.1) {
        return Err(ModelError::Plan { model, why: "it has a number that is far too large".into() });
    }
    T::deserialize(plan).map_err(|error| ModelError::Plan { model, why: error.to_string() })
}

/// Whether a plan is for records of as many inputs as the schema has.
pub(crate) fn same_inputs(model: &'static str, inputs: usize, facts: &Facts) -> Result<(), ModelError> {
    if inputs == facts.inputs() {
        return Ok(());
    }
    let why = format!("it has {inputs} inputs, and the schema {}", facts.inputs());
    Err(ModelError::Plan { model, why })
}
