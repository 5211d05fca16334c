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

/// A planned fit: all of its releases, and the inference from them.
pub trait Planned: Send + Sync {
    /// The plan as editable JSON.
    fn to_json(&self) -> Value;
    /// All releases of the fit. Price, outline, ledger request and receipt are derived from it.
    ///
    /// # Errors
    /// [`ModelError`] if the wall refuses the plan.
    fn releases(&self) -> Result<Plan, ModelError>;
    /// Expected accuracy figures: a name and a number each.
    fn expected(&self) -> Vec<(String, f64)> {
        Vec::new()
    }
    /// The reasons for the choices of the plan.
    fn why(&self) -> Vec<String> {
        Vec::new()
    }
    /// Checks that every field is in range and consistent with the others and with the table shape.
    ///
    /// # Errors
    /// [`ModelError::Plan`] with the field and its range.
    fn validate(&self, shape: &TableShape) -> Result<(), ModelError>;
    /// Refuses a fit with or without privacy that the plan is not for. By default both are allowed.
    ///
    /// # Errors
    /// [`ModelError`].
    fn check_privacy(&self, _privacy: Option<&Privacy>) -> Result<(), ModelError> {
        Ok(())
    }
    /// Resources of the fit, from the numbers of the plan alone.
    fn cost_estimate(&self) -> Estimate;
    /// Makes the releases of [`releases`](Self::releases), which the wall was built for, and turns them into a
    /// posterior. Returns the number of projections with it.
    ///
    /// # Errors
    /// [`ModelError`]; releases already made stay charged.
    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError>;
}

impl Wall {
    /// A wall with noise for a budget, or without noise and privacy if there is none.
    ///
    /// # Errors
    /// Those of [`new`](Self::new) and [`without_privacy`](Self::without_privacy).
    pub fn open(
        records: Records,
        source: NoiseSource,
        plan: Plan,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<Self, WallError> {
        match privacy {
            Some(privacy) => Self::new(records, source, plan, privacy, ledger),
            None => Self::without_privacy(records, source, plan, ledger),
        }
    }
}

impl dyn Planned + '_ {
    /// A summary of the plan.
    ///
    /// # Errors
    /// [`ModelError`] if the wall refuses the plan.
    pub fn outline(&self) -> Result<Outline, ModelError> {
        let releases = self.releases()?.entries().map(Release::from).collect();
        Ok(Outline { releases, expected: self.expected(), why: self.why() })
    }

    /// The cost at this delta.
    ///
    /// # Errors
    /// [`ModelError`] if the wall refuses the plan.
    pub fn price(&self, delta: f64) -> Result<Cost, ModelError> {
        Ok(self.releases()?.price(delta).map_err(WallError::from)?)
    }

    /// Builds a wall around records, fits, and settles; without privacy if there is no budget.
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

/// A summary of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outline {
    /// The releases, one entry for each group.
    pub releases: Vec<Release>,
    /// Expected accuracy figures: a name and a number each.
    pub expected: Vec<(String, f64)>,
    /// The reasons for the choices of the plan.
    pub why: Vec<String>,
}

/// A group of releases of the same kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Release {
    /// Description of the released quantity.
    pub what: String,
    /// Coordinates of each release.
    pub width: usize,
    /// Number of releases.
    pub times: u64,
    /// Clipping norm of contributions.
    pub clip: f64,
    /// Standard deviation of the noise over the sensitivity.
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

/// Parses a plan of this model.
///
/// # Errors
/// [`ModelError::Plan`] with the missing or mistyped field.
pub fn parse<T: serde::de::DeserializeOwned>(model: &'static str, plan: &Value) -> Result<T, ModelError> {
    T::deserialize(plan).map_err(|error| ModelError::Plan { model, why: error.to_string() })
}

/// Checks that a plan is for the inputs of the schema and the number of records.
///
/// # Errors
/// [`ModelError::Plan`] with the difference.
pub fn same_shape(
    model: &'static str,
    (inputs, records): (usize, usize),
    shape: &TableShape,
) -> Result<(), ModelError> {
    let why = if inputs != shape.inputs() {
        format!("it has {inputs} inputs, and the schema has {}", shape.inputs())
    } else if records != shape.records {
        format!("it is for {records} records, and there are {}", shape.records)
    } else {
        return Ok(());
    };
    Err(ModelError::Plan { model, why })
}

/// As [`same_shape`], for plans that list the inputs of each column.
///
/// # Errors
/// [`ModelError::Plan`] with the difference.
pub fn same_columns(
    model: &'static str,
    (columns, records): (&[usize], usize),
    shape: &TableShape,
) -> Result<(), ModelError> {
    if columns != shape.columns {
        let why = "its columns are not those of the schema".to_owned();
        return Err(ModelError::Plan { model, why });
    }
    same_shape(model, (shape.inputs(), records), shape)
}

/// The error for a field of a plan that is out of range.
pub fn out_of_range(model: &'static str) -> impl Fn(FieldError) -> ModelError {
    move |error| ModelError::Plan { model, why: error.to_string() }
}
