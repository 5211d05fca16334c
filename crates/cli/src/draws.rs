//! `reticent draws`

use std::path::PathBuf;

use reticent::SavedModel;
use serde_json::json;

use crate::output::{self, Failure};

/// Write joint draws from the posterior of a model's parameters.
#[derive(clap::Args)]
#[command(after_help = "\
Columns: draw, then one for each parameter that `reticent show` lists, in the same units. Draws are post-processing of
what was released: they cost no budget, may be published with the model, and the seed is public.

In Python, for ArviZ:
  arviz.convert_to_dataset({name: x.to_numpy()[None] for name, x in pandas.read_parquet(\"draws.parquet\").drop(columns=\"draw\").items()})

Example:
  reticent draws model.reticent --n 4000 --out draws.parquet")]
pub(crate) struct Args {
    /// The model file.
    model: PathBuf,
    /// Number of draws.
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    n: u32,
    /// Seed of the draws: the same seed gives the same draws.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Where draws go: a .csv or .parquet file.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print nothing.
    #[arg(long)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let model = SavedModel::load(&args.model)?;
    model.write_draws(args.n as usize, args.seed, &args.out)?;
    let parameters = model.parameters()?.iter().count();
    let out = args.out.display();
    Ok(match (args.quiet, args.json) {
        (true, _) => String::new(),
        (false, true) => {
            output::json(&json!({ "out": out.to_string(), "draws": args.n, "parameters": parameters }))
        }
        (false, false) => format!("{out}: {} draws of {parameters} parameters\n", args.n),
    })
}
