//! Plots as SVG, for reports and papers.
//!
//! - An [`Axis`] maps numbers or categories to a length, and places round ticks on it.
//! - A [`Plot`] has two of them, and marks in their units: lines, bands, points, rectangles.
//! - [`Strips`] are rows of a table on one axis: a point and two intervals each, as wide as their cells.
//! - A [`Style`] is a stroke or a fill, and optionally a class, so that the style sheet of a page can override the colours.
//! - A [`Drawing`] is the SVG itself. It contains one or several plots, or [elements](Element).
//!
//! ```
//! use reticent_figure::{Axis, Plot, Style, colour};
//!
//! let curve = [(1.0, 0.5), (2.0, 0.7), (4.0, 0.8)];
//! let x = Axis::logarithmic("epsilon", curve.map(|p| p.0));
//! let y = Axis::linear("accuracy", curve.map(|p| p.1));
//! let mut plot = Plot::new("Accuracy by budget", (460.0, 300.0), x, y);
//! let style = Style::stroke(colour(0), 2.0);
//! plot.line(&style, curve);
//! plot.label_end("A < B", &style, curve[2]);
//! assert!(plot.to_string().contains("A &lt; B"));
//! ```
//!
//! # Untrusted input
//! Names may come from untrusted files. Tags, attribute names, classes and colours are constants of the program;
//! everything else is a number, or a text that is escaped when it is written. Numbers that are not finite are left out, and the
//! plot states how many.

mod axis;
mod element;
mod plot;
mod strip;
mod style;

pub use axis::{Axis, short};
pub use element::{Drawing, Element, escape};
pub use plot::Plot;
pub use strip::{Strip, StripStyle, Strips, with_interval};
pub use style::{Style, colour};
