//! `reticent evaluate`

use std::path::PathBuf;

use reticent::{SCORES_NOTE, SavedModel};
use reticent_report::text;
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
            false => text::evaluation(&evaluation, &names),
        });
    }
    let score = model.evaluate(records()?)?;
    if args.json {
        return Ok(output::json(&json!({ "note": SCORES_NOTE, "score": score })));
    }
    let mut lines = Lines::default();
    text::score(&mut lines, SCORES_NOTE, &score, model.schema());
    Ok(lines.into())
}
