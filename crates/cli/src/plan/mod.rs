//! `reticent plan`

mod mixture;

use std::fmt::Write as _;
use std::path::PathBuf;

use reticent::budget::{Privacy, PrivacyError};
use reticent::model::mixture::FitError;
use reticent_models::{Facts, Planned, Release, model};

use crate::bounds::{self, Purchase};
use crate::event::Neighbours;
use crate::output::{Failure, json, rounded_up, table};
use crate::{data, fit};

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
    /// Which data sets are neighbours.
    #[arg(long, value_enum, default_value = "replace")]
    adjacency: Neighbours,
    /// A setting of the model, such as components=3.
    #[arg(long, value_name = "NAME=NUMBER")]
    set: Vec<String>,
    /// The share of the budget for bounds that the schema leaves private.
    #[arg(long, value_name = "SHARE", default_value_t = bounds::SHARE, allow_negative_numbers = true)]
    bounds_share: f64,
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
    let mut facts = data::facts(&schema, args.records);
    facts.settings = fit::settings(&args.set)?;
    let privacy = Privacy::new(args.epsilon, args.delta, args.adjacency.adjacency())?;
    privacy.check(args.records, privacy.adjacency())?;
    if args.delta == 0.0 {
        let hint = "delta is a small probability, well below 1/N, such as 1e-5";
        return Err(Failure::usage("Gaussian noise needs a delta above 0", hint));
    }
    let purchase = Purchase::new(&schema, args.records, Some(&privacy), args.bounds_share)?;
    let planned = match &purchase {
        Some(purchase) => purchase.plan_fit(model, &facts, &privacy, args.bounds_share)?,
        None => model.plan(&facts, Some(&privacy))?,
    };
    if args.json {
        return Ok(json(&fit::plan_file(model, &facts, planned.as_ref())));
    }
    let of = format!("A private {} model: {} records, {} inputs", model.name(), args.records, facts.inputs());
    describe(&of, &facts, planned.as_ref(), &privacy, purchase.as_ref())
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
    let (seconds, megabytes) = effort(facts, &outline.releases);
    rows.push(vec![String::new(), "time on one core, roughly".into(), format!("{seconds:.1} s")]);
    rows.push(vec![String::new(), "memory, roughly".into(), format!("{megabytes:.0} MB")]);
    let journal = journal_megabytes(&outline.releases);
    rows.push(vec![String::new(), "journal beside --out, while it runs".into(), format!("{journal:.1} MB")]);
    text.push_str(&table(&rows));
    text.push_str("\nWhy\n");
    for reason in &outline.why {
        let _ = writeln!(text, "  - {reason}");
    }
    Ok(text)
}

/// Seconds and megabytes, roughly: some nanoseconds for each number of a contribution, and 8 bytes for each of a record that is
/// kept, with room to grow.
fn effort(facts: &Facts, releases: &[Release]) -> (f64, f64) {
    const NANOSECONDS: f64 = 10.0;
    let numbers: f64 = releases.iter().map(|release| release.times as f64 * release.width as f64).sum();
    let seconds = numbers * facts.records as f64 * NANOSECONDS * 1e-9;
    let kept = (facts.width() as f64 * facts.records as f64).min(data::KEPT as f64);
    (seconds, 20.0 + 16e-6 * kept)
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

impl From<PrivacyError> for Failure {
    fn from(error: PrivacyError) -> Self {
        Self::from_error(&error, "epsilon is positive, and delta a small probability such as 1e-5")
    }
}
