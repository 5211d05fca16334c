//! Where things are in the plots of the page: `plots.html` draws them. Everything drawn is public: it comes from the
//! model file, and from scores that somebody added.
//!
//! Positions are numbers until they are written here, and classes are constants, so no text of a file can become a part
//! of the drawing itself.

use reticent_models::{Calibration, Point};
use serde::Serialize;

use crate::effects::{Effect, EffectPoint};
use crate::output::rounded_up;

/// The size of a plot, and what it is called.
#[derive(Serialize)]
struct Frame {
    width: String,
    height: String,
    title: String,
}

impl Frame {
    fn new(width: f64, height: f64, title: impl Into<String>) -> Self {
        Self { width: format!("{width:.0}"), height: format!("{height:.0}"), title: title.into() }
    }
}

/// A length in the drawing. The arrays of a forged file may lead to none.
fn length(value: f64) -> String {
    format!("{:.1}", if value.is_finite() { value.clamp(-1e5, 1e5) } else { 0.0 })
}

/// A mark on an axis.
#[derive(Serialize)]
struct Tick {
    at: String,
    text_at: String,
    label: String,
}

#[derive(Serialize)]
struct Bar {
    class: &'static str,
    x: String,
    y: String,
    width: String,
    height: String,
    text: String,
}

#[derive(Serialize)]
struct Path {
    class: &'static str,
    d: String,
}

#[derive(Serialize)]
struct Dot {
    x: String,
    y: String,
    text: String,
}

/// How much of what was asked for was spent.
#[derive(Serialize)]
pub(super) struct Budget {
    frame: Frame,
    spent: String,
}

impl Budget {
    pub(super) fn new(cost: f64, asked: f64) -> Self {
        const WIDTH: f64 = 460.0;
        let title = format!("spent {} of epsilon {asked}", rounded_up(cost));
        Self { frame: Frame::new(WIDTH, 46.0, title), spent: length(WIDTH * (cost / asked).clamp(0.0, 1.0)) }
    }
}

/// An axis between two numbers, over so many pixels.
struct Axis {
    low: f64,
    high: f64,
    length: f64,
}

impl Axis {
    /// Around these numbers, with a little room.
    fn around(values: impl Iterator<Item = f64>, length: f64) -> Self {
        let (low, high) = values
            .filter(|value| value.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let room = if high > low { 0.05 * (high - low) } else { 0.5 * low.abs().clamp(0.1, 1e300) };
        Self::between(low - room, high + room, length)
    }

    /// From 0 to 1 if there is nothing between these.
    fn between(low: f64, high: f64, length: f64) -> Self {
        if (high - low).is_finite() && high > low {
            Self { low, high, length }
        } else {
            Self { low: 0.0, high: 1.0, length }
        }
    }

    fn at(&self, value: f64) -> f64 {
        let value = if value.is_nan() { self.low } else { value };
        self.length * (value.clamp(self.low, self.high) - self.low) / (self.high - self.low)
    }

    /// Round numbers on it, about four.
    fn ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 4.0;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|k| k * power).find(|step| *step >= rough).unwrap_or(rough);
        let first = (self.low / step).ceil();
        let places = (0..=12).map(|k| (first + f64::from(k)) * step);
        places.take_while(|place| *place <= self.high).collect()
    }
}

/// A number with few digits.
fn short(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-3..1e5).contains(&size) {
        let digits = if size >= 100.0 {
            0
        } else if size >= 10.0 {
            1
        } else {
            3
        };
        let text = format!("{value:.digits$}");
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
    } else {
        format!("{value:.1e}")
    }
}

/// Room for titles, left of and above the plots; the templates have the same numbers.
const LEFT: f64 = 46.0;
const TOP: f64 = 24.0;
const INNER: (f64, f64) = (250.0, 150.0);

/// The prediction along a column.
#[derive(Serialize)]
pub(super) struct EffectPlot {
    frame: Frame,
    rows: Vec<Tick>,
    columns: Vec<Tick>,
    bands: Vec<Path>,
    bars: Vec<Bar>,
    dots: Vec<Dot>,
    strips: Vec<Strip>,
}

/// An invisible strip with the numbers below it.
#[derive(Serialize)]
struct Strip {
    x: String,
    width: String,
    lines: Vec<String>,
}

impl EffectPlot {
    /// The prediction is of this target.
    pub(super) fn new(effect: &Effect, target: &str) -> Self {
        let (width, height) = INNER;
        let unit = effect.unit.as_ref().map_or(String::new(), |unit| format!(" ({unit})"));
        let title = format!("{}{unit}", effect.column);
        let ends = |point: &EffectPoint| {
            let (low, high) = point.target.unwrap_or(point.with_privacy);
            [low, high, point.with_privacy.0, point.with_privacy.1, point.mean]
        };
        let y = Axis::around(effect.points.iter().flat_map(ends), height);
        let up = |value: f64| height - y.at(value);
        let row =
            |tick: f64| Tick { at: length(up(tick)), text_at: length(up(tick) + 4.0), label: short(tick) };
        let rows = y.ticks().into_iter().map(row).collect();
        let (place, columns) = if effect.levels { level_places(effect) } else { number_places(effect) };
        let mut plot = Self {
            frame: Frame::new(LEFT + width + 14.0, TOP + height + 34.0, title),
            rows,
            columns,
            bands: Vec::new(),
            bars: Vec::new(),
            dots: Vec::new(),
            strips: strips(effect, &place, target),
        };
        if effect.levels {
            plot.add_bars(effect, &place, &up);
        } else {
            plot.bands = bands(effect, &place, &up);
        }
        plot
    }

    fn add_bars(&mut self, effect: &Effect, place: &[f64], up: &dyn Fn(f64) -> f64) {
        let slot = INNER.0 / place.len() as f64;
        for (x, point) in place.iter().zip(&effect.points) {
            let mut bar = |class, share: f64, (low, high): (f64, f64)| {
                let wide = (share * slot).min(40.0 * share);
                let (top, bottom) = (up(high), up(low));
                self.bars.push(Bar {
                    class,
                    x: length(x - 0.5 * wide),
                    y: length(top),
                    width: length(wide),
                    height: length((bottom - top).max(0.5)),
                    text: String::new(),
                });
            };
            if let Some(target) = point.target {
                bar("targets", 0.9, target);
            }
            bar("privacy", 0.6, point.with_privacy);
            bar("records", 0.6, point.records);
            self.dots.push(Dot { x: length(*x), y: length(up(point.mean)), text: String::new() });
        }
    }
}

/// Where levels are, with their names where there is room for them.
fn level_places(effect: &Effect) -> (Vec<f64>, Vec<Tick>) {
    let slot = INNER.0 / effect.points.len() as f64;
    let place: Vec<f64> = (0..effect.points.len()).map(|k| (k as f64 + 0.5) * slot).collect();
    let most = (slot / 6.0).max(1.0) as usize;
    let label = |(x, point): (&f64, &EffectPoint)| tick(*x, point.label.chars().take(most).collect());
    let shown = if place.len() <= 6 { place.len() } else { 0 };
    let labels = place.iter().zip(&effect.points).take(shown).map(label).collect();
    (place, labels)
}

/// Where numbers are, and round ones between them.
fn number_places(effect: &Effect) -> (Vec<f64>, Vec<Tick>) {
    let ends = || effect.points.iter().map(|point| point.at);
    let (low, high) = (ends().fold(f64::INFINITY, f64::min), ends().fold(f64::NEG_INFINITY, f64::max));
    let x = Axis::between(low, high, INNER.0);
    let ticks = x.ticks().into_iter().map(|at| tick(x.at(at), short(at))).collect();
    (effect.points.iter().map(|point| x.at(point.at)).collect(), ticks)
}

fn tick(at: f64, label: String) -> Tick {
    Tick { at: length(at), text_at: String::new(), label }
}

fn bands(effect: &Effect, place: &[f64], up: &dyn Fn(f64) -> f64) -> Vec<Path> {
    let corner = |(x, y): (f64, f64)| format!("{} {}", length(x), length(y));
    let band = |class, ends: &dyn Fn(&EffectPoint) -> Option<(f64, f64)>| {
        let points: Vec<(f64, f64, f64)> = place
            .iter()
            .zip(&effect.points)
            .filter_map(|(x, point)| ends(point).map(|(low, high)| (*x, up(low), up(high))))
            .collect();
        let there = points.iter().map(|(x, _, high)| corner((*x, *high)));
        let back = points.iter().rev().map(|(x, low, _)| corner((*x, *low)));
        let corners: Vec<String> = there.chain(back).collect();
        (!corners.is_empty()).then(|| Path { class, d: format!("M{}Z", corners.join("L")) })
    };
    let line: Vec<String> =
        place.iter().zip(&effect.points).map(|(x, point)| corner((*x, up(point.mean)))).collect();
    let paths = [
        band("targets", &|point| point.target),
        band("privacy", &|point| Some(point.with_privacy)),
        band("records", &|point| Some(point.records)),
        Some(Path { class: "mean", d: format!("M{}", line.join("L")) }),
    ];
    paths.into_iter().flatten().collect()
}

fn strips(effect: &Effect, place: &[f64], target: &str) -> Vec<Strip> {
    let width = INNER.0;
    let wide = width / place.len() as f64;
    let strip = |(x, point): (&f64, &EffectPoint)| {
        let band = |(low, high): (f64, f64)| format!("{} to {}", short(low), short(high));
        let mut lines = vec![
            format!("{} = {}", effect.column, point.label),
            format!("{target}: {}", short(point.mean)),
            format!("records leave {}", band(point.records)),
            format!("with privacy noise {}", band(point.with_privacy)),
        ];
        lines.extend(point.target.map(|ends| format!("90 % of targets {}", band(ends))));
        let left = (x - 0.5 * wide).max(0.0);
        Strip { x: length(left), width: length(wide.min(width - left)), lines }
    };
    place.iter().zip(&effect.points).map(strip).collect()
}

/// Parts of a variance, as one bar.
#[derive(Serialize)]
pub(super) struct Parts {
    frame: Frame,
    /// Of what it is the variance.
    what: &'static str,
    parts: Vec<Part>,
}

#[derive(Serialize)]
struct Part {
    class: &'static str,
    x: String,
    width: String,
    key_y: String,
    text_y: String,
    text: String,
}

impl Parts {
    pub(super) fn new(what: &'static str, parts: [(&str, f64); 3]) -> Self {
        const WIDTH: f64 = 560.0;
        let total: f64 = parts.iter().map(|(_, value)| value).sum();
        let mut x = 0.0;
        let part = |(k, ((name, value), class)): (usize, (&(&str, f64), &'static str))| {
            let share = if total > 0.0 { value / total } else { 0.0 };
            let text = format!("{:.1} % {name} (standard deviation {})", 100.0 * share, short(value.sqrt()));
            let y = 44.0 + 18.0 * k as f64;
            let left = x;
            x += WIDTH * share;
            let width = length(WIDTH * share);
            Part { class, x: length(left), width, key_y: length(y - 10.0), text_y: length(y), text }
        };
        let parts = parts.iter().zip(["records", "privacy", "targets"]).enumerate().map(part).collect();
        Self { frame: Frame::new(WIDTH, 92.0, "parts of the variance"), what, parts }
    }
}

/// What was predicted beside what happened.
#[derive(Serialize)]
pub(super) struct CalibrationPlot {
    frame: Frame,
    ticks: Vec<Tick>,
    line: String,
    dots: Vec<Dot>,
}

impl CalibrationPlot {
    pub(super) fn new(points: &[Calibration], numbers: bool) -> Self {
        const SIZE: f64 = 230.0;
        let title = if numbers { "targets below each quantile" } else { "how often the class happened" };
        let tick = |tick: f64| Tick {
            at: length(SIZE * tick),
            text_at: length(SIZE * (1.0 - tick) + 4.0),
            label: format!("{:.0} %", 100.0 * tick),
        };
        let dot = |point: &Calibration| Dot {
            x: length(SIZE * point.predicted),
            y: length(SIZE * (1.0 - point.happened)),
            text: format!(
                "predicted {:.1} %, happened {:.1} %, {} records",
                100.0 * point.predicted,
                100.0 * point.happened,
                point.count
            ),
        };
        let dots: Vec<Dot> = points.iter().map(dot).collect();
        let corners: Vec<String> = dots.iter().map(|dot| format!("{} {}", dot.x, dot.y)).collect();
        Self {
            frame: Frame::new(SIZE + 66.0, SIZE + 66.0, title),
            ticks: [0.0, 0.25, 0.5, 0.75, 1.0].map(tick).into(),
            line: format!("M{}", corners.join("L")),
            dots,
        }
    }
}

/// A point among the inputs, as intervals: a row for each input.
#[derive(Serialize)]
pub(super) struct PointPlot {
    frame: Frame,
    height: String,
    label_y: String,
    ticks: Vec<Tick>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    x: String,
    y: String,
    text_y: String,
    bars: Vec<Bar>,
}

impl PointPlot {
    pub(super) fn new(point: &Point, names: &[String]) -> Self {
        const WIDTH: f64 = 420.0;
        const ROW: f64 = 18.0;
        const LABELS: f64 = 190.0;
        let axis = Axis { low: -1.2, high: 1.2, length: WIDTH };
        let height = ROW * point.mean.len() as f64;
        let sds = point.sd.iter().zip(&point.records_sd);
        let row = |(k, (mean, (sd, records_sd))): (usize, (&f64, (&f64, &f64)))| {
            let y = ROW * (k as f64 + 0.5);
            let bar = |(class, sd, thick): (&'static str, f64, f64)| {
                let (low, high) = (axis.at(mean - 2.0 * sd), axis.at(mean + 2.0 * sd));
                Bar {
                    class,
                    x: length(low),
                    y: length(y - 0.5 * thick),
                    width: length((high - low).max(1.0)),
                    height: length(thick),
                    text: format!("{} \u{b1} {}", short(*mean), short(2.0 * sd)),
                }
            };
            Row {
                name: names.get(k).cloned().unwrap_or_default(),
                x: length(axis.at(*mean)),
                y: length(y),
                text_y: length(y + 4.0),
                bars: [("privacy", *sd, 4.0), ("records", *records_sd, 8.0)].map(bar).into(),
            }
        };
        Self {
            frame: Frame::new(LABELS + WIDTH + 20.0, height + 46.0, point.name.clone()),
            height: length(height),
            label_y: length(height + 14.0),
            ticks: [-1.0, -0.5, 0.0, 0.5, 1.0].map(|at| tick(axis.at(at), short(at))).into(),
            rows: point.mean.iter().zip(sds).enumerate().map(row).collect(),
        }
    }
}
