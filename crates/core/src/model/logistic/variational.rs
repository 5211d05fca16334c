//! Algorithm 5 of the paper: variational Bayes for logistic regression.

use super::{features, weight, write_features};
use crate::engine::vb::{ExpectationModel, ExpectedSums, Share};
use crate::family::Gamma;
use crate::math::matrix;
use crate::math::symmetric;
use crate::math::vector::dot;
use crate::model::polya_gamma;
use crate::wall::Geometry;
use reticent_noise::with_wide_vectors;
use std::iter::repeat_n;

/// Bayesian logistic regression by variational Bayes: $q(w) = N(m, V)$ for the weights and, last, the bias; a gamma for their precision.
///
/// The statistics of a record are $(y - \frac12)x$ and $E[\omega]xx^T$, the latter in
/// [isometric coordinates](symmetric). Records whose inputs are longer than `radius` have a smaller weight, as a
/// public function of their own inputs; nothing depends on the longest one.
#[derive(Debug, Clone, PartialEq)]
pub struct VariationalLogistic {
    /// Mean $m$.
    pub mean: Vec<f64>,
    /// Covariance $V$.
    pub covariance: Vec<f64>,
    /// Distribution of the precision $\alpha$ of the weights.
    pub precision: Gamma,
    prior: Gamma,
    radius: f64,
    /// Scales of the two statistics: divided by them, their joint norm is at most 1.
    units: Vec<f64>,
}

/// Number of inputs in a vector.
const LANES: usize = 8;

/// Second moments $E[ww^T]$ of the weights for the E-step: the upper triangle with off-diagonal elements doubled. Of
/// each eight columns, the rows down to the diagonal, padded with zeros.
pub struct SecondMoments(Vec<[f64; LANES]>);

impl VariationalLogistic {
    /// The prior, for inputs of a typical length of at most `radius` with the constant 1 of the bias.
    #[must_use]
    pub fn new(inputs: usize, prior: Gamma, radius: f64) -> Self {
        let d = inputs + 1;
        let mut covariance = vec![0.0; d * d];
        (0..d).for_each(|k| covariance[k * (d + 1)] = 1.0 / prior.mean());
        let units = Share::scales(&[
            Share { width: d, norm: 0.5 * radius, weight: 1.0 },
            Share { width: symmetric::width(d), norm: 0.25 * radius * radius, weight: 1.0 },
        ]);
        Self { mean: vec![0.0; d], covariance, precision: prior, prior, radius, units }
    }

    fn size(&self) -> usize {
        self.mean.len()
    }

    /// The domain of statistics, with the scales that minimise the sum of all noise variances.
    ///
    /// # Privacy
    /// $\lVert v(y - \frac12)x\rVert \le r/2$ and $\lVert v E[\omega]xx^T\rVert_F \le r^2/4$ for the weight $v = \min(1, r^2/\lVert x\rVert^2)$. Attacked by
    /// `statistics_stay_within_their_clipping_norm`.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        Geometry::Ball { radius: 1.0 }
    }

    /// The scale that each statistic was divided by.
    #[must_use]
    pub fn units(&self) -> Vec<f64> {
        let d = self.size();
        repeat_n(self.units[0], d).chain(repeat_n(self.units[1], symmetric::width(d))).collect()
    }

    /// The contribution of a record to the evidence lower bound, at the optimal local variable: for public records.
    #[must_use]
    pub fn bound(&self, expectations: &SecondMoments, record: &[f64]) -> f64 {
        let (x, target) = features(record);
        let c = expectations.scale(&x);
        let weight = weight(&x, self.radius);
        weight * (0.5 * target * dot(&x, &self.mean) - polya_gamma::log_normaliser(c))
    }

    /// The divergence of the globals from their priors, which is subtracted in the evidence lower bound.
    #[must_use]
    pub fn divergence(&self) -> f64 {
        let d = self.size();
        let mut l = vec![0.0; d * d];
        if !matrix::cholesky(&self.covariance, d, &mut l) {
            return f64::INFINITY;
        }
        let alpha = self.precision.mean();
        let square = dot(&self.mean, &self.mean) + trace(&self.covariance, d);
        // -E[log p(w|alpha)] - H[q(w)] + KL(q(alpha), p(alpha)).
        0.5 * (alpha * square
            - d as f64
            - d as f64 * self.precision.mean_log()
            - matrix::log_determinant(&l, d))
            + self.precision.kl(self.prior)
    }
}

impl SecondMoments {
    /// $c = \sqrt{x^T E[ww^T] x}$.
    #[inline(always)]
    fn scale(&self, x: &[f64]) -> f64 {
        let (mut rest, mut square) = (&self.0[..], 0.0);
        for first in (0..x.len()).step_by(LANES) {
            let end = x.len().min(first + LANES);
            let (rows, after) = rest.split_at(end);
            rest = after;
            // Two independent accumulators shorten the dependency chain.
            let (mut even, mut odd) = ([0.0; LANES], [0.0; LANES]);
            let ((pairs, last), x_pairs) = (rows.as_chunks::<2>(), x.as_chunks::<2>().0);
            for ([a, b], [x, y]) in pairs.iter().zip(x_pairs) {
                for k in 0..LANES {
                    even[k] += a[k] * x;
                    odd[k] += b[k] * y;
                }
            }
            for row in last {
                for k in 0..LANES {
                    even[k] += row[k] * x[end - 1];
                }
            }
            for (k, x) in x[first..end].iter().enumerate() {
                square += x * (even[k] + odd[k]);
            }
        }
        square.max(0.0).sqrt()
    }
}

impl ExpectationModel for VariationalLogistic {
    type Expectations = SecondMoments;

    fn width(&self) -> usize {
        self.size() + symmetric::width(self.size())
    }

    fn condition(&self) -> SecondMoments {
        let d = self.size();
        let square = |i: usize, j: usize| self.covariance[i * d + j] + self.mean[i] * self.mean[j];
        let twice = |i: usize, j: usize| if i < j { 2.0 } else { f64::from(u8::from(i == j)) };
        let upper = |i: usize, j: usize| if j < d { twice(i, j) * square(i, j) } else { 0.0 };
        let blocks =
            (0..d).step_by(LANES).flat_map(|first| (0..d.min(first + LANES)).map(move |i| (i, first)));
        SecondMoments(blocks.map(|(i, first)| std::array::from_fn(|k| upper(i, first + k))).collect())
    }

    fn statistics(&self, expectations: &SecondMoments, record: &[f64], out: &mut [f64]) {
        let (first, second) = out.split_at_mut(self.size());
        let target = write_features(record, first);
        with_wide_vectors(
            #[inline(always)]
            || {
                let weight = weight(first, self.radius);
                let omega = weight * polya_gamma::mean(expectations.scale(first));
                outer(first, omega / self.units[1], second);
                first.iter_mut().for_each(|x| *x *= 0.5 * weight * target / self.units[0]);
            },
        );
    }

    /// $V^{-1} = E[\alpha] I + S_2$ and $m = V S_1$; then $q(\alpha)$, by equations 53 and 54.
    fn maximise(&mut self, sums: &ExpectedSums) -> u64 {
        let d = self.size();
        let (first, second) = sums.values.split_at(d);
        let mut precision = vec![0.0; d * d];
        symmetric::from_coordinates(second, d, &mut precision);
        precision.iter_mut().for_each(|x| *x *= self.units[1]);
        // Sums that are not finite change nothing, and count as moved.
        let Ok(moved) = matrix::raise_eigenvalues(&mut precision, d, 0.0).map(u64::from) else { return 1 };
        let alpha = self.precision.mean();
        (0..d).for_each(|k| precision[k * (d + 1)] += alpha);
        let Some(covariance) = matrix::symmetric_inverse(&precision, d) else { return moved + 1 };
        matrix::times(&covariance, d, first, &mut self.mean);
        self.mean.iter_mut().for_each(|m| *m *= self.units[0]);
        self.covariance = covariance;
        let square = dot(&self.mean, &self.mean) + trace(&self.covariance, d);
        self.precision =
            Gamma { shape: self.prior.shape + 0.5 * d as f64, rate: self.prior.rate + 0.5 * square };
        moved
    }
}

/// $by\,xx^T$ in isometric coordinates.
#[inline(always)]
fn outer(x: &[f64], by: f64, out: &mut [f64]) {
    let mut rest = out;
    for (i, a) in x.iter().enumerate() {
        let (row, after) = rest.split_at_mut(x.len() - i);
        let both = a * by * std::f64::consts::SQRT_2;
        row.iter_mut().zip(&x[i..]).for_each(|(out, b)| *out = both * b);
        row[0] = a * by * a;
        rest = after;
    }
}

fn trace(matrix: &[f64], size: usize) -> f64 {
    (0..size).map(|k| matrix[k * (size + 1)]).sum()
}
