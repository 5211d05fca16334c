//! Figures 3 to 7 of Foulds et al. (2016), on crashes.

use super::{FIELDS, MONTHS};
use crate::figure::{FigureError, Series, colour, escape, text};
use std::fmt::Write as _;

const LABELS: f64 = 150.0;
const ROW: f64 = 18.0;
const CELL: f64 = 16.0;

fn open(width: f64, height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <title>{title}</title>\n<rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#fff\"/>\n",
        title = escape(title)
    )
}

/// The state of each region in each month, as a grid for each title. The states of a region are neighbours.
#[must_use]
pub fn assignments(panels: &[(&str, &[usize])], regions: &[&str], states: usize) -> String {
    let panel = 64.0 + ROW * regions.len() as f64;
    let (width, height) = (LABELS + CELL * MONTHS as f64 + 20.0, 34.0 + panel * panels.len() as f64);
    let mut svg = open(width, height, "States by region and month");
    for state in 0..states {
        let x = LABELS + 90.0 * state as f64;
        let _ = writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"10\" width=\"14\" height=\"14\" fill=\"{}\"/>",
            colour(state)
        );
        text(&mut svg, x + 20.0, 21.0, "", &format!("state {}", state + 1));
    }
    for (number, (title, assigned)) in panels.iter().enumerate() {
        let top = 64.0 + panel * number as f64;
        text(&mut svg, LABELS, top - 8.0, "font-weight=\"600\"", &escape(title));
        for (region, (name, chain)) in regions.iter().zip(assigned.chunks(MONTHS)).enumerate() {
            let y = top + ROW * region as f64;
            text(&mut svg, LABELS - 8.0, y + 12.0, "text-anchor=\"end\"", &escape(name));
            for (month, &state) in chain.iter().enumerate() {
                let (x, fill) = (LABELS + CELL * month as f64, colour(state));
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{fill}\"/>",
                    CELL - 1.0,
                    ROW - 2.0
                );
            }
        }
        for year in 0..MONTHS / 12 {
            let x = LABELS + CELL * 12.0 * year as f64;
            let y = top + ROW * regions.len() as f64 + 14.0;
            text(&mut svg, x, y, "", &format!("Jan {}", 2013 + year));
        }
    }
    svg + "</svg>\n"
}

/// The law of each field in a state, as bars with two standard deviations each way.
#[must_use]
pub fn profile(title: &str, state: usize, means: &[f64], sds: &[f64]) -> String {
    const BAR: f64 = 320.0;
    let lines: usize = FIELDS.iter().map(|(_, levels)| levels.len() + 2).sum();
    let (left, height) = (220.0, 40.0 + ROW * lines as f64);
    let mut svg = open(left + BAR + 70.0, height, title);
    text(&mut svg, 10.0, 22.0, "font-weight=\"600\" font-size=\"14\"", &escape(title));
    let (mut y, mut place) = (40.0, 0);
    for (field, levels) in FIELDS {
        text(&mut svg, 10.0, y + 14.0, "font-weight=\"600\"", &escape(field));
        y += ROW;
        for level in levels {
            let (mean, sd) = (means[place], sds[place]);
            place += 1;
            text(&mut svg, left - 8.0, y + 12.0, "text-anchor=\"end\"", &escape(level));
            let (low, high) = ((mean - 2.0 * sd).max(0.0) * BAR, (mean + 2.0 * sd).min(1.0) * BAR);
            let _ = writeln!(
                svg,
                "<rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"12\" fill=\"{}\"/>\
                 <path d=\"M{:.1} {:.1}H{:.1}\" stroke=\"#222\"/>",
                y + 2.0,
                mean * BAR,
                colour(state),
                left + low,
                y + 8.0,
                left + high
            );
            text(&mut svg, left + BAR + 8.0, y + 12.0, "", &format!("{mean:.3}"));
            y += ROW;
        }
        y += ROW;
    }
    svg + "</svg>\n"
}

/// Curves over a logarithmic axis of budgets and an even one of log-likelihoods.
///
/// # Errors
/// [`FigureError::Empty`] if there is no point, or one that has no place.
pub fn log_likelihoods(title: &str, curves: &[Series]) -> Result<String, FigureError> {
    const WIDTH: f64 = 460.0;
    const HEIGHT: f64 = 320.0;
    const LEFT: f64 = 72.0;
    const TOP: f64 = 40.0;
    let points = || curves.iter().flat_map(|curve| &curve.points);
    if points().next().is_none() || !points().all(|(x, y)| *x > 0.0 && x.is_finite() && y.is_finite()) {
        return Err(FigureError::Empty);
    }
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    };
    let (first, last) = ends(&mut points().map(|p| p.0.ln()));
    let (low, high) = ends(&mut points().map(|p| p.1));
    let margin = 0.05 * (high - low).max(1e-3);
    let (low, high) = (low - margin, high + margin);
    let x = |epsilon: f64| LEFT + WIDTH * (epsilon.ln() - first) / (last - first).max(1e-9);
    let y = |log: f64| TOP + HEIGHT * (high - log) / (high - low);
    // Room for the longest name: no bold letter is wider than 8, on average.
    let longest = curves.iter().map(|curve| curve.name.chars().count()).max().unwrap_or(0);
    let mut svg = open(LEFT + WIDTH + 20.0 + 8.0 * longest as f64, TOP + HEIGHT + 56.0, title);
    text(&mut svg, LEFT, 22.0, "font-weight=\"600\" font-size=\"14\"", &escape(title));
    let mut budgets: Vec<f64> = points().map(|p| p.0).collect();
    budgets.sort_by(f64::total_cmp);
    budgets.dedup();
    for epsilon in budgets {
        let at = x(epsilon);
        let _ = writeln!(svg, "<path d=\"M{at:.1} {TOP:.1}v{HEIGHT:.1}\" stroke=\"#e5e5e5\"/>");
        text(&mut svg, at, TOP + HEIGHT + 18.0, "text-anchor=\"middle\"", &epsilon.to_string());
    }
    for tick in 0..=5 {
        let log = low + (high - low) * f64::from(tick) / 5.0;
        let at = y(log);
        let _ = writeln!(svg, "<path d=\"M{LEFT:.1} {at:.1}h{WIDTH:.1}\" stroke=\"#e5e5e5\"/>");
        text(&mut svg, LEFT - 8.0, at + 4.0, "text-anchor=\"end\"", &format!("{log:.2}"));
    }
    text(&mut svg, LEFT + 0.5 * WIDTH, TOP + HEIGHT + 42.0, "text-anchor=\"middle\"", "epsilon");
    let middle = TOP + 0.5 * HEIGHT;
    let turned = format!("text-anchor=\"middle\" transform=\"rotate(-90 14 {middle:.1})\"");
    text(&mut svg, 14.0, middle, &turned, "held-out log-likelihood of an event, nats");
    for (k, curve) in curves.iter().enumerate() {
        let (mut path, level) = (String::new(), curve.name.ends_with("not private"));
        for &(epsilon, log) in &curve.points {
            let (x, y) = (x(epsilon), y(log));
            let _ = write!(path, "{}{x:.1} {y:.1}", if path.is_empty() { 'M' } else { 'L' });
            if !level {
                let _ =
                    writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{}\"/>", colour(k));
            }
        }
        let dashes = if level { " stroke-dasharray=\"5 4\"" } else { "" };
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{dashes}/>",
            colour(k)
        );
        // The names in a column of their own: curves end close to each other.
        let (at, right) = (TOP + 14.0 + 20.0 * k as f64, LEFT + WIDTH + 14.0);
        let style = format!("fill=\"{}\" font-weight=\"600\"", colour(k));
        text(&mut svg, right, at, &style, &escape(&curve.name));
    }
    Ok(svg + "</svg>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_drawn() {
        let states: Vec<usize> = (0..2 * MONTHS).map(|cell| cell % 3).collect();
        let svg = assignments(&[("a < b", &states), ("last", &states)], &["North", "South"], 3);
        // The background, a legend, and a square for each cell of each panel.
        assert_eq!(svg.matches("<rect").count(), 1 + 3 + 2 * 2 * MONTHS);
        assert!(svg.contains("a &lt; b"));
        let bars: usize = FIELDS.iter().map(|(_, levels)| levels.len()).sum();
        let svg = profile("State 1", 0, &vec![0.25; bars], &vec![0.01; bars]);
        assert_eq!(svg.matches("<rect").count(), 1 + bars);
        let curve = |name: &str, points: Vec<(f64, f64)>| Series { name: name.to_owned(), points };
        let curves =
            [curve("HMM", vec![(0.1, -6.5), (10.0, -5.5)]), curve("HMM, not private", vec![(0.1, -5.0)])];
        let svg = log_likelihoods("Divisions", &curves).unwrap();
        assert_eq!((svg.matches("<circle").count(), svg.matches("dasharray").count()), (2, 1));
        assert!(!svg.contains("NaN"));
        // The longest name has 16 letters, of which each has room for 8, right of 546.
        assert!(svg.contains("viewBox=\"0 0 680"), "{}", &svg[..200]);
        assert_eq!(log_likelihoods("none", &[]), Err(FigureError::Empty));
    }
}
