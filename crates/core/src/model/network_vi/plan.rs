//! The plan: passes over minibatches.

use crate::baseline::Adam;
use crate::baseline::perceptron::Perceptron;
use crate::budget::{Adjacency, Ledger, Privacy};
use crate::field;
use crate::model::network::NetworkPosterior;
use crate::model::network_vi::VariationalPlan;
use crate::model::network_vi::query::{Gradients, State};
use crate::model::planned::{out_of_range, same_shape};
use crate::model::regression::cost::weights;
use crate::model::{DefinitionError, FitError};
use crate::model::{Estimate, ModelError, Planned, Posterior, TableShape};
use crate::receipt::Receipt;
use crate::wall::{Geometry, NoiseSource, Plan, Records, Sampler, SumId, Sums, Wall, WallError};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde_json::Value;

/// Settings of variational inference. **Not private.**
#[derive(Debug, Clone, PartialEq)]
pub struct Variational {
    /// Units in each hidden layer.
    pub hidden: Vec<usize>,
    /// Epochs: passes over the records.
    pub passes: usize,
    /// Minibatch size.
    pub batch: usize,
    /// The initial step size of Adam; it decays to 0.
    pub learning_rate: f64,
    /// Seed of the start, the order of records and the draws.
    pub seed: u64,
}

impl Default for Variational {
    /// 50 units, for targets of unit variance.
    fn default() -> Self {
        Self { hidden: vec![50], passes: 200, batch: 32, learning_rate: 0.005, seed: 1 }
    }
}

/// Initial standard deviation of the weights, relative to that of their means.
pub(super) const START_DEVIATION: f64 = 0.05;

impl Variational {
    /// Fits this many records, rows of `inputs` inputs and a target. **Not private**: the wall has no noise.
    ///
    /// # Errors
    /// [`FitError`] for invalid settings.
    pub fn fit(
        &self,
        records: Records,
        count: usize,
        inputs: usize,
        source: NoiseSource,
        ledger: Box<dyn Ledger>,
    ) -> Result<(NetworkPosterior, Receipt), FitError> {
        let mut wall = Wall::without_privacy(records, source, self.releases(count, inputs)?, ledger)?;
        let posterior = self.fit_through(count, inputs, &mut wall)?;
        Ok((posterior, wall.finish(0)?))
    }

    /// All steps of a fit of this many records and inputs.
    ///
    /// # Errors
    /// [`FitError`] for invalid settings.
    pub fn releases(&self, count: usize, inputs: usize) -> Result<Plan, FitError> {
        Ok(self.sums(count, inputs)?.0)
    }

    fn sums(&self, count: usize, inputs: usize) -> Result<(Plan, SumId), FitError> {
        let shape = Perceptron::new(inputs, &self.hidden)?;
        if count == 0 || self.passes == 0 || self.batch == 0 || self.learning_rate <= 0.0 {
            return Err(FitError::Definition(DefinitionError::Baseline));
        }
        let batch = self.batch.min(count);
        let mut plan = Plan::new(count, Adjacency::ReplaceOne);
        let sums = plan.sums(Sums {
            what: "gradients of the evidence lower bound".into(),
            // A mean and a standard deviation for each weight, and the squared residual.
            width: 2 * shape.weights() + 1,
            // A wall without privacy neither clips nor adds noise.
            geometry: Geometry::Ball { radius: 1.0 },
            sampler: Sampler::Pass { batch },
            noise_multiplier: 1.0,
            steps: (self.passes * count.div_ceil(batch)) as u64,
        });
        Ok((plan, sums.map_err(WallError::from)?))
    }

    /// Fits through a wall of these steps.
    ///
    /// # Errors
    /// [`FitError`] for invalid settings.
    pub fn fit_through(
        &self,
        count: usize,
        inputs: usize,
        wall: &mut Wall,
    ) -> Result<NetworkPosterior, FitError> {
        let shape = Perceptron::new(inputs, &self.hidden)?;
        let (_, sums) = self.sums(count, inputs)?;
        let mut state = State::new(&shape, &mut ChaCha8Rng::seed_from_u64(self.seed));
        let size = state.parameters.len();
        let steps_of_a_pass = count.div_ceil(self.batch.min(count)) as u64;
        let steps = self.passes as u64 * steps_of_a_pass;
        let (mut adam, mut squares) = (Adam::new(size), 0.0);
        for step in 0..steps {
            state.condition();
            let released = wall.sum(sums, &Gradients { state: &state, seed: self.seed ^ step << 32 })?;
            let (mut gradient, batch) = (released.values, released.expected_batch);
            squares += gradient.pop().unwrap_or(0.0);
            state.divergence(batch / count as f64, &mut gradient);
            gradient.iter_mut().for_each(|g| *g /= batch);
            let left = (steps - step) as f64 / steps as f64;
            adam.step(&mut state.parameters, &gradient, self.learning_rate * left);
            if (step + 1) % steps_of_a_pass == 0 {
                state.noise_variance = squares / count as f64;
                state.refine_prior();
                squares = 0.0;
            }
        }
        state.condition();
        let model = shape.model(state.noise_variance)?;
        let means = shape.in_order_of_the_model(&state.parameters[..state.size], 1);
        let variances = shape.in_order_of_the_model(&state.variances, 2);
        let noise = state.noise_variance;
        Ok(NetworkPosterior::from_moments(&model, means, variances.clone(), variances, noise))
    }
}

impl Planned for VariationalPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers")
    }

    fn releases(&self) -> Result<Plan, ModelError> {
        Ok(self.variational().releases(self.records, self.inputs)?)
    }

    fn why(&self) -> Vec<String> {
        vec![format!("{} passes of variational inference", self.passes)]
    }

    fn validate(&self, shape: &TableShape) -> Result<(), ModelError> {
        same_shape("network-vi", (self.inputs, self.records), shape)?;
        let fields = || {
            field::hidden_layers("hidden", &[self.hidden])?;
            field::integer("passes", self.passes as u64, 1..=100_000)
        };
        fields().map_err(out_of_range("network-vi"))
    }

    fn check_privacy(&self, privacy: Option<&Privacy>) -> Result<(), ModelError> {
        privacy.map_or(Ok(()), |_| Err(ModelError::OnlyWithoutPrivacy { model: "network-vi" }))
    }

    fn cost_estimate(&self) -> Estimate {
        let weights = weights(self.inputs, &[self.hidden]);
        let (passes, records) = (self.passes as f64, self.records as f64);
        let start = Estimate::new(40.0 * weights, passes * records / 32.0 * 60.0 * weights, 3.0 * weights);
        start.releases(passes, 2.0 * weights, records, 40.0 * weights + 200.0)
    }

    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError> {
        Ok((Box::new(self.variational().fit_through(self.records, self.inputs, wall)?), 0))
    }
}

impl VariationalPlan {
    fn variational(&self) -> Variational {
        Variational { hidden: vec![self.hidden], passes: self.passes, ..Variational::default() }
    }
}
