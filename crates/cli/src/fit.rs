//! `reticent fit`

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use reticent::{Account, Fit, Fitted, Session};
use serde_json::{Value, json};

use crate::options::Options;
use crate::output::{self, Failure, Lines};
use crate::{data, interrupt, models, progress};

const NOTES: &str = "\
Under replace-one adjacency the number of records is public and read from the file. Under add-remove
it is not, and --records states about how many there are: a public guess.

Bounds that the schema leaves private (`bounds = \"private\", within = [0, 1e9]`) are estimated first, with a share
of the budget. Records are kept in memory if they fit in a quarter of it, or in what --memory states. Otherwise they are read
again for each release, and the files must not change; with a privacy unit they go to an encrypted temporary file.

With a privacy unit (`privacy_unit = \"person_id\"` in the schema) all rows of a person are protected together: each person
counts once, as the mean of its rows, and the number of records is that of persons.

A private run keeps what it releases in a journal beside --out until the model is on the disk and the ledger is
settled. Whatever ends it before (Ctrl-C, a crash, a full disk), the same command with --resume continues it. Resuming costs
nothing extra: released values are read back, not drawn again. The model can be read by its owner alone; to publish it, change that.

Example:
  reticent fit regression --data people.csv --schema schema.toml --epsilon 1 --delta 1e-5 --out model.reticent";

/// The end of the help: the models, notes and an example.
fn after_help() -> String {
    format!("Models (`reticent models NAME` has their settings):\n{}\n{NOTES}", models::list())
}

/// Fit a model to private records, and write a posterior that may be published.
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub(crate) struct Args {
    /// The model.
    model: String,
    /// The records, CSV or Parquet: a file, a folder, a pattern such as 'data/*.parquet', or - for CSV from standard input.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    #[command(flatten)]
    layout: data::LayoutArgs,
    /// What is publicly known about them.
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    /// The epsilon to spend.
    #[arg(long, allow_negative_numbers = true, required_unless_present = "no_privacy")]
    epsilon: Option<f64>,
    /// The delta to spend.
    #[arg(long, allow_negative_numbers = true, required_unless_present = "no_privacy")]
    delta: Option<f64>,
    /// The model file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The ledger to charge.
    #[arg(long, value_name = "FILE", requires = "data_set")]
    ledger: Option<PathBuf>,
    /// The data set in the ledger.
    #[arg(long, value_name = "NAME", requires = "ledger")]
    data_set: Option<String>,
    /// A plan that `reticent plan --json` printed, edited or not.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
    /// A public guess of the number of records (add-remove only).
    #[arg(long, value_name = "N")]
    records: Option<usize>,
    /// NOT PRIVATE: a baseline without noise, to keep to yourself.
    #[arg(long, conflicts_with_all = ["epsilon", "delta", "ledger"])]
    no_privacy: bool,
    /// NOT PRIVATE: records to evaluate the model on. Scores go to a file beside --out, NAME.scores.json.
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
    /// Declare that the test records are public: scores go into the model file.
    #[arg(long, requires = "test")]
    test_is_public: bool,
    /// NOT PRIVATE: scale by the mean and deviation of the data (networks without privacy only).
    #[arg(long)]
    assume_public_moments: bool,
    /// Hold this share of the records out, by secret coins, for `evaluate --holdout`. The key goes to a file beside --out, NAME.holdout: keep it secret.
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, conflicts_with = "no_privacy")]
    holdout: Option<f64>,
    /// How a model from noisy sums treats the noise: short for --set posterior=noise-aware or naive.
    #[arg(long, value_enum)]
    posterior: Option<Treatment>,
    /// Resume the run that was interrupted, at no further cost: released values are read back.
    #[arg(long, conflicts_with = "no_privacy")]
    resume: bool,
    /// Replace the file of --out, even if it has cost budget.
    #[arg(long)]
    force: bool,
    /// Memory for the records, such as 500MB or 2GB: a quarter of the machine's unless stated.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<u64>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print nothing, and show no progress.
    #[arg(long)]
    quiet: bool,
}

/// A size such as 500MB.
fn bytes(text: &str) -> Result<u64, String> {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    let found = units.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
    let (number, size) = found.ok_or("a size ends with kB, MB or GB, such as 500MB")?;
    let number: f64 =
        number.trim().parse().map_err(|_| "a size is a number with kB, MB or GB, such as 2GB")?;
    if number > 0.0 && number.is_finite() {
        Ok((number * size) as u64)
    } else {
        Err("a size is above 0".to_owned())
    }
}

/// How a posterior treats the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Treatment {
    /// The noise is a part of the likelihood.
    NoiseAware,
    /// Noisy sums are taken for true ones, for comparison.
    Naive,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    // An unknown model is reported before a file is opened.
    reticent::model(&args.model).map_err(reticent::Error::from)?;
    let schema = data::schema(&args.schema)?;
    let mut fit = args.options.over(Fit::new(&args.model, &schema)?, &schema)?;
    if let Some(posterior) = args.posterior {
        fit = fit
            .setting("posterior", if posterior == Treatment::NoiseAware { "noise-aware" } else { "naive" });
    }
    if let Some(file) = &args.plan {
        fit = with_plan(fit, file, &args.model)?;
    }
    fit.check_settings().map_err(data::about_schema(&args.schema))?;
    let layout = args.layout.over(schema.layout());
    let records = data::data(&args.data, layout)?;
    if let (Some(epsilon), Some(delta)) = (args.epsilon, args.delta) {
        fit = fit.privacy(args.options.privacy(epsilon, delta)?);
    }
    if args.no_privacy {
        fit = fit.without_privacy();
    }
    if let (Some(ledger), Some(data_set)) = (&args.ledger, &args.data_set) {
        fit = fit.ledger(ledger, data_set);
    }
    if let Some(number) = args.records {
        fit = fit.records(number);
    }
    if let Some(bytes) = args.memory {
        fit = fit.memory(bytes);
    }
    if args.assume_public_moments {
        fit = fit.assume_public_moments();
    }
    if let Some(test) = &args.test {
        fit = fit.test(data::data(test, layout)?);
    }
    if let Some(share) = args.holdout {
        fit = fit.holdout(share);
    }
    if args.test_is_public {
        fit = fit.test_is_public();
    }
    let fitted = fit
        .out(&args.out)
        .resume(args.resume)
        .overwrite(args.force)
        .on_progress(progress::releases(args.quiet))
        .on_notice(output::notice)
        .cancelled_by(&interrupt::listen())
        .run(records)
        .map_err(data::about_schema(&args.schema))?;
    if args.quiet {
        return Ok(String::new());
    }
    let (model, score) = (fitted.model(), fitted.score());
    let account = args.account();
    if args.json {
        let out = args.out.display().to_string();
        let warnings = &model.card().warnings;
        return Ok(output::json(
            &json!({ "model": args.model, "out": out, "receipt": fitted.receipt(), "score": score, "warnings": warnings, "account": account }),
        ));
    }
    Ok(describe(args, &fitted, account.as_ref()))
}

impl Args {
    /// What remains of the budget, once the fit is charged. The model is on the disk: that the ledger cannot be read now is no failure of the fit.
    fn account(&self) -> Option<Account> {
        let (ledger, data_set) = (self.ledger.as_ref()?, self.data_set.as_ref()?);
        Session::open(ledger, data_set.as_str()).and_then(|session| session.account()).ok()
    }
}

/// With the plan of a file, whose settings hold.
fn with_plan(fit: Fit, file: &Path, model: &str) -> Result<Fit, Failure> {
    let wrong = |why: &dyn std::fmt::Display| {
        let hint = format!("`reticent plan {model} --json` prints one");
        Failure::failed(format!("the plan {} cannot be used: {why}", file.display()), Some(hint))
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error))?;
    let plan: Value = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    Ok(fit.plan(&plan).map_err(|error| error.in_file(file))?)
}

fn describe(args: &Args, fitted: &Fitted, account: Option<&Account>) -> String {
    let (out, model) = (args.out.display(), fitted.model());
    let of = model.schema().target().map_or(String::new(), |target| format!(" of {}", target.name()));
    let mut text =
        format!("{out}: {} model{of}\n\n{}", args.model, reticent_report::text::receipt(fitted.receipt()));
    if let Some(account) = account {
        let _ = write!(text, "\nNow {}\n", reticent_report::remaining(account));
    }
    if let Some(score) = fitted.score() {
        let mut lines = Lines::default();
        reticent_report::text::score(&mut lines, reticent::SCORES_NOTE, score, model.schema());
        if !args.test_is_public {
            lines.line(format_args!("They are in {}", reticent::scores_beside(&args.out).display()));
        }
        let _ = write!(text, "\n{}", String::from(lines));
    }
    for warning in &model.card().warnings {
        let _ = write!(text, "\nwarning: {warning}\n");
    }
    if args.holdout.is_some() {
        let file = reticent::holdout_beside(&args.out);
        let _ = write!(
            text,
            "\nWhich records were held out is in {}: keep it secret. They are for `reticent evaluate {out} --holdout {} --epsilon ...`, on the same file\n",
            file.display(),
            file.display()
        );
    }
    let _ = write!(text, "\nNext: reticent report {out} --out report.html\n");
    text
}
