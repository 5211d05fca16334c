//! What networks by DP-SEP are compared with: the same networks by variational inference, and by DP-SGD.

use reticent::baseline::{DpSgd, DpSgdPlan, Variational};
use reticent::budget::{Adjacency, Cost, Ledger, Privacy};
use reticent::field;
use reticent::model::network::NetworkPosterior;
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{out_of_range, parse, same_shape, settings};
use crate::regression::weights;
use crate::{
    Bounded, Estimate, Facts, Fitted, Model, ModelError, Outline, Planned, Release, Saved, Setting, Target,
};

pub(crate) struct VariationalNetworks;
pub(crate) struct GradientNetworks;

const HIDDEN: Setting =
    Setting::integer("hidden", "the number of units in the hidden layer", (1, 100_000)).or(50.0);
const VARIATIONAL: [Setting; 2] =
    [HIDDEN, Setting::integer("passes", "the number of passes over the records", (1, 100_000)).or(200.0)];
const GRADIENTS: [Setting; 5] = [
    HIDDEN,
    Setting::integer("batch", "the number of records in a batch, on average", (1, 1_000_000_000)).or(1000.0),
    Setting::integer("steps", "the number of batches", (1, 1_000_000)).or(600.0),
    Setting::number("clip", "the norm that gradients are clipped to", (1e-6, 1e6)).or(0.2),
    Setting::number("rate", "the learning rate", (1e-6, 1e3)).or(0.3),
];

impl Model for VariationalNetworks {
    fn name(&self) -> &'static str {
        "network-vi"
    }
    fn about(&self) -> &'static str {
        "a number by a network, with mean-field variational inference: to compare with, without privacy"
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
    fn needs_bounds(&self) -> bool {
        false
    }
    fn new_plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [hidden, passes] = settings(self, facts)?;
        if privacy.is_some() {
            return Err(ModelError::OnlyWithoutPrivacy { model: self.name() });
        }
        let (hidden, passes, records) = (hidden as usize, passes as usize, facts.records);
        Ok(Box::new(VariationalPlan { inputs: facts.inputs(), hidden, passes, records }))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new(parse::<VariationalPlan>(self.name(), plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        Ok(Box::new(saved.restore::<NetworkPosterior>(self.name())?))
    }
}

impl Model for GradientNetworks {
    fn name(&self) -> &'static str {
        "network-sgd"
    }
    fn about(&self) -> &'static str {
        "a number by a network, with DP-SGD: to compare with; its weights have no uncertainty"
    }
    fn family(&self) -> &'static str {
        "point"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::Number]
    }
    fn settings(&self) -> &'static [Setting] {
        &GRADIENTS
    }
    fn new_plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [hidden, batch, steps, clip, learning_rate] = settings(self, facts)?;
        let settings = DpSgd {
            hidden: vec![hidden as usize],
            batch: (batch as usize).min(facts.records),
            steps: steps as u64,
            clip,
            learning_rate,
            ..DpSgd::default()
        };
        let plan = match privacy {
            Some(privacy) => settings.plan(facts.records, privacy)?,
            None => DpSgdPlan {
                settings,
                records: facts.records,
                adjacency: Adjacency::AddRemove,
                noise_multiplier: 1.0,
                residual_multiplier: 1.0,
            },
        };
        Ok(Box::new(GradientsPlan { inputs: facts.inputs(), plan }))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new(parse::<GradientsPlan>(self.name(), plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        Ok(Box::new(Bounded(saved.restore::<NetworkPosterior>(self.name())?)))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct VariationalPlan {
    inputs: usize,
    hidden: usize,
    passes: usize,
    records: usize,
}

impl Planned for VariationalPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers")
    }

    fn outline(&self) -> Outline {
        let why = format!("{} passes of variational inference", self.passes);
        Outline { releases: Vec::new(), expected: Vec::new(), why: vec![why] }
    }

    fn validate(&self, facts: &Facts) -> Result<(), ModelError> {
        same_shape("network-vi", (self.inputs, self.records), facts)?;
        let fields = || {
            field::hidden_layers("hidden", &[self.hidden])?;
            field::integer("passes", self.passes as u64, 1..=100_000)
        };
        fields().map_err(out_of_range("network-vi"))
    }

    fn cost_estimate(&self) -> Estimate {
        let weights = weights(self.inputs, &[self.hidden]);
        let (passes, records) = (self.passes as f64, self.records as f64);
        let start = Estimate::new(40.0 * weights, passes * records / 32.0 * 60.0 * weights, 3.0 * weights);
        start.releases(passes, 2.0 * weights, records, 40.0 * weights + 200.0)
    }

    fn price(&self, _: &Privacy) -> Result<Cost, ModelError> {
        Err(ModelError::OnlyWithoutPrivacy { model: "network-vi" })
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        if privacy.is_some() {
            return Err(ModelError::OnlyWithoutPrivacy { model: "network-vi" });
        }
        let settings =
            Variational { hidden: vec![self.hidden], passes: self.passes, ..Variational::default() };
        let (posterior, receipt) = settings.fit(records, self.records, self.inputs, source, ledger)?;
        Ok((Box::new(posterior), receipt))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct GradientsPlan {
    inputs: usize,
    plan: DpSgdPlan,
}

impl Planned for GradientsPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers")
    }

    fn outline(&self) -> Outline {
        let DpSgdPlan { settings, noise_multiplier, residual_multiplier, .. } = &self.plan;
        let hidden: usize = settings.hidden.iter().sum();
        let release = |what: &str, width, times, clip, noise_multiplier| Release {
            what: what.into(),
            width,
            times,
            clip,
            noise_multiplier,
        };
        let width = (self.inputs + 2) * hidden + 1;
        let square = settings.largest_residual.powi(2);
        Outline {
            releases: vec![
                release("clipped gradients", width, settings.steps, settings.clip, *noise_multiplier),
                release(
                    "clipped squared residuals, and records with a known target",
                    2,
                    1,
                    square,
                    *residual_multiplier,
                ),
            ],
            expected: Vec::new(),
            why: vec!["settings as given: DP-SGD has no plan that needs no tuning".into()],
        }
    }

    fn validate(&self, facts: &Facts) -> Result<(), ModelError> {
        same_shape("network-sgd", (self.inputs, self.plan.records), facts)?;
        self.plan.validate().map_err(out_of_range("network-sgd"))
    }

    /// Every record tosses a coin for each batch.
    fn cost_estimate(&self) -> Estimate {
        let DpSgdPlan { settings, records, .. } = &self.plan;
        let (weights, steps) = (weights(self.inputs, &settings.hidden), settings.steps as f64);
        let (batch, records) = (settings.batch as f64, *records as f64);
        let start = Estimate::new(40.0 * weights, steps * (20.0 * weights + 6.0 * records), 3.0 * weights);
        start.releases(steps, weights, batch, 16.0 * weights + 200.0)
    }

    fn price(&self, privacy: &Privacy) -> Result<Cost, ModelError> {
        Ok(self.plan.price(self.inputs, privacy)?)
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        let DpSgdPlan { settings, records: count, .. } = &self.plan;
        let (posterior, receipt) = match privacy {
            Some(privacy) => self.plan.fit(records, self.inputs, source, privacy, ledger)?,
            None => settings.fit_without_noise(records, *count, self.inputs, source, ledger)?,
        };
        Ok((Box::new(Bounded(posterior)), receipt))
    }
}
