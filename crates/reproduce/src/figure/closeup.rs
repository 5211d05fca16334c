//! A row of squares below a panel, one for each component: the posterior about the true mean.

use std::fmt::Write as _;

use super::view::{View, is_finite, ring_quantile, text};
use super::{PANEL_WIDTH, POSTERIOR, Panel, WITH_NOISE, colour};
use crate::metrics::Moments;
use crate::mixture::Mixture;

const BETWEEN: f64 = 8.0;
const BELOW: f64 = 30.0;

/// The scale that all squares share.
pub(super) struct Closeup {
    /// A square shows this much to each side of the true mean.
    pub(super) half: f64,
    side: f64,
}

impl Closeup {
    /// The least round number that shows every ring in full. Fits further off than a record usually is do not count: they
    /// have lost their component, and would make the others too small to see.
    pub(super) fn of(data: &Mixture, panels: &[Panel]) -> Self {
        let far = (ring_quantile() * data.noise_variance).sqrt();
        let mut widest = 0.0_f64;
        for panel in panels {
            let shown = panel.with_noise.as_ref().unwrap_or(&panel.components);
            for (component, mean) in shown.iter().zip(&data.means) {
                let reach = |k: usize| {
                    let variance = component.covariance[k * (mean.len() + 1)];
                    (component.mean[k] - mean[k]).abs() + (ring_quantile() * variance).sqrt()
                };
                let reach = reach(0).max(reach(1));
                if reach <= far {
                    widest = widest.max(reach);
                }
            }
        }
        let widest = if widest > 0.0 { widest } else { far };
        let power = 10f64.powf(widest.log10().floor());
        let round = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0].into_iter().find(|round| round * power >= widest);
        // Through text, so that 3 times 0.1 is 0.3.
        let half = format!("{:.2e}", round.unwrap_or(10.0) * power).parse().unwrap_or(widest);
        let squares = data.means.len() as f64;
        Self { half, side: ((PANEL_WIDTH - BETWEEN * (squares - 1.0)) / squares).clamp(8.0, 90.0) }
    }

    /// What a panel needs for it.
    pub(super) fn height(&self) -> f64 {
        self.side + BELOW
    }

    pub(super) fn draw(&self, svg: &mut String, data: &Mixture, panel: &Panel) {
        let (side, scale) = (self.side, self.side / (2.0 * self.half));
        for (k, (component, mean)) in panel.components.iter().zip(&data.means).enumerate() {
            let x = k as f64 * (side + BETWEEN);
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" width=\"{side:.1}\" height=\"{side:.1}\" fill=\"none\" stroke=\"{}\" \
                 stroke-width=\"1.5\"/>\n<svg x=\"{x:.1}\" width=\"{side:.1}\" height=\"{side:.1}\" fill=\"none\">",
                colour(k)
            );
            let view = View { left: mean[0] - self.half, top: mean[1] + self.half, scale, height: side };
            if let Some(component) = panel.with_noise.as_ref().and_then(|all| all.get(k)) {
                view.ring(svg, component, WITH_NOISE);
            }
            view.ring(svg, component, POSTERIOR);
            svg.push_str(&cross(side / 2.0, side / 2.0));
            svg.push_str("</svg>\n");
            if !self.holds(component, mean) {
                let style = "text-anchor=\"middle\" font-size=\"9\" fill=\"#777\"";
                text(svg, x + side / 2.0, side - 5.0, style, "fit outside");
            }
        }
    }

    fn holds(&self, component: &Moments, mean: &[f64]) -> bool {
        is_finite(component) && (0..2).all(|k| (component.mean[k] - mean[k]).abs() <= self.half)
    }
}

/// The mark of a true mean.
pub(super) fn cross(x: f64, y: f64) -> String {
    format!(
        "<path d=\"M{:.1} {:.1}l6 6m0 -6l-6 6\" stroke=\"#d00\" stroke-width=\"1.3\"/>\n",
        x - 3.0,
        y - 3.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mixture::paper_data;
    use crate::truth::given_labels;

    #[test]
    fn a_lost_component_does_not_set_the_scale() {
        let data = paper_data(60, 200, 4, 2).unwrap();
        let mut fit = given_labels(&data);
        let near = Closeup::of(&data, &[Panel::truth("near", &data, &fit)]);
        fit[0].mean[0] += 100.0;
        let lost = Panel::truth("lost", &data, &fit);
        let far = Closeup::of(&data, std::slice::from_ref(&lost));
        assert!(far.half <= near.half);
        let mut svg = String::new();
        far.draw(&mut svg, &data, &lost);
        assert_eq!(svg.matches("fit outside").count(), 1);
    }
}
