//! A row of squares below a panel, one for each component: the posterior about the true mean.

use reticent_figure::{Element, Style, colour};

use super::ring::{is_finite, ring, ring_quantile};
use super::{PANEL_WIDTH, POSTERIOR, Panel, WITH_NOISE};
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
    /// The smallest round number that shows every ring in full. Fits farther off than a typical record are ignored: they have
    /// lost their component, and would make the others too small.
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

    /// Height below a panel, in pixels.
    pub(super) fn height(&self) -> f64 {
        self.side + BELOW
    }

    /// The squares of a panel.
    pub(super) fn squares(&self, data: &Mixture, panel: &Panel) -> Vec<Element> {
        let square = |(k, (component, mean)): (usize, (&Moments, &Vec<f64>))| {
            let noisy = panel.with_noise.as_ref().and_then(|all| all.get(k));
            self.square(colour(k), mean, component, noisy)
        };
        let squares = panel.components.iter().zip(&data.means).enumerate().map(square);
        squares
            .enumerate()
            .map(|(k, square)| Element::group(k as f64 * (self.side + BETWEEN), 0.0).child(square))
            .collect()
    }

    fn square(
        &self,
        colour: &'static str,
        mean: &[f64],
        component: &Moments,
        noisy: Option<&Moments>,
    ) -> Element {
        let (side, scale) = (self.side, self.side / (2.0 * self.half));
        // A drawing in a drawing hides what is beyond it.
        let mut inside = Element::new("svg").number("width", side).number("height", side);
        let rings = [(noisy, WITH_NOISE), (Some(component), POSTERIOR)];
        for (points, style) in rings.into_iter().filter_map(|(moments, style)| Some((ring(moments?)?, style)))
        {
            let place =
                |(x, y): (f64, f64)| (0.5 * side + scale * (x - mean[0]), 0.5 * side - scale * (y - mean[1]));
            inside.push(style.apply(Element::path(points.into_iter().map(place), true)));
        }
        inside.push(cross(0.5 * side, 0.5 * side));
        let border = Style::stroke(colour, 1.5).apply(Element::rectangle(0.0, 0.0, side, side));
        let group = Element::new("g").child(border).child(inside);
        if self.holds(component, mean) {
            return group;
        }
        let note = Element::text(0.5 * side, side - 5.0, "fit outside").set("text-anchor", "middle");
        group.child(note.set("font-size", "10").set("fill", "#555"))
    }

    fn holds(&self, component: &Moments, mean: &[f64]) -> bool {
        is_finite(component) && (0..2).all(|k| (component.mean[k] - mean[k]).abs() <= self.half)
    }
}

/// The mark of a true mean.
pub(super) fn cross(x: f64, y: f64) -> Element {
    let line = |by: f64| Element::path([(x - 3.0, y - by), (x + 3.0, y + by)], false);
    let red = Style::stroke("#d00", 1.3);
    Element::new("g").child(red.apply(line(3.0))).child(red.apply(line(-3.0)))
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
        let svg: String = far.squares(&data, &lost).iter().map(Element::to_string).collect();
        assert_eq!(svg.matches("fit outside").count(), 1);
    }
}
