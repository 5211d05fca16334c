//! Registered models whose plan has one release of sums.

use crate::budget::{Adjacency, Privacy};
use crate::engine::conjugate::{NoiseTreatment, StatisticsPlan};
use crate::field::FieldError;
use crate::model::conjugate::ConjugatePlan;
use crate::model::planned::{out_of_range, parse, same_columns, same_shape};
use crate::model::{Estimate, Model, ModelError, Planned, Posterior, Setting, TableShape};
use crate::wall::{Plan, Wall, WallError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The noise treatment, which all of these models and `hmm` have.
pub(crate) const POSTERIOR: Setting = Setting::choice(
    "posterior",
    "noise-aware integrates over the privacy noise; naive takes noisy sums for exact ones, and its intervals are too narrow",
    &["noise-aware", "naive"],
);

/// The budget that a fit without privacy is planned for: larger than any other.
pub(crate) fn unlimited_budget() -> Privacy {
    Privacy::new(100.0, 1e-6, Adjacency::ReplaceOne).expect("these are positive")
}

/// The treatment that the setting [`POSTERIOR`] names.
pub(crate) fn noise_treatment(posterior: &str) -> NoiseTreatment {
    if posterior == "naive" { NoiseTreatment::Naive } else { NoiseTreatment::NoiseAware }
}

/// Refuses columns of several levels.
pub(crate) fn only_numbers(model: &dyn Model, shape: &TableShape) -> Result<(), ModelError> {
    if shape.columns.iter().any(|&inputs| inputs != 1) {
        let expected = "columns of one number each, not of several levels or words";
        return Err(ModelError::Columns { model: model.name(), expected });
    }
    Ok(())
}

/// Such a plan of a registered model.
pub(crate) trait Single: ConjugatePlan + Serialize + DeserializeOwned + Send + Sync + 'static {
    const MODEL: &'static str;
    /// Checks what a plan for records of a table must have, and the plan itself.
    fn fields(&self) -> Result<(), FieldError> {
        self.validate()
    }
    /// Resources of the posterior, in addition to those of the release.
    fn posterior_estimate(&self) -> Estimate;
    /// Inputs of a record.
    fn inputs(&self) -> usize;
    /// Inputs of each column, if the plan has them.
    fn columns(&self) -> Option<&[usize]> {
        None
    }
    fn posterior(&self, wall: &mut Wall) -> Result<Box<dyn Posterior>, WallError>;
}

/// Such a plan as a [`Planned`].
pub(crate) struct Once<P>(pub(crate) P);

/// Reads an edited plan.
pub(crate) fn parse_plan<P: Single>(plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
    Ok(Box::new(Once(parse::<P>(P::MODEL, plan)?)))
}

impl<P: Single> Planned for Once<P> {
    fn to_json(&self) -> Value {
        serde_json::to_value(&self.0).expect("a plan is numbers and texts")
    }

    fn releases(&self) -> Result<Plan, ModelError> {
        Ok(self.0.statistics().releases().map_err(WallError::from)?.0)
    }

    fn expected(&self) -> Vec<(String, f64)> {
        let statistics = self.0.statistics();
        let relative = statistics.expected_noise / statistics.records as f64;
        vec![
            ("standard deviation of the noise in each sum".into(), statistics.expected_noise),
            ("noise as a share of the number of records".into(), relative),
        ]
    }

    fn why(&self) -> Vec<String> {
        self.0.statistics().why.clone()
    }

    fn validate(&self, shape: &TableShape) -> Result<(), ModelError> {
        let records = self.0.statistics().records;
        match self.0.columns() {
            Some(columns) => same_columns(P::MODEL, (columns, records), shape)?,
            None => same_shape(P::MODEL, (self.0.inputs(), records), shape)?,
        }
        self.0.fields().map_err(out_of_range(P::MODEL))
    }

    fn cost_estimate(&self) -> Estimate {
        let StatisticsPlan { width, records, .. } = *self.0.statistics();
        let (width, inputs) = (width as f64, self.0.inputs() as f64);
        // Statistics are the inputs, their squares, or a few cells of a table; covariances have few columns.
        let each = 4.0 * inputs + 3.0 * width.min(256.0);
        self.0.posterior_estimate().releases(1.0, width, records as f64, each)
    }

    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError> {
        Ok((self.0.posterior(wall)?, 0))
    }
}
