//! Curves on logarithmic axes.

use std::fmt::Write as _;

use super::view::text;
use super::{FigureError, colour, escape};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const MARGIN: (f64, f64, f64, f64) = (72.0, 24.0, 170.0, 56.0);

/// A curve with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Written at its end.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// The curves, both axes logarithmic and from one power of ten to another. `x` and `y` name the axes.
///
/// # Errors
/// [`FigureError::Empty`] if there is no point, or one that has no logarithm.
pub fn log_log(x: &str, y: &str, series: &[Series]) -> Result<String, FigureError> {
    let points = || series.iter().flat_map(|series| &series.points);
    let positive = |v: f64| v > 0.0 && v.is_finite();
    if points().next().is_none() || !points().all(|&(x, y)| positive(x) && positive(y)) {
        return Err(FigureError::Empty);
    }
    let horizontal = Axis::of(points().map(|p| p.0), WIDTH);
    let vertical = Axis::of(points().map(|p| p.1), HEIGHT);
    let (left, top, right, bottom) = MARGIN;
    let (width, height) = (left + WIDTH + right, top + HEIGHT + bottom);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <title>{}, by {}</title>\n<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#fff\"/>\n\
         <g transform=\"translate({left:.0} {top:.0})\">\n",
        escape(y),
        escape(x)
    );
    for (at, label) in horizontal.ticks() {
        let _ = writeln!(svg, "<path d=\"M{at:.1} 0v{HEIGHT:.1}\" stroke=\"#e5e5e5\"/>");
        text(&mut svg, at, HEIGHT + 18.0, "text-anchor=\"middle\"", &label);
    }
    for (at, label) in vertical.ticks() {
        let at = HEIGHT - at;
        let _ = writeln!(svg, "<path d=\"M0 {at:.1}h{WIDTH:.1}\" stroke=\"#e5e5e5\"/>");
        text(&mut svg, -8.0, at + 4.0, "text-anchor=\"end\"", &label);
    }
    let _ = writeln!(svg, "<path d=\"M0 0v{HEIGHT:.1}h{WIDTH:.1}\" fill=\"none\" stroke=\"#888\"/>");
    text(&mut svg, WIDTH / 2.0, HEIGHT + 42.0, "text-anchor=\"middle\"", &escape(x));
    let turned = format!("text-anchor=\"middle\" transform=\"rotate(-90 -54 {:.1})\"", HEIGHT / 2.0);
    text(&mut svg, -54.0, HEIGHT / 2.0, &turned, &escape(y));
    let mut names = Vec::new();
    for (k, series) in series.iter().enumerate() {
        let place = |&(x, y): &(f64, f64)| (horizontal.place(x), HEIGHT - vertical.place(y));
        let mut path = String::new();
        let mut dots = String::new();
        for (x, y) in series.points.iter().map(place) {
            let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' });
            let _ = write!(dots, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{}\"/>", colour(k));
        }
        let _ =
            writeln!(svg, "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>", colour(k));
        let _ = writeln!(svg, "{dots}");
        if let Some((x, y)) = series.points.last().map(place) {
            names.push((y + 4.0, x + 10.0, k));
        }
    }
    apart(&mut names);
    for (y, x, k) in names {
        let style = format!("fill=\"{}\" font-weight=\"600\"", colour(k));
        text(&mut svg, x, y, &style, &escape(&series[k].name));
    }
    svg.push_str("</g>\n</svg>\n");
    Ok(svg)
}

/// Moves names down until none is written over another, and up again from below the axis.
fn apart(names: &mut [(f64, f64, usize)]) {
    const LINE: f64 = 14.0;
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    for k in 1..names.len() {
        names[k].0 = names[k].0.max(names[k - 1].0 + LINE);
    }
    let mut lowest = HEIGHT;
    for name in names.iter_mut().rev() {
        name.0 = name.0.min(lowest);
        lowest = name.0 - LINE;
    }
}

/// Powers of ten over a length.
struct Axis {
    first: i32,
    last: i32,
    length: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>, length: f64) -> Self {
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        let first = low.log10().floor() as i32;
        Self { first, last: (high.log10().ceil() as i32).max(first + 1), length }
    }

    fn place(&self, value: f64) -> f64 {
        self.length * (value.log10() - f64::from(self.first)) / f64::from(self.last - self.first)
    }

    fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        (self.first..=self.last).map(|power| {
            let label = match power {
                -2..=0 => format!("{:.*}", (-power) as usize, 10f64.powi(power)),
                1..=2 => format!("{}", 10f64.powi(power)),
                3..=5 => format!("{},000", 10f64.powi(power - 3)),
                6..=8 => format!("{},000,000", 10f64.powi(power - 6)),
                _ => format!("1e{power}"),
            };
            (self.place(10f64.powi(power)), label)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_drawn_between_powers_of_ten() {
        let series = [
            Series { name: "a < b".to_string(), points: vec![(10.0, 1.0), (1000.0, 100.0)] },
            Series { name: "c".to_string(), points: vec![(100.0, 10.0)] },
        ];
        let svg = log_log("records", "bytes", &series).unwrap();
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(svg.contains("a &lt; b"));
        // The middle of both axes.
        assert!(svg.contains("cx=\"230.0\" cy=\"150.0\""));
        assert_eq!(log_log("x", "y", &[]), Err(FigureError::Empty));
        // Names of curves that end at the axis are one above the other, and above it.
        let mut names = [(290.0, 0.0, 0), (299.0, 0.0, 1), (100.0, 0.0, 2)];
        apart(&mut names);
        assert_eq!(names.map(|name| name.0), [100.0, 286.0, 300.0]);
        let zero = Series { name: String::new(), points: vec![(0.0, 1.0)] };
        assert_eq!(log_log("x", "y", &[zero]), Err(FigureError::Empty));
    }
}
