//! Draws of the mean and the variance of a column, given noisy sums.

use crate::engine::conjugate::{NoiseDistribution, slice};
use crate::model::conjugate::normal_moments;
use crate::model::normal::plan::{BOUNDS, NormalPrior};
use rand::Rng;

/// Burn-in, number of draws, and thinning.
pub(super) const CHAIN: (usize, usize, usize) = (500, 1000, 3);

/// Bounds of the mean and of the logarithm of the variance in the chain.
const MEANS: (f64, f64) = (-50.0, 50.0);

const LOG_VARIANCES: (f64, f64) = (-20.0, 10.0);

/// A chain over mean and variance, given noisy sums.
///
/// The true sums are integrated out: by the central limit theorem they are normal about $N(m_1, m_2)$ with covariance $NV$, where the
/// moments are those of clipped numbers. Gaussian noise adds its variance. Laplace noise of scale $b$ is Gaussian noise of a
/// variance $\lambda$ that is exponential of mean $2b^2$, and the chain is over that too.
pub(super) struct Chain {
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
    pub(super) fn new(
        prior: NormalPrior,
        records: f64,
        noisy: [f64; 2],
        noise: NoiseDistribution,
        start: NormalPrior,
    ) -> Self {
        let (laplace, noise_variance) =
            (matches!(noise, NoiseDistribution::Laplace { .. }), noise.sd().powi(2));
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

    pub(super) fn sample(&self, rng: &mut impl Rng) -> Vec<(f64, f64)> {
        let (before, draws, each) = CHAIN;
        let log_noise = self.noise_variance.ln();
        let variance = (self.start.scale / self.start.shape).max(1e-6);
        let mut state = [self.start.mean, variance.ln(), log_noise, log_noise];
        let mut found = Vec::with_capacity(draws);
        // About as wide as the posterior, from records and noise.
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
