//! Means of numeric columns: the smallest complete model.
//!
//! Inputs are between -1 and 1. One release: the sum of each column. The posterior of the means of the records is
//! normal, with the standard deviation of the noise over the number of records. One setting: `widen`, a factor for
//! that standard deviation.
//!
//! Not for: anything but an example. It has no prior, and no inference beyond the records; see `normal` for that.

mod plan;
mod posterior;
mod query;

use plan::MeansPlan;
use posterior::Means;
use reticent_core::budget::{Adjacency, Privacy};
use reticent_core::model::{
    Declaration, Model, ModelError, Planned, Posterior, Saved, Setting, Settings, TableShape, Target, parse,
};
use serde_json::Value;

/// How callers choose it.
const NAME: &str = "means";

pub struct ColumnMeans;

static SETTINGS: [Setting; 1] =
    [Setting::number("widen", "a factor for the standard deviation of each mean", (1.0, 10.0))
        .or_number(1.0)];

const DECLARATION: Declaration = Declaration {
    name: NAME,
    about: "the mean of each numeric column",
    not_for: "anything but an example: it has no prior (use normal)",
    references: &[],
    family: "gaussian",
    targets: &[Target::Nothing],
    settings: &SETTINGS,
    needs_bounds: true,
    can_be_private: true,
    can_be_pure: true,
};

impl Model for ColumnMeans {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        let widen = Settings::new(self, shape)?.number("widen");
        // A fit without privacy makes the same releases without noise, whatever the plan's noise is.
        let any = Privacy::new(100.0, 1e-6, Adjacency::ReplaceOne).expect("these are positive");
        Ok(Box::new(MeansPlan::new(shape.inputs(), shape.records, widen, privacy.unwrap_or(&any))?))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new(parse::<MeansPlan>(NAME, plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        Ok(Box::new(saved.restore::<Means>(NAME)?))
    }
}
