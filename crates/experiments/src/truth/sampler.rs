//! The posterior of the means with the labels summed out, by the no-U-turn sampler.

use std::collections::HashMap;
use std::convert::Infallible;
use std::{fmt, thread};

use nuts_rs::{Chain, CpuLogpFunc, CpuMath, CpuMathError, DiagNutsSettings, HasDims, LogpError, Settings};
use rand::{Rng, SeedableRng, rngs::ChaCha8Rng};
use rand_distr::{Distribution, StandardNormal};
use thiserror::Error;

use super::{diagnostics::r_hat_and_ess, given_labels};
use crate::matching::{MatchingError, assignment};
use crate::metrics::Moments;
use crate::mixture::{Mixture, squared_distance};

/// Errors of the sampler.
#[derive(Debug, Error)]
pub enum TruthError {
    /// Too few chains or draws to assess convergence.
    #[error("{chains} chains of {draws} draws are too few; at least 1 chain of 8 draws is needed")]
    TooFewDraws {
        /// Requested chains.
        chains: usize,
        /// Requested draws.
        draws: usize,
    },
    /// A chain failed.
    #[error("chain {chain} failed")]
    Sampler {
        /// Index of the chain.
        chain: usize,
        /// Message of the sampler.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A draw is not finite.
    #[error("a draw could not be matched to the reference components")]
    Matching(#[from] MatchingError),
}

/// Settings of the sampler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NutsOptions {
    /// Independent chains, each on a thread of its own.
    pub chains: usize,
    /// Burn-in draws of each chain, which adapt the sampler and are discarded.
    pub warmup: usize,
    /// Draws of each chain that are kept.
    pub draws: usize,
    /// Seed of the draws. The data are public, so a fixed seed is harmless.
    pub seed: u64,
}

impl Default for NutsOptions {
    fn default() -> Self {
        Self { chains: 4, warmup: 500, draws: 1000, seed: 0 }
    }
}

/// Summary of a sampled posterior, with diagnostics.
#[derive(Debug, Clone, PartialEq)]
pub struct Nuts {
    /// The mean and covariance of each component's draws.
    pub components: Vec<Moments>,
    /// The largest split R-hat of any coordinate; above 1.01 the chains have not mixed.
    pub r_hat: f64,
    /// The smallest effective sample size of any coordinate.
    pub ess: f64,
    /// Kept draws at which the integrator diverged; any at all is a warning.
    pub divergences: usize,
}

/// Samples the posterior of the means with the labels summed out:
///
/// `log p(mu | x) = const - sum_j ||mu_j - m_j||^2 / (2 v) + sum_n log sum_j exp(-||x_n - mu_j||^2 / (2 s^2))`.
///
/// The sampler is `nuts-rs` (Hoffman and Gelman, "The no-U-turn sampler", JMLR 15, 2014). Every chain starts at
/// [`given_labels`] displaced by noise of one record's spread, and every draw has its components matched to
/// `given_labels`, so that a chain whose labels are exchanged counts as the same answer. The summary is thus of one of
/// the `J!` modes; the prior tells them apart, but barely.
pub fn nuts(data: &Mixture, options: &NutsOptions) -> Result<Nuts, TruthError> {
    let NutsOptions { chains, warmup, draws, seed } = *options;
    if chains == 0 || draws < 8 {
        return Err(TruthError::TooFewDraws { chains, draws });
    }
    let reference: Vec<Vec<f64>> = given_labels(data).into_iter().map(|c| c.mean).collect();
    let settings =
        DiagNutsSettings { num_tune: warmup as u64, num_draws: draws as u64, ..Default::default() };
    let run = |chain: usize| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(chain as u64);
        sample_chain(data, &settings, &reference.concat(), &mut rng)
            .map_err(|source| TruthError::Sampler { chain, source })
    };
    let traces: Vec<Trace> = thread::scope(|scope| {
        let threads: Vec<_> = (0..chains).map(|chain| scope.spawn(move || run(chain))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a chain panicked")).collect::<Result<_, _>>()
    })?;

    let divergences = traces.iter().map(|trace| trace.divergences).sum();
    let mut aligned = Vec::with_capacity(chains);
    for trace in &traces {
        let draws: Result<Vec<_>, _> = trace.draws.iter().map(|draw| align(draw, &reference)).collect();
        aligned.push(draws?);
    }
    let coordinates = data.components() * data.dimension();
    let (r_hat, ess) = (0..coordinates)
        .map(|i| {
            let chains: Vec<Vec<f64>> =
                aligned.iter().map(|c| c.iter().map(|draw| draw[i]).collect()).collect();
            r_hat_and_ess(&chains)
        })
        .fold((0.0, f64::INFINITY), |(r, e), (r_hat, ess)| (f64::max(r, r_hat), f64::min(e, ess)));
    let draws = aligned.concat();
    let d = data.dimension();
    let components = (0..data.components()).map(|j| summarise(&draws, j * d..(j + 1) * d)).collect();
    Ok(Nuts { components, r_hat, ess, divergences })
}

struct Trace {
    draws: Vec<Box<[f64]>>,
    divergences: usize,
}

fn sample_chain(
    data: &Mixture,
    settings: &DiagNutsSettings,
    centre: &[f64],
    rng: &mut impl Rng,
) -> Result<Trace, Box<dyn std::error::Error + Send + Sync>> {
    let spread = data.noise_variance.sqrt();
    let displace = |m: &f64| m + spread * Distribution::<f64>::sample(&StandardNormal, rng);
    let start: Vec<f64> = centre.iter().map(displace).collect();
    let mut chain = settings.new_chain(0, CpuMath::new(Collapsed { data }), rng)?;
    chain.set_position(&start)?;
    let mut trace = Trace { draws: Vec::with_capacity(settings.num_draws as usize), divergences: 0 };
    for i in 0..settings.num_tune + settings.num_draws {
        let (draw, progress) = chain.draw()?;
        if i >= settings.num_tune {
            trace.draws.push(draw);
            trace.divergences += usize::from(progress.diverging);
        }
    }
    Ok(trace)
}

/// The draw with its components in the order of the reference.
fn align(draw: &[f64], reference: &[Vec<f64>]) -> Result<Vec<f64>, MatchingError> {
    let means: Vec<&[f64]> = draw.chunks_exact(reference[0].len()).collect();
    let costs = |r: &Vec<f64>| means.iter().map(|mean| squared_distance(r, mean)).collect();
    let cost: Vec<Vec<f64>> = reference.iter().map(costs).collect();
    Ok(assignment(&cost)?.into_iter().flat_map(|j| means[j]).copied().collect())
}

fn summarise(draws: &[Vec<f64>], coordinates: std::ops::Range<usize>) -> Moments {
    let n = draws.len() as f64;
    let mean: Vec<f64> = coordinates.clone().map(|i| draws.iter().map(|x| x[i]).sum::<f64>() / n).collect();
    let d = mean.len();
    let mut covariance = vec![0.0; d * d];
    for draw in draws {
        let x = &draw[coordinates.clone()];
        for (k, entry) in covariance.iter_mut().enumerate() {
            let (a, b) = (k / d, k % d);
            *entry += (x[a] - mean[a]) * (x[b] - mean[b]) / (n - 1.0);
        }
    }
    Moments { mean, covariance }
}

/// The log density of the means and its gradient,
/// `(m_j - mu_j) / v + sum_n r_nj (x_n - mu_j) / s^2` with the responsibilities `r_nj`.
struct Collapsed<'a> {
    data: &'a Mixture,
}

impl fmt::Debug for Collapsed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collapsed")
    }
}

/// The density is finite at every finite point, so it never fails.
#[derive(Debug, Error)]
#[error(transparent)]
struct Never(Infallible);

impl LogpError for Never {
    fn is_recoverable(&self) -> bool {
        match self.0 {}
    }
}

impl HasDims for Collapsed<'_> {
    fn dim_sizes(&self) -> HashMap<String, u64> {
        HashMap::from([("unconstrained_parameter".to_string(), self.dim() as u64)])
    }
}

impl CpuLogpFunc for Collapsed<'_> {
    type LogpError = Never;
    type FlowParameters = ();
    type ExpandedVector = Vec<f64>;

    fn dim(&self) -> usize {
        self.data.components() * self.data.dimension()
    }

    fn logp(&mut self, position: &[f64], gradient: &mut [f64]) -> Result<f64, Never> {
        let data = self.data;
        let d = data.dimension();
        let mut log_density = 0.0;
        for (i, m) in data.prior_means.iter().flatten().enumerate() {
            let difference = m - position[i];
            log_density -= difference * difference / (2.0 * data.prior_variance);
            gradient[i] = difference / data.prior_variance;
        }
        let mut terms = vec![0.0; data.components()];
        for x in data.records() {
            let mut largest = f64::NEG_INFINITY;
            for (term, mean) in terms.iter_mut().zip(position.chunks_exact(d)) {
                *term = -squared_distance(x, mean) / (2.0 * data.noise_variance);
                largest = largest.max(*term);
            }
            terms.iter_mut().for_each(|term| *term = (*term - largest).exp());
            let sum: f64 = terms.iter().sum();
            log_density += largest + sum.ln();
            let places = position.chunks_exact(d).zip(gradient.chunks_exact_mut(d));
            for (term, (mean, gradient)) in terms.iter().zip(places) {
                let weight = term / (sum * data.noise_variance);
                for (g, (x, m)) in gradient.iter_mut().zip(x.iter().zip(mean)) {
                    *g += weight * (x - m);
                }
            }
        }
        Ok(log_density)
    }

    fn expand_vector<R: Rng + ?Sized>(
        &mut self,
        _: &mut R,
        position: &[f64],
    ) -> Result<Vec<f64>, CpuMathError> {
        Ok(position.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mixture::{Simulation, paper_data, simulate};

    #[test]
    fn the_gradient_is_the_derivative() {
        let data = paper_data(60, 50, 4, 2).unwrap();
        let mut density = Collapsed { data: &data };
        let position: Vec<f64> = (0..8).map(|i| (f64::from(i) * 0.7).sin()).collect();
        let mut gradient = vec![0.0; 8];
        density.logp(&position, &mut gradient).unwrap();
        for i in 0..8 {
            let mut at = |step: f64| {
                let mut moved = position.clone();
                moved[i] += step;
                density.logp(&moved, &mut [0.0; 8]).unwrap()
            };
            let derivative = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((gradient[i] - derivative).abs() < 1e-6 * (1.0 + derivative.abs()));
        }
    }

    #[test]
    fn exchanged_components_are_put_back() {
        let reference = [vec![0.0, 0.0], vec![5.0, 5.0], vec![-5.0, 0.0]];
        let draw = [4.9, 5.1, -5.2, 0.1, 0.3, 0.2];
        assert_eq!(align(&draw, &reference).unwrap(), [0.3, 0.2, 4.9, 5.1, -5.2, 0.1]);
    }

    /// Twelve noise deviations apart every label is certain, so the closed form is the truth.
    #[test]
    fn well_separated_components_have_the_closed_form_posterior() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let simulation = Simulation {
            records: 200,
            components: 3,
            dimension: 2,
            prior_variance: 10.0,
            noise_variance: 0.25,
            separation: 6.0,
        };
        let data = simulate(&mut rng, &simulation).unwrap();
        let sampled = nuts(&data, &NutsOptions { chains: 2, ..NutsOptions::default() }).unwrap();
        assert!(sampled.r_hat < 1.02 && sampled.ess > 400.0 && sampled.divergences == 0, "{sampled:?}");
        for (sampled, exact) in sampled.components.iter().zip(given_labels(&data)) {
            let variance = exact.covariance[0];
            // Five standard errors at 400 effective draws; a false alarm has probability below 1e-5 in all.
            let (mean_error, variance_error) =
                (5.0 * (variance / 400.0).sqrt(), 5.0 * variance * (2.0f64 / 400.0).sqrt());
            for (a, b) in sampled.mean.iter().zip(&exact.mean) {
                assert!((a - b).abs() < mean_error);
            }
            for (a, b) in sampled.covariance.iter().zip(&exact.covariance) {
                assert!((a - b).abs() < variance_error);
            }
        }
    }

    /// Two overlapping components on the line, where labels are in doubt: the truth is a sum over a fine grid.
    #[test]
    fn overlapping_components_have_the_integrated_posterior() {
        let prior_means = vec![vec![-0.5], vec![1.0]];
        let x: Vec<f64> = (0..24).map(|i| f64::from(i % 12) * 0.2 - 1.0 + f64::from(i / 12) * 0.6).collect();
        let labels: Vec<usize> = x.iter().map(|&x| usize::from(x > 0.4)).collect();
        let means = prior_means.clone();
        let data = Mixture { prior_means, prior_variance: 2.0, noise_variance: 0.25, means, labels, x };
        let mut density = Collapsed { data: &data };
        let reference: Vec<Vec<f64>> = given_labels(&data).into_iter().map(|c| c.mean).collect();
        let (mut total, mut first, mut second) = (0.0, [0.0; 2], [0.0; 2]);
        for (i, j) in (0..200).flat_map(|i| (0..200).map(move |j| (i, j))) {
            let draw = [f64::from(i) * 0.025 - 2.0, f64::from(j) * 0.025 - 2.0];
            let weight = density.logp(&draw, &mut [0.0; 2]).unwrap().exp();
            let draw = align(&draw, &reference).unwrap();
            total += weight;
            for k in 0..2 {
                first[k] += weight * draw[k];
                second[k] += weight * draw[k] * draw[k];
            }
        }
        let sampled = nuts(&data, &NutsOptions::default()).unwrap();
        assert!(sampled.r_hat < 1.02 && sampled.ess > 400.0, "{sampled:?}");
        for (k, component) in sampled.components.iter().enumerate() {
            let mean = first[k] / total;
            let variance = second[k] / total - mean * mean;
            // The labels being in doubt, the posterior is wider than with labels known.
            assert!(variance > 1.2 * given_labels(&data)[k].covariance[0]);
            // Five standard errors at 400 effective draws.
            assert!((component.mean[0] - mean).abs() < 5.0 * (variance / 400.0).sqrt());
            assert!((component.covariance[0] / variance - 1.0).abs() < 5.0 * (2.0f64 / 400.0).sqrt());
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_draws() {
        let data = paper_data(60, 40, 2, 2).unwrap();
        let options = NutsOptions { chains: 2, warmup: 50, draws: 50, seed: 9 };
        assert_eq!(nuts(&data, &options).unwrap(), nuts(&data, &options).unwrap());
        let too_few = NutsOptions { draws: 4, ..options };
        assert!(matches!(nuts(&data, &too_few), Err(TruthError::TooFewDraws { chains: 2, draws: 4 })));
    }
}
