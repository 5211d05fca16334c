//! Parameters on the page: a table for each variable, with a drawing that its dimensions call for.

use reticent::{
    Code, CodedColumn, Grid, SavedModel, Summary, TypicalEffects, grid, records_interval, variables,
};
use serde::Serialize;

use crate::plots::{self, Ellipse, Interval, Svg};
use crate::tables::{self, number, probability};

/// Dimensions whose labels are the columns of a table, so that their parts are side by side.
const SIDE_BY_SIDE: [&str; 7] = ["component", "class", "state", "topic", "unit", "to", "with"];
/// The most columns of a shaded table.
const MAX_COLUMNS: usize = 30;
/// The most rows of a forest of typical effects: those with the largest effects are shown.
const MAX_EFFECTS: usize = 40;
/// Words of a topic that are shown.
const TOP_WORDS: usize = 10;
/// Cells of the map of states, at most.
const MAX_CELLS: usize = 10_000;

/// A variable.
#[derive(Serialize)]
pub(super) struct Variable {
    title: String,
    /// Whether the rows of the table have names: a single number has none.
    has_labels: bool,
    /// Whether the last column of the table is a unit.
    has_units: bool,
    forest: Option<Forest>,
    shaded: Option<Shaded>,
    bars: Vec<Bars>,
    drawing: Option<Svg>,
    /// Classes of colours in the drawing, and what they are.
    legend: Vec<(&'static str, String)>,
    /// The words that explain the drawing.
    about: &'static str,
    table: Table,
}

/// All numbers of a variable, as `show` prints them.
#[derive(Serialize)]
struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    more: usize,
}

/// Rows on one axis, with the numbers beside them.
#[derive(Serialize)]
pub(super) struct Forest {
    caption: String,
    axis: String,
    rows: Vec<ForestRow>,
    ticks: Svg,
    has_direction: bool,
    /// Whether any row has an interval: point estimates have none.
    has_intervals: bool,
    /// Whether the privacy noise makes any interval visibly wider.
    has_noise: bool,
    /// How many rows are not shown.
    more: usize,
}

#[derive(Serialize)]
struct ForestRow {
    label: String,
    detail: String,
    plot: Svg,
    estimate: String,
    interval: String,
    direction: String,
}

/// A table of shares or correlations whose cells are shaded, or of numbers with intervals.
#[derive(Serialize)]
struct Shaded {
    across: String,
    columns: Vec<String>,
    rows: Vec<ShadedRow>,
}

#[derive(Serialize)]
struct ShadedRow {
    label: String,
    cells: Vec<Cell>,
}

#[derive(Serialize)]
struct Cell {
    text: String,
    hover: String,
    class: &'static str,
}

/// The largest shares of a part.
#[derive(Serialize)]
struct Bars {
    name: String,
    rows: Vec<Bar>,
}

#[derive(Serialize)]
struct Bar {
    label: String,
    plot: Svg,
    text: String,
}

/// The variables of a model, in order.
pub(super) fn all(model: &SavedModel, summaries: &[Summary]) -> Vec<Variable> {
    let mut found = Vec::new();
    for elements in variables(summaries) {
        let name = elements[0].variable;
        let (rows, more) = tables::cut(elements);
        let mut rows = tables::rows(rows);
        let head = if rows.is_empty() { Vec::new() } else { rows.remove(0) };
        let mut variable = Variable {
            title: tables::title(elements, model),
            has_labels: rows.iter().any(|row| row.first().is_some_and(|label| !label.is_empty())),
            has_units: elements.iter().any(|element| element.unit.is_some()),
            forest: None,
            shaded: None,
            bars: Vec::new(),
            drawing: None,
            legend: Vec::new(),
            about: "",
            table: Table { head, rows, more },
        };
        let dimensions = elements[0].place.len();
        match name {
            // The forest of typical effects is about these.
            "coefficient" | "odds_ratio" | "effect" => {}
            "word_probability" => {
                variable.bars = top_words(elements);
                variable.about = "The most probable words of each topic.";
            }
            "state_probability" => {
                if let Some((drawing, legend)) = map_of_states(elements) {
                    (variable.drawing, variable.legend) = (Some(drawing), legend);
                }
                variable.about = "The most probable state of each region at each time; the fainter, the less certain. Hover for probabilities.";
            }
            _ if dimensions > 1 && side(elements).is_some() => {
                variable.shaded = side(elements).as_ref().and_then(shaded);
            }
            _ if dimensions > 0 => variable.forest = dots(elements, &variable.title),
            _ => {}
        }
        if name == "mean" && dimensions == 2 {
            variable.drawing = mixture(model, summaries);
            variable.about = "An ellipse holds 95 % of the records of a component; the cross is the 95 % interval of its mean, \
                 and the point is larger for larger weights. The axes are the bounds of the first two numeric columns.";
        }
        found.push(variable);
    }
    found
}

/// The elements with a side-by-side dimension as columns.
fn side(elements: &[Summary]) -> Option<Grid<'_>> {
    SIDE_BY_SIDE.iter().find_map(|across| grid(elements, across))
}

/// A label, with the name of its dimension where it is no name by itself.
fn named(dimension: &str, label: &str) -> String {
    let is_number = ["component", "state", "topic", "unit", "from", "to", "with"].contains(&dimension);
    if is_number { format!("{dimension} {label}") } else { label.to_owned() }
}

/// A forest of typical effects.
pub(super) fn typical(effects: &TypicalEffects, of: &str, unit: Option<&str>) -> Forest {
    let (null, what) = if effects.are_odds_ratios { (1.0, "odds ratio") } else { (0.0, "difference") };
    let shown = &effects.rows[..effects.rows.len().min(MAX_EFFECTS)];
    let rows: Vec<Interval> = shown
        .iter()
        .map(|row| Interval {
            label: row.label.clone(),
            estimate: row.estimate,
            records: row.records,
            with_privacy: row.with_privacy,
        })
        .collect();
    let details = shown.iter().map(|row| (row.change.clone(), row.direction));
    let unit = unit.map_or(String::new(), |unit| format!(" ({unit})"));
    let scale =
        if effects.are_odds_ratios { ", logarithmic scale; 1 is no effect" } else { "; 0 is no effect" };
    Forest {
        caption: format!(
            "{what} of {of} for a typical change of each column: a level against the reference, a number by about a quarter of its range"
        ),
        axis: format!("{what}{unit}{scale}"),
        more: effects.rows.len() - shown.len(),
        ..forest(&rows, details, Some(null), effects.are_odds_ratios)
    }
}

/// A dot plot of elements in the same unit; with many rows, or different units, there is only the table.
fn dots(elements: &[Summary], title: &str) -> Option<Forest> {
    let first = elements.first()?;
    let is_fixed = elements.iter().all(|element| element.sd == 0.0);
    let units_differ = elements.iter().any(|element| element.unit != first.unit);
    if is_fixed || units_differ || elements.len() > tables::MAX_ROWS {
        return None;
    }
    let interval = |element: &Summary| Interval {
        label: match &element.place[..] {
            [(dimension, label)] => named(dimension, label),
            _ => tables::label(element),
        },
        estimate: element.mean,
        records: records_interval(element),
        with_privacy: element.interval(),
    };
    let rows: Vec<Interval> = elements.iter().map(interval).collect();
    let details =
        elements.iter().map(|element| (element.note.clone().unwrap_or_default(), element.direction));
    let axis = first.unit.clone().unwrap_or_default();
    Some(Forest { caption: title.to_owned(), axis, ..forest(&rows, details, None, false) })
}

fn forest(
    rows: &[Interval],
    details: impl Iterator<Item = (String, Option<f64>)>,
    null: Option<f64>,
    are_ratios: bool,
) -> Forest {
    let (drawn, ticks) = plots::forest(rows, null, are_ratios);
    let one = |((row, plot), (detail, direction)): ((&Interval, Svg), (String, Option<f64>))| {
        let (low, high) = row.with_privacy;
        // 95 % of a Gaussian are within 3.92 standard deviations.
        let number = |x: f64| number(x, (high - low) / 3.92);
        ForestRow {
            label: row.label.clone(),
            detail,
            plot,
            estimate: number(row.estimate),
            interval: if plots::is_interval(row.with_privacy) {
                format!("{} to {}", number(low), number(high))
            } else {
                "not known".to_owned()
            },
            direction: direction.map_or(String::new(), probability),
        }
    };
    let has_intervals = rows.iter().any(|row| plots::is_interval(row.with_privacy));
    let has_noise = rows.iter().any(|row| plots::is_wider(row.with_privacy, row.records));
    let rows: Vec<ForestRow> = rows.iter().zip(drawn).zip(details).map(one).collect();
    let has_direction = rows.iter().any(|row| !row.direction.is_empty());
    let (caption, axis) = (String::new(), String::new());
    Forest { caption, axis, rows, ticks, has_direction, has_intervals, has_noise, more: 0 }
}

/// Classes of cells, from pale to full.
const SHADES: [&str; 9] = ["", "h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"];
/// The same for negative numbers.
const NEGATIVE: [&str; 9] = ["", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"];

/// A table side by side: shares and correlations are shaded, numbers with units have intervals.
fn shaded(grid: &Grid<'_>) -> Option<Shaded> {
    if grid.columns.len() > MAX_COLUMNS || grid.rows.len() > 4 * tables::MAX_ROWS {
        return None;
    }
    let cells = || grid.rows.iter().flat_map(|(_, cells)| cells.iter().flatten());
    let is_share = cells().all(|cell| cell.unit.is_none() && cell.mean.abs() <= 1.0);
    let cell = |found: &Option<&Summary>| {
        let Some(found) = found else { return Cell { text: String::new(), hover: String::new(), class: "" } };
        let (low, high) = found.interval();
        let [mean, low, high] = [found.mean, low, high].map(|x| number(x, found.sd));
        if !is_share {
            return Cell { text: format!("{mean} ({low} to {high})"), hover: String::new(), class: "" };
        }
        let step = ((found.mean.abs() * 8.0).round() as usize).min(8);
        let class = if found.mean < 0.0 { NEGATIVE[step] } else { SHADES[step] };
        Cell {
            text: format!("{:.2}", found.mean),
            hover: format!("{mean}, 95 % interval {low} to {high}"),
            class,
        }
    };
    let row = |(labels, cells): &(Vec<String>, Vec<Option<&Summary>>)| ShadedRow {
        label: match (&labels[..], cells.iter().flatten().next().and_then(|cell| cell.place.first())) {
            ([only], Some((dimension, first))) if only == first => named(dimension, only),
            _ => labels.join(" = "),
        },
        cells: cells.iter().map(cell).collect(),
    };
    Some(Shaded {
        across: grid.across.to_owned(),
        rows: grid.rows.iter().map(row).collect(),
        columns: grid.columns.clone(),
    })
}

/// The most probable words of each topic.
fn top_words(elements: &[Summary]) -> Vec<Bars> {
    let largest = |elements: &[&Summary]| elements.iter().map(|word| word.quantiles[4]).fold(0.0, f64::max);
    let topics = elements.chunk_by(|a, b| a.place.first() == b.place.first());
    let top: Vec<Vec<&Summary>> = topics
        .map(|words| {
            let mut words: Vec<&Summary> = words.iter().collect();
            words.sort_by(|a, b| b.mean.total_cmp(&a.mean));
            words.truncate(TOP_WORDS);
            words
        })
        .collect();
    let highest = top.iter().map(|words| largest(words)).fold(0.0, f64::max);
    let one = |words: Vec<&Summary>| {
        let drawn = plots::bars(&words, highest);
        let label = |word: &Summary| word.place.last().map_or(String::new(), |(_, label)| label.clone());
        let rows = words.iter().zip(drawn);
        let rows =
            rows.map(|(word, plot)| Bar { label: label(word), plot, text: number(word.mean, word.sd) });
        let name = words.first().and_then(|word| word.place.first());
        Bars {
            name: name.map_or(String::new(), |(kind, label)| format!("{kind} {label}")),
            rows: rows.collect(),
        }
    };
    top.into_iter().map(one).collect()
}

fn map_of_states(elements: &[Summary]) -> Option<(Svg, Vec<(&'static str, String)>)> {
    let state =
        |element: &Summary| element.place.iter().find(|(dimension, _)| *dimension == "state").cloned();
    let mut names: Vec<String> = Vec::new();
    for (_, name) in elements.iter().filter_map(state) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.len() > MAX_COLUMNS || elements.len() / names.len().max(1) > MAX_CELLS {
        return None;
    }
    let of = |name: &String| -> Vec<Summary> {
        let chosen =
            elements.iter().filter(|element| state(element).is_some_and(|(_, label)| label == *name));
        let without_state = |element: &Summary| {
            let place = element.place.iter().filter(|(dimension, _)| *dimension != "state").cloned();
            Summary { place: place.collect(), ..element.clone() }
        };
        chosen.map(without_state).collect()
    };
    let by_state: Vec<Vec<Summary>> = names.iter().map(of).collect();
    let grids: Option<Vec<Grid<'_>>> = by_state.iter().map(|elements| grid(elements, "time")).collect();
    let legend =
        names.iter().enumerate().map(|(k, name)| (plots::kind(k), format!("state {name}"))).collect();
    Some((plots::states(&grids?, &names)?, legend))
}

/// The name of a column, with its unit.
fn with_unit(column: &CodedColumn) -> String {
    column.unit.as_ref().map_or_else(|| column.label(), |unit| format!("{} ({unit})", column.label()))
}

/// The components of a mixture over the bounds of the first two numeric columns.
fn mixture(model: &SavedModel, summaries: &[Summary]) -> Option<Svg> {
    let codebook = model.codebook();
    let numeric = codebook.columns.iter().filter_map(|column| match column.code {
        Code::Number { centre, scale } => Some((column, (centre - scale, centre + scale))),
        _ => None,
    });
    let [(x, across), (y, up)] = numeric.take(2).collect::<Vec<_>>().try_into().ok()?;
    let find = |variable: &str, labels: &[&str]| {
        let is = |element: &&Summary| {
            element.variable == variable
                && element.place.iter().map(|(_, label)| label.as_str()).eq(labels.iter().copied())
        };
        summaries.iter().find(is)
    };
    let noise_sd = [find("noise_sd", &[&x.name])?.mean, find("noise_sd", &[&y.name])?.mean];
    let weights = summaries.iter().filter(|element| element.variable == "weight");
    let component = |weight: &Summary| {
        let (_, name) = weight.place.first()?;
        let mean = |column: &str| find("mean", &[name, column]).map(|found| (found.mean, found.interval()));
        Some(Ellipse {
            name: name.clone(),
            mean: [mean(&x.name)?, mean(&y.name)?],
            noise_sd,
            weight: weight.mean,
        })
    };
    let components: Vec<Ellipse> = weights.filter_map(component).collect();
    (!components.is_empty())
        .then(|| plots::ellipses(&components, [across, up], [&with_unit(x), &with_unit(y)]))
}

#[cfg(test)]
mod tests;
