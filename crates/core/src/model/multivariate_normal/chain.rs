//! Gibbs sampling of a mean, a covariance and the true sums, given noisy sums.
//!
//! The true sums $t = (s, Q)$ of $n$ records and of their products have an exact distribution:
//! $s/n \sim N(\mu, \Sigma/n)$, and the scatter
//! $S = Q - ss^T/n$ is Wishart with $n - 1$ degrees of freedom. Three updates leave the distribution of
//! $(\mu, \Sigma, t)$ given the noisy sums invariant:
//!
//! 1. $t$ given $\mu, \Sigma$: proposed from its normal approximation times the noise distribution (Laplace noise is
//!    normal given its variance), and accepted by the ratio of the exact distribution to the approximation. Efficient
//!    where noise is small compared with sampling variation.
//! 2. $\mu, \Sigma$ given $t$: conjugate.
//! 3. $\mu, \Sigma$ with the *whitened* records fixed, $x = \mu + Lz$, so that $t$ moves with them: slice steps.
//!    Efficient where noise is large, and $t$ given $\mu, \Sigma$ would hardly move.
//!
//! # Citation
//! Bernstein, Sheldon, "Differentially private Bayesian inference for exponential families", NeurIPS 2018 (updates 1 and 2, without the
//! acceptance); Yu, Meng, "To center or not to center", JCGS 2011 (taking turns between 2 and 3).

use crate::engine::conjugate::slice;
use crate::math::matrix;
use crate::model::multivariate_normal::plan::WishartPrior;
use crate::model::multivariate_normal::posterior::Draw;
use crate::model::multivariate_normal::query::pairs;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, Gamma, InverseGaussian, StandardNormal};

/// Burn-in, number of draws, and thinning.
const CHAIN: (usize, usize, usize) = (400, 1000, 4);

/// Bounds of means and of factors below the diagonal, and of the logarithms of the diagonal.
const BOUNDS: [(f64, f64); 2] = [(-50.0, 50.0), (-12.0, 5.0)];

/// Noisy sums of products of pairs, in the order of [`pairs`].
pub(super) struct Noisy {
    pub(super) sums: Vec<f64>,
    pub(super) sds: Vec<f64>,
    pub(super) laplace: bool,
}

impl Noisy {
    fn log_density(&self, t: &[f64]) -> f64 {
        let each = self.sums.iter().zip(t).zip(&self.sds).map(|((y, t), sd)| {
            let z = (y - t) / sd;
            if self.laplace { -z.abs() * std::f64::consts::SQRT_2 } else { -0.5 * z * z }
        });
        each.sum()
    }

    /// The variance of the noise of each sum given the sums; for Laplace noise a draw: $1/\omega$ is inverse
    /// Gaussian.
    fn variances(&self, t: &[f64], rng: &mut impl Rng) -> Vec<f64> {
        let each = self.sums.iter().zip(t).zip(&self.sds).map(|((y, t), sd)| {
            if !self.laplace {
                return sd * sd;
            }
            let scale = sd / std::f64::consts::SQRT_2;
            let gap = (y - t).abs().max(1e-9 * scale);
            let noise = InverseGaussian::new(1.0 / (scale * gap), 1.0 / (scale * scale));
            noise.map_or(sd * sd, |noise| 1.0 / noise.sample(rng).max(1e-12 / (sd * sd)))
        });
        each.collect()
    }
}

/// Decomposed true sums: the mean of records, and the factor of their scatter.
struct Parts {
    mean: Vec<f64>,
    scatter: Vec<f64>,
}

/// The sampler and its inputs.
pub(super) struct Chain {
    columns: usize,
    prior: WishartPrior,
    records: f64,
    noisy: Noisy,
    pairs: Vec<(usize, usize)>,
}

impl Chain {
    pub(super) fn new(columns: usize, prior: WishartPrior, records: f64, noisy: Noisy) -> Self {
        Self { columns, prior, records, noisy, pairs: pairs(columns) }
    }

    /// Draws of the conjugate posterior that takes noisy sums for true ones, projected to the nearest possible ones.
    pub(super) fn conjugate_draws(&self, rng: &mut impl Rng) -> Vec<Draw> {
        let t = self.nearest(1e-9);
        (0..CHAIN.1).filter_map(|_| self.conjugate(&t, rng)).collect()
    }

    pub(super) fn sample(&self, rng: &mut impl Rng) -> Vec<Draw> {
        let (before, draws, each) = CHAIN;
        let mut t = self.nearest(1e-3);
        let Some(mut at) = self.conjugate(&t, rng) else { return Vec::new() };
        let widths = self.widths(&at);
        let mut found = Vec::with_capacity(draws);
        for round in 0..before + draws * each {
            self.round(&mut at, &mut t, &widths, rng);
            if round >= before && (round - before) % each == 0 {
                found.push(at.clone());
            }
        }
        found
    }

    pub(super) fn round(&self, at: &mut Draw, t: &mut Vec<f64>, widths: &[f64], rng: &mut impl Rng) {
        self.move_with_records(at, t, widths, rng);
        self.move_sums(at, t, rng);
        if let Some(draw) = self.conjugate(t, rng) {
            *at = draw;
        }
    }

    /// Noisy sums, with the mean clipped to the bounds and the eigenvalues of the scatter between `min` and $D$, for
    /// each record.
    ///
    /// If the eigenvalues do not converge, the diagonal of the scatter is clipped to the same limits, and columns are
    /// taken to be uncorrelated: a valid start of a chain, and a scatter that records could have.
    fn nearest(&self, min: f64) -> Vec<f64> {
        let (d, n) = (self.columns, self.records);
        let of = |i: usize, j: usize| {
            let found = self.pairs.iter().position(|pair| *pair == (i.min(j), i.max(j)));
            self.noisy.sums[found.unwrap_or(0)] / n
        };
        let mean: Vec<f64> = (0..d).map(|i| of(i, d).clamp(-1.0, 1.0)).collect();
        let spread: Vec<f64> = (0..d * d).map(|k| of(k / d, k % d) - mean[k / d] * mean[k % d]).collect();
        let limited = |value: f64| value.clamp(min, d as f64);
        let diagonal = |k: usize| if k.is_multiple_of(d + 1) { limited(spread[k]) } else { 0.0 };
        let spread = matrix::eigen(&spread, d)
            .map_or_else(|_| (0..d * d).map(diagonal).collect(), |found| found.mapped(limited));
        let scatter: Vec<f64> = spread.iter().map(|x| n * x).collect();
        self.sums(&mean, &scatter)
    }

    /// $t$ from the mean of records and their scatter.
    fn sums(&self, mean: &[f64], scatter: &[f64]) -> Vec<f64> {
        let (d, n) = (self.columns, self.records);
        let each = self.pairs.iter().map(|&(i, j)| match j {
            _ if j == d => n * mean[i],
            _ => scatter[i * d + j] + n * mean[i] * mean[j],
        });
        each.collect()
    }

    /// The parts of $t$; `None` if its scatter is not positive definite.
    fn parts(&self, t: &[f64]) -> Option<Parts> {
        let (d, n) = (self.columns, self.records);
        let (mut mean, mut scatter) = (vec![0.0; d], vec![0.0; d * d]);
        for (&(i, j), &sum) in self.pairs.iter().zip(t) {
            if j == d {
                mean[i] = sum / n;
            } else {
                (scatter[i * d + j], scatter[j * d + i]) = (sum, sum);
            }
        }
        for k in 0..d * d {
            scatter[k] -= n * mean[k / d] * mean[k % d];
        }
        let mut factor = vec![0.0; d * d];
        matrix::cholesky(&scatter, d, &mut factor).then_some(Parts { mean, scatter: factor })
    }

    /// A draw of the mean and the covariance given the sums: normal-inverse-Wishart, the covariance as $L(AA^T)^{-1}L^T$ with Bartlett's $A$.
    pub(super) fn conjugate(&self, t: &[f64], rng: &mut impl Rng) -> Option<Draw> {
        let (d, n) = (self.columns, self.records);
        let WishartPrior { strength, freedom, scale } = self.prior;
        let (mut sum, mut psi) = (vec![0.0; d], vec![0.0; d * d]);
        for (&(i, j), &x) in self.pairs.iter().zip(t) {
            if j == d {
                sum[i] = x;
            } else {
                (psi[i * d + j], psi[j * d + i]) = (x, x);
            }
        }
        for k in 0..d * d {
            psi[k] -= sum[k / d] * sum[k % d] / (strength + n);
        }
        (0..d).for_each(|i| psi[i * (d + 1)] += scale);
        let mut l = vec![0.0; d * d];
        if !matrix::cholesky(&psi, d, &mut l) {
            return None;
        }
        let mut bartlett = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..i {
                bartlett[i * d + j] = StandardNormal.sample(rng);
            }
            let square: f64 = Gamma::new(0.5 * (freedom + n - i as f64), 2.0).ok()?.sample(rng);
            bartlett[i * (d + 1)] = 1.0 / square.sqrt();
        }
        // Rows of L A^-T.
        let mut rows = vec![0.0; d * d];
        for (i, row) in rows.chunks_mut(d).enumerate() {
            row[..i].copy_from_slice(&l[i * d..][..i]);
            row[i] = 1.0 / l[i * (d + 1)];
            matrix::solve_lower(&bartlett, d, row);
        }
        let product = |i: usize, j: usize| (0..d).map(|k| rows[i * d + k] * rows[j * d + k]).sum();
        let covariance: Vec<f64> = (0..d * d).map(|k| product(k / d, k % d)).collect();
        let mut factor = vec![0.0; d * d];
        if !matrix::cholesky(&covariance, d, &mut factor) {
            return None;
        }
        let z: Vec<f64> = (0..d).map(|_| StandardNormal.sample(rng)).collect();
        let mut mean = vec![0.0; d];
        matrix::times_factor(&factor, d, &z, &mut mean);
        let root = (strength + n).sqrt();
        mean.iter_mut().zip(&sum).for_each(|(mean, sum)| *mean = *mean / root + sum / (strength + n));
        Some(Draw { mean, factor })
    }

    /// Update 1.
    fn move_sums(&self, at: &Draw, t: &mut Vec<f64>, rng: &mut impl Rng) {
        let size = self.pairs.len();
        let noise = self.noisy.variances(t, rng);
        let (centre, spread) = self.normal_approximation(at);
        let (mut l, mut with_noise, mut l_noise) =
            (vec![0.0; size * size], spread.clone(), vec![0.0; size * size]);
        (0..size).for_each(|k| with_noise[k * (size + 1)] += noise[k]);
        if !(matrix::wide_cholesky(&spread, size, &mut l)
            && matrix::wide_cholesky(&with_noise, size, &mut l_noise))
        {
            return;
        }
        // A draw from the normal approximation, and one of the noise: the residual of the noisy sums is split by
        // their covariances.
        let mut z: Vec<f64> = (0..size).map(|_| StandardNormal.sample(rng)).collect();
        let mut proposal = vec![0.0; size];
        matrix::times_factor(&l, size, &z, &mut proposal);
        for k in 0..size {
            proposal[k] += centre[k];
            let error: f64 = StandardNormal.sample(rng);
            z[k] = self.noisy.sums[k] - proposal[k] - noise[k].sqrt() * error;
        }
        matrix::solve(&l_noise, size, &mut z);
        let mut missing = vec![0.0; size];
        matrix::times(&spread, size, &z, &mut missing);
        proposal.iter_mut().zip(missing).for_each(|(t, missing)| *t += missing);
        let log_weight = |t: &[f64]| {
            let mut gap: Vec<f64> = t.iter().zip(&centre).map(|(t, m)| t - m).collect();
            matrix::solve_lower(&l, size, &mut gap);
            self.log_sums_density(at, t) + 0.5 * gap.iter().map(|x| x * x).sum::<f64>()
        };
        let ratio = log_weight(&proposal) - log_weight(t);
        if (1.0 - rng.random::<f64>()).ln() < ratio {
            *t = proposal;
        }
    }

    /// Mean and covariance of $t$: Isserlis' theorem, with a 1 as the column after the last.
    fn normal_approximation(&self, at: &Draw) -> (Vec<f64>, Vec<f64>) {
        let (d, n, size) = (self.columns, self.records, self.pairs.len());
        let sigma = at.covariance();
        let mean = |i: usize| if i == d { 1.0 } else { at.mean[i] };
        let spread = |i: usize, j: usize| if i == d || j == d { 0.0 } else { sigma[i * d + j] };
        let centre = self.pairs.iter().map(|&(i, j)| n * (spread(i, j) + mean(i) * mean(j))).collect();
        let mut covariance = vec![0.0; size * size];
        for (a, &(i, j)) in self.pairs.iter().enumerate() {
            for (b, &(k, l)) in self.pairs.iter().enumerate().take(a + 1) {
                let fourth = spread(i, k) * spread(j, l) + spread(i, l) * spread(j, k);
                let mixed = mean(i) * (mean(k) * spread(j, l) + mean(l) * spread(j, k))
                    + mean(j) * (mean(k) * spread(i, l) + mean(l) * spread(i, k));
                covariance[a * size + b] = n * (fourth + mixed);
                covariance[b * size + a] = covariance[a * size + b];
            }
        }
        (centre, covariance)
    }

    /// $\log p(t|\mu, \Sigma)$, up to what does not depend on $t$.
    fn log_sums_density(&self, at: &Draw, t: &[f64]) -> f64 {
        let (d, n) = (self.columns, self.records);
        let Some(Parts { mean, scatter }) = self.parts(t) else { return f64::NEG_INFINITY };
        let mut gap: Vec<f64> = mean.iter().zip(&at.mean).map(|(x, m)| x - m).collect();
        matrix::solve_lower(&at.factor, d, &mut gap);
        let about_mean: f64 = gap.iter().map(|x| x * x).sum();
        let trace: f64 = self.whitened(at, &scatter).iter().map(|x| x * x).sum();
        0.5 * ((n - d as f64 - 2.0) * matrix::log_determinant(&scatter, d) - trace - n * about_mean)
    }

    /// $L^{-1}G$, for the factor $G$ of a scatter: column by column, lower triangular.
    fn whitened(&self, at: &Draw, scatter: &[f64]) -> Vec<f64> {
        let d = self.columns;
        let mut columns = vec![0.0; d * d];
        for (j, column) in columns.chunks_mut(d).enumerate() {
            column[j] = 1.0 / scatter[j * (d + 1)];
            (j + 1..d).for_each(|i| column[i] = scatter[i * d + j]);
            matrix::solve_lower(&at.factor, d, column);
        }
        columns
    }

    /// Update 3.
    fn move_with_records(&self, at: &mut Draw, t: &mut Vec<f64>, widths: &[f64], rng: &mut impl Rng) {
        let d = self.columns;
        let Some(Parts { mean, scatter }) = self.parts(t) else { return };
        let mut centre: Vec<f64> = mean.iter().zip(&at.mean).map(|(x, m)| x - m).collect();
        matrix::solve_lower(&at.factor, d, &mut centre);
        let whitened = Whitened { centre, scatter: self.whitened(at, &scatter) };
        let mut place = 0;
        for i in 0..d {
            for j in 0..=d {
                // The mean of a column, the logarithm of its diagonal element, and the elements before that.
                let (bounds, from) = match j {
                    _ if j == d => (BOUNDS[0], at.mean[i]),
                    _ if j == i => (BOUNDS[1], -at.factor[i * (d + 1)].ln()),
                    _ if j < i => (BOUNDS[0], at.factor[i * d + j]),
                    _ => continue,
                };
                let put = |at: &Draw, x: f64| {
                    let mut at = at.clone();
                    match j {
                        _ if j == d => at.mean[i] = x,
                        _ if j == i => at.factor[i * (d + 1)] = (-x).exp(),
                        _ => at.factor[i * d + j] = x,
                    }
                    at
                };
                let log_density = |x: f64| {
                    let there = put(at, x);
                    self.log_prior(&there) + self.noisy.log_density(&self.with_records(&there, &whitened))
                };
                let x = slice(from, widths[place], bounds, log_density, rng);
                *at = put(at, x);
                place += 1;
            }
        }
        *t = self.with_records(at, &whitened);
    }

    /// $t$ of the same whitened records.
    fn with_records(&self, at: &Draw, whitened: &Whitened) -> Vec<f64> {
        let d = self.columns;
        let mut mean = vec![0.0; d];
        matrix::times_factor(&at.factor, d, &whitened.centre, &mut mean);
        mean.iter_mut().zip(&at.mean).for_each(|(x, m)| *x += m);
        let mut columns = vec![0.0; d * d];
        for (out, column) in columns.chunks_mut(d).zip(whitened.scatter.chunks(d)) {
            matrix::times_factor(&at.factor, d, column, out);
        }
        let mut scatter = vec![0.0; d * d];
        for column in columns.chunks(d) {
            for i in 0..d {
                for j in 0..d {
                    scatter[i * d + j] += column[i] * column[j];
                }
            }
        }
        self.sums(&mean, &scatter)
    }

    /// The prior of the mean and of the factor of the covariance, its diagonal in logarithms: $d\Sigma \propto \prod_i L_{ii}^{D-i+1}\,d(\log L_{ii})\ldots$
    /// with $i$ from 0.
    fn log_prior(&self, at: &Draw) -> f64 {
        let d = self.columns;
        let WishartPrior { strength, freedom, scale } = self.prior;
        let mut mean = at.mean.clone();
        matrix::solve_lower(&at.factor, d, &mut mean);
        let mut trace = 0.0;
        for j in 0..d {
            let mut unit = vec![0.0; d];
            unit[j] = 1.0;
            matrix::solve_lower(&at.factor, d, &mut unit);
            trace += unit.iter().map(|x| x * x).sum::<f64>();
        }
        let logs = (0..d).map(|i| -at.factor[i * (d + 1)].ln());
        let diagonal: f64 =
            logs.enumerate().map(|(i, log)| log * ((d - i) as f64 + 1.0 - (freedom + d as f64 + 2.0))).sum();
        diagonal - 0.5 * (scale * trace + strength * mean.iter().map(|x| x * x).sum::<f64>())
    }

    /// Step widths, about those of the posterior, from records and noise.
    pub(super) fn widths(&self, at: &Draw) -> Vec<f64> {
        let (d, n) = (self.columns, self.records);
        let sigma = at.covariance();
        let noise = self.noisy.sds.iter().copied().fold(0.0, f64::max) / n;
        let mut widths = Vec::new();
        for i in 0..d {
            let variance = sigma[i * (d + 1)];
            let relative = (3.0 * (1.0 / n + (noise / variance).powi(2)).sqrt()).clamp(0.01, 3.0);
            widths.extend((0..i).map(|_| relative * variance.sqrt()));
            widths.push(relative);
            widths.push(3.0 * (variance / n + noise * noise).sqrt());
        }
        widths
    }
}

/// The mean and the factor of the scatter of whitened records.
struct Whitened {
    centre: Vec<f64>,
    scatter: Vec<f64>,
}
