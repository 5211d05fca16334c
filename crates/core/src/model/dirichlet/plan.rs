//! The plan: the release and its noise.

use crate::budget::{Adjacency, Privacy};
use crate::engine::conjugate::{
    Categories, Cells, NoiseDistribution, NoiseTreatment, NoisyCounts, Sensitivity, StatisticsPlan, Total,
    one_hot_level,
};
use crate::field::FieldError;
use crate::jobs::Named;
use crate::model::conjugate::ConjugatePlan;
use crate::model::conjugate::single::Single;
use crate::model::conjugate::validate_columns;
use crate::model::dirichlet::posterior::Shares;
use crate::model::{Estimate, Posterior};
use crate::wall::{PlanError, Query, QuerySpec, Wall, WallError};
use crate::{field, threads};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Shares of the levels of columns, each column with a symmetric Dirichlet prior.
///
/// # Privacy
/// A record has one level in each column, so the $L_1$ sensitivity of the counts of all columns is $2D$ under
/// replace-one adjacency, and $D$ under add/remove.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CategoricalPlan {
    /// Inputs of each column: one for each level, or a single one whose sign makes two levels.
    pub columns: Vec<usize>,
    /// Concentration of the prior, the same for each level.
    pub concentration: f64,
    /// The release.
    pub statistics: StatisticsPlan,
    /// Noise treatment of the posterior.
    #[serde(rename = "reading")]
    pub noise_treatment: NoiseTreatment,
}

/// Burn-in: sweeps before the first draw.
pub(super) const BURN_IN: usize = 300;

/// Number of posterior draws.
pub(super) const DRAWS: usize = 1000;

const WHAT: &str = "counts of levels";

/// Number of counts, and the sensitivity.
fn shape(columns: &[usize]) -> (usize, Sensitivity) {
    let d = columns.len() as f64;
    let width = columns.iter().map(|&inputs| levels(inputs)).sum();
    (width, Sensitivity { l1: d, l2: d.sqrt(), non_negative: true })
}

impl CategoricalPlan {
    /// A plan for these columns.
    ///
    /// # Errors
    /// Those of the accountant.
    pub fn new(
        columns: Vec<usize>,
        concentration: f64,
        records: usize,
        privacy: &Privacy,
    ) -> Result<Self, PlanError> {
        let (width, sensitivity) = shape(&columns);
        let statistics = StatisticsPlan::new(WHAT, records, width, sensitivity, privacy)?;
        Ok(Self { columns, concentration, statistics, noise_treatment: NoiseTreatment::NoiseAware })
    }

    pub(crate) fn query(&self) -> impl Query {
        Cells { width: self.statistics.width, of: Levels { columns: &self.columns } }
    }

    /// The posterior of each column from noisy counts.
    #[must_use]
    pub fn posterior(&self, noisy: &[f64], noise: NoiseDistribution) -> Vec<Shares> {
        let mut columns = Vec::new();
        let mut rest = noisy;
        for &inputs in &self.columns {
            let (counts, after) = rest.split_at(levels(inputs));
            columns.push(counts);
            rest = after;
        }
        let known = self.statistics.adjacency == Adjacency::ReplaceOne || noise == NoiseDistribution::None;
        let total = |d: usize| match known {
            true if noise == NoiseDistribution::None => Total::Unknown,
            true => Total::Known(self.statistics.records as f64),
            false => total_from_others(&columns, d, noise),
        };
        let concentration = |counts: &[f64]| vec![self.concentration; counts.len()];
        let shares = |(d, &noisy): (usize, &&[f64])| {
            let counts = NoisyCounts { noisy, noise, concentration: &concentration(noisy), total: total(d) };
            Shares::new(&counts, self.noise_treatment, d as u64).with_sign(self.columns[d] == 1)
        };
        threads::install(|| columns.par_iter().enumerate().map(shares).collect())
    }
}

/// Information of the other columns about the number of records, if there are any.
fn total_from_others(columns: &[&[f64]], own: usize, noise: NoiseDistribution) -> Total {
    let others = columns.iter().enumerate().filter(|(d, _)| *d != own);
    let (mut precision, mut sum) = (0.0, 0.0);
    for (_, counts) in others {
        let weight = 1.0 / (counts.len() as f64 * noise.sd().powi(2));
        precision += weight;
        sum += weight * counts.iter().sum::<f64>();
    }
    if precision == 0.0 {
        Total::Unknown
    } else {
        Total::Observed { mean: sum / precision, sd: precision.sqrt().recip() }
    }
}

/// The level of each column.
#[derive(Serialize, Deserialize)]
pub(crate) struct Levels<C> {
    columns: C,
}

impl<C> Named for Levels<C> {
    const NAME: &'static str = "dirichlet-counts";
}

impl<C: AsRef<[usize]> + Serialize + Sync> Categories for Levels<C> {
    fn cells(&self, record: &[f64], cell: &mut dyn FnMut(usize)) {
        let (mut rest, mut first) = (record, 0);
        for &inputs in self.columns.as_ref() {
            let (column, after) = rest.split_at(inputs);
            if let Some(level) = level(column) {
                cell(first + level);
            }
            rest = after;
            first += levels(inputs);
        }
    }

    fn spec(counts: &Cells<Self>) -> Option<QuerySpec> {
        QuerySpec::of(counts)
    }
}

/// Number of levels of a column of this many inputs.
pub(super) fn levels(inputs: usize) -> usize {
    inputs.max(2)
}

/// The level of a column in a record, if it has one.
pub(super) fn level(column: &[f64]) -> Option<usize> {
    match column {
        [x] => Some(usize::from(*x > 0.0)),
        levels => one_hot_level(levels),
    }
}

impl ConjugatePlan for CategoricalPlan {
    type Posterior = Vec<Shares>;

    fn statistics(&self) -> &StatisticsPlan {
        &self.statistics
    }

    fn validate(&self) -> Result<(), FieldError> {
        validate_columns(&self.columns)?;
        field::number("concentration", self.concentration, field::PRIOR)?;
        let (width, sensitivity) = shape(&self.columns);
        self.statistics.validate(WHAT, width, sensitivity)
    }

    fn fit_through(&self, wall: &mut Wall) -> Result<Self::Posterior, WallError> {
        let (released, noise) = self.statistics.release(&self.query(), wall)?;
        Ok(self.posterior(&released.values, noise))
    }
}

impl Single for CategoricalPlan {
    const MODEL: &'static str = "dirichlet";

    /// A thousand draws of each level, of which a few quantiles are kept.
    fn posterior_estimate(&self) -> Estimate {
        let (columns, levels) = (self.columns.len() as f64, self.statistics.width as f64);
        let kept = 17.0 * levels + 80.0 * columns;
        Estimate::new(1100.0 * levels, 1300.0 * levels * 500.0, kept)
    }
    fn inputs(&self) -> usize {
        self.columns.iter().sum()
    }
    fn columns(&self) -> Option<&[usize]> {
        Some(&self.columns)
    }
    fn posterior(&self, wall: &mut Wall) -> Result<Box<dyn Posterior>, WallError> {
        let shares = self.fit_through(wall)?;
        Ok(Box::new(shares))
    }
}
