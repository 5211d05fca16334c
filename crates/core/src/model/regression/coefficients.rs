//! The posterior of the coefficients, from the moments of all rounds.
//!
//! Let $\theta$ be the least-squares coefficients of the records, of $u = (1, z)$ in the coordinates of the last frame. Round $t$ predicts with
//! coefficients $m_t$, in units of $s_t$, and in its coordinates the records have $\delta_t = D_t(\theta - m_t)$ left to explain, where $D_t$ changes
//! coordinates and units. It releases moments with independent noise: $G_t = \Sigma_t + E_t$ of $u$, and
//! $c_t = \Sigma_t\delta_t + e_t$ of $u$ and the residual. With $\Sigma_t \sim N(\hat G_t, \cdot)$ given $G_t$ and earlier rounds,
//!
//! $$c_t = \hat G_tD_t(\theta - m_t) + (\Sigma_t - \hat G_t)\delta_t + e_t,$$
//!
//! which is linear in $\theta$ with a noise of known covariance, given the second moments of $\delta_t$ before the round. So each round
//! conditions a Gaussian belief about $\theta$: the error after it is $(I - K\hat G_tD_t)$ times the error before, and $K$ times the new noise. The
//! share of earlier errors that a round leaves stays in the covariance, and where noise leaves nothing the prior does.
//!
//! - Prior: $\theta \sim N(0, \tau^2(I + bCC^T))$ for slopes, with $x - \mu = zC$: as if each direction explained the variance $\tau^2$ of targets, and
//!   no narrower than weights of $b\tau^2$ in encoded inputs. $1/\tau^2$ is gamma distributed about the variance of targets.
//! - Records: the error of $\theta$ as an estimate of the population's coefficients is the same in every round, as all have the same
//!   records. So the belief is about $\theta$, with privacy noise only, and $\sigma^2/N$ for each whitened direction is added once.
//! - Clipping weights a record by a number that falls with its residual. That reduces $c_t$ by at most about the share of the weight of records that was
//!   lost, which is counted as a standard deviation. In the last round, little is left to explain, so it matters little.
//!
//! If only the noise of the last round is counted, as if its ridge left nothing of earlier errors, intervals of 95 % cover as little as 15 %:
//! `intervals_of_weights_cover`. Now they cover, in per cent of 1,000 weights (200 data sets of five normal inputs whose bounds, as those of the target,
//! are at four standard deviations; $\delta = 10^{-5}$, replace-one; `table_of_coverage` prints it):
//!
//! | $R^2$, correlation of inputs | records | $\varepsilon = 0.1$ | 1 | 10 |
//! |---|---|---|---|---|
//! | 0.4, none | 300 / 1,000 / 10,000 | 100 / 100 / 96 | 100 / 96 / 96 | 93 / 94 / 96 |
//! | 0.9, none | 300 / 1,000 / 10,000 | 100 / 99 / 98 | 99 / 98 / 96 | 94 / 94 / 96 |
//! | 0.4, 0.8 | 300 / 1,000 / 10,000 | 100 / 98 / 97 | 98 / 98 / 96 | 95 / 95 / 96 |
//! | 0.9, 0.8 | 300 / 1,000 / 10,000 | 99 / 95 / 99 | 92 / 98 / 95 | 96 / 95 / 95 |
//!
//! Where noise hides inputs whose bounds are ten or more standard deviations wide on either side, weights may be larger than the prior expects.

use super::rounds::{Frame, INITIAL_SD};
use crate::math::matrix;
use crate::math::vector::{dot, wide_dot};
use crate::model::CoefficientPrior;
use crate::model::coefficient_prior::StatedPriors;

/// Iterations of the prior variance.
const ROUNDS: usize = 6;

/// The prior variance of a weight over that of targets, where the noise hides the variance of inputs: bounds are at five standard deviations of an input.
const WEIGHT_VARIANCE: f64 = 25.0;

/// Number of directions that each could explain all of the variance of targets: the prior variance of slopes is divided by their
/// number over this one, as together they explain no more with more inputs.
const DIRECTIONS: f64 = 5.0;

/// Prior shape of the precision of slopes.
const SHAPE: f64 = 2.0;

/// Prior mean and standard deviation of the variance of targets: bounds are at four standard deviations.
const TARGET_VARIANCE: f64 = 0.0625;

/// Prior variance of the prediction at the centre.
const CENTRE_VARIANCE: f64 = 0.25;

/// Variance of noise where there is none: rounding errors.
const ROUNDING: f64 = 1e-12;

/// Minimum share of the residual variance that is not due to errors of the prediction.
const MIN_NOISE: f64 = 0.1;

/// The posterior of the coefficients of the linear part, for inputs as they are encoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Coefficients {
    /// The centre of the inputs.
    pub centre: Vec<f64>,
    /// Means: of the prediction at the centre, and of the weight of each input.
    pub mean: Vec<f64>,
    /// Their covariance, row by row, including the privacy noise.
    pub covariance: Vec<f64>,
    /// The part of the covariance that is due to the records; the rest is due to the privacy noise.
    pub records: Vec<f64>,
}

impl Coefficients {
    /// Of a frame; `scale` is that of the residual variance over the frame's.
    pub(super) fn of(frame: &Frame, scale: f64) -> Self {
        let (d, n) = (frame.inputs(), frame.inputs() + 1);
        let mut map = vec![0.0; n * n];
        map[0] = 1.0;
        for (out, row) in map.chunks_exact_mut(n).skip(1).zip(frame.whitening.chunks_exact(d)) {
            out[1..].copy_from_slice(row);
        }
        let mut sampling = frame.records.clone();
        if sampling.is_empty() {
            sampling = vec![0.0; n * n];
            let variances = std::iter::once(frame.sampling.0).chain(std::iter::repeat(frame.sampling.1));
            sampling
                .iter_mut()
                .step_by(n + 1)
                .zip(variances)
                .for_each(|(out, variance)| *out = scale * variance);
        }
        let records = matrix::sandwich(&map, &sampling, n);
        let mut covariance = matrix::sandwich(&map, &frame.covariance, n);
        covariance.iter_mut().zip(&records).for_each(|(x, records)| *x += records);
        let mean = std::iter::once(frame.intercept).chain(frame.weights.iter().copied()).collect();
        Self { centre: frame.centre.clone(), mean, covariance, records }
    }
}

/// The moments of a round.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    /// Coordinates and prediction of the round.
    pub(super) frame: Frame,
    /// $\hat G$.
    pub(super) gram: Vec<f64>,
    /// $c$.
    pub(super) cross: Vec<f64>,
    /// The mean square of the residual.
    pub(super) square: f64,
    /// The mean weight of records: less than 1 if some are clipped.
    pub(super) weight: f64,
    /// Standard deviation of the noise of an off-diagonal element.
    pub(super) noise: f64,
    /// The share of the noise that is left in each element of $\hat G$, as a ratio of variances.
    pub(super) left: Vec<f64>,
}

/// A round in the coordinates of the last frame.
struct Term<'a> {
    round: &'a Observed,
    /// $D$.
    map: Vec<f64>,
    /// $m$.
    start: Vec<f64>,
    /// $\hat GD$.
    slope: Vec<f64>,
    /// $c + \hat GDm$.
    target: Vec<f64>,
}

/// A Gaussian belief about $\theta$.
struct Belief {
    precision: Vec<f64>,
    natural: Vec<f64>,
    mean: Vec<f64>,
    covariance: Vec<f64>,
}

impl<'a> Term<'a> {
    fn new(round: &'a Observed, frame: &Frame) -> Self {
        let (d, n) = (frame.inputs(), frame.inputs() + 1);
        let before = &round.frame;
        let unit = 1.0 / before.residual_variance.sqrt();
        let back = matrix::multiply(&before.colouring, &frame.whitening, d);
        let mut map = vec![0.0; n * n];
        let (first, rest) = map.split_at_mut(n);
        first[0] = unit;
        let rows = rest.chunks_exact_mut(n).zip(back.chunks_exact(d));
        for ((out, row), shift) in rows.zip(before.whitened(&frame.centre)) {
            for ((out, first), x) in out[1..].iter_mut().zip(&mut first[1..]).zip(row) {
                *out = x * unit;
                *first -= shift * x * unit;
            }
        }
        let slopes = frame.colouring.chunks_exact(d).map(|row| dot(row, &before.weights));
        let start: Vec<f64> = std::iter::once(before.predict(&frame.centre)).chain(slopes).collect();
        let slope = matrix::multiply(&round.gram, &map, n);
        let mut target = product(&slope, &start);
        target.iter_mut().zip(&round.cross).for_each(|(target, cross)| *target += cross);
        Self { round, map, start, slope, target }
    }

    /// $\delta$ at coefficients.
    fn left(&self, coefficients: &[f64]) -> Vec<f64> {
        let gap: Vec<f64> = coefficients.iter().zip(&self.start).map(|(a, b)| a - b).collect();
        product(&self.map, &gap)
    }

    /// Conditions a belief. The covariance of the noise is $\mathrm{diag}(v) + bb^T$: if elements of $\Sigma$ have errors of variance
    /// $\omega\nu^2$, twice that on the diagonal, then $(\Sigma - \hat G)\delta$ has variances $\nu^2(\sum_j\omega_{ij}\delta_j^2 +
    /// \omega_{ii}\delta_i^2)$ and covariances $\nu^2\omega_{ij}\delta_i\delta_j$.
    fn condition(&self, belief: &mut Belief) -> Option<()> {
        let n = self.start.len();
        let Observed { cross, weight, left, .. } = self.round;
        let noise = self.round.noise.powi(2);
        let lost = ((1.0 - weight).powi(2) - 2.0 * left[0] * noise).clamp(0.0, 1.0);
        let explained = (dot(cross, cross) - n as f64 * noise).max(0.0);
        let constant = noise + lost * explained + ROUNDING;
        let delta = self.left(&belief.mean);
        // The diagonal of D C D^T.
        let mapped = matrix::multiply(&self.map, &belief.covariance, n);
        let rows = mapped.chunks_exact(n).zip(self.map.chunks_exact(n));
        let variances: Vec<f64> = rows.map(|(mapped, row)| wide_dot(mapped, row)).collect();
        let second: Vec<f64> = delta.iter().zip(&variances).map(|(mean, v)| mean * mean + v).collect();
        let diagonal = left.iter().step_by(n + 1);
        let weights: Vec<f64> = left
            .chunks_exact(n)
            .zip(diagonal.clone().zip(&variances))
            .map(|(row, (own, variance))| {
                1.0 / (constant + noise * (wide_dot(row, &second) + own * variance))
            })
            .collect();
        let shared: Vec<f64> = delta.iter().zip(diagonal).map(|(x, own)| x * (noise * own).sqrt()).collect();
        let weighted = |x: &[f64]| -> Vec<f64> { x.iter().zip(&weights).map(|(x, w)| x * w).collect() };
        let along = across(&self.slope, &weighted(&shared));
        let share = 1.0 / (1.0 + dot(&shared, &weighted(&shared)));
        let by = share * dot(&shared, &weighted(&self.target));
        let gram = matrix::weighted_squares(&self.slope, &weights, n);
        for (k, (precision, gram)) in belief.precision.iter_mut().zip(&gram).enumerate() {
            *precision += gram - share * along[k / n] * along[k % n];
        }
        let natural = across(&self.slope, &weighted(&self.target));
        for ((out, x), along) in belief.natural.iter_mut().zip(&natural).zip(&along) {
            *out += x - by * along;
        }
        belief.covariance = matrix::symmetric_inverse(&belief.precision, n)?;
        belief.mean = product(&belief.covariance, &belief.natural);
        Some(())
    }
}

/// The prior of slopes.
struct Prior {
    /// The inverse of $I + bCC^T$, less the precision of coefficients whose priors are stated.
    inverse: Vec<f64>,
    /// Number of directions whose prior variance is estimated.
    directions: f64,
    /// What stated priors add.
    stated: Option<StatedPriors>,
}

impl Prior {
    fn new(frame: &Frame, priors: &[CoefficientPrior]) -> Option<Self> {
        let d = frame.inputs();
        let transposed = matrix::transpose(&frame.colouring, d);
        let mut shape = matrix::multiply(&frame.colouring, &transposed, d);
        shape.iter_mut().for_each(|x| *x *= WEIGHT_VARIANCE);
        shape.iter_mut().step_by(d + 1).for_each(|x| *x += 1.0);
        let mut inverse = matrix::symmetric_inverse(&shape, d)?;
        let stated = if priors.is_empty() {
            None
        } else {
            // A weight of an encoded input is the product of its row of the whitening and the slopes.
            let row = |prior: &CoefficientPrior| {
                let mut row = vec![0.0; d];
                for &(input, factor) in &prior.weights {
                    let whitening = &frame.whitening[input * d..(input + 1) * d];
                    row.iter_mut().zip(whitening).for_each(|(out, x)| *out += factor * x);
                }
                row
            };
            let stated = StatedPriors::new(priors, &shape, d, row)?;
            inverse.iter_mut().zip(&stated.removed).for_each(|(x, removed)| *x -= removed);
            Some(stated)
        };
        let directions = (d - priors.len()) as f64;
        Some(Self { inverse, directions, stated })
    }

    fn belief(&self, variance: f64, n: usize) -> Option<Belief> {
        let mut precision = vec![0.0; n * n];
        precision[0] = 1.0 / CENTRE_VARIANCE;
        let mut natural = vec![0.0; n];
        for (out, row) in precision.chunks_exact_mut(n).skip(1).zip(self.inverse.chunks_exact(n - 1)) {
            out[1..].iter_mut().zip(row).for_each(|(out, x)| *out = x / variance);
        }
        if let Some(StatedPriors { added, natural: means, .. }) = &self.stated {
            for (out, row) in precision.chunks_exact_mut(n).skip(1).zip(added.chunks_exact(n - 1)) {
                out[1..].iter_mut().zip(row).for_each(|(out, x)| *out += x);
            }
            natural[1..].copy_from_slice(means);
        }
        let covariance = matrix::symmetric_inverse(&precision, n)?;
        let mean = product(&covariance, &natural);
        Some(Belief { precision, natural, mean, covariance })
    }

    /// The expected $\theta^T(I + bCC^T)^{-1}\theta$ of slopes, without the directions of stated coefficients.
    fn square(&self, belief: &Belief) -> f64 {
        let (slopes, n) = (&belief.mean[1..], belief.mean.len());
        let covariance = belief.covariance.chunks_exact(n).skip(1);
        let rows = self.inverse.chunks_exact(n - 1).zip(slopes).zip(covariance);
        rows.map(|((row, slope), covariance)| slope * dot(row, slopes) + dot(row, &covariance[1..])).sum()
    }
}

/// Sets prediction, residual variance and covariance of a frame by all rounds so far. Returns the standard deviation of the error of the residual
/// variance, relative to it; `None` if a matrix is not positive definite.
pub(super) fn infer(
    frame: &mut Frame,
    rounds: &[Observed],
    priors: &[CoefficientPrior],
    records: f64,
) -> Option<f64> {
    let (d, n) = (frame.inputs(), frame.inputs() + 1);
    let terms: Vec<Term> = rounds.iter().map(|round| Term::new(round, frame)).collect();
    let last = terms.last()?;
    let prior = Prior::new(frame, priors)?;
    let mut variance = INITIAL_SD * INITIAL_SD;
    let mut belief = prior.belief(variance, n)?;
    let (mut residual, mut error) = (last.round.frame.residual_variance, 1.0);
    for _ in 0..ROUNDS {
        belief = prior.belief(variance, n)?;
        terms.iter().try_for_each(|term| term.condition(&mut belief))?;
        (residual, error) = residual_variance(last, &belief);
        let squares =
            belief.mean[1..].iter().zip(&frame.spread).map(|(slope, spread)| slope * slope * spread);
        let found = residual + squares.sum::<f64>();
        let noise = std::f64::consts::SQRT_2 * last.round.noise * last.round.frame.residual_variance;
        let targets = TARGET_VARIANCE + (found - TARGET_VARIANCE) / (1.0 + (noise / TARGET_VARIANCE).powi(2));
        let rate = (SHAPE - 1.0) * targets * DIRECTIONS / d as f64;
        variance = (rate + 0.5 * prior.square(&belief)) / (SHAPE - 1.0 + 0.5 * prior.directions);
    }
    frame.residual_variance = residual;
    frame.covariance.clone_from(&belief.covariance);
    let noise = (residual - frame.mean_privacy_variance()).max(MIN_NOISE * residual);
    frame.sampling = (noise / (last.round.weight * records), noise / records);
    if prior.stated.is_some() {
        belief = population(frame, &belief, &prior.belief(variance, n)?)?;
    }
    frame.intercept = belief.mean[0];
    for (weight, row) in frame.weights.iter_mut().zip(frame.whitening.chunks_exact(d)) {
        *weight = dot(row, &belief.mean[1..]);
    }
    frame.intercept.is_finite().then_some(error)
}

/// The posterior of the coefficients $\beta$ of the population, given stated priors, and its covariances in the frame. The belief about the coefficients
/// $\theta$ of the records has the precision $\Lambda$ and the natural mean $h$ beside its prior; $\theta \sim N(\beta, S)$ with the diagonal $S$ of the
/// sampling. Then $\beta$ has the precision $(\Lambda^{-1} + S)^{-1} = S^{-1} - S^{-1}(\Lambda + S^{-1})^{-1}S^{-1}$ and the natural mean
/// $S^{-1}(\Lambda + S^{-1})^{-1}h$ beside its prior; without privacy noise they are $S^{-1}$ and $S^{-1}\theta$.
///
/// Without stated priors the prior is far wider than $S$, and the sum of both covariances is the same.
fn population(frame: &mut Frame, belief: &Belief, prior: &Belief) -> Option<Belief> {
    let n = belief.mean.len();
    let sampling: Vec<f64> = std::iter::once(frame.sampling.0)
        .chain(std::iter::repeat_n(frame.sampling.1, n - 1))
        .map(|variance| 1.0 / variance)
        .collect();
    let mut joint: Vec<f64> = belief.precision.iter().zip(&prior.precision).map(|(a, b)| a - b).collect();
    joint.iter_mut().step_by(n + 1).zip(&sampling).for_each(|(x, s)| *x += s);
    let joint = matrix::symmetric_inverse(&joint, n)?;
    let seen: Vec<f64> = belief.natural.iter().zip(&prior.natural).map(|(a, b)| a - b).collect();
    let mut natural = product(&joint, &seen);
    natural.iter_mut().zip(&sampling).for_each(|(x, s)| *x *= s);
    natural.iter_mut().zip(&prior.natural).for_each(|(x, own)| *x += own);
    let mut precision = prior.precision.clone();
    precision.iter_mut().step_by(n + 1).zip(&sampling).for_each(|(x, s)| *x += s);
    frame.records = matrix::symmetric_inverse(&precision, n)?;
    for (k, (x, joint)) in precision.iter_mut().zip(&joint).enumerate() {
        *x -= sampling[k / n] * joint * sampling[k % n];
    }
    let covariance = matrix::symmetric_inverse(&precision, n)?;
    frame.covariance = covariance.iter().zip(&frame.records).map(|(all, records)| all - records).collect();
    let mean = product(&covariance, &natural);
    Some(Belief { precision, natural, mean, covariance })
}

/// The variance of targets about the prediction with the mean coefficients, by the moments of the last round, and the standard deviation of its error,
/// relative to it. The mean square of the residual is released; it is $\sigma^2 + \delta^T\Sigma\delta$, and at the mean $\hat\delta$ there is
/// $(\sigma^2 + \delta^T\Sigma\delta) - \hat\delta^T\Sigma\hat\delta - 2\hat\delta^T\Sigma(\delta - \hat\delta)$ left, whose last term has the mean 0: its variance is added to that of the noise in the square and in $\hat\delta^T\Sigma\hat\delta$.
fn residual_variance(last: &Term, belief: &Belief) -> (f64, f64) {
    let Observed { frame, gram, square, weight, noise, left: doubt, .. } = last.round;
    let delta = last.left(&belief.mean);
    let explained = dot(&delta, &product(gram, &delta)) / weight;
    let along = across(&last.slope, &delta);
    let doubt = doubt.iter().fold(0.0f64, |most, x| most.max(*x));
    let variance = 2.0 * noise.powi(2) * (1.0 + doubt * dot(&delta, &delta).powi(2))
        + 4.0 * dot(&along, &product(&belief.covariance, &along));
    let square = square / weight;
    // The prior of the ratio has mean and standard deviation 1.
    let share = 1.0 / (1.0 + variance);
    let error = (variance * share).sqrt();
    let left = 1.0 + share * (square - explained - 1.0);
    let left = left.max(0.02 * square).max(error).max(ROUNDING);
    ((frame.residual_variance * left).min(1.0), error / left)
}

fn product(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(x.len()).map(|row| wide_dot(row, x)).collect()
}

/// The product of the transpose and a vector.
fn across(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.len()];
    for (row, x) in matrix.chunks_exact(x.len()).zip(x) {
        out.iter_mut().zip(row).for_each(|(out, a)| *out += a * x);
    }
    out
}
