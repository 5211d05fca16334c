//! Figures 3 to 7 of Foulds et al. (2016), on crashes.

use reticent_figure::{Axis, Drawing, Element, Plot, Style, colour};

use super::{FIELDS, MONTHS};

const ROW: f64 = 18.0;
const CELL: f64 = 16.0;

/// The state of each region in each month, as a grid for each title. The states of a region are neighbours.
#[must_use]
pub fn assignments(panels: &[(&str, &[usize])], regions: &[&str], states: usize) -> String {
    let size = (CELL * MONTHS as f64, ROW * regions.len() as f64);
    let mut plots = Vec::new();
    for (title, assigned) in panels {
        let years = (0..MONTHS / 12).map(|year| (12.0 * year as f64, format!("Jan {}", 2013 + year)));
        let x = Axis::between("", 0.0, MONTHS as f64).with_ticks(years);
        let mut plot = Plot::new(title, size, x, Axis::categories("", regions.iter().copied()));
        for (region, chain) in assigned.chunks(MONTHS).enumerate() {
            for (month, &state) in chain.iter().enumerate() {
                let (x, y) = (month as f64, region as f64);
                plot.rectangle(&Style::fill(colour(state)), (x + 0.03, x + 0.97), (y + 0.06, y + 0.94), "");
            }
        }
        (0..states).for_each(|state| plot.key(&format!("state {}", state + 1), &Style::fill(colour(state))));
        plots.push(plot);
    }
    let sizes: Vec<(f64, f64)> = plots.iter().map(Plot::outer_size).collect();
    let width = sizes.iter().map(|size| size.0).fold(0.0, f64::max);
    let height = sizes.iter().map(|size| size.1).sum();
    let mut drawing = Drawing::new("States by region and month", width, height).with_background();
    let mut y = 0.0;
    for (plot, size) in plots.iter().zip(sizes) {
        let (left, top, ..) = plot.margins();
        drawing.push(Element::group(left, y + top).child(plot.group()));
        y += size.1;
    }
    drawing.to_string()
}

/// The distribution of each field in a state, as bars with two standard deviations each way.
#[must_use]
pub fn profile(title: &str, state: usize, means: &[f64], sds: &[f64]) -> String {
    const WIDTH: f64 = 320.0;
    // A row for the name of each field, one for each of its levels.
    let rows: Vec<&str> =
        FIELDS.iter().flat_map(|(_, levels)| std::iter::once("").chain(levels.iter().copied())).collect();
    let size = (WIDTH, ROW * rows.len() as f64);
    let x = Axis::between("share of the crashes in this state", 0.0, 1.0);
    let mut plot = Plot::new(title, size, x, Axis::categories("", rows)).with_room_right(60.0);
    let (mut row, mut place) = (0.0, 0);
    for (field, levels) in FIELDS {
        let name =
            Element::text(-7.0, ROW * (row + 0.5) + 4.0, &field.replace('_', " ")).set("text-anchor", "end");
        plot.element(name.set("font-weight", "600"));
        row += 1.0;
        for _ in levels {
            let (mean, sd) = (means[place], sds[place]);
            let (low, high) = ((mean - 2.0 * sd).max(0.0), (mean + 2.0 * sd).min(1.0));
            plot.rectangle(&Style::fill(colour(state)), (0.0, mean), (row + 0.15, row + 0.85), "");
            plot.line(&Style::stroke("#222", 1.5), [(low, row + 0.5), (high, row + 0.5)]);
            let value = Element::text(WIDTH + 8.0, ROW * (row + 0.5) + 4.0, &format!("{mean:.3}"));
            plot.element(value);
            (row, place) = (row + 1.0, place + 1);
        }
    }
    plot.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_drawn() {
        let states: Vec<usize> = (0..2 * MONTHS).map(|cell| cell % 3).collect();
        let svg = assignments(&[("a < b", &states), ("last", &states)], &["North", "South"], 3);
        // The background, and for each panel a legend and a square for each cell.
        assert_eq!(svg.matches("<rect").count(), 1 + 2 * (3 + 2 * MONTHS));
        assert!(svg.contains("a &lt; b"));
        let bars: usize = FIELDS.iter().map(|(_, levels)| levels.len()).sum();
        let svg = profile("State 1", 0, &vec![0.25; bars], &vec![0.01; bars]);
        assert_eq!(svg.matches("<rect").count(), 1 + bars);
        assert!(!svg.contains("not shown"));
    }
}
