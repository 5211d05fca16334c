//! `reticent report`: the page of [`reticent_report`].

use std::path::PathBuf;

use reticent::{Account, PUBLIC_NOTE, SCORES_NOTE, SavedModel, Score};
use reticent_report::{PageError, Scores, text};

use crate::balance::BalanceArgs;
use crate::output::{Failure, not_written, write_file};

/// Write a report about a model as one HTML page.
#[derive(clap::Args)]
#[command(after_help = "\
The page is self-contained and loads nothing. It is as public as the model file. With
--scores it shows exact statistics of test records too: then it is NOT PRIVATE.

Example:
  reticent report model.reticent --out report.html")]
pub(crate) struct Args {
    /// The model file.
    model: PathBuf,
    /// Where the page goes.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// NOT PRIVATE: show the scores that `fit --test` wrote beside the model.
    #[arg(long, value_name = "FILE")]
    scores: Option<PathBuf>,
    #[command(flatten)]
    balance: BalanceArgs,
    /// Print nothing.
    #[arg(long)]
    quiet: bool,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let (model, scores) = match &args.scores {
        Some(scores) => {
            let (model, scores) = reticent::load_with_scores(&args.model, scores)?;
            (model, Some(scores))
        }
        None => (SavedModel::load(&args.model)?, None),
    };
    let account = args.balance.account(&model)?;
    reticent_files::check_writable(&args.out).map_err(|error| not_written(&args.out, &error))?;
    write_file(&args.out, &page(&model, scores.as_ref(), account.as_ref())?)?;
    Ok(if args.quiet { String::new() } else { format!("{}\n", args.out.display()) })
}

/// The page.
pub(crate) fn page(
    model: &SavedModel,
    scores: Option<&Score>,
    account: Option<&Account>,
) -> Result<String, Failure> {
    let in_file = model.card().test.as_ref().map(|test| (PUBLIC_NOTE, &test.score));
    let shown = scores.map(|score| (SCORES_NOTE, score)).or(in_file);
    let scores =
        shown.map(|(note, score)| Scores { score, note, rows: text::score_rows(score, model.schema()) });
    reticent_report::page(model, scores.as_ref(), account).map_err(|error| match error {
        PageError::Model(error) => error.into(),
        other => Failure::failed(other.to_string(), None),
    })
}
