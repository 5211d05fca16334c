//! The plan of a fit: its releases, its cost and what to expect of it.

use reticent_core::budget::{Cost, Privacy};
use reticent_core::model::{Codebook, Estimate, Model, Planned, Release, TableShape};
use reticent_core::wall::{self, WallError};
use reticent_tables::{PrivacyUnit, Schema};
use serde_json::{Value, json};

use crate::bounds::PrivateBounds;
use crate::codebook::codebook;
use crate::error::Error;
use crate::memory::numbers;
use crate::settings::{self, Settings};

/// A plan that was accepted: the fit runs as it states. No record was read for it, so it is public.
pub struct Plan {
    pub(crate) model: &'static dyn Model,
    pub(crate) shape: TableShape,
    pub(crate) planned: Box<dyn Planned>,
    /// Bounds that are estimated first.
    pub(crate) bounds: Option<PrivateBounds>,
    pub(crate) privacy: Option<Privacy>,
    /// The names and units behind encoded rows; none while bounds are still to be estimated.
    pub(crate) codebook: Option<Codebook>,
    /// Bytes of records that are kept in memory at most.
    memory: u64,
    privacy_unit: Option<PrivacyUnit>,
}

/// What a plan is made from.
pub(crate) struct Request<'a> {
    pub(crate) model: &'static dyn Model,
    pub(crate) schema: &'a Schema,
    pub(crate) shape: TableShape,
    pub(crate) privacy: Option<Privacy>,
    pub(crate) bounds_share: f64,
    pub(crate) memory: u64,
    /// A plan from [`Plan::to_json`], edited or not.
    pub(crate) given: Option<&'a Value>,
}

impl Plan {
    /// Plans a fit, or takes the plan that was given, and decides whether it can be made: every field is in its range, it takes no more
    /// than the limits, and it costs no more than what may be spent.
    pub(crate) fn new(request: Request<'_>) -> Result<Self, Error> {
        let Request { model, schema, shape, privacy, bounds_share, memory, given } = request;
        if let Some(privacy) = &privacy {
            privacy.check(shape.records, privacy.adjacency())?;
        }
        let bounds = PrivateBounds::new(schema, shape.records, privacy.as_ref(), bounds_share)?;
        let planned = match (given, &bounds, &privacy) {
            (Some(given), ..) => model.read_plan(&shape, given)?,
            (None, Some(bounds), Some(privacy)) => bounds.plan_fit(model, &shape, privacy, bounds_share)?,
            _ => model.plan(&shape, privacy.as_ref())?,
        };
        planned.check_privacy(privacy.as_ref())?;
        let codebook = bounds.is_none().then(|| codebook(schema));
        let privacy_unit = schema.privacy_unit().cloned();
        let plan = Self { model, shape, planned, bounds, privacy, codebook, memory, privacy_unit };
        if let (Some(cost), Some(privacy)) = (plan.cost()?, &plan.privacy) {
            let (planned, allowed) = (cost.epsilon.upper, privacy.epsilon());
            if planned.is_nan() || planned > allowed {
                return Err(WallError::OverBudget { planned, allowed }.into());
            }
        }
        Ok(plan)
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &'static dyn Model {
        self.model
    }

    /// Inputs of a record, after encoding.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.shape.inputs()
    }

    /// Whose rows are protected together, if not single rows are.
    #[must_use]
    pub fn privacy_unit(&self) -> Option<&PrivacyUnit> {
        self.privacy_unit.as_ref()
    }

    /// The public number of records, or of privacy units.
    #[must_use]
    pub fn records(&self) -> usize {
        self.shape.records
    }

    /// The values of the model's settings that were given; the others have their defaults.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.shape.settings
    }

    /// All stages of the wall's plan: private bounds, if there are any, and the fit.
    pub(crate) fn stages(&self) -> Result<wall::Plan, Error> {
        match &self.bounds {
            Some(bounds) => bounds.then(self.planned.as_ref()),
            None => Ok(self.planned.releases()?),
        }
    }

    /// Everything that will be released, by kind.
    ///
    /// # Errors
    /// [`Error`] if the wall would refuse it.
    pub fn releases(&self) -> Result<Vec<Release>, Error> {
        Ok(self.stages()?.entries().map(Release::from).collect())
    }

    /// The privacy cost of all releases together; none without privacy.
    ///
    /// # Errors
    /// [`Error`] if no accountant has a bound for it.
    pub fn cost(&self) -> Result<Option<Cost>, Error> {
        self.privacy.map(|privacy| Ok(self.stages()?.price(privacy.delta())?)).transpose()
    }

    /// Quantities to expect of the fit, by name, such as errors.
    #[must_use]
    pub fn expected(&self) -> Vec<(String, f64)> {
        self.planned.expected()
    }

    /// The reasons for this plan, in sentences.
    #[must_use]
    pub fn why(&self) -> Vec<String> {
        self.planned.why()
    }

    /// The time, memory and file size that it takes, with the records that are kept in memory.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        let kept = (self.shape.width() as f64 * self.shape.records as f64).min(numbers(self.memory) as f64);
        let estimate = self.planned.cost_estimate();
        Estimate { memory: estimate.memory + 16.0 * kept, ..estimate }
    }

    /// The size of the journal that a run keeps beside its model file until it is settled: 8 bytes for each number that is released.
    ///
    /// # Errors
    /// [`Error`] if the wall would refuse the plan.
    pub fn journal_bytes(&self) -> Result<f64, Error> {
        let releases = self.releases()?;
        Ok(releases.iter().map(|release| 8.0 * release.times as f64 * release.width as f64).sum())
    }

    /// The plan as a file, to be edited and given to [`Fit::plan`](crate::Fit::plan).
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "model": self.model.name(),
            "inputs": self.shape.inputs(),
            "settings": self.shape.settings,
            "plan": self.planned.to_json(),
        })
    }
}

/// A plan file: the plan itself, and the settings that it was made with.
pub(crate) fn read_file(model: &dyn Model, file: &Value) -> Result<(Value, Option<Settings>), Error> {
    let wrong =
        |why: &str| Error::data(format!("the plan cannot be used: {why}"), "`Plan::to_json` writes one");
    if file["model"] != json!(model.name()) {
        return Err(wrong("it is for another model"));
    }
    let settings = settings::from_json(&file["settings"]).map_err(wrong)?;
    Ok((file["plan"].clone(), settings))
}
