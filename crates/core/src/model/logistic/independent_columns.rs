//! A private fit that pools scores as [`pooled`](super::pooled) does, assuming independent columns.
//!
//! In the [coordinates](super::basis) of independent columns the covariance of inputs is a diagonal $\lambda$, and so
//! is the information of scores: nothing grows faster than the number of weights. Products of inputs are not
//! released. The dependence between columns is estimated from the scores: the squared error of the score at $w_s$
//! that weights $w$ predict is
//!
//! $$(s\,c_v)^2\kappa\,\lambda_k\sum_j\lambda_j(w_j - w_{sj})^2$$
//!
//! on average, if the mean square of correlations is $\kappa$. It is estimated by least squares, and its error counts
//! as noise of the score and reduces the information about the weights.

use super::LogisticPlan;
use super::basis::Basis;
use super::columns::{Independent, Observation};
use super::frame::{Frame, balance};
use super::pooled::{LAST_ROUNDS, LENGTH_ERROR, MAX_EXTRAPOLATION, MIN_NOISE, MODEL_ERROR, ROUNDS, Slopes};
use super::precision::Precisions;
use super::query::{CentredScores, ClassSums};
use crate::family::Moments;
use crate::math::vector::dot;
use crate::model::FitError;
use crate::wall::{SumId, Wall};

/// Prior mean of the mean square of correlations.
const PRIOR_CORRELATED: f64 = 0.01;
/// Maximum of the mean square of correlations.
const MAX_CORRELATED: f64 = 0.25;
/// Prior mean of the weight of a record with centred inputs.
const PRIOR_WEIGHT: f64 = 0.93;

/// The posterior of the weights of centred inputs, first with and then without the privacy noise: covariances are
/// diagonals. Also the centre, and how many sums were projected into their domain.
pub(super) fn independent_columns(
    plan: &LogisticPlan,
    records: f64,
    wall: &mut Wall,
    ids: &[SumId],
) -> Result<([Moments; 2], Frame, u64), FitError> {
    let columns = &plan.columns;
    let released = wall.sum(ids[0], &ClassSums { columns, radius: plan.radius })?;
    let (known, mut first, moved) = Independent::read(&released, columns, records);
    let frame = Frame::new(&known);
    let scale = 0.25 * PRIOR_WEIGHT * records;
    let by = scale / known.scale;
    first.score = known.centred(&first.score).iter().map(|g| by * g).collect();
    balance(&mut first.score, columns);
    let basis = Basis::new(&known, columns);
    first.score = basis.rotated(&first.score);
    first.noise.iter_mut().for_each(|noise| *noise *= by * by);
    let mut state = IndependentColumns {
        scale,
        mean_error_variance: known.mean_noise.min(1.0 / columns.len() as f64),
        precisions: Precisions::new(columns, (plan.prior.shape - 1.0) / plan.prior.rate),
        weights: vec![0.0; plan.size()],
        observations: vec![first],
        found: vec![0.0; plan.size()],
        variance: vec![0.0; plan.size()],
        away: 0.0,
        misfit: Misfit::default(),
        temper: 1.0,
        basis,
    };
    for _ in 0..plan.rounds[0].steps {
        state.settle(ROUNDS).ok_or(FitError::Improper)?;
        let weights = state.basis.back(&state.weights);
        let released = wall.sum(ids[1], &CentredScores { weights: &weights, frame: &frame })?;
        let mut score: Vec<f64> = released.values.iter().map(|g| frame.radius * g).collect();
        balance(&mut score, columns);
        let noise = vec![(frame.radius * released.noise_sd[0]).powi(2); score.len()];
        let score = state.basis.rotated(&score);
        state.observe(Observation { weights: state.weights.clone(), score, noise });
    }
    state.settle(LAST_ROUNDS).ok_or(FitError::Improper)?;
    let moments = state.posterior().ok_or(FitError::Improper)?;
    Ok((moments, frame, moved))
}

/// The state of the fit, in the coordinates of the basis.
struct IndependentColumns {
    basis: Basis,
    /// $s$.
    scale: f64,
    /// Mean error variance of the means of inputs.
    mean_error_variance: f64,
    precisions: Precisions,
    observations: Vec<Observation>,
    weights: Vec<f64>,
    /// The posterior mean and variance of the weights, and their distance from the weights of the releases:
    /// $\sum_j\lambda_j(w_j - w_{sj})^2$.
    found: Vec<f64>,
    variance: Vec<f64>,
    away: f64,
    misfit: Misfit,
    /// Ratio of the observed slope of scores to the one predicted for independent columns.
    temper: f64,
}

/// The error of the assumption of independent columns, by least squares.
#[derive(Default)]
struct Misfit {
    product: f64,
    square: f64,
}

impl Misfit {
    /// Adds one score: its predicted squared error for a mean square of correlations of 1, its observed squared
    /// error, and the variance of that.
    fn add(&mut self, unit: f64, off: f64, prior_variance: f64) {
        let by = 1.0 / prior_variance.max(1e-300);
        self.product += by * unit * off;
        self.square += by * unit * unit;
    }

    /// $\kappa$: the least-squares estimate combined with the prior, whose relative standard deviation is 1.
    fn correlated(&self) -> f64 {
        let usual = 1.0 / (PRIOR_CORRELATED * PRIOR_CORRELATED);
        let found = (self.product + usual * PRIOR_CORRELATED) / (self.square + usual);
        found.clamp(0.0, MAX_CORRELATED)
    }
}

/// The information of a score about the weights.
struct Information {
    slopes: Slopes,
    /// Its expectation at the current weights.
    expected: Vec<f64>,
    /// $\sum_j\lambda_j(w_j - w_{sj})^2$.
    away: f64,
}

impl IndependentColumns {
    fn size(&self) -> usize {
        self.weights.len()
    }

    /// The mean and variance of $w \cdot z$; and its covariance with that of other weights.
    fn along(&self, weights: &[f64], others: &[f64]) -> ((f64, f64), f64) {
        let with = |other: &[f64]| -> f64 {
            self.basis.variance.iter().zip(weights).zip(other).map(|((v, a), b)| v * a * b).sum()
        };
        ((weights[self.size() - 1], with(weights)), with(others))
    }

    fn information(&self, observation: &Observation) -> Information {
        let (from, covariance) = self.along(&observation.weights, &self.weights);
        let (to, _) = self.along(&self.weights, &self.weights);
        let slopes = Slopes::new(from, (to.0, to.1.max(1e-9)), covariance);
        let gap: Vec<f64> = self.weights.iter().zip(&observation.weights).map(|(a, b)| a - b).collect();
        let within = self.temper * self.scale * slopes.within;
        let mut expected: Vec<f64> =
            self.basis.variance.iter().zip(&gap).map(|(v, gap)| within * v * gap).collect();
        expected[self.size() - 1] = 4.0 * self.scale * slopes.mean;
        let away = self.basis.variance.iter().zip(&gap).map(|(v, gap)| v * gap * gap).sum();
        Information { slopes, expected, away }
    }

    /// Adds one more score, at the current weights.
    fn observe(&mut self, now: Observation) {
        let inputs = self.size() - 1;
        let (local, ratio) = self.local();
        // Its square minus the expected contributions of noise, of the uncertainty of the weights, and of sampling.
        let (mut off, mut prior_variance) = (0.0, 0.0);
        for (k, slope) in local[..inputs].iter().enumerate() {
            let expected = slope * (self.found[k] - self.weights[k]);
            let variance = now.noise[k] + slope * slope * self.variance[k] + ratio * slope;
            off += (now.score[k] - expected).powi(2) - variance;
            prior_variance += 2.0 * variance * variance;
        }
        let total: f64 = local[..inputs].iter().sum();
        let steepest = self.basis.variance.iter().sum::<f64>();
        self.misfit.add(total * total / steepest.max(1e-300) * self.away, off, prior_variance);
        if let Some(last) = self.observations.last() {
            // If it points back by more than its noise, the last step was too long.
            let moved: Vec<f64> =
                now.weights.iter().zip(&last.weights).take(inputs).map(|(a, b)| a - b).collect();
            let back = -dot(&moved, &now.score[..inputs]);
            let sd = (dot(&moved, &moved) * now.mean_noise()).sqrt();
            let expected = dot(&moved, &self.information(last).expected[..inputs]);
            if expected > 0.0 {
                self.temper *= 1.0 + ((back - 3.0 * sd) / expected).clamp(0.0, 1.0);
            }
        }
        self.observations.push(now);
    }

    /// Finds the weights given all scores so far; `None` if numbers are not finite.
    fn settle(&mut self, rounds: usize) -> Option<()> {
        for _ in 0..rounds {
            let (information, natural) = self.evidence();
            let (local, ratio) = self.local();
            let gain = |k: usize| local[k] / (local[k] + ratio * information[k]).max(1e-300);
            let known: Vec<f64> = (0..self.size()).map(|k| gain(k) * information[k]).collect();
            let natural: Vec<f64> = (0..self.size()).map(|k| gain(k) * natural[k]).collect();
            let posterior = |precisions: &Precisions| {
                let variance: Vec<f64> =
                    precisions.all().zip(&known).map(|(a, known)| 1.0 / (a + known)).collect();
                let weights = variance.iter().zip(&natural).map(|(v, b)| v * b).collect();
                Some((variance, weights))
            };
            (self.variance, self.found) = posterior(&self.precisions)?;
            self.weights.clone_from(&self.found);
            self.stay_near();
            self.precisions.climb_by(posterior)?;
            if !self.weights.iter().all(|w| w.is_finite()) {
                return None;
            }
        }
        Some(())
    }

    /// Limits the weights to little more than the distance from 0 at which scores were released.
    fn stay_near(&mut self) {
        let spread = |weights: &[f64]| self.along(weights, weights).1.sqrt();
        let known =
            self.observations.iter().map(|observation| spread(&observation.weights)).fold(1.0, f64::max);
        let by = MAX_EXTRAPOLATION * known / spread(&self.weights).max(1e-300);
        if by < 1.0 {
            self.weights.iter_mut().for_each(|w| *w *= by);
        }
    }

    /// The information of scores about each weight, and that times the weight.
    fn evidence(&mut self) -> (Vec<f64>, Vec<f64>) {
        let (n, s) = (self.size(), self.scale);
        let all: Vec<Information> =
            self.observations.iter().map(|observation| self.information(observation)).collect();
        let correlated = self.misfit.correlated();
        let variance = &self.basis.variance;
        let least = MIN_NOISE * s * variance.iter().sum::<f64>() / n as f64;
        let (mut information, mut natural, mut away) = (vec![0.0; n], vec![0.0; n], 0.0);
        for (observation, one) in self.observations.iter().zip(&all) {
            let within = self.temper * s * one.slopes.within;
            let noise = observation.mean_noise()
                + (4.0 * s * one.slopes.mean).powi(2) * self.mean_error_variance
                + MODEL_ERROR * MODEL_ERROR * dot(&one.expected, &one.expected) / n as f64
                + least;
            for k in 0..n {
                let slope = if k + 1 < n { within * variance[k] } else { s * one.slopes.between };
                let off = within * within * correlated * variance[k] * one.away;
                let by = slope / (noise + off);
                information[k] += by * slope;
                away += by * slope * one.away;
                natural[k] += by * (observation.score[k] - one.expected[k] + slope * self.weights[k]);
            }
        }
        self.away = away / information.iter().sum::<f64>().max(1e-300);
        (information, natural)
    }

    /// The slope of scores at the weights themselves, and the ratio of their variance to it.
    fn local(&self) -> (Vec<f64>, f64) {
        let along = self.along(&self.weights, &self.weights).0;
        let slopes = Slopes::new(along, (along.0, along.1.max(1e-9)), along.1);
        let mut out: Vec<f64> = self.basis.variance.iter().map(|v| self.scale * slopes.within * v).collect();
        out[self.size() - 1] = self.scale * slopes.between;
        (out, slopes.ratio)
    }

    /// The posterior including the uncertainty of the inputs, and the one without noise.
    fn posterior(&mut self) -> Option<[Moments; 2]> {
        let n = self.size();
        let (information, _) = self.evidence();
        let (local, ratio) = self.local();
        let naive: Vec<f64> =
            self.precisions.all().zip(&local).map(|(a, local)| 1.0 / (a + local / ratio)).collect();
        let for_intervals = self.precisions.for_intervals();
        let (variance, correlated) = (&self.basis.variance, self.misfit.correlated());
        let mut aware = naive.clone();
        for _ in 0..LAST_ROUNDS {
            let off = self.away + dot(variance, &aware);
            let one = |(k, a): (usize, f64)| {
                // An error of covariances makes one of scores times the error of the weights: it reduces the
                // information of the records.
                let spread = ratio + local[k] / variance[k].max(1e-300) * correlated * off;
                let records = if k + 1 < n { local[k] / spread } else { local[k] / ratio };
                let known = records * information[k] / (records + information[k]).max(1e-300);
                1.0 / (known + a)
            };
            aware = for_intervals.all().enumerate().map(one).collect();
        }
        aware.iter_mut().zip(&self.weights).for_each(|(v, w)| *v += (LENGTH_ERROR * w).powi(2));
        let mean = self.basis.back(&self.weights);
        let all = [aware, naive]
            .map(|variance| Moments { mean: mean.clone(), covariance: self.basis.variances_back(&variance) });
        let finite = |m: &Moments| m.mean.iter().chain(&m.covariance).all(|x| x.is_finite());
        all.iter().all(finite).then_some(all)
    }
}
