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
use crate::model::{Declaration, Model, ModelError, Planned, Posterior, Saved, Setting, TableShape, Target};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) struct VariationalNetworks;

pub(crate) const HIDDEN: Setting =
    Setting::integer("hidden", "the number of units in the hidden layer", (1, 100_000)).or_integer(50);

const VARIATIONAL: [Setting; 2] = [
    HIDDEN,
    Setting::integer("passes", "the number of passes over the records", (1, 100_000)).or_integer(200),
];

const DECLARATION: Declaration = Declaration {
    name: "network-vi",
    about: "a numeric target by a neural network with mean-field variational inference: a baseline without privacy",
    not_for: "private records: there is no fit with privacy (use network or regression)",
    references: &[PRACTICAL_VI],
    family: "gaussian",
    targets: &[Target::Number],
    settings: &VARIATIONAL,
    needs_bounds: false,
    can_be_private: false,
    can_be_pure: false,
};

impl Model for VariationalNetworks {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
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
