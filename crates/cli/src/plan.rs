//! `reticent plan`

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use reticent::budget::{Privacy, PrivacyError};
use reticent::family::Covariance;
use reticent::model::mixture::{FitError, Mixture, MixturePlan, NoiseVariance, StartPlan, Weights};
use serde::Deserialize;

use crate::event::Neighbours;
use crate::output::{Failure, json, rounded_up, table};

/// What a private fit would release, cost and achieve, before any record is read.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    model: Model,
}

#[derive(Subcommand)]
enum Model {
    /// A mixture of Gaussians with known, spherical noise and equal weights.
    #[command(after_help = "\
Nothing is read but the options: a plan is public. The prior means are zero; shift the records by a
public point if that is far from where they may be.

--public-start names a file such as {\"means\": [[0, 1], [2, 3]], \"sd\": 0.5}: a point for each
component, and how far a coordinate of a true mean may be from it. Then no sketch is needed.

Example:
  reticent plan mixture --records 1000 --components 4 --dimension 4 --noise-sd 0.5 --prior-variance 10 --epsilon 1 --delta 1e-5")]
    Mixture(MixtureArgs),
}

#[derive(clap::Args)]
struct MixtureArgs {
    /// How many records there are: a public number.
    #[arg(long)]
    records: usize,
    /// How many components.
    #[arg(long)]
    components: usize,
    /// Numbers in a record.
    #[arg(long)]
    dimension: usize,
    /// The standard deviation of a record about its component's mean.
    #[arg(long, allow_negative_numbers = true)]
    noise_sd: f64,
    /// The prior variance of each coordinate of a mean; its prior mean is zero.
    #[arg(long, allow_negative_numbers = true)]
    prior_variance: f64,
    /// The epsilon that may be spent.
    #[arg(long, allow_negative_numbers = true)]
    epsilon: f64,
    /// The delta that may be spent.
    #[arg(long, allow_negative_numbers = true)]
    delta: f64,
    /// Which data sets are neighbours.
    #[arg(long, value_enum, default_value = "replace")]
    adjacency: Neighbours,
    /// A JSON file with public points to start at.
    #[arg(long, value_name = "FILE")]
    public_start: Option<PathBuf>,
    /// Print the plan as JSON, to be edited and run.
    #[arg(long)]
    json: bool,
}

/// What is in the file of --public-start.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicStart {
    means: Vec<Vec<f64>>,
    sd: f64,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let Model::Mixture(args) = &args.model;
    for (name, number) in
        [("--records", args.records), ("--components", args.components), ("--dimension", args.dimension)]
    {
        if number == 0 {
            return Err(Failure::usage(format!("{name} must be at least 1"), "see --help for an example"));
        }
    }
    for (name, number) in [("--noise-sd", args.noise_sd), ("--prior-variance", args.prior_variance)] {
        if !(number > 0.0 && number.is_finite()) {
            let message = format!("{name} must be positive and finite, not {number}");
            return Err(Failure::usage(message, "see --help for an example"));
        }
    }
    let privacy = Privacy::new(args.epsilon, args.delta, args.adjacency.adjacency())?;
    privacy.check(args.records, privacy.adjacency())?;
    if args.delta == 0.0 {
        let hint = "delta is a small probability, well below 1/N, such as 1e-5";
        return Err(Failure::usage("Gaussian noise needs a delta above 0", hint));
    }
    let means = vec![vec![0.0; args.dimension]; args.components];
    let noise = NoiseVariance::Known(args.noise_sd * args.noise_sd);
    let model = Mixture::new(&means, args.prior_variance, Covariance::Full, noise, Weights::Uniform)
        .map_err(|error| Failure::from_error(&error, HINT))?;
    let plan = match &args.public_start {
        None => MixturePlan::new(&model, args.records, &privacy)?,
        Some(file) => {
            let PublicStart { means, sd } = read(file)?;
            MixturePlan::from_points(&model, args.records, &privacy, means, sd)?
        }
    };
    if args.json { Ok(json(&plan)) } else { describe(&plan, args) }
}

fn read(file: &Path) -> Result<PublicStart, Failure> {
    let wrong = |why: String| {
        let hint = "it holds {\"means\": [[...], ...], \"sd\": ...}, a point for each component";
        Failure::usage(format!("the public start {} cannot be read: {why}", file.display()), hint)
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
}

fn describe(plan: &MixturePlan, args: &MixtureArgs) -> Result<String, Failure> {
    let cost = plan.price().map_err(|error| Failure::from_error(&error, HINT))?;
    let (sites, expected) = (&plan.sites, &plan.expected);
    let mut text = format!(
        "A private fit of a mixture: {} records, {} components in {} dimensions\n\
         each mean ~ N(0, {} I), prior means zero; each record ~ N(its mean, {}\u{b2} I)\n\n\
         Released, with Gaussian noise, each about all records\n",
        plan.records, plan.components, plan.dimension, args.prior_variance, args.noise_sd
    );
    let header = ["", "what", "numbers", "times", "norm at most", "noise multiplier", "share of the budget"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let mut row = |what: &str, width: usize, times: u64, norm: f64, multiplier: f64, share: f64| {
        let numbers = [width.to_string(), times.to_string(), format!("{norm:.4}"), rounded_up(multiplier)];
        let share = format!("{:.0} %", 100.0 * share);
        rows.push([String::new(), what.to_owned()].into_iter().chain(numbers).chain([share]).collect());
    };
    // Gaussian releases compose by the squares of their signal to noise ratios.
    let refining = sites.steps as f64 / sites.noise_multiplier.powi(2);
    let mut total = refining;
    if let StartPlan::Sketch { frequencies, noise_multiplier, .. } = plan.start {
        let start = noise_multiplier.powi(-2);
        total += start;
        row("sketch, to find the components", 2 * frequencies, 1, 1.0, noise_multiplier, start / total);
    }
    let width = plan.components * (plan.dimension + 1);
    let what = "clipped sites, to refine the means";
    row(what, width, sites.steps, sites.clip, sites.noise_multiplier, refining / total);
    text.push_str(&table(&rows));
    let _ = write!(
        text,
        "\nCosts epsilon {} at delta {:e}, {} adjacency, by {}\n\n\
         Expected of a component apart from the others\n  \
         error of a mean from the records  {:.4}\n  \
         error of a mean from privacy      {:.4}\n  \
         KL from the exact posterior       {:.4}\n  \
         time on one core, roughly         {:.1} s\n\nWhy\n",
        rounded_up(cost.epsilon.upper),
        cost.delta,
        cost.adjacency,
        cost.method,
        expected.data_sd,
        expected.privacy_sd,
        expected.kl,
        expected.seconds,
    );
    for reason in &plan.why {
        let _ = writeln!(text, "  - {reason}");
    }
    Ok(text)
}

const HINT: &str = "see --help for what each option means";

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
