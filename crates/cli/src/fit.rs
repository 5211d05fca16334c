//! `reticent fit`

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use reticent::budget::{Adjacency, LedgerError, Privacy};
use reticent::receipt::{BOUNDS_WERE_STATED, Receipt};
use reticent::wall::NoiseSource;
use reticent_models::{Facts, Fitted, Model, Planned, Score, model};
use reticent_tables::{Encoder, Rows, Schema, Source};
use serde_json::{Value, json};

use crate::bounds::Purchase;
use crate::opened::{Opened, score, within_bounds};
use crate::output::{self, Failure, Lines};
use crate::request::{self, Accepted, Options};
use crate::show::WARNINGS;
use crate::watched::Watched;
use crate::{data, evaluate, journal, ledger, resume, scores};

const NOTES: &str = "\
Under replace-one adjacency the number of records is public and read from the file. Under add-remove
it is not, and --records says about how many there are: a public guess.

Bounds that the schema leaves private (`bounds = \"private\", within = [0, 1e9]`) are bought first, with a share
of the budget. Records that do not fit in 64 MB are read again for each release: the files must not change.

A private run keeps what it releases in a journal beside --out until the model is on the disk and the ledger is
settled. Whatever ends it before (Ctrl-C, which stops between two releases, a crash, a full disk), the same command
with --resume goes on from there at no further cost. The model can be read by its owner alone; to publish it, change that.

Example:
  reticent fit regression --data people.csv --schema schema.toml --epsilon 1 --delta 1e-5 --out model.reticent";

/// What the help ends with: the models that there are, and an example; the long one also has their settings.
fn after_help(long: bool) -> String {
    let settings =
        if long { request::settings_help() } else { "--help lists the settings of each.\n".into() };
    format!("Models:\n{}\n{settings}\n{NOTES}", request::models_help())
}

/// Fit a model to private records, and write a posterior that may be published.
#[derive(clap::Args)]
#[command(after_help = after_help(false), after_long_help = after_help(true))]
pub(crate) struct Args {
    /// The model.
    pub(crate) model: String,
    /// The records, CSV or Parquet: a file, a folder, a pattern such as 'data/*.parquet', or - for CSV from standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) data: PathBuf,
    #[command(flatten)]
    pub(crate) layout: data::LayoutArgs,
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
    #[command(flatten)]
    pub(crate) options: Options,
    /// A public guess of the number of records (add-remove only).
    #[arg(long, value_name = "N")]
    pub(crate) records: Option<usize>,
    /// NOT PRIVATE: a baseline without noise, to keep to yourself.
    #[arg(long, conflicts_with_all = ["epsilon", "delta", "ledger"])]
    pub(crate) no_privacy: bool,
    /// NOT PRIVATE: records to evaluate the model on. Scores go to a file beside --out, NAME.scores.json.
    #[arg(long, value_name = "FILE")]
    pub(crate) test: Option<PathBuf>,
    /// Declare that the test records are public: scores go into the model file.
    #[arg(long, requires = "test")]
    pub(crate) test_is_public: bool,
    /// NOT PRIVATE: scale by the mean and deviation of the data (networks without privacy only).
    #[arg(long)]
    pub(crate) assume_public_moments: bool,
    /// Whether the posterior of a model from noisy sums knows the noise: short for --set posterior=1 or 2.
    #[arg(long, value_enum)]
    pub(crate) posterior: Option<Posterior>,
    /// Go on with the run that was interrupted, at no further cost.
    #[arg(long, conflicts_with = "no_privacy")]
    pub(crate) resume: bool,
    /// Replace the file that --out names, whatever it is and has cost.
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing, and show no progress.
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// What a posterior makes of noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Posterior {
    /// The noise is part of the model.
    NoiseAware,
    /// Noisy sums are taken for true ones, for comparison.
    Naive,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let model = model(&args.model)?;
    let stated = data::schema(&args.schema)?;
    // Bad settings are refused before a record is read.
    let (plan, settings) = asked(args, model)?;
    args.options.facts(model, &stated, settings.clone())?;
    let layout = args.layout.over(stated.layout());
    let source = data::source(&args.data, layout)?;
    let schema = prepared_schema(args, model, &source)?;
    let privacy = match (args.epsilon, args.delta) {
        (Some(epsilon), Some(delta)) => Some(args.options.privacy(model, epsilon, delta)?),
        _ => None,
    };
    let mut facts = args.options.facts(model, &schema, settings)?;
    let tests = args.test.as_ref().map(|file| data::source(file, layout)).transpose()?;
    // What could fail should fail before anything is spent.
    let known = if schema.bounds_to_buy().next().is_some() { schema.unscaled() } else { schema.clone() };
    let encoder = Encoder::new(&known)?;
    if let Some(tests) = &tests {
        scores::refuse_training_files(&source, tests)?;
        if !args.test_is_public {
            check_writable(&scores::beside(&args.out))?;
        }
        let mut batches = encoder.stream(tests);
        while batches.next_batch()?.is_some() {}
    }
    resume::check_vacant(args)?;
    check_writable(&args.out).map_err(|failure| resume::kept(args, failure))?;
    let rows = encoder.rows(&source, data::KEPT)?;
    facts.records = records(args, &source, rows.count())?;
    let accepted = request::accept(&args.options, model, &schema, &facts, privacy.as_ref(), plan.as_ref())?;
    let Accepted { planned, purchase } = accepted;
    let mut plan = request::plan_file(model, &facts, planned.as_ref());
    if privacy.is_none() {
        plan = reticent_models::without_privacy(plan);
    }

    let of = whole_run(args, &plan)?;
    let watched = resume::watched(args, &of)?;
    let run = Run { planned: planned.as_ref(), facts: &facts, privacy: privacy.as_ref(), purchase };
    // Whatever fails from here on is told with what stays charged and how to go on.
    let unfinished = |failure| resume::unfinished(args, &watched, failure);
    let (schema, fitted, mut receipt) = run.fit(schema, &source, rows, &watched).map_err(unfinished)?;
    if !schema.is_stated() {
        receipt.assumptions.retain(|assumption| assumption != BOUNDS_WERE_STATED);
    }
    receipt.assumptions.extend(schema.assumptions().into_iter().chain(schema.value_rules()));
    receipt.assumptions.extend(args.options.assumptions(privacy.as_ref(), facts.records));
    let fitted = within_bounds(fitted, &schema);
    let scored = || tests.as_ref().map(|tests| score(fitted.as_ref(), &schema, tests));
    let public = if args.test_is_public { scored() } else { None };
    // What is wrong with the test records is reported once the model is safe.
    let in_file = public.as_ref().and_then(|score| score.as_ref().ok());
    receipt.assumptions.extend(in_file.map(|_| evaluate::PUBLIC_NOTE.to_owned()));
    let warnings = fitted.warnings(&schema.encoded_names());
    let mut card = card(model, &schema, privacy.as_ref(), in_file);
    if !warnings.is_empty() {
        card[WARNINGS] = json!(warnings);
    }
    let receipt_json = serde_json::to_value(&receipt).expect("a receipt is numbers and texts");
    Opened::bytes(model, fitted.as_ref(), &schema, plan, receipt_json.clone(), card)
        .and_then(|bytes| keep(args, &watched, &bytes))
        .map_err(unfinished)?;
    let score = public.or_else(scored).transpose()?;
    if let (Some(score), Some(test), false) = (&score, &args.test, args.test_is_public) {
        scores::write(&args.out, test, score)?;
    }
    Ok(match (args.quiet, args.json) {
        (true, _) => String::new(),
        (false, true) => {
            let out = args.out.display().to_string();
            output::json(
                &json!({ "model": model.name(), "out": out, "receipt": receipt_json, "score": score, "warnings": warnings }),
            )
        }
        (false, false) => describe(args, model, &schema, &receipt, score.as_ref(), &warnings),
    })
}

/// The schema, with what was assumed to be public.
fn prepared_schema(args: &Args, model: &dyn Model, source: &Source) -> Result<Schema, Failure> {
    let mut schema = data::schema(&args.schema)?;
    let needs_bounds = model.needs_bounds() || !args.no_privacy;
    if args.assume_public_moments {
        if needs_bounds {
            let message = format!("a {} model is scaled by bounds, not by moments", model.name());
            let hint = "take bounds from the data with `reticent schema --assume-public`, or state them";
            return Err(Failure::usage(message, hint));
        }
        let unscaled = Encoder::new(&schema.unscaled())?.read(source)?;
        schema = schema.assuming_public_moments(unscaled.rows())?;
    }
    if needs_bounds {
        request::needs_bounds(&args.schema, &schema, model)?;
    }
    Ok(schema)
}

/// The public number of records. Under add/remove it must not be read from the file, not even whether there are any.
fn records(args: &Args, source: &Source, rows: usize) -> Result<usize, Failure> {
    if args.no_privacy || args.options.adjacency.adjacency() == Adjacency::ReplaceOne {
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

/// The plan of a file, if there is one, and the settings: those of the file hold.
fn asked(args: &Args, model: &dyn Model) -> Result<(Option<Value>, BTreeMap<String, f64>), Failure> {
    let (plan, of_plan) = match &args.plan {
        Some(file) => {
            let (plan, settings) = request::read_plan_file(file, model)?;
            (Some(plan), settings)
        }
        None => (None, None),
    };
    let mut settings = args.options.settings()?;
    if let Some(posterior) = args.posterior {
        let number = if posterior == Posterior::NoiseAware { 1.0 } else { 2.0 };
        settings.insert("posterior".to_owned(), number);
    }
    Ok((plan, of_plan.unwrap_or(settings)))
}

/// What is fitted to what, how: a run that goes on must be the same.
fn whole_run(args: &Args, plan: &Value) -> Result<Value, Failure> {
    Ok(json!({
        "data": args.data.display().to_string(),
        "schema": ledger::schema_fingerprint(&args.schema)?,
        "asked": [args.epsilon, args.delta],
        "adjacency": args.options.adjacency.adjacency().to_string(),
        "bounds_share": args.options.bounds_share,
        "data_set": args.data_set,
        "plan": plan,
    }))
}

/// Puts the model on the disk, settles the run, and only then gives up its journal.
fn keep(args: &Args, watched: &Watched, bytes: &[u8]) -> Result<(), Failure> {
    let ledger = |error: LedgerError| {
        let text = error.to_string();
        let (message, hint) = text.split_once("\nhint: ").unwrap_or((&text, "check the disk"));
        Failure::failed(message, Some(hint.to_owned()))
    };
    watched.before_the_model(journal::sha256(bytes)).map_err(ledger)?;
    reticent_files::write(&args.out, reticent_files::Access::Owner, bytes)
        .map_err(|error| output::not_written(&args.out, &error))?;
    watched.settle().map_err(|error| {
        let Failure { message, hint, code } = ledger(error);
        Failure { message: format!("the model is written, but {message}"), hint, code }
    })
}

/// What a run needs beside the records.
struct Run<'a> {
    planned: &'a dyn Planned,
    facts: &'a Facts,
    privacy: Option<&'a Privacy>,
    purchase: Option<Purchase>,
}

impl Run<'_> {
    /// Buys bounds if there are any to buy, and fits. The schema has them.
    fn fit(
        &self,
        mut schema: Schema,
        source: &Source,
        mut rows: Rows,
        watched: &Watched,
    ) -> Result<(Schema, Box<dyn Fitted>, Receipt), Failure> {
        if let (Some(purchase), Some(privacy)) = (&self.purchase, self.privacy) {
            drop(rows);
            watched.first_of_two(purchase.together(self.planned, self.facts, privacy)?);
            schema = purchase.buy(&schema, source, privacy, watched)?;
            rows = Encoder::new(&schema)?.rows(source, data::KEPT)?;
        }
        let noise = NoiseSource::from_os().map_err(|error| Failure::failed(error.to_string(), None))?;
        let records = data::records(rows)?;
        let (fitted, receipt) = self.planned.fit(records, noise, self.privacy, Box::new(watched.clone()))?;
        Ok((schema, fitted, receipt))
    }
}

/// What the file says for people.
fn card(model: &dyn Model, schema: &Schema, privacy: Option<&Privacy>, score: Option<&Score>) -> Value {
    let asked = privacy.map(|privacy| {
        json!({
            "epsilon": privacy.epsilon(),
            "delta": privacy.delta(),
            "adjacency": privacy.adjacency(),
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
        card["test"] = json!({ "note": evaluate::PUBLIC_NOTE, "score": score });
    }
    card
}

fn describe(
    args: &Args,
    model: &dyn Model,
    schema: &Schema,
    receipt: &Receipt,
    score: Option<&Score>,
    warnings: &[String],
) -> String {
    let out = args.out.display();
    let of = schema.target().map_or(String::new(), |target| format!(" of {}", target.name()));
    let mut text = format!("{out}: {} model{of}\n\n{receipt}", model.name());
    if let Some(score) = score {
        let mut lines = Lines::default();
        evaluate::describe(&mut lines, evaluate::NOTE, score, schema);
        if !args.test_is_public {
            lines.line(format_args!("They are in {}", scores::beside(&args.out).display()));
        }
        let _ = write!(text, "\n{}", String::from(lines));
    }
    for warning in warnings {
        let _ = write!(text, "\nwarning: {warning}\n");
    }
    let _ = write!(text, "\nNext: reticent report {out} --out report.html\n");
    text
}

/// Tries to write beside the file, before anything is spent on what will go there.
pub(crate) fn check_writable(file: &Path) -> Result<(), Failure> {
    let trial = reticent_files::AtomicFile::create(file, reticent_files::Access::Owner);
    trial.map(drop).map_err(|error| output::not_written(file, &error))
}
