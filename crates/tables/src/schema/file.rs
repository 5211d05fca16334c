//! The schema as a file: TOML as people write it, and the checks that turn it into a [`Schema`].

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    Column, ColumnFault, Emphasis, Kind, Missing, Origin, Prior, PrivacyUnit, Scale, Schema, SchemaError,
};
use crate::source::Layout;

/// What states that missing values have a number of their own, and that they have a level of their own.
const INDICATOR: &str = "indicator";
const LEVEL: &str = "level";
/// The name of that level.
const MISSING: &str = "missing";

/// A schema as it is written.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    file: Layout,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    privacy_unit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows_per_unit: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<RawColumn>,
    features: Vec<RawColumn>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawColumn {
    name: String,
    kind: KindName,
    #[serde(skip_serializing_if = "Option::is_none")]
    bounds: Option<RawBounds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    levels: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vocabulary: Option<RawVocabulary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<RawMissing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    positive: Option<RawLevel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<RawLevel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prior: Option<Prior>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default, skip_serializing_if = "is_stated")]
    origin: Origin,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum KindName {
    Numeric,
    Boolean,
    Categorical,
    Text,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged, expecting = "`bounds` is [low, high] or \"private\"")]
enum RawBounds {
    Range([f64; 2]),
    Word(Private),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Private {
    Private,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged, expecting = "`vocabulary` is a file or a list of words")]
enum RawVocabulary {
    File(PathBuf),
    Words(Vec<String>),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged, expecting = "`missing` is a number, true, false or a text")]
enum RawMissing {
    Number(f64),
    Flag(bool),
    Text(String),
}

/// A level: a text, or true or false in a boolean column.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged, expecting = "a level is a text, true or false")]
enum RawLevel {
    Flag(bool),
    Text(String),
}

impl RawLevel {
    fn text(self) -> String {
        match self {
            Self::Flag(flag) => flag.to_string(),
            Self::Text(text) => text,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_stated(origin: &Origin) -> bool {
    *origin == Origin::Stated
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde requires a reference")]
fn is_default(layout: &Layout) -> bool {
    *layout == Layout::default()
}

pub(super) fn load(file: &Path) -> Result<Schema, SchemaError> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| SchemaError::Unreadable { file: file.to_owned(), kind: error.kind() })?;
    parse(&text, Some(file.parent().unwrap_or(Path::new(""))))
}

/// Syntax first, without quoting the text: it may be a data file, given by mistake. What is TOML is taken for a schema, which is public.
pub(super) fn parse(text: &str, folder: Option<&Path>) -> Result<Schema, SchemaError> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let before = &text.as_bytes()[..error.span().map_or(0, |span| span.start.min(text.len()))];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        SchemaError::NotToml { line, column: before.len() - line_start + 1 }
    })?;
    let mut raw: Raw =
        table.try_into().map_err(|error| SchemaError::Shape { reason: error.message().to_owned() })?;
    if let Some(folder) = folder {
        raw.features
            .iter_mut()
            .chain(&mut raw.target)
            .try_for_each(|column| column.read_vocabulary(folder))?;
    }
    raw.try_into()
}

/// A value as TOML on one line.
fn line(value: &impl Serialize) -> String {
    let mut text = String::new();
    value
        .serialize(toml::ser::ValueSerializer::new(&mut text))
        .expect("texts and finite numbers can be written");
    text
}

/// The line that states a layout; empty for the default.
pub(super) fn layout_line(layout: Layout) -> String {
    if is_default(&layout) { String::new() } else { format!("file = {}\n", line(&layout)) }
}

/// One line for each column, which is easier to read and to edit than one for each entry.
pub(super) fn to_toml(schema: &Schema) -> String {
    let mut text = String::new();
    if let Some(description) = &schema.description {
        text += &format!("description = {}\n", line(description));
    }
    text += &layout_line(schema.layout);
    if let Some(unit) = &schema.privacy_unit {
        text += &format!("privacy_unit = {}\n", line(&unit.column()));
        text += &unit.rows().map_or_else(String::new, |rows| format!("rows_per_unit = {rows}\n"));
    }
    if let Some(target) = &schema.target {
        text += &format!("target = {}\n", line(&RawColumn::from(target)));
    }
    text += "features = [\n";
    for feature in &schema.features {
        text += &format!("    {},\n", line(&RawColumn::from(feature)));
    }
    text + "]\n"
}

impl RawColumn {
    fn read_vocabulary(&mut self, folder: &Path) -> Result<(), SchemaError> {
        let Some(RawVocabulary::File(file)) = &self.vocabulary else { return Ok(()) };
        let file = folder.join(file);
        let words = std::fs::read_to_string(&file).map_err(|error| SchemaError::Column {
            column: self.name.clone(),
            fault: ColumnFault::Vocabulary { file, kind: error.kind() },
        })?;
        let words = words.lines().map(|line| line.trim().to_owned()).filter(|word| !word.is_empty());
        self.vocabulary = Some(RawVocabulary::Words(words.collect()));
        Ok(())
    }

    /// The first entry that belongs to another kind of column.
    fn misplaced(&self) -> Option<&'static str> {
        let entries = [
            ("bounds", self.bounds.is_some(), KindName::Numeric),
            ("within", self.within.is_some(), KindName::Numeric),
            ("mean", self.mean.is_some(), KindName::Numeric),
            ("sd", self.sd.is_some(), KindName::Numeric),
            ("levels", self.levels.is_some(), KindName::Categorical),
            ("unknown", self.unknown.is_some(), KindName::Categorical),
            ("vocabulary", self.vocabulary.is_some(), KindName::Text),
        ];
        entries.into_iter().find(|&(_, there, kind)| there && kind != self.kind).map(|(key, ..)| key)
    }

    fn scale(&self) -> Result<Scale, ColumnFault> {
        match (&self.bounds, self.mean, self.sd) {
            (Some(RawBounds::Word(Private::Private)), None, None) => match self.within {
                Some([low, high]) => Ok(Scale::Private { low, high }),
                None => Err(ColumnFault::Within),
            },
            _ if self.within.is_some() => Err(ColumnFault::NotPrivate),
            (Some(RawBounds::Range([low, high])), None, None) => Ok(Scale::Bounds { low: *low, high: *high }),
            (None, Some(mean), Some(sd)) => Ok(Scale::Moments { mean, sd }),
            (Some(_), ..) => Err(ColumnFault::TwoScales),
            (None, ..) => Err(ColumnFault::NoScale),
        }
    }

    fn kind(&self) -> Result<Kind, ColumnFault> {
        if let Some(key) = self.misplaced() {
            return Err(ColumnFault::Misplaced { key, kind: self.kind.name() });
        }
        Ok(match self.kind {
            KindName::Numeric => {
                let number = |raw: &RawMissing| match raw {
                    RawMissing::Number(number) => Some(*number),
                    _ => None,
                };
                Kind::Numeric { scale: self.scale()?, missing: self.missing("a number", number)? }
            }
            KindName::Boolean => {
                let flag = |raw: &RawMissing| match raw {
                    RawMissing::Flag(flag) => Some(*flag),
                    _ => None,
                };
                Kind::Boolean { missing: self.missing("true or false", flag)? }
            }
            KindName::Categorical => {
                let levels = self.levels.clone().ok_or(ColumnFault::NoLevels)?;
                let missing = match self.missing_text("a level")? {
                    Some(word) if word == LEVEL && !levels.contains(&word) => Some(MISSING.to_owned()),
                    stated => stated,
                };
                Kind::Categorical { levels, unknown: self.unknown.clone(), missing }
            }
            KindName::Text => Kind::Text {
                vocabulary: match &self.vocabulary {
                    Some(RawVocabulary::Words(words)) => words.clone(),
                    Some(RawVocabulary::File(_)) => return Err(ColumnFault::VocabularyFile),
                    None => return Err(ColumnFault::NoWords),
                },
                missing: self.missing_text("a text")?,
            },
        })
    }

    /// The rule for missing values, in a column whose values `value` finds.
    fn missing<T>(
        &self,
        expected: &'static str,
        value: impl Fn(&RawMissing) -> Option<T>,
    ) -> Result<Missing<T>, ColumnFault> {
        match &self.missing {
            None => Ok(Missing::Unstated),
            Some(RawMissing::Text(word)) if word == INDICATOR => Ok(Missing::Indicator),
            Some(raw) => value(raw).map(Missing::Value).ok_or(ColumnFault::MissingKind { expected }),
        }
    }

    fn missing_text(&self, expected: &'static str) -> Result<Option<String>, ColumnFault> {
        match &self.missing {
            None => Ok(None),
            Some(RawMissing::Text(text)) => Ok(Some(text.clone())),
            Some(_) => Err(ColumnFault::MissingKind { expected }),
        }
    }
}

impl<T> Missing<T> {
    /// As it is written, with what a value is written as.
    fn into_raw(self, value: impl Fn(T) -> RawMissing) -> Option<RawMissing> {
        match self {
            Self::Value(stated) => Some(value(stated)),
            Self::Indicator => Some(RawMissing::Text(INDICATOR.to_owned())),
            Self::Unstated | Self::Absent => None,
        }
    }
}

impl KindName {
    fn name(self) -> &'static str {
        match self {
            Self::Numeric => "numeric",
            Self::Boolean => "boolean",
            Self::Categorical => "categorical",
            Self::Text => "text",
        }
    }
}

impl TryFrom<RawColumn> for Column {
    type Error = SchemaError;

    fn try_from(raw: RawColumn) -> Result<Self, SchemaError> {
        let kind = raw.kind().map_err(|fault| SchemaError::Column { column: raw.name.clone(), fault })?;
        let mut column = Self::new(raw.name, kind)?;
        for emphasis in [
            raw.positive.map(|level| Emphasis::Positive(level.text())),
            raw.reference.map(|level| Emphasis::Reference(level.text())),
        ]
        .into_iter()
        .flatten()
        {
            column = column.with_emphasis(emphasis)?;
        }
        if let Some(prior) = raw.prior {
            column = column.with_prior(prior)?;
        }
        (column.origin, column.unit, column.description) = (raw.origin, raw.unit, raw.description);
        Ok(column)
    }
}

impl From<&Column> for RawColumn {
    fn from(column: &Column) -> Self {
        let mut raw = Self {
            name: column.name().to_owned(),
            kind: KindName::Boolean,
            bounds: None,
            within: None,
            mean: None,
            sd: None,
            levels: None,
            vocabulary: None,
            unknown: None,
            missing: None,
            positive: match column.emphasis() {
                Some(Emphasis::Positive(level)) => Some(RawLevel::Text(level.clone())),
                _ => None,
            },
            reference: match column.emphasis() {
                Some(Emphasis::Reference(level)) => Some(RawLevel::Text(level.clone())),
                _ => None,
            },
            prior: column.prior,
            unit: column.unit.clone(),
            description: column.description.clone(),
            origin: column.origin,
        };
        match column.kind().clone() {
            Kind::Numeric { scale, missing } => {
                raw.kind = KindName::Numeric;
                raw.missing = missing.into_raw(RawMissing::Number);
                match scale {
                    Scale::Bounds { low, high } => raw.bounds = Some(RawBounds::Range([low, high])),
                    Scale::Private { low, high } => {
                        raw.bounds = Some(RawBounds::Word(Private::Private));
                        raw.within = Some([low, high]);
                    }
                    Scale::Moments { mean, sd } => (raw.mean, raw.sd) = (Some(mean), Some(sd)),
                }
            }
            Kind::Boolean { missing } => raw.missing = missing.into_raw(RawMissing::Flag),
            Kind::Categorical { levels, unknown, missing } => {
                raw.kind = KindName::Categorical;
                (raw.levels, raw.unknown, raw.missing) =
                    (Some(levels), unknown, missing.map(RawMissing::Text));
            }
            Kind::Text { vocabulary, missing } => {
                raw.kind = KindName::Text;
                raw.vocabulary = Some(RawVocabulary::Words(vocabulary));
                raw.missing = missing.map(RawMissing::Text);
            }
        }
        raw
    }
}

impl TryFrom<Raw> for Schema {
    type Error = SchemaError;

    fn try_from(raw: Raw) -> Result<Self, SchemaError> {
        let features = raw.features.into_iter().map(Column::try_from).collect::<Result<_, _>>()?;
        let target = raw.target.map(Column::try_from).transpose()?;
        let schema = Self { description: raw.description, layout: raw.file, ..Self::new(target, features)? };
        match (raw.privacy_unit, raw.rows_per_unit) {
            (None, None) => Ok(schema),
            (unit, rows) => schema.with_privacy_unit(PrivacyUnit::new(unit.unwrap_or_default(), rows)?),
        }
    }
}

impl From<Schema> for Raw {
    fn from(schema: Schema) -> Self {
        Self {
            target: schema.target.as_ref().map(RawColumn::from),
            features: schema.features.iter().map(RawColumn::from).collect(),
            description: schema.description,
            file: schema.layout,
            rows_per_unit: schema.privacy_unit.as_ref().and_then(PrivacyUnit::rows),
            privacy_unit: schema.privacy_unit.map(|unit| unit.column().to_owned()),
        }
    }
}
