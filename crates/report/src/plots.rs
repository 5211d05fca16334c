//! The plots of the page, drawn by [`reticent_figure`]. Everything drawn is public: it comes from the model file, and from
//! scores that somebody added.
//!
//! A file may be forged. Its names become texts, which the drawing escapes, with hidden characters as their numbers; its
//! numbers become lengths, which the drawing keeps finite. Classes and colours are constants: the style sheet of the page
//! overrides the colours, so that plots follow its theme.

use minijinja::Value;
use reticent::{Calibration, Effect, EffectPoint, Grid, ResidualBin, Summary, visible};
use reticent_accounting::rounded_up;
use reticent_figure::{
    Axis, Drawing, Element, Plot, Strip, StripStyle, Strips, Style, colour, short, with_interval,
};

use crate::budget;
use crate::tables::residual_label;

/// A drawing that needs no more escaping.
pub(super) type Svg = Value;

const RECORDS: Style = Style::fill("#0072b2").class("records").opacity(0.55);
const PRIVACY: Style = Style::fill("#d55e00").class("privacy").opacity(0.4);
const TARGETS: Style = Style::fill("#8fb8d6").class("targets").opacity(0.35);
const MEAN: Style = Style::stroke("#0072b2", 2.0).class("mean");
const DOT: Style = Style::fill("#0072b2").class("dot");
const HOVER: Style = Style::fill("transparent").class("hover");
const DIAGONAL: Style = Style::stroke("#888", 1.0).class("axis").dashed();
const NULL: Style = Style::stroke("#555", 1.0).class("null");
const THIN: Style = Style::stroke("#d55e00", 2.0).class("thin");
const STRIP: StripStyle = StripStyle {
    outer: THIN,
    inner: Style::stroke("#0072b2", 8.0).class("thick"),
    point: Style::fill("#1d2430").class("estimate"),
};

/// Classes of components and states, whose colours the style sheet has; they repeat.
const KINDS: [&str; 8] = ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"];

/// The class of the colour of a component or state.
pub(super) fn kind(number: usize) -> &'static str {
    KINDS[number % KINDS.len()]
}

fn svg(drawing: &Drawing) -> Svg {
    Value::from_safe_string(drawing.to_string())
}

/// How much of the requested epsilon was spent.
pub(super) fn budget(cost: f64, requested: f64) -> Svg {
    let title = format!("spent {} of the epsilon of {requested} that was requested", rounded_up(cost));
    let bar = |share: f64| {
        let bar = Element::rectangle(0.0, 4.0, 0.0, 16.0).number("rx", 3.0);
        bar.replace("width", format!("{:.2}%", 100.0 * share))
    };
    let mut drawing = Drawing::wide(&title, 24.0);
    drawing.push(Style::fill("#d5dae1").class("left").apply(bar(1.0)));
    let share = (cost / requested).clamp(0.0, 1.0);
    drawing.push(Style::fill("#0072b2").class("spent").apply(bar(if share.is_nan() { 0.0 } else { share })));
    svg(&drawing)
}

/// The epsilon of a data set: spent by this fit, by other runs, and left.
pub(super) fn account([fit, others, left]: [f64; 3], cap: f64) -> Svg {
    let texts = [
        format!("this fit: {}", rounded_up(fit)),
        format!("other runs: {}", rounded_up(others)),
        format!("left: {}", budget::at_least(left)),
    ];
    let title = format!("of the epsilon of {cap} of the data set, {}", texts.join(", "));
    let mut drawing = Drawing::wide(&title, 24.0);
    let styles = [
        Style::fill("#0072b2").class("spent"),
        Style::fill("#777777").class("others"),
        Style::fill("#d5dae1").class("left"),
    ];
    let mut at = 0.0;
    for ((value, text), style) in [fit, others, left].into_iter().zip(texts).zip(styles) {
        let share = (value / cap).clamp(0.0, 1.0 - at);
        if share > 0.0 {
            let bar = Element::rectangle(0.0, 4.0, 0.0, 16.0).replace("x", format!("{:.2}%", 100.0 * at));
            drawing.push(style.apply(bar.replace("width", format!("{:.2}%", 100.0 * share))).hover(&text));
            at += share;
        }
    }
    svg(&drawing)
}

/// Whether an interval is visibly wider than another: by more than a hundredth.
pub(super) fn is_wider(outer: (f64, f64), inner: (f64, f64)) -> bool {
    outer.1 - outer.0 > 1.01 * (inner.1 - inner.0)
}

/// Whether an interval has a width that is more than rounding: point estimates have none.
pub(super) fn is_interval((low, high): (f64, f64)) -> bool {
    high - low > 1e-9 * low.abs().max(high.abs())
}

/// Whether the interval of a point is visibly wider than that of the records alone.
pub(super) fn has_noise(point: &EffectPoint) -> bool {
    match (point.records, point.with_privacy) {
        (Some(records), Some(with_privacy)) => is_interval(with_privacy) && is_wider(with_privacy, records),
        _ => false,
    }
}

/// Shares of standardised residuals as bars, and the standard normal density as a line.
pub(super) fn residuals(bins: &[ResidualBin]) -> Svg {
    // The outermost bins have no end, and are drawn as wide as the others.
    let width = bins.iter().find_map(|bin| Some(bin.to? - bin.from?)).unwrap_or(1.0);
    let ends = |bin: &ResidualBin| match (bin.from, bin.to) {
        (Some(from), _) => (from, from + width),
        (None, Some(to)) => (to - width, to),
        (None, None) => (-0.5 * width, 0.5 * width),
    };
    let (low, high) =
        (bins.first().map_or(-1.0, |bin| ends(bin).0), bins.last().map_or(1.0, |bin| ends(bin).1));
    let x = Axis::between("standardised residual", low, high);
    let y = Axis::from_zero("share", bins.iter().flat_map(|bin| [bin.share, bin.normal]));
    let mut plot = Plot::new("", (360.0, 200.0), x, y);
    plot = plot.named("Shares of standardised residuals, beside those of a standard normal distribution");
    for bin in bins {
        let [share, normal] = [bin.share, bin.normal].map(|share| format!("{:.1} %", 100.0 * share));
        let text = format!("{}: {share}, normal {normal}", residual_label(bin));
        plot.rectangle(&RECORDS, ends(bin), (0.0, bin.share), &text);
    }
    plot.line(&NULL, bins.iter().map(|bin| (ends(bin).0 + 0.5 * width, bin.normal)));
    svg(&plot.drawing())
}

/// A row of a forest plot: the estimate, the interval from the records alone, and that with the privacy noise.
pub(super) struct Interval {
    pub(super) label: String,
    pub(super) estimate: f64,
    pub(super) records: (f64, f64),
    pub(super) with_privacy: (f64, f64),
}

/// Rows of a forest plot on one axis, and its labels. With a null value there is a line at it; ratios have a logarithmic axis.
pub(super) fn forest(rows: &[Interval], null: Option<f64>, are_ratios: bool) -> (Vec<Svg>, Svg) {
    let ends =
        |row: &Interval| [row.with_privacy.0, row.with_privacy.1, row.records.0, row.records.1, row.estimate];
    let values = rows.iter().flat_map(ends).chain(null);
    let axis = if are_ratios { Axis::logarithmic("", values) } else { Axis::linear("", values) };
    let strips = Strips::new(axis);
    let strips = null.map_or(strips.clone(), |null| strips.with_line(null));
    let drawn = rows.iter().map(|row| {
        let title = format!(
            "{}: {}; from the records alone {} to {}",
            shown(&row.label),
            with_interval(row.estimate, row.with_privacy),
            short(row.records.0),
            short(row.records.1)
        );
        let strip = Strip { point: row.estimate, inner: row.records, outer: row.with_privacy };
        svg(&strips.row(&strip, &STRIP, &title))
    });
    (drawn.collect(), svg(&strips.labels()))
}

/// Bars from 0 with intervals, on one axis.
pub(super) fn bars(rows: &[&Summary], highest: f64) -> Vec<Svg> {
    let strips = Strips::new(Axis::between("", 0.0, highest));
    let bar = |row: &&Summary| {
        let label = row.place.last().map_or("", |(_, label)| label);
        let title = format!("{}: {}", shown(label), with_interval(row.mean, row.interval()));
        svg(&strips.bar(row.mean, row.interval(), &RECORDS, &THIN, &title))
    };
    rows.iter().map(bar).collect()
}

/// The vertical axis that all effects share, in the units that are shown: `factor` is 100 for percentage points.
pub(super) fn common_axis<'a>(effects: impl Iterator<Item = &'a Effect>, factor: f64) -> Axis {
    let ends = |point: &EffectPoint| {
        let (low, high) = point.with_privacy.unwrap_or((point.mean, point.mean));
        [low, high, point.mean]
    };
    let values = effects.flat_map(|effect| effect.points.iter().flat_map(ends)).map(|value| factor * value);
    Axis::linear("", values.chain([0.0]))
}

/// How the prediction changes along a column: the interval from the records alone, and with the privacy noise.
pub(super) fn effect(effect: &Effect, y: &Axis, factor: f64, unit: &str) -> Svg {
    // Names of levels, which are turned, need 16 pixels each.
    let size = (f64::max(240.0, 16.0 * if effect.levels { effect.points.len() as f64 } else { 0.0 }), 160.0);
    let points = &effect.points;
    let places: Vec<f64> = points
        .iter()
        .enumerate()
        .map(|(k, point)| if effect.levels { k as f64 + 0.5 } else { point.at })
        .collect();
    let x = if effect.levels {
        Axis::categories("", points.iter().map(|point| shown(&point.label)))
    } else {
        let (low, high) = (places.first().copied().unwrap_or(0.0), places.last().copied().unwrap_or(1.0));
        Axis::between("", low, high)
    };
    let (across, up) = (x.range(), y.range());
    let title = format!("Change of the prediction along {}, against {}", effect.column, effect.reference);
    let mut plot = Plot::new("", size, x, y.clone()).named(&shown(&title));
    plot.line(&NULL, [(across.0, 0.0), (across.1, 0.0)]);
    let times = |(low, high): (f64, f64)| (factor * low, factor * high);
    let bands = |of: fn(&EffectPoint) -> Option<(f64, f64)>| {
        let placed = places.iter().copied().zip(points);
        placed.filter_map(move |(at, point)| of(point).map(|interval| (at, times(interval))))
    };
    let with_noise: fn(&EffectPoint) -> Option<(f64, f64)> =
        if points.iter().any(has_noise) { |point| point.with_privacy } else { |_| None };
    if effect.levels {
        let half = |pixels: f64| 0.5 * pixels * points.len() as f64 / size.0;
        for (at, interval) in bands(with_noise) {
            plot.rectangle(&PRIVACY, (at - half(3.0), at + half(3.0)), interval, "");
        }
        for (at, interval) in bands(|point| point.records) {
            plot.rectangle(&RECORDS, (at - half(10.0), at + half(10.0)), interval, "");
        }
        plot.points(&DOT, 3.5, places.iter().zip(points).map(|(at, point)| (*at, factor * point.mean)));
    } else {
        plot.band(&PRIVACY, bands(with_noise).map(|(at, (low, high))| (at, low, high)));
        plot.band(&RECORDS, bands(|point| point.records).map(|(at, (low, high))| (at, low, high)));
        plot.line(&MEAN, places.iter().zip(points).map(|(at, point)| (*at, factor * point.mean)));
    }
    let half = 0.5 * (across.1 - across.0) / points.len().max(1) as f64;
    for (at, point) in places.iter().zip(points) {
        let strip = ((at - half).max(across.0), (at + half).min(across.1));
        plot.rectangle(&HOVER, strip, up, &numbers(effect, point, factor, unit));
    }
    svg(&plot.drawing())
}

/// What is shown while the pointer is on a point of an effect.
fn numbers(effect: &Effect, point: &EffectPoint, factor: f64, unit: &str) -> String {
    let band = |(low, high): (f64, f64)| format!("{} to {}", short(factor * low), short(factor * high));
    let mut lines = vec![
        shown(&format!("{} = {}, against {}", effect.column, point.label, effect.reference)),
        shown(&format!("change: {}{unit}", short(factor * point.mean))),
    ];
    lines.extend(point.records.map(|interval| format!("95 % interval from the records: {}", band(interval))));
    lines.extend(point.with_privacy.map(|interval| format!("with privacy noise: {}", band(interval))));
    lines.join("\n")
}

/// Parts of a variance, as one bar; each with its share and standard deviation.
pub(super) fn variances(parts: [(&str, f64); 3]) -> (Svg, Vec<(&'static str, String)>) {
    let total: f64 = parts.iter().map(|(_, value)| value).sum();
    let mut drawing = Drawing::wide("parts of the variance", 22.0);
    let (mut at, mut texts) = (0.0, Vec::new());
    // Scores of classes have no variance beside that of the prediction, and point estimates none but rounding.
    for ((name, value), style) in
        parts.into_iter().zip([RECORDS, PRIVACY, TARGETS]).filter(|((_, value), _)| *value > 1e-9 * total)
    {
        let share = if total > 0.0 { value / total } else { 0.0 };
        let text = format!("{:.1} % {name} (standard deviation {})", 100.0 * share, short(value.sqrt()));
        let part = Element::rectangle(0.0, 0.0, 0.0, 22.0).replace("x", format!("{:.2}%", 100.0 * at));
        drawing.push(style.apply(part.replace("width", format!("{:.2}%", 100.0 * share))).hover(&text));
        texts.push((style.class_name().unwrap_or(""), text));
        at += share;
    }
    (svg(&drawing), texts)
}

/// The 95 % interval of a frequency by Wilson's score.
fn wilson(share: f64, count: u64) -> (f64, f64) {
    const Z: f64 = 1.96;
    let n = count.max(1) as f64;
    let middle = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).max(0.0).sqrt();
    (middle - half, middle + half)
}

/// Predicted and observed frequencies: of targets below each quantile if they are numbers, of the positive class otherwise. Points are as large as their
/// counts, and have binomial intervals.
pub(super) fn calibration(points: &[Calibration], observed: &str) -> Svg {
    let axis = |name: &str| {
        let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|at| (at, format!("{:.0} %", 100.0 * at)));
        Axis::between(name, 0.0, 1.0).with_ticks(ticks)
    };
    let mut plot = Plot::new("", (240.0, 240.0), axis("predicted"), axis("observed"));
    plot = plot.named(&shown(&format!("Calibration: predicted and observed share of {observed}")));
    plot.line(&DIAGONAL, [(0.0, 0.0), (1.0, 1.0)]);
    // Quantiles are all of the same records.
    let largest = if points.iter().all(|point| point.count == points[0].count) { 1.5 } else { 5.0 };
    let most = points.iter().map(|point| point.count).max().unwrap_or(1).max(1) as f64;
    for point in points {
        let (low, high) = wilson(point.happened, point.count);
        plot.line(&THIN, [(point.predicted, low), (point.predicted, high)]);
    }
    for point in points {
        let (low, high) = wilson(point.happened, point.count);
        let [predicted, observed, low, high] =
            [point.predicted, point.happened, low, high].map(|share| format!("{:.1} %", 100.0 * share));
        let text =
            format!("predicted {predicted}, observed {observed} ({low} to {high}), {} records", point.count);
        let radius = 2.0 + largest * (point.count as f64 / most).sqrt();
        plot.point(&DOT, radius, (point.predicted, point.happened), &text);
    }
    svg(&plot.drawing())
}

/// A component of a mixture in two columns.
pub(super) struct Ellipse {
    pub(super) name: String,
    pub(super) mean: [(f64, (f64, f64)); 2],
    pub(super) noise_sd: [f64; 2],
    pub(super) weight: f64,
}

/// The components of a mixture over the bounds of two columns: the ellipse holds 95 % of the records of a component, the cross is the 95 % interval of its mean.
pub(super) fn ellipses(components: &[Ellipse], bounds: [(f64, f64); 2], names: [&str; 2]) -> Svg {
    // The root of the 0.95 quantile of a chi-square distribution with two degrees of freedom.
    let radius = (-2.0 * 0.05f64.ln()).sqrt();
    let axis = |k: usize| Axis::between(&shown(names[k]), bounds[k].0, bounds[k].1);
    let mut plot = Plot::new("", (420.0, 320.0), axis(0), axis(1)).clipped();
    plot = plot.named(&shown(&format!("Components over {} and {}", names[0], names[1])));
    for (k, component) in components.iter().enumerate() {
        let style = Style::fill(colour(k)).class(kind(k)).opacity(0.25);
        let [(x, across), (y, up)] = component.mean;
        let [sx, sy] = component.noise_sd;
        let turn = |j: usize| std::f64::consts::TAU * f64::from(j as u32) / 64.0;
        plot.ring(
            &style,
            (0..64).map(|j| (x + radius * sx * turn(j).cos(), y + radius * sy * turn(j).sin())),
        );
        plot.line(&NULL, [(across.0, y), (across.1, y)]);
        plot.line(&NULL, [(x, up.0), (x, up.1)]);
        let text = format!(
            "component {}: weight {}, at {} and {}",
            shown(&component.name),
            short(component.weight),
            with_interval(x, across),
            with_interval(y, up)
        );
        plot.point(&STRIP.point, 3.0 + 5.0 * component.weight.clamp(0.0, 1.0).sqrt(), (x, y), &text);
        if let Some((px, py)) = plot.place((x, y)) {
            plot.element(
                Element::text(px + 9.0, py - 7.0, &shown(&component.name)).set("font-weight", "600"),
            );
        }
    }
    svg(&plot.drawing())
}

/// The most probable state of each region (down) at each time (across): a colour for each state, the paler the less probable.
pub(super) fn states(grids: &[Grid<'_>], names: &[String]) -> Option<Svg> {
    let first = grids.first()?;
    let times = &first.columns;
    // Labels of times that have room.
    let cell = (560.0 / times.len().max(1) as f64).clamp(4.0, 26.0);
    let every = (18.0 / cell).ceil().max(1.0) as usize;
    let label = |(k, time): (usize, &String)| if k % every == 0 { shown(time) } else { String::new() };
    let x = Axis::categories("time", times.iter().enumerate().map(label));
    let y = Axis::categories("", first.rows.iter().map(|(labels, _)| shown(&labels.join(", "))));
    let size = (cell * times.len() as f64, 16.0 * first.rows.len() as f64);
    let mut plot = Plot::new("", size, x, y).named("The most probable state of each region at each time");
    for (row, (labels, _)) in first.rows.iter().enumerate() {
        for (column, time) in times.iter().enumerate() {
            let of =
                |grid: &Grid<'_>| grid.rows.get(row)?.1.get(column).copied().flatten().map(|cell| cell.mean);
            let found = grids.iter().enumerate().filter_map(|(k, grid)| of(grid).map(|p| (k, p)));
            let Some((state, p)) = found.max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
            let style = Style::fill(colour(state)).class(kind(state)).opacity(p.clamp(0.1, 1.0));
            let text = format!(
                "{}, {}: state {}, {:.0} %",
                shown(&labels.join(", ")),
                shown(time),
                names.get(state).map_or(String::new(), |name| shown(name)),
                100.0 * p
            );
            let at = |k: usize| (k as f64, k as f64 + 1.0);
            plot.rectangle(&style, at(column), at(row), &text);
        }
    }
    Some(svg(&plot.drawing()))
}

/// A text of a file, with hidden characters as their numbers.
fn shown(text: &str) -> String {
    visible::line(text).into_owned()
}
