//! Networks by stochastic expectation propagation: with privacy for what a linear prediction leaves, and without for all.

use reticent::budget::{Adjacency, Cost, Ledger, Privacy};
use reticent::engine::{Average, Coordinates, Damping, Phase, Sep, SiteModel};
use reticent::field;
use reticent::model::network::{Network, NetworkPosterior, OutputNoise, Start};
use reticent::model::regression::{RegressionPlan, RegressionPosterior};
use reticent::receipt::Receipt;
use reticent::wall::{Geometry, NoiseSource, Plan, Records, Sampler, Sums, Wall, WallError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{out_of_range, parse, same_shape, settings};
use crate::regression::weights;
use crate::{
    Bounded, Estimate, Facts, Fitted, Link, Model, ModelError, Outline, Planned, Predicted, Saved, Setting,
    Target, Variances,
};

pub(crate) struct Networks;

const SETTINGS: [Setting; 2] = [
    Setting::integer("hidden", "the number of units in the hidden layer", (1, 100_000)).or(50.0),
    Setting::integer("passes", "the number of passes over the records", (1, 100_000)).or(40.0),
];

impl Model for Networks {
    fn name(&self) -> &'static str {
        "network"
    }
    fn about(&self) -> &'static str {
        "a number, or without privacy one of two classes, by a network of rectified linear units"
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
    fn new_plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [hidden, passes] = settings(self, facts)?;
        let classes = facts.target == Target::TwoClasses;
        let (hidden, passes) = (hidden as usize, passes as usize);
        if let Some(privacy) = privacy {
            if classes {
                return Err(ModelError::PrivateClasses { model: self.name() });
            }
            let plan = RegressionPlan::network(facts.inputs(), &[hidden], facts.records, privacy)?;
            return Ok(Box::new(plan));
        }
        Ok(Box::new(Passes { inputs: facts.inputs(), hidden, passes, classes, records: facts.records }))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        if plan.get("rounds").is_some() {
            return crate::regression::parse_plan(self.name(), plan);
        }
        if plan.get("sep").is_some() {
            return Err(ModelError::PrivateClasses { model: self.name() });
        }
        Ok(Box::new(parse::<Passes>(self.name(), plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        if let Ok(posterior) = saved.restore::<RegressionPosterior>(self.name()) {
            return Ok(Box::new(Bounded(posterior)));
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

impl Passes {
    fn only_without_privacy(&self) -> ModelError {
        if self.classes {
            return ModelError::PrivateClasses { model: "network" };
        }
        ModelError::OnlyWithoutPrivacy { model: "network" }
    }
}

impl Planned for Passes {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers")
    }

    fn outline(&self) -> Outline {
        let why = format!("{} passes of SEP over single records, as in the papers", self.passes);
        Outline { releases: Vec::new(), expected: Vec::new(), why: vec![why] }
    }

    fn validate(&self, facts: &Facts) -> Result<(), ModelError> {
        same_shape("network", (self.inputs, self.records), facts)?;
        let fields = || {
            field::hidden_layers("hidden", &[self.hidden])?;
            field::integer("passes", self.passes as u64, 1..=100_000)
        };
        fields().map_err(out_of_range("network"))
    }

    /// A step for each record.
    fn cost_estimate(&self) -> Estimate {
        let weights = weights(self.inputs, &[self.hidden]);
        let steps = self.passes as f64 * self.records as f64;
        Estimate::new(60.0 * weights, steps * (120.0 * weights + 400.0), 3.0 * weights)
    }

    fn price(&self, _: &Privacy) -> Result<Cost, ModelError> {
        Err(self.only_without_privacy())
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        if privacy.is_some() {
            return Err(self.only_without_privacy());
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
        let sums = plan.sums(sums).map_err(WallError::from)?;
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
            let (probability, score) = (prediction.positive(), prediction.mean);
            return Predicted::Class { probability, score, link: Link::Probit, variances };
        }
        let quantiles = probabilities.iter().map(|&p| prediction.quantile(p)).collect();
        Predicted::Number { mean: prediction.mean, variances, quantiles }
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulated 95 % intervals of two classes held between 27 and 100 % of true scores, mostly fewer at larger budgets.
    #[test]
    fn private_networks_of_two_classes_are_refused() {
        let privacy = Privacy::new(3.0, 1e-6, Adjacency::ReplaceOne).unwrap();
        let facts = Facts::new(vec![1, 1], Target::TwoClasses, 1000);
        let networks: &dyn Model = &Networks;
        let refused = networks.plan(&facts, Some(&privacy)).err().unwrap().to_string();
        assert!(refused.contains("`logistic` or `probit`"), "{refused}");
        // A plan that was written when they were not.
        let plan = serde_json::json!({ "inputs": 2, "hidden": [10], "sep": {} });
        let refused = networks.read_plan(&facts, &plan).err().unwrap().to_string();
        assert!(refused.contains("`logistic` or `probit`"), "{refused}");
        // Neither is the plan without privacy of use.
        let plan = networks.plan(&facts, None).unwrap();
        let refused = plan.price(&privacy).unwrap_err().to_string();
        assert!(refused.contains("`logistic` or `probit`"), "{refused}");
        assert!(networks.plan(&Facts::new(vec![1, 1], Target::Number, 1000), Some(&privacy)).is_ok());
    }
}
