//! The layout of counts: region, time step, and a category in each field.

use crate::model::{DefinitionError, FitError};
use serde::{Deserialize, Serialize};

/// The shape of the table of counts: regions by steps by the categories of all fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Number of regions, each with a chain.
    pub regions: usize,
    /// Number of steps of each chain.
    pub steps: usize,
    /// Number of categories of each field.
    pub fields: Vec<usize>,
}

/// Maximum number of counts.
const MAX_COUNTS: usize = 1 << 28;

impl Layout {
    /// Checks that the layout is neither empty nor too large.
    ///
    /// # Errors
    /// [`DefinitionError::HmmLayout`](crate::model::DefinitionError::HmmLayout).
    pub fn check(&self) -> Result<(), FitError> {
        let some = self.regions > 0 && self.steps > 0 && !self.fields.is_empty();
        let fields = self.fields.iter().all(|&levels| (1..1 << 20).contains(&levels));
        let small = self.regions < 1 << 20 && self.steps < 1 << 20 && self.fields.len() < 1 << 10;
        let counts = || self.regions.saturating_mul(self.steps).saturating_mul(self.categories());
        if some && fields && small && counts() <= MAX_COUNTS {
            Ok(())
        } else {
            Err(FitError::Definition(DefinitionError::HmmLayout))
        }
    }

    /// Number of cells: pairs of a region and a step.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.regions * self.steps
    }

    /// The cell of a region and a step: the steps of a region are adjacent.
    #[must_use]
    pub fn cell(&self, region: usize, step: usize) -> usize {
        region * self.steps + step
    }

    /// Number of categories of all fields together.
    #[must_use]
    pub fn categories(&self) -> usize {
        self.fields.iter().sum()
    }

    /// Number of counts.
    #[must_use]
    pub fn width(&self) -> usize {
        self.cells() * self.categories()
    }

    /// The range of each field's categories among those of all fields.
    pub fn field_ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        self.fields.iter().scan(0, |first, &levels| {
            *first += levels;
            Some(*first - levels..*first)
        })
    }
}
