//! The content of the page, in the order of its sections: `page.html` has the words.

use reticent::{Asked, Entry, PUBLIC_NOTE, Predicted, SCORES_NOTE, SavedModel, Schema, Score};
use serde::Serialize;

use super::plots::{self, Svg};
use crate::evaluate;

/// Plots of columns, at most.
const MAX_PLOTS: usize = 12;

#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    facts: Vec<Fact>,
    spent: Spent,
    warnings: Vec<String>,
    effects: Vec<Svg>,
    /// How many columns could be plotted.
    columns: usize,
    points: Vec<Svg>,
    highlights: Vec<Fact>,
    variances: Option<Variances>,
    test: Option<Test>,
    assumptions: Vec<String>,
    software: String,
}

/// A row of a table.
#[derive(Serialize)]
struct Fact {
    name: String,
    text: String,
}

impl Fact {
    fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// The receipt: cost and releases.
#[derive(Serialize)]
struct Spent {
    guarantee: String,
    /// Nothing without privacy.
    bar: Option<Svg>,
    groups: Vec<Group>,
    ledger: String,
    noise: String,
    projections: u64,
}

#[derive(Serialize)]
struct Group {
    what: String,
    made: u64,
    planned: u64,
    width: usize,
    /// Clipping, sampling and noise, as in the text of the receipt.
    how: String,
    share: String,
}

/// Where a variance comes from.
#[derive(Serialize)]
struct Variances {
    /// Of what it is the variance.
    what: &'static str,
    plot: Svg,
}

/// Scores on test records.
#[derive(Serialize)]
struct Test {
    note: &'static str,
    facts: Vec<Fact>,
    calibration: Option<Svg>,
}

impl Page {
    /// With scores from a file of their own, if there is one.
    pub(super) fn new(model: &SavedModel, scores: Option<&Score>) -> Self {
        let of = model.schema().target().map_or(String::new(), |target| format!(" of {}", target.name()));
        let names = model.schema().encoded_names();
        let effects = model.effects();
        let target = model.schema().target().map_or("prediction", |target| target.name());
        let highlights = model.posterior().highlights(&names).into_iter();
        let in_file = model.card().test.as_ref().map(|test| (PUBLIC_NOTE, &test.score));
        let test = scores.map(|score| (SCORES_NOTE, score)).or(in_file);
        Self {
            title: format!("{} model{of}", model.kind().name()),
            facts: request(model),
            spent: spent(model),
            warnings: model.card().warnings.clone(),
            columns: effects.len(),
            effects: effects.iter().take(MAX_PLOTS).map(|effect| plots::effect(effect, target)).collect(),
            points: model.posterior().points().iter().map(|point| plots::point(point, &names)).collect(),
            highlights: highlights.map(|highlight| Fact::new(highlight.name, highlight.text)).collect(),
            variances: uncertainty(model),
            test: test.map(|(note, score)| Test::new(note, score, model.schema())),
            assumptions: model.receipt().assumptions.clone(),
            software: model.receipt().software.clone(),
        }
    }
}

/// Data, model and requested privacy.
fn request(model: &SavedModel) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(description) = model.schema().description() {
        facts.push(Fact::new("Data", description));
    }
    facts.push(Fact::new("Model", format!("{}: {}", model.kind().name(), model.kind().declaration().about)));
    if let Some(target) = model.schema().target() {
        let about = target.description().map_or(String::new(), |text| format!(" ({text})"));
        facts.push(Fact::new("Target", format!("{}{about}", target.name())));
    }
    let names: Vec<&str> = model.schema().features().iter().map(|column| column.name()).collect();
    facts.push(Fact::new("Inputs", names.join(", ")));
    facts.push(Fact::new("Records", model.receipt().records.to_string()));
    let privacy = model.card().asked.as_ref().map_or("none".to_owned(), |asked| {
        format!("epsilon {}, delta {:e}, {} adjacency", asked.epsilon, asked.delta, asked.adjacency)
    });
    facts.push(Fact::new("Requested privacy", privacy));
    facts
}

fn spent(model: &SavedModel) -> Spent {
    let receipt = model.receipt();
    let group = |(group, share): (&Entry, f64)| Group {
        what: group.what.clone(),
        made: group.made,
        planned: group.planned,
        width: group.width,
        how: group.kind.to_string(),
        share: if share > 0.0 { format!("{:.0} %", 100.0 * share) } else { String::new() },
    };
    let bar =
        |asked: &Asked| receipt.guarantee.cost().map(|cost| plots::budget(cost.epsilon.upper, asked.epsilon));
    Spent {
        guarantee: receipt.guarantee.to_string(),
        bar: model.card().asked.as_ref().and_then(bar),
        groups: receipt.groups.iter().zip(receipt.shares()).map(group).collect(),
        ledger: receipt.ledger.clone(),
        noise: receipt.noise.clone(),
        projections: receipt.projections,
    }
}

/// Noise and data uncertainty apart, in the middle of all columns.
fn uncertainty(model: &SavedModel) -> Option<Variances> {
    let (variances, scale, what) = match model.posterior().predict_row(&model.middle(), &[]) {
        Predicted::Number { variances, .. } => {
            let unit = model.units().unit;
            (variances, unit * unit, "a target about its prediction")
        }
        Predicted::Class { variances, .. } => (variances, 1.0, "the score behind the probability"),
        _ => return None,
    };
    let parts = [
        ("from the records", variances.records * scale),
        ("from the privacy noise", variances.privacy * scale),
        ("of targets themselves", variances.targets * scale),
    ];
    Some(Variances { what, plot: plots::variances(parts) })
}

impl Test {
    fn new(note: &'static str, score: &Score, schema: &Schema) -> Self {
        let facts = evaluate::rows(score, schema).into_iter().map(|(name, value)| Fact::new(name, value));
        let calibration = (!score.calibration.is_empty())
            .then(|| plots::calibration(&score.calibration, score.rmse.is_some()));
        Self { note, facts: facts.collect(), calibration }
    }
}
