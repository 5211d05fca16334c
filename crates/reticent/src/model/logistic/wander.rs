//! A private fit with the curvature of [independent columns](super::columns).
//!
//! Scores were released at weights $w_s$, each with noise: $g_s = A(\hat w - w_s) + e_s$. So weighted means $\sum_s c_s(g_s + Aw_s) = b$ say
//! $b \sim N(Aw, \varrho A + \nu)$, where $\varrho A$ is the variance of scores and $\nu = \sum_s c_s^2\tau_s^2$. With $w \sim N(0, \alpha^{-1}I)$ the mean of $w$ given $b$ solves
//!
//! $$\left(A + \alpha(\varrho + \nu A^{-1})\right) w = b,$$
//!
//! in which a diagonal stands for $A^{-1}$. The next scores are released there, so that what $A$ leaves out is found out on the way. Scores that were released far from where they vanish depend on $A$ most: they count as if they had noise of
//! a share [`DOUBT`] of their length.

use super::columns::{ClassSums, Independent, Seen, agree};
use super::scores::{Scores, sigmoid};
use super::{LogisticError, LogisticPlan, dot};
use crate::family::{Gamma, Moments};
use crate::wall::{SumId, Wall};

/// How far the curvature of independent columns is off, as a share.
const DOUBT: f64 = 0.3;
/// Precisions $\alpha$ that are thought possible, over that of the prior: from the least to the most, and how many.
const PRECISIONS: (f64, f64, usize) = (0.6, 400.0, 27);
/// Points and reach, in standard deviations, of means over $w \cdot x$.
const GRID: (usize, f64) = (401, 5.0);
/// The curvature of a weighted score at weights 0, over $\lVert x\rVert^2$.
const STEEPEST: f64 = 0.25;

/// The posterior of the weights with independent ones, first with and then without the privacy noise: covariances are diagonals. And how many sums
/// noise had pushed out of their domain.
pub(super) fn wander(
    plan: &LogisticPlan,
    wall: &mut Wall,
    ids: &[SumId],
) -> Result<([Moments; 2], u64), LogisticError> {
    let (columns, radius) = (&plan.columns, plan.radius);
    let released = wall.sum(ids[0], &ClassSums { columns, radius })?;
    let (start, first, moved) = Independent::read(&released, columns, plan.records);
    let (mut seen, mut temper) = (vec![first], 1.0);
    for _ in 0..plan.rounds[0].steps {
        let last = &seen[seen.len() - 1];
        let curvature = local(&start, &last.weights, temper).0;
        let weights = Evidence::new(&curvature, &seen).settle(&curvature, plan.prior).0;
        let released = wall.sum(ids[1], &Scores { weights: &weights, radius })?;
        let mut score = released.values;
        agree(&mut score, columns);
        let noise = vec![released.noise_sd[0].powi(2); score.len()];
        let now = Seen { weights, score, noise };
        temper *= steeper(&curvature, last, &now).max(1.0);
        seen.push(now);
    }
    let curvature = local(&start, &seen[seen.len() - 1].weights, temper).0;
    let evidence = Evidence::new(&curvature, &seen);
    let (mean, precision) = evidence.settle(&curvature, plan.prior);
    let (curvature, ratio) = local(&start, &mean, 1.0);
    let diagonal = |noise: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let one = |(k, a): (usize, f64)| 1.0 / (a * a / (ratio * a + noise(k)).max(1e-300) + precision);
        curvature.central().into_iter().enumerate().map(one).collect()
    };
    let aware = Moments { mean: mean.clone(), covariance: diagonal(&|k| evidence.noise[k] + evidence.doubt) };
    let naive = Moments { mean, covariance: diagonal(&|_| 0.0) };
    let finite = aware.mean.iter().chain(&aware.covariance).chain(&naive.covariance).all(|x| x.is_finite());
    if finite { Ok(([aware, naive], moved)) } else { Err(LogisticError::NoDensity) }
}

/// The curvature at these weights, times `temper`; and the ratio $\varrho$ of the variance of scores to it. All of it is taken to fall alike.
fn local(start: &Independent, weights: &[f64], temper: f64) -> (Independent, f64) {
    let (along, spread) = start.along(weights);
    let (slope, variance) = slopes(along, spread.max(0.0));
    (start.scaled(temper * slope / STEEPEST), variance / slope)
}

/// How many times as steep scores were between two releases as the curvature says, less two standard deviations of the noise.
fn steeper(curvature: &Independent, last: &Seen, now: &Seen) -> f64 {
    let gap = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a - b).collect() };
    let moved = gap(&now.weights, &last.weights);
    let fallen = dot(&moved, &gap(&last.score, &now.score));
    let sd = (dot(&moved, &moved) * (last.mean_noise() + now.mean_noise())).sqrt();
    let expected = dot(&moved, &curvature.times(&moved));
    if expected > 0.0 { (fallen - 2.0 * sd) / expected } else { 1.0 }
}

/// What all scores say together.
struct Evidence {
    /// $b$.
    natural: Vec<f64>,
    /// $\nu$.
    noise: Vec<f64>,
    /// The variance of what the curvature does not know about scores.
    doubt: f64,
    /// The diagonal that stands for $A$.
    central: Vec<f64>,
}

impl Evidence {
    fn new(curvature: &Independent, seen: &[Seen]) -> Self {
        let size = seen[0].score.len();
        let doubt = |seen: &Seen| {
            let far = dot(&seen.score, &seen.score) / size as f64 - seen.mean_noise();
            DOUBT * DOUBT * far.max(0.0)
        };
        let shares: Vec<f64> =
            seen.iter().map(|seen| 1.0 / (seen.mean_noise() + doubt(seen) + 1e-12)).collect();
        let total: f64 = shares.iter().sum();
        let (mut score, mut weights, mut noise) = (vec![0.0; size], vec![0.0; size], vec![0.0; size]);
        let mut doubts = 0.0;
        for (seen, share) in seen.iter().zip(shares) {
            let c = share / total;
            doubts += c * c * doubt(seen);
            for k in 0..size {
                score[k] += c * seen.score[k];
                weights[k] += c * seen.weights[k];
                noise[k] += c * c * seen.noise[k];
            }
        }
        let natural = curvature.times(&weights).iter().zip(&score).map(|(a, b)| a + b).collect();
        let mut central = curvature.central();
        // That of the bias, which is last, is the scale of all.
        let least = 1e-3 * central[size - 1] / size as f64;
        central.iter_mut().for_each(|a| *a = a.max(least));
        Self { natural, noise, doubt: doubts, central }
    }

    /// The mean of the weights, and the precision of their prior.
    fn settle(&self, curvature: &Independent, prior: Gamma) -> (Vec<f64>, f64) {
        let alpha = self.precision(curvature, prior);
        let shift = |(a, noise): (&f64, &f64)| alpha * (1.0 + noise / a);
        let shift: Vec<f64> = self.central.iter().zip(&self.noise).map(shift).collect();
        (curvature.solve(&shift, &self.natural), alpha)
    }

    /// The posterior mean of $\alpha$: less its mean $b$ is as if $b_k \sim N(0, a_k^2/\alpha + a_k + \nu_k)$, each by itself.
    fn precision(&self, curvature: &Independent, prior: Gamma) -> f64 {
        let centred = curvature.centred(&self.natural);
        let usual = (prior.shape - 1.0) / prior.rate;
        let (low, high, count) = PRECISIONS;
        let at = |k: usize| usual * low * (high / low).powf(k as f64 / (count - 1) as f64);
        let log_density = |alpha: f64| {
            let parts = centred.iter().zip(&self.central).zip(&self.noise);
            let evidence = parts.map(|((b, a), noise)| {
                let variance = a * a / alpha + a + noise;
                -0.5 * (variance.ln() + b * b / variance)
            });
            // Points are even in log alpha, so the density of the prior is that of log alpha.
            evidence.sum::<f64>() + prior.shape * alpha.ln() - prior.rate * alpha
        };
        let logs: Vec<f64> = (0..count).map(|k| log_density(at(k))).collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
        let sum: f64 = weights.iter().enumerate().map(|(k, weight)| weight * at(k)).sum();
        sum / weights.iter().sum::<f64>()
    }
}

/// The means of the curvature $u\,p(1-p)$ and of the variance $u^2p(1-p)$ of a weighted score, over $\lVert x\rVert^2$, for $w \cdot x$ with a normal law.
fn slopes(mean: f64, variance: f64) -> (f64, f64) {
    let (count, reach) = GRID;
    let (mut slope, mut square, mut total) = (0.0, 0.0, 0.0);
    for k in 0..count {
        let z = reach * (2.0 * k as f64 / (count - 1) as f64 - 1.0);
        let density = (-0.5 * z * z).exp();
        // The smaller of p and 1 - p: u p(1-p) is half of it, and u is half over the larger.
        let rare = sigmoid(-(mean + variance.sqrt() * z).abs());
        total += density;
        slope += density * 0.5 * rare;
        square += density * 0.25 * rare / (1.0 - rare);
    }
    (slope / total, square / total)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At weights 0 a score has curvature and variance 1/4; and the mean is that of a fine sum otherwise.
    #[test]
    fn slopes_are_means_over_the_law_of_the_scores() {
        let (slope, square) = slopes(0.0, 0.0);
        assert!((slope - 0.25).abs() < 1e-12 && (square - 0.25).abs() < 1e-12);
        // E[min(p, 1-p)]/2 for z ~ N(0, s^2) with a large s is the integral of sigmoid(-|z|) = 2 ln 2 times the density at 0, over 2.
        let s = 20.0;
        let expected = std::f64::consts::LN_2 / (s * (2.0 * std::f64::consts::PI).sqrt());
        assert!((slopes(0.0, s * s).0 / expected - 1.0).abs() < 0.02);
    }
}
