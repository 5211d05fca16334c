//! Plans that release the same sums of statistics again and again.

use crate::budget::{Ledger, Privacy};
use crate::receipt::Receipt;
use crate::wall::{NoiseSource, Plan, PlanError, Records, SumId, Wall, WallError};
use reticent_accounting::Cost;

/// A plan of stochastic variational Bayes, with a typed posterior.
pub trait VbPlan {
    /// The posterior of the global variables.
    type Posterior;

    /// The planned releases: one group of sums.
    ///
    /// # Errors
    /// [`PlanError`] if a field is out of range, or the wall refuses the plan.
    fn sums(&self) -> Result<(Plan, SumId), PlanError>;

    /// Fits through a wall of this plan. Returns the number of projections with the posterior.
    ///
    /// # Errors
    /// Those of the wall.
    fn fit_through(&self, wall: &mut Wall) -> Result<(Self::Posterior, u64), WallError>;

    /// The cost of the plan.
    ///
    /// # Errors
    /// Those of [`sums`](Self::sums).
    fn price(&self, delta: f64) -> Result<Cost, PlanError> {
        self.sums()?.0.price(delta)
    }

    /// Runs the plan on records; without privacy if there is no budget.
    ///
    /// # Errors
    /// Those of the wall.
    fn run(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Self::Posterior, Receipt), WallError> {
        let mut wall = Wall::open(records, source, self.sums()?.0, privacy, ledger)?;
        let (posterior, projections) = self.fit_through(&mut wall)?;
        Ok((posterior, wall.finish(projections)?))
    }
}
