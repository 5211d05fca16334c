//! `reticent fit`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use reticent::budget::{Adjacency, Ledger, Privacy, Unlimited};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records};
use reticent_ledger::Run;
use reticent_models::{Facts, Fitted, Model, Planned, Score, model};
use reticent_tables::{Encoder, Schema, Source};
use serde_json::{Value, json};

use crate::event::Neighbours;
use crate::opened::{Opened, score};
use crate::output::{self, Failure};
use crate::watched::{self, Watched};
use crate::{data, evaluate, ledger};

/// Fit a model to private records, and write a posterior that may be published.
#[derive(clap::Args)]
#[command(after_help = "\
Models: regression, linear and network for a numeric target, logistic and probit for two classes, mixture
for groups of records, hmm for events by region and time.

Under replace-one adjacency the number of records is public and read from the file. Under add-remove
it is not, and --records says about how many there are: a public guess.

Ctrl-C stops between two releases. A private run that was stopped stays charged, and cannot be resumed.

Example:
  reticent fit regression --data people.csv --schema schema.toml --epsilon 1 --delta 1e-5 --out model.reticent")]
pub(crate) struct Args {
    /// The model.
    pub(crate) model: String,
    /// The records, CSV or Parquet: a file, a folder, or a pattern such as 'data/*.parquet'.
    #[arg(long, value_name = "FILE")]
    pub(crate) data: PathBuf,
    /// What is publicly known about them.
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: PathBuf,
    /// The epsilon to spend.
    #[arg(long, allow_negative_numbers = true, required_unless_present = "no_privacy")]
    pub(crate) epsilon: Option<f64>,
    /// The delta to spend.
    #[arg(long, allow_negative_numbers = true, required_unless_present = "no_privacy")]
    pub(crate) delta: Option<f64>,
    /// Where the model goes.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// The ledger to charge.
    #[arg(long, value_name = "FILE", requires = "data_set")]
    pub(crate) ledger: Option<PathBuf>,
    /// The data set in the ledger.
    #[arg(long, value_name = "NAME", requires = "ledger")]
    pub(crate) data_set: Option<String>,
    /// A plan that `reticent plan --json` printed, edited or not.
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// Which data sets are neighbours.
    #[arg(long, value_enum, default_value = "replace")]
    pub(crate) adjacency: Neighbours,
    /// A public guess of the number of records (add-remove only).
    #[arg(long, value_name = "N")]
    pub(crate) records: Option<usize>,
    /// NOT PRIVATE: a baseline without noise, to keep to yourself.
    #[arg(long, conflicts_with_all = ["epsilon", "delta", "ledger"])]
    pub(crate) no_privacy: bool,
    /// Records to evaluate the model on. What the model file says about them is not private.
    #[arg(long, value_name = "FILE")]
    pub(crate) test: Option<PathBuf>,
    /// NOT PRIVATE: scale by the mean and deviation of the data (networks without privacy only).
    #[arg(long)]
    pub(crate) assume_public_moments: bool,
    /// A setting of the model, such as components=3.
    #[arg(long, value_name = "NAME=NUMBER")]
    pub(crate) set: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing, and show no progress.
    #[arg(long)]
    pub(crate) quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let model = model(&args.model)?;
    let schema = prepared_schema(args, model)?;
    let privacy = privacy(args)?;
    let source = Source::open(&args.data)?;
    let tests = args.test.as_ref().map(Source::open).transpose()?;
    // What could fail should fail before anything is spent.
    if let Some(tests) = &tests {
        let encoder = Encoder::new(&schema)?;
        let mut batches = encoder.stream(tests);
        while batches.next_batch()?.is_some() {}
    }
    check_writable(&args.out)?;
    let table = Encoder::new(&schema)?.read(&source)?;
    let (width, rows) = (table.width(), table.rows().len());
    let mut facts = data::facts(&schema, records(args, &source, rows)?);
    facts.settings = settings(&args.set)?;
    let planned = planned(args.plan.as_deref(), model, &mut facts, privacy.as_ref())?;
    let records = Records::new(table.into_values(), width).map_err(reticent_models::ModelError::from)?;
    let (fitted, mut receipt) = fitted(args, planned.as_ref(), records, privacy.as_ref())?;
    receipt.assumptions.extend(schema.assumptions());
    let score = tests.as_ref().map(|tests| score(fitted.as_ref(), &schema, tests)).transpose()?;
    let card = card(args, model, &schema, privacy.as_ref(), score.as_ref());
    let receipt_json = serde_json::to_value(&receipt).expect("a receipt is numbers and texts");
    let plan = plan_file(model, &facts, planned.as_ref());
    Opened::write(model, fitted.as_ref(), &schema, plan, receipt_json.clone(), card, &args.out)?;
    Ok(match (args.quiet, args.json) {
        (true, _) => String::new(),
        (false, true) => {
            let out = args.out.display().to_string();
            output::json(
                &json!({ "model": model.name(), "out": out, "receipt": receipt_json, "score": score }),
            )
        }
        (false, false) => describe(args, model, &schema, &receipt, score.as_ref()),
    })
}

/// The schema, with what was assumed to be public.
fn prepared_schema(args: &Args, model: &dyn Model) -> Result<Schema, Failure> {
    let mut schema = data::schema(&args.schema)?;
    let needs_bounds = model.needs_bounds() || !args.no_privacy;
    if args.assume_public_moments {
        if needs_bounds {
            let message = format!("a {} model is scaled by bounds, not by moments", model.name());
            let hint = "take bounds from the data with `reticent schema --assume-public`, or state them";
            return Err(Failure::usage(message, hint));
        }
        let unscaled = Encoder::new(&schema.unscaled())?.read(&Source::open(&args.data)?)?;
        schema = schema.assuming_public_moments(unscaled.rows())?;
    }
    if let Some(column) = data::without_bounds(&schema).filter(|_| needs_bounds) {
        let message = format!(
            "{}, column {column:?}: a {} model needs `bounds = [low, high]`, and found `mean` and `sd`",
            args.schema.display(),
            model.name()
        );
        return Err(Failure::failed(message, Some("state the range that is publicly known".to_owned())));
    }
    Ok(schema)
}

fn privacy(args: &Args) -> Result<Option<Privacy>, Failure> {
    match (args.epsilon, args.delta) {
        (Some(epsilon), Some(delta)) => {
            if delta == 0.0 {
                let hint = "delta is a small probability, well below 1/N, such as 1e-5";
                return Err(Failure::usage("Gaussian noise needs a delta above 0", hint));
            }
            Ok(Some(Privacy::new(epsilon, delta, args.adjacency.adjacency())?))
        }
        _ => Ok(None),
    }
}

/// The public number of records. Under add/remove it must not be read from the file, not even whether there are any.
fn records(args: &Args, source: &Source, rows: usize) -> Result<usize, Failure> {
    if args.no_privacy || args.adjacency.adjacency() == Adjacency::ReplaceOne {
        if rows == 0 {
            let message = format!("{}: there are no records", data::name(source));
            return Err(Failure::failed(message, Some("give a file with at least one record".to_owned())));
        }
        if args.records.is_some() {
            let hint = "leave --records out, or say --adjacency add-remove";
            return Err(Failure::usage("the number of records is public here and read from the file", hint));
        }
        return Ok(rows);
    }
    match args.records {
        Some(records) if records > 0 => Ok(records),
        _ => {
            let hint = "add --records with about how many there are, from what is publicly known";
            Err(Failure::usage("under add-remove adjacency the number of records is private", hint))
        }
    }
}

/// Settings as they were given.
pub(crate) fn settings(given: &[String]) -> Result<BTreeMap<String, f64>, Failure> {
    let parse = |text: &String| {
        let (name, value) = text.split_once('=')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    let wrong = |text: &String| {
        Failure::usage(format!("--set {text:?} is not NAME=NUMBER"), "such as --set components=3")
    };
    given.iter().map(|text| parse(text).ok_or_else(|| wrong(text))).collect()
}

/// The plan of a file, or a new one. Settings of the file hold.
fn planned(
    file: Option<&Path>,
    model: &dyn Model,
    facts: &mut Facts,
    privacy: Option<&Privacy>,
) -> Result<Box<dyn Planned>, Failure> {
    let Some(file) = file else {
        if let Some(privacy) = privacy {
            privacy.check(facts.records, privacy.adjacency())?;
        }
        return Ok(model.plan(facts, privacy)?);
    };
    let wrong = |why: &str| {
        let hint = format!("`reticent plan {} --json` prints one", model.name());
        Failure::failed(format!("the plan {} cannot be used: {why}", file.display()), Some(hint))
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error.to_string()))?;
    let plan: Value = serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()))?;
    if plan["model"] != json!(model.name()) {
        return Err(wrong("it is for another model"));
    }
    if let Some(settings) = plan["settings"].as_object() {
        let numbers = settings.iter().filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)));
        facts.settings = numbers.collect();
    }
    model.read_plan(facts, &plan["plan"]).map_err(|error| wrong(&error.to_string()))
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

fn fitted(
    args: &Args,
    planned: &dyn Planned,
    records: Records,
    privacy: Option<&Privacy>,
) -> Result<(Box<dyn Fitted>, Receipt), Failure> {
    let inner: Box<dyn Ledger> = match (&args.ledger, &args.data_set) {
        (Some(file), Some(data_set)) => {
            let opened = reticent_ledger::Ledger::open(file)?;
            let recorded = opened.account(data_set)?.data_set.schema_fingerprint;
            let fingerprint = match recorded.as_str() {
                ledger::NO_SCHEMA => recorded,
                _ => ledger::schema_fingerprint(&args.schema)?,
            };
            Box::new(Run::new(opened, data_set, &fingerprint, &format!("fit {}", args.model)))
        }
        _ => Box::new(Unlimited),
    };
    watched::listen();
    let watched = Box::new(Watched::new(inner, args.quiet));
    let noise = NoiseSource::from_os().map_err(|error| Failure::failed(error.to_string(), None))?;
    planned.fit(records, noise, privacy, watched).map_err(|error| {
        if watched::was_stopped() {
            let kept = match (privacy, &args.ledger) {
                (None, _) => "nothing was charged",
                (Some(_), Some(_)) => "what was reserved stays charged in the ledger",
                (Some(_), None) => "what has been released stays spent",
            };
            let message = format!("stopped; no model was written, and {kept}");
            return Failure::failed(message, Some("a stopped run cannot be resumed: start anew".to_owned()));
        }
        Failure::from(error)
    })
}

/// What the file says for people.
fn card(
    args: &Args,
    model: &dyn Model,
    schema: &Schema,
    privacy: Option<&Privacy>,
    score: Option<&Score>,
) -> Value {
    let asked = privacy.map(|privacy| {
        json!({
            "epsilon": privacy.epsilon(),
            "delta": privacy.delta(),
            "adjacency": privacy.adjacency().to_string(),
        })
    });
    let target = schema.target().map(|target| target.name());
    let mut card = json!({
        "about": model.about(),
        "target": target,
        "inputs": schema.features().iter().map(|column| column.name()).collect::<Vec<_>>(),
        "asked": asked,
    });
    if let Some(score) = score {
        card["test"] = json!({
            "note": evaluate::NOTE,
            "file": args.test.as_ref().map(|file| file.display().to_string()),
            "score": score,
        });
    }
    card
}

fn describe(
    args: &Args,
    model: &dyn Model,
    schema: &Schema,
    receipt: &Receipt,
    score: Option<&Score>,
) -> String {
    let out = args.out.display();
    let of = schema.target().map_or(String::new(), |target| format!(" of {}", target.name()));
    let mut text = format!("{out}: {} model{of}\n\n{receipt}", model.name());
    if let Some(score) = score {
        let _ = write!(text, "\n{}", evaluate::describe(score, schema));
    }
    let _ = write!(text, "\nNext: reticent report {out} --out report.html\n");
    text
}

/// Tries to write beside the file, before anything is spent on what will go there.
pub(crate) fn check_writable(file: &Path) -> Result<(), Failure> {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let trial = file.with_file_name(format!(".{name}.{}", std::process::id()));
    if file.is_dir() || name.is_empty() {
        let error = std::io::Error::from(std::io::ErrorKind::IsADirectory);
        return Err(output::not_written(file, &error));
    }
    std::fs::File::create(&trial).map_err(|error| output::not_written(file, &error))?;
    // If it cannot be removed, an empty file is left: nothing worse.
    let _ = std::fs::remove_file(&trial);
    Ok(())
}
