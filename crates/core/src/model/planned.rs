//! A fit that was planned from public numbers and has not been run.

use crate::budget::{Cost, Ledger, Privacy};
use crate::field::FieldError;
use crate::model::posterior::Posterior;
use crate::model::shape::TableShape;
use crate::model::{Estimate, FitError, ModelError};
use crate::receipt::{Entry, Kind, Receipt};
use crate::wall::{NoiseSource, Plan, Records, Wall, WallError};
use serde::Serialize;
use serde_json::Value;

/// A fit that could be made: all that it will release, and what is done with the releases.
pub trait Planned: Send + Sync {
    /// The plan, to be edited.
    fn to_json(&self) -> Value;
    /// Everything that the fit will release. Price, outline, ledger request and receipt are read from it.
    ///
    /// # Errors
    /// [`ModelError`] if the wall would refuse it.
    fn releases(&self) -> Result<Plan, ModelError>;
    /// What to expect of the fit: a name and a number each.
    fn expected(&self) -> Vec<(String, f64)> {
        Vec::new()
    }
    /// Why it is this plan.
    fn why(&self) -> Vec<String> {
        Vec::new()
    }
    /// Whether every field is in its range, and agrees with the others and with the facts.
    ///
    /// # Errors
    /// [`ModelError::Plan`] with the field and its range.
    fn validate(&self, facts: &TableShape) -> Result<(), ModelError>;
    /// Refuses a fit with or without privacy that the plan is not for. By default it is for both.
    ///
    /// # Errors
    /// [`ModelError`].
    fn check_privacy(&self, _privacy: Option<&Privacy>) -> Result<(), ModelError> {
        Ok(())
    }
    /// What it takes, from the numbers of the plan alone.
    fn cost_estimate(&self) -> Estimate;
    /// Makes the releases of [`releases`](Self::releases), which the wall was built for, and turns them into a posterior. How
    /// often a released value was moved back into its domain comes with it.
    ///
    /// # Errors
    /// [`ModelError`]; what was released stays spent.
    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError>;
}

impl dyn Planned + '_ {
    /// The plan for people.
    ///
    /// # Errors
    /// [`ModelError`] if the wall would refuse it.
    pub fn outline(&self) -> Result<Outline, ModelError> {
        let releases = self.releases()?.entries().map(Release::from).collect();
        Ok(Outline { releases, expected: self.expected(), why: self.why() })
    }

    /// What it costs at this delta.
    ///
    /// # Errors
    /// [`ModelError`] if the wall would refuse it.
    pub fn price(&self, delta: f64) -> Result<Cost, ModelError> {
        Ok(self.releases()?.price(delta).map_err(WallError::from)?)
    }

    /// Builds a wall around records, fits, and settles; without privacy if none is asked for.
    ///
    /// # Errors
    /// [`ModelError`]; nothing was released if the wall could not be built.
    pub fn run(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Posterior>, Receipt), ModelError> {
        self.check_privacy(privacy)?;
        let mut wall = Wall::open(records, source, self.releases()?, privacy, ledger)?;
        let (fitted, projections) = self.fit(&mut wall)?;
        Ok((fitted, wall.finish(projections)?))
    }
}

/// What a plan does, for people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outline {
    /// What it releases.
    pub releases: Vec<Release>,
    /// What to expect of it: a name and a number each.
    pub expected: Vec<(String, f64)>,
    /// Why it is this plan.
    pub why: Vec<String>,
}

/// Releases of the same kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Release {
    /// What is released.
    pub what: String,
    /// Numbers in each.
    pub width: usize,
    /// How many.
    pub times: u64,
    /// The norm that contributions are clipped to.
    pub clip: f64,
    /// The standard deviation of the noise over the sensitivity.
    pub noise_multiplier: f64,
}

impl From<&Entry> for Release {
    fn from(entry: &Entry) -> Self {
        let (clip, noise_multiplier) = match &entry.kind {
            Kind::Sum { geometry, noise_multiplier, .. } => (geometry.largest_norm(), *noise_multiplier),
            Kind::Draw { scores: (lower, upper), .. } => (upper - lower, f64::NAN),
        };
        Self { what: entry.what.clone(), width: entry.width, times: entry.planned, clip, noise_multiplier }
    }
}

/// The GDP parameter $\mu$ that a budget allows releases of Gaussian noise: see [`gdp_mu`](crate::engine::gdp_mu).
pub(crate) fn gaussian_mu(privacy: &Privacy) -> Result<f64, FitError> {
    if privacy.delta() == 0.0 {
        return Err(FitError::NoDelta);
    }
    Ok(crate::engine::gdp_mu(privacy)?)
}

/// Reads a plan of this model.
///
/// # Errors
/// [`ModelError::Plan`] with what is missing or of another kind.
pub fn parse<T: serde::de::DeserializeOwned>(model: &'static str, plan: &Value) -> Result<T, ModelError> {
    T::deserialize(plan).map_err(|error| ModelError::Plan { model, why: error.to_string() })
}

/// Whether a plan is for records of as many inputs as the schema has, and for as many of them as there are.
///
/// # Errors
/// [`ModelError::Plan`] with what differs.
pub fn same_shape(
    model: &'static str,
    (inputs, records): (usize, usize),
    facts: &TableShape,
) -> Result<(), ModelError> {
    let why = if inputs != facts.inputs() {
        format!("it has {inputs} inputs, and the schema {}", facts.inputs())
    } else if records != facts.records {
        format!("it is for {records} records, and there are {}", facts.records)
    } else {
        return Ok(());
    };
    Err(ModelError::Plan { model, why })
}

/// The same for plans that have the inputs of each column.
///
/// # Errors
/// [`ModelError::Plan`] with what differs.
pub fn same_columns(
    model: &'static str,
    (columns, records): (&[usize], usize),
    facts: &TableShape,
) -> Result<(), ModelError> {
    if columns != facts.columns {
        let why = "its columns are not those of the schema".to_owned();
        return Err(ModelError::Plan { model, why });
    }
    same_shape(model, (facts.inputs(), records), facts)
}

/// A field of a plan that is out of its range.
pub fn out_of_range(model: &'static str) -> impl Fn(FieldError) -> ModelError {
    move |error| ModelError::Plan { model, why: error.to_string() }
}
