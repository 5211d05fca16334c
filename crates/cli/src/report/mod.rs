//! `reticent report`: one page about a model that needs nothing else.
//!
//! A model file may be forged, so its texts are taken for attacks. The page is made by templates that escape every value
//! but three: the style, a constant; plots, which escape their texts themselves; and the JSON at the end, which is escaped as JSON. A content security policy is the
//! second line of defence: it allows no script at all, no style but this one, and nothing from elsewhere. Attacked in a
//! browser by `no_script_of_a_forged_model_runs`.

mod page;
mod plots;

use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context, escape_formatter};
use reticent::{SavedModel, Score, visible};
use serde_json::json;
use sha2::{Digest as _, Sha256};

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
    reticent_files::check_writable(&args.out).map_err(|error| not_written(&args.out, &error))?;
    write_file(&args.out, &page(&model, scores.as_ref())?)?;
    Ok(if args.quiet { String::new() } else { format!("{}\n", args.out.display()) })
}

const STYLE: &str = include_str!("style.css");

/// The page.
pub(crate) fn page(model: &SavedModel, scores: Option<&Score>) -> Result<String, Failure> {
    let page = model.guarded(|model| page::Page::new(model, scores))?;
    let machine = machine_readable(model).to_string();
    let values = context! {
        page => Serde(&page),
        policy => policy(),
        style => Value::from_safe_string(STYLE.to_owned()),
        machine => Value::from_safe_string(visible::json_in_html(&machine).into_owned()),
    };
    let rendered = templates().and_then(|templates| templates.get_template("page.html")?.render(values));
    rendered.map_err(|error| Failure::failed(format!("the page cannot be made: {error}"), None))
}

/// No script, no style but ours, nothing from elsewhere, nothing that leads elsewhere.
fn policy() -> String {
    let style = BASE64_STANDARD.encode(Sha256::digest(STYLE));
    format!("default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'")
}

/// The templates. Whatever they print is escaped, with hidden characters as their numbers.
fn templates() -> Result<Environment<'static>, minijinja::Error> {
    let mut templates = Environment::new();
    templates.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    templates.set_auto_escape_callback(|_| AutoEscape::Html);
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    templates.set_formatter(|to, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => {
            escape_formatter(to, state, &Value::from(visible::line(text).as_ref()))
        }
        _ => escape_formatter(to, state, value),
    });
    templates.add_template("page.html", include_str!("page.html"))?;
    Ok(templates)
}

/// The model file without its arrays, for programs.
fn machine_readable(model: &SavedModel) -> serde_json::Value {
    let header = model.header();
    json!({
        "model": header.model,
        "receipt": header.receipt,
        "plan": header.plan,
        "card": header.card,
    })
}
