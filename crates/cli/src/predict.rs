//! `reticent predict`

use std::path::PathBuf;

use reticent::SavedModel;
use serde_json::json;

use crate::data::{self, LayoutArgs};
use crate::output::{self, Failure};

/// Predict the targets of records, with their uncertainty.
#[derive(clap::Args)]
#[command(after_help = "\
Columns: row (of the input, from 0), columns of --id, then mean, sd and quantiles of a number; the probability of each
class, with the sd and the quantiles of that of the positive class, the last of them; or the log density and the probability of
each component. Every line has a prediction: values that are
missing or not allowed count as the schema states. Predictions for private records are private.

Example:
  reticent predict model.reticent --data new.csv --out predictions.csv")]
pub(crate) struct Args {
    /// The model file.
    model: PathBuf,
    /// The records, or - for CSV from standard input; they need not have the target.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    #[command(flatten)]
    layout: LayoutArgs,
    /// A column of the records that is copied to the predictions as text; repeat it for more.
    #[arg(long = "id", value_name = "COLUMN")]
    ids: Vec<String>,
    /// Where predictions go: a .csv or .parquet file.
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
    let records = data::data(&args.data, args.layout.over(model.schema().layout()))?;
    let columns = model.predict_with(records, &args.ids, &args.out)?;
    Ok(match (args.quiet, args.json) {
        (true, _) => String::new(),
        (false, true) => output::json(&json!({ "out": args.out.display().to_string(), "columns": columns })),
        (false, false) => format!("{}: row, {}\n", args.out.display(), columns.join(", ")),
    })
}
