//! The content of the page, in the order of its sections: `page.html` has the words.

use reticent::{
    Account, Asked, Effect, EffectScale, Effects, Entry, Predicted, ResidualBin, ResidualCheck, SavedModel,
    Schema, Summary,
};
use reticent_accounting::rounded_up;
use reticent_figure::{Axis, short};
use serde::Serialize;

use crate::plots::{self, Svg};
use crate::variables::{self, Forest, Variable};
use crate::{Scores, budget, lead, tables};

/// Plots of columns, at most.
const MAX_PLOTS: usize = 12;
/// Characters of the name of a level from which on its plot takes two columns: such names are turned, and need room beside the plot.
const LONG_LABEL: usize = 16;

#[derive(Serialize)]
pub(super) struct Page {
    title: String,
    lead: String,
    command: String,
    warnings: Vec<String>,
    /// Effects of typical changes.
    forest: Option<Forest>,
    variables: Vec<Variable>,
    effects: Option<Moved>,
    residuals: Option<Residuals>,
    variances: Option<Variances>,
    spent: Spent,
    test: Option<Test>,
    facts: Vec<Fact>,
    columns: Vec<[String; 3]>,
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

/// How the prediction moves with each column.
#[derive(Serialize)]
struct Moved {
    /// What all columns are compared with.
    reference: String,
    /// What the vertical axis is.
    axis: String,
    /// The same in short: its unit.
    unit: String,
    has_bands: bool,
    has_noise: bool,
    plots: Vec<MovedPlot>,
    /// How many columns could be plotted.
    columns: usize,
}

#[derive(Serialize)]
struct MovedPlot {
    column: String,
    unit: String,
    description: String,
    against: String,
    /// Whether the names of its levels need more room.
    is_wide: bool,
    plot: Svg,
}

/// The receipt: cost and releases.
#[derive(Serialize)]
struct Spent {
    guarantee: String,
    /// Nothing without privacy.
    bar: Option<Bar>,
    groups: Vec<Group>,
    /// The budget of the data set.
    account: Option<Bar>,
    ledger: String,
    noise: String,
    projections: u64,
}

#[derive(Serialize)]
struct Bar {
    plot: Svg,
    text: String,
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

/// The released distribution of residuals.
#[derive(Serialize)]
struct Residuals {
    target: String,
    plot: Svg,
    /// Bin, share and that of the normal distribution.
    rows: Vec<[String; 3]>,
    /// Nothing without noise.
    noise: Option<String>,
}

/// Where a variance comes from.
#[derive(Serialize)]
struct Variances {
    /// Of what it is the variance.
    what: &'static str,
    plot: Svg,
    parts: Vec<(&'static str, String)>,
}

/// Scores on test records.
#[derive(Serialize)]
struct Test {
    note: &'static str,
    facts: Vec<Fact>,
    calibration: Option<Svg>,
    /// What is predicted and observed.
    of: String,
}

impl Page {
    /// With scores from a file of their own, if there is one. The rest of the model is used to make the effects, so whoever calls this guards it.
    pub(super) fn new(
        model: &SavedModel,
        scores: Option<&Scores<'_>>,
        account: Option<&Account>,
        parts: Parts,
    ) -> Self {
        let of = model.schema().target().map_or(String::new(), |target| format!(" of {}", target.name()));
        Self {
            title: format!("{} model{of}", model.kind().name()),
            lead: lead::sentence(model),
            command: lead::command(model),
            warnings: model.card().warnings.clone(),
            forest: parts.forest,
            variables: variables::all(model, &parts.summaries),
            effects: model.effects().and_then(|effects| moved(model, &effects)),
            residuals: model.residual_check().map(|check| residuals(model, &check)),
            variances: uncertainty(model),
            spent: spent(model, account),
            test: scores.map(|scores| Test::new(scores, model)),
            facts: request(model),
            columns: columns(model.schema()),
            assumptions: model.receipt().assumptions.clone(),
            software: model.receipt().software.clone(),
        }
    }
}

/// What the library makes of the parameters.
pub(super) struct Parts {
    summaries: Vec<Summary>,
    forest: Option<Forest>,
}

impl Parts {
    pub(super) fn of(model: &SavedModel) -> Result<Self, reticent::Error> {
        let summaries = model.summary()?;
        let typical = model.typical_effects()?.filter(|effects| !effects.rows.is_empty());
        let codebook = model.codebook();
        let of = what(model);
        let forest = typical.map(|effects| variables::typical(&effects, &of, codebook.target_unit()));
        Ok(Self { summaries, forest })
    }
}

/// The target, or its positive class.
fn what(model: &SavedModel) -> String {
    let codebook = model.codebook();
    match (&codebook.target, codebook.classes()) {
        (Some(target), Some([_, positive])) => format!("{} = {positive}", target.name),
        (Some(target), None) => target.name.clone(),
        (None, _) => "the prediction".to_owned(),
    }
}

/// Data, model and requested privacy.
fn request(model: &SavedModel) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(description) = model.schema().description() {
        facts.push(Fact::new("Data", description));
    }
    facts.push(Fact::new("Model", format!("{}: {}", model.kind().name(), model.kind().declaration().about)));
    let receipt = model.receipt();
    facts.push(Fact::new(
        if receipt.privacy_unit.is_some() { "Privacy units" } else { "Records" },
        receipt.records.to_string(),
    ));
    facts.extend(receipt.privacy_unit.as_ref().map(|column| {
        let text = format!("all rows with the same {column} together: estimates describe the average unit, not the average row");
        Fact::new("Protected", text)
    }));
    let privacy = model.card().asked.as_ref().map_or("none".to_owned(), |asked| {
        format!("epsilon {}, delta {:e}, {} adjacency", asked.epsilon, asked.delta, asked.adjacency)
    });
    facts.push(Fact::new("Requested privacy", privacy));
    facts.extend(model.card().fitted_on.map(|day| Fact::new("Day of the fit", day.to_string())));
    facts
}

/// Name, values and description of each column, the target first.
fn columns(schema: &Schema) -> Vec<[String; 3]> {
    let one = |column: &reticent::Column, role: &str| {
        let unit = column.unit().map_or(String::new(), |unit| format!(" {unit}"));
        let values = match column.kind() {
            reticent::Kind::Numeric { scale: reticent::Scale::Bounds { low, high }, .. } => {
                format!("{} to {}{unit}", short(*low), short(*high))
            }
            reticent::Kind::Numeric { .. } => format!("numbers{unit}"),
            reticent::Kind::Text { vocabulary, .. } => format!("text, {} words", vocabulary.len()),
            _ => column.levels().join(", "),
        };
        let role = if role.is_empty() { String::new() } else { format!(" ({role})") };
        [format!("{}{role}", column.name()), values, column.description().unwrap_or_default().to_owned()]
    };
    let target = schema.target().map(|target| one(target, "target"));
    target.into_iter().chain(schema.features().iter().map(|column| one(column, ""))).collect()
}

/// Effects of columns, the largest first, on one axis.
fn moved(model: &SavedModel, effects: &Effects) -> Option<Moved> {
    let shown = &effects.columns[..effects.columns.len().min(MAX_PLOTS)];
    if shown.is_empty() {
        return None;
    }
    let place =
        if effects.at_released_means { "at their released means" } else { "in the middle of their ranges" };
    let (of, unit) = (what(model), model.schema().target().and_then(|target| target.unit()));
    let (factor, unit, axis, level) = match effects.scale {
        EffectScale::Target { reference } => {
            let unit = unit.map_or(String::new(), |unit| format!(" {unit}"));
            (
                1.0,
                unit.clone(),
                format!("change of {of}{}", parenthesised(&unit)),
                format!("{}{unit}", short(reference)),
            )
        }
        EffectScale::Probability { reference } => {
            let axis = format!("change of the probability of {of} (percentage points)");
            (100.0, " percentage points".to_owned(), axis, format!("{:.1} %", 100.0 * reference))
        }
    };
    let y: Axis = plots::common_axis(shown.iter(), factor);
    let plot = |effect: &Effect| MovedPlot {
        column: effect.column.clone(),
        unit: effect.unit.clone().unwrap_or_default(),
        description: effect.description.clone().unwrap_or_default(),
        against: match &effect.unit {
            Some(unit) if !effect.levels => format!("{} {unit}", effect.reference),
            _ => effect.reference.clone(),
        },
        is_wide: effect.levels && effect.points.iter().any(|point| point.label.chars().count() > LONG_LABEL),
        plot: plots::effect(effect, &y, factor, &unit),
    };
    let points = || shown.iter().flat_map(|effect| &effect.points);
    Some(Moved {
        reference: format!("the other columns are {place}, where the model predicts {level}"),
        axis,
        unit: if unit.is_empty() { String::new() } else { format!("; in{unit}") },
        has_bands: points().any(|point| point.with_privacy.is_some_and(plots::is_interval)),
        has_noise: points().any(plots::has_noise),
        plots: shown.iter().map(plot).collect(),
        columns: effects.columns.len(),
    })
}

/// Shares of residuals beside those of a normal distribution.
fn residuals(model: &SavedModel, check: &ResidualCheck) -> Residuals {
    Residuals {
        target: model.schema().target().map_or(String::new(), |target| target.name().to_owned()),
        plot: plots::residuals(&check.bins),
        rows: check.summary.iter().map(residual_row).collect(),
        noise: (check.noise_sd > 0.0).then(|| format!("{:.2}", 100.0 * check.noise_sd)),
    }
}

fn residual_row(bin: &ResidualBin) -> [String; 3] {
    let [share, normal] = [bin.share, bin.normal].map(|share| format!("{:.1} %", 100.0 * share));
    [tables::residual_label(bin), share, normal]
}

fn parenthesised(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" ({})", unit.trim()) }
}

fn spent(model: &SavedModel, account: Option<&Account>) -> Spent {
    let receipt = model.receipt();
    let group = |(group, share): (&Entry, f64)| Group {
        what: group.what.clone(),
        made: group.made,
        planned: group.planned,
        width: group.width,
        how: group.kind.to_string(),
        share: if share > 0.0 { format!("{:.0} %", 100.0 * share) } else { String::new() },
    };
    let bar = |asked: &Asked| {
        let cost = receipt.guarantee.cost()?.epsilon.upper;
        let text = format!("{} of the epsilon of {} that was requested", rounded_up(cost), asked.epsilon);
        Some(Bar { plot: plots::budget(cost, asked.epsilon), text })
    };
    Spent {
        guarantee: receipt.guarantee.to_string(),
        bar: model.card().asked.as_ref().and_then(bar),
        groups: receipt.groups.iter().zip(receipt.shares()).map(group).collect(),
        account: account.map(|account| {
            let cost = receipt.guarantee.cost().map_or(0.0, |cost| cost.epsilon.upper);
            let parts = budget::parts(account, cost);
            Bar {
                plot: plots::account(parts, account.data_set.cap.epsilon),
                text: budget::remaining(account),
            }
        }),
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
            (variances, unit * unit, "a new target about its prediction")
        }
        Predicted::Class { variances, .. } => (variances, 1.0, "the score behind the probability"),
        _ => return None,
    };
    let parts = [
        ("from the records", variances.records * scale),
        ("from the privacy noise", variances.privacy * scale),
        ("of targets themselves", variances.targets * scale),
    ];
    let (plot, parts) = plots::variances(parts);
    Some(Variances { what, plot, parts })
}

impl Test {
    fn new(scores: &Scores<'_>, model: &SavedModel) -> Self {
        let Scores { score, note, rows } = scores;
        let of = if score.rmse.is_some() {
            "targets below each quantile".to_owned()
        } else {
            format!("records with {}", what(model))
        };
        let calibration =
            (!score.calibration.is_empty()).then(|| plots::calibration(&score.calibration, &of));
        let facts = rows.iter().map(|(name, value)| Fact::new(name, value)).collect();
        Self { note, facts, calibration, of }
    }
}
