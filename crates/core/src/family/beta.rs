//! Beta densities, complete and truncated.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// A beta density of a probability, $\propto p^{a-1}(1-p)^{b-1}$.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Beta {
    /// Shape $a$, the prior count of successes.
    pub a: f64,
    /// Shape $b$, the prior count of failures.
    pub b: f64,
}

/// Maximum number of terms of the continued fraction; about $\sqrt{\max(a, b)}$ are needed.
const LEVELS: u32 = 100_000;
/// Bisection steps on the unit interval: accuracy 3e-14.
const HALVINGS: u32 = 45;

impl Beta {
    /// The mean.
    #[must_use]
    pub fn mean(self) -> f64 {
        self.a / (self.a + self.b)
    }

    /// The variance.
    #[must_use]
    pub fn variance(self) -> f64 {
        let total = self.a + self.b;
        self.a * self.b / (total * total * (total + 1.0))
    }

    /// The logarithm of the density.
    #[must_use]
    pub fn log_density(self, p: f64) -> f64 {
        (self.a - 1.0) * p.ln() + (self.b - 1.0) * (-p).ln_1p() - self.log_beta()
    }

    /// $\log B(a, b)$.
    #[must_use]
    pub fn log_beta(self) -> f64 {
        libm::lgamma(self.a) + libm::lgamma(self.b) - libm::lgamma(self.a + self.b)
    }

    /// The probability below $p$: the regularised incomplete beta function, by its continued fraction on the side of
    /// the mean where it converges fast.
    ///
    /// # Citation
    /// DiDonato, Morris, "Significant digit computation of the incomplete beta function ratios", ACM TOMS 18, 1992.
    #[must_use]
    pub fn cdf(self, p: f64) -> f64 {
        if p <= 0.0 {
            return 0.0;
        }
        if p >= 1.0 {
            return 1.0;
        }
        if p > (self.a + 1.0) / (self.a + self.b + 2.0) {
            return 1.0 - Self { a: self.b, b: self.a }.lower(1.0 - p);
        }
        self.lower(p)
    }

    fn lower(self, p: f64) -> f64 {
        let Self { a, b } = self;
        let front = a * p.ln() + b * (-p).ln_1p() - self.log_beta();
        // Modified Lentz: no denominator may be 0.
        let non_zero = |x: f64| if x.abs() < 1e-300 { 1e-300 } else { x };
        let mut d = 1.0 / non_zero(1.0 - (a + b) * p / (a + 1.0));
        let (mut c, mut fraction) = (1.0, d);
        for level in 1..LEVELS {
            let m = f64::from(level);
            let even = m * (b - m) * p / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
            let odd = -(a + m) * (a + b + m) * p / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
            let mut change = 1.0;
            for term in [even, odd] {
                d = 1.0 / non_zero(1.0 + term * d);
                c = non_zero(1.0 + term / c);
                change = c * d;
                fraction *= change;
            }
            if (change - 1.0).abs() < 1e-15 {
                break;
            }
        }
        (front.exp() * fraction / a).clamp(0.0, 1.0)
    }

    /// The quantile of this probability, by bisection.
    #[must_use]
    pub fn quantile(self, probability: f64) -> f64 {
        bisect(|p| self.cdf(p), probability, (0.0, 1.0))
    }

    /// A draw from the density truncated to `low..high`, by inversion, and the probability of that interval.
    ///
    /// Where that probability is negligible, inversion loses all digits, and the density over a fine grid is inverted
    /// instead.
    pub fn draw_between(self, low: f64, high: f64, rng: &mut impl Rng) -> (f64, f64) {
        let u: f64 = rng.random();
        // Computed in the tail that contains the interval, so that the difference keeps its digits.
        let mirrored = 0.5 * (low + high) > self.mean();
        let (density, from, to) =
            if mirrored { (Self { a: self.b, b: self.a }, 1.0 - high, 1.0 - low) } else { (self, low, high) };
        let (below, above) = (density.cdf(from), density.cdf(to));
        let left = above - below;
        let p = if left > 1e-12 * above && left > 1e-290 {
            bisect(|p| density.cdf(p), below + u * left, (from, to))
        } else {
            density.draw_on_grid(from, to, u)
        };
        (if mirrored { 1.0 - p } else { p }, left)
    }

    fn draw_on_grid(self, low: f64, high: f64, u: f64) -> f64 {
        const CELLS: u32 = 1 << 14;
        let at = |cell: u32| low + (high - low) * (f64::from(cell) + 0.5) / f64::from(CELLS);
        let logs: Vec<f64> = (0..CELLS).map(|cell| self.log_density(at(cell))).collect();
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - top).exp()).collect();
        let mut rest = u * weights.iter().sum::<f64>();
        let found = weights.iter().position(|weight| {
            rest -= weight;
            rest <= 0.0
        });
        at(found.map_or(CELLS - 1, |cell| cell as u32))
    }
}

/// The argument at which an increasing function attains a value, by bisection.
pub(crate) fn bisect(f: impl Fn(f64) -> f64, value: f64, (mut low, mut high): (f64, f64)) -> f64 {
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if f(middle) < value { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    /// For integers $a$ and $b$ it is a binomial tail: $I_p(a, b) = P(X \ge a)$ for $X$ of $a + b - 1$ trials.
    #[test]
    fn the_distribution_function_is_a_binomial_tail() {
        for (a, b) in [(1u32, 1u32), (2, 5), (30, 70), (3, 400)] {
            for p in [0.01_f64, 0.2, 0.3, 0.5, 0.95] {
                let n = a + b - 1;
                let log_choose = |k: u32| {
                    libm::lgamma(f64::from(n + 1))
                        - libm::lgamma(f64::from(k + 1))
                        - libm::lgamma(f64::from(n - k + 1))
                };
                let tail: f64 = (a..=n)
                    .map(|k| (log_choose(k) + f64::from(k) * p.ln() + f64::from(n - k) * (-p).ln_1p()).exp())
                    .sum();
                let found = Beta { a: f64::from(a), b: f64::from(b) }.cdf(p);
                assert!((found - tail).abs() < 1e-12, "{a} {b} {p}: {found} {tail}");
            }
        }
        let half = Beta { a: 3e5, b: 3e5 };
        assert!((half.cdf(0.5) - 0.5).abs() < 1e-9, "{}", half.cdf(0.5));
        let beta = Beta { a: 0.4, b: 2.5 };
        assert!((beta.cdf(beta.quantile(0.975)) - 0.975).abs() < 1e-12);
    }

    /// Draws from a truncated density stay inside and have its distribution function: by Kolmogorov, the distance
    /// exceeds 1.95 over the root of the number of draws with probability 1e-3.
    #[test]
    fn truncated_draws_stay_inside_and_have_their_distribution() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (beta, low, high) in [
            (Beta { a: 3.0, b: 9.0 }, 0.2, 0.8),
            (Beta { a: 50.0, b: 50.0 }, 0.7, 0.9),
            (Beta { a: 0.5, b: 0.5 }, 0.1, 0.3),
        ] {
            let n = 4000;
            let mut draws: Vec<f64> = (0..n).map(|_| beta.draw_between(low, high, &mut rng).0).collect();
            draws.sort_by(f64::total_cmp);
            assert!(draws[0] >= low && draws[n - 1] <= high);
            let (from, to) = (beta.cdf(low), beta.cdf(high));
            let gap = draws.iter().enumerate().fold(0.0_f64, |gap, (k, &p)| {
                gap.max(((beta.cdf(p) - from) / (to - from) - (k as f64 + 0.5) / n as f64).abs())
            });
            assert!(gap < 1.95 / (n as f64).sqrt(), "{beta:?} {gap}");
        }
        // Far in the tail, all of the mass is at the near end.
        let (p, _) = Beta { a: 1.0, b: 1e6 }.draw_between(0.5, 0.9, &mut rng);
        assert!((0.5..0.5001).contains(&p), "{p}");
    }
}
