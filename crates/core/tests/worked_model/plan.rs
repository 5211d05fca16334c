//! The plan: the release and its noise.

use super::NAME;
use super::posterior::Means;
use super::query::Inputs;
use reticent_core::budget::Privacy;
use reticent_core::engine::conjugate::{Sensitivity, StatisticsPlan};
use reticent_core::field;
use reticent_core::model::{Estimate, ModelError, Planned, Posterior, TableShape, out_of_range, same_shape};
use reticent_core::wall::{Plan, Wall, WallError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const WHAT: &str = "sums of columns";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MeansPlan {
    widen: f64,
    statistics: StatisticsPlan,
}

/// Each of $D$ inputs is between -1 and 1.
fn sensitivity(columns: usize) -> Sensitivity {
    let d = columns as f64;
    Sensitivity { l1: d, l2: d.sqrt(), non_negative: false }
}

impl MeansPlan {
    pub fn new(columns: usize, records: usize, widen: f64, privacy: &Privacy) -> Result<Self, ModelError> {
        let statistics = StatisticsPlan::new(WHAT, records, columns, sensitivity(columns), privacy);
        Ok(Self { widen, statistics: statistics.map_err(WallError::from)? })
    }
}

impl Planned for MeansPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn releases(&self) -> Result<Plan, ModelError> {
        Ok(self.statistics.releases().map_err(WallError::from)?.0)
    }

    fn why(&self) -> Vec<String> {
        self.statistics.why.clone()
    }

    fn validate(&self, shape: &TableShape) -> Result<(), ModelError> {
        let columns = self.statistics.width;
        same_shape(NAME, (columns, self.statistics.records), shape)?;
        let fields = || {
            field::number("widen", self.widen, 1.0..=10.0)?;
            self.statistics.validate(WHAT, columns, sensitivity(columns))
        };
        fields().map_err(out_of_range(NAME))
    }

    fn cost_estimate(&self) -> Estimate {
        let (columns, records) = (self.statistics.width as f64, self.statistics.records as f64);
        Estimate::new(columns, columns, 2.0 * columns).releases(1.0, columns, records, columns)
    }

    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError> {
        let query = Inputs { columns: self.statistics.width };
        let (released, _) = self.statistics.release(&query, wall)?;
        let records = self.statistics.records as f64;
        let over = |by: f64, values: &[f64]| values.iter().map(|x| by * x / records).collect::<Vec<f64>>();
        let means = Means { mean: over(1.0, &released.values), sd: over(self.widen, &released.noise_sd) };
        Ok((Box::new(means), 0))
    }
}
