//! The planned releases and their cost, from public numbers.

use crate::budget::{Adjacency, Privacy};
use crate::engine::vb::{Composition, Share, StepSize, Vb, VbPlan};
use crate::field;
use crate::field::FieldError;
use crate::model::planned::{out_of_range, same_shape};
use crate::model::sigmoid_belief::{BeliefLearning, BeliefModel, BeliefPosterior, Curvature};
use crate::model::{Estimate, ModelError, Planned, Posterior, TableShape};
use crate::wall::{Geometry, Plan, PlanError, Sampler, SumId, Sums, Wall, WallError};
use reticent_accounting::Sampling;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A plan for a network, chosen from public numbers. It can be edited and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BeliefPlan {
    /// The model.
    pub model: BeliefModel,
    /// Number of records $N$.
    pub records: usize,
    /// The neighbour relation of data sets.
    pub adjacency: Adjacency,
    /// Records in a fixed-size batch; `None` for all records.
    pub batch: Option<usize>,
    /// Number of releases.
    pub steps: u64,
    /// Clipping norm of statistics, as a share of the largest possible norm; at 1 nothing is clipped.
    pub clip: f64,
    /// Standard deviation of the noise over the sensitivity.
    pub noise_multiplier: f64,
    /// Step size of the natural parameters.
    pub step_size: StepSize,
    /// Seed of the initial weights, which is public.
    pub start_seed: u64,
    /// The reasons for these choices.
    pub why: Vec<String>,
}

/// Number of releases over all records.
const STEPS: u64 = 20;

/// Clipping norm as a share of the largest norm: statistics of most records are far shorter, since few units are on
/// and most outputs are explained.
const CLIP: f64 = 0.3;

impl BeliefPlan {
    /// Releases over all records: the noise of their weighted mean does not grow with their number.
    ///
    /// # Errors
    /// Those of the wall and the accountant.
    pub fn new(model: &BeliefModel, records: usize, privacy: &Privacy) -> Result<Self, WallError> {
        let noise_multiplier = Composition::Tight.noise_multiplier(Sampling::None, STEPS, privacy)?;
        let mut plan = Self::with_noise(model, records, None, STEPS, noise_multiplier);
        plan.adjacency = privacy.adjacency();
        plan.why = vec![
            format!("clipping norm {CLIP} of the largest norm: few records have as many units on"),
            format!("{STEPS} releases over all records, with increasing weights"),
        ];
        Ok(plan)
    }

    /// A plan with a stated noise multiplier, whatever it costs: see [`price`](Self::price).
    #[must_use]
    pub fn with_noise(
        model: &BeliefModel,
        records: usize,
        batch: Option<usize>,
        steps: u64,
        noise_multiplier: f64,
    ) -> Self {
        Self {
            model: *model,
            records,
            adjacency: Adjacency::ReplaceOne,
            batch,
            steps,
            clip: CLIP,
            noise_multiplier,
            step_size: StepSize::Linear,
            start_seed: 1,
            why: Vec::new(),
        }
    }

    /// All blocks in one ball, which contains every record at a clip of 1.
    pub(super) fn geometry(&self) -> Geometry {
        let share = |&(width, limit): &(usize, f64)| Share {
            width,
            norm: limit * (width as f64).sqrt(),
            weight: 1.0,
        };
        let mut blocks = self.model.blocks();
        // Off-diagonals of the symmetric blocks are longer by the root of 2: K^2 cells, not K(K+1)/2.
        let k = self.model.units as f64;
        let last = blocks.len() - 1;
        let symmetric = blocks.split_off(last);
        let mut shares: Vec<Share> = blocks.iter().map(share).collect();
        shares.extend(symmetric.iter().map(|&(width, limit)| {
            let cells = width as f64 * 2.0 * k / (k + 1.0);
            Share { width, norm: limit * cells.sqrt(), weight: 1.0 }
        }));
        match Share::geometry(&shares) {
            Geometry::Blocks { blocks, .. } => Geometry::Blocks { radius: self.clip, blocks },
            other => other,
        }
    }
}

impl VbPlan for BeliefPlan {
    type Posterior = BeliefPosterior;

    fn sums(&self) -> Result<(Plan, SumId), PlanError> {
        self.validate()?;
        let what = "statistics of the network";
        if let Some(fault) = self.model.fault() {
            return Err(PlanError::Invalid { what: what.into(), fault });
        }
        let mut plan = Plan::new(self.records, self.adjacency);
        let id = plan.sums(Sums {
            what: what.into(),
            width: self.model.width(),
            geometry: self.geometry(),
            sampler: self.batch.map_or(Sampler::Full, |batch| Sampler::Fixed { batch }),
            noise_multiplier: self.noise_multiplier,
            steps: self.steps,
        })?;
        Ok((plan, id))
    }

    fn fit_through(&self, wall: &mut Wall) -> Result<(BeliefPosterior, u64), WallError> {
        let (_, id) = self.sums()?;
        let mut learning = BeliefLearning::new(&self.model, self.start_seed);
        let mut vb = Vb::new(self.records, vec![0.0; self.model.width()]);
        for _ in 0..self.steps {
            vb.step(&mut learning, wall, id, self.step_size)?;
        }
        let BeliefLearning { beliefs, privacy, .. } = learning;
        Ok((BeliefPosterior { model: self.model, beliefs, privacy }, vb.projections()))
    }
}

impl BeliefPlan {
    /// Checks that every field is in range and consistent with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        let BeliefModel { outputs, units, bias_variance, sweeps, .. } = self.model;
        field::integer("model.outputs", outputs as u64, 1..=1 << 24)?;
        field::integer("model.units", units as u64, 1..=100_000)?;
        field::number("model.bias_variance", bias_variance, field::PRIOR)?;
        field::integer("model.sweeps", sweeps as u64, 1..=1000)?;
        field::integer("records", self.records as u64, field::RECORDS)?;
        field::batch(self.batch, self.records)?;
        field::integer("steps", self.steps, field::STEPS)?;
        field::number("clip", self.clip, 1e-6..=1e3)?;
        field::number("noise_multiplier", self.noise_multiplier, field::NOISE_MULTIPLIER)?;
        self.step_size.validate()?;
        field::reasons(&self.why)
    }
}

impl Planned for BeliefPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn releases(&self) -> Result<Plan, ModelError> {
        Ok(self.sums().map_err(WallError::from)?.0)
    }

    fn why(&self) -> Vec<String> {
        self.why.clone()
    }

    fn validate(&self, shape: &TableShape) -> Result<(), ModelError> {
        same_shape("sigmoid-belief", (self.model.outputs, self.records), shape)?;
        BeliefPlan::validate(self).map_err(out_of_range("sigmoid-belief"))
    }

    fn cost_estimate(&self) -> Estimate {
        let (j, k, steps) = (self.model.outputs as f64, self.model.units as f64, self.steps as f64);
        let records = self.batch.unwrap_or(self.records) as f64;
        // One matrix of the units, or one for each output.
        let matrices = if self.model.curvature == Curvature::PolyaGamma { j } else { 1.0 };
        let width = k + 2.0 * j + 2.0 * j * k + 0.5 * matrices * k * (k + 1.0);
        let update = 10.0 * j * k * k + matrices * 10.0 * k.powi(3) + 100.0 * width;
        let each = self.model.sweeps as f64 * 8.0 * j * k + 3.0 * width + 60.0 * (j + k);
        Estimate::new(14.0 * width, steps * update, 2.0 * (j * k + j + k))
            .releases(steps, width, records, each)
    }

    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError> {
        let (posterior, projections) = self.fit_through(wall)?;
        Ok((Box::new(posterior), projections))
    }
}
