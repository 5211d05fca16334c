//! Shares of categories.

use super::validate_columns;
use crate::budget::{Adjacency, Ledger, Privacy};
use crate::engine::conjugate::{
    Cells, Law, NoisyCounts, Reading, Sensitivity, StatisticsPlan, Total, dirichlet, one_hot_level,
};
use crate::field::{self, FieldError};
use crate::model::normal::quantile;
use crate::receipt::Receipt;
use crate::wall::{NoiseSource, PlanError, Query, Records, WallError};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Shares of the levels of columns, each column with a symmetric Dirichlet prior.
///
/// # Privacy
/// A record is one level of each column, so the counts of all columns together differ by at most $2D$ between neighbours that
/// replace a record, and by $D$ if one is added or removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CategoricalPlan {
    /// Inputs of each column: one for each level, or a single one whose sign makes two levels.
    pub columns: Vec<usize>,
    /// Of the prior, for each level.
    pub concentration: f64,
    /// The release.
    pub statistics: StatisticsPlan,
    /// What is made of it.
    pub reading: Reading,
}

/// Sweeps before the first draw.
const BEFORE: usize = 300;
/// Draws behind a posterior.
const DRAWS: usize = 1000;

const WHAT: &str = "counts of levels";

/// How many counts there are, and what one record can do to them.
fn shape(columns: &[usize]) -> (usize, Sensitivity) {
    let d = columns.len() as f64;
    let width = columns.iter().map(|&inputs| levels(inputs)).sum();
    (width, Sensitivity { l1: d, l2: d.sqrt(), non_negative: true })
}

impl CategoricalPlan {
    /// For these columns.
    ///
    /// # Errors
    /// What the accountant refuses.
    pub fn new(
        columns: Vec<usize>,
        concentration: f64,
        records: usize,
        privacy: &Privacy,
    ) -> Result<Self, PlanError> {
        let (width, sensitivity) = shape(&columns);
        let statistics = StatisticsPlan::new(WHAT, records, width, sensitivity, privacy)?;
        Ok(Self { columns, concentration, statistics, reading: Reading::NoiseAware })
    }

    /// Whether every field is in its range, and agrees with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        validate_columns(&self.columns)?;
        field::number("concentration", self.concentration, field::PRIOR)?;
        let (width, sensitivity) = shape(&self.columns);
        self.statistics.validate(WHAT, width, sensitivity)
    }

    /// Runs it; without privacy if none is asked for. Records begin with the columns; what comes after them is not looked at.
    ///
    /// # Errors
    /// What the wall refuses.
    pub fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Vec<Shares>, Receipt), WallError> {
        self.validate().map_err(PlanError::from)?;
        let (released, law, receipt) =
            self.statistics.release(&self.query(), records, source, privacy, ledger)?;
        Ok((self.posterior(&released.values, law), receipt))
    }

    pub(super) fn query(&self) -> impl Query {
        let of = |record: &[f64], cell: &mut dyn FnMut(usize)| {
            let (mut rest, mut first) = (record, 0);
            for &inputs in &self.columns {
                let (column, after) = rest.split_at(inputs);
                if let Some(level) = level(column) {
                    cell(first + level);
                }
                rest = after;
                first += levels(inputs);
            }
        };
        Cells { width: self.statistics.width, of }
    }

    /// The posterior of each column from noisy counts.
    #[must_use]
    pub fn posterior(&self, noisy: &[f64], law: Law) -> Vec<Shares> {
        let mut columns = Vec::new();
        let mut rest = noisy;
        for &inputs in &self.columns {
            let (counts, after) = rest.split_at(levels(inputs));
            columns.push(counts);
            rest = after;
        }
        let known = self.statistics.adjacency == Adjacency::ReplaceOne || law == Law::None;
        let total = |d: usize| match known {
            true if law == Law::None => Total::Unknown,
            true => Total::Known(self.statistics.records as f64),
            false => told(&columns, d, law),
        };
        let concentration = |counts: &[f64]| vec![self.concentration; counts.len()];
        let shares = |(d, &noisy): (usize, &&[f64])| {
            let counts = NoisyCounts { noisy, law, concentration: &concentration(noisy), total: total(d) };
            Shares::new(&counts, self.reading, d as u64).with_sign(self.columns[d] == 1)
        };
        columns.par_iter().enumerate().map(shares).collect()
    }
}

/// What the other columns say about the number of records, if there are any.
fn told(columns: &[&[f64]], own: usize, law: Law) -> Total {
    let others = columns.iter().enumerate().filter(|(d, _)| *d != own);
    let (mut precision, mut sum) = (0.0, 0.0);
    for (_, counts) in others {
        let weight = 1.0 / (counts.len() as f64 * law.sd().powi(2));
        precision += weight;
        sum += weight * counts.iter().sum::<f64>();
    }
    if precision == 0.0 {
        Total::Unknown
    } else {
        Total::Told { mean: sum / precision, sd: precision.sqrt().recip() }
    }
}

/// Levels of a column of so many inputs.
fn levels(inputs: usize) -> usize {
    inputs.max(2)
}

/// The level of a column in a record, if it has one.
fn level(column: &[f64]) -> Option<usize> {
    match column {
        [x] => Some(usize::from(*x > 0.0)),
        levels => one_hot_level(levels),
    }
}

/// The probabilities that quantiles are kept at. Between them shares are taken to be normal.
const KNOTS: [f64; 11] = [0.005, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.995];

/// The posterior of the shares of a column's levels. Its size does not depend on the number of draws behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored")]
pub struct Shares {
    /// The mean of each share.
    pub mean: Vec<f64>,
    /// The variance that the records leave, were the counts known.
    pub records_variance: Vec<f64>,
    /// The variance, with what the privacy noise adds.
    pub variance: Vec<f64>,
    /// Whether the two levels are the sign of one input.
    sign: bool,
    /// The quantiles of each level at [`KNOTS`], level by level.
    quantiles: Vec<f64>,
}

/// As it may be in a file: the first ones had all draws, in order of size for each level, instead of quantiles.
#[derive(Deserialize)]
struct Stored {
    mean: Vec<f64>,
    records_variance: Vec<f64>,
    variance: Vec<f64>,
    sign: bool,
    #[serde(default)]
    quantiles: Vec<f64>,
    #[serde(default)]
    sorted: Vec<Vec<f64>>,
}

impl From<Stored> for Shares {
    fn from(stored: Stored) -> Self {
        let Stored { mean, records_variance, variance, sign, mut quantiles, sorted } = stored;
        if quantiles.is_empty() {
            quantiles = sorted.iter().flat_map(|draws| KNOTS.map(|p| empirical(draws, p))).collect();
        }
        Self { mean, records_variance, variance, sign, quantiles }
    }
}

/// The value that is not exceeded with this probability, among draws in order of size.
fn empirical(draws: &[f64], probability: f64) -> f64 {
    let at = (probability * draws.len() as f64 - 0.5).max(0.0);
    let low = (at as usize).min(draws.len().saturating_sub(1));
    match (draws.get(low), draws.get(low + 1)) {
        (Some(a), Some(b)) => a + (b - a) * (at - low as f64),
        (Some(a), None) => *a,
        _ => f64::NAN,
    }
}

impl Shares {
    /// From noisy counts. The draws are made with a public seed: they are free.
    #[must_use]
    pub fn new(counts: &NoisyCounts<'_>, reading: Reading, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let levels = counts.noisy.len();
        let mut moments = vec![[0.0; 3]; levels];
        let mut drawn = vec![0.0; levels * DRAWS];
        let mut column = 0;
        let each = |n: &[f64], rng: &mut ChaCha8Rng| {
            let total: f64 = n.iter().zip(counts.concentration).map(|(n, a)| n + a).sum();
            for (moments, (n, a)) in moments.iter_mut().zip(n.iter().zip(counts.concentration)) {
                let mean = (n + a) / total;
                let add = [mean, mean * (1.0 - mean) / (total + 1.0), mean * mean];
                moments.iter_mut().zip(add).for_each(|(sum, x)| *sum += x / DRAWS as f64);
            }
            let shares = dirichlet(n.iter().zip(counts.concentration).map(|(n, a)| n + a), rng);
            drawn.chunks_exact_mut(DRAWS).zip(shares).for_each(|(drawn, share)| drawn[column] = share);
            column += 1;
        };
        match reading {
            Reading::NoiseAware => counts.each_sample(BEFORE, DRAWS, &mut rng, each),
            Reading::Naive => {
                let nearest = counts.nearest(false);
                let mut each = each;
                (0..DRAWS).for_each(|_| each(&nearest, &mut rng));
            }
        }
        drawn.chunks_exact_mut(DRAWS).for_each(|draws| draws.sort_by(f64::total_cmp));
        Self {
            mean: moments.iter().map(|m| m[0]).collect(),
            records_variance: moments.iter().map(|m| m[1]).collect(),
            variance: moments.iter().map(|m| m[1] + (m[2] - m[0] * m[0]).max(0.0)).collect(),
            sign: false,
            quantiles: drawn
                .chunks_exact(DRAWS)
                .flat_map(|draws| KNOTS.map(|p| empirical(draws, p)))
                .collect(),
        }
    }

    /// The same, as the levels of one input's sign or not.
    #[must_use]
    fn with_sign(self, sign: bool) -> Self {
        Self { sign, ..self }
    }

    /// Whether its parts fit together, as they may not in a file that somebody changed.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let levels = self.mean.len();
        let lengths = [self.records_variance.len(), self.variance.len()];
        lengths.iter().all(|&length| length == levels)
            && self.quantiles.len() == levels * KNOTS.len()
            && self.quantiles.iter().all(|x| x.is_finite())
            && (levels == 2 || !self.sign)
    }

    /// Inputs of the column.
    #[must_use]
    pub fn inputs(&self) -> usize {
        if self.sign { 1 } else { self.mean.len() }
    }

    /// The share of a level that is not exceeded with this probability, as far as the draws show: exact for them at a few usual
    /// probabilities, and as of a normal share between these and beyond.
    #[must_use]
    pub fn quantile(&self, level: usize, probability: f64) -> f64 {
        if !(probability > 0.0 && probability < 1.0) {
            return if probability >= 1.0 { 1.0 } else { 0.0 };
        }
        let quantiles = &self.quantiles[level * KNOTS.len()..][..KNOTS.len()];
        let above = KNOTS.iter().position(|knot| *knot >= probability).unwrap_or(KNOTS.len());
        let above = above.clamp(1, KNOTS.len() - 1);
        let (low, high) = (quantile(KNOTS[above - 1]), quantile(KNOTS[above]));
        let along = (quantile(probability) - low) / (high - low);
        (quantiles[above - 1] + (quantiles[above] - quantiles[above - 1]) * along).clamp(0.0, 1.0)
    }
}
