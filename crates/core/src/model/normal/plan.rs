//! The plan: the release and its noise.

use crate::budget::Privacy;
use crate::engine::conjugate::{NoiseDistribution, NoiseTreatment, Sensitivity, StatisticsPlan};
use crate::field;
use crate::field::FieldError;
use crate::model::conjugate::ConjugatePlan;
use crate::model::conjugate::needs_the_number_of_records;
use crate::model::conjugate::normal_moments;
use crate::model::conjugate::single::Single;
use crate::model::normal::chain::{CHAIN, Chain};
use crate::model::normal::posterior::NormalColumn;
use crate::model::normal::query::Squares;
use crate::model::{Estimate, Posterior};
use crate::wall::{PlanError, Query, Wall, WallError};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Gamma, StandardNormal};
use serde::{Deserialize, Serialize};

/// A normal-inverse-gamma prior: $\sigma^2 \sim \mathrm{IG}(a, b)$ and $\mu \sim N(m, \sigma^2/\kappa)$.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NormalPrior {
    /// Prior mean $m$.
    pub mean: f64,
    /// Prior sample size $\kappa$ of the mean.
    pub strength: f64,
    /// Shape $a$.
    pub shape: f64,
    /// Scale $b$.
    pub scale: f64,
}

/// Columns of normal numbers that are recorded within $[-1, 1]$, each with its own mean and variance.
///
/// # Privacy
/// A column's statistics are $(x, x^2 - c)$. With $c = 7/8$ their absolute values sum to at most $9/8$ (at $|x| = 1$ and
/// $\tfrac12$), so two records differ by at most $9/4$; with $c = 1$ their norm is at most 1, since $x^2 + (1 - x^2)^2 \le 1$.
/// Both are the true sensitivities. Attacked by `released_statistics_move_no_farther_than_planned`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NormalPlan {
    /// Prior of each column.
    pub prior: NormalPrior,
    /// The release: for each column the sum of numbers and that of their squares.
    pub statistics: StatisticsPlan,
    /// Noise treatment of the posterior.
    #[serde(rename = "reading")]
    pub noise_treatment: NoiseTreatment,
}

/// Clipping bounds of numbers.
pub(super) const BOUNDS: (f64, f64) = (-1.0, 1.0);

const WHAT: &str = "sums of numbers and squares";

fn sensitivity(columns: usize) -> Sensitivity {
    let d = columns as f64;
    Sensitivity { l1: 1.125 * d, l2: d.sqrt(), non_negative: false }
}

impl NormalPlan {
    /// A plan for this many columns.
    ///
    /// # Errors
    /// Add/remove adjacency, and those of the accountant.
    pub fn new(
        columns: usize,
        prior: NormalPrior,
        records: usize,
        privacy: &Privacy,
    ) -> Result<Self, PlanError> {
        needs_the_number_of_records(WHAT, privacy)?;
        let statistics = StatisticsPlan::new(WHAT, records, 2 * columns, sensitivity(columns), privacy)?;
        Ok(Self { prior, statistics, noise_treatment: NoiseTreatment::NoiseAware })
    }

    /// The constant subtracted from squares.
    fn centre(&self) -> f64 {
        if self.statistics.laplace { 0.875 } else { 1.0 }
    }

    pub(crate) fn query(&self) -> impl Query {
        Squares { width: self.statistics.width, centre: self.centre() }
    }

    /// The posterior of a column from noisy sums of numbers and squares.
    pub fn column(&self, noisy: [f64; 2], noise: NoiseDistribution, rng: &mut impl Rng) -> NormalColumn {
        let n = self.statistics.records as f64;
        let plain = self.conjugate(noisy);
        let strength = n + self.prior.strength;
        if noise == NoiseDistribution::None || self.noise_treatment == NoiseTreatment::Naive {
            let draws: Vec<(f64, f64)> = (0..CHAIN.1).map(|_| plain.draw(rng)).collect();
            return NormalColumn::new(&draws, draws.clone(), strength).without_noise();
        }
        let draws = Chain::new(self.prior, n, noisy, noise, plain).sample(rng);
        let recorded = |&(mean, variance): &(f64, f64)| {
            let [_, first, second, ..] = normal_moments(mean, variance.sqrt(), BOUNDS);
            (first, (second - first * first).max(0.0))
        };
        NormalColumn::new(&draws, draws.iter().map(recorded).collect(), strength)
    }

    /// The normal-inverse-gamma posterior that takes noisy sums for true ones, with the sum of squares at least its
    /// lower bound given the sum.
    fn conjugate(&self, [sum, squares]: [f64; 2]) -> NormalPrior {
        let NormalPrior { mean, strength, shape, scale } = self.prior;
        let n = self.statistics.records as f64;
        let average = (sum / n).clamp(BOUNDS.0, BOUNDS.1);
        let spread = (squares / n - average * average).clamp(1e-9, 1.0);
        let together = strength + n;
        NormalPrior {
            mean: (strength * mean + n * average) / together,
            strength: together,
            shape: shape + 0.5 * n,
            scale: scale + 0.5 * n * spread + 0.5 * strength * n / together * (average - mean).powi(2),
        }
    }
}

impl NormalPrior {
    fn draw(self, rng: &mut impl Rng) -> (f64, f64) {
        let precision: f64 = Gamma::new(self.shape, 1.0 / self.scale).map_or(1.0, |gamma| gamma.sample(rng));
        let variance = 1.0 / precision;
        let z: f64 = StandardNormal.sample(rng);
        (self.mean + z * (variance / self.strength).sqrt(), variance)
    }

    pub(super) fn log_density(self, mean: f64, log_variance: f64) -> f64 {
        // The density of the mean and the logarithm of the variance, with the Jacobian of the latter.
        let precision = (-log_variance).exp();
        let gap = mean - self.mean;
        -(self.shape + 0.5) * log_variance - precision * (self.scale + 0.5 * self.strength * gap * gap)
    }
}

impl ConjugatePlan for NormalPlan {
    type Posterior = Vec<NormalColumn>;

    fn statistics(&self) -> &StatisticsPlan {
        &self.statistics
    }

    fn validate(&self) -> Result<(), FieldError> {
        let NormalPrior { mean, strength, shape, scale } = self.prior;
        field::number("prior.mean", mean, -10.0..=10.0)?;
        field::number("prior.strength", strength, field::PRIOR)?;
        field::number("prior.shape", shape, 1e-3..=1e6)?;
        field::number("prior.scale", scale, field::PRIOR)?;
        field::replace_one(self.statistics.adjacency)?;
        let columns = self.statistics.width / 2;
        self.statistics.validate(WHAT, 2 * columns, sensitivity(columns))
    }

    fn fit_through(&self, wall: &mut Wall) -> Result<Self::Posterior, WallError> {
        let (released, noise) = self.statistics.release(&self.query(), wall)?;
        let n = self.statistics.records as f64;
        let columns = released.values.chunks_exact(2).enumerate().map(|(d, sums)| {
            let sums = [sums[0], sums[1] + n * self.centre()];
            let mut rng = ChaCha8Rng::seed_from_u64(d as u64);
            self.column(sums, noise, &mut rng)
        });
        Ok(columns.collect())
    }
}

impl Single for NormalPlan {
    const MODEL: &'static str = "normal";

    /// A thousand draws of the mean and of the variance of each column.
    fn posterior_estimate(&self) -> Estimate {
        let columns = 0.5 * self.statistics.width as f64;
        Estimate::new(2000.0 * columns, 5e7 * columns, 2060.0 * columns)
    }
    fn inputs(&self) -> usize {
        self.statistics.width / 2
    }
    fn posterior(&self, wall: &mut Wall) -> Result<Box<dyn Posterior>, WallError> {
        let columns = self.fit_through(wall)?;
        Ok(Box::new(columns))
    }
}
