//! Random Fourier features for the residual of the linear prediction.
//!
//! With frequencies $f_1, \dots, f_m$ drawn once, publicly, a record has the features
//! $\phi = m^{-1/2}(\cos f_1 \cdot z, \dots, \sin f_1 \cdot z, \dots)$, of norm exactly 1. The residual is modelled as
//! $r \sim N(\phi \cdot w, s^2)$ with $w \sim N(0, \tau^2 I)$: a Gaussian process with approximately a squared
//! exponential covariance, the closer the larger $m$.
//!
//! The approximation is DP-SEP in centred coordinates with a public precision. A record's site has $a_n = (r_n - \phi_n \cdot m)\phi_n/s^2$, of which
//! the residual is clipped to $c$, and $P_n = \phi_n\phi_n^T/s^2$. Releasing the sum of all $P_n$, a matrix, would
//! cost budget; instead it is approximated by its value for Gaussian $z$ with the variances estimated in the rounds,
//! $G_{ij} = \tfrac N{2m}(e^{-|f_i - f_j|^2/2} \pm e^{-|f_i + f_j|^2/2})$. So only the sum of $a_n$ is released. If
//! $G$ is wrong, the next step still moves towards zero residuals: $G$ affects the speed, not the solution.
//!
//! The mean of the releases, each moved to absolute coordinates by its public $Gm$, is $b = Gw + e$ with $e \sim N(0, s^2G + \nu I)$, where $\nu$
//! is the known variance of the privacy noise. That makes the posterior noise-aware:
//!
//! $$V = \tau^2 K^{-1}(s^2 G + \nu I), \qquad m = \tau^2 K^{-1} G\,b, \qquad K = \tau^2G^2 + s^2G + \nu I.$$
//!
//! # Citation
//! Rahimi, Recht, "Random features for large-scale kernel machines", NeurIPS 2007; Yu et al., "Orthogonal random features", NeurIPS 2016.

use crate::math::matrix;
use crate::math::vector::dot;
use crate::model::regression::parameters::Functional;
use crate::model::regression::rounds::Frame;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use reticent_noise::with_wide_vectors;
use serde::{Deserialize, Serialize};

/// The share of the residual variance that features explain a priori.
const EXPLAINED_SHARE: f64 = 0.5;

/// Maximum number of tenfold increases of the ridge before a factorisation is abandoned.
const RIDGES: u32 = 40;

/// Number of posterior draws that represent the covariance of the weights: variances have a relative error of about a
/// seventh.
const DRAWS: usize = 100;

/// A posterior of the weights of features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Features {
    /// $f_1, \dots, f_m$: a row for each input, with its coordinate of all frequencies.
    pub(super) frequencies: Vec<f64>,
    /// The means of the weights: those of cosines, then those of sines.
    pub(super) weights: Vec<f64>,
    /// A row for each of [`DRAWS`] public draws from their posterior, minus the means and over the root of the number
    /// of draws.
    pub(super) draws: Vec<f64>,
    /// The share of their variance that is from the privacy noise, on average over Gaussian inputs.
    pub(super) privacy_share: f64,
}

impl Features {
    /// The prior, for inputs with the variances `spread`. The length scale is relative to the expected distance
    /// between records.
    pub(super) fn new(frame: &Frame, count: usize, length_scale: f64, seed: u64) -> Self {
        let d = frame.inputs();
        let distance = (2.0 * frame.spread.iter().sum::<f64>()).sqrt().max(1e-3);
        let drawn = orthogonal(d, count, seed);
        let frequencies =
            (0..d * count).map(|k| drawn[k % count * d + k / count] / (length_scale * distance)).collect();
        Self { frequencies, weights: vec![0.0; 2 * count], draws: Vec::new(), privacy_share: 0.0 }
    }

    pub(super) fn count(&self) -> usize {
        self.weights.len() / 2
    }

    /// The features of a record.
    pub(super) fn of(&self, z: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.weights.len()];
        self.write(z, &mut out);
        out
    }

    pub(super) fn write(&self, z: &[f64], out: &mut [f64]) {
        let count = self.count();
        let scale = (count as f64).sqrt().recip();
        let (cosines, sines) = out.split_at_mut(count);
        with_wide_vectors(
            #[inline(always)]
            || {
                sines.fill(0.0);
                for (z, row) in z.iter().zip(self.frequencies.chunks_exact(count)) {
                    sines.iter_mut().zip(row).for_each(|(angle, f)| *angle += z * f);
                }
                for (cosine, sine) in cosines.iter_mut().zip(sines) {
                    let (s, c) = sin_cos(*sine);
                    (*cosine, *sine) = (c * scale, s * scale);
                }
            },
        );
    }

    /// The factor of each weight in a functional. For Gaussian inputs of these variances the average slope of a cosine is 0, and that of the sine
    /// of a frequency $f$ is $f e^{-f^T S f/2}$.
    pub(super) fn functional(&self, functional: &Functional, spread: &[f64]) -> Vec<f64> {
        match functional {
            Functional::Points(points) => {
                let mut sum = vec![0.0; self.weights.len()];
                for (z, factor) in points {
                    sum.iter_mut().zip(self.of(z)).for_each(|(sum, phi)| *sum += factor * phi);
                }
                sum
            }
            Functional::Slope(direction) => {
                let count = self.count();
                let mut slopes = vec![0.0; 2 * count];
                for (k, slope) in slopes[count..].iter_mut().enumerate() {
                    let frequency = || self.frequencies.iter().skip(k).step_by(count);
                    let square: f64 = frequency().zip(spread).map(|(f, s)| f * f * s).sum();
                    let along: f64 = frequency().zip(direction).map(|(f, t)| f * t).sum();
                    *slope = along * (-0.5 * square).exp() / (count as f64).sqrt();
                }
                slopes
            }
        }
    }

    /// The variance of $\phi \cdot w$, from the draws.
    pub(super) fn variance(&self, features: &[f64]) -> f64 {
        let mut sum = 0.0;
        with_wide_vectors(
            #[inline(always)]
            || {
                for draw in self.draws.chunks_exact(features.len()) {
                    sum += crate::math::vector::wide_dot(draw, features).powi(2);
                }
            },
        );
        sum
    }
}

/// Frequencies of the squared exponential covariance, orthogonal in groups, which makes their sums vary less.
fn orthogonal(d: usize, count: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut all: Vec<f64> = Vec::with_capacity(count * d);
    for k in 0..count {
        let mut draw = || -> Vec<f64> { (0..d).map(|_| StandardNormal.sample(&mut rng)).collect() };
        let (mut direction, length) = (draw(), draw());
        for before in all[k / d * d * d..].chunks_exact(d) {
            let by = dot(before, &direction) / dot(before, before);
            direction.iter_mut().zip(before).for_each(|(x, b)| *x -= by * b);
        }
        let scale = (dot(&length, &length) / dot(&direction, &direction)).sqrt();
        all.extend(direction.iter().map(|x| x * scale));
    }
    all
}

/// Sine and cosine without branches, so that a loop over features is vectorised: accurate to about $10^{-15}$ below
/// $10^5$, which no product of a frequency and an input exceeds.
#[inline(always)]
pub(super) fn sin_cos(x: f64) -> (f64, f64) {
    use std::f64::consts::FRAC_2_PI;
    /// Adding this to a small number leaves it rounded to an integer in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    /// $\pi/2$ in two parts, the first of 33 bits.
    const HIGH: f64 = 1.570_796_326_734_125_6;
    const LOW: f64 = 6.077_100_506_506_192e-11;
    let shifted = x * FRAC_2_PI + ROUND;
    let (quarter, k) = (shifted - ROUND, shifted.to_bits());
    let r = (x - quarter * HIGH) - quarter * LOW;
    let t = r * r;
    // Taylor's series: terms beyond are below 1e-16 for |r| <= pi/4.
    let sine = r
        * (1.0
            + t * (-1.0 / 6.0
                + t * (1.0 / 120.0
                    + t * (-1.0 / 5040.0
                        + t * (1.0 / 362_880.0
                            + t * (-1.0 / 39_916_800.0
                                + t * (1.0 / 6_227_020_800.0 - t / 1_307_674_368_000.0)))))));
    let cosine = 1.0
        + t * (-0.5
            + t * (1.0 / 24.0
                + t * (-1.0 / 720.0
                    + t * (1.0 / 40_320.0
                        + t * (-1.0 / 3_628_800.0
                            + t * (1.0 / 479_001_600.0
                                + t * (-1.0 / 87_178_291_200.0 + t / 20_922_789_888_000.0)))))));
    let (s, c) = if k & 1 == 0 { (sine, cosine) } else { (cosine, sine) };
    (if k & 2 == 0 { s } else { -s }, if (k + 1) & 2 == 0 { c } else { -c })
}

/// The public part of the refinement: the moments of features for Gaussian inputs, and the average of the releases.
pub(super) struct Refinement {
    count: usize,
    /// $G$ and $G^2$ of cosines and of sines.
    grams: [(Vec<f64>, Vec<f64>); 2],
    /// $\tau^2$ and $s^2$.
    weight_variance: f64,
    noise: f64,
    /// The weighted mean of the releases, and the sums of weights and of their squares times the variance of the noise.
    mean: Vec<f64>,
    weight: f64,
    squares: f64,
}

impl Refinement {
    /// `inflation` makes the precision larger than for Gaussian inputs, and steps smaller.
    pub(super) fn new(frame: &Frame, features: &Features, records: f64, inflation: f64) -> Self {
        let (d, count) = (frame.inputs(), features.count());
        let scaled: Vec<f64> = (0..count * d)
            .map(|k| features.frequencies[k % d * count + k / d] * frame.spread[k % d].sqrt())
            .collect();
        let rows: Vec<&[f64]> = scaled.chunks_exact(d).collect();
        let each = inflation * records / (2.0 * count as f64);
        let gram = |sign: f64| {
            let mut g = vec![0.0; count * count];
            for i in 0..count {
                for j in 0..=i {
                    let (product, squares) =
                        (dot(rows[i], rows[j]), dot(rows[i], rows[i]) + dot(rows[j], rows[j]));
                    let value = (product - 0.5 * squares).exp() + sign * (-product - 0.5 * squares).exp();
                    (g[i * count + j], g[j * count + i]) = (each * value, each * value);
                }
            }
            let square = matrix::multiply(&g, &g, count);
            (g, square)
        };
        Self {
            count,
            grams: [gram(1.0), gram(-1.0)],
            weight_variance: EXPLAINED_SHARE * frame.residual_variance,
            noise: (1.0 - EXPLAINED_SHARE) * frame.residual_variance,
            mean: vec![0.0; 2 * count],
            weight: 0.0,
            squares: 0.0,
        }
    }

    /// Adds a release of $\sum a_n s^2$ with noise of this variance, made at the weights of `features`, and updates
    /// them.
    pub(super) fn step(&mut self, features: &mut Features, values: &[f64], variance: f64, weight: f64) {
        let count = self.count;
        let all = self.weight + weight;
        let mut image = vec![0.0; count];
        for (block, (gram, _)) in self.grams.iter().enumerate() {
            let part = block * count..(block + 1) * count;
            matrix::times(gram, count, &features.weights[part.clone()], &mut image);
            for ((mean, value), image) in self.mean[part.clone()].iter_mut().zip(&values[part]).zip(&image) {
                *mean += weight / all * (value + image - *mean);
            }
        }
        self.weight = all;
        self.squares += weight * weight * variance;
        for block in 0..2 {
            let part = block * count..(block + 1) * count;
            let factor = self.factor(block);
            matrix::times(&self.grams[block].0, count, &self.mean[part.clone()], &mut image);
            image.iter_mut().for_each(|x| *x *= self.weight_variance);
            matrix::solve(&factor, count, &mut image);
            features.weights[part].copy_from_slice(&image);
        }
    }

    /// $G$ of cosines (0) or sines (1).
    #[cfg(test)]
    pub(super) fn gram(&self, block: usize) -> &[f64] {
        &self.grams[block].0
    }

    /// $\nu$, with a small positive minimum, so that $K$ can be factorised.
    fn noise_variance(&self) -> f64 {
        let trace: f64 = (0..self.count).map(|k| self.grams[0].0[k * (self.count + 1)]).sum();
        let floor = 1e-6 * self.noise * trace / self.count as f64;
        (self.squares / (self.weight * self.weight)).max(floor)
    }

    /// The Cholesky factor of $K$.
    fn factor(&self, block: usize) -> Vec<f64> {
        let (gram, square) = &self.grams[block];
        let mut k: Vec<f64> =
            gram.iter().zip(square).map(|(g, s)| self.weight_variance * s + self.noise * g).collect();
        let variance = self.noise_variance();
        let mut factor = vec![0.0; k.len()];
        let mut ridge = variance;
        // Rounding matters only if the noise is tiny compared with the square of the precision.
        for _ in 0..RIDGES {
            (0..self.count).for_each(|i| k[i * (self.count + 1)] += ridge);
            if matrix::wide_cholesky(&k, self.count, &mut factor) {
                return factor;
            }
            ridge *= 10.0;
        }
        identity(self.count, ridge.sqrt().recip())
    }

    /// Draws from the posterior of the weights.
    pub(super) fn finish(&self, features: &mut Features, records: f64, seed: u64) -> FitSummary {
        let (count, variance) = (self.count, self.noise_variance());
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut summary = FitSummary { variance: 0.0, freedom: 0.0 };
        features.draws = vec![0.0; DRAWS * 2 * count];
        let mut from_noise = 0.0;
        for block in 0..2 {
            let gram = &self.grams[block].0;
            let (mut factor, mut inverse) = (self.factor(block), vec![0.0; count * count]);
            matrix::inverse(&mut factor, count, &mut inverse);
            let middle: Vec<f64> = gram
                .iter()
                .enumerate()
                .map(|(k, g)| {
                    self.weight_variance
                        * (self.noise * g + if k % (count + 1) == 0 { variance } else { 0.0 })
                })
                .collect();
            let product = matrix::multiply(&inverse, &middle, count);
            let mut covariance: Vec<f64> = (0..count * count)
                .map(|k| 0.5 * (product[k] + product[k % count * count + k / count]))
                .collect();
            summary.variance += dot(&covariance, gram) / records;
            // The covariance is linear in the noise: this is the part of it with nu.
            from_noise += self.weight_variance * variance * dot(&inverse, gram) / records;
            let trace: f64 = (0..count).map(|k| covariance[k * (count + 1)]).sum();
            summary.freedom += (count as f64 - trace / self.weight_variance).max(0.0);
            // Rounding may make the covariance indefinite; the prior's is an upper bound of it.
            let mut ridge = 1e-6 * self.weight_variance;
            while !matrix::wide_cholesky(&covariance, count, &mut factor) {
                (0..count).for_each(|k| covariance[k * (count + 1)] += ridge);
                ridge *= 2.0;
                if ridge.is_nan() || ridge > 1e6 * self.weight_variance {
                    factor = identity(count, self.weight_variance.sqrt().recip());
                    break;
                }
            }
            let scale = (DRAWS as f64).sqrt().recip();
            for draw in features.draws.chunks_exact_mut(2 * count) {
                let normal: Vec<f64> = (0..count)
                    .map(|_| -> f64 { StandardNormal.sample(&mut rng) })
                    .map(|x| x * scale)
                    .collect();
                matrix::times_factor(&factor, count, &normal, &mut draw[block * count..(block + 1) * count]);
            }
        }
        features.privacy_share = (from_noise / summary.variance).clamp(0.0, 1.0);
        summary
    }
}

/// A multiple of the identity; as a Cholesky factor it has the reciprocals of its diagonal.
fn identity(size: usize, by: f64) -> Vec<f64> {
    (0..size * size).map(|k| if k % (size + 1) == 0 { by } else { 0.0 }).collect()
}

/// Summary of a fitted function.
pub(super) struct FitSummary {
    /// The mean posterior variance of the function, over Gaussian inputs.
    pub(super) variance: f64,
    /// Effective degrees of freedom: the number of weights determined by the records rather than the prior.
    pub(super) freedom: f64,
}
