//! SVG elements, escaped by construction.

use std::fmt::{self, Display, Write as _};

/// An element with attributes and content. Its tag and the names of attributes are constants; texts are escaped.
#[derive(Debug, Clone, PartialEq)]
pub struct Element {
    tag: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Element(Element),
    Text(String),
}

impl Element {
    /// An element without attributes or content.
    #[must_use]
    pub fn new(tag: &'static str) -> Self {
        Self { tag, attributes: Vec::new(), children: Vec::new() }
    }

    /// A translated group.
    #[must_use]
    pub fn group(x: f64, y: f64) -> Self {
        Self::new("g").set("transform", format!("translate({} {})", Number(x), Number(y)))
    }

    /// A line of text that begins at a point.
    #[must_use]
    pub fn text(x: f64, y: f64, text: &str) -> Self {
        Self::new("text").number("x", x).number("y", y).content(text)
    }

    /// A rectangle.
    #[must_use]
    pub fn rectangle(x: f64, y: f64, width: f64, height: f64) -> Self {
        let rectangle = Self::new("rect").number("x", x).number("y", y);
        rectangle.number("width", width.max(0.0)).number("height", height.max(0.0))
    }

    /// A circle.
    #[must_use]
    pub fn circle(x: f64, y: f64, radius: f64) -> Self {
        Self::new("circle").number("cx", x).number("cy", y).number("r", radius)
    }

    /// Straight lines from corner to corner, and back to the first if closed.
    #[must_use]
    pub fn path(corners: impl IntoIterator<Item = (f64, f64)>, closed: bool) -> Self {
        let mut data = String::new();
        for (x, y) in corners {
            let command = if data.is_empty() { 'M' } else { 'L' };
            let _ = write!(data, "{command}{} {}", Number(x), Number(y));
        }
        Self::new("path").set("d", if closed { data + "Z" } else { data })
    }

    /// Sets an attribute.
    #[must_use]
    pub fn set(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    /// Replaces an attribute.
    #[must_use]
    pub fn replace(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.attributes.retain(|(known, _)| *known != name);
        self.set(name, value)
    }

    /// Sets an attribute to a length: to two decimals, and to 0 if it is not finite.
    #[must_use]
    pub fn number(self, name: &'static str, value: f64) -> Self {
        self.set(name, Number(value).to_string())
    }

    /// Appends a text.
    #[must_use]
    pub fn content(mut self, text: &str) -> Self {
        self.children.push(Node::Text(text.to_owned()));
        self
    }

    /// Appends an element.
    #[must_use]
    pub fn child(mut self, element: Self) -> Self {
        self.push(element);
        self
    }

    /// Appends elements.
    #[must_use]
    pub fn children(mut self, elements: impl IntoIterator<Item = Self>) -> Self {
        self.children.extend(elements.into_iter().map(Node::Element));
        self
    }

    /// Adds a tooltip, which screen readers announce too.
    #[must_use]
    pub fn hover(self, text: &str) -> Self {
        self.child(Self::new("title").content(text))
    }

    /// Appends an element.
    pub fn push(&mut self, element: Self) {
        self.children.push(Node::Element(element));
    }
}

impl Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", self.tag)?;
        for (name, value) in &self.attributes {
            write!(f, " {name}=\"{}\"", escape(value))?;
        }
        if self.children.is_empty() {
            return f.write_str("/>");
        }
        f.write_str(">")?;
        // Line breaks inside a text element would be shown.
        let lines = matches!(self.tag, "svg" | "g");
        for child in &self.children {
            match child {
                Node::Element(element) => write!(f, "{}{element}", if lines { "\n" } else { "" })?,
                Node::Text(text) => f.write_str(&escape(text))?,
            }
        }
        write!(f, "{}</{}>", if lines { "\n" } else { "" }, self.tag)
    }
}

/// Escapes a text for content or attribute values of XML or HTML. Control characters, which XML does not allow, are replaced.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push('\n'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A length in a drawing, rounded to hundredths of a pixel; 0 if it is not finite.
pub(crate) struct Number(pub(crate) f64);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.0.is_finite() { self.0.clamp(-1e5, 1e5) } else { 0.0 };
        // Adding 0 turns -0 into 0.
        write!(f, "{}", (100.0 * value).round() / 100.0 + 0.0)
    }
}

/// An SVG document.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    svg: Element,
    size: (f64, f64),
}

impl Drawing {
    /// An empty drawing of this size in pixels. The title is for screen readers; it is not drawn.
    #[must_use]
    pub fn new(title: &str, width: f64, height: f64) -> Self {
        let (width, height) = (width.round(), height.round());
        let svg = labelled(title)
            .set("viewBox", format!("0 0 {} {}", Number(width), Number(height)))
            .number("width", width)
            .number("height", height);
        Self { svg, size: (width, height) }
    }

    /// An empty drawing that is as wide as its place on a page and has this height in pixels: lengths across are percentages. The title is for screen
    /// readers, and a tooltip.
    #[must_use]
    pub fn wide(title: &str, height: f64) -> Self {
        let svg = labelled(title).set("class", "wide").set("width", "100%").number("height", height);
        Self { svg: svg.hover(title), size: (0.0, height) }
    }

    /// Adds a white background, for a standalone file. Without it the drawing is transparent.
    #[must_use]
    pub fn with_background(mut self) -> Self {
        self.svg.push(Element::rectangle(0.0, 0.0, self.size.0, self.size.1).set("fill", "#fff"));
        self
    }

    /// Appends an element.
    pub fn push(&mut self, element: Element) {
        self.svg.push(element);
    }
}

/// An image with a name for screen readers.
fn labelled(title: &str) -> Element {
    Element::new("svg")
        .set("xmlns", "http://www.w3.org/2000/svg")
        .set("role", "img")
        .set("font-family", "system-ui, sans-serif")
        .set("font-size", "12")
        .set("fill", "#222")
        .set("aria-label", title)
}

impl Display for Drawing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.svg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_markup() {
        let name = "</title><script>alert(\"1\")</script>&'\u{1}";
        let element = Element::text(1.0, 2.0, name).set("class", name).hover(name);
        let text = element.to_string();
        assert_eq!(text.matches('<').count(), 4, "{text}");
        assert!(text.contains("&lt;script&gt;") && text.contains("&amp;&#39;\u{fffd}"), "{text}");
        assert_eq!(text.matches('"').count(), 3 * 2, "{text}");
    }

    #[test]
    fn lengths_are_short_and_finite() {
        let shown = [1.0, -0.001, 0.126, f64::NAN, f64::INFINITY, 1e300, -2.5].map(|x| Number(x).to_string());
        assert_eq!(shown, ["1", "0", "0.13", "0", "0", "100000", "-2.5"]);
        let path = Element::path([(0.0, 1.0), (2.0, f64::NAN)], true);
        assert_eq!(path.to_string(), "<path d=\"M0 1L2 0Z\"/>");
    }

    #[test]
    fn a_drawing_has_a_size_and_a_name() {
        let mut drawing = Drawing::new("a & b", 10.4, 20.0).with_background();
        drawing.push(Element::group(1.0, 2.0).child(Element::circle(0.0, 0.0, 1.0)));
        let text = drawing.to_string();
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"), "{text}");
        assert!(
            text.contains("viewBox=\"0 0 10 20\"") && text.contains("aria-label=\"a &amp; b\""),
            "{text}"
        );
        assert!(text.contains("<g transform=\"translate(1 2)\">\n<circle"), "{text}");
    }
}
