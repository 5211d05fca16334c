//! One panel: axes, records and rings.

use std::f64::consts::PI;
use std::fmt::Write as _;

use super::{HALO, PANEL_WIDTH, POSTERIOR, Panel, RECORDS, WITH_NOISE, colour, with_records};
use crate::cholesky::cholesky;
use crate::metrics::Moments;
use crate::mixture::Mixture;

/// The window onto the plane that all panels share: one unit is as long down as across.
pub(super) struct View {
    pub(super) left: f64,
    pub(super) top: f64,
    /// Pixels per unit.
    pub(super) scale: f64,
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
        let scale = PANEL_WIDTH / width;
        Self { left: x - 0.5 * width, top: y + 0.5 * height, scale, height: (height * scale).round() }
    }

    fn x(&self, x: f64) -> f64 {
        (x - self.left) * self.scale
    }

    fn y(&self, y: f64) -> f64 {
        (self.top - y) * self.scale
    }

    /// A grid with numbers. The coordinates are named in the first column and in the last row.
    pub(super) fn axes(&self, svg: &mut String, first_column: bool, last_row: bool) {
        const MIDDLE: &str = "text-anchor=\"middle\"";
        let height = self.height;
        let width = PANEL_WIDTH / self.scale;
        let step = tick_step(width);
        let line = |svg: &mut String, grid: &str, tick: &str| {
            let _ = writeln!(svg, "<path d=\"{grid}\" stroke=\"#eee\"/><path d=\"{tick}\" stroke=\"#888\"/>");
        };
        for x in ticks(self.left, self.left + width, step) {
            let at = self.x(x);
            line(svg, &format!("M{at:.1} 0v{height:.1}"), &format!("M{at:.1} {height:.1}v4"));
            text(svg, at, height + 16.0, MIDDLE, &tick_label(x, step));
        }
        for y in ticks(self.top - height / self.scale, self.top, step) {
            let at = self.y(y);
            line(svg, &format!("M0 {at:.1}h{PANEL_WIDTH:.1}"), &format!("M-4 {at:.1}h4"));
            text(svg, -7.0, at + 4.0, "text-anchor=\"end\"", &tick_label(y, step));
        }
        let frame =
            format!("width=\"{PANEL_WIDTH:.1}\" height=\"{height:.1}\" fill=\"none\" stroke=\"#888\"");
        let _ = writeln!(svg, "<rect {frame}/>");
        let name = |k: char| format!("x<tspan dy=\"3\" font-size=\"9\">{k}</tspan>");
        if last_row {
            text(svg, PANEL_WIDTH / 2.0, height + 30.0, MIDDLE, &name('1'));
        }
        if first_column {
            text(svg, -34.0, height / 2.0, MIDDLE, &name('2'));
        }
    }

    /// Records and rings. The inner `svg` clips what lies outside.
    pub(super) fn contents(&self, svg: &mut String, data: &Mixture, panel: &Panel) {
        let _ = writeln!(svg, "<svg width=\"{PANEL_WIDTH:.1}\" height=\"{:.1}\" fill=\"none\">", self.height);
        for j in 0..panel.components.len() {
            let mut dots = String::new();
            for (x, _) in data.records().zip(&panel.labels).filter(|&(_, &label)| label == j) {
                let _ = write!(dots, "M{:.1} {:.1}h0", self.x(x[0]), self.y(x[1]));
            }
            let style = "stroke-width=\"2.4\" stroke-linecap=\"round\" opacity=\".5\"";
            let _ = writeln!(svg, "<path d=\"{dots}\" stroke=\"{}\" {style}/>", colour(j));
        }
        for (j, component) in panel.components.iter().enumerate() {
            let style = format!("{RECORDS} stroke=\"{}\"", colour(j));
            self.ring(svg, &with_records(component, data.noise_variance), &style);
        }
        for component in panel.with_noise.iter().flatten() {
            self.ring(svg, component, HALO);
            self.ring(svg, component, WITH_NOISE);
        }
        for component in &panel.components {
            self.ring(svg, component, HALO);
            self.ring(svg, component, POSTERIOR);
        }
        svg.push_str("</svg>\n");
        if let Some(note) = self.note(panel) {
            let style = "text-anchor=\"end\" stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\"";
            text(svg, PANEL_WIDTH - 6.0, 15.0, style, &note);
        }
    }

    /// The ellipse that holds 98 % of the first two coordinates. Nothing if it is not an ellipse.
    pub(super) fn ring(&self, svg: &mut String, component: &Moments, style: &str) {
        let d = component.mean.len();
        let (a, b, c) = (component.covariance[0], component.covariance[1], component.covariance[d + 1]);
        let (middle, spread) = (0.5 * (a + c), (0.25 * (a - c) * (a - c) + b * b).sqrt());
        let (major, minor) = (middle + spread, middle - spread);
        if !is_finite(component) || minor <= 0.0 {
            return;
        }
        let radius = |variance: f64| (ring_quantile() * variance).sqrt() * self.scale;
        // Downward is positive in SVG, so the angle of the major axis changes sign.
        let angle = -0.5 * (2.0 * b).atan2(a - c) * 180.0 / PI;
        let (x, y) = (self.x(component.mean[0]), self.y(component.mean[1]));
        let place = format!("transform=\"translate({x:.2} {y:.2}) rotate({angle:.1})\"");
        let _ = writeln!(
            svg,
            "<ellipse rx=\"{:.2}\" ry=\"{:.2}\" {place} {style}/>",
            radius(major),
            radius(minor)
        );
    }

    /// What the panel cannot show.
    fn note(&self, panel: &Panel) -> Option<String> {
        let count = |what: &dyn Fn(&Moments) -> bool| panel.components.iter().filter(|c| what(c)).count();
        let improper = count(&|c: &Moments| !is_finite(c) || cholesky(&c.covariance, c.mean.len()).is_none());
        let outside = count(&|c: &Moments| {
            let (x, y) = (self.x(c.mean[0]), self.y(c.mean[1]));
            !(0.0..=PANEL_WIDTH).contains(&x) || !(0.0..=self.height).contains(&y)
        });
        match (improper, outside) {
            (0, 0) => None,
            (0, outside) => Some(format!("means outside: {outside}")),
            (improper, _) => Some(format!("not positive definite: {improper}")),
        }
    }
}

/// A line of text; the content is markup already.
pub(crate) fn text(svg: &mut String, x: f64, y: f64, style: &str, content: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{content}</text>");
}

pub(super) fn is_finite(component: &Moments) -> bool {
    component.mean.iter().chain(&component.covariance).all(|v| v.is_finite())
}

/// The 98 % quantile of chi-square with two degrees of freedom, whose distribution function is `1 - exp(-q/2)`.
pub(super) fn ring_quantile() -> f64 {
    -2.0 * 0.02_f64.ln()
}

/// The least of 1, 2, 5, 10, ... (times a power of ten) that makes at most eight steps of the range.
fn tick_step(range: f64) -> f64 {
    let power = 10f64.powf((range / 8.0).log10().floor());
    let multiple = [1.0, 2.0, 5.0].into_iter().find(|multiple| multiple * power * 8.0 >= range);
    power * multiple.unwrap_or(10.0)
}

fn ticks(low: f64, high: f64, step: f64) -> impl Iterator<Item = f64> {
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    (first..=last).map(move |k| k as f64 * step)
}

fn tick_label(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    format!("{value:.decimals$}").replace('-', "\u{2212}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_holds_98_per_cent() {
        // scipy.stats.chi2.ppf(0.98, 2).
        assert!((ring_quantile() - 7.824046010856292).abs() < 1e-12);
    }

    #[test]
    fn a_tilted_ring_has_the_axes_of_its_covariance() {
        // Variances 4 along (1, 1) and 1 across.
        let component = Moments { mean: vec![1.0, 2.0], covariance: vec![2.5, 1.5, 1.5, 2.5] };
        let view = View { left: 0.0, top: 10.0, scale: 10.0, height: 100.0 };
        let mut svg = String::new();
        view.ring(&mut svg, &component, "");
        // Radii 10 * sqrt(7.824) times 2 and 1; 45 degrees upwards is -45 in SVG.
        let expected =
            "<ellipse rx=\"55.94\" ry=\"27.97\" transform=\"translate(10.00 80.00) rotate(-45.0)\" />\n";
        assert_eq!(svg, expected);
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(tick_step(7.3), 1.0);
        assert_eq!(tick_step(9.0), 2.0);
        assert_eq!(tick_step(0.5), 0.1);
        assert_eq!(ticks(-3.2, 4.1, 2.0).collect::<Vec<_>>(), [-2.0, 0.0, 2.0, 4.0]);
        assert_eq!(tick_label(-0.5, 0.5), "\u{2212}0.5");
    }
}
