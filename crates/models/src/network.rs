//! Networks by stochastic expectation propagation: with privacy for what a linear prediction leaves, and without for all.

use reticent::budget::{Adjacency, Cost, Ledger, Privacy};
use reticent::engine::{Average, Coordinates, Damping, Phase, Sep, SiteModel};
use reticent::model::network::{Network, NetworkPosterior, OutputNoise, Start};
use reticent::model::regression::{RegressionPlan, RegressionPosterior};
use reticent::receipt::Receipt;
use reticent::wall::{Geometry, NoiseSource, Plan, Records, Sampler, Sums, Wall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{parse, settle};
use crate::{
    Facts, Fitted, Model, ModelError, Outline, Planned, Predicted, Saved, Setting, Target, Variances,
};

pub(crate) struct Networks;

const SETTINGS: [Setting; 2] = [
    Setting { name: "hidden", about: "units in the hidden layer", usual: Some(50.0), whole: true },
    Setting { name: "passes", about: "passes over the records", usual: Some(40.0), whole: true },
];

impl Model for Networks {
    fn name(&self) -> &'static str {
        "network"
    }
    fn about(&self) -> &'static str {
        "a number or one of two classes, by a network of rectified linear units; classes only without privacy"
    }
    fn family(&self) -> &'static str {
        "gaussian"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::Number, Target::TwoClasses]
    }
    fn settings(&self) -> &'static [Setting] {
        &SETTINGS
    }
    fn needs_bounds(&self) -> bool {
        false
    }
    fn plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [hidden, passes] = settle(self, facts)?;
        let classes = facts.target == Target::TwoClasses;
        let (hidden, passes) = (hidden as usize, passes as usize);
        if let Some(privacy) = privacy {
            if classes {
                return Err(ModelError::OnlyWithoutPrivacy { model: self.name() });
            }
            let plan = RegressionPlan::network(facts.inputs(), &[hidden], facts.records, privacy)?;
            return Ok(Box::new(plan));
        }
        Ok(Box::new(Passes { inputs: facts.inputs(), hidden, passes, classes, records: facts.records }))
    }
    fn read_plan(&self, facts: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        if plan.get("rounds").is_some() {
            return crate::regression::read_plan(self, facts, plan);
        }
        let plan: Passes = parse(self.name(), plan)?;
        if plan.inputs != facts.inputs() {
            let why = format!("it has {} inputs, and the schema {}", plan.inputs, facts.inputs());
            return Err(ModelError::Plan { model: self.name(), why });
        }
        Ok(Box::new(plan))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        if let Ok(posterior) = saved.restore::<RegressionPosterior>(self.name()) {
            return Ok(Box::new(posterior));
        }
        Ok(Box::new(saved.restore::<NetworkPosterior>(self.name())?))
    }
}

/// What is done, record by record.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Passes {
    inputs: usize,
    hidden: usize,
    passes: usize,
    classes: bool,
    records: usize,
}

fn network(inputs: usize, hidden: usize, classes: bool) -> Result<Network, ModelError> {
    let noise = if classes { OutputNoise::Probit } else { OutputNoise::default() };
    Ok(Network::new(&[inputs, hidden], noise)?)
}

impl Planned for Passes {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers")
    }

    fn outline(&self) -> Outline {
        let why = format!("{} passes of SEP over single records, as in the papers", self.passes);
        Outline { releases: Vec::new(), expected: Vec::new(), why: vec![why] }
    }

    fn price(&self, _: &Privacy) -> Result<Cost, ModelError> {
        Err(ModelError::OnlyWithoutPrivacy { model: "network" })
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        if privacy.is_some() {
            return Err(ModelError::OnlyWithoutPrivacy { model: "network" });
        }
        let mut model = network(self.inputs, self.hidden, self.classes)?;
        let mut plan = Plan::new(self.records, Adjacency::ReplaceOne);
        let sums = Sums {
            what: "sites".into(),
            width: model.width(),
            geometry: Geometry::Ball { radius: 1.0 },
            sampler: Sampler::Pass { batch: 1 },
            noise_multiplier: 1.0,
            steps: (self.passes * self.records) as u64,
        };
        let sums = plan.sums(sums).map_err(reticent::wall::WallError::from)?;
        let mut wall = Wall::without_privacy(records, source, plan, ledger)?;
        let (coordinates, damping) = (Coordinates::Factor, Damping::Step(1.0));
        let phase = Phase { sums, steps: self.records as u64, coordinates, damping, clip: None };
        let mut state = Sep::new(&model, self.records, &model.start(1, Start::Usual));
        for _ in 0..self.passes {
            state.run(&model, &mut wall, &phase, Average::Last)?;
            model.refine_prior(&state.fit(&model).natural);
        }
        let fit = state.fit(&model);
        let receipt = wall.finish(fit.projections)?;
        Ok((Box::new(NetworkPosterior::new(&model, &fit)), receipt))
    }
}

impl Fitted for NetworkPosterior {
    fn predict(&self, inputs: &[f64], probabilities: &[f64]) -> Predicted {
        let prediction = NetworkPosterior::predict(self, inputs);
        let naive = self.predict_naively(inputs).variance;
        let privacy = (prediction.variance - naive).max(0.0);
        let records = prediction.variance - privacy;
        let variances = Variances { records, privacy, targets: prediction.noise_variance };
        if self.has_classes() {
            return Predicted::Class { probability: prediction.positive(), variances };
        }
        let quantiles = probabilities.iter().map(|&p| prediction.quantile(p)).collect();
        Predicted::Number { mean: prediction.mean, variances, quantiles }
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
