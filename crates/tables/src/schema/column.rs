//! One column: what is publicly known about it before a record is read.

use std::collections::HashSet;

use super::{ColumnFault, SchemaError};
use crate::words::is_word;

/// What is publicly known about a column.
///
/// A column that exists is valid: [`Column::new`] is the only way to make one, and it checks.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    name: String,
    kind: Kind,
    pub(super) origin: Origin,
    pub(super) unit: Option<String>,
    pub(super) description: Option<String>,
    pub(super) emphasis: Option<Emphasis>,
    pub(super) prior: Option<Prior>,
}

/// The prior of the coefficients of a feature: normal, in the unit of the target (or of the log odds) per unit of the column, or for each level
/// against the reference.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prior {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
}

/// A level with a role in coefficients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Emphasis {
    /// The class of a target whose probability is modelled: coded last.
    Positive(String),
    /// The level of a feature that the others are compared with: coded first.
    Reference(String),
}

/// How the values of a column are read, and what public facts they are encoded with.
///
/// Every value has a code: those that are missing or not allowed count as `missing` and `unknown` state, and without
/// them as what [`Encoder`](crate::Encoder) lists.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Numbers.
    Numeric {
        /// How they are scaled.
        scale: Scale,
        /// What a missing number counts as, in the column's own units.
        missing: Missing<f64>,
    },
    /// Yes or no.
    Boolean {
        /// What a missing value counts as.
        missing: Missing<bool>,
    },
    /// One of a list of levels.
    Categorical {
        /// The levels, in the order they are encoded in.
        levels: Vec<String>,
        /// The level of values that are not in the list. It is one more level if the list does not have it.
        unknown: Option<String>,
        /// The level of missing values. It is one more level if the list does not have it.
        missing: Option<String>,
    },
    /// Text, of which only the counts of the words of a public vocabulary are kept.
    Text {
        /// The words that are counted.
        vocabulary: Vec<String>,
        /// What a missing text counts as: the empty text if nothing is stated.
        missing: Option<String>,
    },
}

/// What a missing value counts as. A value that is not of the column's kind is missing too.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Missing<T> {
    /// The middle: that of the bounds, the mean, or neither true nor false. In a target: no value, so that the record is absent.
    #[default]
    Unstated,
    /// This value.
    Value(T),
    /// The middle, and a number of its own for whether a value is missing.
    Indicator,
    /// No value: the record is absent. This is how [unscaled](super::Schema::unscaled) numbers are read; files do not state it.
    Absent,
}

impl<T> Missing<T> {
    /// The same rule with another value.
    fn map<U>(self, change: impl FnOnce(T) -> U) -> Missing<U> {
        match self {
            Self::Value(value) => Missing::Value(change(value)),
            Self::Unstated => Missing::Unstated,
            Self::Indicator => Missing::Indicator,
            Self::Absent => Missing::Absent,
        }
    }
}

/// How numbers are scaled. All of it is public.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// From `[low, high]` to $[-1, 1]$. What is outside is moved to the nearer bound.
    Bounds {
        /// What becomes -1.
        low: f64,
        /// What becomes 1.
        high: f64,
    },
    /// Private bounds, not estimated yet, within a wide public range.
    Private {
        /// No bound is below this.
        low: f64,
        /// No bound is above this.
        high: f64,
    },
    /// To $(x - \text{mean})/\text{sd}$, without any bound.
    Moments {
        /// What becomes 0.
        mean: f64,
        /// What becomes the unit.
        sd: f64,
    },
}

impl Scale {
    /// Numbers as they are.
    pub const UNSCALED: Self = Self::Moments { mean: 0.0, sd: 1.0 };
}

/// Where the bounds, moments or levels of a column come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Stated without looking at the data.
    #[default]
    Stated,
    /// Read from the data under the assumption that they are public. No budget is charged for that.
    AssumedPublic,
    /// Estimated from the data with a share of the privacy budget.
    #[serde(rename = "bought")]
    Estimated,
}

impl Column {
    /// A column with what is publicly known about it.
    ///
    /// # Errors
    /// [`SchemaError::Column`] if the kind contradicts itself, such as bounds that are no range.
    pub fn new(name: impl Into<String>, kind: Kind) -> Result<Self, SchemaError> {
        let name = name.into();
        let checked = if name.is_empty() { Err(ColumnFault::NoName) } else { check(&kind) };
        match checked {
            Ok(()) => {
                let (origin, unit, description, emphasis, prior) = (Origin::Stated, None, None, None, None);
                Ok(Self { name, kind, origin, unit, description, emphasis, prior })
            }
            Err(fault) => Err(SchemaError::Column { column: name, fault }),
        }
    }

    /// Numbers between public bounds; a missing one counts as the middle.
    ///
    /// # Errors
    /// [`SchemaError::Column`] if these are not bounds.
    pub fn numeric(name: impl Into<String>, low: f64, high: f64) -> Result<Self, SchemaError> {
        Self::new(name, Kind::Numeric { scale: Scale::Bounds { low, high }, missing: Missing::Unstated })
    }

    /// Numbers as they are, without bounds; a missing one counts as 0.
    ///
    /// # Errors
    /// [`SchemaError::Column`] if there is no name.
    pub fn unscaled(name: impl Into<String>) -> Result<Self, SchemaError> {
        Self::new(name, Kind::Numeric { scale: Scale::UNSCALED, missing: Missing::Unstated })
    }

    /// One of a list of levels; anything else counts as the first.
    ///
    /// # Errors
    /// [`SchemaError::Column`] if this is not a list of different levels.
    pub fn categorical<S: Into<String>>(
        name: impl Into<String>,
        levels: impl IntoIterator<Item = S>,
    ) -> Result<Self, SchemaError> {
        let levels = levels.into_iter().map(Into::into).collect();
        Self::new(name, Kind::Categorical { levels, unknown: None, missing: None })
    }

    /// The same column in a unit, such as `"years"`.
    #[must_use]
    pub fn with_unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// The same column with a description.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The same column with a level that is the positive class of a target, or the reference of a feature. Without it, these are the
    /// second of two classes and the first level.
    ///
    /// # Errors
    /// [`SchemaError::Column`] if it has no such level; positive classes are those of two.
    pub fn with_emphasis(mut self, emphasis: Emphasis) -> Result<Self, SchemaError> {
        let levels = self.levels();
        let fault = match &emphasis {
            Emphasis::Positive(_) if levels.len() != 2 => Some(ColumnFault::NotTwoClasses),
            Emphasis::Positive(level) | Emphasis::Reference(level) if !levels.contains(&level.as_str()) => {
                Some(ColumnFault::NoSuchLevel { levels: levels.join(", ") })
            }
            _ => None,
        };
        if let Some(fault) = fault {
            return Err(SchemaError::Column { column: self.name, fault });
        }
        self.emphasis = Some(emphasis);
        Ok(self)
    }

    /// The same column without a positive class or a reference.
    pub(crate) fn without_emphasis(self) -> Self {
        Self { emphasis: None, ..self }
    }

    /// The same column with a prior of its coefficients.
    ///
    /// # Errors
    /// [`SchemaError::Column`] if it is no normal distribution, or the bounds of the column are private: the unit of its coefficient is not known before
    /// the fit then.
    pub fn with_prior(mut self, prior: Prior) -> Result<Self, SchemaError> {
        let is_normal = prior.mean.is_finite() && prior.sd.is_finite() && prior.sd > 0.0;
        let fault = if !is_normal {
            Some(ColumnFault::NotAPrior)
        } else if matches!(self.kind, Kind::Numeric { scale: Scale::Private { .. }, .. }) {
            Some(ColumnFault::PriorWithoutBounds)
        } else {
            None
        };
        if let Some(fault) = fault {
            return Err(SchemaError::Column { column: self.name, fault });
        }
        self.prior = Some(prior);
        Ok(self)
    }

    /// The same column, scaled otherwise by facts of this origin. Only numeric columns have a scale.
    ///
    /// The value for missing ones is moved into new bounds, which were not known when it was stated: bounds that were paid for
    /// must not be refused for it.
    pub(super) fn rescaled(&self, scale: Scale, origin: Origin) -> Result<Self, SchemaError> {
        let Kind::Numeric { missing, .. } = self.kind else {
            return Err(SchemaError::Column { column: self.name.clone(), fault: ColumnFault::NotNumeric });
        };
        let missing = match scale {
            Scale::Bounds { low, high } if low < high => missing.map(|value| value.clamp(low, high)),
            _ => missing,
        };
        let column = Self::new(self.name.clone(), Kind::Numeric { scale, missing })?;
        let (unit, description, emphasis) =
            (self.unit.clone(), self.description.clone(), self.emphasis.clone());
        Ok(Self { origin, unit, description, emphasis, prior: self.prior, ..column })
    }

    /// The same column with numbers as they are; a record without one is absent.
    pub(super) fn as_it_is(&self) -> Self {
        let kind = match &self.kind {
            Kind::Numeric { .. } => Kind::Numeric { scale: Scale::UNSCALED, missing: Missing::Absent },
            other => other.clone(),
        };
        Self { kind, origin: Origin::Stated, ..self.clone() }
    }

    /// Its name in the file.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How its values are read and encoded.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Where its bounds, moments or levels come from.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The unit of its numbers.
    #[must_use]
    pub fn unit(&self) -> Option<&str> {
        self.unit.as_deref()
    }

    /// The level that is the positive class, or the reference, if one is stated.
    #[must_use]
    pub fn emphasis(&self) -> Option<&Emphasis> {
        self.emphasis.as_ref()
    }

    /// The prior of its coefficients, if one is stated.
    #[must_use]
    pub fn prior(&self) -> Option<Prior> {
        self.prior
    }

    /// What it means.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// The widths of the inputs that a feature becomes: one for each level of a category, of which one is 1 and the others
    /// are 0, and 1 for each other number of a row.
    #[must_use]
    pub fn input_widths(&self) -> Vec<usize> {
        match &self.kind {
            Kind::Categorical { .. } => vec![self.levels().len()],
            Kind::Text { vocabulary, .. } => vec![1; vocabulary.len()],
            Kind::Numeric { missing: Missing::Indicator, .. }
            | Kind::Boolean { missing: Missing::Indicator } => vec![1, 1],
            Kind::Numeric { .. } | Kind::Boolean { .. } => vec![1],
        }
    }

    /// The levels of a categorical column, with those for unknown and missing values, in the order of their codes; those
    /// of a boolean one are `false` and `true`; other columns have none. A stated reference is first, and a stated positive class last.
    #[must_use]
    pub fn levels(&self) -> Vec<&str> {
        let mut levels = self.stated_levels();
        match &self.emphasis {
            Some(Emphasis::Positive(last)) => levels.sort_by_key(|level| level == last),
            Some(Emphasis::Reference(first)) => levels.sort_by_key(|level| level != first),
            None => {}
        }
        levels
    }

    /// The levels in the order in which they are stated.
    fn stated_levels(&self) -> Vec<&str> {
        match &self.kind {
            Kind::Categorical { levels, unknown, missing } => {
                let mut all: Vec<&str> = levels.iter().map(String::as_str).collect();
                for extra in [unknown, missing].into_iter().flatten() {
                    if !all.contains(&extra.as_str()) {
                        all.push(extra);
                    }
                }
                all
            }
            Kind::Boolean { .. } => vec!["false", "true"],
            Kind::Numeric { .. } | Kind::Text { .. } => Vec::new(),
        }
    }
}

fn check(kind: &Kind) -> Result<(), ColumnFault> {
    match kind {
        Kind::Numeric { scale, missing } => check_numeric(*scale, *missing),
        Kind::Boolean { .. } => Ok(()),
        Kind::Categorical { levels, unknown, missing } => {
            if levels.is_empty() {
                return Err(ColumnFault::NoLevels);
            }
            // An empty field of a CSV file is a missing value, so no value is an empty level.
            if levels.iter().chain(unknown).chain(missing).any(String::is_empty) {
                return Err(ColumnFault::EmptyLevel);
            }
            distinct(levels).ok_or(ColumnFault::RepeatedLevel)
        }
        Kind::Text { vocabulary, .. } => {
            if vocabulary.is_empty() {
                return Err(ColumnFault::NoWords);
            }
            if let Some(line) = vocabulary.iter().position(|word| !is_word(word)) {
                return Err(ColumnFault::NotAWord { entry: line + 1 });
            }
            distinct(vocabulary).ok_or(ColumnFault::RepeatedWord)
        }
    }
}

fn check_numeric(scale: Scale, missing: Missing<f64>) -> Result<(), ColumnFault> {
    let missing = match missing {
        Missing::Value(value) => Some(value),
        _ => None,
    };
    match scale {
        Scale::Bounds { low, high } => {
            if !(low.is_finite() && high.is_finite() && low < high && high / 2.0 - low / 2.0 > 0.0) {
                return Err(ColumnFault::Bounds);
            }
            if missing.is_some_and(|value| !(low..=high).contains(&value)) {
                return Err(ColumnFault::MissingOutside);
            }
        }
        Scale::Moments { mean, sd } => {
            if !(mean.is_finite() && sd.is_normal() && sd > 0.0) {
                return Err(ColumnFault::Moments);
            }
        }
        Scale::Private { low, high } => {
            if !(low < high && (high - low).is_finite()) {
                return Err(ColumnFault::Within);
            }
        }
    }
    if missing.is_some_and(|value| !value.is_finite()) {
        return Err(ColumnFault::MissingOutside);
    }
    Ok(())
}

fn distinct(texts: &[String]) -> Option<()> {
    let mut seen = HashSet::new();
    texts.iter().all(|text| seen.insert(text)).then_some(())
}
