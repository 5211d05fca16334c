//! The encoding of events: how a row of a table gives a region, a time and categories.

use crate::engine::conjugate::one_hot_level;
use crate::model::hmm::Layout;
use crate::model::{DefinitionError, FitError};
use serde::{Deserialize, Serialize};

/// The encoding of a column in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coded {
    /// Numbers of the column: one for each level of a one-hot encoding; or one between -1 and 1.
    pub inputs: usize,
    /// Number of levels. A single number is one of as many evenly spaced values.
    pub levels: usize,
}

impl Coded {
    /// The level, if there is one.
    fn level(self, numbers: &[f64]) -> Option<usize> {
        match numbers {
            [x] if self.inputs == 1 => {
                let last = (self.levels - 1) as f64;
                Some((0.5 * (x.clamp(-1.0, 1.0) + 1.0) * last).round() as usize)
            }
            _ => one_hot_level(numbers),
        }
    }
}

/// The encoding of records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coding {
    /// The columns, in order.
    pub columns: Vec<Coded>,
    /// Index of the region column.
    pub region: usize,
    /// Index of the time column.
    pub time: usize,
}

impl Coding {
    /// The shape of the counts.
    ///
    /// # Errors
    /// [`DefinitionError::HmmLayout`](crate::model::DefinitionError::HmmLayout) if there are too few columns.
    pub fn layout(&self) -> Result<Layout, FitError> {
        let column = |k: usize| self.columns.get(k).ok_or(FitError::Definition(DefinitionError::HmmLayout));
        let valid = self.columns.iter().all(|c| c.levels > 0 && (c.inputs == 1 || c.inputs == c.levels));
        if self.region == self.time || !valid {
            return Err(FitError::Definition(DefinitionError::HmmLayout));
        }
        let fields = self.columns.iter().enumerate().filter(|(k, _)| ![self.region, self.time].contains(k));
        let layout = Layout {
            regions: column(self.region)?.levels,
            steps: column(self.time)?.levels,
            fields: fields.map(|(_, column)| column.levels).collect(),
        };
        layout.check()?;
        Ok(layout)
    }

    /// Numbers in a record.
    #[must_use]
    pub fn width(&self) -> usize {
        self.columns.iter().map(|column| column.inputs).sum()
    }

    /// The level of each column, where a record has one.
    fn levels<'a>(&'a self, record: &'a [f64]) -> impl Iterator<Item = Option<usize>> + 'a {
        let mut rest = record;
        self.columns.iter().map(move |column| {
            let (numbers, after) = rest.split_at_checked(column.inputs).unwrap_or_default();
            rest = after;
            column.level(numbers)
        })
    }

    /// The cell of an event.
    #[must_use]
    pub fn cell(&self, layout: &Layout, record: &[f64]) -> Option<usize> {
        let level = |column: usize| self.levels(record).nth(column).flatten();
        Some(layout.cell(level(self.region)?, level(self.time)?))
    }

    /// The category of an event in each field.
    pub fn event<'a>(&'a self, record: &'a [f64]) -> impl Iterator<Item = Option<usize>> + 'a {
        let levels = self.levels(record).enumerate();
        levels.filter(|(column, _)| ![self.region, self.time].contains(column)).map(|(_, level)| level)
    }
}
