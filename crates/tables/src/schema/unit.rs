//! Who is protected.

use super::SchemaError;

/// The column whose value all rows of a privacy unit share, such as the number of a person.
///
/// By default a unit counts as the mean of its rows. With a number of `rows`, at most so many of its rows count, chosen by secret coins, and each as one over that
/// number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivacyUnit {
    column: String,
    rows: Option<usize>,
}

impl PrivacyUnit {
    /// Largest number of rows of a unit that may be stated.
    pub const MAX_ROWS: usize = 1000;

    /// # Errors
    /// [`SchemaError::UnitRows`] if the number of rows is not from 1 to [`MAX_ROWS`](Self::MAX_ROWS), or the column has no name.
    pub fn new(column: impl Into<String>, rows: Option<usize>) -> Result<Self, SchemaError> {
        let column = column.into();
        if column.is_empty() || rows.is_some_and(|rows| !(1..=Self::MAX_ROWS).contains(&rows)) {
            return Err(SchemaError::UnitRows);
        }
        Ok(Self { column, rows })
    }

    /// The column.
    #[must_use]
    pub fn column(&self) -> &str {
        &self.column
    }

    /// Rows of a unit that count, if not all.
    #[must_use]
    pub fn rows(&self) -> Option<usize> {
        self.rows
    }
}
