//! `reticent evaluate`

use std::path::PathBuf;

use reticent::{SCORES_NOTE, SavedModel, Schema, Score};
use serde_json::json;

use crate::data::{self, LayoutArgs};
use crate::output::{self, Failure, Lines};
use crate::private::{self, PrivateArgs};

/// Score a model on records whose targets are known. Not private, unless --epsilon is given.
#[derive(clap::Args)]
#[command(after_help = "\
Without --epsilon the scores are exact statistics of the records: publish them only if these records are public. With --epsilon
they are estimated from one noisy sum over the records, each with an interval for the population that the records are a sample of, and charged
to the data set of the test records in a --ledger. Errors of a number are those of targets within their bounds, clipped at a public value.

Example:
  reticent evaluate model.reticent --data test.csv
  reticent evaluate model.reticent --data test.csv --epsilon 0.5 --delta 1e-6 --out evaluation.json")]
pub(crate) struct Args {
    /// The model file.
    model: PathBuf,
    /// The test records, or - for CSV from standard input. Those without a target are left out and counted.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    #[command(flatten)]
    layout: LayoutArgs,
    #[command(flatten)]
    private: PrivateArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let model = SavedModel::load(&args.model)?;
    let records = || data::data(&args.data, args.layout.over(model.schema().layout()));
    if let Some(evaluation) = args.private.evaluate(&[&model], records)? {
        let names = [args.model.display().to_string()];
        return Ok(match args.json {
            true => private::json(&evaluation, &names),
            false => private::describe(&evaluation, &names),
        });
    }
    let score = model.evaluate(records()?)?;
    if args.json {
        return Ok(output::json(&json!({ "note": SCORES_NOTE, "score": score })));
    }
    let mut text = Lines::default();
    describe(&mut text, SCORES_NOTE, &score, model.schema());
    Ok(text.into())
}

/// The table of a score, below the note that must be shown with it.
pub(crate) fn describe(text: &mut Lines, note: &str, score: &Score, schema: &Schema) {
    text.line(note);
    let rows: Vec<Vec<String>> =
        rows(score, schema).into_iter().map(|(name, value)| vec![name, value]).collect();
    text.table(&rows);
}

/// The classes of the target.
fn levels(schema: &Schema) -> Vec<&str> {
    schema.target().map(|target| target.levels()).unwrap_or_default()
}

/// The share of test records of the positive class, by the bins of the calibration; none if they are not of classes.
fn positive_share(score: &Score) -> Option<f64> {
    let count: u64 = score.calibration.iter().map(|bin| bin.count).sum();
    let positive: f64 = score.calibration.iter().map(|bin| bin.count as f64 * bin.happened).sum();
    (score.rmse.is_none() && count > 0).then(|| positive / count as f64)
}

/// The numbers of a score, with their names.
pub(crate) fn rows(score: &Score, schema: &Schema) -> Vec<(String, String)> {
    let unit =
        schema.target().and_then(|target| target.unit()).map_or(String::new(), |unit| format!(" {unit}"));
    let mut rows = vec![("test records".to_owned(), score.records.to_string())];
    let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
    if score.without_target > 0 {
        row("records without a target, left out", score.without_target.to_string());
    }
    if let Some(rmse) = score.rmse {
        row("root mean squared error", format!("{rmse:.5}{unit}"));
    }
    if let Some(perplexity) = score.perplexity {
        row("perplexity of a word, at most", format!("{perplexity:.1}"));
    }
    if let Some(accuracy) = score.accuracy {
        row("accuracy", format!("{:.2} %", 100.0 * accuracy));
        if let (Some(share), [negative, positive]) = (positive_share(score), &levels(schema)[..]) {
            let (class, share) = if share < 0.5 { (negative, 1.0 - share) } else { (positive, share) };
            row(&format!("base rate: always {class}"), format!("{:.2} %", 100.0 * share));
        }
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
    rows
}
