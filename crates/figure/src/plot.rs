//! Plots: two axes and the marks between them.

use std::fmt::{self, Display, Write as _};

use crate::element::Number;
use crate::{Axis, Drawing, Element, Style};

/// Approximate width of a character at 12 pixels: the exact width is known only to the viewer.
const CHARACTER_WIDTH: f64 = 6.7;
const LINE: f64 = 16.0;
/// From an axis to the labels of its ticks.
const TICK: f64 = 7.0;

/// Marks between two axes, with a title above them and names beside them.
///
/// Marks are drawn in the order in which they are added. A point whose coordinates are not finite or have no logarithm is left out and
/// counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    title: String,
    /// For screen readers; the title if it is empty.
    name: String,
    size: (f64, f64),
    x: Axis,
    y: Axis,
    marks: Vec<Element>,
    ends: Vec<(String, Style, (f64, f64))>,
    keys: Vec<(String, Style)>,
    is_clipped: bool,
    room_right: f64,
    missing: usize,
}

impl Plot {
    /// A plot whose axes have these lengths in pixels: horizontal, vertical.
    #[must_use]
    pub fn new(title: &str, size: (f64, f64), x: Axis, y: Axis) -> Self {
        Self {
            title: title.to_owned(),
            name: String::new(),
            size,
            x,
            y,
            marks: Vec::new(),
            ends: Vec::new(),
            keys: Vec::new(),
            is_clipped: false,
            room_right: 20.0,
            missing: 0,
        }
    }

    /// A name for screen readers, instead of the title.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Clips marks to the axes.
    #[must_use]
    pub fn clipped(self) -> Self {
        Self { is_clipped: true, ..self }
    }

    /// Reserves pixels on the right for further elements.
    #[must_use]
    pub fn with_room_right(self, pixels: f64) -> Self {
        Self { room_right: pixels, ..self }
    }

    /// The position of a point, in pixels from the upper left corner of the axes.
    #[must_use]
    pub fn place(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let (across, up) = (self.x.fraction(x)?, self.y.fraction(y)?);
        let down = if self.y.is_categorical() { up } else { 1.0 - up };
        Some((self.size.0 * across, self.size.1 * down))
    }

    fn positions(&mut self, points: impl IntoIterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
        let mut positions = Vec::new();
        for point in points {
            match self.place(point) {
                Some(place) => positions.push(place),
                None => self.missing += 1,
            }
        }
        positions
    }

    /// A line through points.
    pub fn line(&mut self, style: &Style, points: impl IntoIterator<Item = (f64, f64)>) {
        let positions = self.positions(points);
        if positions.len() > 1 {
            self.marks.push(style.apply(Element::path(positions, false)));
        }
    }

    /// A filled polygon.
    pub fn ring(&mut self, style: &Style, points: impl IntoIterator<Item = (f64, f64)>) {
        let positions = self.positions(points);
        self.marks.push(style.apply(Element::path(positions, true)));
    }

    /// The area between two lines; points are (x, low, high).
    pub fn band(&mut self, style: &Style, points: impl IntoIterator<Item = (f64, f64, f64)>) {
        let (lower, upper): (Vec<_>, Vec<_>) =
            points.into_iter().map(|(x, low, high)| ((x, low), (x, high))).unzip();
        self.ring(style, upper.into_iter().chain(lower.into_iter().rev()));
    }

    /// Circles of a radius in pixels.
    pub fn points(&mut self, style: &Style, radius: f64, points: impl IntoIterator<Item = (f64, f64)>) {
        let positions = self.positions(points);
        self.marks.extend(positions.into_iter().map(|(x, y)| style.apply(Element::circle(x, y, radius))));
    }

    /// A circle with a tooltip.
    pub fn point(&mut self, style: &Style, radius: f64, point: (f64, f64), hover: &str) {
        match self.place(point) {
            Some((x, y)) => self.marks.push(style.apply(Element::circle(x, y, radius)).hover(hover)),
            None => self.missing += 1,
        }
    }

    /// Dots of a diameter in pixels, as one path: for thousands of records. The style is that of a line.
    pub fn dots(&mut self, style: &Style, points: impl IntoIterator<Item = (f64, f64)>) {
        let mut data = String::new();
        for (x, y) in self.positions(points) {
            // Rounded to a tenth of a pixel, to keep the file small.
            let [x, y] = [x, y].map(|at| Number((10.0 * at).round() / 10.0));
            let _ = write!(data, "M{x} {y}h0");
        }
        let path = Element::new("path").set("d", data).set("stroke-linecap", "round");
        self.marks.push(style.apply(path));
    }

    /// A rectangle between two values of each axis: a bar, an interval, a cell of a grid. It is at least half a pixel wide and high. An empty
    /// `hover` adds no tooltip.
    pub fn rectangle(&mut self, style: &Style, x: (f64, f64), y: (f64, f64), hover: &str) {
        let (Some(a), Some(b)) = (self.place((x.0, y.0)), self.place((x.1, y.1))) else {
            self.missing += 1;
            return;
        };
        let (left, top) = (a.0.min(b.0), a.1.min(b.1));
        let (width, height) = ((a.0 - b.0).abs().max(0.5), (a.1 - b.1).abs().max(0.5));
        let element = style.apply(Element::rectangle(left, top, width, height));
        self.marks.push(if hover.is_empty() { element } else { element.hover(hover) });
    }

    /// A text centred at a point.
    pub fn note(&mut self, point: (f64, f64), text: &str) {
        let Some((x, y)) = self.place(point) else { return };
        self.marks.push(Element::text(x, y + 4.0, text).set("text-anchor", "middle"));
    }

    /// Any element, in pixels from the upper left corner of the axes.
    pub fn element(&mut self, element: Element) {
        self.marks.push(element);
    }

    /// Labels a line at its last point; labels are moved apart.
    pub fn label_end(&mut self, name: &str, style: &Style, last: (f64, f64)) {
        if let Some(place) = self.place(last) {
            self.ends.push((name.to_owned(), *style, place));
        }
    }

    /// Adds a line to the legend on the right.
    pub fn key(&mut self, name: &str, style: &Style) {
        self.keys.push((name.to_owned(), *style));
    }

    /// Margins around the axes in pixels: left, top, right, bottom.
    #[must_use]
    pub fn margins(&self) -> (f64, f64, f64, f64) {
        let letters = |texts: &mut dyn Iterator<Item = &str>| {
            texts.map(|text| text.chars().count()).max().unwrap_or(0) as f64
        };
        let y_ticks = self.y.ticks(self.rows());
        let y_labels = CHARACTER_WIDTH * letters(&mut y_ticks.iter().map(|(_, label)| label.as_str()));
        let left = TICK + y_labels + if self.y.name.is_empty() { 4.0 } else { LINE + 10.0 };
        let top = if self.title.is_empty() { 10.0 } else { 30.0 };
        let names = CHARACTER_WIDTH * letters(&mut self.ends.iter().map(|(name, ..)| name.as_str()));
        let keys = CHARACTER_WIDTH * letters(&mut self.keys.iter().map(|(name, _)| name.as_str()));
        let names = if self.ends.is_empty() { 0.0 } else { names + LEADER + 8.0 };
        let keys = if self.keys.is_empty() { 0.0 } else { keys + 46.0 };
        // The title may be longer than the axis, and half of the label of the last tick lies beyond it.
        let title = 1.1 * CHARACTER_WIDTH * self.title.chars().count() as f64 - self.size.0;
        let right = names.max(keys).max(title).max(self.room_right);
        let below = TICK + LINE + if self.x.name.is_empty() { 2.0 } else { LINE + 6.0 };
        let (left, below) = if self.are_names_turned() {
            let length = TURN.sin() * self.longest_name();
            // The first name begins to the left of its category.
            let first = 0.5 * self.size.0 / self.x.ticks(2).len().max(1) as f64;
            (left.max(length - first + 6.0), below + length)
        } else {
            (left, below)
        };
        (left, top, right, below + if self.missing > 0 { LINE } else { 0.0 })
    }

    /// The length of the longest name along the horizontal axis.
    fn longest_name(&self) -> f64 {
        let names = self.x.ticks(self.columns());
        let letters = names.iter().map(|(_, name)| name.chars().count().min(LONGEST)).max().unwrap_or(0);
        CHARACTER_WIDTH * letters as f64
    }

    /// Whether names of categories are too long to be side by side.
    fn are_names_turned(&self) -> bool {
        let categories = self.x.ticks(self.columns()).len().max(1) as f64;
        self.x.is_categorical() && self.longest_name() + 0.5 * CHARACTER_WIDTH > self.size.0 / categories
    }

    /// The size with margins, in pixels.
    #[must_use]
    pub fn outer_size(&self) -> (f64, f64) {
        let (left, top, right, below) = self.margins();
        (left + self.size.0 + right, top + self.size.1 + below)
    }

    /// Number of ticks of the vertical axis.
    fn rows(&self) -> usize {
        ((self.size.1 / 35.0) as usize).clamp(3, 8)
    }

    /// Number of ticks of the horizontal axis.
    fn columns(&self) -> usize {
        ((self.size.0 / 60.0) as usize).clamp(2, 10)
    }

    /// The plot as a group whose origin is the upper left corner of the axes.
    #[must_use]
    pub fn group(&self) -> Element {
        let (width, height) = self.size;
        let mut group = Element::new("g");
        if !self.title.is_empty() {
            let title =
                Element::text(0.0, -12.0, &self.title).set("class", "title").set("font-weight", "600");
            group.push(title.set("font-size", "13"));
        }
        group = group.children(self.grid());
        if self.is_clipped {
            // A nested drawing clips its contents without an id, which might not be unique on a page.
            let inner = Element::new("svg").number("width", width).number("height", height);
            group.push(inner.children(self.marks.iter().cloned()));
        } else {
            group = group.children(self.marks.iter().cloned());
        }
        let axes = Element::path([(0.0, 0.0), (0.0, height), (width, height)], false);
        group.push(Style::stroke("#888", 1.0).class("axis").apply(axes));
        group = group.children(self.names()).children(self.legend());
        if self.missing > 0 {
            let text = format!("not shown: {} values that have no place on these axes", self.missing);
            let (_, _, _, below) = self.margins();
            group.push(
                Element::text(0.0, height + below - 6.0, &text).set("class", "soft").set("fill", "#666"),
            );
        }
        group
    }

    /// Lines and labels at the ticks, and the names of the axes.
    fn grid(&self) -> Vec<Element> {
        let (width, height) = self.size;
        let line = |ends: [(f64, f64); 2]| {
            Style::stroke("#e5e5e5", 1.0).class("grid").apply(Element::path(ends, false))
        };
        let label = |x: f64, y: f64, text: &str, anchor: &str| {
            Element::text(x, y, text).set("class", "soft").set("fill", "#555").set("text-anchor", anchor)
        };
        let mut elements = Vec::new();
        let turned = self.are_names_turned();
        for (value, text) in self.x.ticks(self.columns()) {
            let at = width * self.x.fraction(value).unwrap_or(0.0);
            if !self.x.is_categorical() {
                elements.push(line([(at, 0.0), (at, height)]));
            }
            let (y, text) = (height + TICK + 11.0, shortened(&text));
            elements.push(if turned {
                let turn =
                    format!("rotate(-{} {} {})", TURN.to_degrees().round(), Number(at + 4.0), Number(y));
                label(at + 4.0, y, &text, "end").set("transform", turn)
            } else {
                label(at, y, &text, "middle")
            });
        }
        for (value, text) in self.y.ticks(self.rows()) {
            let share = self.y.fraction(value).unwrap_or(0.0);
            let at = height * if self.y.is_categorical() { share } else { 1.0 - share };
            if !self.y.is_categorical() {
                elements.push(line([(0.0, at), (width, at)]));
            }
            elements.push(label(-TICK, at + 4.0, &text, "end"));
        }
        if !self.x.name.is_empty() {
            let turned = if turned { TURN.sin() * self.longest_name() } else { 0.0 };
            let name = Element::text(0.5 * width, height + TICK + LINE + 16.0 + turned, &self.x.name);
            elements.push(name.set("text-anchor", "middle"));
        }
        if !self.y.name.is_empty() {
            let (x, y) = (13.0 - self.margins().0, 0.5 * height);
            let rotation = format!("rotate(-90 {} {})", Number(x), Number(y));
            let name = Element::text(x, y, &self.y.name).set("text-anchor", "middle");
            elements.push(name.set("transform", rotation));
        }
        elements
    }

    /// Labels at the ends of lines, with leader lines.
    fn names(&self) -> Vec<Element> {
        let mut order: Vec<usize> = (0..self.ends.len()).collect();
        order.sort_by(|&a, &b| self.ends[a].2.1.total_cmp(&self.ends[b].2.1));
        let desired: Vec<f64> = order.iter().map(|&k| self.ends[k].2.1).collect();
        let placed = spread_apart(&desired, LINE, self.size.1);
        let column = self.size.0 + LEADER;
        let mut elements = Vec::new();
        for (&k, at) in order.iter().zip(placed) {
            let (name, style, (x, y)) = &self.ends[k];
            let leader = Element::path([(x + 5.0, *y), (self.size.0 + 2.0, *y), (column - 4.0, at)], false);
            elements.push(Style::stroke(style.main_colour(), 1.0).opacity(0.6).apply(leader));
            elements.push(Element::text(column, at + 4.0, name));
        }
        elements
    }

    fn legend(&self) -> Vec<Element> {
        let mut elements = Vec::new();
        for (k, (name, style)) in self.keys.iter().enumerate() {
            let (x, y) = (self.size.0 + 14.0, 10.0 + 20.0 * k as f64);
            let symbol = if style.is_line() {
                Element::path([(x, y), (x + 20.0, y)], false)
            } else {
                Element::rectangle(x + 3.0, y - 7.0, 14.0, 14.0)
            };
            elements.push(style.apply(symbol));
            elements.push(Element::text(x + 28.0, y + 4.0, name));
        }
        elements
    }

    /// A drawing of this plot with a transparent background.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        self.onto(Drawing::new)
    }

    fn onto(&self, new: impl Fn(&str, f64, f64) -> Drawing) -> Drawing {
        let ((width, height), (left, top, ..)) = (self.outer_size(), self.margins());
        let axes = format!("{}, by {}", self.y.name, self.x.name);
        let names = [&self.name, &self.title, &axes];
        let mut drawing =
            new(names.into_iter().find(|name| !name.is_empty()).unwrap_or(&axes), width, height);
        drawing.push(Element::group(left, top).child(self.group()));
        drawing
    }
}

/// The plot as a standalone file.
impl Display for Plot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.onto(|title, width, height| Drawing::new(title, width, height).with_background()).fmt(f)
    }
}

/// Distance from the axis to the column of labels.
const LEADER: f64 = 24.0;

/// Positions at least `distance` apart, in the same order, close to the desired ones and none below the bottom.
fn spread_apart(desired: &[f64], distance: f64, bottom: f64) -> Vec<f64> {
    let mut placed = desired.to_vec();
    for k in 1..placed.len() {
        placed[k] = placed[k].max(placed[k - 1] + distance);
    }
    let mut lowest = bottom;
    for at in placed.iter_mut().rev() {
        *at = at.min(lowest);
        lowest = *at - distance;
    }
    placed
}

/// The angle of names of categories that are too long to be side by side.
const TURN: f64 = std::f64::consts::FRAC_PI_4;

/// The longest name that is shown in full: longer ones would leave no room for the plot.
const LONGEST: usize = 48;

/// A name with an ellipsis in place of what is beyond [`LONGEST`] characters.
fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 1).chain(['\u{2026}']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour;

    fn plot() -> Plot {
        let (x, y) = (Axis::between("records", 0.0, 10.0), Axis::between("bytes", 0.0, 100.0));
        Plot::new("A < B", (100.0, 200.0), x, y)
    }

    #[test]
    fn marks_are_where_their_values_are() {
        let mut plot = plot();
        let line = Style::stroke(colour(0), 2.0);
        plot.line(&line, [(0.0, 0.0), (5.0, 50.0), (10.0, 100.0)]);
        plot.band(&Style::fill(colour(1)), [(0.0, 10.0, 20.0), (10.0, 30.0, 40.0)]);
        plot.point(&Style::fill(colour(0)), 3.0, (5.0, 25.0), "one & two");
        plot.rectangle(&Style::fill(colour(0)), (2.0, 4.0), (0.0, 50.0), "");
        plot.dots(&line, [(1.0, 1.0), (2.0, 2.0)]);
        let svg = plot.to_string();
        for part in [
            "M0 200L50 100L100 0\"",
            "M0 160L100 120L100 140L0 180Z",
            "<circle cx=\"50\" cy=\"150\" r=\"3\" fill=\"#0072b2\"><title>one &amp; two</title></circle>",
            "<rect x=\"20\" y=\"100\" width=\"20\" height=\"100\"",
            "M10 198h0M20 196h0",
            "A &lt; B",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(!svg.contains("not shown"));
    }

    /// Untrusted files may contain any number.
    #[test]
    fn values_without_a_place_are_left_out_and_counted() {
        let mut plot = plot();
        plot.line(&Style::stroke(colour(0), 2.0), [(f64::NAN, 0.0), (1.0, f64::INFINITY), (1.0, 1.0)]);
        plot.rectangle(&Style::fill(colour(0)), (f64::NAN, 1.0), (0.0, 1.0), "");
        plot.label_end("nowhere", &Style::stroke(colour(0), 2.0), (f64::NAN, 0.0));
        let svg = plot.to_string();
        assert!(svg.contains("not shown: 3 values") && !svg.contains("nowhere"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        let logarithmic =
            Plot::new("", (100.0, 100.0), Axis::logarithmic("", [1.0, 9.0]), Axis::between("", 0.0, 1.0));
        assert_eq!(logarithmic.place((0.0, 0.5)), None);
    }

    #[test]
    fn names_do_not_lie_on_each_other() {
        assert_eq!(spread_apart(&[100.0, 290.0, 299.0], 14.0, 300.0), [100.0, 286.0, 300.0]);
        let mut plot = plot();
        for name in ["first", "second"] {
            plot.label_end(name, &Style::stroke(colour(0), 2.0), (10.0, 50.0));
        }
        plot.key("third", &Style::fill(colour(2)));
        let svg = plot.to_string();
        for part in ["y=\"104\">first", "y=\"120\">second", "y=\"14\">third"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }

    #[test]
    fn the_first_category_is_on_top() {
        let (y, x) = (Axis::categories("", ["upper", "lower"]), Axis::categories("", ["a", "b"]));
        let mut plot = Plot::new("", (100.0, 40.0), x, y);
        plot.rectangle(&Style::fill(colour(0)), (0.0, 1.0), (0.0, 1.0), "");
        let svg = plot.clipped().to_string();
        assert!(svg.contains("<rect x=\"0\" y=\"0\" width=\"50\" height=\"20\""), "{svg}");
        assert!(!svg.contains("rotate"), "{svg}");
    }

    /// They were truncated once, so that levels could not be told apart.
    #[test]
    fn long_names_are_turned_and_whole() {
        let names = ["a very long name indeed", "b"];
        let plot = Plot::new("", (100.0, 40.0), Axis::categories("", names), Axis::between("", 0.0, 1.0));
        let svg = plot.to_string();
        assert!(svg.contains(">a very long name indeed<") && svg.contains("rotate(-45"), "{svg}");
        let short =
            Plot::new("", (100.0, 40.0), Axis::categories("", ["a", "b"]), Axis::between("", 0.0, 1.0));
        let room = |plot: &Plot| plot.margins().3;
        // 23 letters at 45 degrees.
        assert!(room(&plot) > room(&short) + 100.0);
        let forged = "x".repeat(100_000);
        let plot = Plot::new("", (100.0, 40.0), Axis::categories("", [forged]), Axis::between("", 0.0, 1.0));
        assert!(room(&plot) < 300.0 && plot.to_string().len() < 5000);
    }
}
