//! The schema: what is publicly known about a table before it is read.

mod column;
mod error;
mod file;
mod fingerprint;
mod public;
mod rules;
mod template;
mod unit;

pub use column::{Column, Emphasis, Kind, Missing, Origin, Prior, Scale};
pub use error::{ColumnFault, SchemaError};
pub use unit::PrivacyUnit;

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::source::Layout;

/// Which columns of a table are used, and what is publicly known about them.
///
/// A schema that exists is valid. In a file it is TOML:
///
/// ```
/// let schema = reticent_tables::Schema::parse(r#"
///     file = { delimiter = ";" }
///     privacy_unit = "person_id"
///     target = { name = "income", kind = "categorical", levels = ["<=50K", ">50K"] }
///     features = [
///         { name = "age", kind = "numeric", bounds = [17, 90], unit = "years" },
///         { name = "hours", kind = "numeric", bounds = [0, 100], missing = 40 },
///         { name = "work", kind = "categorical", levels = ["Private", "State"], unknown = "other", missing = "missing" },
///         { name = "member", kind = "boolean", missing = "indicator" },
///         { name = "gain", kind = "numeric", bounds = "private", within = [0, 1e7] },
///     ]
/// "#)?;
/// assert_eq!(schema.features().len(), 5);
/// assert_eq!(schema.private_bounds().map(|(column, _)| column.name()).collect::<Vec<_>>(), ["gain"]);
/// # Ok::<(), reticent_tables::SchemaError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "file::Raw", into = "file::Raw")]
pub struct Schema {
    description: Option<String>,
    layout: Layout,
    privacy_unit: Option<PrivacyUnit>,
    target: Option<Column>,
    features: Vec<Column>,
}

impl Schema {
    /// A schema of these columns. Models without a target, such as mixtures, have none.
    ///
    /// # Errors
    /// [`SchemaError`] if there are no features, a name occurs twice or the target is not one that can be predicted.
    pub fn new(target: Option<Column>, features: Vec<Column>) -> Result<Self, SchemaError> {
        if features.is_empty() {
            return Err(SchemaError::NoFeatures);
        }
        let mut names = HashSet::new();
        if let Some(twice) = features.iter().chain(&target).find(|column| !names.insert(column.name())) {
            return Err(SchemaError::Repeated { column: twice.name().to_owned() });
        }
        let misplaced = |column: &&Column| {
            let positive = matches!(column.emphasis(), Some(Emphasis::Positive(_)));
            column.emphasis().is_some()
                && positive != target.as_ref().is_some_and(|t| t.name() == column.name())
        };
        if let Some(column) = features.iter().chain(&target).find(misplaced) {
            return Err(SchemaError::Column {
                column: column.name().to_owned(),
                fault: ColumnFault::Emphasis,
            });
        }
        if let Some(target) = &target {
            let fault = match target.kind() {
                _ if target.prior().is_some() => Some(ColumnFault::TargetPrior),
                Kind::Numeric { scale: Scale::Private { .. }, .. }
                    if features.iter().any(|column| column.prior().is_some()) =>
                {
                    Some(ColumnFault::PriorWithoutBounds)
                }
                Kind::Text { .. } => Some(ColumnFault::TextTarget),
                Kind::Categorical { .. } if target.levels().len() < 2 => Some(ColumnFault::OneLevel),
                Kind::Numeric { missing: Missing::Indicator, .. }
                | Kind::Boolean { missing: Missing::Indicator } => Some(ColumnFault::TargetIndicator),
                _ => None,
            };
            if let Some(fault) = fault {
                return Err(SchemaError::Column { column: target.name().to_owned(), fault });
            }
        }
        Ok(Self { description: None, layout: Layout::default(), privacy_unit: None, target, features })
    }

    /// The same schema for records of which all with the same value in a column are one privacy unit.
    ///
    /// # Errors
    /// [`SchemaError::UnitIsColumn`] if that is the target or a feature, [`SchemaError::UnitRows`].
    pub fn with_privacy_unit(self, unit: PrivacyUnit) -> Result<Self, SchemaError> {
        if self.columns().any(|column| column.name() == unit.column()) {
            return Err(SchemaError::UnitIsColumn { column: unit.column().to_owned() });
        }
        Ok(Self { privacy_unit: Some(unit), ..self })
    }

    /// Who is protected, if not single rows.
    #[must_use]
    pub fn privacy_unit(&self) -> Option<&PrivacyUnit> {
        self.privacy_unit.as_ref()
    }

    /// The same schema with a description.
    #[must_use]
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The same schema for CSV files that are laid out like this.
    #[must_use]
    pub fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// How its CSV files are laid out, as far as it is stated.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Reads a schema file. The vocabularies it names are read too, relative to its folder.
    ///
    /// # Errors
    /// [`SchemaError`] if the file cannot be read, is no TOML, or is no valid schema.
    pub fn load(file: impl AsRef<Path>) -> Result<Self, SchemaError> {
        file::load(file.as_ref())
    }

    /// Reads the text of a schema file, which must list the words of its vocabularies.
    ///
    /// # Errors
    /// [`SchemaError`] if the file cannot be read, is no TOML, or is no valid schema.
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        file::parse(text, None)
    }

    /// The text of a schema file. [`parse`](Self::parse) gives the same schema again.
    #[must_use]
    pub fn to_toml(&self) -> String {
        file::to_toml(self)
    }

    /// Identifies the schema: the SHA-256 of its canonical form, which is JSON with sorted keys and without descriptions.
    ///
    /// Comments, the layout of the file, the order of keys and where vocabularies are kept do not change it; whatever changes how
    /// records are read does.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        fingerprint::of(self)
    }

    /// What the table is about.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// What is to be predicted.
    #[must_use]
    pub fn target(&self) -> Option<&Column> {
        self.target.as_ref()
    }

    /// What it is predicted from.
    #[must_use]
    pub fn features(&self) -> &[Column] {
        &self.features
    }

    /// All columns in the order they are encoded in: the features, then the target.
    pub fn columns(&self) -> impl Iterator<Item = &Column> {
        self.features.iter().chain(&self.target)
    }

    /// The same schema with this class of the target as the positive one.
    ///
    /// # Errors
    /// [`SchemaError::Column`] if the target has not two classes, or this is none of them; [`SchemaError::NoTarget`].
    pub fn with_positive(&self, class: &str) -> Result<Self, SchemaError> {
        let target = self.target.clone().ok_or(SchemaError::NoTarget)?;
        let target = target.with_emphasis(Emphasis::Positive(class.to_owned()))?;
        Ok(Self { target: Some(target), ..self.clone() })
    }

    /// Columns whose private bounds have yet to be estimated, with the public range of each.
    pub fn private_bounds(&self) -> impl Iterator<Item = (&Column, (f64, f64))> {
        self.columns().filter_map(|column| match *column.kind() {
            Kind::Numeric { scale: Scale::Private { low, high }, .. } => Some((column, (low, high))),
            _ => None,
        })
    }

    /// A schema of the columns with [private bounds](Self::private_bounds) alone, unscaled: the records that bounds are estimated from.
    /// `None` if there are no such columns.
    #[must_use]
    pub fn private_bounds_schema(&self) -> Option<Self> {
        let columns = self.private_bounds().map(|(column, _)| column.clone()).collect();
        let schema = Self::new(None, columns).ok()?.unscaled();
        Some(Self { layout: self.layout, privacy_unit: self.privacy_unit.clone(), ..schema })
    }

    /// The same schema with the bounds that were estimated for a column.
    ///
    /// # Errors
    /// [`SchemaError`] if there is no such column, its bounds are not private, or these are not bounds.
    pub fn with_private_bounds(&self, column: &str, low: f64, high: f64) -> Result<Self, SchemaError> {
        if !self.columns().any(|known| known.name() == column) {
            return Err(SchemaError::NoColumn { column: column.to_owned() });
        }
        if !self.private_bounds().any(|(known, _)| known.name() == column) {
            return Err(SchemaError::Column { column: column.to_owned(), fault: ColumnFault::NotPrivate });
        }
        self.map(|known| {
            if known.name() == column {
                known.rescaled(Scale::Bounds { low, high }, Origin::Estimated)
            } else {
                Ok(known.clone())
            }
        })
    }

    /// The same schema with all numbers as they are: no bounds, no scaling; a record that lacks one is absent, whatever is
    /// stated for missing values. For private bounds, and for the protocols that
    /// [assume](Self::assuming_public_moments) something of the data to be public.
    #[must_use]
    pub fn unscaled(&self) -> Self {
        Self {
            target: self.target.as_ref().map(Column::as_it_is),
            features: self.features.iter().map(Column::as_it_is).collect(),
            ..self.clone()
        }
    }

    /// Whether all bounds, moments and levels were stated: none comes from the data.
    #[must_use]
    pub fn is_stated(&self) -> bool {
        self.columns().all(|column| column.origin() == Origin::Stated)
    }

    /// The same schema with every column changed.
    fn map(
        &self,
        mut change: impl FnMut(&Column) -> Result<Column, SchemaError>,
    ) -> Result<Self, SchemaError> {
        let features = self.features.iter().map(&mut change).collect::<Result<_, _>>()?;
        let target = self.target.as_ref().map(change).transpose()?;
        Ok(Self { target, features, ..self.clone() })
    }
}
