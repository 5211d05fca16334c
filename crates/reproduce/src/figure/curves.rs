//! Curves on plain axes.

use std::fmt::Write as _;

use super::view::text;
use super::{FigureError, colour, escape};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const MARGIN: (f64, f64, f64, f64) = (64.0, 24.0, 240.0, 56.0);

/// Curves of one kind, with one name and one colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Curves {
    /// In the legend.
    pub name: String,
    /// Each from left to right. If there are several they are thin.
    pub curves: Vec<Vec<(f64, f64)>>,
}

/// The curves between two ends of the first axis; the second begins at 0 and ends above the largest value, or at `most`. `x` and `y`
/// name the axes.
///
/// # Errors
/// [`FigureError::Empty`] if there is no point, or one that is not finite.
pub fn curves(
    x: &str,
    y: &str,
    (from, to): (f64, f64),
    most: Option<f64>,
    all: &[Curves],
) -> Result<String, FigureError> {
    let points = || all.iter().flat_map(|curves| curves.curves.iter().flatten());
    if points().next().is_none() || !points().all(|p| p.0.is_finite() && p.1.is_finite()) || from >= to {
        return Err(FigureError::Empty);
    }
    let largest = points().map(|p| p.1).fold(0.0_f64, f64::max).max(1e-12);
    let top = most.unwrap_or(1.05 * largest);
    let (left, upper, right, lower) = MARGIN;
    let (width, height) = (left + WIDTH + right, upper + HEIGHT + lower);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <title>{}, by {}</title>\n<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#fff\"/>\n\
         <clipPath id=\"plot\"><rect width=\"{WIDTH:.0}\" height=\"{HEIGHT:.0}\"/></clipPath>\n\
         <g transform=\"translate({left:.0} {upper:.0})\">\n",
        escape(y),
        escape(x)
    );
    for k in 0..=5 {
        let share = f64::from(k) / 5.0;
        let (across, up) = (WIDTH * share, HEIGHT * (1.0 - share));
        let _ =
            writeln!(svg, "<path d=\"M{across:.1} 0v{HEIGHT:.1}M0 {up:.1}h{WIDTH:.1}\" stroke=\"#e5e5e5\"/>");
        let label = |value: f64| crate::table::digits(value, 2);
        text(&mut svg, across, HEIGHT + 18.0, "text-anchor=\"middle\"", &label(from + (to - from) * share));
        text(&mut svg, -8.0, up + 4.0, "text-anchor=\"end\"", &label(top * share));
    }
    let _ = writeln!(svg, "<path d=\"M0 0v{HEIGHT:.1}h{WIDTH:.1}\" fill=\"none\" stroke=\"#888\"/>");
    text(&mut svg, WIDTH / 2.0, HEIGHT + 42.0, "text-anchor=\"middle\"", &escape(x));
    let turned = format!("text-anchor=\"middle\" transform=\"rotate(-90 -46 {:.1})\"", HEIGHT / 2.0);
    text(&mut svg, -46.0, HEIGHT / 2.0, &turned, &escape(y));
    for (k, kind) in all.iter().enumerate() {
        let style = if kind.curves.len() > 1 {
            "stroke-width=\"0.8\" opacity=\".5\""
        } else {
            "stroke-width=\"2.2\""
        };
        for curve in &kind.curves {
            let mut path = String::new();
            for (x, y) in curve {
                let (across, up) = (WIDTH * (x - from) / (to - from), HEIGHT * (1.0 - y / top));
                let _ = write!(path, "{}{across:.1} {up:.1}", if path.is_empty() { 'M' } else { 'L' });
            }
            let _ = writeln!(
                svg,
                "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" {style} clip-path=\"url(#plot)\"/>",
                colour(k)
            );
        }
        let at = 16.0 + 20.0 * k as f64;
        let _ = writeln!(
            svg,
            "<path d=\"M{:.1} {at:.1}h18\" stroke=\"{}\" stroke-width=\"2.2\"/>",
            WIDTH + 14.0,
            colour(k)
        );
        text(&mut svg, WIDTH + 38.0, at + 4.0, "", &escape(&kind.name));
    }
    svg.push_str("</g>\n</svg>\n");
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_is_drawn_and_named() {
        let one = Curves { name: "a < b".into(), curves: vec![vec![(0.0, 0.0), (1.0, 2.0)]] };
        let many = Curves { name: "c".into(), curves: vec![vec![(0.5, 1.0)], vec![(0.2, 0.1)]] };
        let svg = curves("p", "density", (0.0, 1.0), Some(2.0), &[one, many]).unwrap();
        assert_eq!(svg.matches("clip-path=\"url(#plot)\"").count(), 3);
        assert!(svg.contains("a &lt; b") && svg.contains("M0.0 300.0L460.0 0.0"));
        assert_eq!(curves("x", "y", (0.0, 1.0), None, &[]), Err(FigureError::Empty));
    }
}
