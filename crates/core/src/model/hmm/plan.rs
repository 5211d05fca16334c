//! Planning and running a private fit: counts of events, released once.

use crate::budget::{Adjacency, Cost, Ledger, Privacy};
use crate::engine::exact_delta;
use crate::field;
use crate::field::FieldError;
use crate::model::hmm::coding::Coding;
use crate::model::hmm::posterior::Fit;
use crate::model::hmm::query::event_counts;
use crate::model::hmm::{Counts, Evidence, Hmm, HmmPosterior, Noise, NoiseTreatment, Sampling};
use crate::model::planned::{out_of_range, same_columns};
use crate::model::{DefinitionError, FitError};
use crate::model::{Estimate, ModelError, Planned, Posterior, TableShape};
use crate::receipt::Receipt;
use crate::wall::{Geometry, NoiseSource, Plan, PlanError, Records, Released, Sampler, SumId, Sums, Wall};
use reticent_accounting::gaussian;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::f64::consts::SQRT_2;

/// The noise mechanism of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// For a bound in $L_1$; no delta.
    Laplace,
    /// For a bound in $L_2$.
    Gaussian,
}

/// The plan of a fit, chosen from public numbers only. It can be edited and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HmmPlan {
    /// The model.
    pub model: Hmm,
    /// The encoding of records.
    pub coding: Coding,
    /// The public number of records.
    pub records: usize,
    /// $\delta$ of the budget.
    pub delta: f64,
    /// The neighbour relation of data sets.
    pub adjacency: Adjacency,
    /// The noise mechanism.
    pub mechanism: Mechanism,
    /// Standard deviation (Laplace: scale) of the noise over the sensitivity.
    pub noise_multiplier: f64,
    /// The standard deviation of the noise in a count, by mechanism: Laplace, Gaussian.
    pub expected_sd: (f64, Option<f64>),
    /// Noise treatment of the posterior.
    pub posterior: NoiseTreatment,
    /// Length of the chains.
    pub sampling: Sampling,
    /// The reasons for these choices.
    pub why: Vec<String>,
}

/// Sensitivities of the counts of events with this many fields, in $L_1$ and $L_2$.
fn sensitivities(fields: usize, adjacency: Adjacency) -> (f64, f64) {
    let moved = fields as f64 * if adjacency == Adjacency::ReplaceOne { 2.0 } else { 1.0 };
    (moved, moved.sqrt())
}

/// The minimum noise multiplier of a mechanism for a budget; `None` for Gaussian noise without a delta.
fn multiplier(mechanism: Mechanism, privacy: &Privacy) -> Result<Option<f64>, FitError> {
    // Slightly larger, so that rounding in an accountant never makes it too small.
    let up = 1.0 + 1e-6;
    match mechanism {
        Mechanism::Laplace => Ok(Some(up / privacy.epsilon())),
        Mechanism::Gaussian if privacy.delta() == 0.0 => Ok(None),
        Mechanism::Gaussian => {
            let multiplier = gaussian::noise_multiplier(privacy.epsilon(), exact_delta(privacy));
            Ok(Some(up * multiplier.map_err(PlanError::from)?))
        }
    }
}

impl HmmPlan {
    /// Chooses the noise with the smaller standard deviation in a count.
    ///
    /// # Errors
    /// [`FitError`] if the model or the budget is invalid.
    pub fn new(coding: Coding, states: usize, records: usize, privacy: &Privacy) -> Result<Self, FitError> {
        let model = Hmm::new(coding.layout()?, states)?;
        let fields = model.layout.fields.len();
        let (l1, l2) = sensitivities(fields, privacy.adjacency());
        let laplace = multiplier(Mechanism::Laplace, privacy)?.unwrap_or(f64::INFINITY);
        let gaussian = multiplier(Mechanism::Gaussian, privacy)?;
        let (laplace_sd, gaussian_sd) = (SQRT_2 * l1 * laplace, gaussian.map(|multiplier| l2 * multiplier));
        let (mechanism, noise_multiplier) = match (gaussian, gaussian_sd) {
            (Some(multiplier), Some(sd)) if sd < laplace_sd => (Mechanism::Gaussian, multiplier),
            _ => (Mechanism::Laplace, laplace),
        };
        let other = gaussian_sd.map_or("not possible without a delta".to_owned(), |sd| format!("{sd:.2}"));
        let per_cell = records as f64 / model.layout.cells() as f64;
        let why = vec![
            format!(
                "the sensitivity of the counts is {l1} in L1 and {l2:.2} in L2, so the noise of a count has standard deviation {laplace_sd:.2} if Laplace and \
                 {other} if Gaussian: the first grows with the number of fields ({fields}), the second with its root"
            ),
            format!(
                "{per_cell:.0} events in a cell on average; differences between states must exceed noise of that size"
            ),
            "one release: sampling is post-processing at no further cost, for any prior and any number of draws".to_owned(),
        ];
        Ok(Self {
            model,
            coding,
            records,
            delta: privacy.delta(),
            adjacency: privacy.adjacency(),
            mechanism,
            noise_multiplier,
            expected_sd: (laplace_sd, gaussian_sd),
            posterior: NoiseTreatment::NoiseAware,
            sampling: Sampling::default(),
            why,
        })
    }

    /// The plan with this noise.
    ///
    /// # Errors
    /// [`FitError::NoDelta`] if the noise is Gaussian and there is no delta.
    pub fn with(mut self, mechanism: Mechanism, privacy: &Privacy) -> Result<Self, FitError> {
        self.noise_multiplier = multiplier(mechanism, privacy)?.ok_or(FitError::NoDelta)?;
        self.mechanism = mechanism;
        self.why.push("the noise mechanism is as requested".to_owned());
        Ok(self)
    }

    /// The planned releases.
    ///
    /// # Privacy
    /// Each field of an event adds 1 to one count, so the radius is the norm of every event and nothing is clipped.
    pub(crate) fn releases(&self) -> Result<(Plan, SumId), FitError> {
        self.validate().map_err(PlanError::from)?;
        self.model.check()?;
        if self.coding.layout()? != self.model.layout {
            return Err(FitError::Definition(DefinitionError::HmmLayout));
        }
        let fields = self.model.layout.fields.len() as f64;
        let mut plan = Plan::new(self.records, self.adjacency);
        let id = plan.sums(Sums {
            what: "counts of events by region, step, field and category".into(),
            width: self.model.layout.width(),
            geometry: match self.mechanism {
                Mechanism::Laplace => Geometry::L1Ball { radius: fields },
                Mechanism::Gaussian => Geometry::NonNegativeBall { radius: fields.sqrt() },
            },
            sampler: Sampler::Full,
            noise_multiplier: self.noise_multiplier,
            steps: 1,
        })?;
        Ok((plan, id))
    }

    /// The cost of the plan.
    ///
    /// # Errors
    /// [`FitError`] if the wall refuses the plan.
    pub fn price(&self) -> Result<Cost, FitError> {
        Ok(self.releases()?.0.price(self.delta)?)
    }

    /// Releases the counts of records.
    ///
    /// # Errors
    /// [`FitError`]; nothing was released if the wall could not be built.
    pub fn counts(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Counts, Receipt), FitError> {
        let mut wall = Wall::open(records, source, self.releases()?.0, privacy, ledger)?;
        let (counts, moved) = self.counts_through(&mut wall)?;
        Ok((counts, wall.finish(moved)?))
    }

    /// The counts that a wall of this plan releases, and how many were clipped to 0.
    fn counts_through(&self, wall: &mut Wall) -> Result<(Counts, u64), FitError> {
        let (_, id) = self.releases()?;
        let Released { values, noise_sd, .. } =
            wall.sum(id, &event_counts(&self.model.layout, &self.coding))?;
        let sd = noise_sd.first().copied().filter(|sd| *sd > 0.0);
        let noise = sd.map(|sd| match self.mechanism {
            Mechanism::Laplace => Noise::Laplace { scale: sd / SQRT_2 },
            Mechanism::Gaussian => Noise::Gaussian { sd },
        });
        let counts = Counts::new(&self.model.layout, values, noise)?;
        let moved = if self.posterior == NoiseTreatment::Naive { counts.below_zero() } else { 0 };
        Ok((counts, moved))
    }

    /// Fits through a wall of this plan. Returns the number of counts clipped to 0 with the posterior.
    ///
    /// # Errors
    /// [`FitError`].
    pub fn fit_through(&self, wall: &mut Wall) -> Result<(HmmPosterior, u64), FitError> {
        let (counts, moved) = self.counts_through(wall)?;
        Ok((self.sampling.run(&Evidence::new(&self.model, &counts, self.posterior)?), moved))
    }

    /// Releases the counts of records, and samples. **Not private** without a budget.
    ///
    /// # Errors
    /// [`FitError`]; nothing was released if the wall could not be built.
    pub fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(HmmPosterior, Receipt), FitError> {
        let (counts, receipt) = self.counts(records, source, privacy, ledger)?;
        Ok((self.sampling.run(&Evidence::new(&self.model, &counts, self.posterior)?), receipt))
    }
}

impl HmmPlan {
    /// Checks that every field is in range and consistent with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        let model = &self.model;
        field::integer("model.states", model.states as u64, 1..=1000)?;
        field::number("model.transition_prior", model.transition_prior, field::PRIOR)?;
        field::number("model.emission_prior", model.emission_prior, field::PRIOR)?;
        let layout = self.coding.layout().ok();
        field::agrees("model.layout", &Some(&model.layout), &layout.as_ref())?;
        field::integer("records", self.records as u64, field::RECORDS)?;
        field::budget(1.0, self.delta)?;
        field::number("noise_multiplier", self.noise_multiplier, field::NOISE_MULTIPLIER)?;
        let (laplace, gaussian) = self.expected_sd;
        [Some(laplace), gaussian]
            .into_iter()
            .flatten()
            .try_for_each(|sd| field::number("expected_sd", sd, 0.0..=1e30))?;
        self.sampling.validate()?;
        field::reasons(&self.why)
    }
}

impl Planned for HmmPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn releases(&self) -> Result<Plan, ModelError> {
        Ok(HmmPlan::releases(self)?.0)
    }

    fn expected(&self) -> Vec<(String, f64)> {
        let (laplace, gaussian) = self.expected_sd;
        let sd = match self.mechanism {
            Mechanism::Laplace => laplace,
            Mechanism::Gaussian => gaussian.unwrap_or(f64::NAN),
        };
        vec![
            ("standard deviation of the noise in a count".into(), sd),
            ("events of a region in a step".into(), self.records as f64 / self.model.layout.cells() as f64),
        ]
    }

    fn why(&self) -> Vec<String> {
        self.why.clone()
    }

    fn validate(&self, shape: &TableShape) -> Result<(), ModelError> {
        let inputs: Vec<usize> = self.coding.columns.iter().map(|column| column.inputs).collect();
        same_columns("hmm", (&inputs, self.records), shape)?;
        HmmPlan::validate(self).map_err(out_of_range("hmm"))
    }

    fn cost_estimate(&self) -> Estimate {
        let layout = &self.model.layout;
        let (cells, categories) = (layout.cells() as f64, layout.categories() as f64);
        let (states, width, records) = (self.model.states as f64, cells * categories, self.records as f64);
        let (chains, draws) = (self.sampling.chains as f64, self.sampling.iterations as f64);
        // Curves of the likelihood of each count over the root of its rate, by sums over all true counts.
        let (_, sd) = (self.expected_sd.0, self.noise_multiplier * 2.0 * layout.fields.len() as f64);
        let events = (records / cells + sd).max(1.0);
        let nodes = 4.0 * (events.sqrt() + 1.0);
        let curves = width * nodes * (events + 40.0).min(2500.0);
        let draw = cells * states * (categories * 8.0 + 40.0) + states * categories * 600.0 + 2.0 * width;
        let kept = cells * states + 2.0 * states * categories + width + 0.5 * cells;
        let memory = width * (nodes + 4.0) + 2.0 * chains * kept;
        let inputs = self.coding.width() as f64;
        Estimate::new(memory, curves + chains * draws * draw, kept).releases(
            1.0,
            width,
            records,
            4.0 * inputs + 200.0,
        )
    }

    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError> {
        let (posterior, projections) = self.fit_through(wall)?;
        Ok((Box::new(Fit { coding: self.coding.clone(), posterior }), projections))
    }
}
