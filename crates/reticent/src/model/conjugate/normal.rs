//! Means and variances of bounded numbers.

use super::clipped::normal_moments;
use super::needs_the_number_of_records;
use crate::budget::{Ledger, Privacy};
use crate::engine::conjugate::{Law, Reading, Sensitivity, StatisticsPlan, slice};
use crate::field::{self, FieldError};
use crate::receipt::Receipt;
use crate::wall::{NoiseSource, PlanError, Query, Records, WallError};
use rand::rngs::ChaCha8Rng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, Gamma, StandardNormal};
use serde::{Deserialize, Serialize};

/// A normal-inverse-gamma prior: $\sigma^2 \sim \mathrm{IG}(a, b)$ and $\mu \sim N(m, \sigma^2/\kappa)$.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct NormalPrior {
    /// $m$.
    pub mean: f64,
    /// $\kappa$.
    pub strength: f64,
    /// $a$.
    pub shape: f64,
    /// $b$.
    pub scale: f64,
}

/// Columns of normal numbers that are recorded within $[-1, 1]$, each with a mean and a variance of its own.
///
/// # Privacy
/// A column's statistics are $(x, x^2 - c)$. With $c = 7/8$ their absolute values sum to at most $9/8$ (at $|x| = 1$ and
/// $\tfrac12$), so two records differ by at most $9/4$; with $c = 1$ their norm is at most 1, since $x^2 + (1 - x^2)^2 \le 1$.
/// Both are the true sensitivities. Attacked by `released_statistics_move_no_farther_than_planned`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NormalPlan {
    /// Of each column.
    pub prior: NormalPrior,
    /// The release: for each column the sum of numbers and that of their squares.
    pub statistics: StatisticsPlan,
    /// What is made of it.
    pub reading: Reading,
}

/// What numbers are clipped to.
const BOUNDS: (f64, f64) = (-1.0, 1.0);
/// Steps before the first draw, draws, and steps for each.
const CHAIN: (usize, usize, usize) = (500, 1000, 3);
/// Bounds of the mean and of the logarithm of the variance in the chain.
const MEANS: (f64, f64) = (-50.0, 50.0);
const LOG_VARIANCES: (f64, f64) = (-20.0, 10.0);

const WHAT: &str = "sums of numbers and squares";

fn sensitivity(columns: usize) -> Sensitivity {
    let d = columns as f64;
    Sensitivity { l1: 1.125 * d, l2: d.sqrt(), non_negative: false }
}

impl NormalPlan {
    /// For so many columns.
    ///
    /// # Errors
    /// Add/remove adjacency, and what the accountant refuses.
    pub fn new(
        columns: usize,
        prior: NormalPrior,
        records: usize,
        privacy: &Privacy,
    ) -> Result<Self, PlanError> {
        needs_the_number_of_records(WHAT, privacy)?;
        let statistics = StatisticsPlan::new(WHAT, records, 2 * columns, sensitivity(columns), privacy)?;
        Ok(Self { prior, statistics, reading: Reading::NoiseAware })
    }

    /// Whether every field is in its range, and agrees with the others.
    ///
    /// # Errors
    /// [`FieldError`].
    pub fn validate(&self) -> Result<(), FieldError> {
        let NormalPrior { mean, strength, shape, scale } = self.prior;
        field::number("prior.mean", mean, -10.0..=10.0)?;
        field::number("prior.strength", strength, field::PRIOR)?;
        field::number("prior.shape", shape, 1e-3..=1e6)?;
        field::number("prior.scale", scale, field::PRIOR)?;
        field::replace_one(self.statistics.adjacency)?;
        let columns = self.statistics.width / 2;
        self.statistics.validate(WHAT, 2 * columns, sensitivity(columns))
    }

    /// What is taken from squares.
    fn centre(&self) -> f64 {
        if self.statistics.laplace { 0.875 } else { 1.0 }
    }

    pub(super) fn query(&self) -> impl Query {
        Squares { width: self.statistics.width, centre: self.centre() }
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
    ) -> Result<(Vec<NormalColumn>, Receipt), WallError> {
        self.validate().map_err(PlanError::from)?;
        let (released, law, receipt) =
            self.statistics.release(&self.query(), records, source, privacy, ledger)?;
        let n = self.statistics.records as f64;
        let columns = released.values.chunks_exact(2).enumerate().map(|(d, sums)| {
            let sums = [sums[0], sums[1] + n * self.centre()];
            let mut rng = ChaCha8Rng::seed_from_u64(d as u64);
            self.column(sums, law, &mut rng)
        });
        Ok((columns.collect(), receipt))
    }

    /// The posterior of a column from noisy sums of numbers and squares.
    pub fn column(&self, noisy: [f64; 2], law: Law, rng: &mut impl Rng) -> NormalColumn {
        let n = self.statistics.records as f64;
        let plain = self.conjugate(noisy);
        let strength = n + self.prior.strength;
        if law == Law::None || self.reading == Reading::Naive {
            let draws: Vec<(f64, f64)> = (0..CHAIN.1).map(|_| plain.draw(rng)).collect();
            return NormalColumn::new(&draws, draws.clone(), strength);
        }
        let draws = Chain::new(self.prior, n, noisy, law, plain).sample(rng);
        let recorded = |&(mean, variance): &(f64, f64)| {
            let [_, first, second, ..] = normal_moments(mean, variance.sqrt(), BOUNDS);
            (first, (second - first * first).max(0.0))
        };
        NormalColumn::new(&draws, draws.iter().map(recorded).collect(), strength)
    }

    /// The normal-inverse-gamma posterior that takes sums for true ones, squares at least what sums make them.
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

    fn log_density(self, mean: f64, log_variance: f64) -> f64 {
        // Of the mean and the logarithm of the variance, which has the factor of the variance.
        let precision = (-log_variance).exp();
        let gap = mean - self.mean;
        -(self.shape + 0.5) * log_variance - precision * (self.scale + 0.5 * self.strength * gap * gap)
    }
}

/// A chain over mean and variance, given noisy sums.
///
/// The true sums are integrated out: by the central limit theorem they are normal about $N(m_1, m_2)$ with covariance $NV$, where the
/// moments are those of clipped numbers. Gaussian noise adds its variance. Laplace noise of scale $b$ is Gaussian noise of a
/// variance $\lambda$ that is exponential of mean $2b^2$, and the chain is over that too.
struct Chain {
    prior: NormalPrior,
    records: f64,
    noisy: [f64; 2],
    /// The mean of the variance of the noise; fixed if it is Gaussian.
    noise_variance: f64,
    laplace: bool,
    start: NormalPrior,
}

/// Mean, log variance, and the logarithms of the two variances of the noise.
type State = [f64; 4];

impl Chain {
    fn new(prior: NormalPrior, records: f64, noisy: [f64; 2], law: Law, start: NormalPrior) -> Self {
        let (laplace, noise_variance) = (matches!(law, Law::Laplace { .. }), law.sd().powi(2));
        Self { prior, records, noisy, noise_variance, laplace, start }
    }

    fn log_density(&self, state: &State) -> f64 {
        let [mean, log_variance, noise @ ..] = *state;
        let moments = normal_moments(mean, (0.5 * log_variance).exp(), BOUNDS);
        let [_, m1, m2, m3, m4] = moments;
        let n = self.records;
        let variance = |second: f64, first: f64| n * (second - first * first).max(1e-12);
        let (a, b, c) =
            (variance(m2, m1) + noise[0].exp(), n * (m3 - m1 * m2), variance(m4, m2) + noise[1].exp());
        let (x, y) = (self.noisy[0] - n * m1, self.noisy[1] - n * m2);
        let determinant = (a * c - b * b).max(1e-12 * a * c);
        let distance = (c * x * x - 2.0 * b * x * y + a * y * y) / determinant;
        let scales = if self.laplace {
            noise.iter().map(|log| log - log.exp() / self.noise_variance).sum()
        } else {
            0.0
        };
        self.prior.log_density(mean, log_variance) - 0.5 * (determinant.ln() + distance) + scales
    }

    fn sample(&self, rng: &mut impl Rng) -> Vec<(f64, f64)> {
        let (before, draws, each) = CHAIN;
        let log_noise = self.noise_variance.ln();
        let variance = (self.start.scale / self.start.shape).max(1e-6);
        let mut state = [self.start.mean, variance.ln(), log_noise, log_noise];
        let mut found = Vec::with_capacity(draws);
        // About as wide as the posterior: what records and noise leave of each.
        let relative = (1.0 / self.records + self.noise_variance / (self.records * variance).powi(2)).sqrt();
        let widths = [
            3.0 * ((variance / self.records) + self.noise_variance / self.records.powi(2)).sqrt(),
            (5.0 * relative).clamp(0.01, 3.0),
            2.0,
            2.0,
        ];
        for step in 0..before + draws * each {
            for k in 0..if self.laplace { 4 } else { 2 } {
                let bounds = [
                    MEANS,
                    LOG_VARIANCES,
                    (log_noise - 40.0, log_noise + 10.0),
                    (log_noise - 40.0, log_noise + 10.0),
                ][k];
                let at = |x: f64| {
                    let mut state = state;
                    state[k] = x;
                    self.log_density(&state)
                };
                state[k] = slice(state[k], widths[k], bounds, at, rng);
            }
            if step >= before && (step - before) % each == 0 {
                found.push((state[0], state[1].exp()));
            }
        }
        found
    }
}

struct Squares {
    width: usize,
    centre: f64,
}

impl Query for Squares {
    fn width(&self) -> usize {
        self.width
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        for (out, x) in out.chunks_exact_mut(2).zip(record) {
            let x = x.clamp(BOUNDS.0, BOUNDS.1);
            out.copy_from_slice(&[x, x * x - self.centre]);
        }
    }
}

/// The posterior of a column: draws of the mean and the variance of the normal numbers, and of those of the column, which has what
/// is outside the bounds moved to the nearer one.
///
/// The two differ if numbers are clipped, and more so if they are skewed: the normal distribution whose clipped numbers have the
/// column's sums can have a mean far from the column's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NormalColumn {
    #[serde(rename = "latent_means")]
    means: Vec<f64>,
    #[serde(rename = "latent_variances")]
    variances: Vec<f64>,
    column_means: Vec<f64>,
    column_variances: Vec<f64>,
    /// Records and what the prior is worth.
    strength: f64,
}

impl NormalColumn {
    fn new(latent: &[(f64, f64)], column: Vec<(f64, f64)>, strength: f64) -> Self {
        let (means, variances) = latent.iter().copied().unzip();
        let (column_means, column_variances) = column.into_iter().unzip();
        Self { means, variances, column_means, column_variances, strength }
    }

    /// Whether its parts fit together, as they may not in a file that somebody changed.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let draws = self.means.len();
        let lengths = [&self.variances, &self.column_means, &self.column_variances].map(Vec::len);
        draws >= 2 && lengths.iter().all(|length| *length == draws)
    }

    /// Draws of the mean of the normal numbers, before they are moved into the bounds.
    #[must_use]
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Draws of their variance, at the same places.
    #[must_use]
    pub fn variances(&self) -> &[f64] {
        &self.variances
    }

    /// The mean of the column, within its bounds, and its variance: that which the records leave, and with what the privacy noise
    /// adds.
    #[must_use]
    pub fn mean(&self) -> (f64, f64, f64) {
        let n = self.column_means.len() as f64;
        let mean = self.column_means.iter().sum::<f64>() / n;
        let variance = self.column_means.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let records = self.column_variances.iter().sum::<f64>() / n / self.strength;
        (mean, records.min(variance), variance)
    }

    /// The logarithm of the density of a number, averaged over the draws.
    #[must_use]
    pub fn log_density(&self, x: f64) -> f64 {
        let densities = self.means.iter().zip(&self.variances).map(|(mean, variance)| {
            (-0.5 * (x - mean).powi(2) / variance).exp() / (std::f64::consts::TAU * variance).sqrt()
        });
        (densities.sum::<f64>() / self.means.len() as f64).max(f64::MIN_POSITIVE).ln()
    }
}
