//! `reticent plan`

mod mixture;

use std::fmt::Write as _;
use std::path::PathBuf;

use reticent::budget::Privacy;
use reticent::model::mixture::FitError;
use reticent_models::{Estimate, Facts, Model, Planned, Release, Setting, model};

use crate::bounds::Purchase;
use crate::data;
use crate::output::{Failure, json, rounded_up, table};
use crate::request::{self, Accepted, Options};

/// What a private fit would release, cost and achieve, before any record is read.
#[derive(clap::Args)]
#[command(after_help = "\
Nothing is read but the schema and the options: a plan is public. --json prints the plan, which can be
edited and given to `reticent fit --plan`.

A mixture can also be planned without a schema, by --components, --dimension, --noise-sd and
--prior-variance. The prior means are zero; shift the records by a public point if that is far from
where they may be. --public-start names a file such as {\"means\": [[0, 1], [2, 3]], \"sd\": 0.5}: a point
for each component, and how far a coordinate of a true mean may be from it. Then no sketch is needed.

Example:
  reticent plan mixture --records 1000 --components 4 --dimension 4 --noise-sd 0.5 --prior-variance 10 --epsilon 1 --delta 1e-5
  reticent plan regression --schema schema.toml --records 5000 --epsilon 1 --delta 1e-5")]
pub(crate) struct Args {
    /// The model, as for `reticent fit`.
    model: String,
    /// What is publicly known about the records.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// How many records there are: a public number.
    #[arg(long)]
    records: usize,
    /// The epsilon that may be spent.
    #[arg(long, allow_negative_numbers = true)]
    epsilon: f64,
    /// The delta that may be spent.
    #[arg(long, allow_negative_numbers = true)]
    delta: f64,
    #[command(flatten)]
    options: Options,
    /// Print the plan as JSON, to be edited and run.
    #[arg(long)]
    json: bool,
    #[command(flatten, next_help_heading = "Mixtures without a schema")]
    mixture: mixture::MixtureArgs,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let model = model(&args.model)?;
    let Some(file) = &args.schema else {
        if model.name() == "mixture" {
            return mixture::run(args);
        }
        let hint = "`reticent schema --from FILE` writes one to fill in";
        return Err(Failure::usage("a plan needs --schema, which says what is publicly known", hint));
    };
    if args.mixture.any() {
        let hint = "say --set components=4 --set noise-sd=0.1, for inputs between -1 and 1";
        return Err(Failure::usage("with --schema the settings of a mixture are given by --set", hint));
    }
    if args.records == 0 {
        return Err(Failure::usage("--records must be at least 1", "see --help for an example"));
    }
    let schema = data::schema(file)?;
    request::needs_bounds(file, &schema, model)?;
    let privacy = args.options.privacy(model, args.epsilon, args.delta)?;
    let mut facts = args.options.facts(model, &schema, args.options.settings()?)?;
    facts.records = args.records;
    let accepted = request::accept(&args.options, model, &schema, &facts, Some(&privacy), None)?;
    let Accepted { planned, purchase } = accepted;
    if args.json {
        return Ok(json(&request::plan_file(model, &facts, planned.as_ref())));
    }
    let of = format!("A private {} model: {} records, {} inputs", model.name(), args.records, facts.inputs());
    let settings = settings(model, &facts);
    Ok(describe(&of, &facts, planned.as_ref(), &privacy, purchase.as_ref())? + &settings)
}

fn describe(
    of: &str,
    facts: &Facts,
    planned: &dyn Planned,
    privacy: &Privacy,
    purchase: Option<&Purchase>,
) -> Result<String, Failure> {
    let mut outline = planned.outline();
    let together = purchase.map(|purchase| purchase.together(planned, facts, privacy)).transpose()?;
    let cost = match together.and_then(|request| request.guarantee.cost()) {
        Some(cost) => cost,
        None => planned.price(privacy)?,
    };
    outline.releases.splice(0..0, purchase.map(Purchase::release));
    let mut text = format!("{of}\n\nReleased, with noise\n");
    let header = ["", "what", "numbers", "times", "norm at most", "noise multiplier", "share of the budget"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    // Gaussian releases compose by the squares of their signal to noise ratios.
    let weight = |release: &Release| release.times as f64 / release.noise_multiplier.powi(2);
    let total: f64 = outline.releases.iter().map(weight).sum();
    for release in &outline.releases {
        rows.push(vec![
            String::new(),
            release.what.clone(),
            release.width.to_string(),
            release.times.to_string(),
            format!("{:.4}", release.clip),
            rounded_up(release.noise_multiplier),
            format!("{:.0} %", 100.0 * weight(release) / total),
        ]);
    }
    text.push_str(&table(&rows));
    let _ = write!(
        text,
        "\nCosts epsilon {} at delta {:e}, {} adjacency, by {}\n\nExpected\n",
        rounded_up(cost.epsilon.upper),
        cost.delta,
        cost.adjacency,
        cost.method
    );
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (name, value) in &outline.expected {
        rows.push(vec![String::new(), name.clone(), format!("{value:.4}")]);
    }
    let estimate = with_records(planned.cost_estimate(), facts);
    let mut row = |what: &str, value: String| rows.push(vec![String::new(), what.into(), value]);
    row("time on one core, at most about", format!("{:.1} s", estimate.seconds()));
    row("memory, at most about", format!("{:.0} MB", 1e-6 * estimate.memory));
    row("model file, about", format!("{:.3} MB", 1e-6 * estimate.file_bytes));
    row("journal beside --out, while it runs", format!("{:.1} MB", journal_megabytes(&outline.releases)));
    text.push_str(&table(&rows));
    text.push_str("\nWhy\n");
    for reason in &outline.why {
        let _ = writeln!(text, "  - {reason}");
    }
    Ok(text)
}

/// With the records that are kept in memory.
fn with_records(estimate: Estimate, facts: &Facts) -> Estimate {
    let kept = (facts.width() as f64 * facts.records as f64).min(data::KEPT as f64);
    Estimate { memory: estimate.memory + 16.0 * kept, ..estimate }
}

/// The settings of a model with their values and ranges.
fn settings(model: &dyn Model, facts: &Facts) -> String {
    if model.settings().is_empty() {
        return String::new();
    }
    let row = |setting: &Setting| {
        let value = facts.settings.get(setting.name).copied().or(setting.default);
        let value = value.map_or_else(String::new, |value| value.to_string());
        let (name, range) = (setting.name.to_owned(), setting.range().to_string());
        vec![String::new(), name, value, range, setting.about.to_owned()]
    };
    let rows: Vec<_> = model.settings().iter().map(row).collect();
    format!("\nSettings, by --set NAME=NUMBER\n{}", table(&rows))
}

/// What a fit keeps on the disk so that it can be resumed: 8 bytes for each number that is released.
fn journal_megabytes(releases: &[Release]) -> f64 {
    releases.iter().map(|release| 8e-6 * release.times as f64 * release.width as f64).sum()
}

pub(crate) const HINT: &str = "see --help for what each option means";

impl From<FitError> for Failure {
    fn from(error: FitError) -> Self {
        Self::from_error(&error, HINT)
    }
}
