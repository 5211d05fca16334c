//! The plan: the release and its noise.

use super::chain::{Chain, Noisy};
use super::posterior::MultivariatePosterior;
use crate::budget::Privacy;
use crate::engine::conjugate::{NoiseDistribution, NoiseTreatment, Sensitivity, StatisticsPlan};
use crate::field;
use crate::field::FieldError;
use crate::model::conjugate::ConjugatePlan;
use crate::model::conjugate::needs_the_number_of_records;
use crate::model::conjugate::single::Single;
use crate::model::multivariate_normal::query::{CONSTANT, Products, pairs};
use crate::model::{Estimate, Posterior};
use crate::wall::{PlanError, Query, Wall, WallError};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// A normal-inverse-Wishart prior about 0. With one column it is the normal-inverse-gamma prior of shape $\nu/2$ and scale $\psi/2$.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WishartPrior {
    /// Prior sample size $\kappa$ of the mean.
    pub strength: f64,
    /// Degrees of freedom $\nu$, above the number of columns minus 1.
    pub freedom: f64,
    /// Scale $\psi$.
    pub scale: f64,
}

/// Columns of normal numbers within $[-1, 1]$, with means and covariances.
///
/// # Privacy
/// The statistics of a record are $x_i$, $x_i^2 - c$ and $w x_i x_j$ for $i < j$. With $w = \sqrt2$ and
/// $S = \sum_i x_i^2 \in [0, D]$ their squares sum to
/// $S + (S^2 - \sum x_i^4) + \sum(x_i^2 - c)^2 = S^2 + (1 - 2c)S + Dc^2$, which for $c = 1$ is at most $D^2$, at the
/// corners, $2D$ apart. So one column is released. The outer product of $(x, c)$ has the norm $S + c^2$ and a sensitivity of
/// $\sqrt2(D + c^2)$: with $c^2 = \tfrac12$ and two columns or more that is less, and within 1 % of the largest distance of statistics with $w = \sqrt2$,
/// $\max_k (4k + 8k(D - k))^{1/2}$ between corners that differ in $k$ signs. With Laplace noise, $w = 1$ and $c = \tfrac78$ their absolute values sum to at most $\tfrac98 D + \tfrac12 D(D-1)$, at
/// the corners too. Attacked by `products_reach_and_never_exceed_their_radius`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MultivariatePlan {
    /// Number of columns $D$.
    pub columns: usize,
    /// The prior.
    pub prior: WishartPrior,
    /// The release.
    pub statistics: StatisticsPlan,
    /// Noise treatment of the posterior.
    #[serde(rename = "reading")]
    pub noise_treatment: NoiseTreatment,
}

/// Maximum number of columns.
const MAX: usize = 12;

const WHAT: &str = "sums of numbers and their products";

fn check(columns: usize, prior: WishartPrior, records: usize) -> Result<(), PlanError> {
    let proper = prior.strength > 0.0 && prior.scale > 0.0 && prior.freedom > columns as f64 - 1.0;
    if (1..=MAX).contains(&columns) && records >= columns + 2 && proper {
        return Ok(());
    }
    let fault =
        "covariances need 1 to 12 columns, at least two records more than columns, and a proper prior";
    Err(PlanError::Invalid { what: WHAT.into(), fault })
}

/// Number of sums, and their sensitivity.
fn shape(columns: usize) -> (usize, Sensitivity) {
    let d = columns as f64;
    let sensitivity = Sensitivity { l1: 1.125 * d + 0.5 * d * (d - 1.0), l2: d, non_negative: false };
    (columns * (columns + 3) / 2, sensitivity)
}

/// The largest squared norm of the numbers and a constant, if their outer product is released with Gaussian noise.
fn square(columns: usize) -> Option<f64> {
    (columns > 1).then_some(columns as f64 + CONSTANT)
}

impl MultivariatePlan {
    /// A plan for this many columns.
    ///
    /// # Errors
    /// [`PlanError::Invalid`] if there are too many columns, or too few records for them; add/remove adjacency; those of the accountant.
    pub fn new(
        columns: usize,
        prior: WishartPrior,
        records: usize,
        privacy: &Privacy,
    ) -> Result<Self, PlanError> {
        needs_the_number_of_records(WHAT, privacy)?;
        check(columns, prior, records)?;
        let (width, sensitivity) = shape(columns);
        let statistics = match square(columns) {
            Some(square) => {
                StatisticsPlan::of_outer_products(WHAT, (records, width), (sensitivity, square), privacy)?
            }
            None => StatisticsPlan::new(WHAT, records, width, sensitivity, privacy)?,
        };
        Ok(Self { columns, prior, statistics, noise_treatment: NoiseTreatment::NoiseAware })
    }

    /// The scale and the offset of the released product of a pair.
    pub(super) fn scaling(&self, (i, j): (usize, usize)) -> (f64, f64) {
        let laplace = self.statistics.laplace;
        if self.outer() {
            return (if j == self.columns { CONSTANT.sqrt() } else { 1.0 }, 0.0);
        }
        match j {
            _ if j == self.columns => (1.0, 0.0),
            _ if j == i => (1.0, if laplace { 0.875 } else { 1.0 }),
            _ => (if laplace { 1.0 } else { SQRT_2 }, 0.0),
        }
    }

    pub(crate) fn query(&self) -> impl Query {
        let scaled = pairs(self.columns).into_iter().map(|pair| (pair, self.scaling(pair)));
        Products { columns: self.columns, scaled: scaled.collect(), outer: self.outer() }
    }

    /// Whether the release is a sum of outer products.
    fn outer(&self) -> bool {
        !self.statistics.laplace && self.statistics.outer.is_some()
    }

    /// The posterior from the released values.
    #[must_use]
    pub fn posterior(&self, released: &[f64], noise: NoiseDistribution, seed: u64) -> MultivariatePosterior {
        let n = self.statistics.records as f64;
        let sum = |(&y, pair): (&f64, (usize, usize))| {
            let (weight, centre) = self.scaling(pair);
            // The noise of off-diagonal elements of outer products has half the variance.
            let sd = if self.outer() && pair.0 != pair.1 { FRAC_1_SQRT_2 * noise.sd() } else { noise.sd() };
            ((y + n * centre) / weight, sd / weight)
        };
        let (sums, sds) = released.iter().zip(pairs(self.columns)).map(sum).unzip();
        let noisy = Noisy { sums, sds, laplace: matches!(noise, NoiseDistribution::Laplace { .. }) };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let chain = Chain::new(self.columns, self.prior, n, noisy);
        let known = noise == NoiseDistribution::None || self.noise_treatment == NoiseTreatment::Naive;
        let draws = if known { chain.conjugate_draws(&mut rng) } else { chain.sample(&mut rng) };
        let posterior = MultivariatePosterior::new(self.columns, n + self.prior.strength, &draws);
        if known { posterior.without_noise() } else { posterior }
    }
}

impl ConjugatePlan for MultivariatePlan {
    type Posterior = MultivariatePosterior;

    fn statistics(&self) -> &StatisticsPlan {
        &self.statistics
    }

    fn validate(&self) -> Result<(), FieldError> {
        let WishartPrior { strength, freedom, scale } = self.prior;
        field::integer("columns", self.columns as u64, 1..=MAX as u64)?;
        field::number("prior.strength", strength, field::PRIOR)?;
        field::number("prior.freedom", freedom, self.columns as f64 - 1.0 + 1e-3..=1e6)?;
        field::number("prior.scale", scale, field::PRIOR)?;
        field::replace_one(self.statistics.adjacency)?;
        let enough = self.columns as u64 + 2..=*field::RECORDS.end();
        field::integer("statistics.records", self.statistics.records as u64, enough)?;
        let (width, sensitivity) = shape(self.columns);
        self.statistics.validate_outer(WHAT, width, (sensitivity, square(self.columns)))
    }

    fn fit_through(&self, wall: &mut Wall) -> Result<Self::Posterior, WallError> {
        let (released, noise) = self.statistics.release(&self.query(), wall)?;
        Ok(self.posterior(&released.values, noise, 0))
    }
}

impl Single for MultivariatePlan {
    const MODEL: &'static str = "multivariate-normal";

    /// A thousand draws of all means and covariances, from a chain of 4400 sweeps, each with a factorisation of the
    /// covariance of all sums.
    fn posterior_estimate(&self) -> Estimate {
        let (d, pairs) = (self.columns as f64, self.statistics.width as f64);
        let slices = pairs * 15.0 * (d.powi(3) + 15.0 * pairs);
        let factors = pairs.powi(3) + 30.0 * pairs.powi(2);
        Estimate::new(
            1000.0 * d * (d + 1.0) + 6.0 * pairs * pairs,
            4400.0 * (slices + factors),
            1000.0 * d * (d + 1.0),
        )
    }
    fn inputs(&self) -> usize {
        self.columns
    }
    fn posterior(&self, wall: &mut Wall) -> Result<Box<dyn Posterior>, WallError> {
        let posterior = self.fit_through(wall)?;
        Ok(Box::new(posterior))
    }
}
