//! `reticent simulate`

use std::path::PathBuf;

use reticent::SavedModel;
use serde_json::json;

use crate::output::{self, Failure};

/// What simulated records are good for.
const WARNING: &str =
    "simulated records have the structure of the model and nothing else; they are no substitute for the data";

/// Write simulated records from the posterior predictive distribution of a model.
#[derive(clap::Args)]
#[command(after_help = "\
Columns: those of the schema without the target, in its units and levels. For models of records: mixture, naive-bayes,
dirichlet, beta-bernoulli, normal, multivariate-normal, poisson, hmm, topics, sigmoid-belief.

Simulated records have the structure of the model and nothing else: use them to test programs, to plan an analysis, or to
check a model. They are no substitute for the data: an analysis of them finds what the model assumes. They are post-processing
of what was released: they cost no budget, may be published with the model, and the seed is public.

Example:
  reticent simulate model.reticent --rows 1000 --out synthetic.csv")]
pub(crate) struct Args {
    /// The model file.
    model: PathBuf,
    /// Number of records.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    rows: u32,
    /// Seed: the same seed gives the same records.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Where records go: a .csv or .parquet file.
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
    let columns = model.simulate(args.rows as usize, args.seed, &args.out)?;
    let out = args.out.display();
    Ok(match (args.quiet, args.json) {
        (true, _) => String::new(),
        (false, true) => output::json(
            &json!({ "out": out.to_string(), "rows": args.rows, "columns": columns, "warning": WARNING }),
        ),
        (false, false) => {
            format!("{out}: {} simulated records of {}\nwarning: {WARNING}\n", args.rows, columns.join(", "))
        }
    })
}
