//! Numbers that models can be given, with their ranges.

use std::fmt;

/// A number that a model can be given, by `--set` on the command line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// As it is given.
    pub name: &'static str,
    /// What it is, in a sentence without an end.
    pub about: &'static str,
    /// The value if none is given; without one it must be given.
    pub default: Option<f64>,
    /// The least value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// Whether it is an integer.
    pub integer: bool,
}

impl Setting {
    /// An integer within a range.
    #[must_use]
    pub const fn integer(name: &'static str, about: &'static str, range: (u32, u32)) -> Self {
        Self { name, about, default: None, min: range.0 as f64, max: range.1 as f64, integer: true }
    }

    /// A number within a range.
    #[must_use]
    pub const fn number(name: &'static str, about: &'static str, range: (f64, f64)) -> Self {
        Self { name, about, default: None, min: range.0, max: range.1, integer: false }
    }

    /// The same with a value if none is given.
    #[must_use]
    pub const fn or(self, default: f64) -> Self {
        Self { default: Some(default), ..self }
    }

    /// Whether this is a value of it: finite, in the range, and an integer if it has to be one.
    #[must_use]
    pub fn allows(&self, value: f64) -> bool {
        value.is_finite() && (self.min..=self.max).contains(&value) && (!self.integer || value.fract() == 0.0)
    }

    /// The values that it allows, in words.
    #[must_use]
    pub fn range(&self) -> Range {
        Range { min: self.min, max: self.max, integer: self.integer }
    }
}

/// A range of values, which shows as words: "an integer from 1 to 1000".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    min: f64,
    max: f64,
    integer: bool,
}

impl Range {
    /// Integers.
    pub(crate) fn integers(min: usize, max: usize) -> Self {
        Self { min: min as f64, max: max as f64, integer: true }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.integer { "an integer" } else { "a number" };
        let bound = |x: f64| match x {
            _ if self.integer || (1e-3..1e6).contains(&x) || x == 0.0 => format!("{x}"),
            _ => format!("{x:e}"),
        };
        write!(f, "{kind} from {} to {}", bound(self.min), bound(self.max))
    }
}
