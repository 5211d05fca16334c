//! The posterior of category counts, given noisy ones.

use super::{NoiseDistribution, slice};
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Gamma};
use serde::{Deserialize, Serialize};

/// Information about the total count.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Total {
    /// It is public.
    Known(f64),
    /// It is observed with a normal error.
    Observed {
        /// The observation.
        mean: f64,
        /// Standard deviation of the error.
        sd: f64,
    },
    /// There is no information but the noisy counts.
    Unknown,
}

/// Noisy counts of categories whose probabilities have a Dirichlet prior.
///
/// The probabilities are integrated out, which leaves $p(n|y) \propto p(N) \frac{N!}{\Gamma(A+N)}\prod_k \frac{\Gamma(a_k+n_k)}{n_k!} f(y_k - n_k)$,
/// with $A = \sum a_k$ and $N = \sum n_k$.
#[derive(Debug, Clone, Copy)]
pub struct NoisyCounts<'a> {
    /// Noisy counts $y$.
    pub noisy: &'a [f64],
    /// Distribution $f$ of the noise.
    pub noise: NoiseDistribution,
    /// Concentrations $a$ of the prior.
    pub concentration: &'a [f64],
    /// Information about $N$.
    pub total: Total,
}

impl NoisyCounts<'_> {
    /// The nearest possible counts: none below 0, and with the public total if there is one; rounded to integers if
    /// `integer`. The integers start the chain, and the naive posterior uses the unrounded counts.
    #[must_use]
    pub fn nearest(&self, integer: bool) -> Vec<f64> {
        let mut counts: Vec<f64> = self.noisy.iter().map(|y| y.max(0.0)).collect();
        if !integer {
            return counts;
        }
        counts.iter_mut().for_each(|n| *n = n.round());
        if let Total::Known(total) = self.total {
            let sum: f64 = counts.iter().sum();
            if sum > 0.0 {
                counts.iter_mut().for_each(|n| *n = (*n * total / sum).floor());
            }
            // The rounding error goes to the largest count.
            let rest = total - counts.iter().sum::<f64>();
            if let Some(largest) = counts.iter_mut().max_by(|a, b| a.total_cmp(b)) {
                *largest += rest;
            }
        }
        counts
    }

    /// Draws of the true counts, one after each sweep, from a chain that leaves their posterior invariant, after
    /// `burn_in` sweeps.
    pub fn sample(&self, burn_in: usize, draws: usize, rng: &mut impl Rng) -> Vec<Vec<f64>> {
        let mut found = Vec::with_capacity(draws);
        self.each_sample(burn_in, draws, rng, |counts, _| found.push(counts.to_vec()));
        found
    }

    /// As [`sample`](Self::sample), but passes each draw to a closure, so that draws need not be stored.
    pub fn each_sample<R: Rng>(
        &self,
        burn_in: usize,
        draws: usize,
        rng: &mut R,
        mut each: impl FnMut(&[f64], &mut R),
    ) {
        if self.noise == NoiseDistribution::None {
            return (0..draws).for_each(|_| each(self.noisy, rng));
        }
        let mut counts = self.nearest(true);
        let all = self.concentration.iter().sum();
        for sweep in 0..burn_in + draws {
            self.sweep(&mut counts, all, rng);
            if sweep >= burn_in {
                each(&counts, rng);
            }
        }
    }

    /// One Gibbs sweep: each category exchanges counts with another, and changes alone if the total is not public.
    fn sweep(&self, counts: &mut [f64], all: f64, rng: &mut impl Rng) {
        let categories = counts.len();
        // Updated incrementally, since summing all counts for each would be quadratic; recomputed in each sweep, so
        // that rounding errors do not accumulate.
        let mut total: f64 = counts.iter().sum();
        for k in 0..categories {
            if categories > 1 {
                let other = (k + rng.random_range(1..categories)) % categories;
                self.trade(counts, k, other, rng);
            }
            if !matches!(self.total, Total::Known(_)) {
                let burn_in = counts[k];
                counts[k] = self.change(burn_in, k, (total - burn_in, all), rng);
                total += counts[k] - burn_in;
            }
        }
    }

    /// Resamples how the sum of two counts is split.
    fn trade(&self, counts: &mut [f64], k: usize, other: usize, rng: &mut impl Rng) {
        let both = counts[k] + counts[other];
        if both == 0.0 {
            return;
        }
        let log_weight = |x: f64| {
            let n = x.floor();
            self.log_cell(k, n) + self.log_cell(other, both - n)
        };
        counts[k] = self.next(counts[k], both, log_weight, rng);
        counts[other] = both - counts[k];
    }

    /// Resamples the count of a category, given the sum of all others and that of all concentrations; and so the
    /// total.
    fn change(&self, count: f64, k: usize, (others, all): (f64, f64), rng: &mut impl Rng) -> f64 {
        let log_weight = |x: f64| {
            let n = x.floor();
            let total = others + n;
            let log_total = match self.total {
                Total::Observed { mean, sd } => -0.5 * ((total - mean) / sd).powi(2),
                _ => 0.0,
            };
            self.log_cell(k, n) + libm::lgamma(total + 1.0) - libm::lgamma(all + total) + log_total
        };
        let max = self.noisy[k].max(0.0) + 60.0 * self.noise.sd() + count + 10.0;
        self.next(count, max, log_weight, rng)
    }

    /// A slice step of an integer between 0 and `max`: the density is a step function of a real number that is
    /// rounded down.
    fn next(&self, n: f64, max: f64, log_weight: impl Fn(f64) -> f64, rng: &mut impl Rng) -> f64 {
        let width = self.noise.sd().max(1.0) * 2.0;
        slice(n + rng.random::<f64>(), width, (0.0, max + 1.0), log_weight, rng).floor().min(max)
    }

    fn log_cell(&self, k: usize, n: f64) -> f64 {
        let prior = match self.concentration[k] {
            // A uniform prior, the most common case: both gammas are equal.
            1.0 => 0.0,
            a => libm::lgamma(a + n) - libm::lgamma(n + 1.0),
        };
        prior + self.noise.log_density(self.noisy[k] - n)
    }
}

/// A draw from a Dirichlet density.
pub(crate) fn dirichlet(concentration: impl Iterator<Item = f64>, rng: &mut impl Rng) -> Vec<f64> {
    let mut draw: Vec<f64> = concentration
        .map(|a| Gamma::new(a.max(1e-9), 1.0).map_or(0.0, |gamma| gamma.sample(rng)).max(1e-300))
        .collect();
    let sum: f64 = draw.iter().sum();
    draw.iter_mut().for_each(|p| *p /= sum);
    draw
}

/// An index with a probability proportional to its weight.
pub(crate) fn choose(weights: &[f64], rng: &mut impl Rng) -> usize {
    let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
    let found = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    found.unwrap_or(weights.len().saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    type Function<'a> = &'a dyn Fn(&[f64]) -> f64;

    /// All counts of ten records in three categories, by enumeration: the chain has the same means and the same mean
    /// square of the first, within five standard errors for an effective sample size of one in four draws.
    #[test]
    fn the_chain_has_the_enumerated_distribution() {
        let (noisy, concentration) = ([2.6, -1.3, 7.0], [0.5, 1.0, 2.0]);
        for (noise, total) in [
            (NoiseDistribution::Laplace { scale: 1.5 }, Total::Known(10.0)),
            (NoiseDistribution::Gaussian { sd: 2.0 }, Total::Known(10.0)),
            (NoiseDistribution::Laplace { scale: 1.0 }, Total::Observed { mean: 9.0, sd: 1.5 }),
            (NoiseDistribution::Gaussian { sd: 1.2 }, Total::Unknown),
        ] {
            let counts = NoisyCounts { noisy: &noisy, noise, concentration: &concentration, total };
            let mut expected = [0.0; 5];
            for a in 0..40 {
                for b in 0..40 {
                    for c in 0..40 {
                        let n = [a, b, c].map(f64::from);
                        let sum: f64 = n.iter().sum();
                        let log_total = match total {
                            Total::Known(total) if sum != total => continue,
                            Total::Observed { mean, sd } => -0.5 * ((sum - mean) / sd).powi(2),
                            _ => 0.0,
                        } + libm::lgamma(sum + 1.0)
                            - libm::lgamma(3.5 + sum);
                        let cells: f64 = (0..3).map(|k| counts.log_cell(k, n[k])).sum();
                        let weight = (log_total + cells).exp();
                        let values = [1.0, n[0], n[1], n[2], n[0] * n[0]];
                        expected.iter_mut().zip(values).for_each(|(e, v)| *e += weight * v);
                    }
                }
            }
            let expected = [1, 2, 3, 4].map(|k| expected[k] / expected[0]);
            let mut rng = ChaCha8Rng::seed_from_u64(11);
            let draws = counts.sample(200, 40_000, &mut rng);
            let found = |f: Function<'_>| {
                let values: Vec<f64> = draws.iter().map(|n| f(n)).collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
                (mean, (4.0 * variance / values.len() as f64).sqrt())
            };
            let functions: [Function; 4] = [&|n| n[0], &|n| n[1], &|n| n[2], &|n| n[0] * n[0]];
            for (f, expected) in functions.into_iter().zip(expected) {
                let (mean, error) = found(f);
                assert!(
                    (mean - expected).abs() < 5.0 * error,
                    "{noise:?} {total:?}: {mean} {expected} {error}"
                );
            }
            if let Total::Known(total) = total {
                assert!(draws.iter().all(|n| n.iter().sum::<f64>() == total && n.iter().all(|&n| n >= 0.0)));
            }
        }
    }
}
