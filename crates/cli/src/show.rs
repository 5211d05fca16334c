//! `reticent show`

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::effects::effects;
use crate::evaluate;
use crate::opened::Opened;
use crate::output::{self, Failure, table};

/// What a model file says: the posterior in short, and the receipt.
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

/// Where a card has what a reader must know before relying on the model.
pub(crate) const WARNINGS: &str = "warnings";

/// The warnings of a card.
pub(crate) fn warnings(card: &Value) -> impl Iterator<Item = &str> {
    card[WARNINGS].as_array().into_iter().flatten().map(word)
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let opened = Opened::read(&args.model)?;
    if args.json {
        let mut header = serde_json::to_value(&opened.header).expect("a header is numbers and texts");
        header["card"].as_object_mut().map(|card| card.remove("state"));
        return Ok(output::json(&header));
    }
    let card = &opened.header.card;
    let mut text = format!("{} model: {}\n", opened.header.model, word(&card["about"]));
    if let Some(target) = opened.schema.target() {
        let _ = writeln!(text, "target {}, {} inputs", target.name(), opened.schema.features().len());
    }
    for warning in warnings(card) {
        let _ = writeln!(text, "warning: {warning}");
    }
    let effects = effects(&opened);
    if !effects.is_empty() {
        text.push_str(
            "\nWhat each column does, with the others in the middle; \u{b1} is two standard deviations\n",
        );
        text.push_str(&table(&effect_rows(&effects)));
    }
    for point in opened.fitted.points() {
        let _ = writeln!(text, "\n{}, in encoded units", point.name);
        let names = opened.schema.encoded_names();
        let rows: Vec<Vec<String>> = names
            .iter()
            .zip(&point.mean)
            .zip(&point.sd)
            .map(|((name, mean), sd)| vec![name.clone(), format!("{mean:.4} \u{b1} {:.4}", 2.0 * sd)])
            .collect();
        text.push_str(&table(&rows));
    }
    for highlight in opened.fitted.highlights(&opened.schema.encoded_names()) {
        let _ = write!(text, "\n{}\n  {}\n", highlight.name, highlight.text);
    }
    let _ = write!(text, "\nReceipt\n{}", receipt(&opened.header.receipt));
    let score = serde_json::from_value(card["test"]["score"].clone());
    if let Ok(score) = score {
        let _ = write!(text, "\n{}", evaluate::describe(&score, &opened.schema));
    }
    Ok(text)
}

fn effect_rows(effects: &[crate::effects::Effect]) -> Vec<Vec<String>> {
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

/// A text of a JSON value.
pub(crate) fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

/// What was spent, from the receipt of a model file.
pub(crate) fn guarantee(receipt: &Value) -> String {
    let guarantee = &receipt["guarantee"];
    match (guarantee["epsilon"]["upper"].as_f64(), guarantee["delta"].as_f64()) {
        (Some(epsilon), Some(delta)) => format!(
            "epsilon {} at delta {delta:e}, {} adjacency, by {}",
            output::rounded_up(epsilon),
            word(&receipt["adjacency"]),
            word(&guarantee["method"])
        ),
        _ => word(guarantee).to_owned(),
    }
}

/// The receipt of a model file for people.
fn receipt(receipt: &Value) -> String {
    let mut text = format!("{}\n{} records\n", guarantee(receipt), receipt["records"]);
    let header = ["", "what", "made", "planned", "numbers", "noise multiplier"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for group in receipt["groups"].as_array().unwrap_or(&Vec::new()) {
        let multiplier = group["kind"]["sum"]["noise_multiplier"].as_f64();
        rows.push(vec![
            String::new(),
            word(&group["what"]).to_owned(),
            group["made"].to_string(),
            group["planned"].to_string(),
            group["width"].to_string(),
            multiplier.map_or(String::new(), output::rounded_up),
        ]);
    }
    text.push_str(&table(&rows));
    let _ = writeln!(text, "noise: {}; ledger: {}", word(&receipt["noise"]), word(&receipt["ledger"]));
    for assumption in receipt["assumptions"].as_array().unwrap_or(&Vec::new()) {
        let _ = writeln!(text, "- {}", word(assumption));
    }
    text
}

/// The shares of the budget of each group of releases: Gaussian releases compose by the squares of their signal to noise
/// ratios.
pub(crate) fn shares(receipt: &Value) -> Vec<f64> {
    let empty = Vec::new();
    let groups = receipt["groups"].as_array().unwrap_or(&empty);
    let weight = |group: &Value| {
        let multiplier = group["kind"]["sum"]["noise_multiplier"].as_f64().filter(|m| *m > 0.0);
        multiplier.map_or(0.0, |m| group["planned"].as_f64().unwrap_or(0.0) / (m * m))
    };
    let weights: Vec<f64> = groups.iter().map(weight).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| if total > 0.0 { weight / total } else { 0.0 }).collect()
}

/// What a model file says beside its arrays, for the report.
pub(crate) fn machine_readable(opened: &Opened) -> Value {
    let mut card = opened.header.card.clone();
    card.as_object_mut().map(|card| card.remove("state"));
    json!({
        "model": opened.header.model,
        "receipt": opened.header.receipt,
        "plan": opened.header.plan,
        "card": card,
    })
}
