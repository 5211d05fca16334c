//! The effect of noise on a Gaussian posterior.
//!
//! Without noise the posterior is $q = N(\mu, \Sigma)$; with noise it is $p$. These functions give the expected
//! divergence $\mathrm{KL}(q \Vert p)$ of one noisy release, and bound the probability that it reaches $a$.
//!
//! - Noise in the natural parameters, as the algorithm adds it: the precision $L = \Sigma^{-1}$ becomes
//!   $L + F$ and the shift $h = L\mu$ becomes $h + g$. [`expected_kl_isometric`] and [`tail_bound_isometric`] are for
//!   noise with equal variance in [symmetric coordinates](crate::math::symmetric), [`expected_kl`] for equal variance in
//!   every element, [`expected_kl_general`] for any covariance.
//! - Noise in the mean and the covariance, as in the theorem of the paper: [`tail_bound`].
//!
//! They need the posterior without noise. Computed from private data, their values are private too: they are for
//! planning on public or simulated data.
//!
//! Where $p$ is not positive definite, the divergence is infinite. Gaussian noise makes this possible at any scale,
//! however improbable, so the mean divergence is infinite too. `expected_kl` computes the mean of the part that is
//! quadratic in the noise, and the tail bounds have a separate term for the probability of an improper posterior.
//!
//! # Citation
//! Vinaroz, Park, "DP-SEP! Differentially private stochastic expectation propagation", Theorem 4.1 and Section 8.
//! Tropp, "An introduction to matrix concentration inequalities", 2015, Theorem 4.1.1.

use crate::math::matrix::{Eigen, cholesky, eigen, inverse, sandwich, times};
use crate::math::symmetric::{from_coordinates, to_coordinates, width};

/// Noise in the mean and the covariance of a posterior.
///
/// $\mu_p = \mu + e$ and $\Sigma_p = \Sigma + E$ with $e_i \sim N(0, \sigma_1^2)$ and symmetric $E$ with
/// $E_{ij} \sim N(0, \sigma_2^2)$ for $i \le j$, all independent: the noise of Theorem 4.1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MomentNoise {
    /// Standard deviation $\sigma_1$ of the noise of the mean.
    pub mean_sd: f64,
    /// Standard deviation $\sigma_2$ of the noise of the covariance.
    pub covariance_sd: f64,
}

/// Noise in the natural parameters of a posterior, the shift $h = L\mu$ and the precision $L$.
///
/// $h_p = h + g$ and $L_p = L + F$ with $g_i \sim N(0, \sigma_g^2)$ and symmetric $F$ with
/// $F_{ii} \sim N(0, \sigma_F^2)$, all independent. The functions differ in the noise of $F_{ij}$, $i \ne j$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NaturalNoise {
    /// Standard deviation $\sigma_g$ of the noise of the shift.
    pub shift_sd: f64,
    /// Standard deviation $\sigma_F$ of the noise of the precision.
    pub precision_sd: f64,
}

/// A bound of $P(\mathrm{KL}(q \Vert p) \ge a)$ for noise in the mean and the covariance.
///
/// With $S = \Sigma^{-1}$, the minimum over $\rho \in (0, 1)$ of
///
/// $$ d e^{-\rho^2 / 2v} + \frac1a \left[ \frac{\mathrm{tr}(SM)}{4 (1 - \rho)^2} +
/// \frac{\sigma_1^2 \mathrm{tr} S}{2 (1 - \rho)} \right], \quad
/// M = \sigma_2^2 [\mathrm{tr}(S) I + S - \mathrm{diag} S], \quad v = \Vert S^{1/2} M S^{1/2}\Vert, $$
///
/// and at most 1. Here $M = \mathbb{E} E S E$, so
/// $\mathrm{tr}(SM) = \sigma_2^2 [(\mathrm{tr} S)^2 + \mathrm{tr} S^2 - \sum_i S_{ii}^2]$.
///
/// # Proof
/// Let $W = S^{1/2} E S^{1/2}$, with eigenvalues $w_i$. Then
/// $2 \mathrm{KL} = \sum_i [\log(1 + w_i) + 1/(1 + w_i) - 1] + e^T S^{1/2} (I + W)^{-1} S^{1/2} e$.
/// The bracket is $\int_0^{w} t / (1 + t)^2 dt$. If all $w_i \ge -\rho$, it is at most $w_i^2 / 2 (1 - \rho)^2$, and
/// the last term is at most $e^T S e / (1 - \rho)$. Their means without the condition are larger still, and are those
/// of the formula, as $\mathbb{E}\mathrm{tr} W^2 = \mathrm{tr}(SM)$; Markov's inequality gives the second part. The
/// first part is the probability that some $w_i < -\rho$: $-W$ is a Gaussian series of symmetric matrices with
/// $v = \Vert \mathbb{E} W^2\Vert$, for which Theorem 4.1.1 of Tropp bounds $P(\lambda_{\max} \ge \rho)$.
///
/// # Corrections
/// Theorem 4.1 assumes numbers $0 < \tau < 1 + \lambda_{\min}(\Sigma^{-1} E) < A$ for every $E$. None exist, because
/// $E$ is Gaussian. Its bound is proportional to $1/a$, so it falls below the probability that $p$ is not positive
/// definite, which does not depend on $a$ ([`printed_tail_bound`]). The first part above adds that probability. Also,
/// the terms of first order in the noise cancel when the logarithm and the trace are bounded together rather than
/// separately, and the symmetric $W$ replaces $\Sigma^{-1} E$, which has the same eigenvalues but is not symmetric
/// (eqs. 14 and 17).
///
/// # Panics
/// If lengths do not fit, the covariance is not positive definite or `a` is not positive.
#[must_use]
pub fn tail_bound(covariance: &[f64], size: usize, noise: MomentNoise, a: f64) -> f64 {
    assert!(a > 0.0, "a divergence must be positive");
    let precision = inverted(covariance, size);
    let square = iid_square(&precision, size, noise.covariance_sd);
    let variance = largest_eigenvalue(&sandwich(&root(&precision, size), &square, size), size);
    let from_covariance = inner(&precision, &square) / 4.0;
    let from_mean = noise.mean_sd.powi(2) * trace(&precision, size) / 2.0;
    tightest_bound(size, variance, |left| (from_covariance / left + from_mean) / (left * a))
}

/// The right-hand side of Theorem 4.1 as printed, for comparison; it is no valid bound when `a` is large.
///
/// $$ \frac{d}{2a} \left[ \log(1 + m) - 1 + (\sigma_1^2 \mathrm{tr} \Sigma^{-1} + 1)
/// \frac{A + \tau + m - 1}{A \tau} \right], \quad m = \sqrt{2 v \log 2d}, \quad
/// v = d \sigma_2^2 \Vert \Sigma^{-1}\Vert^2. $$
///
/// Here $v = \Vert \mathbb{E} Z Z^T\Vert$ for $Z = \Sigma^{-1} E$. A matrix that is not symmetric needs the larger of
/// this and $\Vert \mathbb{E} Z^T Z\Vert$, but this is the larger: with $\lambda = \Vert \Sigma^{-2}\Vert$ and
/// $B = \lambda I - \Sigma^{-2}$, positive semidefinite,
/// $\mathbb{E} Z^T Z = \sigma_2^2 [(d \lambda - \mathrm{tr} B) I + \mathrm{diag} B - B]$ and
/// $\mathrm{diag} B - B \le \mathrm{tr}(B) I$.
///
/// The theorem assumes that $\tau < 1 + \lambda_{\min}(\Sigma^{-1} E) < A$ (`upper`) always holds. Gaussian noise
/// violates this for any $\tau$ and $A$, and the mean divergence, which the proof divides by $a$ (eq. 5), is
/// infinite. The value is not capped at 1.
///
/// # Panics
/// If lengths do not fit, the covariance is not positive definite, or `tau`, `upper` or `a` is not positive.
#[must_use]
pub fn printed_tail_bound(
    covariance: &[f64],
    size: usize,
    noise: MomentNoise,
    tau: f64,
    upper: f64,
    a: f64,
) -> f64 {
    assert!(
        a > 0.0 && tau > 0.0 && upper > 0.0,
        "a divergence and the bounds of an eigenvalue must be positive"
    );
    let precision = inverted(covariance, size);
    let d = size as f64;
    let variance = d * (noise.covariance_sd * largest_eigenvalue(&precision, size)).powi(2);
    let m = (2.0 * variance * (2.0 * d).ln()).sqrt();
    let from_mean = noise.mean_sd.powi(2) * trace(&precision, size);
    d / (2.0 * a) * (m.ln_1p() - 1.0 + (from_mean + 1.0) * (upper + tau + m - 1.0) / (upper * tau))
}

/// The mean of $\mathrm{KL}(q \Vert p)$ to leading order, for natural noise equal in every element:
/// $F_{ij} \sim N(0, \sigma_F^2)$ for $i \le j$.
///
/// $$ \tfrac14 \mathrm{tr}(\Sigma M) + \tfrac12 [\sigma_g^2 \mathrm{tr} \Sigma + \mu^T M \mu], \quad
/// M = \mathbb{E} F \Sigma F = \sigma_F^2 [\mathrm{tr}(\Sigma) I + \Sigma - \mathrm{diag} \Sigma]. $$
///
/// The divergence is
/// $\tfrac12 [\mathrm{tr} W - \log|I + W| + r^T (L + F)^{-1} r]$ with $W = \Sigma^{1/2} F \Sigma^{1/2}$ and
/// $r = g - F\mu$; the formula is the mean of its quadratic part $\tfrac14 \mathrm{tr} W^2 + \tfrac12 r^T \Sigma r$.
///
/// # Corrections
/// The paper perturbs the mean and the covariance in Theorem 4.1, but its Algorithm 3 perturbs the natural
/// parameters, and this changes the conclusions of its Section 4. A concentrated posterior is affected *less*:
/// $\Sigma$ takes the place of the theorem's $\Sigma^{-1}$. And the divergence is quadratic in the noise: at a given
/// posterior, noise proportional to $1/N$ makes it proportional to $1/N^2$, not $1/N$.
///
/// # Panics
/// If lengths do not fit or the precision is not positive definite.
#[must_use]
pub fn expected_kl(precision: &[f64], mean: &[f64], size: usize, noise: NaturalNoise) -> f64 {
    let covariance = inverted(precision, size);
    let square = iid_square(&covariance, size, noise.precision_sd);
    leading_order(&covariance, mean, size, &square, noise.shift_sd)
}

/// The mean of $\mathrm{KL}(q \Vert p)$ to leading order, for natural noise equal in every
/// [symmetric coordinate](crate::math::symmetric): $F_{ij} \sim N(0, \sigma_F^2 / 2)$ for $i < j$.
///
/// As [`expected_kl`], with $M = \tfrac12 \sigma_F^2 [\mathrm{tr}(\Sigma) I + \Sigma]$:
///
/// $$ \tfrac18 \sigma_F^2 [(\mathrm{tr} \Sigma)^2 + \mathrm{tr} \Sigma^2] + \tfrac12 \sigma_g^2 \mathrm{tr} \Sigma +
/// \tfrac14 \sigma_F^2 [\mathrm{tr}(\Sigma) |\mu|^2 + \mu^T \Sigma \mu]. $$
///
/// # Panics
/// If lengths do not fit or the precision is not positive definite.
#[must_use]
pub fn expected_kl_isometric(precision: &[f64], mean: &[f64], size: usize, noise: NaturalNoise) -> f64 {
    let covariance = inverted(precision, size);
    let square = isometric_square(&covariance, size, noise.precision_sd);
    leading_order(&covariance, mean, size, &square, noise.shift_sd)
}

/// The mean of $\mathrm{KL}(q \Vert p)$ to leading order, for natural noise of any covariance.
///
/// `noise_covariance` is the covariance $C$, row by row, of the noise of the shift followed by the
/// [symmetric coordinates](crate::math::symmetric) of the noise of the precision. The quadratic part of [`expected_kl`] is
/// $x^T K x$ for stacked noise $x$ ($2K$ is the Fisher information), and its mean is $\mathrm{tr}(KC)$. The noise need
/// not be Gaussian, but must have mean zero.
///
/// # Panics
/// If lengths do not fit or the precision is not positive definite.
#[must_use]
pub fn expected_kl_general(precision: &[f64], mean: &[f64], size: usize, noise_covariance: &[f64]) -> f64 {
    let count = size + width(size);
    assert!(mean.len() == size && noise_covariance.len() == count * count, "lengths of mean and noise");
    let covariance = inverted(precision, size);
    let (mut f, mut f_mean, mut u) = (vec![0.0; size * size], vec![0.0; size], vec![0.0; size]);
    let mut total = 0.0;
    for (a, noise_row) in noise_covariance.chunks_exact(count).enumerate() {
        // Row a of K is half the gradient of the quadratic part at the a-th unit vector: u/2 in the shift, and
        // (Sigma F Sigma)/4 - (mu u' + u mu')/4 in the precision, where u = Sigma r.
        let mut unit = vec![0.0; count];
        unit[a] = 1.0;
        from_coordinates(&unit[size..], size, &mut f);
        times(&f, size, mean, &mut f_mean);
        let r: Vec<f64> = unit.iter().zip(&f_mean).map(|(g, f_mean)| g - f_mean).collect();
        times(&covariance, size, &r, &mut u);
        let mut slope = sandwich(&covariance, &f, size);
        for i in 0..size {
            for j in 0..size {
                slope[i * size + j] -= mean[i] * u[j] + u[i] * mean[j];
            }
        }
        let mut row = vec![0.0; count];
        to_coordinates(&slope, size, &mut row[size..]);
        total += inner(&u, &noise_row[..size]) / 2.0 + inner(&row[size..], &noise_row[size..]) / 4.0;
    }
    total
}

/// A bound of $P(\mathrm{KL}(q \Vert p) \ge a)$ for natural noise equal in every
/// [symmetric coordinate](crate::math::symmetric).
///
/// With $\kappa$ the value of [`expected_kl_isometric`], the minimum over $\rho \in (0, 1)$ of
///
/// $$ d e^{-\rho^2 / 2v} + \frac{\kappa}{a (1 - \rho)}, \quad
/// v = \tfrac12 \sigma_F^2 [\mathrm{tr}(\Sigma) \Vert \Sigma\Vert + \Vert \Sigma\Vert^2], $$
///
/// and at most 1.
///
/// # Proof
/// Let $W = \Sigma^{1/2} F \Sigma^{1/2}$, with eigenvalues $w_i$, and $r = g - F\mu$. Then
/// $2 \mathrm{KL} = \sum_i [w_i - \log(1 + w_i)] + r^T \Sigma^{1/2} (I + W)^{-1} \Sigma^{1/2} r$. The bracket is
/// $\int_0^w t / (1 + t) dt$. If all $w_i \ge -\rho$, it is at most $w_i^2 / 2 (1 - \rho)$ and the last term at most
/// $r^T \Sigma r / (1 - \rho)$, so that
/// $\mathrm{KL} \le [\tfrac14 \mathrm{tr} W^2 + \tfrac12 r^T \Sigma r] / (1 - \rho)$. The mean of the bracket is
/// $\kappa$, and without the condition it is larger than with it: Markov's inequality gives the second part. The first
/// is the probability that some $w_i < -\rho$ (Theorem 4.1.1 of Tropp), where
/// $\mathbb{E} W^2 = \tfrac12 \sigma_F^2 \Sigma^{1/2} [\mathrm{tr}(\Sigma) I + \Sigma] \Sigma^{1/2}$ has the
/// eigenvectors of $\Sigma$ and the norm $v$.
///
/// # Panics
/// If lengths do not fit, the precision is not positive definite or `a` is not positive.
#[must_use]
pub fn tail_bound_isometric(
    precision: &[f64],
    mean: &[f64],
    size: usize,
    noise: NaturalNoise,
    a: f64,
) -> f64 {
    assert!(a > 0.0, "a divergence must be positive");
    let covariance = inverted(precision, size);
    let norm = largest_eigenvalue(&covariance, size);
    let variance = noise.precision_sd.powi(2) / 2.0 * (trace(&covariance, size) + norm) * norm;
    let expected = expected_kl_isometric(precision, mean, size, noise);
    tightest_bound(size, variance, |left| expected / (left * a))
}

/// $\tfrac14 \mathrm{tr}(\Sigma M) + \tfrac12 [\sigma_g^2 \mathrm{tr} \Sigma + \mu^T M \mu]$, `square` being $M$.
fn leading_order(covariance: &[f64], mean: &[f64], size: usize, square: &[f64], shift_sd: f64) -> f64 {
    assert!(mean.len() == size, "length of mean");
    let mut moved = vec![0.0; size];
    times(square, size, mean, &mut moved);
    inner(covariance, square) / 4.0 + (shift_sd.powi(2) * trace(covariance, size) + inner(mean, &moved)) / 2.0
}

/// $\mathbb{E} F A F$ for symmetric $A$ and $F$ with independent $F_{ij} \sim N(0, \sigma^2)$, $i \le j$.
///
/// An element of $FAF$ is $\sum_{kl} F_{ik} A_{kl} F_{lj}$, and $F_{ik}$ and $F_{lj}$ are the same element if
/// $i = l, k = j$, which gives $A_{ji}$, or if $i = j, k = l$, which gives $\mathrm{tr} A$ on the diagonal. Where
/// both hold, the term is counted twice, so $\mathrm{diag} A$ is subtracted.
fn iid_square(a: &[f64], size: usize, sd: f64) -> Vec<f64> {
    let trace = trace(a, size);
    let cell = |ij: usize| sd * sd * if ij / size == ij % size { trace } else { a[ij] };
    (0..size * size).map(cell).collect()
}

/// $\mathbb{E} F A F$ for symmetric $A$ and $F$ with independent $F_{ii} \sim N(0, \sigma^2)$ and
/// $F_{ij} \sim N(0, \sigma^2 / 2)$, $i < j$.
///
/// As [`iid_square`] with $\sigma^2 / 2$ for $\sigma^2$, but an element of the diagonal has twice that variance, so
/// that counting it twice is right: $\mathrm{cov}(F_{ik}, F_{lj}) = \tfrac12 \sigma^2 (\delta_{il} \delta_{kj} +
/// \delta_{ij} \delta_{kl})$ without exception, and $\mathbb{E} F A F = \tfrac12 \sigma^2 [\mathrm{tr}(A) I + A]$.
fn isometric_square(a: &[f64], size: usize, sd: f64) -> Vec<f64> {
    let trace = trace(a, size);
    let cell = |ij: usize| sd * sd / 2.0 * (a[ij] + if ij / size == ij % size { trace } else { 0.0 });
    (0..size * size).map(cell).collect()
}

/// The minimum of $d e^{-\rho^2 / 2v}$ + `divergence`$(1 - \rho)$ over a grid of $\rho$, or 1. Each $\rho$ gives a
/// valid bound, so the grid affects tightness but not validity.
fn tightest_bound(size: usize, variance: f64, divergence: impl Fn(f64) -> f64) -> f64 {
    let bound = |rho: f64| size as f64 * (-rho * rho / (2.0 * variance)).exp() + divergence(1.0 - rho);
    (1..1000).map(|k| bound(f64::from(k) / 1000.0)).fold(1.0, f64::min)
}

fn inverted(matrix: &[f64], size: usize) -> Vec<f64> {
    assert!(matrix.len() == size * size, "length of matrix");
    let (mut l, mut out) = (vec![0.0; size * size], vec![0.0; size * size]);
    assert!(cholesky(matrix, size, &mut l), "the matrix must be positive definite");
    inverse(&mut l, size, &mut out);
    out
}

/// The symmetric square root of a positive definite matrix.
fn root(matrix: &[f64], size: usize) -> Vec<f64> {
    found(matrix, size).mapped(|value| value.max(0.0).sqrt())
}

fn largest_eigenvalue(matrix: &[f64], size: usize) -> f64 {
    found(matrix, size).values.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

fn found(matrix: &[f64], size: usize) -> Eigen {
    eigen(matrix, size).expect("the matrix must be finite, and its eigenvalues must converge")
}

fn trace(matrix: &[f64], size: usize) -> f64 {
    (0..size).map(|i| matrix[i * size + i]).sum()
}

/// The inner product; of symmetric matrices, the trace of the product.
fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
#[path = "theory_tests.rs"]
mod tests;
