//! Lines with a circle at each point and names at their ends.

use reticent_figure::{Axis, Plot, Style, colour};

const SIZE: (f64, f64) = (460.0, 300.0);

/// A line with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Label at the end of the line.
    pub name: String,
    /// Points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// Dashed and without circles: what the others are compared with, such as the same method without privacy.
    pub is_reference: bool,
}

impl Series {
    /// A line through measurements.
    #[must_use]
    pub fn new(name: &str, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.to_owned(), points, is_reference: false }
    }
}

/// Scale of a coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Linear.
    Linear,
    /// Logarithmic.
    Logarithmic,
}

/// The lines as SVG. An axis is given by its name and its scale, and holds all points.
#[must_use]
pub fn lines(title: &str, x: (&str, Scale), y: (&str, Scale), series: &[Series]) -> String {
    let axis = |(name, scale): (&str, Scale), of: fn(&(f64, f64)) -> f64| {
        let values = series.iter().flat_map(|series| series.points.iter().map(of));
        match scale {
            Scale::Linear => Axis::linear(name, values),
            Scale::Logarithmic => Axis::logarithmic(name, values),
        }
    };
    let mut plot = Plot::new(title, SIZE, axis(x, |p| p.0), axis(y, |p| p.1));
    for (k, series) in series.iter().enumerate() {
        let style = Style::stroke(colour(k), 2.0);
        let style = if series.is_reference { style.dashed() } else { style };
        plot.line(&style, series.points.iter().copied());
        if !series.is_reference {
            plot.points(&Style::fill(colour(k)), 3.5, series.points.iter().copied());
        }
        if let Some(&last) = series.points.last() {
            plot.label_end(&series.name, &style, last);
        }
    }
    plot.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_drawn_and_every_line_named() {
        let mut series = [
            Series::new("a < b", vec![(10.0, 1.0), (1000.0, 100.0)]),
            Series::new("c", vec![(100.0, 10.0)]),
            Series::new("d", vec![(10.0, 20.0), (1000.0, 20.0)]),
        ];
        series[2].is_reference = true;
        let axes = (("records", Scale::Logarithmic), ("bytes", Scale::Logarithmic));
        let svg = lines("Memory", axes.0, axes.1, &series);
        assert_eq!((svg.matches("<circle").count(), svg.matches("dasharray").count()), (3, 1));
        assert!(svg.contains("a &lt; b") && svg.contains(">d</text>"));
        // The middle of both axes.
        assert!(svg.contains("cx=\"230\" cy=\"150\""), "{svg}");
        assert!(lines("none", axes.0, axes.1, &[]).starts_with("<svg"));
    }
}
