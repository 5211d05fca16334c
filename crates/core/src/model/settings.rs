//! Typed settings of models: name, kind, range, default, unit and a sentence of documentation.

use crate::model::{Model, ModelError, TableShape};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A setting that a model declares, given by `--set NAME=VALUE` on the command line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// In lower case, with hyphens.
    pub name: &'static str,
    /// Kind and range.
    pub kind: SettingKind,
    /// In a sentence without a full stop.
    pub about: &'static str,
    /// The unit of measurement; empty for counts, shares, and what is on the scale of encoded inputs.
    pub unit: &'static str,
    default: Option<Default>,
}

/// The kind of a setting, with the values that it allows. Shows as words: "an integer from 1 to 1000".
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SettingKind {
    /// A finite number, both ends included.
    Number {
        /// The minimum.
        min: f64,
        /// The maximum.
        max: f64,
    },
    /// An integer, both ends included.
    Integer {
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
    },
    /// One of several words.
    Choice(&'static [&'static str]),
    /// True or false.
    Flag,
}

/// A default in a form that a constant can hold.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Default {
    Number(f64),
    Integer(u64),
    Choice(&'static str),
    Flag(bool),
}

/// The value of a setting. In JSON and TOML it is a plain number, text or boolean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SettingValue {
    /// True or false.
    Flag(bool),
    /// An integer that is not negative.
    Integer(u64),
    /// Any other number.
    Number(f64),
    /// A word.
    Choice(String),
}

impl Setting {
    /// An integer within a range, both ends included.
    #[must_use]
    pub const fn integer(name: &'static str, about: &'static str, (min, max): (u64, u64)) -> Self {
        Self { name, kind: SettingKind::Integer { min, max }, about, unit: "", default: None }
    }

    /// A number within a range, both ends included.
    #[must_use]
    pub const fn number(name: &'static str, about: &'static str, (min, max): (f64, f64)) -> Self {
        Self { name, kind: SettingKind::Number { min, max }, about, unit: "", default: None }
    }

    /// One of several words, the first of which is the default.
    ///
    /// # Panics
    /// At compile time, if there is none.
    #[must_use]
    pub const fn choice(name: &'static str, about: &'static str, words: &'static [&'static str]) -> Self {
        let default = Some(Default::Choice(words[0]));
        Self { name, kind: SettingKind::Choice(words), about, unit: "", default }
    }

    /// True or false; false by default.
    #[must_use]
    pub const fn flag(name: &'static str, about: &'static str) -> Self {
        Self { name, kind: SettingKind::Flag, about, unit: "", default: Some(Default::Flag(false)) }
    }

    /// Sets the default of a number.
    #[must_use]
    pub const fn or_number(self, default: f64) -> Self {
        Self { default: Some(Default::Number(default)), ..self }
    }

    /// Sets the default of an integer.
    #[must_use]
    pub const fn or_integer(self, default: u64) -> Self {
        Self { default: Some(Default::Integer(default)), ..self }
    }

    /// Sets the unit of measurement.
    #[must_use]
    pub const fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    /// The value if none is given; a setting without one must be given.
    #[must_use]
    pub fn default(&self) -> Option<SettingValue> {
        Some(match self.default? {
            Default::Number(number) => number.into(),
            Default::Integer(integer) => integer.into(),
            Default::Choice(word) => word.into(),
            Default::Flag(flag) => flag.into(),
        })
    }

    /// The value as this kind of setting, if it is in the range: an integer may be written as 2.0, and any number as an integer.
    #[must_use]
    pub fn accept(&self, value: &SettingValue) -> Option<SettingValue> {
        match (self.kind, value) {
            (SettingKind::Number { min, max }, _) => {
                value.as_f64().filter(|number| (min..=max).contains(number)).map(SettingValue::Number)
            }
            (SettingKind::Integer { min, max }, _) => {
                let within = |number: &f64| number.fract() == 0.0 && (0.0..1e15).contains(number);
                let integer = value.as_f64().filter(within)? as u64;
                (min..=max).contains(&integer).then_some(SettingValue::Integer(integer))
            }
            (SettingKind::Choice(words), SettingValue::Choice(word)) => {
                words.contains(&word.as_str()).then(|| value.clone())
            }
            (SettingKind::Flag, SettingValue::Flag(_)) => Some(value.clone()),
            _ => None,
        }
    }

    /// Whether a value is of this kind and in the range.
    #[must_use]
    pub fn allows(&self, value: &SettingValue) -> bool {
        self.accept(value).is_some()
    }

    /// The values that it allows, in words.
    #[must_use]
    pub fn range(&self) -> SettingKind {
        self.kind
    }
}

impl SettingValue {
    /// The number, if it is one.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Integer(integer) => Some(*integer as f64),
            Self::Number(number) => Some(*number),
            Self::Choice(_) | Self::Flag(_) => None,
        }
    }
}

impl FromStr for SettingValue {
    type Err = std::convert::Infallible;

    /// Parses by form: `true`, `12`, `0.5`, and every other text is a word. Whether a setting allows it is checked
    /// separately.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let flag = text.parse().map(Self::Flag);
        let integer = || text.parse().map(Self::Integer);
        let number = || text.parse().map(Self::Number);
        Ok(flag
            .or_else(|_| integer())
            .or_else(|_| number())
            .unwrap_or_else(|_| Self::Choice(text.to_owned())))
    }
}

impl From<f64> for SettingValue {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for SettingValue {
    fn from(integer: u64) -> Self {
        Self::Integer(integer)
    }
}

impl From<&str> for SettingValue {
    fn from(word: &str) -> Self {
        Self::Choice(word.to_owned())
    }
}

impl From<bool> for SettingValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl fmt::Display for SettingValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Integer(integer) => write!(f, "{integer}"),
            Self::Choice(word) => write!(f, "{word}"),
            Self::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

impl SettingKind {
    /// As the documentation calls it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Number { .. } => "number",
            Self::Integer { .. } => "integer",
            Self::Choice(_) => "choice",
            Self::Flag => "flag",
        }
    }
}

impl fmt::Display for SettingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |x: f64| match x {
            _ if (1e-3..1e6).contains(&x) || x == 0.0 => format!("{x}"),
            _ => format!("{x:e}"),
        };
        match *self {
            Self::Number { min, max } => write!(f, "a number from {} to {}", bound(min), bound(max)),
            Self::Integer { min, max } => write!(f, "an integer from {min} to {max}"),
            Self::Choice(words) => write!(f, "{}", words.join(" or ")),
            Self::Flag => write!(f, "true or false"),
        }
    }
}

/// Refuses a target that a model does not support, unknown settings, and settings out of range. Only public numbers
/// are used.
///
/// # Errors
/// [`ModelError`] with the range of the setting.
pub fn check_settings(model: &dyn Model, shape: &TableShape) -> Result<(), ModelError> {
    if !model.declaration().targets.contains(&shape.target) {
        let expected = model.declaration().targets.first().map_or("another target", |target| target.name());
        return Err(ModelError::Target { model: model.name(), expected, found: shape.target.name() });
    }
    let known = |name: &str| model.declaration().settings.iter().any(|setting| setting.name == name);
    if let Some(name) = shape.settings.keys().find(|name| !known(name)) {
        return Err(ModelError::NoSetting { model: model.name(), name: name.clone() });
    }
    model.declaration().settings.iter().try_for_each(|setting| value(model, shape, setting).map(|_| ()))
}

/// The value of a setting: the one given, or the default.
fn value(model: &dyn Model, shape: &TableShape, setting: &Setting) -> Result<SettingValue, ModelError> {
    let &Setting { name, about, kind: range, .. } = setting;
    let model = model.name();
    match shape.settings.get(name) {
        Some(given) => setting.accept(given).ok_or(ModelError::Setting { model, name, range, about }),
        None => setting.default().ok_or(ModelError::NeedsSetting { model, name, range, about }),
    }
}

/// The values of all settings of a model, each of its kind and in its range.
pub struct Settings(BTreeMap<&'static str, SettingValue>);

impl Settings {
    /// Those given, and defaults for the others.
    ///
    /// # Errors
    /// [`ModelError`] with the range of the setting.
    pub fn new(model: &dyn Model, shape: &TableShape) -> Result<Self, ModelError> {
        let values = model
            .declaration()
            .settings
            .iter()
            .map(|setting| Ok((setting.name, value(model, shape, setting)?)));
        Ok(Self(values.collect::<Result<_, ModelError>>()?))
    }

    /// A number that the model declares.
    ///
    /// # Panics
    /// If it does not.
    #[must_use]
    pub fn number(&self, name: &str) -> f64 {
        self.0.get(name).and_then(SettingValue::as_f64).expect("a model reads numbers that it declares")
    }

    /// An integer that the model declares.
    ///
    /// # Panics
    /// If it does not.
    #[must_use]
    pub fn integer(&self, name: &str) -> usize {
        self.number(name) as usize
    }

    /// A word that the model declares.
    ///
    /// # Panics
    /// If it does not.
    #[must_use]
    pub fn choice(&self, name: &str) -> &str {
        match self.0.get(name) {
            Some(SettingValue::Choice(word)) => word,
            _ => panic!("a model reads choices that it declares"),
        }
    }

    /// A flag that the model declares.
    ///
    /// # Panics
    /// If it does not.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        match self.0.get(name) {
            Some(SettingValue::Flag(flag)) => *flag,
            _ => panic!("a model reads flags that it declares"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> SettingValue {
        text.parse().unwrap()
    }

    #[test]
    fn values_are_read_by_kind() {
        let integer = Setting::integer("steps", "steps", (1, 10)).or_integer(3);
        assert_eq!(integer.accept(&read("7")), Some(SettingValue::Integer(7)));
        assert_eq!(integer.accept(&read("7.0")), Some(SettingValue::Integer(7)));
        for text in ["0", "11", "1.5", "-1", "nan", "inf", "1e308", "many", "true"] {
            assert_eq!(integer.accept(&read(text)), None, "{text}");
        }
        let number = Setting::number("rate", "rate", (0.5, 2.0)).or_number(1.0);
        assert_eq!(number.accept(&read("1")), Some(SettingValue::Number(1.0)));
        assert!(
            !number.allows(&read("NaN")) && !number.allows(&read("2.1")) && !number.allows(&read("fast"))
        );
        let choice = Setting::choice("posterior", "treatment", &["noise-aware", "naive"]);
        assert_eq!(choice.default(), Some("noise-aware".into()));
        assert!(
            choice.allows(&read("naive")) && !choice.allows(&read("1")) && !choice.allows(&read("Naive"))
        );
        let flag = Setting::flag("exact", "whether");
        assert!(flag.allows(&read("true")) && !flag.allows(&read("1")));
        let ranges = [integer, number, choice, flag].map(|setting| setting.range().to_string());
        let expected =
            ["an integer from 1 to 10", "a number from 0.5 to 2", "noise-aware or naive", "true or false"];
        assert_eq!(ranges, expected);
    }

    #[test]
    fn values_are_plain_in_json() {
        for (text, value) in
            [("2", read("2")), ("0.5", read("0.5")), ("\"naive\"", read("naive")), ("true", read("true"))]
        {
            assert_eq!(serde_json::to_string(&value).unwrap(), text);
            assert_eq!(serde_json::from_str::<SettingValue>(text).unwrap(), value);
        }
    }
}
