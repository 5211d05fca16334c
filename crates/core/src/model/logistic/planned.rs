//! A plan of a logistic regression, for the registry.

use super::LogisticPlan;
use crate::model::planned::{out_of_range, same_columns};
use crate::model::{Estimate, ModelError, Planned, Posterior, TableShape};
use crate::wall::{Plan, Wall};
use serde_json::Value;

impl Planned for LogisticPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn releases(&self) -> Result<Plan, ModelError> {
        Ok(LogisticPlan::releases(self)?.0)
    }

    fn expected(&self) -> Vec<(String, f64)> {
        self.ridge_penalty()
            .map(|ridge| ("ridge penalty of each weight during the steps".into(), ridge))
            .into_iter()
            .collect()
    }

    fn why(&self) -> Vec<String> {
        self.why.clone()
    }

    fn validate(&self, shape: &TableShape) -> Result<(), ModelError> {
        same_columns("logistic", (&self.columns, self.records), shape)?;
        LogisticPlan::validate(self).map_err(out_of_range("logistic"))
    }

    fn cost_estimate(&self) -> Estimate {
        let (size, records) = (self.size() as f64, self.records as f64);
        let steps: f64 = self.rounds.iter().map(|round| round.steps as f64).sum();
        let matrices = self.rounds.iter().filter(|round| round.curvature_noise.is_some()).count() as f64;
        let scores = |start: Estimate| start.releases(steps, size, records, 12.0 * size + 60.0);
        let sums = |start: Estimate| start.releases(1.0, 3.0 * size, records, 12.0 * size + 60.0);
        if matrices == 0.0 {
            let post = steps * 2000.0 * size;
            return sums(scores(Estimate::new(100.0 * size, post, 5.0 * size)));
        }
        let square = size * size;
        // Every step is propagated to the posterior by matrix products.
        let post = (1200.0 + 140.0 * steps) * square * size;
        let start = Estimate::new(40.0 * square, post, 2.0 * square + 4.0 * size);
        sums(scores(start)).releases(matrices, 0.5 * square, records, 2.0 * square + 60.0)
    }

    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError> {
        let (posterior, projections) = self.fit_through(wall)?;
        Ok((Box::new(posterior), projections))
    }
}
