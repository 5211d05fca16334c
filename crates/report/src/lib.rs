//! What a model states, for people: a first sentence, tables of its parameters, and one HTML page that needs nothing else.
//!
//! - [`sentence()`] and [`command()`] are what was fitted to what, with what privacy, when, and by which command.
//! - [`tables`] has the parameters as rows of text, in the units of the schema.
//! - [`text`] has what a terminal shows: a model file, a receipt, scores.
//! - [`forecasts()`] draws what to expect of a plan.
//! - [`remaining()`] is what a ledger has left for the data set of a fit, with amounts [rounded down](at_least).
//! - [`page()`] is the page: effects, parameters, scores, cost and assumptions.
//!
//! ```no_run
//! let model = reticent::SavedModel::load("model.reticent")?;
//! println!("{}", reticent_report::sentence(&model));
//! std::fs::write("report.html", reticent_report::page(&model, None, None)?)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Forged files
//! A model file may be forged, so its texts are taken for attacks. The page is made by templates that escape every value
//! but three: the style, a constant; plots, which escape their texts themselves; and the JSON at the end, which is escaped as JSON. A content
//! security policy is the second line of defence: it allows no script at all, no style but this one, and nothing from elsewhere. Attacked in a
//! browser by `no_script_of_a_forged_model_runs`. Tables and sentences are plain texts, with the names as they are in the file: whoever prints
//! them on a terminal escapes hidden characters.

mod budget;
mod forecast;
mod lead;
mod page;
mod plots;
pub mod tables;
pub mod text;
mod variables;

pub use budget::{at_least, remaining};
pub use forecast::forecasts;
pub use lead::{command, sentence};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, context, escape_formatter};
use reticent::{Account, SavedModel, Score, visible};
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// Scores on test records, to be shown with a model.
#[derive(Debug, Clone)]
pub struct Scores<'a> {
    /// The scores.
    pub score: &'a Score,
    /// The note that must be shown with them.
    pub note: &'static str,
    /// Their names and numbers.
    pub rows: Vec<(String, String)>,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The parts of the model do not fit together.
    #[error(transparent)]
    Model(#[from] reticent::Error),
    /// A template cannot be rendered.
    #[error("the page cannot be made: {0}")]
    Template(#[from] minijinja::Error),
}

const STYLE: &str = include_str!("style.css");

/// The page about a model, with scores if there are any, and with what remains of the budget of its data set if there is an account of it.
///
/// # Errors
/// [`PageError`] if the file is forged, so that its parts do not fit together.
pub fn page(
    model: &SavedModel,
    scores: Option<&Scores<'_>>,
    account: Option<&Account>,
) -> Result<String, PageError> {
    let parts = page::Parts::of(model)?;
    let page = model.guarded(|model| page::Page::new(model, scores, account, parts))?;
    let machine = machine_readable(model).to_string();
    let values = context! {
        page => Serde(&page),
        policy => policy(),
        style => Value::from_safe_string(STYLE.to_owned()),
        machine => Value::from_safe_string(visible::json_in_html(&machine).into_owned()),
    };
    Ok(templates()?.get_template("page.html")?.render(values)?)
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

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
