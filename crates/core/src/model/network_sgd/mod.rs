//! A network by DP-SGD: a baseline.
//!
//! Clipped and noisy gradients of minibatches; a point estimate of the weights. Settings: `hidden`, `batch`, `steps`,
//! `clip` and
//! `rate`, none of which is chosen from the budget.
//!
//! Not for: uncertainty. Its weights have none, so intervals only include the variance of targets about the function.

mod plan;
pub(crate) mod query;

pub use plan::{DpSgd, DpSgdPlan, Optimiser};

use crate::budget::{Adjacency, Privacy};
use crate::model::network::NetworkPosterior;
use crate::model::network_sgd::plan::GradientsPlan;
use crate::model::network_vi::HIDDEN;
use crate::model::planned::parse;
use crate::model::reference::DP_SGD;
use crate::model::settings::Settings;
use crate::model::{
    Bounded, Declaration, Model, ModelError, Planned, Posterior, Saved, Setting, TableShape, Target,
};
use serde_json::Value;

pub(crate) struct GradientNetworks;

const GRADIENTS: [Setting; 5] = [
    HIDDEN,
    Setting::integer("batch", "the number of records in a batch, on average", (1, 1_000_000_000))
        .or_integer(1000),
    Setting::integer("steps", "the number of batches", (1, 1_000_000)).or_integer(600),
    Setting::number("clip", "the norm that gradients are clipped to", (1e-6, 1e6)).or_number(0.2),
    Setting::number("rate", "the learning rate", (1e-6, 1e3)).or_number(0.3),
];

const DECLARATION: Declaration = Declaration {
    name: "network-sgd",
    about: "a numeric target by a neural network with DP-SGD: a baseline whose weights are a point estimate",
    not_for: "uncertainty: its intervals have the variance of targets about the function, and nothing about the weights (use network or regression)",
    references: &[DP_SGD],
    family: "point",
    targets: &[Target::Number],
    settings: &GRADIENTS,
    needs_bounds: true,
    can_be_private: true,
    can_be_pure: false,
};

impl Model for GradientNetworks {
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
        let batch = settings.integer("batch");
        let steps = settings.integer("steps");
        let clip = settings.number("clip");
        let learning_rate = settings.number("rate");
        let settings = DpSgd {
            hidden: vec![hidden],
            batch: batch.min(shape.records),
            steps: steps as u64,
            clip,
            learning_rate,
            ..DpSgd::default()
        };
        let plan = match privacy {
            Some(privacy) => settings.plan(shape.records, privacy)?,
            None => DpSgdPlan {
                settings,
                records: shape.records,
                adjacency: Adjacency::AddRemove,
                noise_multiplier: 1.0,
                residual_multiplier: 1.0,
            },
        };
        Ok(Box::new(GradientsPlan { inputs: shape.inputs(), plan }))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new(parse::<GradientsPlan>(self.name(), plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        Ok(Box::new(Bounded(saved.restore::<NetworkPosterior>(self.name())?)))
    }
}
