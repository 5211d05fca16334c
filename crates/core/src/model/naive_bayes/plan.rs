//! The plan: the release and its noise.

use crate::budget::Privacy;
use crate::engine::conjugate::{
    Categories, Cells, NoiseDistribution, NoiseTreatment, Sensitivity, StatisticsPlan, one_hot_level,
};
use crate::field;
use crate::field::FieldError;
use crate::jobs::Named;
use crate::model::conjugate::ConjugatePlan;
use crate::model::conjugate::single::Single;
use crate::model::conjugate::validate_columns;
use crate::model::naive_bayes::posterior::NaiveBayesPosterior;
use crate::model::naive_bayes::tables::Tables;
use crate::model::{Estimate, Posterior};
use crate::wall::{PlanError, Query, QuerySpec, Wall, WallError};
use serde::{Deserialize, Serialize};

/// Two classes; records are the inputs of the columns and, last, a number that is positive for the second class.
///
/// # Privacy
/// Each column is a table of counts, levels by classes, and a record is one cell in each. So the $L_1$ sensitivity of
/// all tables together is $2D$ (the $L_2$ sensitivity $\sqrt{2D}$) under replace-one adjacency. The counts of classes
/// are not released: every table implies them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NaiveBayesPlan {
    /// Inputs of each column: one for each level, or a single number between -1 and 1.
    pub columns: Vec<usize>,
    /// Number of bins of a numeric column, of equal width.
    pub bins: usize,
    /// Concentration of the Dirichlet prior, the same for each level.
    pub concentration: f64,
    /// The release.
    pub statistics: StatisticsPlan,
    /// Noise treatment of the posterior.
    #[serde(rename = "reading")]
    pub noise_treatment: NoiseTreatment,
}

pub(super) const CLASSES: usize = 2;

const WHAT: &str = "counts of levels and classes";

/// Maximum number of bins: with more, almost all are empty, and each has its own noise.
pub const MAX_BINS: u64 = 10_000;

/// Number of counts, and their sensitivity.
fn shape(columns: &[usize], bins: usize) -> (usize, Sensitivity) {
    let d = columns.len() as f64;
    let width = columns.iter().map(|&inputs| levels(inputs, bins) * CLASSES).sum();
    (width, Sensitivity { l1: d, l2: d.sqrt(), non_negative: true })
}

impl NaiveBayesPlan {
    /// A plan for these columns.
    ///
    /// # Errors
    /// Those of the accountant.
    pub fn new(
        columns: Vec<usize>,
        bins: usize,
        concentration: f64,
        records: usize,
        privacy: &Privacy,
    ) -> Result<Self, PlanError> {
        let (width, sensitivity) = shape(&columns, bins);
        let statistics = StatisticsPlan::new(WHAT, records, width, sensitivity, privacy)?;
        Ok(Self { columns, bins, concentration, statistics, noise_treatment: NoiseTreatment::NoiseAware })
    }

    pub(crate) fn query(&self) -> impl Query {
        let of = LevelsByClass { columns: &self.columns, bins: self.bins };
        Cells { width: self.statistics.width, of }
    }

    /// The posterior from noisy counts.
    #[must_use]
    pub fn posterior(&self, noisy: &[f64], noise: NoiseDistribution) -> NaiveBayesPosterior {
        let tables = Tables {
            noisy: noisy.to_vec(),
            noise,
            concentration: self.concentration,
            noise_treatment: self.noise_treatment,
        };
        tables.posterior(&self.columns, self.bins)
    }
}

/// The level of each column, with the class.
#[derive(Serialize, Deserialize)]
pub(crate) struct LevelsByClass<C> {
    columns: C,
    bins: usize,
}

impl<C> Named for LevelsByClass<C> {
    const NAME: &'static str = "naive-bayes-counts";
}

impl<C: AsRef<[usize]> + Serialize + Sync> Categories for LevelsByClass<C> {
    fn cells(&self, record: &[f64], cell: &mut dyn FnMut(usize)) {
        let class = usize::from(record[record.len() - 1] > 0.0);
        let (mut rest, mut first) = (record, 0);
        for &inputs in self.columns.as_ref() {
            let (column, after) = rest.split_at(inputs);
            if let Some(level) = level(column, self.bins) {
                cell(first + CLASSES * level + class);
            }
            rest = after;
            first += CLASSES * levels(inputs, self.bins);
        }
    }

    fn spec(counts: &Cells<Self>) -> Option<QuerySpec> {
        QuerySpec::of(counts)
    }
}

/// Number of levels of a column of this many inputs.
pub(super) fn levels(inputs: usize, bins: usize) -> usize {
    if inputs == 1 { bins } else { inputs }
}

/// The level of a column in a record, if it has one.
pub(super) fn level(inputs: &[f64], bins: usize) -> Option<usize> {
    match inputs {
        [x] => Some(((0.5 * (x + 1.0) * bins as f64).max(0.0) as usize).min(bins - 1)),
        levels => one_hot_level(levels),
    }
}

impl ConjugatePlan for NaiveBayesPlan {
    type Posterior = NaiveBayesPosterior;

    fn statistics(&self) -> &StatisticsPlan {
        &self.statistics
    }

    fn validate(&self) -> Result<(), FieldError> {
        validate_columns(&self.columns)?;
        field::integer("bins", self.bins as u64, 1..=MAX_BINS)?;
        field::number("concentration", self.concentration, field::PRIOR)?;
        let (width, sensitivity) = shape(&self.columns, self.bins);
        self.statistics.validate(WHAT, width, sensitivity)
    }

    fn fit_through(&self, wall: &mut Wall) -> Result<Self::Posterior, WallError> {
        let (released, noise) = self.statistics.release(&self.query(), wall)?;
        Ok(self.posterior(&released.values, noise))
    }
}

impl Single for NaiveBayesPlan {
    const MODEL: &'static str = "naive-bayes";

    /// 32 draws of each level and class, from chains of 520.
    fn posterior_estimate(&self) -> Estimate {
        let (columns, cells) = (self.columns.len() as f64, self.statistics.width as f64);
        Estimate::new(400.0 * cells, 520.0 * cells * 1000.0, 35.0 * cells + 40.0 * columns)
    }
    fn inputs(&self) -> usize {
        self.columns.iter().sum()
    }
    fn columns(&self) -> Option<&[usize]> {
        Some(&self.columns)
    }
    fn posterior(&self, wall: &mut Wall) -> Result<Box<dyn Posterior>, WallError> {
        let posterior = self.fit_through(wall)?;
        Ok(Box::new(posterior))
    }
}
