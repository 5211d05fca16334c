//! What `plan` and `fit` are asked for. Both decide here, so that they accept and refuse the same.

use std::collections::BTreeMap;
use std::path::Path;

use reticent::budget::{Privacy, PrivacyError};
use reticent::wall::WallError;
use reticent_models::{Facts, Limits, Model, ModelError, Planned, check_settings};
use reticent_tables::Schema;
use serde_json::{Value, json};

use crate::bounds::{self, Purchase};
use crate::data;
use crate::event::Neighbours;
use crate::output::Failure;

/// What a user may ask for beyond what is usual, and how bounds and settings are given.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Which data sets are neighbours.
    #[arg(long, value_enum, default_value = "replace")]
    pub(crate) adjacency: Neighbours,
    /// A setting of the model, such as components=3. `reticent fit --help` lists them with their ranges.
    #[arg(long, value_name = "NAME=NUMBER")]
    pub(crate) set: Vec<String>,
    /// The share of the budget for bounds that the schema leaves private.
    #[arg(long, value_name = "SHARE", default_value_t = bounds::SHARE, allow_negative_numbers = true)]
    pub(crate) bounds_share: f64,
    /// Allow a fit that would take more than 4.3 GB of memory, 30 minutes on one core or a file of 256 MB.
    #[arg(long)]
    pub(crate) allow_large: bool,
    /// Allow a delta of 1/N or more, at which a fit may publish whole records. The receipt states it.
    #[arg(long)]
    pub(crate) allow_large_delta: bool,
}

impl Default for Options {
    /// As on a command line without any of them.
    fn default() -> Self {
        Self {
            adjacency: Neighbours::Replace,
            set: Vec::new(),
            bounds_share: bounds::SHARE,
            allow_large: false,
            allow_large_delta: false,
        }
    }
}

/// The least epsilon. The ledger counts in units of 1e-12, and a plan may cost a little less than it was asked for.
const MIN_EPSILON: f64 = 1e-6;

impl Options {
    /// What may be spent, if the model can spend it.
    pub(crate) fn privacy(&self, model: &dyn Model, epsilon: f64, delta: f64) -> Result<Privacy, Failure> {
        let privacy = Privacy::new(epsilon, delta, self.adjacency.adjacency())?;
        if epsilon < MIN_EPSILON {
            let message = format!("epsilon must be at least {MIN_EPSILON:e}, not {epsilon:e}");
            return Err(Failure::usage(message, "less than that leaves nothing but noise of any table"));
        }
        if delta == 0.0 && !model.can_be_pure() {
            let message = format!("a {} model has Gaussian noise, which needs a delta above 0", model.name());
            return Err(Failure::usage(
                message,
                "delta is a small probability, well below 1/N, such as 1e-5",
            ));
        }
        Ok(if self.allow_large_delta { privacy.allow_large_delta() } else { privacy })
    }

    /// What is publicly known before a record is read: all but the number of records. Settings out of their ranges, and targets that the
    /// model has no fit for, are refused.
    pub(crate) fn facts(
        &self,
        model: &dyn Model,
        schema: &Schema,
        settings: BTreeMap<String, f64>,
    ) -> Result<Facts, Failure> {
        let mut facts = data::facts(schema, 0);
        facts.settings = settings;
        if self.allow_large {
            facts.limits = Limits::none();
        }
        check_settings(model, &facts)?;
        Ok(facts)
    }

    /// Settings as they were given.
    pub(crate) fn settings(&self) -> Result<BTreeMap<String, f64>, Failure> {
        let parse = |text: &String| {
            let (name, value) = text.split_once('=')?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        let wrong = |text: &String| {
            Failure::usage(format!("--set {text:?} is not NAME=NUMBER"), "such as --set components=3")
        };
        self.set.iter().map(|text| parse(text).ok_or_else(|| wrong(text))).collect()
    }

    /// What receipts state of it.
    pub(crate) fn assumptions(&self, privacy: Option<&Privacy>, records: usize) -> Option<String> {
        let delta = privacy.filter(|_| self.allow_large_delta)?.delta();
        let large = delta * records as f64 >= 1.0;
        large.then(|| {
            format!(
                "delta {delta:e} is at least 1/N and was allowed explicitly: it permits to publish whole records"
            )
        })
    }
}

/// A schema that a private model can use, or one without privacy. What it leaves to moments of the data needs bounds.
pub(crate) fn needs_bounds(file: &Path, schema: &Schema, model: &dyn Model) -> Result<(), Failure> {
    let Some(column) = data::without_bounds(schema) else { return Ok(()) };
    let message = format!(
        "{}, column {column:?}: a {} model needs `bounds = [low, high]`, and found `mean` and `sd`",
        file.display(),
        model.name()
    );
    Err(Failure::failed(message, Some("state the range that is publicly known".to_owned())))
}

/// A fit that was accepted: it would be made as it is.
pub(crate) struct Accepted {
    pub(crate) planned: Box<dyn Planned>,
    /// Bounds that are to be bought first.
    pub(crate) purchase: Option<Purchase>,
}

/// Plans a fit, or takes the plan of a file, and decides whether it can be made: every field is in its range, it takes no more than the
/// limits, and it costs no more than what may be spent.
pub(crate) fn accept(
    options: &Options,
    model: &dyn Model,
    schema: &Schema,
    facts: &Facts,
    privacy: Option<&Privacy>,
    plan: Option<&Value>,
) -> Result<Accepted, Failure> {
    if let Some(privacy) = privacy {
        privacy.check(facts.records, privacy.adjacency())?;
    }
    let purchase = Purchase::new(schema, facts.records, privacy, options.bounds_share)?;
    let planned = match (plan, &purchase, privacy) {
        (Some(plan), ..) => model.read_plan(facts, plan)?,
        (None, Some(purchase), Some(privacy)) => {
            purchase.plan_fit(model, facts, privacy, options.bounds_share)?
        }
        _ => model.plan(facts, privacy)?,
    };
    match (privacy, &purchase) {
        (None, _) => {}
        (Some(privacy), Some(purchase)) => {
            purchase.together(planned.as_ref(), facts, privacy)?;
        }
        (Some(privacy), None) => {
            let (planned, allowed) = (planned.price(privacy)?.epsilon.upper, privacy.epsilon());
            if planned.is_nan() || planned > allowed {
                return Err(ModelError::from(WallError::OverBudget { planned, allowed }).into());
            }
        }
    }
    Ok(Accepted { planned, purchase })
}

/// A plan as it is printed and read.
pub(crate) fn plan_file(model: &dyn Model, facts: &Facts, planned: &dyn Planned) -> Value {
    json!({
        "model": model.name(),
        "inputs": facts.inputs(),
        "settings": facts.settings,
        "plan": planned.to_json(),
    })
}

/// A plan file: the plan, and the settings that it was made with.
pub(crate) fn read_plan_file(
    file: &Path,
    model: &dyn Model,
) -> Result<(Value, Option<BTreeMap<String, f64>>), Failure> {
    let wrong = |why: &str| {
        let hint = format!("`reticent plan {} --json` prints one", model.name());
        Failure::failed(format!("the plan {} cannot be used: {why}", file.display()), Some(hint))
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error.to_string()))?;
    let mut plan: Value = serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()))?;
    if plan["model"] != json!(model.name()) {
        return Err(wrong("it is for another model"));
    }
    let settings = match &plan["settings"] {
        Value::Null => None,
        Value::Object(settings) => {
            let number = |(name, value): (&String, &Value)| Some((name.clone(), value.as_f64()?));
            let numbers: Option<_> = settings.iter().map(number).collect();
            Some(numbers.ok_or_else(|| wrong("a setting is not a number"))?)
        }
        _ => return Err(wrong("its settings are not numbers by name")),
    };
    Ok((plan["plan"].take(), settings))
}

/// Models and their settings, as the end of a help.
pub(crate) fn models_help() -> String {
    let models = reticent_models::models().iter();
    models.map(|model| format!("  {:<19} {}\n", model.name(), model.about())).collect()
}

/// Settings of all models, with ranges and defaults.
pub(crate) fn settings_help() -> String {
    let mut text = String::from("Settings, by --set NAME=NUMBER:\n");
    for model in reticent_models::models().iter().filter(|model| !model.settings().is_empty()) {
        text.push_str(&format!("  {}\n", model.name()));
        for setting in model.settings() {
            let default = setting.default.map_or("needed".to_owned(), |value| format!("default {value}"));
            let (name, range, about) = (setting.name, setting.range(), setting.about);
            text.push_str(&format!("    {name}: {about}; {range}, {default}\n"));
        }
    }
    text
}

impl From<PrivacyError> for Failure {
    fn from(error: PrivacyError) -> Self {
        if let PrivacyError::LargeDelta { delta, records } = error {
            let message = format!("a delta of {delta} could reveal one of {records} records outright");
            let hint = format!(
                "choose one far below {:.1e}, or allow it with --allow-large-delta",
                1.0 / records as f64
            );
            return Self::usage(message, hint);
        }
        Self::from_error(&error, "epsilon is positive, and delta a small probability such as 1e-5")
    }
}
