//! Exact binomial bounds, and the lower bounds on epsilon and mu that follow.

use std::f64::consts::SQRT_2;

/// Steps of a bisection of the unit interval: more than a double has digits.
const BISECTIONS: usize = 80;

/// How often an event happened in the games of each of two neighbouring data sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Games on the first data set in which the event happened.
    pub hits: u64,
    /// Games on the first data set.
    pub games: u64,
    /// Games on the second data set in which the event happened.
    pub false_hits: u64,
    /// Games on the second data set.
    pub other_games: u64,
}

impl Counts {
    /// A lower bound of the event's probability on the first data set and an upper bound of that on the second; one of both is wrong
    /// with probability at most `alpha` (Clopper and Pearson 1934).
    #[must_use]
    pub fn rates(&self, alpha: f64) -> (f64, f64) {
        (
            lower_limit(self.hits, self.games, alpha / 2.0),
            upper_limit(self.false_hits, self.other_games, alpha / 2.0),
        )
    }

    /// The largest epsilon that is refuted at this delta with an error probability of at most `alpha`: by the event, and by its
    /// complement with the data sets exchanged. Both follow from the same two rates.
    #[must_use]
    pub fn epsilon(&self, delta: f64, alpha: f64) -> f64 {
        let (hit, miss) = self.rates(alpha);
        let ratio = |a: f64, b: f64| if a > delta { ((a - delta) / b).ln() } else { 0.0 };
        ratio(hit, miss).max(ratio(1.0 - miss, 1.0 - hit)).max(0.0)
    }

    /// The largest parameter mu of Gaussian differential privacy that is refuted with an error probability of at most `alpha`.
    ///
    /// # Citation
    /// Dong, Roth, Su, "Gaussian differential privacy", JRSS-B 2022: a test of size a has a power of at most Phi(Phi^-1(a) + mu).
    #[must_use]
    pub fn mu(&self, alpha: f64) -> f64 {
        let (hit, miss) = self.rates(alpha);
        if hit <= 0.0 || miss >= 1.0 {
            return 0.0;
        }
        (normal_quantile(hit) - normal_quantile(miss)).max(0.0)
    }
}

/// The probability of each number of successes from `k` down to 0 (or up to n), from one term by ratios.
fn tail(n: u64, k: u64, p: f64, upwards: bool) -> f64 {
    let (n, mut i) = (n as f64, k as f64);
    let ln_choose = libm::lgamma(n + 1.0) - libm::lgamma(i + 1.0) - libm::lgamma(n - i + 1.0);
    let mut term = (ln_choose + i * p.ln() + (n - i) * (-p).ln_1p()).exp();
    let mut sum = 0.0;
    let odds = p / (1.0 - p);
    while term > sum * 1e-17 {
        sum += term;
        if upwards {
            if i >= n {
                break;
            }
            term *= (n - i) / (i + 1.0) * odds;
            i += 1.0;
        } else {
            if i <= 0.0 {
                break;
            }
            term *= i / (n - i + 1.0) / odds;
            i -= 1.0;
        }
    }
    sum.min(1.0)
}

/// The probability of at least `k` successes in `n` trials of probability `p`.
#[must_use]
pub fn at_least(n: u64, k: u64, p: f64) -> f64 {
    if k == 0 || p >= 1.0 {
        return 1.0;
    }
    if k > n || p <= 0.0 {
        return 0.0;
    }
    // Terms fall away from the mean, so that the sum starts with its largest.
    if k as f64 > n as f64 * p { tail(n, k, p, true) } else { 1.0 - tail(n, k - 1, p, false) }
}

/// The probability of at most `k` successes.
#[must_use]
pub fn at_most(n: u64, k: u64, p: f64) -> f64 {
    at_least(n, n.saturating_sub(k), 1.0 - p)
}

/// The probability of exactly `k` successes.
#[must_use]
pub fn exactly(n: u64, k: u64, p: f64) -> f64 {
    if k > n {
        return 0.0;
    }
    let (n, k) = (n as f64, k as f64);
    let power = |x: f64, times: f64| if times == 0.0 { 0.0 } else { times * x.ln() };
    let ln_choose = libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    (ln_choose + power(p, k) + power(1.0 - p, n - k)).exp()
}

/// The lower Clopper-Pearson limit: the largest p with P(at least `hits`) <= `alpha`.
#[must_use]
pub fn lower_limit(hits: u64, trials: u64, alpha: f64) -> f64 {
    if hits == 0 {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        *(if at_least(trials, hits, middle) <= alpha { &mut low } else { &mut high }) = middle;
    }
    low
}

/// The upper Clopper-Pearson limit: the smallest p with P(at most `hits`) <= `alpha`.
#[must_use]
pub fn upper_limit(hits: u64, trials: u64, alpha: f64) -> f64 {
    1.0 - lower_limit(trials - hits, trials, alpha)
}

/// The standard normal distribution function.
#[must_use]
pub fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / SQRT_2)
}

/// The standard normal quantile, by bisection.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        *(if normal_cdf(middle) <= p { &mut low } else { &mut high }) = middle;
    }
    low
}

/// Mean and variance; (0, 0) of less than two numbers.
#[must_use]
pub fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    if n < 2.0 {
        return (0.0, 0.0);
    }
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

/// The separation of two sets of normal scores: the difference of their means over their common deviation, and the standard error of that.
///
/// The error is that of the difference, 1/n + 1/m, and that of the deviation, mu^2 / (2 (n + m - 2)).
#[must_use]
pub fn separation(first: &[f64], second: &[f64]) -> (f64, f64) {
    let (n, m) = (first.len() as f64, second.len() as f64);
    let ((mean, variance), (other_mean, other_variance)) = (moments(first), moments(second));
    let freedom = n + m - 2.0;
    let pooled = ((n - 1.0) * variance + (m - 1.0) * other_variance) / freedom;
    let mu = (mean - other_mean) / pooled.sqrt();
    (mu, (1.0 / n + 1.0 / m + mu * mu / (2.0 * freedom)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, relative: f64) -> bool {
        (a - b).abs() <= relative * b.abs().max(1e-300)
    }

    /// Tails against sums of products of integers, which are exact up to rounding.
    #[test]
    fn binomial_tails_are_sums_of_their_terms() {
        for (n, p) in [(1u64, 0.3f64), (7, 0.01), (30, 0.5), (50, 0.93)] {
            let mut choose = 1.0;
            let terms: Vec<f64> = (0..=n)
                .map(|k| {
                    let term = choose * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32);
                    choose = choose * (n - k) as f64 / (k + 1) as f64;
                    term
                })
                .collect();
            for k in 0..=n {
                let upper: f64 = terms[k as usize..].iter().sum();
                let lower: f64 = terms[..=k as usize].iter().sum();
                assert!(close(at_least(n, k, p), upper, 1e-10), "{n} {k} {p}");
                assert!(close(at_most(n, k, p), lower, 1e-10), "{n} {k} {p}");
                assert!(close(exactly(n, k, p), terms[k as usize], 1e-10), "{n} {k} {p}");
            }
        }
    }

    /// No success in n trials: (1 - p)^n = alpha. All of them: p^n = alpha. One of n: n p (1 - p)^(n-1) + (1 - p)^n = alpha.
    #[test]
    fn limits_have_their_closed_forms() {
        for (n, alpha) in [(10, 0.05f64), (1000, 1e-9), (20_000, 1e-12)] {
            let root = alpha.powf(1.0 / n as f64);
            assert!(close(upper_limit(0, n, alpha), 1.0 - root, 1e-9));
            assert!(close(lower_limit(n, n, alpha), root, 1e-9));
            let p = upper_limit(1, n, alpha);
            let tail = n as f64 * p * (1.0 - p).powi(n as i32 - 1) + (1.0 - p).powi(n as i32);
            assert!(close(tail, alpha, 1e-6), "{n} {alpha}: {tail}");
        }
        assert_eq!((lower_limit(0, 5, 0.05), upper_limit(5, 5, 0.05)), (0.0, 1.0));
    }

    /// Quantiles that every table has.
    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        for (p, x) in [(0.5, 0.0), (0.975, 1.959_963_984_540_054), (1e-9, -5.997_807_015_007_687)] {
            assert!((normal_quantile(p) - x).abs() < 1e-9, "{p}");
        }
    }

    /// With rates of 0.8 and 0.2 in so many games that the limits are near them, epsilon is ln 4 and mu twice the quantile of 0.8;
    /// a delta of 0.1 leaves ln 3.5.
    #[test]
    fn bounds_tend_to_what_rates_state() {
        let many = 100_000_000;
        let counts = Counts { hits: many / 5 * 4, games: many, false_hits: many / 5, other_games: many };
        let (epsilon, mu) = (counts.epsilon(0.0, 1e-9), counts.mu(1e-9));
        assert!(epsilon < 4f64.ln() && close(epsilon, 4f64.ln(), 2e-3), "{epsilon}");
        assert!(close(mu, 2.0 * normal_quantile(0.8), 2e-3), "{mu}");
        assert!(close(counts.epsilon(0.1, 1e-9), 3.5f64.ln(), 2e-3));
        // Ten games refute nothing.
        let few = Counts { hits: 10, games: 10, false_hits: 0, other_games: 10 };
        assert_eq!(few.epsilon(0.0, 1e-9), 0.0);
        assert_eq!(few.mu(1e-9), 0.0);
    }

    /// The complement of an event refutes as much: all of 1000 games without it, where half of the others have it.
    #[test]
    fn an_event_that_never_happens_counts_too() {
        let counts = Counts { hits: 1000, games: 1000, false_hits: 500, other_games: 1000 };
        let (hit, miss) = counts.rates(1e-6);
        assert!(close(counts.epsilon(0.0, 1e-6), ((1.0 - miss) / (1.0 - hit)).ln(), 1e-12));
        assert!(counts.epsilon(0.0, 1e-6) > (hit / miss).ln());
    }
}
