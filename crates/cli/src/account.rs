//! `reticent account`

use reticent_accounting::{Cost, Method, account, account_delta, compare};
use serde::Serialize;

use crate::event::{EventArgs, Noise, SamplingRecord};
use crate::output::{Failure, json, rounded_down, rounded_up, table};

/// Compute the privacy cost of a sequence of releases.
#[derive(clap::Args)]
#[command(after_help = "\
The noise multiplier is the standard deviation (Laplace: the scale) of the noise over the
sensitivity under the adjacency you state. A sum of vectors clipped to norm C has sensitivity C
under add-remove and 2C under replace.

Example:
  reticent account --noise-multiplier 1.5 --sampling poisson --rate 0.001 --steps 1000 --delta 1e-5")]
pub(crate) struct Args {
    /// Standard deviation of the noise over the sensitivity.
    #[arg(long, allow_negative_numbers = true)]
    noise_multiplier: f64,

    /// The number of steps [default: 1].
    #[arg(long)]
    steps: Option<u64>,

    /// The delta at which to give epsilon.
    #[arg(long, allow_negative_numbers = true)]
    delta: Option<f64>,

    /// The epsilon at which to give delta instead.
    #[arg(long, allow_negative_numbers = true, conflicts_with = "delta")]
    epsilon: Option<f64>,

    #[command(flatten)]
    event: EventArgs,
}

#[derive(Serialize)]
struct Record {
    epsilon: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon_lower: Option<f64>,
    delta: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    delta_lower: Option<f64>,
    noise_multiplier: f64,
    accountant: Method,
    adjacency: String,
    mechanism: &'static str,
    #[serde(flatten)]
    sampling: SamplingRecord,
}

/// The lower end, for the accountants that have one.
pub(crate) fn lower_end(cost: &Cost) -> Option<f64> {
    matches!(cost.method, Method::Pld | Method::Exact).then_some(cost.epsilon.lower)
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let times = args.event.repetitions(args.steps)?;
    let event = args.event.release(args.noise_multiplier)?.repeat(times);
    let adjacency = args.event.adjacency();
    if let Some(epsilon) = args.epsilon {
        return delta_at(args, epsilon, times);
    }
    let Some(delta) = args.delta else {
        return Err(Failure::usage(
            "a cost is stated at a delta",
            "add --delta 1e-5 (or --epsilon to compute delta)",
        ));
    };
    let best = account(&event, adjacency, delta, args.event.accountant())?;
    if args.event.json {
        return record(args, (best.epsilon.upper, lower_end(&best)), (delta, None), best.method, times);
    }
    let mut text = format!(
        "{}\nnoise multiplier {}, delta {delta:e}\n\n",
        args.event.describe(times)?,
        args.noise_multiplier
    );
    let costs = if args.event.wants_one_accountant() {
        vec![(best.method, Ok(best))]
    } else {
        compare(&event, adjacency, delta)
    };
    text.push_str(&comparison(&costs, best.method));
    Ok(text)
}

/// The costs by all accountants that apply, the best marked.
pub(crate) fn comparison(
    costs: &[(Method, Result<Cost, reticent_accounting::Error>)],
    best: Method,
) -> String {
    let mut rows = vec![["", "accountant", "epsilon", "at least"].map(str::to_owned).to_vec()];
    for (method, cost) in costs {
        if let Ok(cost) = cost {
            let mark = if *method == best { "*" } else { "" };
            let lower = lower_end(cost).map_or(String::new(), rounded_down);
            rows.push(vec![mark.to_owned(), method.to_string(), rounded_up(cost.epsilon.upper), lower]);
        }
    }
    table(&rows)
}

fn delta_at(args: &Args, epsilon: f64, times: u64) -> Result<String, Failure> {
    let event = args.event.release(args.noise_multiplier)?.repeat(times);
    let adjacency = args.event.adjacency();
    let requested = args.event.accountant();
    let exact = (requested == Method::Auto)
        .then(|| account_delta(&event, adjacency, epsilon, Method::Exact).ok())
        .flatten();
    let accountant = match (requested, exact) {
        (Method::Auto, Some(_)) => Method::Exact,
        (Method::Auto, None) => Method::Pld,
        (named, _) => named,
    };
    let delta = account_delta(&event, adjacency, epsilon, accountant)?;
    if args.event.json {
        return record(args, (epsilon, None), (delta.upper, Some(delta.lower)), accountant, times);
    }
    let (at_most, at_least) = (rounded_up(delta.upper), delta.lower);
    Ok(format!(
        "{}\nnoise multiplier {}, epsilon {epsilon}\n\ndelta  {at_most}  (at least {at_least:.4e})\n",
        args.event.describe(times)?,
        args.noise_multiplier
    ))
}

/// JSON of a cost, with lower ends where an accountant has them.
fn record(
    args: &Args,
    (epsilon, epsilon_lower): (f64, Option<f64>),
    (delta, delta_lower): (f64, Option<f64>),
    accountant: Method,
    times: u64,
) -> Result<String, Failure> {
    Ok(json(&Record {
        epsilon,
        epsilon_lower,
        delta,
        delta_lower,
        noise_multiplier: args.noise_multiplier,
        accountant,
        adjacency: args.event.adjacency().to_string(),
        mechanism: if args.event.mechanism == Noise::Gaussian { "gaussian" } else { "laplace" },
        sampling: args.event.record(times)?,
    }))
}
