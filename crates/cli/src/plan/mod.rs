//! `reticent plan`

mod mixture;
mod sweep;

use std::fmt::Write as _;
use std::path::PathBuf;

use reticent::{Cost, Fit, Plan, Release, Setting, model};
use reticent_core::model::FitError;

use crate::data;
use crate::options::Options;
use crate::output::{Failure, json, rounded_up, table};

/// Plan a private fit: its releases, its cost and its expected error. No record is read.
#[derive(clap::Args)]
#[command(after_help = "\
A plan depends on the schema and the options only, so it is public. --json prints the plan, which can be
edited and given to `reticent fit --plan`.

A mixture can also be planned without a schema, by --components, --dimension, --noise-sd and
--prior-variance. The prior means are zero; shift the records by a public point if that is far from
where they may be. --public-start names a file such as {\"means\": [[0, 1], [2, 3]], \"sd\": 0.5}: a point
for each component, and how far a coordinate of a true mean may be from it. Then no sketch is needed.

Expected widths and errors come from fits to simulated records that agree with the schema: numbers about the middle of their
bounds with a standard deviation of three tenths of half their range, levels equally frequent, inputs that explain half of the
variance of a number. The nearer the records are to that, the nearer are the figures.

Example:
  reticent plan mixture --records 1000 --components 4 --dimension 4 --noise-sd 0.5 --prior-variance 10 --epsilon 1 --delta 1e-5
  reticent plan regression --schema schema.toml --records 5000 --epsilon 1 --delta 1e-5
  reticent plan linear --schema schema.toml --records 5000 --epsilon 0.1,1,10 --delta 1e-5 --out plan.svg
  reticent plan linear --schema schema.toml --records 5000 --epsilon 10 --delta 1e-5 --target-width 0.5 --parameter \"coefficient[age]\"")]
pub(crate) struct Args {
    /// The model, as for `reticent fit`.
    model: String,
    /// What is publicly known about the records.
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// The number of records, which is public. Several, separated by commas, are compared.
    #[arg(long, value_delimiter = ',', required = true)]
    records: Vec<usize>,
    /// The epsilon that may be spent. Several, separated by commas, are compared.
    #[arg(long, value_delimiter = ',', required = true, allow_negative_numbers = true)]
    epsilon: Vec<f64>,
    /// The delta that may be spent.
    #[arg(long, allow_negative_numbers = true)]
    delta: f64,
    #[command(flatten)]
    options: Options,
    /// Print the plan as JSON, to be edited and run.
    #[arg(long)]
    json: bool,
    /// Find the least epsilon, up to the one given, at which half the 95 % interval is at most this wide, in the unit of the parameter.
    #[arg(long, value_name = "WIDTH", requires = "schema")]
    target_width: Option<f64>,
    /// The parameter of --target-width, such as "coefficient[age]"; the median of the first variable's if none is named.
    #[arg(long, value_name = "NAME", requires = "target_width")]
    parameter: Option<String>,
    /// Draw the expected widths and errors by epsilon, or by the number of records, as an SVG file.
    #[arg(long, value_name = "FILE", requires = "schema")]
    out: Option<PathBuf>,
    /// Number of simulated data sets for expected widths and errors; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 3)]
    simulations: usize,
    #[command(flatten, next_help_heading = "Mixtures without a schema")]
    mixture: mixture::MixtureArgs,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let model = model(&args.model).map_err(reticent::Error::from)?;
    let Some(file) = &args.schema else {
        if model.name() == "mixture" {
            return mixture::run(args);
        }
        let hint = "`reticent schema --from FILE` writes one to fill in";
        return Err(Failure::usage("a plan needs --schema, which states what is publicly known", hint));
    };
    if args.mixture.any() {
        let hint = "use --set components=4 --set noise-sd=0.1, for inputs between -1 and 1";
        return Err(Failure::usage("with --schema the settings of a mixture are given by --set", hint));
    }
    let schema = data::schema(file)?;
    let plan = |records: usize, epsilon: f64| -> Result<Plan, Failure> {
        let fit = args.options.over(Fit::new(model.name(), &schema)?, &schema)?;
        let privacy = args.options.privacy(epsilon, args.delta)?;
        fit.privacy(privacy).planned(records).map_err(data::about_schema(file))
    };
    if let Some(width) = args.target_width {
        return sweep::target(args, width, &plan);
    }
    match (&args.records[..], &args.epsilon[..]) {
        (&[records], &[epsilon]) if args.out.is_none() => {
            let plan = plan(records, epsilon)?;
            if args.json { Ok(json(&plan.to_json())) } else { describe(&plan, args.simulations) }
        }
        _ => sweep::run(args, &plan),
    }
}

fn describe(plan: &Plan, simulations: usize) -> Result<String, Failure> {
    let (name, releases) = (plan.model().name(), plan.releases()?);
    let mut text = format!(
        "A private {name} model: {} {}, {} inputs\n\nNoisy releases\n",
        plan.records(),
        plan.privacy_unit().map_or("records".to_owned(), |unit| format!(
            "privacy units (rows with the same {})",
            unit.column()
        )),
        plan.inputs()
    );
    text.push_str(&releases_table(&releases));
    if let Some(cost) = plan.cost()? {
        text.push_str(&cost_line(&cost));
    }
    text.push_str("\nExpected\n");
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (name, value) in &plan.expected() {
        rows.push(vec![String::new(), name.clone(), format!("{value:.4}")]);
    }
    let estimate = plan.estimate();
    let mut row = |what: &str, value: String| rows.push(vec![String::new(), what.into(), value]);
    row("time on one core, at most about", format!("{:.1} s", estimate.seconds()));
    row("memory, at most about", format!("{:.0} MB", 1e-6 * estimate.memory));
    row("model file, about", format!("{:.3} MB", 1e-6 * estimate.file_bytes));
    row("journal beside --out, until the run is settled", format!("{:.1} MB", 1e-6 * plan.journal_bytes()?));
    text.push_str(&table(&rows));
    if simulations > 0 {
        text.push_str(&sweep::expected(plan, simulations)?);
    }
    text.push_str("\nWhy\n");
    for reason in plan.why() {
        let _ = writeln!(text, "  - {reason}");
    }
    text.push_str(&settings(plan));
    Ok(text)
}

/// The releases, with the share of the budget that each takes.
fn releases_table(releases: &[Release]) -> String {
    let header =
        ["", "release", "numbers", "times", "clipping norm", "noise multiplier", "share of the budget"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    // Gaussian releases compose by the squares of their inverse noise multipliers.
    let weight = |release: &Release| release.times as f64 / release.noise_multiplier.powi(2);
    let total: f64 = releases.iter().map(weight).sum();
    rows.extend(releases.iter().map(|release| {
        vec![
            String::new(),
            release.what.clone(),
            release.width.to_string(),
            release.times.to_string(),
            format!("{:.4}", release.clip),
            rounded_up(release.noise_multiplier),
            format!("{:.0} %", 100.0 * weight(release) / total),
        ]
    }));
    table(&rows)
}

fn cost_line(cost: &Cost) -> String {
    format!("\nCost: {cost}\n")
}

/// The settings of a model with their values and ranges.
fn settings(plan: &Plan) -> String {
    let model = plan.model();
    if model.declaration().settings.is_empty() {
        return String::new();
    }
    let row = |setting: &Setting| {
        let value = plan.settings().get(setting.name).cloned().or_else(|| setting.default());
        let value = value.map_or_else(String::new, |value| value.to_string());
        let (name, range) = (setting.name.to_owned(), setting.range().to_string());
        vec![String::new(), name, value, range, setting.about.to_owned()]
    };
    let rows: Vec<_> = model.declaration().settings.iter().map(row).collect();
    format!("\nSettings (--set NAME=VALUE)\n{}", table(&rows))
}

pub(crate) const HINT: &str = "see --help for what each option means";

impl From<FitError> for Failure {
    fn from(error: FitError) -> Self {
        Self::from_error(&error, HINT)
    }
}
