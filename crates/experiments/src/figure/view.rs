//! One panel: axes, records and rings.

use reticent_figure::{Axis, Element, Plot, Style, colour};

use super::ring::{is_finite, ring, ring_quantile};
use super::{HALO, PANEL_WIDTH, POSTERIOR, Panel, RECORDS_WIDTH, WITH_NOISE, with_records};
use crate::cholesky::cholesky;
use crate::metrics::Moments;
use crate::mixture::Mixture;

/// The window onto the plane that all panels share: one unit is as long down as across.
pub(super) struct View {
    x: (f64, f64),
    y: (f64, f64),
    /// Height in pixels; the width is [`PANEL_WIDTH`].
    pub(super) height: f64,
}

impl View {
    /// All records, and the rings that hold 98 % of each true component, with a margin; no flatter than 3:2 and no
    /// taller than 4:5.
    pub(super) fn of(data: &Mixture) -> Self {
        let radius = (ring_quantile() * data.noise_variance).sqrt();
        let range = |k: usize| {
            let rings = data.means.iter().flat_map(|mean| [mean[k] - radius, mean[k] + radius]);
            let (low, high) = data
                .records()
                .map(|x| x[k])
                .chain(rings)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
            (0.5 * (low + high), 1.1 * (high - low))
        };
        let ((x, width), (y, height)) = (range(0), range(1));
        let width = width.max(0.8 * height);
        let height = height.max(width / 1.5);
        let about = |middle: f64, length: f64| (middle - 0.5 * length, middle + 0.5 * length);
        Self { x: about(x, width), y: about(y, height), height: PANEL_WIDTH * height / width }
    }

    /// Records and rings on axes. The coordinates are named in the first column and in the last row.
    pub(super) fn plot(&self, data: &Mixture, panel: &Panel, first_column: bool, last_row: bool) -> Plot {
        let x = Axis::between(if last_row { "x\u{2081}" } else { "" }, self.x.0, self.x.1);
        let y = Axis::between(if first_column { "x\u{2082}" } else { "" }, self.y.0, self.y.1);
        let mut plot = Plot::new(&panel.title, (PANEL_WIDTH, self.height), x, y).clipped();
        for j in 0..panel.components.len() {
            let labelled = data.records().zip(&panel.labels).filter(|&(_, &label)| label == j);
            let style = Style::stroke(colour(j), 2.4).opacity(0.5);
            plot.dots(&style, labelled.map(|(x, _)| (x[0], x[1])));
        }
        for (j, component) in panel.components.iter().enumerate() {
            let style = Style::stroke(colour(j), RECORDS_WIDTH);
            draw(&mut plot, &style, &with_records(component, data.noise_variance));
        }
        for component in panel.with_noise.iter().flatten() {
            draw(&mut plot, &HALO, component);
            draw(&mut plot, &WITH_NOISE, component);
        }
        for component in &panel.components {
            draw(&mut plot, &HALO, component);
            draw(&mut plot, &POSTERIOR, component);
        }
        if let Some(note) = self.note(panel) {
            let text = Element::text(PANEL_WIDTH - 6.0, 15.0, &note).set("text-anchor", "end");
            plot.element(text.set("stroke", "#fff").set("stroke-width", "3").set("paint-order", "stroke"));
        }
        plot
    }

    /// A note on components that the panel cannot show.
    fn note(&self, panel: &Panel) -> Option<String> {
        let count = |what: &dyn Fn(&Moments) -> bool| panel.components.iter().filter(|c| what(c)).count();
        let improper = count(&|c: &Moments| !is_finite(c) || cholesky(&c.covariance, c.mean.len()).is_none());
        let within = |x: f64, (low, high): (f64, f64)| (low..=high).contains(&x);
        let outside = count(&|c: &Moments| !within(c.mean[0], self.x) || !within(c.mean[1], self.y));
        match (improper, outside) {
            (0, 0) => None,
            (0, outside) => Some(format!("means outside: {outside}")),
            (improper, _) => Some(format!("not positive definite: {improper}")),
        }
    }
}

fn draw(plot: &mut Plot, style: &Style, component: &Moments) {
    if let Some(points) = ring(component) {
        plot.ring(style, points);
    }
}
