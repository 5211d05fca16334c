//! A network by mean-field variational inference, without privacy: a baseline.
//!
//! The same network of rectified linear units as the model `network`, fitted by stochastic gradients of the evidence lower bound.
//! Settings: `hidden` and `passes`.
//!
//! Not for: private records. There is no fit with privacy.

mod plan;
pub(crate) mod query;

pub use plan::Variational;

use crate::budget::Privacy;
use crate::model::network::NetworkPosterior;
use crate::model::planned::parse;
use crate::model::reference::PRACTICAL_VI;
use crate::model::settings::Settings;
use crate::model::{Model, ModelError, Planned, Posterior, Reference, Saved, Setting, TableShape, Target};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) struct VariationalNetworks;

pub(crate) const HIDDEN: Setting =
    Setting::integer("hidden", "the number of units in the hidden layer", (1, 100_000)).or_integer(50);

const VARIATIONAL: [Setting; 2] = [
    HIDDEN,
    Setting::integer("passes", "the number of passes over the records", (1, 100_000)).or_integer(200),
];

impl Model for VariationalNetworks {
    fn name(&self) -> &'static str {
        "network-vi"
    }
    fn about(&self) -> &'static str {
        "a numeric target by a neural network with mean-field variational inference: a baseline without privacy"
    }
    fn not_for(&self) -> &'static str {
        "private records: there is no fit with privacy (use network or regression)"
    }
    fn references(&self) -> &'static [Reference] {
        &[PRACTICAL_VI]
    }
    fn family(&self) -> &'static str {
        "gaussian"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::Number]
    }
    fn settings(&self) -> &'static [Setting] {
        &VARIATIONAL
    }
    fn can_be_private(&self) -> bool {
        false
    }
    fn needs_bounds(&self) -> bool {
        false
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        let settings = Settings::new(self, shape)?;
        let hidden = settings.integer("hidden");
        let passes = settings.integer("passes");
        if privacy.is_some() {
            return Err(ModelError::OnlyWithoutPrivacy { model: self.name() });
        }
        let (hidden, passes, records) = (hidden, passes, shape.records);
        Ok(Box::new(VariationalPlan { inputs: shape.inputs(), hidden, passes, records }))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new(parse::<VariationalPlan>(self.name(), plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        Ok(Box::new(saved.restore::<NetworkPosterior>(self.name())?))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct VariationalPlan {
    inputs: usize,
    hidden: usize,
    passes: usize,
    records: usize,
}
