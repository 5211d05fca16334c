//! Plans with one release of statistics.

use crate::budget::{Ledger, Privacy};
use crate::engine::conjugate::StatisticsPlan;
use crate::field::FieldError;
use crate::receipt::Receipt;
use crate::wall::{NoiseSource, PlanError, Records, Wall, WallError};

/// A plan whose only release is one of statistics, with a typed posterior.
pub trait ConjugatePlan {
    /// The posterior of the parameters.
    type Posterior;

    /// The release.
    fn statistics(&self) -> &StatisticsPlan;

    /// Checks that every field is in range and consistent with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    fn validate(&self) -> Result<(), FieldError>;

    /// The posterior from the release of a wall of this plan.
    ///
    /// # Errors
    /// Those of the wall.
    fn fit_through(&self, wall: &mut Wall) -> Result<Self::Posterior, WallError>;

    /// Runs the plan; without privacy if there is no budget. Records begin with the columns; later values are ignored.
    ///
    /// # Errors
    /// [`PlanError`] if a field is out of range, and those of the wall.
    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Self::Posterior, Receipt), WallError> {
        self.validate().map_err(PlanError::from)?;
        let mut wall = Wall::open(records, source, self.statistics().releases()?.0, privacy, ledger)?;
        let posterior = self.fit_through(&mut wall)?;
        Ok((posterior, wall.finish(0)?))
    }
}
