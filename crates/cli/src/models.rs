//! `reticent models`: everything that models declare about themselves, as text, JSON and Markdown.

use std::fmt::Write as _;

use reticent::{Model, Setting, SettingKind, Target, models};
use serde_json::{Value, json};

use crate::output::{self, Failure, table};

/// List the models, or show one: what it is for and not for, its settings and its papers.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  reticent models logistic")]
pub(crate) struct Args {
    /// The model to show in full.
    model: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Print `docs/models.md`.
    #[arg(long, hide = true, conflicts_with_all = ["json", "model"])]
    markdown: bool,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let Some(name) = &args.model else {
        return Ok(match (args.markdown, args.json) {
            (true, _) => markdown(),
            (_, true) => output::json(&models().iter().map(|model| record(*model)).collect::<Vec<_>>()),
            _ => list(),
        });
    };
    let model = reticent::model(name).map_err(reticent::Error::from)?;
    Ok(if args.json { output::json(&record(model)) } else { describe(model) })
}

/// A line for each model: name, target and a sentence.
pub(crate) fn list() -> String {
    let row =
        |model: &&dyn Model| [model.name().to_owned(), targets(*model), model.declaration().about.to_owned()];
    let header = ["model", "target", ""].map(str::to_owned);
    let rows: Vec<Vec<String>> =
        std::iter::once(header).chain(models().iter().map(row)).map(|row| row.to_vec()).collect();
    table(&rows)
}

fn targets(model: &dyn Model) -> String {
    let name = |target: &Target| match target {
        Target::Number => "a number",
        Target::TwoClasses => "two classes",
        Target::Classes => "classes",
        Target::Nothing => "none",
    };
    model.declaration().targets.iter().map(name).collect::<Vec<_>>().join(" or ")
}

fn describe(model: &dyn Model) -> String {
    let mut text = format!("{}: {}\n\n", model.name(), model.declaration().about);
    let facts = [
        ("not for", model.declaration().not_for.to_owned()),
        ("target", targets(model)),
        ("privacy", privacy(model).to_owned()),
        ("posterior", model.declaration().family.to_owned()),
    ];
    text.push_str(&table(&facts.map(|(name, fact)| vec![name.to_owned(), fact])));
    if !model.declaration().settings.is_empty() {
        let rows: Vec<Vec<String>> = model.declaration().settings.iter().map(setting_row).collect();
        let _ = write!(text, "\nSettings (--set NAME=VALUE)\n{}", table(&rows));
    }
    if !model.declaration().references.is_empty() {
        text.push_str("\nReferences\n");
    }
    for reference in model.declaration().references {
        let _ = writeln!(text, "  {reference}");
    }
    text
}

fn privacy(model: &dyn Model) -> &'static str {
    match (model.declaration().can_be_private, model.declaration().can_be_pure) {
        (false, _) => "none: there is no private fit",
        (true, false) => "Gaussian noise, so delta must be above 0",
        (true, true) => "Gaussian or Laplace noise; delta may be 0",
    }
}

/// An empty cell for the indent, name, range, default and sentence.
fn setting_row(setting: &Setting) -> Vec<String> {
    let [name, range, default, about] = setting_cells(setting);
    vec![String::new(), name, range, default, about]
}

/// Name, range with the unit, default, and sentence.
fn setting_cells(setting: &Setting) -> [String; 4] {
    let unit = if setting.unit.is_empty() { String::new() } else { format!(" {}", setting.unit) };
    let default = setting.default().map_or("required".to_owned(), |value| format!("default {value}{unit}"));
    [setting.name.to_owned(), format!("{}{unit}", setting.range()), default, setting.about.to_owned()]
}

/// A model for programs.
fn record(model: &dyn Model) -> Value {
    json!({
        "name": model.name(),
        "about": model.declaration().about,
        "not_for": model.declaration().not_for,
        "targets": model.declaration().targets,
        "private": model.declaration().can_be_private,
        "pure": model.declaration().can_be_pure,
        "family": model.declaration().family,
        "settings": model.declaration().settings.iter().map(setting_record).collect::<Vec<_>>(),
        "references": model.declaration().references,
    })
}

fn setting_record(setting: &Setting) -> Value {
    let mut record = json!({
        "name": setting.name,
        "kind": setting.kind.name(),
        "default": setting.default(),
        "unit": setting.unit,
        "about": setting.about,
    });
    match setting.kind {
        SettingKind::Number { min, max } => (record["min"], record["max"]) = (json!(min), json!(max)),
        SettingKind::Integer { min, max } => (record["min"], record["max"]) = (json!(min), json!(max)),
        SettingKind::Choice(words) => record["choices"] = json!(words),
        SettingKind::Flag => {}
    }
    record
}

/// All models as a document.
fn markdown() -> String {
    let mut text = "# Models\n\nGenerated by `reticent models --markdown` from what each model declares about itself; a test \
                    compares it.\n\n| model | target | what it is for |\n|---|---|---|\n"
        .to_owned();
    for model in models() {
        let name = model.name();
        let _ =
            writeln!(text, "| [`{name}`](#{name}) | {} | {} |", targets(*model), model.declaration().about);
    }
    for model in models() {
        let _ = write!(
            text,
            "\n## {}\n\nFor: {}.\n\nNot for: {}.\n\nTarget: {}. Privacy: {}. Posterior: {}.\n",
            model.name(),
            model.declaration().about,
            model.declaration().not_for,
            targets(*model),
            privacy(*model),
            model.declaration().family
        );
        if !model.declaration().settings.is_empty() {
            text.push_str("\n| setting | kind | values | default | meaning |\n|---|---|---|---|---|\n");
        }
        for setting in model.declaration().settings {
            let [name, range, default, about] = setting_cells(setting);
            let default = default.trim_start_matches("default ");
            let _ = writeln!(text, "| `{name}` | {} | {range} | {default} | {about} |", setting.kind.name());
        }
        if !model.declaration().references.is_empty() {
            text.push_str("\nReferences:\n\n");
        }
        for reference in model.declaration().references {
            let _ = writeln!(text, "- {reference}");
        }
    }
    text
}
