//! DP-SGD: stochastic gradient descent in which each record's gradient is clipped, and noise is added to the sum over
//! a random batch.
//!
//! # Citation
//! Abadi et al., "Deep learning with differential privacy", CCS 2016.

use crate::baseline::Adam;
use crate::baseline::perceptron::Perceptron;
use crate::budget::{Adjacency, Cost, Ledger, Privacy};
use crate::engine::exact_delta;
use crate::field;
use crate::field::FieldError;
use crate::model::known_targets::KnownTargets;
use crate::model::network::NetworkPosterior;
use crate::model::network_sgd::query::{Gradients, Residuals};
use crate::model::planned::{out_of_range, same_shape};
use crate::model::regression::cost::weights;
use crate::model::{Bounded, Estimate, ModelError, Planned, Posterior, TableShape};
use crate::model::{DefinitionError, FitError};
use crate::receipt::Receipt;
use crate::wall::{
    Geometry, NoiseSource, Plan, PlanError, Rate, Records, Sampler, SumId, Sums, Wall, WallError,
};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use reticent_accounting::{Event, Mechanism, Method, Sampling, calibrate, gaussian};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The optimiser for released gradients. All of it is post-processing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimiser {
    /// A gradient step plus this share of the last step (momentum): 0 for none.
    Momentum(f64),
    /// Adam, with its default decay rates.
    Adam,
}

/// Settings of DP-SGD. All of them are public, so none may be chosen from the records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DpSgd {
    /// Units in each hidden layer.
    pub hidden: Vec<usize>,
    /// Expected minibatch size: each record is sampled independently (Poisson sampling).
    pub batch: usize,
    /// Number of minibatches.
    pub steps: u64,
    /// Clipping norm of gradients of half the squared error.
    pub clip: f64,
    /// Learning rate, for the mean gradient of a minibatch. It decays to 0 in the last fifth of the steps.
    pub learning_rate: f64,
    /// The optimiser.
    pub optimiser: Optimiser,
    /// Weight decay at a learning rate of 1.
    pub weight_decay: f64,
    /// Whether the result is the mean of the weights over the second half of the steps.
    pub average: bool,
    /// Clipping bound of residuals in the estimate of the noise level, in units of the target.
    pub largest_residual: f64,
    /// Share of $\mu^2$ of the budget that estimates the noise level.
    pub residual_share: f64,
    /// Seed of the random start, which is public.
    pub seed: u64,
}

impl Default for DpSgd {
    /// 50 units, a thousand steps with batches of 256, for inputs and targets of about unit size.
    fn default() -> Self {
        Self {
            hidden: vec![50],
            batch: 256,
            steps: 1000,
            clip: 1.0,
            learning_rate: 0.1,
            optimiser: Optimiser::Momentum(0.9),
            weight_decay: 0.0,
            average: false,
            largest_residual: 2.0,
            residual_share: 0.01,
            seed: 1,
        }
    }
}

/// Contribution of a record to the count, over the largest squared residual. The noise of squared residuals is 3 %
/// larger than without the count.
pub(super) const COUNTED: f64 = 0.25;

/// [`DpSgd`] for a number of records and a budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DpSgdPlan {
    /// The settings.
    pub settings: DpSgd,
    /// Number of records $N$.
    pub records: usize,
    /// The neighbour relation of data sets.
    pub adjacency: Adjacency,
    /// Standard deviation of the noise in a sum of gradients over its sensitivity.
    pub noise_multiplier: f64,
    /// As `noise_multiplier`, for the single sum of squared residuals.
    pub residual_multiplier: f64,
}

impl DpSgd {
    fn check(&self, records: usize) -> Result<(), FitError> {
        let positive = [self.clip, self.learning_rate, self.largest_residual, self.residual_share];
        let sane = positive.iter().all(|x| *x > 0.0 && x.is_finite())
            && self.residual_share < 1.0
            && self.weight_decay >= 0.0
            && (1..=records).contains(&self.batch)
            && self.steps > 0;
        if sane { Ok(()) } else { Err(FitError::Definition(DefinitionError::Baseline)) }
    }

    /// Calibrates the noise to a budget.
    ///
    /// # Errors
    /// [`FitError`] for invalid settings, and those of the accountant.
    pub fn plan(&self, records: usize, privacy: &Privacy) -> Result<DpSgdPlan, FitError> {
        self.check(records)?;
        let (epsilon, delta) = (privacy.epsilon(), exact_delta(privacy));
        let single = gaussian::noise_multiplier(epsilon, delta)
            .map_err(|error| WallError::from(PlanError::from(error)))?;
        let residual_multiplier = single / self.residual_share.sqrt();
        let rate = self.rate(records)?.value();
        let event = |noise_multiplier: f64| {
            let release = |noise_multiplier, sampling| {
                Event::release(Mechanism::Gaussian { noise_multiplier }, sampling)
            };
            let gradients = release(noise_multiplier, Sampling::Poisson { rate }).repeat(self.steps);
            Event::Compose(vec![gradients, release(residual_multiplier, Sampling::None)])
        };
        let adjacency = privacy.adjacency();
        let noise_multiplier = calibrate::noise_multiplier(event, adjacency, epsilon, delta, Method::Auto)
            .map_err(|error| WallError::from(PlanError::from(error)))?
            * (1.0 + 1e-6);
        Ok(DpSgdPlan { settings: self.clone(), records, adjacency, noise_multiplier, residual_multiplier })
    }

    /// **Not private.** A plan with clipping and sampling but without noise.
    ///
    /// # Errors
    /// [`FitError`].
    pub fn fit_without_noise(
        &self,
        records: Records,
        count: usize,
        inputs: usize,
        source: NoiseSource,
        ledger: Box<dyn Ledger>,
    ) -> Result<(NetworkPosterior, Receipt), FitError> {
        self.check(count)?;
        let plan = DpSgdPlan {
            settings: self.clone(),
            records: count,
            adjacency: Adjacency::AddRemove,
            noise_multiplier: 1.0,
            residual_multiplier: 1.0,
        };
        let shape = Perceptron::new(inputs, &self.hidden)?;
        let wall = Wall::without_privacy(records, source, plan.sums(shape.weights())?.0, ledger)?;
        plan.run(inputs, wall)
    }

    fn rate(&self, records: usize) -> Result<Rate, FitError> {
        Rate::at_most(self.batch as f64 / records as f64)
            .ok_or(FitError::Definition(DefinitionError::Baseline))
    }
}

impl DpSgdPlan {
    fn sums(&self, width: usize) -> Result<(Plan, SumId, SumId), FitError> {
        let settings = &self.settings;
        let mut plan = Plan::new(self.records, self.adjacency);
        let gradients = plan.sums(Sums {
            what: "clipped gradients".into(),
            width,
            geometry: Geometry::Ball { radius: settings.clip },
            sampler: Sampler::Poisson { rate: settings.rate(self.records)? },
            noise_multiplier: self.noise_multiplier,
            steps: settings.steps,
        });
        let square = settings.largest_residual.powi(2);
        let upper = vec![square, COUNTED * square];
        let residuals = plan.sums(Sums {
            what: "clipped squared residuals, and records with a known target".into(),
            width: 2,
            geometry: Geometry::Box { lower: vec![0.0; 2], upper },
            sampler: Sampler::Full,
            noise_multiplier: self.residual_multiplier,
            steps: 1,
        });
        let (gradients, residuals) =
            (gradients.map_err(WallError::from)?, residuals.map_err(WallError::from)?);
        Ok((plan, gradients, residuals))
    }

    /// The cost of the plan for records of this many inputs and a target.
    ///
    /// # Errors
    /// [`FitError`] if the wall refuses the plan.
    pub fn price(&self, inputs: usize, privacy: &Privacy) -> Result<Cost, FitError> {
        Ok(self.releases(inputs)?.price(privacy.delta()).map_err(WallError::from)?)
    }

    /// Runs the plan on records of this many inputs and a target.
    ///
    /// # Privacy
    /// Two groups of sums are released: clipped gradients over Poisson batches, and clipped squared residuals over all records.
    /// Both are priced together, under the adjacency of the plan.
    ///
    /// # Errors
    /// [`FitError`].
    pub fn fit(
        &self,
        records: Records,
        inputs: usize,
        source: NoiseSource,
        privacy: &Privacy,
        ledger: Box<dyn Ledger>,
    ) -> Result<(NetworkPosterior, Receipt), FitError> {
        let wall = Wall::new(records, source, self.releases(inputs)?, privacy, ledger)?;
        self.run(inputs, wall)
    }

    fn run(&self, inputs: usize, mut wall: Wall) -> Result<(NetworkPosterior, Receipt), FitError> {
        let (posterior, projections) = self.fit_through(inputs, &mut wall)?;
        Ok((posterior, wall.finish(projections)?))
    }

    /// All planned releases, for records of this many inputs.
    ///
    /// # Errors
    /// [`FitError`] if the wall refuses the plan.
    pub fn releases(&self, inputs: usize) -> Result<Plan, FitError> {
        self.validate().map_err(|error| WallError::from(PlanError::from(error)))?;
        Ok(self.sums(Perceptron::new(inputs, &self.settings.hidden)?.weights())?.0)
    }

    /// Fits through a wall of this plan. Returns the number of projections with the posterior.
    ///
    /// # Errors
    /// [`FitError`].
    pub fn fit_through(&self, inputs: usize, wall: &mut Wall) -> Result<(NetworkPosterior, u64), FitError> {
        let shape = &Perceptron::new(inputs, &self.settings.hidden)?;
        let (_, gradients, residuals) = self.sums(shape.weights())?;
        let DpSgd { steps, learning_rate, optimiser, weight_decay, average, .. } = self.settings;
        let mut weights = shape.start(&mut ChaCha8Rng::seed_from_u64(self.settings.seed));
        let (mut velocity, mut adam) = (vec![0.0; weights.len()], Adam::new(weights.len()));
        let mut mean = vec![0.0; weights.len()];
        let geometry = Geometry::Ball { radius: self.settings.clip };
        for step in 0..steps {
            let query = Gradients { shape, weights: &weights, clip: &geometry };
            let released = wall.sum(gradients, &query)?;
            let mut gradient = released.values;
            gradient.iter_mut().for_each(|g| *g /= released.expected_batch);
            let left = (steps - step) as f64 / steps as f64;
            let rate = learning_rate * (5.0 * left).min(1.0);
            weights.iter_mut().for_each(|w| *w -= rate * weight_decay * *w);
            match optimiser {
                Optimiser::Adam => adam.step(&mut weights, &gradient, rate),
                Optimiser::Momentum(kept) => {
                    for ((w, v), g) in weights.iter_mut().zip(&mut velocity).zip(&gradient) {
                        *v = kept * *v + g;
                        *w -= rate * *v;
                    }
                }
            }
            if 2 * step >= steps {
                let share = 1.0 / (step - steps.div_ceil(2) + 1) as f64;
                mean.iter_mut().zip(&weights).for_each(|(mean, w)| *mean += share * (w - *mean));
            }
        }
        let weights = if average { mean } else { weights };
        let largest = self.settings.largest_residual;
        let released = wall.sum(residuals, &Residuals { shape, weights: &weights, largest })?;
        // Noise may make it negative; its standard deviation is the smallest distinguishable value.
        let one = COUNTED * largest * largest;
        let count = (released.values[1] / one, released.noise_sd[1] / one);
        let n = KnownTargets::estimate(count, self.records, self.adjacency, wall.rows_per_unit());
        let floor = (released.noise_sd[0] / n).max(1e-12 * largest * largest);
        let noise_variance = (released.values[0] / n).max(floor);
        let projections = u64::from(released.values[0] / n < floor);
        let model = shape.model(noise_variance)?;
        let (means, variances) = (shape.in_order_of_the_model(&weights, 1), vec![0.0; weights.len()]);
        let posterior =
            NetworkPosterior::from_moments(&model, means, variances.clone(), variances, noise_variance);
        Ok((posterior, projections))
    }
}

impl DpSgdPlan {
    /// Checks that every field is in range and consistent with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        field::integer("records", self.records as u64, field::RECORDS)?;
        self.settings.validate(self.records)?;
        field::number("noise_multiplier", self.noise_multiplier, field::NOISE_MULTIPLIER)?;
        field::number("residual_multiplier", self.residual_multiplier, field::NOISE_MULTIPLIER)
    }
}

impl DpSgd {
    fn validate(&self, records: usize) -> Result<(), FieldError> {
        field::hidden_layers("settings.hidden", &self.hidden)?;
        field::integer("settings.batch", self.batch as u64, 1..=records as u64)?;
        field::integer("settings.steps", self.steps, field::STEPS)?;
        field::number("settings.clip", self.clip, field::CLIP)?;
        field::number("settings.learning_rate", self.learning_rate, 1e-9..=1e3)?;
        if let Optimiser::Momentum(kept) = self.optimiser {
            field::number("settings.optimiser.momentum", kept, 0.0..=1.0)?;
        }
        // A step must not remove more of a weight than there is.
        field::number("settings.weight_decay", self.weight_decay, 0.0..=1.0 / self.learning_rate)?;
        field::number("settings.largest_residual", self.largest_residual, 1e-6..=1e6)?;
        field::number("settings.residual_share", self.residual_share, 1e-9..=1.0 - 1e-9)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct GradientsPlan {
    pub(super) inputs: usize,
    pub(super) plan: DpSgdPlan,
}

impl Planned for GradientsPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers")
    }

    fn releases(&self) -> Result<Plan, ModelError> {
        Ok(self.plan.releases(self.inputs)?)
    }

    fn why(&self) -> Vec<String> {
        vec!["settings as given: DP-SGD has no automatic plan".into()]
    }

    fn validate(&self, shape: &TableShape) -> Result<(), ModelError> {
        same_shape("network-sgd", (self.inputs, self.plan.records), shape)?;
        self.plan.validate().map_err(out_of_range("network-sgd"))
    }

    /// Each record is sampled independently for each batch.
    fn cost_estimate(&self) -> Estimate {
        let DpSgdPlan { settings, records, .. } = &self.plan;
        let (weights, steps) = (weights(self.inputs, &settings.hidden), settings.steps as f64);
        let (batch, records) = (settings.batch as f64, *records as f64);
        let start = Estimate::new(40.0 * weights, steps * (20.0 * weights + 6.0 * records), 3.0 * weights);
        start.releases(steps, weights, batch, 16.0 * weights + 200.0)
    }

    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError> {
        let (posterior, projections) = self.plan.fit_through(self.inputs, wall)?;
        Ok((Box::new(Bounded(posterior)), projections))
    }
}
