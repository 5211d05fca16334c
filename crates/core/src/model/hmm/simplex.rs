//! Category probabilities, given noisy totals.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Gamma, StandardNormal};

/// Sweeps over pairs of categories. Each starts at the mode, and pairwise moves mix fast: the noise is isotropic.
const SWEEPS: usize = 4;

/// Draws from $\mathrm{Dirichlet}(\beta + m)$.
pub(super) fn dirichlet(rng: &mut impl Rng, beta: f64, counts: &[f64], shares: &mut [f64]) {
    for (share, count) in shares.iter_mut().zip(counts) {
        *share = Gamma::new(beta + count, 1.0).map_or(0.0, |gamma| gamma.sample(rng));
    }
    // A probability of 0 would rule out unobserved categories for ever.
    let total: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share = (*share / total).max(1e-12));
}

/// Draws true totals $m \ge 0$ with $\sum m = M$, given noisy ones $y = m + N(0, v)$, with the shares integrated out:
/// $$p(m|y) \propto \prod_j \frac{\Gamma(m_j + \beta)}{\Gamma(m_j + 1)} e^{-(y_j - m_j)^2/2v}.$$
/// For $\beta = 1$ the first factor is 1: all ways to divide $M$ are equally likely before the data.
///
/// `sums` holds the noisy totals on entry, and the true ones on return.
pub(super) fn draw_totals(rng: &mut impl Rng, beta: f64, variance: f64, total: f64, sums: &mut [f64]) {
    let noisy = sums.to_vec();
    project(&noisy, total, sums);
    let levels = noisy.len();
    if levels < 2 || variance == 0.0 {
        return;
    }
    let sd = (0.5 * variance).sqrt();
    let log_prior = |m: f64| {
        if beta == 1.0 { 0.0 } else { libm::lgamma(m + beta) - libm::lgamma(m + 1.0) }
    };
    for _ in 0..SWEEPS * levels {
        let i = rng.random_range(0..levels);
        let j = (i + rng.random_range(1..levels)) % levels;
        let both = sums[i] + sums[j];
        let centre = 0.5 * (noisy[i] - noisy[j] + both);
        let proposed = centre + sd * truncated_normal(rng, -centre / sd, (both - centre) / sd);
        let proposed = proposed.clamp(0.0, both);
        let gain = log_prior(proposed) + log_prior(both - proposed) - log_prior(sums[i]) - log_prior(sums[j]);
        if gain >= 0.0 || rng.random::<f64>() < gain.exp() {
            (sums[i], sums[j]) = (proposed, both - proposed);
        }
    }
}

/// The nearest point with coordinates of at least 0 and this sum.
fn project(noisy: &[f64], total: f64, out: &mut [f64]) {
    let mut sorted = noisy.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (k, y) in sorted.iter().enumerate() {
        sum += y;
        let candidate = (sum - total) / (k + 1) as f64;
        if *y > candidate {
            shift = candidate;
        }
    }
    out.iter_mut().zip(noisy).for_each(|(m, y)| *m = (y - shift).max(0.0));
}

/// A truncated standard normal, by rejection.
fn truncated_normal(rng: &mut impl Rng, low: f64, high: f64) -> f64 {
    if low > high {
        return 0.5 * (low + high);
    }
    if high < 0.0 {
        return -truncated_normal(rng, -high, -low);
    }
    // From the uniform distribution in a short interval, otherwise from the normal about 0 and from an exponential in
    // a tail.
    let nearest = low.max(0.0);
    if high - low < 2.0 && (low <= 0.0 || low * (high - low) < 2.0) {
        loop {
            let x = low + (high - low) * rng.random::<f64>();
            if rng.random::<f64>() < (0.5 * (nearest * nearest - x * x)).exp() {
                return x;
            }
        }
    }
    loop {
        if low < 0.5 {
            let x: f64 = StandardNormal.sample(rng);
            if x >= low && x <= high {
                return x;
            }
        } else {
            // Robert (1995): the optimal rate without an upper bound.
            let rate = 0.5 * (low + (low * low + 4.0).sqrt());
            let x = low - (1.0 - rng.random::<f64>()).ln() / rate;
            if x <= high && rng.random::<f64>() < (-0.5 * (x - rate).powi(2)).exp() {
                return x;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    /// In a tail the mean is $\phi(a)/Q(a)$; between bounds, $(\phi(a) - \phi(b))/(\Phi(b) - \Phi(a))$.
    #[test]
    fn truncated_normals_have_their_mean() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let phi = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        let above = |x: f64| 0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2);
        for (low, high) in
            [(-1.0, 0.5), (-9.0, 0.3), (0.2, 0.9), (3.0, 30.0), (5.0, 5.1), (-40.0, -4.0), (0.4, 9.0)]
        {
            let draws: Vec<f64> = (0..20_000).map(|_| truncated_normal(&mut rng, low, high)).collect();
            assert!(draws.iter().all(|x| (low..=high).contains(x)));
            let mean = draws.iter().sum::<f64>() / 20_000.0;
            let expected = (phi(low) - phi(high)) / (above(low) - above(high));
            // Five standard errors of at most that of a standard normal.
            assert!((mean - expected).abs() < 5.0 / 20_000f64.sqrt(), "{low} {high}: {mean} {expected}");
        }
    }

    /// Against a sum over a fine grid of the simplex of three categories.
    #[test]
    fn true_sums_have_their_distribution() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let (noisy, total, variance) = ([9.0, -4.0, 3.0], 10.0, 16.0);
        for beta in [1.0, 0.5, 2.0] {
            let log_prior = |m: f64| libm::lgamma(m + beta) - libm::lgamma(m + 1.0);
            let (mut mass, mut expected, steps) = (0.0, [0.0; 3], 400);
            for i in 0..steps {
                for j in 0..steps - i {
                    let [a, b] = [i, j].map(|k| (f64::from(k) + 1.0 / 3.0) * total / f64::from(steps));
                    let m = [a, b, total - a - b];
                    let log: f64 = m
                        .iter()
                        .zip(noisy)
                        .map(|(m, y)| log_prior(*m) - 0.5 * (y - m).powi(2) / variance)
                        .sum();
                    mass += log.exp();
                    expected.iter_mut().zip(m).for_each(|(sum, m)| *sum += m * log.exp());
                }
            }
            let (mut means, draws) = ([0.0; 3], 20_000);
            for _ in 0..draws {
                let mut sums = noisy;
                draw_totals(&mut rng, beta, variance, total, &mut sums);
                assert!((sums.iter().sum::<f64>() - total).abs() < 1e-9 && sums.iter().all(|m| *m >= 0.0));
                means.iter_mut().zip(sums).for_each(|(mean, m)| *mean += m / f64::from(draws));
            }
            // A few sweeps from the mode are slightly biased towards it: a hundredth of the total is allowed.
            for (mean, expected) in means.iter().zip(expected) {
                assert!(
                    (mean - expected / mass).abs() < 0.01 * total,
                    "{beta}: {means:?} {:?}",
                    expected / mass
                );
            }
        }
    }
}
