//! The plan of a fit without privacy: passes over single records. A private network is a refinement of a regression.

use crate::budget::{Adjacency, Privacy};
use crate::engine::SiteModel;
use crate::engine::{Average, Coordinates, Damping, Phase, Sep};
use crate::field;
use crate::model::network::posterior::NetworkFit;
use crate::model::network::{Network, NetworkPosterior, OutputNoise, Start};
use crate::model::planned::{out_of_range, same_shape};
use crate::model::regression::RegressionPlan;
use crate::model::regression::cost::weights;
use crate::model::{Estimate, ModelError, Planned, Posterior, TableShape};
use crate::wall::{Geometry, Plan, Sampler, SumId, Sums, Wall, WallError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The plan of a network, by the kind of fit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum NetworkPlan {
    /// A numeric target with privacy: a linear prediction, and a network for its residuals.
    Residuals(Box<RegressionPlan>),
    /// Without privacy.
    Passes(Passes),
}

impl NetworkPlan {
    fn as_planned(&self) -> &dyn Planned {
        match self {
            Self::Residuals(plan) => plan.as_ref(),
            Self::Passes(plan) => plan,
        }
    }
}

impl Planned for NetworkPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }
    fn releases(&self) -> Result<Plan, ModelError> {
        self.as_planned().releases()
    }
    fn expected(&self) -> Vec<(String, f64)> {
        self.as_planned().expected()
    }
    fn why(&self) -> Vec<String> {
        self.as_planned().why()
    }
    fn validate(&self, shape: &TableShape) -> Result<(), ModelError> {
        self.as_planned().validate(shape)
    }
    fn check_privacy(&self, privacy: Option<&Privacy>) -> Result<(), ModelError> {
        self.as_planned().check_privacy(privacy)
    }
    fn cost_estimate(&self) -> Estimate {
        self.as_planned().cost_estimate()
    }
    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError> {
        if let Self::Residuals(plan) = self {
            let (posterior, projections) = plan.fit_through(wall)?;
            return Ok((Box::new(NetworkFit::Residuals(posterior)), projections));
        }
        self.as_planned().fit(wall)
    }
}

/// The plan of a fit by passes over single records.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Passes {
    pub(super) inputs: usize,
    pub(super) hidden: usize,
    pub(super) passes: usize,
    pub(super) classes: bool,
    pub(super) records: usize,
}

pub(super) fn network(inputs: usize, hidden: usize, classes: bool) -> Result<Network, ModelError> {
    let noise = if classes { OutputNoise::Probit } else { OutputNoise::default() };
    Ok(Network::new(&[inputs, hidden], noise)?)
}

impl Planned for Passes {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers")
    }

    fn releases(&self) -> Result<Plan, ModelError> {
        Ok(self.sums(&network(self.inputs, self.hidden, self.classes)?)?.0)
    }

    fn why(&self) -> Vec<String> {
        vec![format!("{} passes of SEP over single records, as in the papers", self.passes)]
    }

    fn validate(&self, shape: &TableShape) -> Result<(), ModelError> {
        same_shape("network", (self.inputs, self.records), shape)?;
        let fields = || {
            field::hidden_layers("hidden", &[self.hidden])?;
            field::integer("passes", self.passes as u64, 1..=100_000)
        };
        fields().map_err(out_of_range("network"))
    }

    fn check_privacy(&self, privacy: Option<&Privacy>) -> Result<(), ModelError> {
        match privacy {
            None => Ok(()),
            Some(_) if self.classes => Err(ModelError::PrivateClasses { model: "network" }),
            Some(_) => Err(ModelError::OnlyWithoutPrivacy { model: "network" }),
        }
    }

    /// A step for each record.
    fn cost_estimate(&self) -> Estimate {
        let weights = weights(self.inputs, &[self.hidden]);
        let steps = self.passes as f64 * self.records as f64;
        Estimate::new(60.0 * weights, steps * (120.0 * weights + 400.0), 3.0 * weights)
    }

    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError> {
        let mut model = network(self.inputs, self.hidden, self.classes)?;
        let (_, sums) = self.sums(&model)?;
        let (coordinates, damping) = (Coordinates::Factor, Damping::Step(1.0));
        let phase = Phase { sums, steps: self.records as u64, coordinates, damping, clip: None };
        let mut state = Sep::new(&model, self.records, &model.start(1, Start::Prior));
        for _ in 0..self.passes {
            state.run(&model, wall, &phase, Average::Last)?;
            model.refine_prior(&state.fit(&model).natural);
        }
        let fit = state.fit(&model);
        Ok((Box::new(NetworkFit::Network(NetworkPosterior::new(&model, &fit))), fit.projections))
    }
}

impl Passes {
    fn sums(&self, model: &Network) -> Result<(Plan, SumId), ModelError> {
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
        Ok((plan, sums))
    }
}
