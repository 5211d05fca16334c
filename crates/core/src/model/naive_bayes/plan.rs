//! The plan: the release and its noise.

use crate::budget::{Ledger, Privacy};
use crate::engine::conjugate::{
    Cells, NoiseDistribution, NoiseTreatment, NoisyCounts, Sensitivity, StatisticsPlan, Total, dirichlet,
    one_hot_level,
};
use crate::field;
use crate::field::FieldError;
use crate::model::conjugate::single::Single;
use crate::model::conjugate::validate_columns;
use crate::model::naive_bayes::posterior::NaiveBayesPosterior;
use crate::model::{Estimate, Posterior};
use crate::receipt::Receipt;
use crate::wall::{NoiseSource, PlanError, Query, Records, Wall, WallError};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
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

/// Burn-in, number of draws, and thinning.
const CHAIN: (usize, usize, usize) = (200, 32, 10);

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

    /// Checks that every field is in range and consistent with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        validate_columns(&self.columns)?;
        field::integer("bins", self.bins as u64, 1..=MAX_BINS)?;
        field::number("concentration", self.concentration, field::PRIOR)?;
        let (width, sensitivity) = shape(&self.columns, self.bins);
        self.statistics.validate(WHAT, width, sensitivity)
    }

    /// Runs the plan; without privacy if there is no budget.
    ///
    /// # Errors
    /// Those of the wall.
    pub fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(NaiveBayesPosterior, Receipt), WallError> {
        self.validate().map_err(PlanError::from)?;
        let mut wall = Wall::open(records, source, self.statistics.releases()?.0, privacy, ledger)?;
        let posterior = self.fit_through(&mut wall)?;
        Ok((posterior, wall.finish(0)?))
    }

    /// The posterior from the releases of a wall of this plan.
    ///
    /// # Errors
    /// [`WallError`].
    pub fn fit_through(&self, wall: &mut Wall) -> Result<NaiveBayesPosterior, WallError> {
        let (released, noise) = self.statistics.release(&self.query(), wall)?;
        Ok(self.posterior(&released.values, noise))
    }

    pub(crate) fn query(&self) -> impl Query {
        let of = |record: &[f64], cell: &mut dyn FnMut(usize)| {
            let class = usize::from(record[record.len() - 1] > 0.0);
            let (mut rest, mut first) = (record, 0);
            for &inputs in &self.columns {
                let (column, after) = rest.split_at(inputs);
                if let Some(level) = level(column, self.bins) {
                    cell(first + CLASSES * level + class);
                }
                rest = after;
                first += CLASSES * levels(inputs, self.bins);
            }
        };
        Cells { width: self.statistics.width, of }
    }

    /// The posterior from noisy counts.
    #[must_use]
    pub fn posterior(&self, noisy: &[f64], noise: NoiseDistribution) -> NaiveBayesPosterior {
        // Blocks: the levels of a column for one class.
        let mut blocks: Vec<[Vec<f64>; CLASSES]> = Vec::new();
        let mut rest = noisy;
        for &inputs in &self.columns {
            let (table, after) = rest.split_at(levels(inputs, self.bins) * CLASSES);
            let class = |c: usize| table.iter().skip(c).step_by(CLASSES).copied().collect();
            blocks.push([class(0), class(1)]);
            rest = after;
        }
        let totals = Totals { blocks: &blocks, noise };
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut posterior = NaiveBayesPosterior {
            columns: self.columns.clone(),
            bins: self.bins,
            draws: vec![Vec::new(); CHAIN.1],
            records_variances: Vec::new(),
        };
        for class in 0..CLASSES {
            let (mean, sd) = totals.of(class, None);
            let shares = self.block(
                &[mean, totals.of(1 - class, None).0],
                NoiseDistribution::Gaussian { sd },
                Total::Unknown,
                &mut rng,
            );
            // The logarithm of the probability of the class, followed by those of its levels.
            posterior.push(shares.iter().map(|shares| vec![shares[0].ln()]), vec![0.0]);
            for (d, block) in blocks.iter().enumerate() {
                let (mean, sd) = totals.of(class, Some(d));
                let total = if sd.is_finite() { Total::Observed { mean, sd } } else { Total::Unknown };
                let draws = self.block(&block[class], noise, total, &mut rng);
                let variances = self.records_variance(&draws, mean);
                posterior.push(draws.iter().map(|shares| shares.iter().map(|p| p.ln()).collect()), variances);
            }
        }
        posterior
    }

    /// Draws of the probabilities of a block.
    fn block(
        &self,
        noisy: &[f64],
        noise: NoiseDistribution,
        total: Total,
        rng: &mut impl Rng,
    ) -> Vec<Vec<f64>> {
        let (before, draws, each) = CHAIN;
        let concentration = vec![self.concentration; noisy.len()];
        let noise = if noise.sd() == 0.0 { NoiseDistribution::None } else { noise };
        let counts = NoisyCounts { noisy, noise, concentration: &concentration, total };
        let found = match self.noise_treatment {
            NoiseTreatment::NoiseAware => counts.sample(before, draws * each, rng),
            NoiseTreatment::Naive => vec![counts.nearest(false); draws * each],
        };
        let share = |n: &Vec<f64>| dirichlet(n.iter().zip(&concentration).map(|(n, a)| n + a), rng);
        found.iter().step_by(each).map(share).collect()
    }

    /// The variance of the logarithm of each probability if the counts were known: $\psi'(a + n) - \psi'(A + N)$, at
    /// the expected counts. Noisy counts may be near 0 by chance, where it is huge.
    fn records_variance(&self, shares: &[Vec<f64>], total: f64) -> Vec<f64> {
        let levels = shares.first().map_or(0, Vec::len);
        let all = total.max(0.0) + self.concentration * levels as f64;
        let expected = |k: usize| shares.iter().map(|shares| shares[k]).sum::<f64>() / shares.len() as f64;
        (0..levels).map(|k| (trigamma(all * expected(k)) - trigamma(all)).max(0.0)).collect()
    }
}

/// Information of the tables about the number of records of each class.
struct Totals<'a> {
    blocks: &'a [[Vec<f64>; CLASSES]],
    noise: NoiseDistribution,
}

impl Totals<'_> {
    /// The number of records of a class and its standard deviation, from all blocks but one.
    ///
    /// Each table sums to it, with the noise of its levels. The public number of all records adds no information:
    /// records without a class contribute nothing, and their number is private.
    fn of(&self, class: usize, without: Option<usize>) -> (f64, f64) {
        let blocks = self.blocks.iter().enumerate().filter(|(d, _)| Some(*d) != without);
        let (precision, total) = blocks.fold((0.0, 0.0), |(precision, sum), (_, block)| {
            let weight = 1.0 / (block[class].len() as f64 * self.noise.sd().powi(2).max(1e-12));
            (precision + weight, sum + weight * block[class].iter().sum::<f64>())
        });
        let sd = if self.noise == NoiseDistribution::None { 0.0 } else { precision.sqrt().recip() };
        (if precision > 0.0 { total / precision } else { 0.0 }, sd)
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

/// $\psi'(x)$ for $x > 0$, by recurrence to $x \ge 10$ and the asymptotic series there.
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    // Below this the square of its reciprocal would not be finite.
    x = x.max(1e-100);
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    // Bernoulli numbers.
    let series = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y / 30.0)));
    sum + 1.0 / x + 0.5 * y + series / x
}

impl Single for NaiveBayesPlan {
    const MODEL: &'static str = "naive-bayes";

    fn fields(&self) -> Result<(), FieldError> {
        self.validate()
    }
    /// 32 draws of each level and class, from chains of 520.
    fn posterior_estimate(&self) -> Estimate {
        let (columns, cells) = (self.columns.len() as f64, self.statistics.width as f64);
        Estimate::new(400.0 * cells, 520.0 * cells * 1000.0, 34.0 * cells + 40.0 * columns)
    }
    fn statistics(&self) -> &StatisticsPlan {
        &self.statistics
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

#[cfg(test)]
mod tests {
    use super::*;

    /// $\psi'(1) = \pi^2/6$ and $\psi'(1/2) = \pi^2/2$.
    #[test]
    fn trigamma_has_its_known_values() {
        let square = std::f64::consts::PI.powi(2);
        assert!((trigamma(1.0) - square / 6.0).abs() < 1e-11);
        assert!((trigamma(0.5) - square / 2.0).abs() < 1e-11);
    }
}
