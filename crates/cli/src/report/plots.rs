//! The plots of the page, drawn by [`reticent_figure`]. Everything drawn is public: it comes from the model file, and from
//! scores that somebody added.
//!
//! A file may be forged. Its names become texts, which the drawing escapes, with hidden characters as their numbers; its
//! numbers become lengths, which the drawing keeps finite. Classes and colours are constants: the style sheet of the page
//! overrides the colours, so that plots follow its theme.

use minijinja::Value;
use reticent::{Calibration, Effect, EffectPoint, Point, visible};
use reticent_figure::{Axis, Drawing, Element, Plot, Style, short};

use crate::output::rounded_up;

/// A drawing that needs no more escaping.
pub(super) type Svg = Value;

const RECORDS: Style = Style::fill("#0072b2").class("records").opacity(0.55);
const PRIVACY: Style = Style::fill("#d55e00").class("privacy").opacity(0.4);
const TARGETS: Style = Style::fill("#8fb8d6").class("targets").opacity(0.35);
const MEAN: Style = Style::stroke("#0072b2", 2.0).class("mean");
const DOT: Style = Style::fill("#0072b2").class("dot");
const HOVER: Style = Style::fill("transparent").class("hover");
const DIAGONAL: Style = Style::stroke("#888", 1.0).class("axis").dashed();

fn svg(drawing: &Drawing) -> Svg {
    Value::from_safe_string(drawing.to_string())
}

/// How much of the requested epsilon was spent.
pub(super) fn budget(cost: f64, requested: f64) -> Svg {
    const WIDTH: f64 = 460.0;
    let title = format!("spent {} of epsilon {requested}", rounded_up(cost));
    let bar = |width: f64| Element::rectangle(0.0, 4.0, width, 16.0).number("rx", 3.0);
    let mut drawing = Drawing::new(&title, WIDTH, 46.0);
    drawing.push(Style::fill("#d5dae1").class("left").apply(bar(WIDTH)));
    let spent = bar(WIDTH * (cost / requested).clamp(0.0, 1.0));
    drawing.push(Style::fill("#0072b2").class("spent").apply(spent).hover(&title));
    drawing.push(Element::text(0.0, 38.0, &title));
    svg(&drawing)
}

/// The prediction of the target along a column: uncertainty from the records, from the privacy noise, and of targets.
pub(super) fn effect(effect: &Effect, target: &str) -> Svg {
    const SIZE: (f64, f64) = (250.0, 150.0);
    let points = &effect.points;
    let unit = effect.unit.as_ref().map_or(String::new(), |unit| format!(" ({unit})"));
    let title = format!("{}{unit}", effect.column);
    let ends = |point: &EffectPoint| {
        let (low, high) = point.target.unwrap_or(point.with_privacy);
        [low, high, point.with_privacy.0, point.with_privacy.1, point.mean]
    };
    let y = Axis::linear("", points.iter().flat_map(ends));
    let (places, x): (Vec<f64>, Axis) = if effect.levels {
        // Without room for all names there are none; hovering shows them.
        let name = |point: &EffectPoint| if points.len() <= 6 { shown(&point.label) } else { String::new() };
        ((0..points.len()).map(|k| k as f64 + 0.5).collect(), Axis::categories("", points.iter().map(name)))
    } else {
        let places: Vec<f64> = points.iter().map(|point| point.at).collect();
        (places.clone(), Axis::linear("", places))
    };
    let (across, up) = (x.range(), y.range());
    let mut plot = Plot::new(&shown(&title), SIZE, x, y);
    let placed = || places.iter().copied().zip(points);
    if effect.levels {
        // No bar is wider than 40 pixels.
        let widest = (40.0 * points.len() as f64 / SIZE.0).min(1.0);
        for (at, point) in placed() {
            let mut bar = |style: &Style, share: f64, interval: (f64, f64)| {
                let half = 0.5 * share * widest;
                plot.rectangle(style, (at - half, at + half), interval, "");
            };
            if let Some(interval) = point.target {
                bar(&TARGETS, 0.9, interval);
            }
            bar(&PRIVACY, 0.6, point.with_privacy);
            bar(&RECORDS, 0.6, point.records);
            plot.points(&DOT, 3.0, [(at, point.mean)]);
        }
    } else {
        let targets = placed().filter_map(|(at, point)| point.target.map(|(low, high)| (at, low, high)));
        plot.band(&TARGETS, targets);
        plot.band(&PRIVACY, placed().map(|(at, point)| (at, point.with_privacy.0, point.with_privacy.1)));
        plot.band(&RECORDS, placed().map(|(at, point)| (at, point.records.0, point.records.1)));
        plot.line(&MEAN, placed().map(|(at, point)| (at, point.mean)));
    }
    let half = 0.5 * (across.1 - across.0) / points.len().max(1) as f64;
    for (at, point) in placed() {
        let strip = ((at - half).max(across.0), (at + half).min(across.1));
        plot.rectangle(&HOVER, strip, up, &numbers(effect, point, target));
    }
    svg(&plot.drawing())
}

/// What is shown while the pointer is on a point of an effect.
fn numbers(effect: &Effect, point: &EffectPoint, target: &str) -> String {
    let band = |(low, high): (f64, f64)| format!("{} to {}", short(low), short(high));
    let mut lines = vec![
        shown(&format!("{} = {}", effect.column, point.label)),
        shown(&format!("{target}: {}", short(point.mean))),
        format!("uncertainty from the records: {}", band(point.records)),
        format!("with privacy noise: {}", band(point.with_privacy)),
    ];
    lines.extend(point.target.map(|interval| format!("90 % of targets: {}", band(interval))));
    lines.join("\n")
}

/// Parts of a variance, as one bar with a line of text for each.
pub(super) fn variances(parts: [(&str, f64); 3]) -> Svg {
    const WIDTH: f64 = 560.0;
    let total: f64 = parts.iter().map(|(_, value)| value).sum();
    let mut drawing = Drawing::new("parts of the variance", WIDTH, 92.0);
    let mut x = 0.0;
    for (k, ((name, value), style)) in parts.into_iter().zip([RECORDS, PRIVACY, TARGETS]).enumerate() {
        let share = if total > 0.0 { value / total } else { 0.0 };
        let text = format!("{:.1} % {name} (standard deviation {})", 100.0 * share, short(value.sqrt()));
        let y = 44.0 + 18.0 * k as f64;
        drawing.push(style.apply(Element::rectangle(x, 0.0, WIDTH * share, 22.0)).hover(&text));
        drawing.push(style.apply(Element::rectangle(0.0, y - 10.0, 12.0, 12.0)));
        drawing.push(Element::text(20.0, y, &text));
        x += WIDTH * share;
    }
    svg(&drawing)
}

/// Predicted and observed frequencies: of targets below each quantile if they are numbers, of a class otherwise.
pub(super) fn calibration(points: &[Calibration], is_numeric: bool) -> Svg {
    let observed = if is_numeric { "targets below the quantile" } else { "records of the class" };
    let axis = |name: &str| {
        let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|at| (at, format!("{:.0} %", 100.0 * at)));
        Axis::between(name, 0.0, 1.0).with_ticks(ticks)
    };
    let mut plot = Plot::new("Calibration", (230.0, 230.0), axis("predicted"), axis(observed));
    plot.line(&DIAGONAL, [(0.0, 0.0), (1.0, 1.0)]);
    plot.line(&MEAN, points.iter().map(|point| (point.predicted, point.happened)));
    for point in points {
        let (predicted, observed) = (100.0 * point.predicted, 100.0 * point.happened);
        let text = format!("predicted {predicted:.1} %, observed {observed:.1} %, {} records", point.count);
        plot.point(&DOT, 4.0, (point.predicted, point.happened), &text);
    }
    svg(&plot.drawing())
}

/// A point among the inputs, as intervals of two standard deviations: a row for each input.
pub(super) fn point(point: &Point, names: &[String]) -> Svg {
    const ROW: f64 = 18.0;
    const ENDS: (f64, f64) = (-1.2, 1.2);
    let name = |k: usize| names.get(k).map_or(String::new(), |name| shown(name));
    let rows = Axis::categories("", (0..point.mean.len()).map(name));
    let size = (420.0, ROW * point.mean.len() as f64);
    let mut plot = Plot::new(&shown(&point.name), size, Axis::between("", ENDS.0, ENDS.1), rows);
    let sds = point.sd.iter().zip(&point.records_sd);
    for (k, (&mean, (&sd, &records_sd))) in point.mean.iter().zip(sds).enumerate() {
        let middle = k as f64 + 0.5;
        for (style, sd, thickness) in [(PRIVACY, sd, 4.0), (RECORDS, records_sd, 8.0)] {
            let end = |at: f64| if at.is_nan() { ENDS.0 } else { at.clamp(ENDS.0, ENDS.1) };
            let half = 0.5 * thickness / ROW;
            let text = format!("{} {} \u{b1} {}", name(k), short(mean), short(2.0 * sd));
            let interval = (end(mean - 2.0 * sd), end(mean + 2.0 * sd));
            plot.rectangle(&style, interval, (middle - half, middle + half), &text);
        }
        if mean >= ENDS.0 && mean <= ENDS.1 {
            plot.points(&DOT, 3.0, [(mean, middle)]);
        }
    }
    svg(&plot.drawing())
}

/// A text of a file, with hidden characters as their numbers.
fn shown(text: &str) -> String {
    visible::line(text).into_owned()
}
