//! `reticent show`

use std::path::PathBuf;

use reticent::{Cost, Effect, Guarantee, PUBLIC_NOTE, Receipt, SavedModel};

use crate::evaluate;
use crate::output::{self, Failure, Lines};

/// Show a model file: the posterior in short, and the receipt.
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

/// What a model file holds, for people.
pub(crate) fn text(model: &SavedModel) -> Result<String, Failure> {
    let mut text = model.guarded(posterior)?;
    text.blank();
    text.line("Receipt");
    receipt(&mut text, model.receipt());
    if let Some(test) = &model.card().test {
        text.blank();
        evaluate::describe(&mut text, PUBLIC_NOTE, &test.score, model.schema());
    }
    Ok(text.into())
}

/// The posterior in short.
fn posterior(model: &SavedModel) -> Lines {
    let mut text = Lines::default();
    text.line(format_args!("{} model: {}", model.kind().name(), model.kind().about()));
    if let Some(target) = model.schema().target() {
        text.line(format_args!("target {}, {} inputs", target.name(), model.schema().features().len()));
    }
    for warning in &model.card().warnings {
        text.line(format_args!("warning: {warning}"));
    }
    let effects = model.effects();
    if !effects.is_empty() {
        text.blank();
        text.line("What each column does, with the others in the middle; \u{b1} is two standard deviations");
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

/// What was spent, from the receipt of a model file.
pub(crate) fn guarantee(receipt: &Receipt) -> String {
    match receipt.guarantee {
        Guarantee::Private(Cost { epsilon, delta, adjacency, method }) => format!(
            "epsilon {} at delta {delta:e}, {adjacency} adjacency, by {method}",
            output::rounded_up(epsilon.upper)
        ),
        Guarantee::None(reason) => reason.to_string(),
    }
}

/// The receipt of a model file for people.
fn receipt(text: &mut Lines, receipt: &Receipt) {
    text.line(guarantee(receipt));
    text.line(format_args!("{} records", receipt.records));
    let header = ["", "what", "made", "planned", "numbers", "noise multiplier"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for group in &receipt.groups {
        rows.push(vec![
            String::new(),
            group.what.clone(),
            group.made.to_string(),
            group.planned.to_string(),
            group.width.to_string(),
            group.noise_multiplier().map_or(String::new(), output::rounded_up),
        ]);
    }
    text.table(&rows);
    text.line(format_args!("noise: {}; ledger: {}", receipt.noise, receipt.ledger));
    for assumption in &receipt.assumptions {
        text.line(format_args!("- {assumption}"));
    }
}
