//! Figure 1 of Vinaroz and Park as SVG: one panel per method, and a page that holds it.
//!
//! Each panel shows the first two coordinates: the records coloured by component, and for each component three rings
//! of 98 %. The thin one holds records, `N(m_j, V_j + s^2 I)`. The black one is the posterior `N(m_j, V_j)` of the
//! mean, the ring the paper draws; with a thousand records it is small. The dashed one is that posterior with the
//! uncertainty from the privacy noise included. Close-ups below the panel show the latter two about the true mean of each
//! component. The records are plotted as they are: draw simulated data only.

mod closeup;
mod lines;
mod page;
mod ring;
mod view;

use reticent_figure::{Drawing, Element, Style, colour};
use thiserror::Error;

use closeup::Closeup;
pub use lines::{Scale, Series, lines};
pub use page::html;
pub(crate) use page::{html_table, page};
use view::View;

use crate::cholesky::{cholesky, log_determinant, solve_lower};
use crate::metrics::{MetricError, Moments, pairing};
use crate::mixture::Mixture;

const PANEL_WIDTH: f64 = 290.0;
const LEFT: f64 = 46.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 52.0;
const GAP: f64 = 16.0;
const LEGEND_ROW: f64 = 24.0;

/// Errors of a figure.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FigureError {
    /// There are no panels, or no columns to set them in.
    #[error("a figure needs at least one panel and one column")]
    Empty,
    /// The data have one dimension only.
    #[error("the figure shows two coordinates, but the data have one")]
    OneDimension,
    /// A panel does not go with the data.
    #[error(
        "panel {title:?} has {labels} labels for {records} records, or a label or component out of range"
    )]
    Panel {
        /// The title of the panel.
        title: String,
        /// Its labels.
        labels: usize,
        /// The records of the data.
        records: usize,
    },
    /// A fit could not be paired with the truth.
    #[error(transparent)]
    Pairing(#[from] MetricError),
}

/// The fit of one method.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Title of the panel.
    pub title: String,
    /// The component that colours each record.
    pub labels: Vec<usize>,
    /// The posterior of each component's mean, in the order of the colours.
    pub components: Vec<Moments>,
    /// The same with the uncertainty from the privacy noise included, if that is known.
    pub with_noise: Option<Vec<Moments>>,
}

impl Panel {
    /// A panel coloured by the true labels.
    pub fn truth(title: &str, data: &Mixture, components: &[Moments]) -> Self {
        let labels = data.labels.clone();
        Self { title: title.to_string(), labels, components: components.to_vec(), with_noise: None }
    }

    /// A private fit, with and without the uncertainty from the privacy noise. Both have the same components in the same
    /// order; the rest is as for [`fit`](Self::fit).
    pub fn private(
        title: &str,
        data: &Mixture,
        truth: &[Moments],
        fit: &[Moments],
        with_noise: &[Moments],
    ) -> Result<Self, FigureError> {
        let noisy = pairing(truth, with_noise)?.into_iter().map(|j| with_noise[j].clone()).collect();
        Ok(Self { with_noise: Some(noisy), ..Self::fit(title, data, truth, fit)? })
    }

    /// A fit: its components put in the order of the truth, each record given to its most probable component.
    pub fn fit(title: &str, data: &Mixture, truth: &[Moments], fit: &[Moments]) -> Result<Self, FigureError> {
        let components: Vec<_> = pairing(truth, fit)?.into_iter().map(|j| fit[j].clone()).collect();
        let labels = most_probable(data, &components);
        Ok(Self { title: title.to_string(), labels, components, with_noise: None })
    }
}

/// For each record the component with the largest `N(x; m_j, V_j + s^2 I)`, the first where none is proper.
fn most_probable(data: &Mixture, components: &[Moments]) -> Vec<usize> {
    let d = data.dimension();
    let factors: Vec<_> =
        components.iter().map(|c| cholesky(&with_records(c, data.noise_variance).covariance, d)).collect();
    let log_density = |x: &[f64], j: usize| {
        let difference: Vec<f64> = x.iter().zip(&components[j].mean).map(|(x, m)| x - m).collect();
        factors[j].as_ref().map_or(f64::NEG_INFINITY, |l| {
            let distance: f64 = solve_lower(l, &difference).iter().map(|y| y * y).sum();
            -0.5 * (distance + log_determinant(l, d))
        })
    };
    let label = |x: &[f64]| {
        let densities = (0..components.len()).map(|j| (j, log_density(x, j)));
        let best =
            densities.fold((0, f64::NEG_INFINITY), |best, next| if next.1 > best.1 { next } else { best });
        best.0
    };
    data.records().map(label).collect()
}

/// The distribution of a record: the covariance of the mean plus that of a record about it.
fn with_records(component: &Moments, noise_variance: f64) -> Moments {
    let mut wide = component.clone();
    wide.covariance.iter_mut().step_by(component.mean.len() + 1).for_each(|v| *v += noise_variance);
    wide
}

/// The panels in rows of `columns`, all to the same scale, with one legend below.
pub fn svg(data: &Mixture, panels: &[Panel], columns: usize) -> Result<String, FigureError> {
    if panels.is_empty() || columns == 0 {
        return Err(FigureError::Empty);
    }
    if data.dimension() < 2 {
        return Err(FigureError::OneDimension);
    }
    for panel in panels {
        let d = data.dimension();
        let fits = |c: &Moments| c.mean.len() == d && c.covariance.len() == d * d;
        let in_range = panel.labels.iter().all(|&label| label < panel.components.len());
        let shapes = panel.components.iter().chain(panel.with_noise.iter().flatten()).all(fits);
        if panel.labels.len() != data.labels.len() || !in_range || !shapes {
            let (labels, records) = (panel.labels.len(), data.labels.len());
            return Err(FigureError::Panel { title: panel.title.clone(), labels, records });
        }
    }

    let view = View::of(data);
    let closeup = Closeup::of(data, panels);
    let columns = columns.min(panels.len());
    let rows = panels.len().div_ceil(columns);
    let (cell_width, cell_height) = (LEFT + PANEL_WIDTH + GAP, TOP + view.height + BOTTOM + closeup.height());
    let width = cell_width * columns as f64;
    let with_noise = panels.iter().any(|panel| panel.with_noise.is_some());
    let components = panels.iter().map(|panel| panel.components.len()).max().unwrap_or(0);
    let (legend, legend_height) = legend(components, with_noise, closeup.half, width);
    let height = cell_height * rows as f64 + legend_height;

    let mut drawing =
        Drawing::new("Posterior of the component means, by method", width, height).with_background();
    for (i, panel) in panels.iter().enumerate() {
        let (x, y) = (LEFT + cell_width * (i % columns) as f64, TOP + cell_height * (i / columns) as f64);
        let (first_column, last_row) = (i % columns == 0, i + columns >= panels.len());
        let below = Element::group(0.0, view.height + BOTTOM).children(closeup.squares(data, panel));
        let plot = view.plot(data, panel, first_column, last_row).group();
        drawing.push(Element::group(x, y).child(plot).child(below));
    }
    drawing.push(Element::group(0.0, cell_height * rows as f64).children(legend));
    Ok(drawing.to_string())
}

/// Drawn in the colour of the component.
const RECORDS_WIDTH: f64 = 1.2;
const POSTERIOR: Style = Style::stroke("#000", 1.4);
const WITH_NOISE: Style = Style::stroke("#000", 1.2).finely_dashed();
/// Under the black rings, so that they stand out from the records.
const HALO: Style = Style::stroke("#fff", 3.0).opacity(0.8);

/// The legend and its height: components, then rings; entries that do not fit go on the next row.
fn legend(components: usize, with_noise: bool, half: f64, width: f64) -> (Vec<Element>, f64) {
    let dot = |j: usize| Style::fill(colour(j)).apply(Element::circle(9.0, 0.0, 4.0));
    let ring = |style: Style| {
        let ellipse = Element::new("ellipse").number("cx", 9.0).number("rx", 9.0).number("ry", 6.0);
        style.apply(ellipse)
    };
    let dots: Vec<_> = (0..components).map(|j| (dot(j), format!("component {}", j + 1))).collect();
    let mut rings = vec![
        (ring(Style::stroke("#777", RECORDS_WIDTH)), "98 % of records".to_owned()),
        (ring(POSTERIOR), "98 % posterior of the mean".to_owned()),
    ];
    if with_noise {
        rings.push((ring(WITH_NOISE), "98 % posterior of the mean, privacy noise included".to_owned()));
    }
    let square = Style::stroke("#888", 1.0).apply(Element::rectangle(1.0, -8.0, 16.0, 16.0));
    let cross = Element::new("g").child(square).child(closeup::cross(9.0, 0.0));
    rings.push((cross, format!("close-up: \u{b1}{half} about the true mean")));
    let mut legend = Vec::new();
    let mut y = -0.25 * LEGEND_ROW;
    for entries in [dots, rings] {
        let mut x = f64::INFINITY;
        for (symbol, text) in entries {
            let length = 44.0 + 6.7 * text.chars().count() as f64;
            if x + length > width {
                (x, y) = (LEFT, y + LEGEND_ROW);
            }
            legend.push(Element::group(x, y).child(symbol).child(Element::text(25.0, 4.0, &text)));
            x += length;
        }
    }
    (legend, y + 0.75 * LEGEND_ROW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mixture::paper_data;
    use crate::truth::given_labels;

    #[test]
    fn every_record_and_ring_is_drawn() {
        let data = paper_data(60, 200, 4, 4).unwrap();
        let exact = given_labels(&data);
        let mut shuffled = exact.clone();
        shuffled.rotate_left(1);
        let mut fit = Panel::fit("DP-SEP, \u{3b5} < 1", &data, &exact, &shuffled).unwrap();
        assert_eq!(fit.components, exact);
        let agree = fit.labels.iter().zip(&data.labels).filter(|(a, b)| a == b).count();
        assert!(agree > 190);
        fit.with_noise = Some(exact.clone());
        let figure = svg(&data, &[Panel::truth("truth", &data, &exact), fit], 2).unwrap();
        assert_eq!(figure.matches("h0").count(), 2 * 200);
        // Per component thin, halo and black, then halo and dashes; black and dashed ones in close-ups.
        assert_eq!(figure.matches("Z\"").count(), 2 * 4 * 3 + 4 * 2 + 2 * 4 + 4);
        assert!(figure.contains("DP-SEP, \u{3b5} &lt; 1"));
        assert!(!figure.contains("NaN") && !figure.contains("inf"));
    }

    #[test]
    fn invalid_figures_are_errors() {
        let data = paper_data(60, 50, 2, 2).unwrap();
        let mut far = given_labels(&data);
        far[1].mean[0] = 1e3;
        let figure = svg(&data, &[Panel::truth("far", &data, &far)], 3).unwrap();
        assert!(figure.contains("means outside: 1"));
        far[0].covariance = vec![1.0, 2.0, 2.0, 1.0];
        far[1].mean[0] = f64::NAN;
        let figure = svg(&data, &[Panel::truth("improper", &data, &far)], 3).unwrap();
        assert!(figure.contains("not positive definite: 2") && !figure.contains("NaN"));
        assert_eq!(svg(&data, &[], 3), Err(FigureError::Empty));
        let short = Panel { labels: vec![0], ..Panel::truth("short", &data, &far) };
        let error = FigureError::Panel { title: "short".to_string(), labels: 1, records: 50 };
        assert_eq!(svg(&data, &[short], 3), Err(error));
    }
}
