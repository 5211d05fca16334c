//! What to expect of a plan, drawn by budget or by the number of records.

use reticent::Forecast;
use reticent_figure::{Axis, Drawing, Element, Plot, Style, colour};

/// Size of a plot, and of the room for the names of curves.
const SIZE: (f64, f64) = (420.0, 260.0);
const NAMES: f64 = 150.0;

type Curve = (String, Vec<(f64, f64)>);

/// Two plots as SVG, by epsilon or by the number of records: the widths of intervals over those without privacy, and the first
/// figure of error.
#[must_use]
pub fn forecasts(forecasts: &[Forecast], by_epsilon: bool) -> String {
    let at = |forecast: &Forecast| {
        if by_epsilon { forecast.epsilon.unwrap_or(f64::NAN) } else { forecast.records as f64 }
    };
    let count = forecasts.first().map_or(0, |forecast| forecast.variables().len());
    let width = |k: usize| -> Option<Curve> {
        let name = forecasts.first()?.variables().get(k)?.0.replace('_', " ");
        let point = |forecast: &Forecast| {
            let (_, width, free) = *forecast.variables().get(k)?;
            (free > 0.0).then(|| (at(forecast), width / free))
        };
        let points: Vec<(f64, f64)> = forecasts.iter().filter_map(point).collect();
        (!points.is_empty()).then_some((name, points))
    };
    let widths: Vec<Curve> = (0..count).filter_map(width).collect();
    let error = forecasts.first().and_then(|forecast| forecast.errors.first()).map(|(name, _)| name.clone());
    let errors = forecasts.iter().filter_map(|forecast| Some((at(forecast), forecast.errors.first()?.1)));
    let x = || {
        let name = if by_epsilon { "epsilon" } else { "number of records" };
        Axis::logarithmic(name, forecasts.iter().map(at))
    };
    let ratios = widths.iter().flat_map(|(_, curve)| curve.iter().map(|point| point.1)).chain([1.0]);
    let first = plot(
        "Widths of 95 % intervals, over those without privacy",
        (x(), Axis::logarithmic("ratio", ratios)),
        &widths,
    );
    let mut plots = vec![first];
    if let Some(name) = error {
        let curve: Vec<(f64, f64)> = errors.collect();
        let y = Axis::linear(&name, curve.iter().map(|point| point.1));
        plots.push(plot("Error of predictions", (x(), y), &[(String::new(), curve)]));
    }
    let sizes: Vec<(f64, f64)> = plots.iter().map(Plot::outer_size).collect();
    let (across, height) =
        sizes.iter().fold((0.0, 0.0), |(width, height), size| (width + size.0, f64::max(height, size.1)));
    let mut drawing = Drawing::new("What to expect of the plan", across, height).with_background();
    let mut left = 0.0;
    for (plot, size) in plots.iter().zip(&sizes) {
        drawing.push(Element::group(left, 0.0).child(plot.group()));
        left += size.0;
    }
    drawing.to_string()
}

fn plot(title: &str, (x, y): (Axis, Axis), curves: &[Curve]) -> Plot {
    let named = curves.iter().any(|(name, _)| !name.is_empty());
    let mut plot = Plot::new(title, SIZE, x, y).with_room_right(if named { NAMES } else { 20.0 });
    for (k, (name, curve)) in curves.iter().enumerate() {
        let style = Style::stroke(colour(k), 2.0);
        plot.line(&style, curve.iter().copied());
        plot.points(&Style::fill(colour(k)), 3.0, curve.iter().copied());
        if let Some(last) = curve.last().filter(|_| !name.is_empty()) {
            plot.label_end(name, &style, *last);
        }
    }
    plot
}
