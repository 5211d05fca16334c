//! `reticent calibrate`

use reticent_accounting::{Method, account, calibrate};
use serde::Serialize;

use crate::account::lower_end;
use crate::event::{EventArgs, SamplingRecord};
use crate::output::{Failure, json, rounded_up};

/// Find the noise, or the number of steps, that meets a target epsilon and delta.
#[derive(clap::Args)]
#[command(after_help = "\
Prints the smallest noise multiplier, or with --noise-multiplier the largest number of steps.

Example:
  reticent calibrate --epsilon 1 --delta 1e-5 --sampling poisson --rate 0.001 --steps 1000")]
pub(crate) struct Args {
    /// The target epsilon.
    #[arg(long, allow_negative_numbers = true)]
    epsilon: f64,

    /// The target delta.
    #[arg(long, allow_negative_numbers = true)]
    delta: f64,

    /// The number of steps [default: 1].
    #[arg(long)]
    steps: Option<u64>,

    /// Find the number of steps for this noise instead.
    #[arg(long, allow_negative_numbers = true, conflicts_with = "steps")]
    noise_multiplier: Option<f64>,

    #[command(flatten)]
    event: EventArgs,
}

#[derive(Serialize)]
struct Record {
    noise_multiplier: f64,
    epsilon: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    epsilon_lower: Option<f64>,
    target_epsilon: f64,
    delta: f64,
    accountant: Method,
    adjacency: String,
    #[serde(flatten)]
    sampling: SamplingRecord,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let adjacency = args.event.adjacency();
    let method = args.event.accountant();
    // A bad scheme is an error before the search begins.
    args.event.sampling()?;
    let release = |sigma: f64| args.event.release(sigma).expect("the scheme was just checked");
    let (sigma, times) = match args.noise_multiplier {
        Some(sigma) => {
            let times = calibrate::steps(&release(sigma), adjacency, args.epsilon, args.delta, method)?;
            if times == 0 {
                let message = format!(
                    "a single step with noise multiplier {sigma} costs more than epsilon {}",
                    args.epsilon
                );
                return Err(Failure::usage(message, "use more noise or a larger epsilon"));
            }
            (sigma, times)
        }
        None => {
            let times = args.event.repetitions(args.steps)?;
            let event = |sigma: f64| release(sigma).repeat(times);
            (calibrate::noise_multiplier(event, adjacency, args.epsilon, args.delta, method)?, times)
        }
    };
    let cost = account(&release(sigma).repeat(times), adjacency, args.delta, method)?;
    if args.event.json {
        return Ok(json(&Record {
            noise_multiplier: sigma,
            epsilon: cost.epsilon.upper,
            epsilon_lower: lower_end(&cost),
            target_epsilon: args.epsilon,
            delta: args.delta,
            accountant: cost.method,
            adjacency: adjacency.to_string(),
            sampling: args.event.record(times)?,
        }));
    }
    let answer = if args.noise_multiplier.is_some() {
        format!("steps             {times}")
    } else {
        format!("noise multiplier  {}", rounded_up(sigma))
    };
    Ok(format!(
        "{}\nepsilon {}, delta {:e} ({})\n\n{answer}\n",
        args.event.describe(times)?,
        args.epsilon,
        args.delta,
        cost.method.description()
    ))
}
