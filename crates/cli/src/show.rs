//! `reticent show`

use std::path::PathBuf;

use reticent::{
    Account, Effect, EffectScale, PUBLIC_NOTE, Receipt, ResidualBin, ResidualCheck, SavedModel, Summary,
    variables, visible,
};
use reticent_report::tables;

use crate::balance::BalanceArgs;
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
    #[command(flatten)]
    balance: BalanceArgs,
    /// Print everything but the arrays as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let model = SavedModel::load(&args.model)?;
    let account = args.balance.account(&model)?;
    if !args.json {
        return text(&model, account.as_ref());
    }
    let mut header = serde_json::to_value(model.header()).unwrap_or_default();
    header["parameters"] = serde_json::to_value(model.summary()?).unwrap_or_default();
    if let Some(check) = model.residual_check() {
        header["residuals"] = serde_json::to_value(check).unwrap_or_default();
    }
    if let Some(account) = account {
        header["account"] = serde_json::to_value(account).unwrap_or_default();
    }
    Ok(output::json(&header))
}

/// The content of a model file as text, with what remains of the budget of its data set.
pub(crate) fn text(model: &SavedModel, account: Option<&Account>) -> Result<String, Failure> {
    let summaries = model.summary()?;
    let mut text = model.guarded(lead)?;
    for group in variables(&summaries) {
        variable(&mut text, model, group);
    }
    let is_named = summaries.iter().any(|summary| summary.variable != "intercept");
    if !is_named {
        model.guarded(|model| unnamed(model, &mut text))?;
    }
    if let Some(check) = model.residual_check() {
        residuals(&mut text, &check);
    }
    text.blank();
    text.line("Receipt");
    receipt(model.receipt()).lines().for_each(|line| text.line(line));
    if let Some(account) = account {
        text.blank();
        text.line(format_args!("Now {}", reticent_report::remaining(account)));
    }
    if let Some(test) = &model.card().test {
        text.blank();
        evaluate::describe(&mut text, PUBLIC_NOTE, &test.score, model.schema());
    }
    Ok(text.into())
}

/// The table of a variable.
fn variable(text: &mut Lines, model: &SavedModel, group: &[Summary]) {
    text.blank();
    text.line(tables::title(group, model));
    if group.first().is_some_and(|first| first.variable == "state_probability") {
        return text.table(&tables::states(group));
    }
    let (shown, more) = tables::cut(group);
    text.table(&tables::rows(shown));
    if more > 0 {
        text.line(format_args!("and {more} more: show --json, or reticent draws"));
    }
}

/// The released distribution of residuals beside the normal one.
fn residuals(text: &mut Lines, check: &ResidualCheck) {
    text.blank();
    text.line("Standardised residuals, from a released histogram: the model suits the records if both columns agree");
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut rows = vec![["", "share", "normal"].map(str::to_owned).to_vec()];
    let row = |bin: &ResidualBin| vec![tables::residual_label(bin), percent(bin.share), percent(bin.normal)];
    rows.extend(check.summary.iter().map(row));
    text.table(&rows);
}

/// What the model is, by which command, and what a reader must know.
fn lead(model: &SavedModel) -> Lines {
    let mut text = Lines::default();
    text.line(reticent_report::sentence(model));
    text.line(reticent_report::command(model));
    text.line(format_args!("{}: {}", model.kind().name(), model.kind().declaration().about));
    for warning in &model.card().warnings {
        text.line(format_args!("warning: {warning}"));
    }
    text
}

/// A summary of a posterior without named parameters.
fn unnamed(model: &SavedModel, text: &mut Lines) {
    if let Some(effects) = model.effects().filter(|effects| !effects.columns.is_empty()) {
        text.blank();
        let unit = match effects.scale {
            EffectScale::Target { .. } => "",
            EffectScale::Probability { .. } => " of the probability of the positive class",
        };
        text.line(format_args!("Change{unit} at both ends of each column, against its reference"));
        text.table(&effect_rows(&effects.columns));
    }
}

fn effect_rows(effects: &[Effect]) -> Vec<Vec<String>> {
    let mut rows =
        vec![["column", "reference", "from", "change", "to", "change"].map(str::to_owned).to_vec()];
    for effect in effects {
        let (Some(low), Some(high)) = (effect.points.first(), effect.points.last()) else { continue };
        let mut row = vec![effect.column.clone(), effect.reference.clone()];
        for point in [low, high] {
            let interval =
                point.with_privacy.map_or(String::new(), |(low, high)| format!(" [{low:.4}, {high:.4}]"));
            row.extend([point.label.clone(), format!("{:.4}{interval}", point.mean)]);
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
