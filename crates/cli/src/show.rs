//! `reticent show`

use std::path::PathBuf;

use reticent::{Effect, PUBLIC_NOTE, Receipt, SavedModel, visible};

use crate::evaluate;
use crate::output::{self, Failure, Lines};

/// Show a model file: a summary of the posterior, and the receipt.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  reticent show model.reticent")]
pub(crate) struct Args {
    /// The model file.
    model: PathBuf,
    /// Print everything but the arrays as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let model = SavedModel::load(&args.model)?;
    if args.json { Ok(output::json(&model.header())) } else { text(&model) }
}

/// The content of a model file as text.
pub(crate) fn text(model: &SavedModel) -> Result<String, Failure> {
    let mut text = model.guarded(posterior)?;
    text.blank();
    text.line("Receipt");
    receipt(model.receipt()).lines().for_each(|line| text.line(line));
    if let Some(test) = &model.card().test {
        text.blank();
        evaluate::describe(&mut text, PUBLIC_NOTE, &test.score, model.schema());
    }
    Ok(text.into())
}

/// A summary of the posterior.
fn posterior(model: &SavedModel) -> Lines {
    let mut text = Lines::default();
    text.line(format_args!("{} model: {}", model.kind().name(), model.kind().declaration().about));
    if let Some(target) = model.schema().target() {
        text.line(format_args!("target {}, {} inputs", target.name(), model.schema().features().len()));
    }
    for warning in &model.card().warnings {
        text.line(format_args!("warning: {warning}"));
    }
    let effects = model.effects();
    if !effects.is_empty() {
        text.blank();
        text.line("Predictions at both ends of each column, with the others in the middle; \u{b1} is two standard deviations");
        text.table(&effect_rows(&effects));
    }
    let names = model.schema().encoded_names();
    for point in model.posterior().points() {
        text.blank();
        text.line(format_args!("{}, in encoded units", point.name));
        let rows: Vec<Vec<String>> = names
            .iter()
            .zip(&point.mean)
            .zip(&point.sd)
            .map(|((name, mean), sd)| vec![name.clone(), format!("{mean:.4} \u{b1} {:.4}", 2.0 * sd)])
            .collect();
        text.table(&rows);
    }
    for highlight in model.posterior().highlights(&names) {
        text.blank();
        text.line(&highlight.name);
        text.line(format_args!("  {}", highlight.text));
    }
    text
}

fn effect_rows(effects: &[Effect]) -> Vec<Vec<String>> {
    let mut rows = vec![["column", "from", "prediction", "to", "prediction"].map(str::to_owned).to_vec()];
    for effect in effects {
        let (Some(low), Some(high)) = (effect.points.first(), effect.points.last()) else { continue };
        let mut row = vec![effect.column.clone()];
        for point in [low, high] {
            let half = 0.5 * (point.with_privacy.1 - point.with_privacy.0);
            row.extend([point.label.clone(), format!("{:.4} \u{b1} {half:.4}", point.mean)]);
        }
        rows.push(row);
    }
    rows
}

/// The receipt as text. A model file may be forged, so each of its texts stays on one line.
pub(crate) fn receipt(receipt: &Receipt) -> String {
    let mut receipt = receipt.clone();
    let groups = receipt.groups.iter_mut().map(|group| &mut group.what);
    let texts = [&mut receipt.software, &mut receipt.noise, &mut receipt.ledger].into_iter();
    for text in texts.chain(groups).chain(&mut receipt.assumptions) {
        *text = visible::line(text).into_owned();
    }
    receipt.to_string()
}
