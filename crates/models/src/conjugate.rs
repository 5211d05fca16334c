//! What models from noisy sums share: one release, planned alike.

use reticent::budget::{Adjacency, Cost, Ledger, Privacy};
use reticent::engine::conjugate::{Reading, StatisticsPlan};
use reticent::field::FieldError;
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records, WallError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::model::{out_of_range, parse, same_columns, same_shape};
use crate::{Estimate, Facts, Fitted, Model, ModelError, Outline, Planned, Release, Setting};

/// How the noise is read.
pub(crate) const POSTERIOR: Setting = Setting::integer(
    "posterior",
    "1 for a posterior that is aware of the noise, 2 for the naive one that takes noisy sums for true ones",
    (1, 2),
)
.or(1.0);

/// What a plan without privacy is planned for: more than any budget.
pub(crate) fn plenty() -> Privacy {
    Privacy::new(100.0, 1e-6, Adjacency::ReplaceOne).expect("these are positive")
}

/// The reading that [`POSTERIOR`] names.
pub(crate) fn reading(posterior: f64) -> Reading {
    if posterior == 1.0 { Reading::NoiseAware } else { Reading::Naive }
}

/// Refuses columns of several levels.
pub(crate) fn only_numbers(model: &dyn Model, facts: &Facts) -> Result<(), ModelError> {
    if facts.columns.iter().any(|&inputs| inputs != 1) {
        let expected = "columns of one number each, not of several levels or words";
        return Err(ModelError::Columns { model: model.name(), expected });
    }
    Ok(())
}

/// A plan whose only release is one of statistics.
pub(crate) trait Single: Serialize + DeserializeOwned + 'static {
    const MODEL: &'static str;
    /// Whether every field is in its range, and agrees with the others.
    fn fields(&self) -> Result<(), FieldError>;
    /// What is to be added to what the release takes.
    fn posterior_estimate(&self) -> Estimate;
    fn statistics(&self) -> &StatisticsPlan;
    /// Inputs of a record.
    fn inputs(&self) -> usize;
    /// Inputs of each column, if the plan has them.
    fn columns(&self) -> Option<&[usize]> {
        None
    }
    fn run(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), WallError>;
}

/// Such a plan as all plans are used.
pub(crate) struct Once<P>(pub(crate) P);

/// Reads an edited plan.
pub(crate) fn parse_plan<P: Single>(plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
    Ok(Box::new(Once(parse::<P>(P::MODEL, plan)?)))
}

impl<P: Single> Planned for Once<P> {
    fn to_json(&self) -> Value {
        serde_json::to_value(&self.0).expect("a plan is numbers and texts")
    }

    fn outline(&self) -> Outline {
        let statistics = self.0.statistics();
        let clip = if statistics.laplace { statistics.sensitivity.l1 } else { statistics.sensitivity.l2 };
        let release = Release {
            what: statistics.what.clone(),
            width: statistics.width,
            times: 1,
            clip,
            noise_multiplier: statistics.noise_multiplier,
        };
        let relative = statistics.expected_noise / statistics.records as f64;
        let expected = vec![
            ("standard deviation of the noise in each sum".into(), statistics.expected_noise),
            ("the same as a share of the records".into(), relative),
        ];
        Outline { releases: vec![release], expected, why: statistics.why.clone() }
    }

    fn validate(&self, facts: &Facts) -> Result<(), ModelError> {
        let records = self.0.statistics().records;
        match self.0.columns() {
            Some(columns) => same_columns(P::MODEL, (columns, records), facts)?,
            None => same_shape(P::MODEL, (self.0.inputs(), records), facts)?,
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

    fn price(&self, privacy: &Privacy) -> Result<Cost, ModelError> {
        let (plan, _) = self.0.statistics().releases().map_err(WallError::from)?;
        Ok(plan.price(privacy.delta()).map_err(WallError::from)?)
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        Ok(self.0.run(records, source, privacy, ledger)?)
    }
}
