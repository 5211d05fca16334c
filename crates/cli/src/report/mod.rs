//! `reticent report`: one page about a model that needs nothing else.
//!
//! A model file may be forged, so its texts are taken for attacks. The page is made by templates that escape every value
//! but two: the style, a constant, and the JSON at the end, which is escaped as JSON. A content security policy is the
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
use reticent_models::Score;
use reticent_tables::ModelFile;
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::opened::Opened;
use crate::output::{Failure, write_file};
use crate::{fit, scores, visible};

/// One page about a model, for any browser.
#[derive(clap::Args)]
#[command(after_help = "\
The page holds everything that it shows, and fetches nothing. It is as public as the model file. With
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
    let file = ModelFile::read(&args.model)?;
    let scores = args.scores.as_deref().map(|scores| scores::read(scores, &file)).transpose()?;
    let opened = Opened::of(file, &args.model)?;
    fit::check_writable(&args.out)?;
    write_file(&args.out, &page(&opened, scores.as_ref())?)?;
    Ok(if args.quiet { String::new() } else { format!("{}\n", args.out.display()) })
}

const STYLE: &str = include_str!("style.css");

/// The page.
pub(crate) fn page(opened: &Opened, scores: Option<&Score>) -> Result<String, Failure> {
    let page = opened.guarded(|opened| page::Page::new(opened, scores))?;
    let machine = machine_readable(opened).to_string();
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
    templates.add_template("plots.html", include_str!("plots.html"))?;
    Ok(templates)
}

/// What the file holds beside its arrays, for programs.
fn machine_readable(opened: &Opened) -> serde_json::Value {
    let mut card = opened.header.card.clone();
    card.as_object_mut().map(|card| card.remove("state"));
    json!({
        "model": opened.header.model,
        "receipt": opened.header.receipt,
        "plan": opened.header.plan,
        "card": card,
    })
}
