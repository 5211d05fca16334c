//! The plots of the page, as inline SVG. Everything drawn is public: it comes from the model file alone.

use std::fmt::Write as _;

use reticent_models::{Calibration, Point};

use super::escape;
use crate::effects::{Effect, EffectPoint};
use crate::opened::Opened;
use crate::output::rounded_up;

/// How much of what was asked for was spent.
pub(super) fn budget_bar(cost: f64, asked: f64) -> String {
    const WIDTH: f64 = 460.0;
    let share = (cost / asked).clamp(0.0, 1.0);
    let text = format!("spent {} of epsilon {asked}", rounded_up(cost));
    let mut svg = open(WIDTH, 46.0, &text);
    let _ = write!(
        svg,
        "<rect class=\"left\" y=\"4\" width=\"{WIDTH}\" height=\"16\" rx=\"3\"/>\n\
         <rect class=\"spent\" y=\"4\" width=\"{:.1}\" height=\"16\" rx=\"3\"><title>{text}</title></rect>\n\
         <text y=\"38\">{text}</text>\n</svg>\n",
        WIDTH * share
    );
    svg
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
        if low.is_finite() {
            Self { low: low - room, high: high + room, length }
        } else {
            Self { low: 0.0, high: 1.0, length }
        }
    }

    fn at(&self, value: f64) -> f64 {
        self.length * (value.clamp(self.low, self.high) - self.low) / (self.high - self.low)
    }

    /// Round numbers on it, about four.
    fn ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / 4.0;
        let power = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|k| k * power).find(|step| *step >= rough).unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last.min(first + 12)).map(|k| k as f64 * step).collect()
    }
}

fn open(width: f64, height: f64, title: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" \
         aria-label=\"{}\">\n",
        escape(title)
    )
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

const LEFT: f64 = 46.0;
const TOP: f64 = 24.0;
const INNER: (f64, f64) = (250.0, 150.0);

/// The prediction along a column.
pub(super) fn effect(effect: &Effect, opened: &Opened) -> String {
    let (width, height) = INNER;
    let unit = effect.unit.as_ref().map_or(String::new(), |unit| format!(" ({unit})"));
    let title = format!("{}{unit}", effect.column);
    let mut svg = open(LEFT + width + 14.0, TOP + height + 34.0, &title);
    let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"14\" font-weight=\"600\">{}</text>", escape(&title));
    let _ = writeln!(svg, "<g transform=\"translate({LEFT} {TOP})\">");
    let ends = |point: &EffectPoint| {
        let (low, high) = point.target.unwrap_or(point.with_privacy);
        [low, high, point.with_privacy.0, point.with_privacy.1, point.mean]
    };
    let y = Axis::around(effect.points.iter().flat_map(ends), height);
    for tick in y.ticks() {
        let at = height - y.at(tick);
        let _ = writeln!(svg, "<path class=\"grid\" d=\"M0 {at:.1}h{width}\"/>");
        let _ = writeln!(
            svg,
            "<text class=\"soft\" x=\"-6\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            at + 4.0,
            short(tick)
        );
    }
    let place: Vec<f64> = if effect.levels {
        let slot = width / effect.points.len() as f64;
        (0..effect.points.len()).map(|k| (k as f64 + 0.5) * slot).collect()
    } else {
        let ends = effect.points.iter().map(|point| point.at);
        let (low, high) =
            (ends.clone().fold(f64::INFINITY, f64::min), ends.fold(f64::NEG_INFINITY, f64::max));
        let x = Axis { low, high, length: width };
        for tick in x.ticks() {
            let at = x.at(tick);
            let _ = writeln!(
                svg,
                "<text class=\"soft\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                height + 16.0,
                short(tick)
            );
        }
        effect.points.iter().map(|point| x.at(point.at)).collect()
    };
    let up = |value: f64| height - y.at(value);
    if effect.levels {
        bars(&mut svg, effect, &place, &up);
    } else {
        bands(&mut svg, effect, &place, &up);
    }
    let _ = writeln!(svg, "<path class=\"axis\" d=\"M0 0v{height}h{width}\"/>");
    hover(&mut svg, effect, &place, opened);
    svg.push_str("</g>\n</svg>\n");
    svg
}

fn bands(svg: &mut String, effect: &Effect, place: &[f64], up: &dyn Fn(f64) -> f64) {
    let mut band = |class: &str, ends: &dyn Fn(&EffectPoint) -> Option<(f64, f64)>| {
        let points: Vec<(f64, f64, f64)> = place
            .iter()
            .zip(&effect.points)
            .filter_map(|(x, point)| ends(point).map(|(low, high)| (*x, up(low), up(high))))
            .collect();
        let there = points.iter().map(|(x, _, high)| format!("{x:.1} {high:.1}"));
        let back = points.iter().rev().map(|(x, low, _)| format!("{x:.1} {low:.1}"));
        let path: Vec<String> = there.chain(back).collect();
        if !path.is_empty() {
            let _ = writeln!(svg, "<path class=\"{class}\" d=\"M{}Z\"/>", path.join("L"));
        }
    };
    band("targets", &|point| point.target);
    band("privacy", &|point| Some(point.with_privacy));
    band("records", &|point| Some(point.records));
    let line: Vec<String> =
        place.iter().zip(&effect.points).map(|(x, point)| format!("{x:.1} {:.1}", up(point.mean))).collect();
    let _ = writeln!(svg, "<path class=\"mean\" d=\"M{}\"/>", line.join("L"));
}

fn bars(svg: &mut String, effect: &Effect, place: &[f64], up: &dyn Fn(f64) -> f64) {
    let slot = INNER.0 / place.len() as f64;
    for (x, point) in place.iter().zip(&effect.points) {
        let mut bar = |class: &str, share: f64, (low, high): (f64, f64)| {
            let wide = (share * slot).min(40.0 * share);
            let (top, bottom) = (up(high), up(low));
            let _ = writeln!(
                svg,
                "<rect class=\"{class}\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{:.1}\"/>",
                x - 0.5 * wide,
                (bottom - top).max(0.5)
            );
        };
        if let Some(target) = point.target {
            bar("targets", 0.9, target);
        }
        bar("privacy", 0.6, point.with_privacy);
        bar("records", 0.6, point.records);
        let _ = writeln!(svg, "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"3\"/>", up(point.mean));
    }
    // Names of levels where there is room for them.
    if place.len() <= 6 {
        let most = (slot / 6.0) as usize;
        for (x, point) in place.iter().zip(&effect.points) {
            let label: String = point.label.chars().take(most.max(1)).collect();
            let _ = writeln!(
                svg,
                "<text class=\"soft\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                INNER.1 + 16.0,
                escape(&label)
            );
        }
    }
}

/// Invisible strips that tell the numbers below them.
fn hover(svg: &mut String, effect: &Effect, place: &[f64], opened: &Opened) {
    let (width, height) = INNER;
    let strip = width / place.len() as f64;
    let target = opened.schema.target().map_or("prediction", |target| target.name());
    for (x, point) in place.iter().zip(&effect.points) {
        let band = |(low, high): (f64, f64)| format!("{} to {}", short(low), short(high));
        let mut text = format!(
            "{} = {}\n{target}: {}\nrecords leave {}\nwith privacy noise {}",
            effect.column,
            point.label,
            short(point.mean),
            band(point.records),
            band(point.with_privacy)
        );
        if let Some(ends) = point.target {
            let _ = write!(text, "\n90 % of targets {}", band(ends));
        }
        let left = (x - 0.5 * strip).max(0.0);
        let _ = writeln!(
            svg,
            "<rect class=\"hover\" x=\"{left:.1}\" width=\"{:.1}\" height=\"{height}\"><title>{}</title></rect>",
            strip.min(width - left),
            escape(&text)
        );
    }
}

/// Parts of a variance, as one bar.
pub(super) fn variances(parts: [(&str, f64); 3]) -> String {
    const WIDTH: f64 = 560.0;
    let total: f64 = parts.iter().map(|(_, value)| value).sum();
    let mut svg = open(WIDTH, 92.0, "parts of the variance");
    let mut x = 0.0;
    for (k, ((name, value), class)) in parts.iter().zip(["records", "privacy", "targets"]).enumerate() {
        let share = if total > 0.0 { value / total } else { 0.0 };
        let text = format!("{:.1} % {name} (standard deviation {})", 100.0 * share, short(value.sqrt()));
        let _ = writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{x:.1}\" width=\"{:.1}\" height=\"22\"><title>{}</title></rect>",
            WIDTH * share,
            escape(&text)
        );
        let y = 44.0 + 18.0 * k as f64;
        let _ = writeln!(svg, "<rect class=\"{class}\" y=\"{:.0}\" width=\"12\" height=\"12\"/>", y - 10.0);
        let _ = writeln!(svg, "<text x=\"20\" y=\"{y:.0}\">{}</text>", escape(&text));
        x += WIDTH * share;
    }
    svg.push_str("</svg>\n");
    svg
}

/// What was predicted beside what happened.
pub(super) fn calibration(points: &[Calibration], numbers: bool) -> String {
    const SIZE: f64 = 230.0;
    let title = if numbers { "targets below each quantile" } else { "how often the class happened" };
    let mut svg = open(SIZE + 66.0, SIZE + 66.0, title);
    let _ = writeln!(svg, "<text x=\"{LEFT}\" y=\"14\" font-weight=\"600\">Calibration: {title}</text>");
    let _ = writeln!(svg, "<g transform=\"translate({LEFT} {TOP})\">");
    for tick in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let at = SIZE * tick;
        let label = format!("{:.0} %", 100.0 * tick);
        let _ = writeln!(svg, "<path class=\"grid\" d=\"M0 {at:.1}h{SIZE}M{at:.1} 0v{SIZE}\"/>");
        let _ = writeln!(
            svg,
            "<text class=\"soft\" x=\"-6\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            SIZE - at + 4.0
        );
        let _ = writeln!(
            svg,
            "<text class=\"soft\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            SIZE + 16.0
        );
    }
    let _ = writeln!(svg, "<path class=\"axis\" stroke-dasharray=\"4 3\" d=\"M0 {SIZE}L{SIZE} 0\"/>");
    let place = |point: &Calibration| (SIZE * point.predicted, SIZE * (1.0 - point.happened));
    let line: Vec<String> = points.iter().map(place).map(|(x, y)| format!("{x:.1} {y:.1}")).collect();
    let _ = writeln!(svg, "<path class=\"mean\" d=\"M{}\"/>", line.join("L"));
    for point in points {
        let (x, y) = place(point);
        let _ = writeln!(
            svg,
            "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>predicted {:.1} %, happened {:.1} %, {} records</title></circle>",
            100.0 * point.predicted,
            100.0 * point.happened,
            point.count
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"soft\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">predicted</text>",
        SIZE / 2.0,
        SIZE + 34.0
    );
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// Points among the inputs, as intervals: a row for each input of each point.
pub(super) fn points(points: &[Point], names: &[String]) -> String {
    const WIDTH: f64 = 420.0;
    const ROW: f64 = 18.0;
    let label = 190.0;
    let mut figure = String::new();
    for point in points {
        let height = ROW * point.mean.len() as f64;
        let mut svg = open(label + WIDTH + 20.0, height + 46.0, &point.name);
        let _ = writeln!(svg, "<text x=\"0\" y=\"14\" font-weight=\"600\">{}</text>", escape(&point.name));
        let _ = writeln!(svg, "<g transform=\"translate({label} {TOP})\">");
        let axis = Axis { low: -1.2, high: 1.2, length: WIDTH };
        for tick in [-1.0, -0.5, 0.0, 0.5, 1.0] {
            let at = axis.at(tick);
            let _ = writeln!(svg, "<path class=\"grid\" d=\"M{at:.1} 0v{height}\"/>");
            let _ = writeln!(
                svg,
                "<text class=\"soft\" x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                height + 14.0,
                short(tick)
            );
        }
        for (k, mean) in point.mean.iter().enumerate() {
            let y = ROW * (k as f64 + 0.5);
            let name = names.get(k).map_or("", String::as_str);
            let _ = writeln!(
                svg,
                "<text x=\"-8\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                y + 4.0,
                escape(name)
            );
            for (class, sd, thick) in [("privacy", point.sd[k], 4.0), ("records", point.records_sd[k], 8.0)] {
                let (low, high) = (axis.at(mean - 2.0 * sd), axis.at(mean + 2.0 * sd));
                let _ = writeln!(
                    svg,
                    "<rect class=\"{class}\" x=\"{low:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{thick}\"><title>{} {} \u{b1} {}</title></rect>",
                    y - 0.5 * thick,
                    (high - low).max(1.0),
                    escape(name),
                    short(*mean),
                    short(2.0 * sd)
                );
            }
            let _ =
                writeln!(svg, "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"3\"/>", axis.at(*mean));
        }
        svg.push_str("</g>\n</svg>\n");
        figure += &svg;
    }
    figure
}
