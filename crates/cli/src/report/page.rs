//! What the page shows, in the order of its sections: `page.html` has the words.

use reticent_models::{Predicted, Score};
use reticent_tables::Schema;
use serde::Serialize;

use super::plots::{Budget, CalibrationPlot, EffectPlot, Parts, PointPlot};
use crate::effects::{effects, middle};
use crate::evaluate;
use crate::opened::Opened;
use crate::output::rounded_up;
use crate::show::guarantee;

/// Plots of columns, at most.
const MOST_PLOTS: usize = 12;

#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    facts: Vec<Fact>,
    spent: Spent,
    warnings: Vec<String>,
    effects: Vec<EffectPlot>,
    /// How many columns could be plotted.
    columns: usize,
    points: Vec<PointPlot>,
    highlights: Vec<Fact>,
    variances: Option<Parts>,
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

/// What was spent, and on what.
#[derive(Serialize)]
struct Spent {
    guarantee: String,
    /// Nothing without privacy.
    bar: Option<Budget>,
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
    width: u64,
    noise: String,
    share: String,
}

/// What was found on test records.
#[derive(Serialize)]
struct Test {
    note: &'static str,
    facts: Vec<Fact>,
    calibration: Option<CalibrationPlot>,
}

impl Page {
    /// With scores from a file of their own, if there is one.
    pub(super) fn new(opened: &Opened, scores: Option<&Score>) -> Self {
        let of = opened.schema.target().map_or(String::new(), |target| format!(" of {}", target.name()));
        let names = opened.schema.encoded_names();
        let effects = effects(opened);
        let target = opened.schema.target().map_or("prediction", |target| target.name());
        let highlights = opened.fitted.highlights(&names).into_iter();
        let in_file = opened.card.test.as_ref().map(|test| (evaluate::PUBLIC_NOTE, &test.score));
        let test = scores.map(|score| (evaluate::NOTE, score)).or(in_file);
        Self {
            title: format!("{} model{of}", opened.header.model),
            facts: asked(opened),
            spent: spent(opened),
            warnings: opened.card.warnings.clone(),
            columns: effects.len(),
            effects: effects.iter().take(MOST_PLOTS).map(|effect| EffectPlot::new(effect, target)).collect(),
            points: opened.fitted.points().iter().map(|point| PointPlot::new(point, &names)).collect(),
            highlights: highlights.map(|highlight| Fact::new(highlight.name, highlight.text)).collect(),
            variances: uncertainty(opened),
            test: test.map(|(note, score)| Test::new(note, score, &opened.schema)),
            assumptions: opened.receipt.assumptions.clone(),
            software: opened.receipt.software.clone(),
        }
    }
}

/// What was asked.
fn asked(opened: &Opened) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(description) = opened.schema.description() {
        facts.push(Fact::new("Data", description));
    }
    facts.push(Fact::new("Model", format!("{}: {}", opened.header.model, opened.about)));
    if let Some(target) = opened.schema.target() {
        let about = target.description().map_or(String::new(), |text| format!(" ({text})"));
        facts.push(Fact::new("Target", format!("{}{about}", target.name())));
    }
    let names: Vec<&str> = opened.schema.features().iter().map(|column| column.name()).collect();
    facts.push(Fact::new("Inputs", names.join(", ")));
    facts.push(Fact::new("Records", opened.receipt.records.to_string()));
    let privacy = opened.card.asked.as_ref().map_or("none".to_owned(), |asked| {
        format!("epsilon {} at delta {:e}, {} adjacency", asked.epsilon, asked.delta, asked.adjacency)
    });
    facts.push(Fact::new("Privacy asked for", privacy));
    facts
}

fn spent(opened: &Opened) -> Spent {
    let receipt = &opened.receipt;
    let group = |(group, share): (&crate::contents::Group, f64)| Group {
        what: group.what.clone(),
        made: group.made,
        planned: group.planned,
        width: group.width,
        noise: group
            .noise_multiplier()
            .filter(|multiplier| *multiplier > 0.0)
            .map_or("no noise".to_owned(), rounded_up),
        share: if share > 0.0 { format!("{:.0} %", 100.0 * share) } else { String::new() },
    };
    let bar = |asked: &crate::contents::Asked| {
        receipt.guarantee.cost().map(|cost| Budget::new(cost.epsilon.upper, asked.epsilon))
    };
    Spent {
        guarantee: guarantee(receipt),
        bar: opened.card.asked.as_ref().and_then(bar),
        groups: receipt.groups.iter().zip(receipt.shares()).map(group).collect(),
        ledger: receipt.ledger.clone(),
        noise: receipt.noise.clone(),
        projections: receipt.projections,
    }
}

/// Noise and data uncertainty apart, in the middle of all columns.
fn uncertainty(opened: &Opened) -> Option<Parts> {
    let (variances, scale, what) = match opened.fitted.predict(&middle(opened), &[]) {
        Predicted::Number { variances, .. } => {
            let unit = opened.units().unit;
            (variances, unit * unit, "a target about its prediction")
        }
        Predicted::Class { variances, .. } => (variances, 1.0, "the score behind the probability"),
        _ => return None,
    };
    Some(Parts::new(
        what,
        [
            ("left open by the records", variances.records * scale),
            ("added by the privacy noise", variances.privacy * scale),
            ("of targets themselves", variances.targets * scale),
        ],
    ))
}

impl Test {
    fn new(note: &'static str, score: &Score, schema: &Schema) -> Self {
        let facts = evaluate::rows(score, schema).into_iter().map(|(name, value)| Fact::new(name, value));
        let calibration = (!score.calibration.is_empty())
            .then(|| CalibrationPlot::new(&score.calibration, score.rmse.is_some()));
        Self { note, facts: facts.collect(), calibration }
    }
}
