//! The picture of the project's README: private fits at three budgets beside a fit without privacy.
//!
//! `cargo run --release --example picture -- docs/picture.svg`, or `cargo xtask picture`. The patients are the same in each run and the noise is
//! fresh, so that each picture is another one.

use reticent::{Adjacency, Fit, Fitted, Predicted, Privacy, Schema};
use reticent_figure::{Axis, Drawing, Element, Plot, Style, colour, short};

#[path = "simulated/ward.rs"]
mod ward;

const PATIENTS: u64 = 5000;
const EPSILONS: [f64; 3] = [0.1, 1.0, 10.0];
const DELTA: f64 = 1e-6;
/// The 97.5 % quantile of the standard normal distribution.
const QUANTILE: f64 = 1.959_964;
/// Length of the axes of a panel in pixels: across, and up.
const PANEL: (f64, f64) = (232.0, 200.0);

const PRIVATE: &str = "private: mean and 95 % interval";
const OPEN: &str = "without privacy: mean and 95 % interval";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = std::env::args().nth(1).ok_or("the name of the SVG file is missing")?;
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("patients.csv");
    std::fs::write(&data, ward::patients(PATIENTS))?;
    let schema = Schema::parse(ward::SCHEMA)?;

    let open = curve(&Fit::new("logistic", &schema)?.without_privacy().run(&data)?)?;
    let mut panels = Vec::new();
    for epsilon in EPSILONS {
        let privacy = Privacy::new(epsilon, DELTA, Adjacency::ReplaceOne)?;
        let fit = Fit::new("logistic", &schema)?.privacy(privacy).run(&data)?;
        panels.push(panel(epsilon, &curve(&fit)?, &open));
    }
    std::fs::write(out, drawing(&panels).to_string())?;
    Ok(())
}

/// The probability of readmission of a patient who came by appointment: age in years, mean, and the ends of the interval, all three in percent.
fn curve(fit: &Fitted) -> Result<Vec<[f64; 4]>, &'static str> {
    let at = |share: f64| match fit.posterior().predict_row(&[2.0 * share - 1.0, -1.0], &[]) {
        Predicted::Class { probability, score, link, variances } => {
            let sd = (variances.records + variances.privacy).sqrt();
            let [low, high] = [-QUANTILE, QUANTILE].map(|z| 100.0 * link.probability(score + z * sd));
            Ok([18.0 + 77.0 * share, 100.0 * probability, low, high])
        }
        _ => Err("a logistic regression predicts classes"),
    };
    (0..=76).map(|k| at(f64::from(k) / 76.0)).collect()
}

fn panel(epsilon: f64, private: &[[f64; 4]], open: &[[f64; 4]]) -> Plot {
    let is_first = epsilon == EPSILONS[0];
    let x = Axis::between("age, years", 18.0, 95.0);
    let y = Axis::between(if is_first { "readmitted, %" } else { "" }, 0.0, 100.0);
    let mut plot = Plot::new(&format!("epsilon {epsilon}"), PANEL, x, y).clipped();
    for (points, style) in [(private, private_style()), (open, open_style())] {
        plot.band(&style.1, points.iter().map(|&[x, _, low, high]| (x, low, high)));
        plot.line(&style.0, points.iter().map(|&[x, mean, ..]| (x, mean)));
    }
    plot
}

/// How the line of the private fit and its band look.
fn private_style() -> (Style, Style) {
    (Style::stroke(colour(0), 2.5), Style::fill(colour(5)).opacity(0.45))
}

/// The same of the fit without privacy.
fn open_style() -> (Style, Style) {
    (Style::stroke("#222", 1.5).dashed(), Style::fill("#222").opacity(0.2))
}

/// Panels in a row, with a title above them and a legend below.
fn drawing(panels: &[Plot]) -> Drawing {
    let (edge, top, below) = (14.0, 40.0, 34.0);
    let sizes: Vec<(f64, f64)> = panels.iter().map(Plot::outer_size).collect();
    let width = 2.0 * edge + sizes.iter().map(|size| size.0).sum::<f64>();
    let height = top + sizes.iter().map(|size| size.1).fold(0.0, f64::max) + below;
    let patients = short(PATIENTS as f64);
    let title = format!(
        "Readmission by age after planned admissions: {patients} simulated patients, delta {DELTA:e}"
    );
    let mut drawing = Drawing::new(&title, width, height).with_background();
    drawing.push(Element::text(edge, 24.0, &title).set("font-size", "15").set("font-weight", "600"));
    let mut x = edge;
    for (plot, size) in panels.iter().zip(&sizes) {
        let (left, above, ..) = plot.margins();
        drawing.push(Element::group(x + left, top + above).child(plot.group()));
        x += size.0;
    }
    let mut x = edge + 40.0;
    for (name, (line, band)) in [(PRIVATE, private_style()), (OPEN, open_style())] {
        let y = height - 20.0;
        drawing.push(band.apply(Element::rectangle(x, y - 7.0, 28.0, 14.0)));
        drawing.push(line.apply(Element::path([(x, y), (x + 28.0, y)], false)));
        drawing.push(Element::text(x + 36.0, y + 4.0, name));
        x += 300.0;
    }
    drawing
}
