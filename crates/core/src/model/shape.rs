//! The public shape of a table, from which plans are made.

use crate::model::{CoefficientPrior, Limits, SettingValue};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind of target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// A number between -1 and 1.
    Number,
    /// One of two classes, encoded as -1 and 1.
    TwoClasses,
    /// One of several classes.
    Classes,
    /// Nothing: records have inputs only.
    Nothing,
}

impl Target {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "a numeric target",
            Self::TwoClasses => "a target of two classes",
            Self::Classes => "a target of more than two classes",
            Self::Nothing => "no target",
        }
    }
}

/// Public information about the rows that a model is fitted to: inputs between -1 and 1 and, last, the target.
#[derive(Debug, Clone, PartialEq)]
pub struct TableShape {
    /// Number of inputs of each column: one, or one for each level of a one-hot encoding.
    pub columns: Vec<usize>,
    /// Kind of the target.
    pub target: Target,
    /// The public number of records.
    pub records: usize,
    /// How many of the columns count words of texts; `None` if the caller does not state it.
    pub words: Option<usize>,
    /// Settings that differ from their defaults.
    pub settings: BTreeMap<String, SettingValue>,
    /// Priors of coefficients that the schema states, for models that have coefficients.
    pub priors: Vec<CoefficientPrior>,
    /// Resource limits of the fit.
    pub limits: Limits,
}

impl TableShape {
    /// With the default settings and limits.
    #[must_use]
    pub fn new(columns: Vec<usize>, target: Target, records: usize) -> Self {
        let (words, settings, limits) = (None, BTreeMap::new(), Limits::default());
        Self { columns, target, records, words, settings, priors: Vec::new(), limits }
    }

    /// Inputs of a record.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.columns.iter().sum()
    }

    /// Numbers in a record.
    #[must_use]
    pub fn width(&self) -> usize {
        self.inputs() + usize::from(self.target != Target::Nothing)
    }
}
