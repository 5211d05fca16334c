//! From the path of the weights to their posterior.
//!
//! Near the solution $\hat w$ scores are linear: a release is $g_t = A(\hat w - w_t) + e_t$, and a step $w_{t+1} = w_t + P_t^{-1}(g_t - \rho w_t)$. So the
//! average $o$ of the last weights is linear too: $o = L\hat w + \sum_t K_t e_t$ with matrices that follow from $A$ and the public
//! $P_t$ and $\rho$. With $\hat w \sim N(w, A^{-1}BA^{-1})$, where $B = bA$ is the variance of the scores,
//!
//! $$o \sim N(Lw + \Delta, S), \qquad S = b FAF^T + \sum_t \tau_t^2 K_tK_t^T + S_A, \qquad L = FA, \quad F = \sum_t K_t,$$
//!
//! and the prior $w \sim N(0, \alpha^{-1}I)$ is conditioned on $o$. $S_A$ is the effect of noise $E$ in the
//! curvature: $FE$ times the remaining distance of the path, $(I - L)w$.
//!
//! With strong weights scores are far from linear on the way from 0, and the curvature at the solution is a fraction of that at the weights at which it
//! was released, mostly along $w$. A matrix that is too large makes the path seem complete, so that the shrinkage by the ridge stays in the weights and
//! the variance is too small: with scores of standard deviation 3, intervals of 95 % covered 36 to 82 %. Both corrections are by [simulated
//! inputs](super::remainder) with the released second moments, at the weights found so far: curvatures are mapped from one place to the other,
//! and $\Delta$ is the path on simulated inputs without noise, minus $Lw$ there. That is post-processing.
//!
//! Few weights say little about the precision $\alpha$ of their prior, least of all where noise hides most of them: the one estimated from the
//! directions that are known would narrow the intervals of the others. So the mean is that for the estimated $\alpha$, and intervals hold for a prior as
//! wide as its hyperprior allows: the covariance is the second moment about that mean for $\alpha$ at its lower 5 % quantile. Records that determine
//! all weights make no difference between both.
//!
//! Under much noise a released curvature, its eigenvalues made positive, is far larger than any that is possible, and would claim information that
//! scores do not have. So it is combined with the curvature of uniform inputs, by the variances of both, before anything is derived from it.

use super::curvature::Curvature;
use super::prior::WeightPrior;
use super::remainder::{Simulated, lower};
use crate::family::Moments;
use crate::math::matrix;

/// Linearisations of the path, each at the weights found by the one before.
const LINEARISATIONS: usize = 8;
/// Iterations of variational Bayes for the precision of the prior, in each.
const ROUNDS: usize = 4;
/// Prior standard deviation of an off-diagonal element of the curvature at weights 0, as a share of the largest element.
const PRIOR_SD: f64 = 0.25;
/// Minimum eigenvalue of a curvature, as a share of their mean.
const MIN: f64 = 0.02;
/// Share of the norm of the noise by which eigenvalues are reduced where the decay of noise is computed.
const NOISE_MARGIN: f64 = 0.5;

/// A number of steps with the same preconditioner and noise.
pub(super) struct Segment {
    /// $P^{-1}$.
    pub(super) inverse: Vec<f64>,
    /// Number of steps.
    pub(super) steps: u64,
    /// Noise standard deviation $\tau$.
    pub(super) noise_sd: f64,
}

/// The path of the weights.
pub(super) struct Path {
    pub(super) legs: [Segment; 2],
    /// $\rho$.
    pub(super) ridge: f64,
    /// Number of final weights that are averaged, at most the steps of the last segment.
    pub(super) averaged: u64,
    /// $o$.
    pub(super) weights: Vec<f64>,
    /// $b$.
    pub(super) variance_ratio: f64,
    /// The bound of residuals.
    pub(super) bound: f64,
    /// The curvature at weights 0 that is expected without a release, and the released one.
    pub(super) expected: Vec<f64>,
    pub(super) first: Curvature,
    /// The weights at which the second curvature was released, and that curvature.
    pub(super) between: Vec<f64>,
    pub(super) second: Curvature,
}

impl Path {
    /// The least eigenvalue of a curvature: no more than the preconditioner has beyond the curvature, so that steps contract in directions
    /// without variation too, as between the levels of a column and the bias.
    fn least(&self, curvature: &Curvature, mean: f64) -> f64 {
        (MIN * mean).min(0.5 * (self.ridge + curvature.spectral()))
    }
}

/// The linear model of $o$.
struct Linear {
    /// $L$, and $F$.
    gain: Vec<f64>,
    sum: Vec<f64>,
    /// $S$ from records, and from noise in the scores.
    records: Vec<f64>,
    scores: Vec<f64>,
}

/// The posterior of the weights, first with and then without the privacy noise; `None` if numbers are not finite.
pub(super) fn posterior(path: &Path, prior: &WeightPrior) -> Option<[Moments; 2]> {
    let n = path.weights.len();
    let curvatures = Curvatures::new(path)?;
    let mut alpha = prior.start();
    let mut found = (path.weights.clone(), vec![0.0; n * n]);
    let (mut naive, mut wide) = (found.clone(), found.clone());
    let mut spread = vec![0.0; n * n];
    for _ in 0..LINEARISATIONS {
        let (linear, o, noise) = curvatures.linearised(path, &found.0, &spread)?;
        spread.clone_from(&linear.scores);
        let known = added(&linear.records, &linear.scores, 1.0);
        for _ in 0..ROUNDS {
            let unknown = unknown_curvature(&linear, prior.moments(alpha)?, noise, n);
            found = given(&o, &linear.gain, &added(&known, &unknown, 1.0), (prior, alpha), n)?;
            alpha = prior.alpha(&found.0, &found.1);
        }
        naive = given(&o, &linear.gain, &linear.records, (prior, alpha), n)?;
        let low = alpha.min(prior.low());
        let unknown = unknown_curvature(&linear, prior.moments(low)?, noise, n);
        wide = given(&o, &linear.gain, &added(&known, &unknown, 1.0), (prior, low), n)?;
    }
    let (far, mut covariance) = wide;
    let gap: Vec<f64> = added(&far, &found.0, -1.0);
    for (row, a) in covariance.chunks_exact_mut(n).zip(&gap) {
        row.iter_mut().zip(&gap).for_each(|(x, b)| *x += a * b);
    }
    found.1 = covariance;
    let moments = [found, naive].map(|(mean, covariance)| Moments { mean, covariance });
    moments.iter().all(|m| m.mean.iter().chain(&m.covariance).all(|x| x.is_finite())).then_some(moments)
}

/// What is known of the curvature, at any weights.
struct Curvatures {
    simulated: Simulated,
    /// At the weights of the second release: by simulated inputs, and with that release.
    at_second: Vec<f64>,
    pooled: Curvature,
}

impl Curvatures {
    fn new(path: &Path) -> Option<Self> {
        let n = path.weights.len();
        let first = path.first.shrunk(&path.expected, PRIOR_SD * path.expected[n * n - 1]);
        let least = path.least(&first, trace(&path.expected, n) / n as f64);
        let (first, _) = first.mapped(|value| value.max(least)).ok()?;
        let simulated = Simulated::new(&first.elements, n, path.bound)?;
        let at_second = simulated.curvature(&path.between, &vec![0.0; n * n]);
        let noise = first.noise * trace(&at_second, n) / trace(&first.elements, n);
        let share = 1.0 / (1.0 + (path.second.noise / noise.max(f64::MIN_POSITIVE)).powi(2));
        let both = at_second.iter().zip(&path.second.elements);
        let elements = both.map(|(first, second)| first + share * (second - first)).collect();
        let pooled = Curvature { size: n, elements, noise: noise * (1.0 - share).sqrt() };
        Some(Self { simulated, at_second, pooled })
    }

    /// The linear model at weights, $o - \Delta$, and the noise of the curvature.
    fn linearised(&self, path: &Path, weights: &[f64], spread: &[f64]) -> Option<(Linear, Vec<f64>, f64)> {
        let n = weights.len();
        let at = self.simulated.curvature(weights, spread);
        let (mut to, mut from) = (vec![0.0; n * n], vec![0.0; n * n]);
        if !(lower(&at, n, &mut to) && lower(&self.at_second, n, &mut from)) {
            return None;
        }
        let map = matrix::multiply(&to, &matrix::general_inverse(&from, n)?, n);
        let here = Curvature {
            size: n,
            elements: matrix::sandwich(&map, &self.pooled.elements, n),
            noise: self.pooled.noise * trace(&at, n) / trace(&self.at_second, n),
        };
        let (spectral, least) = (here.spectral(), path.least(&here, trace(&at, n) / n as f64));
        let (curvature, _) = here.mapped(|value| value.max(least)).ok()?;
        let (reduced, _) = here.mapped(|value| (value - NOISE_MARGIN * spectral).max(0.0)).ok()?;
        let linear = respond(path, &curvature.elements, &reduced.elements, n);
        let mut expected = vec![0.0; n];
        matrix::times(&respond(path, &at, &at, n).gain, n, weights, &mut expected);
        let reached = self.simulated.path(&path.legs, path.ridge, path.averaged, weights);
        let remainder = reached.iter().zip(&expected).map(|(reached, expected)| reached - expected);
        let o = path.weights.iter().zip(remainder).map(|(o, remainder)| o - remainder).collect();
        Some((linear, o, here.noise))
    }
}

/// $L$, $F$ and $S$, by backward recursion along the path: `ahead` is the derivative of the average in the weights at
/// a step.
fn respond(path: &Path, curvature: &[f64], reduced: &[f64], n: usize) -> Linear {
    let zeros = || vec![0.0; n * n];
    let (mut ahead, mut noise_ahead, mut sum, mut scores) = (zeros(), zeros(), zeros(), zeros());
    let mut left = path.averaged;
    let share = 1.0 / path.averaged as f64;
    for leg in path.legs.iter().rev() {
        let inverse = &leg.inverse;
        let kept = |curvature: &[f64]| -> Vec<f64> {
            let mut penalised = curvature.to_vec();
            (0..n).for_each(|k| penalised[k * (n + 1)] += path.ridge);
            let moved = matrix::multiply(inverse, &penalised, n);
            (0..n * n).map(|k| f64::from(u8::from(k % (n + 1) == 0)) - moved[k]).collect()
        };
        let (keeps, noise_keeps) = (kept(curvature), kept(reduced));
        for _ in 0..leg.steps {
            if left > 0 {
                left -= 1;
                (0..n).for_each(|k| {
                    ahead[k * (n + 1)] += share;
                    noise_ahead[k * (n + 1)] += share;
                });
            }
            sum = added(&sum, &matrix::multiply(&ahead, inverse, n), 1.0);
            let noise = matrix::multiply(&noise_ahead, inverse, n);
            let square = matrix::multiply(&noise, &matrix::transpose(&noise, n), n);
            scores = added(&scores, &square, leg.noise_sd.powi(2));
            ahead = matrix::multiply(&ahead, &keeps, n);
            noise_ahead = matrix::multiply(&noise_ahead, &noise_keeps, n);
        }
    }
    let gain = matrix::multiply(&sum, curvature, n);
    let mut records = matrix::sandwich(&sum, curvature, n);
    records.iter_mut().for_each(|x| *x *= path.variance_ratio);
    Linear { gain, sum, records, scores }
}

/// $S_A = \frac12 s^2 F(\mathrm{tr}(D) I + D)F^T$ for the second moments $D$ of $(I - L)w$ before the release, and symmetric noise whose
/// diagonal has standard deviation $s$.
fn unknown_curvature(
    linear: &Linear,
    (mean, mut second): (Vec<f64>, Vec<f64>),
    noise: f64,
    n: usize,
) -> Vec<f64> {
    let to_go: Vec<f64> =
        (0..n * n).map(|k| f64::from(u8::from(k % (n + 1) == 0)) - linear.gain[k]).collect();
    for (row, a) in second.chunks_exact_mut(n).zip(&mean) {
        row.iter_mut().zip(&mean).for_each(|(x, b)| *x += a * b);
    }
    let mut gap = matrix::sandwich(&to_go, &second, n);
    let trace = trace(&gap, n);
    (0..n).for_each(|k| gap[k * (n + 1)] += trace);
    let mut out = matrix::sandwich(&linear.sum, &gap, n);
    out.iter_mut().for_each(|x| *x *= 0.5 * noise * noise);
    out
}

/// The mean and covariance of the weights given $o \sim N(Lw, S)$.
fn given(
    o: &[f64],
    gain: &[f64],
    spread: &[f64],
    (prior, alpha): (&WeightPrior, f64),
    n: usize,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let mut spread = spread.to_vec();
    // Directions without variation, as between the levels of a column and the bias, must not divide by 0.
    let floor = 1e-9 * (trace(&spread, n) / n as f64 + 1e-12);
    (0..n).for_each(|k| spread[k * (n + 1)] += floor);
    let weights = matrix::symmetric_inverse(&spread, n)?;
    let back = matrix::multiply(&matrix::transpose(gain, n), &weights, n);
    let precision = added(&matrix::multiply(&back, gain, n), &prior.precision(alpha), 1.0);
    let precision: Vec<f64> =
        (0..n * n).map(|k| 0.5 * (precision[k] + precision[k % n * n + k / n])).collect();
    let covariance = matrix::symmetric_inverse(&precision, n)?;
    let (mut natural, mut mean) = (vec![0.0; n], vec![0.0; n]);
    matrix::times(&back, n, o, &mut natural);
    let natural = added(&natural, &prior.natural(), 1.0);
    matrix::times(&covariance, n, &natural, &mut mean);
    Some((mean, covariance))
}

fn added(a: &[f64], b: &[f64], by: f64) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + by * b).collect()
}

fn trace(matrix: &[f64], size: usize) -> f64 {
    (0..size).map(|k| matrix[k * (size + 1)]).sum()
}
