//! `reticent evaluate`

use std::path::PathBuf;

use reticent_models::Score;
use reticent_tables::{Schema, Source};
use serde_json::json;

use crate::opened::Opened;
use crate::output::{self, Failure, table};

/// What is said with every score.
pub(crate) const NOTE: &str = "NOT PRIVATE: these numbers are about the test records, without noise";

/// How good a model is on records whose targets are known. Not private.
#[derive(clap::Args)]
#[command(after_help = "\
This looks at the records without privacy: publish the numbers only if these records are public.

Example:
  reticent evaluate model.reticent --data test.csv")]
pub(crate) struct Args {
    /// The model file.
    model: PathBuf,
    /// The test records.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let opened = Opened::read(&args.model)?;
    let score = opened.score(&Source::open(&args.data)?)?;
    Ok(if args.json {
        output::json(&json!({ "note": NOTE, "score": score }))
    } else {
        describe(&score, &opened.schema)
    })
}

/// A score for people.
pub(crate) fn describe(score: &Score, schema: &Schema) -> String {
    let unit =
        schema.target().and_then(|target| target.unit()).map_or(String::new(), |unit| format!(" {unit}"));
    let mut rows = vec![vec!["test records".to_owned(), score.records.to_string()]];
    let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
    if let Some(rmse) = score.rmse {
        row("root mean squared error", format!("{rmse:.5}{unit}"));
    }
    if let Some(perplexity) = score.perplexity {
        row("perplexity of a word, at most", format!("{perplexity:.1}"));
    }
    if let Some(accuracy) = score.accuracy {
        row("accuracy", format!("{:.2} %", 100.0 * accuracy));
    }
    if let Some(auc) = score.auc {
        row("area under the ROC curve", format!("{auc:.4}"));
    }
    row("log-likelihood of a record", format!("{:.4}", score.log_likelihood));
    if let Some(coverage) = score.coverage {
        for (level, share) in [50, 80, 95].iter().zip(coverage) {
            row(&format!("inside the {level} % interval"), format!("{:.1} %", 100.0 * share));
        }
    }
    if let Some(error) = score.calibration_error {
        row("calibration error", format!("{error:.4}"));
    }
    format!("{NOTE}\n{}", table(&rows))
}
