//! Private bounds: the first stage of a run whose schema leaves bounds to be estimated.

use reticent_core::bounds::{self, BoundsPlan, Grid};
use reticent_core::budget::{Cost, Privacy};
use reticent_core::model::{Model, Planned, TableShape};
use reticent_core::wall::{Plan, Wall};
use reticent_tables::Schema;

use crate::error::Error;

/// The share of the budget that bounds get by default.
pub const DEFAULT_BOUNDS_SHARE: f64 = 0.1;
/// A fit that together with the bounds costs more than the budget gets this factor less, at most so often.
const REDUCTION: f64 = 0.98;
const TRIALS: u32 = 20;

/// Bounds that are to be estimated.
pub(crate) struct PrivateBounds {
    /// The columns, with numbers that are not scaled.
    pub(crate) columns: Schema,
    plan: BoundsPlan,
}

impl PrivateBounds {
    /// The bounds that a schema leaves private; none if it states all of them.
    pub(crate) fn new(
        schema: &Schema,
        records: usize,
        privacy: Option<&Privacy>,
        share: f64,
    ) -> Result<Option<Self>, Error> {
        let Some(columns) = schema.private_bounds_schema() else { return Ok(None) };
        let Some(privacy) = privacy else {
            let hint = "state `bounds = [low, high]`, or take them from the data with `Schema::from_data_assuming_public`";
            return Err(Error::settings("bounds cannot be estimated without a privacy budget", hint));
        };
        let grids = schema.private_bounds().map(|(_, (low, high))| Grid::new(low, high));
        let plan = BoundsPlan::new(grids.collect::<Result<_, _>>()?, records, privacy, share)?;
        Ok(Some(Self { columns, plan }))
    }

    /// All that will be released, with the fit as the second stage.
    pub(crate) fn then(&self, planned: &dyn Planned) -> Result<Plan, Error> {
        Ok(self.plan.releases()?.then(planned.releases()?)?)
    }

    /// The cost of both stages together.
    fn price(&self, planned: &dyn Planned, privacy: &Privacy) -> Result<Cost, Error> {
        Ok(self.then(planned)?.price(privacy.delta())?)
    }

    /// Plans a fit with what is left of the budget.
    pub(crate) fn plan_fit(
        &self,
        model: &dyn Model,
        shape: &TableShape,
        privacy: &Privacy,
        share: f64,
    ) -> Result<Box<dyn Planned>, Error> {
        let mut left = bounds::remaining(privacy, share)?;
        let mut planned = model.plan(shape, Some(&left))?;
        for _ in 0..TRIALS {
            if self.price(planned.as_ref(), privacy)?.epsilon.upper <= privacy.epsilon() {
                break;
            }
            left = Privacy::new(REDUCTION * left.epsilon(), left.delta(), left.adjacency())?;
            planned = model.plan(shape, Some(&left))?;
        }
        // The last one may still cost too much: whoever accepts a plan compares its price.
        Ok(planned)
    }

    /// Makes the releases of the first stage; returns the schema with the estimated bounds.
    pub(crate) fn estimate(&self, schema: &Schema, wall: &mut Wall) -> Result<Schema, Error> {
        let bounds = self.plan.estimate(wall)?;
        let mut bounded = schema.clone();
        for ((column, _), (low, high)) in schema.private_bounds().zip(bounds) {
            bounded = bounded.with_private_bounds(column.name(), low, high)?;
        }
        Ok(bounded)
    }
}
