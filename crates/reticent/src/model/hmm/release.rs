//! Planning and running a private fit: counts of events, released once.

use super::{Counts, Evidence, Hmm, HmmError, HmmPosterior, Layout, Noise, Posterior, Sampling};
use crate::budget::{Adjacency, Cost, Ledger, Privacy};
use crate::engine::conjugate::{Cells, one_hot_level};
use crate::engine::exact_delta;
use crate::receipt::Receipt;
use crate::wall::{
    Geometry, NoiseSource, Plan, PlanError, Query, Records, Released, Sampler, SumId, Sums, Wall,
};
use reticent_accounting::gaussian;
use serde::{Deserialize, Serialize};
use std::f64::consts::SQRT_2;

/// How a column is written in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coded {
    /// Numbers of the column: one for each level, of which one is 1 and the others are 0; or one between -1 and 1.
    pub inputs: usize,
    /// Levels. A single number is one of as many evenly spaced values.
    pub levels: usize,
}

impl Coded {
    /// The level, if there is one.
    fn level(self, numbers: &[f64]) -> Option<usize> {
        match numbers {
            [x] if self.inputs == 1 => {
                let last = (self.levels - 1) as f64;
                Some((0.5 * (x.clamp(-1.0, 1.0) + 1.0) * last).round() as usize)
            }
            _ => one_hot_level(numbers),
        }
    }
}

/// How records say where an event belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coding {
    /// The columns, in order.
    pub columns: Vec<Coded>,
    /// Which of them is the region.
    pub region: usize,
    /// Which of them is the time.
    pub time: usize,
}

impl Coding {
    /// The shape of the counts.
    ///
    /// # Errors
    /// [`HmmError::Layout`] if there is a column too few.
    pub fn layout(&self) -> Result<Layout, HmmError> {
        let column = |k: usize| self.columns.get(k).ok_or(HmmError::Layout);
        let whole = self.columns.iter().all(|c| c.levels > 0 && (c.inputs == 1 || c.inputs == c.levels));
        if self.region == self.time || !whole {
            return Err(HmmError::Layout);
        }
        let fields = self.columns.iter().enumerate().filter(|(k, _)| ![self.region, self.time].contains(k));
        let layout = Layout {
            regions: column(self.region)?.levels,
            steps: column(self.time)?.levels,
            fields: fields.map(|(_, column)| column.levels).collect(),
        };
        layout.check()?;
        Ok(layout)
    }

    /// Numbers in a record.
    #[must_use]
    pub fn width(&self) -> usize {
        self.columns.iter().map(|column| column.inputs).sum()
    }

    /// The level of each column, as far as a record says.
    fn levels<'a>(&'a self, record: &'a [f64]) -> impl Iterator<Item = Option<usize>> + 'a {
        let mut rest = record;
        self.columns.iter().map(move |column| {
            let (numbers, after) = rest.split_at_checked(column.inputs).unwrap_or_default();
            rest = after;
            column.level(numbers)
        })
    }

    /// The cell of an event.
    #[must_use]
    pub fn cell(&self, layout: &Layout, record: &[f64]) -> Option<usize> {
        let level = |column: usize| self.levels(record).nth(column).flatten();
        Some(layout.cell(level(self.region)?, level(self.time)?))
    }

    /// The category of an event in each field.
    pub fn event<'a>(&'a self, record: &'a [f64]) -> impl Iterator<Item = Option<usize>> + 'a {
        let levels = self.levels(record).enumerate();
        levels.filter(|(column, _)| ![self.region, self.time].contains(column)).map(|(_, level)| level)
    }
}

/// One for each field of an event, in the categories of its cell.
pub(super) fn event_counts(layout: &Layout, coding: &Coding) -> impl Query {
    let of = |record: &[f64], count: &mut dyn FnMut(usize)| {
        let Some(cell) = coding.cell(layout, record) else { return };
        let fields = layout.field_ranges().zip(coding.event(record));
        let places = fields.filter_map(|(range, level)| Some(range.start + level?));
        places.for_each(|place| count(cell * layout.categories() + place));
    };
    Cells { width: layout.width(), of }
}

/// The law of the noise of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// For a bound in $L_1$; no delta.
    Laplace,
    /// For a bound in $L_2$.
    Gaussian,
}

/// What a fit will do, chosen from public numbers only. It can be edited and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HmmPlan {
    /// The model.
    pub model: Hmm,
    /// How records are written.
    pub coding: Coding,
    /// The public number of records.
    pub records: usize,
    /// What may be spent.
    pub delta: f64,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// The noise.
    pub mechanism: Mechanism,
    /// Its standard deviation (Laplace: its scale) over the sensitivity.
    pub noise_multiplier: f64,
    /// The standard deviation of the noise in a count, by mechanism: Laplace, Gaussian.
    pub expected_sd: (f64, Option<f64>),
    /// What noisy counts are taken for.
    pub posterior: Posterior,
    /// How long to sample.
    pub sampling: Sampling,
    /// Why it is this plan.
    pub why: Vec<String>,
}

/// Sensitivities of the counts of events with so many fields, in $L_1$ and $L_2$.
fn sensitivities(fields: usize, adjacency: Adjacency) -> (f64, f64) {
    let moved = fields as f64 * if adjacency == Adjacency::ReplaceOne { 2.0 } else { 1.0 };
    (moved, moved.sqrt())
}

/// The least noise multiplier of a mechanism for a budget; none for Gaussian noise without a delta.
fn multiplier(mechanism: Mechanism, privacy: &Privacy) -> Result<Option<f64>, HmmError> {
    // Up by a hair, so that rounding in an accountant never makes it too little.
    let up = 1.0 + 1e-6;
    match mechanism {
        Mechanism::Laplace => Ok(Some(up / privacy.epsilon())),
        Mechanism::Gaussian if privacy.delta() == 0.0 => Ok(None),
        Mechanism::Gaussian => {
            let least = gaussian::noise_multiplier(privacy.epsilon(), exact_delta(privacy));
            Ok(Some(up * least.map_err(PlanError::from)?))
        }
    }
}

impl HmmPlan {
    /// Chooses the noise with the smaller standard deviation in a count.
    ///
    /// # Errors
    /// [`HmmError`] if there is no such model or noise.
    pub fn new(coding: Coding, states: usize, records: usize, privacy: &Privacy) -> Result<Self, HmmError> {
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
                "an event moves the counts by {l1} in L1 and {l2:.2} in L2, so the noise of a count has sd {laplace_sd:.2} if Laplace and \
                 {other} if Gaussian: the first grows with the number of fields ({fields}), the second with its root"
            ),
            format!(
                "{per_cell:.0} events in a cell on average; states differ by what noise of that size leaves to see"
            ),
            "one release: sampling after it is free, for any prior and any number of draws".to_owned(),
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
            posterior: Posterior::NoiseAware,
            sampling: Sampling::default(),
            why,
        })
    }

    /// The same with this noise.
    ///
    /// # Errors
    /// [`HmmError::NoDelta`] if the noise is Gaussian and there is no delta.
    pub fn with(mut self, mechanism: Mechanism, privacy: &Privacy) -> Result<Self, HmmError> {
        self.noise_multiplier = multiplier(mechanism, privacy)?.ok_or(HmmError::NoDelta)?;
        self.mechanism = mechanism;
        self.why.push("the noise is of the caller's choice".to_owned());
        Ok(self)
    }

    /// What is released.
    ///
    /// # Privacy
    /// Each field of an event adds 1 to one count, so the radius is that of all events and nothing is clipped.
    fn release(&self) -> Result<(Plan, SumId), HmmError> {
        self.validate().map_err(PlanError::from)?;
        self.model.check()?;
        if self.coding.layout()? != self.model.layout {
            return Err(HmmError::Layout);
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

    /// What it costs.
    ///
    /// # Errors
    /// [`HmmError`] if the wall would refuse it.
    pub fn price(&self) -> Result<Cost, HmmError> {
        Ok(self.release()?.0.price(self.delta)?)
    }

    /// Releases the counts of records.
    ///
    /// # Errors
    /// [`HmmError`]; nothing was released if the wall could not be built.
    pub fn counts(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Counts, Receipt), HmmError> {
        let (plan, id) = self.release()?;
        let mut wall = match privacy {
            Some(privacy) => Wall::new(records, source, plan, privacy, ledger)?,
            None => Wall::without_privacy(records, source, plan, ledger)?,
        };
        let Released { values, noise_sd, .. } =
            wall.sum(id, &event_counts(&self.model.layout, &self.coding))?;
        let sd = noise_sd.first().copied().filter(|sd| *sd > 0.0);
        let noise = sd.map(|sd| match self.mechanism {
            Mechanism::Laplace => Noise::Laplace { scale: sd / SQRT_2 },
            Mechanism::Gaussian => Noise::Gaussian { sd },
        });
        let counts = Counts::new(&self.model.layout, values, noise)?;
        let moved = if self.posterior == Posterior::Naive { counts.below_zero() } else { 0 };
        Ok((counts, wall.finish(moved)?))
    }

    /// Releases the counts of records, and samples. **Not private** without a budget.
    ///
    /// # Errors
    /// [`HmmError`]; nothing was released if the wall could not be built.
    pub fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(HmmPosterior, Receipt), HmmError> {
        let (counts, receipt) = self.counts(records, source, privacy, ledger)?;
        Ok((self.sampling.run(&Evidence::new(&self.model, &counts, self.posterior)?), receipt))
    }
}
