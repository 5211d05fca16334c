//! Intervals as rows of a table: one narrow drawing for each row, all on one axis.
//!
//! Lengths are shares of the width and the height, so that a drawing fills its cell, and its marks keep their shape. Names are not drawn: they
//! are texts of the table, which wraps them.

use crate::element::Number;
use crate::{Axis, Drawing, Element, Style, short};

/// Height of the drawing of a row in pixels.
const HEIGHT: f64 = 26.0;
/// Height of the labels of the axis.
const AXIS: f64 = 22.0;
/// Ticks, about: labels must fit on a narrow screen.
const TICKS: usize = 4;

/// Rows of a table that share an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Strips {
    axis: Axis,
    null: Option<f64>,
}

/// The marks of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strip {
    /// A point.
    pub point: f64,
    /// A thick bar.
    pub inner: (f64, f64),
    /// A thin bar.
    pub outer: (f64, f64),
}

/// The styles of the marks of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StripStyle {
    /// That of the thin bar, a stroke.
    pub outer: Style,
    /// That of the thick bar, a stroke.
    pub inner: Style,
    /// That of the point, a fill.
    pub point: Style,
}

impl Strips {
    /// Rows on this axis.
    #[must_use]
    pub fn new(axis: Axis) -> Self {
        Self { axis, null: None }
    }

    /// A line through all rows at a value, such as that of no effect.
    #[must_use]
    pub fn with_line(self, at: f64) -> Self {
        Self { null: Some(at), ..self }
    }

    /// The place of a value as a share of the width; values beyond the axis are at its end.
    fn share(&self, value: f64) -> Option<f64> {
        self.axis.fraction(value).map(|share| share.clamp(0.0, 1.0))
    }

    /// Lines at the ticks, and at the value of no effect.
    fn lines(&self) -> Vec<Element> {
        let vertical = |style: &Style, value: f64| {
            let at = percent(self.share(value)?);
            let line = Element::new("line").set("x1", at.clone()).set("x2", at).number("y1", 0.0);
            Some(style.apply(line.set("y2", "100%")))
        };
        let grid = Style::stroke("#e5e5e5", 1.0).class("grid");
        let ticks = self.axis.ticks(TICKS);
        let mut lines: Vec<Element> = ticks.iter().filter_map(|(at, _)| vertical(&grid, *at)).collect();
        lines.extend(self.null.and_then(|null| vertical(&Style::stroke("#555", 1.0).class("null"), null)));
        lines
    }

    /// The drawing of a row; `title` describes it for screen readers and as a tooltip. Marks that have no place on the axis are left out.
    #[must_use]
    pub fn row(&self, strip: &Strip, style: &StripStyle, title: &str) -> Drawing {
        let mut drawing = Drawing::wide(title, HEIGHT);
        self.lines().into_iter().for_each(|line| drawing.push(line));
        for (style, (low, high)) in [(style.outer, strip.outer), (style.inner, strip.inner)] {
            let (Some(low), Some(high)) = (self.share(low), self.share(high)) else { continue };
            let line = Element::new("line").set("x1", percent(low)).set("x2", percent(high));
            drawing.push(style.apply(line.set("y1", "50%").set("y2", "50%")));
        }
        if let Some(at) = self.axis.fraction(strip.point).filter(|at| (0.0..=1.0).contains(at)) {
            let point = Element::new("circle").set("cx", percent(at)).set("cy", "50%").number("r", 3.5);
            drawing.push(style.point.apply(point));
        }
        drawing
    }

    /// A bar from the lower end of the axis to a value, with a thin interval at its end.
    #[must_use]
    pub fn bar(&self, value: f64, interval: (f64, f64), bar: &Style, thin: &Style, title: &str) -> Drawing {
        let mut drawing = Drawing::wide(title, HEIGHT);
        self.lines().into_iter().for_each(|line| drawing.push(line));
        let rectangle = Element::rectangle(0.0, 0.0, 0.0, 0.0).replace("y", "22%").replace("height", "56%");
        let share = self.share(value).unwrap_or(0.0);
        drawing.push(bar.apply(rectangle.replace("width", percent(share))));
        if let (Some(low), Some(high)) = (self.share(interval.0), self.share(interval.1)) {
            let line = Element::new("line").set("x1", percent(low)).set("x2", percent(high));
            drawing.push(thin.apply(line.set("y1", "50%").set("y2", "50%")));
        }
        drawing
    }

    /// The labels of the axis, for a row of their own.
    #[must_use]
    pub fn labels(&self) -> Drawing {
        let ticks = self.axis.ticks(TICKS);
        let texts: Vec<&str> = ticks.iter().map(|(_, text)| text.as_str()).collect();
        let mut drawing = Drawing::wide(&format!("axis: {}", texts.join(", ")), AXIS);
        for (at, text) in &ticks {
            let Some(share) = self.share(*at) else { continue };
            let label = Element::new("text").set("x", percent(share)).number("y", 14.0);
            drawing.push(
                label.set("class", "soft").set("fill", "#555").set("text-anchor", "middle").content(text),
            );
        }
        drawing
    }
}

/// A share of the width.
fn percent(share: f64) -> String {
    format!("{}%", Number(100.0 * share))
}

/// "0.5 (0.2 to 0.8)": a value and its interval.
#[must_use]
pub fn with_interval(value: f64, (low, high): (f64, f64)) -> String {
    format!("{} ({} to {})", short(value), short(low), short(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLE: StripStyle = StripStyle {
        outer: Style::stroke("#d55e00", 2.0),
        inner: Style::stroke("#0072b2", 8.0),
        point: Style::fill("#000"),
    };

    #[test]
    fn marks_are_shares_of_the_width() {
        let strips = Strips::new(Axis::between("", 0.0, 10.0)).with_line(5.0);
        let strip = Strip { point: 2.0, inner: (1.0, 3.0), outer: (-4.0, 4.0) };
        let text = strips.row(&strip, &STYLE, "age < 5").to_string();
        for part in [
            "x1=\"10%\" x2=\"30%\"",
            "x1=\"0%\" x2=\"40%\"",
            "cx=\"20%\"",
            "x1=\"50%\" x2=\"50%\"",
            "class=\"null\"",
            "aria-label=\"age &lt; 5\"",
            "width=\"100%\"",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("viewBox"), "{text}");
        assert!(strips.labels().to_string().contains("x=\"50%\""));
    }

    /// Numbers of a forged file.
    #[test]
    fn marks_without_a_place_are_left_out() {
        let strips = Strips::new(Axis::logarithmic("", [0.5, 2.0])).with_line(1.0);
        let strip = Strip { point: f64::NAN, inner: (-1.0, 1.0), outer: (0.5, f64::INFINITY) };
        let text = strips.row(&strip, &STYLE, "").to_string();
        assert!(!text.contains("NaN") && !text.contains("inf") && !text.contains("<circle"), "{text}");
        assert_eq!(text.matches("stroke-width=\"8\"").count(), 0);
        let bar = strips.bar(f64::NAN, (0.1, 1.0), &STYLE.point, &STYLE.outer, "").to_string();
        assert!(!bar.contains("NaN") && bar.contains("width=\"0%\""), "{bar}");
    }

    #[test]
    fn bars_start_at_the_lower_end() {
        let strips = Strips::new(Axis::between("", 0.0, 0.4));
        let text = strips.bar(0.1, (0.05, 0.2), &STYLE.point, &STYLE.outer, "word").to_string();
        assert!(text.contains("width=\"25%\"") && text.contains("x1=\"12.5%\" x2=\"50%\""), "{text}");
        assert_eq!(with_interval(0.5, (0.25, 1234.4)), "0.5 (0.25 to 1,234)");
    }
}
