//! A plan for a mixture whose records are not described by a schema.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use reticent::Release;
use reticent_core::family::Covariance;
use reticent_core::model::mixture::{Mixture, MixturePlan, NoiseVariance, StartPlan, Weights};
use reticent_core::model::{Limits, TableShape, Target, model};
use serde::Deserialize;

use super::{Args, HINT, cost_line, releases_table};
use crate::output::{Failure, json};

/// A mixture of Gaussians with known, spherical noise and equal weights.
#[derive(clap::Args)]
pub(crate) struct MixtureArgs {
    /// The number of components.
    #[arg(long)]
    components: Option<usize>,
    /// The number of coordinates of a record.
    #[arg(long)]
    dimension: Option<usize>,
    /// The standard deviation of a record about its component's mean.
    #[arg(long, allow_negative_numbers = true)]
    noise_sd: Option<f64>,
    /// The prior variance of each coordinate of a mean; its prior mean is zero.
    #[arg(long, allow_negative_numbers = true)]
    prior_variance: Option<f64>,
    /// A JSON file with public points to start at.
    #[arg(long, value_name = "FILE")]
    public_start: Option<PathBuf>,
}

impl MixtureArgs {
    /// Whether one of them was given.
    pub(super) fn any(&self) -> bool {
        let numbers = [self.components, self.dimension].iter().any(Option::is_some);
        numbers || self.noise_sd.or(self.prior_variance).is_some() || self.public_start.is_some()
    }
}

/// What is in the file of --public-start.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicStart {
    means: Vec<Vec<f64>>,
    sd: f64,
}

pub(super) fn run(args: &Args) -> Result<String, Failure> {
    let needed = |name: &str| {
        Failure::usage(format!("a mixture without --schema needs {name}"), "see --help for an example")
    };
    let components = args.mixture.components.ok_or_else(|| needed("--components"))?;
    let dimension = args.mixture.dimension.ok_or_else(|| needed("--dimension"))?;
    let noise_sd = args.mixture.noise_sd.ok_or_else(|| needed("--noise-sd"))?;
    let prior_variance = args.mixture.prior_variance.ok_or_else(|| needed("--prior-variance"))?;
    for (name, number) in
        [("--records", args.records[0]), ("--components", components), ("--dimension", dimension)]
    {
        if number == 0 {
            return Err(Failure::usage(format!("{name} must be at least 1"), "see --help for an example"));
        }
    }
    for (name, number) in [("--noise-sd", noise_sd), ("--prior-variance", prior_variance)] {
        if !(number > 0.0 && number.is_finite()) {
            let message = format!("{name} must be positive and finite, not {number}");
            return Err(Failure::usage(message, "see --help for an example"));
        }
    }
    let privacy = args.options.privacy(args.epsilon[0], args.delta)?;
    if args.delta == 0.0 {
        let hint = "delta is a small probability, well below 1/N, such as 1e-5";
        return Err(Failure::usage("a mixture model has Gaussian noise, which needs a delta above 0", hint));
    }
    privacy.check(args.records[0], privacy.adjacency()).map_err(reticent::Error::from)?;
    let mut facts = TableShape::new(vec![dimension], Target::Nothing, args.records[0]);
    facts.settings.insert("components".to_owned(), (components as u64).into());
    let limits = if args.options.allow_large { Limits::none() } else { Limits::default() };
    let least = |model: &dyn reticent_core::model::Model| model.min_estimate(&facts);
    if let Some(least) = model("mixture").map(least).map_err(reticent::Error::from)? {
        least.check(&limits).map_err(reticent::Error::from)?;
    }
    let means = vec![vec![0.0; dimension]; components];
    let noise = NoiseVariance::Known(noise_sd * noise_sd);
    let mixture = Mixture::new(&means, prior_variance, Covariance::Full, noise, Weights::Uniform)
        .map_err(|error| Failure::from_error(&error, HINT))?;
    let plan = match &args.mixture.public_start {
        None => MixturePlan::new(&mixture, args.records[0], &privacy)?,
        Some(file) => {
            let PublicStart { means, sd } = read(file)?;
            MixturePlan::from_points(&mixture, args.records[0], &privacy, means, sd)?
        }
    };
    plan.validate().map_err(|error| Failure::from_error(&error, HINT))?;
    if args.json { Ok(json(&plan)) } else { describe(&plan, noise_sd, prior_variance) }
}

fn read(file: &Path) -> Result<PublicStart, Failure> {
    let wrong = |why: String| {
        let hint = "it holds {\"means\": [[...], ...], \"sd\": ...}, a point for each component";
        let message = format!("the public start {} cannot be read: {why}", file.display());
        Failure::failed(message, Some(hint.to_owned()))
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
}

fn describe(plan: &MixturePlan, noise_sd: f64, prior_variance: f64) -> Result<String, Failure> {
    let cost = plan.price().map_err(|error| Failure::from_error(&error, HINT))?;
    let (sites, expected) = (&plan.sites, &plan.expected);
    let mut text = format!(
        "A private fit of a mixture: {} records, {} components in {} dimensions\n\
         each mean ~ N(0, {} I), prior means zero; each record ~ N(its mean, {}\u{b2} I)\n\n\
         Noisy releases (Gaussian noise, over all records)\n",
        plan.records, plan.components, plan.dimension, prior_variance, noise_sd
    );
    let width = plan.components * (plan.dimension + 1);
    let what = "clipped sites, to refine the means".to_owned();
    let (times, clip, noise_multiplier) = (sites.steps, sites.clip, sites.noise_multiplier);
    let mut releases = vec![Release { what, width, times, clip, noise_multiplier }];
    if let StartPlan::Sketch { frequencies, noise_multiplier, .. } = plan.start {
        let what = "sketch, to find the components".to_owned();
        releases.insert(0, Release { what, width: 2 * frequencies, times: 1, clip: 1.0, noise_multiplier });
    }
    text.push_str(&releases_table(&releases));
    text.push_str(&cost_line(&cost));
    let _ = write!(
        text,
        "\nExpected of a component apart from the others\n  \
         error of a mean from the records  {:.4}\n  \
         error of a mean from privacy      {:.4}\n  \
         KL from the exact posterior       {:.4}\n  \
         time on one core, roughly         {:.1} s\n\nWhy\n",
        expected.data_sd, expected.privacy_sd, expected.kl, expected.seconds,
    );
    for reason in &plan.why {
        let _ = writeln!(text, "  - {reason}");
    }
    Ok(text)
}
