//! A private fit that pools scores released at several weights.
//!
//! All inputs are [centred](super::frame) inputs $z$: their means are 0 but for the bias, which is 1. A score $g_s$
//! was released at weights $w_s$. If $w \cdot z$ and $w_s \cdot z$ are jointly normal over records, with means and
//! covariances that follow from the weights of the bias and from the covariance $C$ of inputs, then by Stein's lemma
//! the mean of $g_s$ at weights $w$ is
//!
//! $$4s\,E[h]\,e + s\,c_v C(w - w_s), \qquad h = u(w_s \cdot z)\left(\sigma(w \cdot z) - \sigma(w_s \cdot z)\right), \quad s = \tfrac14\sum v,$$
//!
//! where $c_v$ is 4 times the slope of the regression of $h$ on $(w - w_s) \cdot z$ and $e$ is 1 for the bias and 0 otherwise. With $c_m$, 4 times the mean
//! slope of $h$ in $w \cdot z$, its derivative in $w$ is $J_s = s(c_vC + c_mee^T)$. So all scores are informative
//! about $w$, not only those near the end: the one at $w_s = 0$, from the sums by class, has the largest signal, as
//! slopes are steepest there. A score far from $w$ depends on normality the most: it gets additional noise of a share
//! [`MODEL_ERROR`] of its length. The error of the means of inputs counts as noise too.
//!
//! The weights $\hat w$ at which scores vanish have information $H = \sum_s J_s^2/\tau_s^2$ from the scores, and they
//! estimate those of the population with information $F = J/\varrho$ of the records. Both together leave
//! $F(F + H)^{-1}H$, to which the prior adds the [precisions](super::precision) of columns.
//!
//! # Citation
//! Brillinger, "A generalized linear model with Gaussian regressor variables", 1983, for the slope of regressions on
//! normal inputs.

use super::LogisticPlan;
use super::columns::{Independent, Observation};
use super::frame::{Frame, balance};
use super::precision::Precisions;
use super::products::Inputs;
use super::query::{CentredScores, ClassSums, Products, RESIDUAL_BOUND, score_weight};
use crate::family::Moments;
use crate::math::matrix;
use crate::math::vector::{dot, sigmoid};
use crate::model::FitError;
use crate::wall::{SumId, Wall};

/// Relative error of the mean of a score under the assumption of normality.
pub(super) const MODEL_ERROR: f64 = 0.3;
/// Relative error of the length of the weights, for the same reason.
pub(super) const LENGTH_ERROR: f64 = 0.07;
/// Number of points and half-width, in standard deviations, of quadrature over normal distributions.
const GRID: (usize, f64) = (41, 4.0);
/// Iterations between weights and slopes before the next score.
pub(super) const ROUNDS: usize = 2;
/// Iterations of the final intervals.
pub(super) const LAST_ROUNDS: usize = 4;
/// Maximum ratio of the standard deviation of $w \cdot x$ to that at which scores were released, and its minimum
/// scale.
pub(super) const MAX_EXTRAPOLATION: f64 = 1.25;
/// Minimum noise of a score relative to the sampling variance.
pub(super) const MIN_NOISE: f64 = 1e-4;

/// The posterior of the weights, first with and then without the privacy noise; and how many sums were projected into
/// their domain.
pub(super) fn pool(
    plan: &LogisticPlan,
    records: f64,
    wall: &mut Wall,
    ids: &[SumId],
) -> Result<([Moments; 2], u64), FitError> {
    let columns = &plan.columns;
    let released = wall.sum(ids[0], &ClassSums { columns, radius: plan.radius })?;
    let (known, mut first, mut moved) = Independent::read(&released, columns, records);
    let frame = Frame::new(&known);
    let released = wall.sum(ids[1], &Products { frame: &frame })?;
    let (inputs, raised) = Inputs::read(&known, &frame, &released, columns, records)?;
    moved += u64::from(raised);
    // The score at weights 0, for centred inputs and with the record weights of later scores.
    let by = inputs.scale / known.scale;
    first.score = known.centred(&first.score).iter().map(|g| by * g).collect();
    first.noise.iter_mut().for_each(|noise| *noise *= by * by);
    let mut pooled = Pooled::new(inputs, columns, (plan.prior.shape - 1.0) / plan.prior.rate, first);
    for _ in 0..plan.rounds[0].steps {
        pooled.settle(ROUNDS).ok_or(FitError::Improper)?;
        let weights = pooled.weights.clone();
        let released = wall.sum(ids[2], &CentredScores { weights: &weights, frame: &frame })?;
        let mut score: Vec<f64> = released.values.iter().map(|g| frame.radius * g).collect();
        balance(&mut score, columns);
        let noise = vec![(frame.radius * released.noise_sd[0]).powi(2); score.len()];
        pooled.observations.push(Observation { weights, score, noise });
    }
    pooled.settle(LAST_ROUNDS).ok_or(FitError::Improper)?;
    let moments = pooled.posterior().ok_or(FitError::Improper)?;
    Ok((moments.map(|moments| frame.undo(&moments)), moved))
}

struct Pooled {
    inputs: Inputs,
    precisions: Precisions,
    observations: Vec<Observation>,
    weights: Vec<f64>,
    /// $C^2$.
    square: Vec<f64>,
}

/// The information of all scores about the weights at which they vanish.
struct Evidence {
    /// $H$, and $H$ times those weights.
    information: Vec<f64>,
    natural: Vec<f64>,
    /// Average of the weights at which scores were released.
    centre: Vec<f64>,
}

impl Pooled {
    fn new(inputs: Inputs, columns: &[usize], precision: f64, first: Observation) -> Self {
        let square = matrix::multiply(&inputs.covariance, &inputs.covariance, inputs.size);
        let weights = vec![0.0; inputs.size];
        let precisions = Precisions::new(columns, precision);
        Self { inputs, precisions, observations: vec![first], weights, square }
    }

    /// Finds the weights given all scores so far; `None` if numbers are not finite.
    fn settle(&mut self, rounds: usize) -> Option<()> {
        let n = self.inputs.size;
        for _ in 0..rounds {
            let evidence = self.evidence();
            let (local, ratio) = self.local();
            let records: Vec<f64> = local.iter().map(|x| x / ratio).collect();
            let sum: Vec<f64> = records.iter().zip(&evidence.information).map(|(a, b)| a + b).collect();
            let inverse = matrix::symmetric_inverse(&sum, n)?;
            // F - F(F + H)^-1 F: without noise H is so large that a product with it would be mostly rounding error.
            let lost = matrix::sandwich(&records, &inverse, n);
            let known: Vec<f64> = records.iter().zip(&lost).map(|(f, lost)| f - lost).collect();
            let covariance = matrix::symmetric_inverse(&self.precisions.added_to(&known, n), n)?;
            let (mut solved, mut natural) = (vec![0.0; n], vec![0.0; n]);
            matrix::times(&inverse, n, &evidence.natural, &mut solved);
            matrix::times(&records, n, &solved, &mut natural);
            matrix::times(&covariance, n, &natural, &mut self.weights);
            self.stay_near();
            self.precisions.climb(&known, &natural)?;
            if !self.weights.iter().all(|w| w.is_finite()) {
                return None;
            }
        }
        Some(())
    }

    /// Where scores are nearly flat, noise alone would lead far off: weights are limited to little more than the
    /// distance from 0 at which scores were released.
    fn stay_near(&mut self) {
        let spread = |weights: &[f64]| dot(weights, &self.inputs.times(weights)).max(0.0).sqrt();
        let known =
            self.observations.iter().map(|observation| spread(&observation.weights)).fold(1.0, f64::max);
        let by = MAX_EXTRAPOLATION * known / spread(&self.weights).max(1e-300);
        if by < 1.0 {
            self.weights.iter_mut().for_each(|w| *w *= by);
        }
    }

    /// The posterior including the uncertainty of the inputs, and the one without noise.
    fn posterior(&self) -> Option<[Moments; 2]> {
        let (n, s) = (self.inputs.size, self.inputs.scale);
        let evidence = self.evidence();
        let (local, ratio) = self.local();
        let slope = self.slopes(&self.weights, &self.weights).within;
        let gap: Vec<f64> = self.weights.iter().zip(&evidence.centre).map(|(a, b)| (a - b).powi(2)).collect();
        let records: Vec<f64> = local.iter().map(|x| x / ratio).collect();
        let naive = matrix::symmetric_inverse(&self.precisions.added_to(&records, n), n)?;
        let for_intervals = self.precisions.for_intervals();
        let mut covariance = naive.clone();
        for _ in 0..LAST_ROUNDS {
            // An error of C makes one of J times the distance of the weights from those of the releases, which
            // reduces F.
            let off: Vec<f64> = (0..n).map(|k| gap[k] + covariance[k * (n + 1)]).collect();
            let mut spread: Vec<f64> = local.iter().map(|x| ratio * x).collect();
            for (k, error_variance) in self.inputs.error_variance.chunks_exact(n).enumerate() {
                spread[k * (n + 1)] += (slope * s).powi(2) * dot(error_variance, &off) + 1e-9 * s;
            }
            let records = matrix::sandwich(&local, &matrix::symmetric_inverse(&spread, n)?, n);
            let known = symmetric(&parallel(&records, &evidence.information, n)?, n);
            covariance = matrix::symmetric_inverse(&for_intervals.added_to(&known, n), n)?;
        }
        for (row, a) in covariance.chunks_exact_mut(n).zip(&self.weights) {
            row.iter_mut().zip(&self.weights).for_each(|(x, b)| *x += LENGTH_ERROR * LENGTH_ERROR * a * b);
        }
        let aware = Moments { mean: self.weights.clone(), covariance };
        let naive = Moments { mean: self.weights.clone(), covariance: naive };
        let finite = |m: &Moments| m.mean.iter().chain(&m.covariance).all(|x| x.is_finite());
        (finite(&aware) && finite(&naive)).then_some([aware, naive])
    }

    fn evidence(&self) -> Evidence {
        let (n, s) = (self.inputs.size, self.inputs.scale);
        let bias = n - 1;
        // Coefficients of C^2, and of the square of the bias.
        let (mut within_all, mut between_all) = (0.0, 0.0);
        let (mut natural, mut centre) = (vec![0.0; n], vec![0.0; n]);
        let min_noise =
            MIN_NOISE * s * (0..n).map(|k| self.inputs.covariance[k * (n + 1)]).sum::<f64>() / n as f64;
        for observation in &self.observations {
            let slopes = self.slopes(&observation.weights, &self.weights);
            let (within, between) = (s * slopes.within, s * slopes.between);
            let gap: Vec<f64> = self.weights.iter().zip(&observation.weights).map(|(a, b)| a - b).collect();
            let fallen: Vec<f64> = self.inputs.times(&gap).iter().map(|x| within * x).collect();
            let noise = observation.mean_noise()
                + (4.0 * s * slopes.mean).powi(2) * self.inputs.mean_error_variance
                + MODEL_ERROR * MODEL_ERROR * dot(&fallen, &fallen) / n as f64
                + min_noise;
            let by = 1.0 / noise;
            // The score minus its mean at the current weights, plus J times those.
            let ahead = self.inputs.times(&self.weights);
            let mut information: Vec<f64> =
                (0..n).map(|k| observation.score[k] - fallen[k] + within * ahead[k]).collect();
            information[bias] += between * self.weights[bias] - 4.0 * s * slopes.mean;
            let rotated = self.inputs.times(&information);
            for k in 0..n {
                natural[k] += by * within * rotated[k];
                centre[k] += by * slopes.within.powi(2) * observation.weights[k];
            }
            natural[bias] += by * between * information[bias];
            within_all += by * within * within;
            between_all += by * between * between;
        }
        let mut information: Vec<f64> = self.square.iter().map(|x| within_all * x).collect();
        information[n * n - 1] += between_all;
        centre.iter_mut().for_each(|x| *x *= s * s / within_all);
        Evidence { information, natural, centre }
    }

    /// $J$ of a score at the weights themselves, and the ratio of the variance of scores to it.
    fn local(&self) -> (Vec<f64>, f64) {
        let (n, s) = (self.inputs.size, self.inputs.scale);
        let slopes = self.slopes(&self.weights, &self.weights);
        let mut out: Vec<f64> = self.inputs.covariance.iter().map(|c| s * slopes.within * c).collect();
        out[n * n - 1] += s * slopes.between;
        (out, slopes.ratio)
    }

    /// The dependence of scores at `from` on weights near `to`.
    fn slopes(&self, from: &[f64], to: &[f64]) -> Slopes {
        let bias = self.inputs.size - 1;
        let (start, ahead) = (self.inputs.times(from), self.inputs.times(to));
        Slopes::new(
            (from[bias], dot(from, &start).max(0.0)),
            (to[bias], dot(to, &ahead).max(1e-9)),
            dot(from, &ahead),
        )
    }
}

/// Expectations over two normal variables.
pub(super) struct Slopes {
    /// $c_v$ and $c_m$.
    pub(super) within: f64,
    pub(super) between: f64,
    /// $E[h]$.
    pub(super) mean: f64,
    /// Ratio of the variance of scores to their slope, at the weights.
    pub(super) ratio: f64,
}

impl Slopes {
    /// For the mean and variance of $w_s \cdot x$ and of $w \cdot x$, and their covariance.
    pub(super) fn new(from: (f64, f64), to: (f64, f64), along: f64) -> Self {
        let (count, half_width) = GRID;
        let at = |k: usize| half_width * (2.0 * k as f64 / (count - 1) as f64 - 1.0);
        let slope = along / to.1;
        let rest = (from.1 - slope * along).max(0.0).sqrt();
        let move_of_mean = to.0 - from.0;
        let mut total = 0.0;
        let (mut mean, mut square, mut product, mut steep) = (0.0, 0.0, 0.0, 0.0);
        let (mut fall, mut variance) = (0.0, 0.0);
        for a in (0..count).map(at) {
            let z = to.0 + to.1.sqrt() * a;
            let p = sigmoid(z);
            for b in (0..count).map(at) {
                let density = (-0.5 * (a * a + b * b)).exp();
                let start = from.0 + slope * (z - to.0) + rest * b;
                let q = sigmoid(start);
                let u = score_weight(q, RESIDUAL_BOUND);
                let (h, off) = (u * (p - q), z - start - move_of_mean);
                total += density;
                mean += density * h;
                square += density * off * off;
                product += density * off * h;
                steep += density * u * p * (1.0 - p);
            }
            let (density, u) = ((-0.5 * a * a).exp(), score_weight(p, RESIDUAL_BOUND));
            fall += density * u * p * (1.0 - p);
            variance += density * u * u * p * (1.0 - p);
        }
        let between = 4.0 * steep / total;
        let within = if square > 1e-6 * total { 4.0 * product / square } else { between };
        Self { within, between, mean: mean / total, ratio: variance / fall }
    }
}

/// $F(F + H)^{-1}H$ as $HMFMH + FMHMF$ with $M = (F + H)^{-1}$, which stays positive under rounding.
fn parallel(f: &[f64], h: &[f64], n: usize) -> Option<Vec<f64>> {
    let sum: Vec<f64> = f.iter().zip(h).map(|(a, b)| a + b).collect();
    let inverse = matrix::symmetric_inverse(&sum, n)?;
    let one = matrix::sandwich(&matrix::multiply(h, &inverse, n), f, n);
    let other = matrix::sandwich(&matrix::multiply(f, &inverse, n), h, n);
    Some(one.iter().zip(&other).map(|(a, b)| a + b).collect())
}

/// The symmetric part of a matrix.
fn symmetric(a: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|k| 0.5 * (a[k] + a[(k % n) * n + k / n])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stein's lemma: the slope of the regression of a function of a normal number on it is the mean of its derivative.
    #[test]
    fn slopes_are_those_of_steins_lemma() {
        let (mean, variance) = (-0.7, 2.3f64);
        let slopes = Slopes::new((0.0, 0.0), (mean, variance), 0.0);
        let (mut total, mut level, mut steep) = (0.0, 0.0, 0.0);
        for k in -4000..=4000 {
            let z = f64::from(k) * 2e-3;
            let (density, p) = ((-0.5 * z * z).exp(), sigmoid(mean + variance.sqrt() * z));
            total += density;
            level += density * (p - 0.5);
            steep += density * p * (1.0 - p);
        }
        assert!((slopes.mean - level / total).abs() < 1e-4, "{} {}", slopes.mean, level / total);
        let expected = 4.0 * steep / total;
        assert!((slopes.between - expected).abs() < 1e-3 && (slopes.within - expected).abs() < 1e-3);
    }

    /// A score at the weights themselves has mean 0 and one slope; if inputs have no effect, that of weights 0.
    #[test]
    fn scores_at_the_weights_vanish() {
        let slopes = Slopes::new((0.4, 1.7), (0.4, 1.7), 1.7);
        assert!(slopes.mean.abs() < 1e-12 && (slopes.within - slopes.between).abs() < 1e-12);
        let flat = Slopes::new((0.0, 0.0), (0.0, 1e-9), 0.0);
        assert!((flat.within - 1.0).abs() < 1e-4 && (flat.ratio - 1.0).abs() < 1e-4);
    }

    /// For commuting matrices it is the scalar formula: 1/(1/2 + 1/3) = 6/5.
    #[test]
    fn information_in_series_adds_as_reciprocals() {
        let known = parallel(&[2.0, 0.0, 0.0, 4.0], &[3.0, 0.0, 0.0, 4.0], 2).expect("positive");
        assert!((known[0] - 1.2).abs() < 1e-14 && (known[3] - 2.0).abs() < 1e-14 && known[1] == 0.0);
    }
}
