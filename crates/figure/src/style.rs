//! Colours and strokes.

use crate::Element;

/// Okabe and Ito, "Color universal design", 2008: distinguishable with any common colour vision.
const PALETTE: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#777777", "#000000"];

/// The colour of this index in a palette of eight, which repeats.
#[must_use]
pub fn colour(number: usize) -> &'static str {
    PALETTE[number % PALETTE.len()]
}

/// Fill and stroke of a mark. Colours are attributes, so a style sheet that names the class overrides them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Style {
    class: Option<&'static str>,
    fill: &'static str,
    stroke: Option<(&'static str, f64)>,
    opacity: f64,
    dashes: Option<&'static str>,
}

impl Style {
    /// A fill without a stroke.
    #[must_use]
    pub const fn fill(colour: &'static str) -> Self {
        Self { class: None, fill: colour, stroke: None, opacity: 1.0, dashes: None }
    }

    /// A stroke of a colour and a width in pixels, without a fill.
    #[must_use]
    pub const fn stroke(colour: &'static str, width: f64) -> Self {
        Self { stroke: Some((colour, width)), ..Self::fill("none") }
    }

    /// A class for style sheets.
    #[must_use]
    pub const fn class(self, class: &'static str) -> Self {
        Self { class: Some(class), ..self }
    }

    /// From 0 for invisible to 1.
    #[must_use]
    pub const fn opacity(self, opacity: f64) -> Self {
        Self { opacity, ..self }
    }

    /// Dashes instead of a line.
    #[must_use]
    pub const fn dashed(self) -> Self {
        Self { dashes: Some("5 4"), ..self }
    }

    /// Short dashes, for short lines.
    #[must_use]
    pub const fn finely_dashed(self) -> Self {
        Self { dashes: Some("4 2.5"), ..self }
    }

    /// The colour of the stroke, or of the fill without a stroke.
    #[must_use]
    pub fn main_colour(&self) -> &'static str {
        self.stroke.map_or(self.fill, |(colour, _)| colour)
    }

    /// The class for style sheets.
    #[must_use]
    pub fn class_name(&self) -> Option<&'static str> {
        self.class
    }

    /// Whether there is no fill.
    #[must_use]
    pub fn is_line(&self) -> bool {
        self.fill == "none"
    }

    /// Sets the attributes of an element.
    #[must_use]
    pub fn apply(&self, mut element: Element) -> Element {
        if let Some(class) = self.class {
            element = element.set("class", class);
        }
        element = element.set("fill", self.fill);
        if let Some((colour, width)) = self.stroke {
            element = element.set("stroke", colour).number("stroke-width", width);
        }
        if let Some(dashes) = self.dashes {
            element = element.set("stroke-dasharray", dashes);
        }
        if self.opacity < 1.0 {
            element = element.number("opacity", self.opacity);
        }
        element
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_attributes_and_classes() {
        let line = Style::stroke(colour(8), 2.0).class("mean").dashed();
        let path = line.apply(Element::path([(0.0, 0.0), (1.0, 1.0)], false)).to_string();
        let expected = "<path d=\"M0 0L1 1\" class=\"mean\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"2\" \
                        stroke-dasharray=\"5 4\"/>";
        assert_eq!(path, expected);
        let band = Style::fill(colour(1)).opacity(0.25);
        assert_eq!((band.main_colour(), band.is_line(), line.is_line()), ("#e69f00", false, true));
    }
}
