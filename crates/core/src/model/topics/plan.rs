//! The planned releases and their cost, from public numbers.

use crate::budget::{Adjacency, Privacy};
use crate::engine::vb::{Composition, StepSize, Vb, VbPlan};
use crate::field;
use crate::field::FieldError;
use crate::model::planned::{out_of_range, same_shape};
use crate::model::topics::posterior::Read;
use crate::model::topics::{Cells, Layout, Learning, TopicModel, TopicPosterior};
use crate::model::{Estimate, ModelError, Planned, Posterior, TableShape};
use crate::wall::{Geometry, Plan, PlanError, Sampler, SumId, Sums, Wall, WallError};
use reticent_accounting::Sampling;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A plan for topics, chosen from public numbers. It can be edited and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicsPlan {
    /// The model.
    pub model: TopicModel,
    /// Number of documents $D$.
    pub records: usize,
    /// The neighbour relation of data sets.
    pub adjacency: Adjacency,
    /// Documents in a fixed-size batch; `None` for all documents.
    pub batch: Option<usize>,
    /// Number of releases.
    pub steps: u64,
    /// Clipping norm of a document's statistics, in words.
    pub clip: f64,
    /// Standard deviation of the noise over the sensitivity.
    pub noise_multiplier: f64,
    /// Step size of the natural parameters.
    pub step_size: StepSize,
    /// Denoising of cells.
    pub cells: Cells,
    /// A public guess of the mean length of documents, for the precision of the topics; `None` uses the clipped
    /// length.
    pub mean_length: Option<f64>,
    /// Similarity of the initial topics: the shape of the gamma distribution of their cells.
    pub start_shape: f64,
    /// Seed of the initial topics, which is public.
    pub start_seed: u64,
    /// The reasons for these choices.
    pub why: Vec<String>,
}

/// Number of releases over all documents, or over batches that make up one epoch.
const STEPS: u64 = 10;

/// Shape of the prior of cells. Like the clipping norm it was chosen on simulated documents, of 50 topics over 8,000
/// words with the frequencies of Zipf's law and lengths about 50: 0.08, 0.2, 0.5 and 1 were compared at 100,000
/// documents, 0.5, 1 and 2 at 300,000. (For encyclopedia articles 0.5 is better, by 2 % of their perplexity.)
const SHAPE: f64 = 1.0;

/// Topics start nearly equal, as in the original code of online LDA. If they differ more, some of them stay with the
/// words that they happen to share with the first documents.
const START_SHAPE: f64 = 100.0;

/// A public guess of the mean length of documents.
const MEAN_LENGTH: f64 = 100.0;

/// Clipping norm in words, on the same simulated documents: 2.5, 10 and 20 are worse by about 1 %.
const CLIP: f64 = 5.0;

impl TopicsPlan {
    /// Releases over all documents: the noise of their weighted mean does not grow with their number.
    ///
    /// # Errors
    /// Those of the wall and the accountant.
    pub fn new(model: &TopicModel, records: usize, privacy: &Privacy) -> Result<Self, WallError> {
        Self::with_batch(model, records, None, STEPS, privacy)
    }

    /// One epoch: ten batches of a tenth of the documents, sampled independently. Twice the noise of
    /// [`new`](Self::new) for a tenth of the work.
    ///
    /// # Errors
    /// Those of the wall and the accountant.
    pub fn one_pass(model: &TopicModel, records: usize, privacy: &Privacy) -> Result<Self, WallError> {
        Self::with_batch(model, records, Some((records / STEPS as usize).max(1)), STEPS, privacy)
    }

    /// A plan with these batches and steps.
    ///
    /// # Errors
    /// Those of the wall and the accountant.
    pub fn with_batch(
        model: &TopicModel,
        records: usize,
        batch: Option<usize>,
        steps: u64,
        privacy: &Privacy,
    ) -> Result<Self, WallError> {
        let sampling = batch
            .map_or(Sampling::None, |batch| Sampling::Fixed { batch: batch as u64, records: records as u64 });
        let noise_multiplier = Composition::Tight.noise_multiplier(sampling, steps, privacy)?;
        let mut plan = Self::without_privacy(model, records, batch, steps);
        (plan.adjacency, plan.noise_multiplier) = (privacy.adjacency(), noise_multiplier);
        let factor = plan.adjacency.sensitivity_factor(2f64.sqrt());
        let by = batch.map_or(1.0, |batch| records as f64 / batch as f64);
        // The weight of a release is proportional to its number: the mean of T of them has 4/(3T) of the variance of
        // one.
        let noise = by * noise_multiplier * factor * CLIP * (4.0 / (3.0 * steps as f64)).sqrt();
        plan.why = vec![
            format!("clipping norm {CLIP} words: shorter documents of different words are not clipped"),
            format!(
                "{steps} releases with increasing weights: noise of {noise:.1} words in each cell of the result"
            ),
            "cells are replaced by their posterior means, given the totals of their word and their topic, and the noise".into(),
        ];
        Ok(plan)
    }

    /// The plan without noise.
    #[must_use]
    pub fn without_privacy(model: &TopicModel, records: usize, batch: Option<usize>, steps: u64) -> Self {
        Self {
            model: *model,
            records,
            adjacency: Adjacency::ReplaceOne,
            batch,
            steps,
            clip: CLIP,
            noise_multiplier: 1.0,
            step_size: StepSize::Linear,
            cells: Cells::Shrunk { shape: SHAPE },
            mean_length: model.length.or(Some(MEAN_LENGTH)),
            start_shape: START_SHAPE,
            start_seed: 1,
            why: Vec::new(),
        }
    }
}

impl VbPlan for TopicsPlan {
    type Posterior = TopicPosterior;

    fn sums(&self) -> Result<(Plan, SumId), PlanError> {
        self.validate()?;
        let what = "words of each topic";
        if let Some(fault) = self.model.fault() {
            return Err(PlanError::Invalid { what: what.into(), fault });
        }
        let mut plan = Plan::new(self.records, self.adjacency);
        let id = plan.sums(Sums {
            what: what.into(),
            width: self.model.width(),
            geometry: Geometry::NonNegativeBall { radius: self.clip },
            sampler: self.batch.map_or(Sampler::Full, |batch| Sampler::Fixed { batch }),
            noise_multiplier: self.noise_multiplier,
            steps: self.steps,
        })?;
        Ok((plan, id))
    }

    fn fit_through(&self, wall: &mut Wall) -> Result<(TopicPosterior, u64), WallError> {
        let (_, id) = self.sums()?;
        let mut learning = Learning::new(&self.model, self.cells, self.start_shape, self.start_seed)
            .mean_length(self.mean_length);
        // Small steps keep a share of the start.
        let start = learning.lambda.iter().map(|x| x - self.model.word_prior).collect();
        let mut vb = Vb::new(self.records, start);
        for _ in 0..self.steps {
            vb.step(&mut learning, wall, id, self.step_size)?;
        }
        let variances = &vb.sums().noise_variance;
        let noise_sd = (variances.iter().sum::<f64>() / variances.len() as f64).sqrt();
        Ok((TopicPosterior { model: self.model, lambda: learning.lambda, noise_sd }, vb.projections()))
    }
}

impl TopicsPlan {
    /// Checks that every field is in range and consistent with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        let TopicModel { topics, words, document_prior, word_prior, length, .. } = self.model;
        field::integer("model.topics", topics as u64, 1..=100_000)?;
        field::integer("model.words", words as u64, 1..=1 << 24)?;
        field::number("model.document_prior", document_prior, field::PRIOR)?;
        field::number("model.word_prior", word_prior, field::PRIOR)?;
        field::integer("records", self.records as u64, field::RECORDS)?;
        field::batch(self.batch, self.records)?;
        field::integer("steps", self.steps, field::STEPS)?;
        field::number("clip", self.clip, field::CLIP)?;
        field::number("noise_multiplier", self.noise_multiplier, field::NOISE_MULTIPLIER)?;
        self.step_size.validate()?;
        if let Cells::Shrunk { shape } = self.cells {
            field::number("cells.shrunk.shape", shape, 1e-3..=20.0)?;
        }
        for (name, length) in [("model.length", length), ("mean_length", self.mean_length)] {
            length.map_or(Ok(()), |length| field::number(name, length, field::PRIOR))?;
        }
        field::number("start_shape", self.start_shape, 1e-3..=1e6)?;
        field::reasons(&self.why)
    }
}

impl Planned for TopicsPlan {
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
        same_shape("topics", (self.model.words, self.records), shape)?;
        let fields = || {
            field::agrees("model.layout", &self.model.layout, &Layout::Counts)?;
            TopicsPlan::validate(self)
        };
        fields().map_err(out_of_range("topics"))
    }

    fn cost_estimate(&self) -> Estimate {
        let (topics, words, steps) = (self.model.topics as f64, self.model.words as f64, self.steps as f64);
        let documents = self.batch.unwrap_or(self.records) as f64;
        let width = topics * words;
        // Distinct words of a document, each with all topics in every sweep of the inference.
        let distinct = words.min(self.mean_length.unwrap_or(100.0).max(10.0));
        let each = 4.0 * words + distinct * topics * 60.0;
        Estimate::new(12.0 * width, steps * width * 100.0, width).releases(steps, width, documents, each)
    }

    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError> {
        let (posterior, projections) = self.fit_through(wall)?;
        Ok((Box::new(Read::new(posterior)), projections))
    }
}
