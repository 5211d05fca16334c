//! `reticent predict`

use std::path::PathBuf;

use reticent_models::Predicted;
use reticent_tables::{Encoder, Predictions, Source, Units};
use serde_json::json;

use crate::data::{self, LayoutArgs};
use crate::opened::Opened;
use crate::output::{self, Failure};

/// Quantiles of a prediction, and what their columns are called.
const QUANTILES: [(f64, &str); 5] =
    [(0.05, "q05"), (0.25, "q25"), (0.5, "q50"), (0.75, "q75"), (0.95, "q95")];

/// Predict the targets of records, with their uncertainty.
#[derive(clap::Args)]
#[command(after_help = "\
Columns: row (of the input, from 0), then mean, sd and quantiles of a number; the probability of each
class; or the log density and the probability of each component. Every line has a prediction: values that are
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
    let opened = Opened::read(&args.model)?;
    let source = data::source(&args.data, args.layout.over(opened.schema.layout()))?;
    let columns = opened.guarded(|opened| write(opened, &source, &args.out))??;
    Ok(match (args.quiet, args.json) {
        (true, _) => String::new(),
        (false, true) => output::json(&json!({ "out": args.out.display().to_string(), "columns": columns })),
        (false, false) => format!("{}: row, {}\n", args.out.display(), columns.join(", ")),
    })
}

/// Writes the predictions for a data set; the names of their columns.
pub(crate) fn write(opened: &Opened, source: &Source, out: &std::path::Path) -> Result<Vec<String>, Failure> {
    let encoder = Encoder::of_features(&opened.schema)?;
    let units = opened.units();
    let probabilities = QUANTILES.map(|(probability, _)| probability);
    let names = names(opened, encoder.width());
    let texts: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut predictions = Predictions::create(out, &texts)?;
    let mut batches = encoder.stream(source);
    while let Some(batch) = batches.next_batch()? {
        let mut columns = vec![Vec::with_capacity(batch.rows().len()); names.len()];
        for row in batch.rows() {
            let values = values(opened.fitted.predict(row, &probabilities), units);
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
        }
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        predictions.append(&slices)?;
    }
    predictions.finish()?;
    Ok(names)
}

/// The columns of predictions, as those of any record have them.
fn names(opened: &Opened, inputs: usize) -> Vec<String> {
    match opened.fitted.predict(&vec![0.0; inputs], &[]) {
        Predicted::Number { .. } => {
            ["mean", "sd"].into_iter().chain(QUANTILES.map(|(_, name)| name)).map(str::to_owned).collect()
        }
        Predicted::Class { .. } => {
            let levels = opened.schema.target().map(|target| target.levels()).unwrap_or_default();
            levels.iter().map(|level| format!("probability_{level}")).collect()
        }
        Predicted::Component { probabilities, .. } => {
            let components = (1..=probabilities.len()).map(|k| format!("probability_component_{k}"));
            std::iter::once("log_density".to_owned()).chain(components).collect()
        }
        Predicted::Topics { shares, .. } => {
            let topics = (1..=shares.len()).map(|k| format!("share_topic_{k}"));
            ["log_probability_bound", "words"].map(str::to_owned).into_iter().chain(topics).collect()
        }
        Predicted::Reconstruction { .. } => {
            let inputs = opened.schema.encoded_names();
            let probabilities = inputs.iter().map(|name| format!("probability_{name}"));
            std::iter::once("log_probability_bound".to_owned()).chain(probabilities).collect()
        }
    }
}

fn values(predicted: Predicted, units: Units) -> Vec<f64> {
    match predicted {
        Predicted::Number { mean, variances, quantiles } => {
            let quantiles = quantiles.into_iter().map(|quantile| units.decode(quantile));
            let sd = units.decode_sd(variances.total().sqrt());
            [units.decode(mean), sd].into_iter().chain(quantiles).collect()
        }
        Predicted::Class { probability, .. } => vec![1.0 - probability, probability],
        Predicted::Component { log_density, probabilities } => {
            std::iter::once(log_density).chain(probabilities).collect()
        }
        Predicted::Topics { bound, words, shares } => [bound, words].into_iter().chain(shares).collect(),
        Predicted::Reconstruction { bound, probabilities, .. } => {
            std::iter::once(bound).chain(probabilities).collect()
        }
    }
}
