//! Algorithm 5 of the paper: variational Bayes for logistic regression.

use super::{dot, features, weight};
use crate::engine::vb::{ExpectationModel, ExpectedSums, Share};
use crate::family::Gamma;
use crate::matrix;
use crate::model::polya_gamma;
use crate::symmetric;
use crate::wall::Geometry;

/// Bayesian logistic regression by variational Bayes: $q(w) = N(m, V)$ for the weights and, last, the bias; a gamma for their precision.
///
/// The statistics of a record are $(y - \frac12)x$ and $E[\omega]xx^T$, the latter in [isometric coordinates](symmetric). Records whose inputs
/// are longer than `radius` count less, as a public function of their own inputs; nothing depends on the longest one.
#[derive(Debug, Clone, PartialEq)]
pub struct VariationalLogistic {
    /// $m$.
    pub mean: Vec<f64>,
    /// $V$.
    pub covariance: Vec<f64>,
    /// Of the precision $\alpha$ of the weights.
    pub precision: Gamma,
    prior: Gamma,
    radius: f64,
}

/// What the E-step needs to know of the weights.
pub struct SecondMoments(Vec<f64>);

impl VariationalLogistic {
    /// Before any record, for inputs that are usually no longer than `radius` with the 1 of the bias.
    #[must_use]
    pub fn new(inputs: usize, prior: Gamma, radius: f64) -> Self {
        let d = inputs + 1;
        let mut covariance = vec![0.0; d * d];
        (0..d).for_each(|k| covariance[k * (d + 1)] = 1.0 / prior.mean());
        Self { mean: vec![0.0; d], covariance, precision: prior, prior, radius }
    }

    fn size(&self) -> usize {
        self.mean.len()
    }

    /// The domain of statistics, with the scales that make the sum of all noise variances least.
    ///
    /// # Privacy
    /// $\lVert v(y - \frac12)x\rVert \le r/2$ and $\lVert v E[\omega]xx^T\rVert_F \le r^2/4$ for the weight $v = \min(1, r^2/\lVert x\rVert^2)$. Attacked by
    /// `statistics_stay_within_their_reach`.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        let (d, r) = (self.size(), self.radius);
        Share::geometry(&[
            Share { width: d, reach: 0.5 * r, weight: 1.0 },
            Share { width: symmetric::width(d), reach: 0.25 * r * r, weight: 1.0 },
        ])
    }

    /// What a record adds to the evidence lower bound, at the optimal local variable: for records that are public.
    #[must_use]
    pub fn bound(&self, expectations: &SecondMoments, record: &[f64]) -> f64 {
        let (x, target) = features(record);
        let c = expectations.scale(&x);
        let weight = weight(&x, self.radius);
        weight * (0.5 * target * dot(&x, &self.mean) - polya_gamma::log_normaliser(c))
    }

    /// The divergence of the globals from their priors, which the evidence lower bound is less by.
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
    fn scale(&self, x: &[f64]) -> f64 {
        let rows = self.0.chunks_exact(x.len());
        x.iter().zip(rows).map(|(xi, row)| xi * dot(row, x)).sum::<f64>().max(0.0).sqrt()
    }
}

impl ExpectationModel for VariationalLogistic {
    type Expectations = SecondMoments;

    fn width(&self) -> usize {
        self.size() + symmetric::width(self.size())
    }

    fn condition(&self) -> SecondMoments {
        let d = self.size();
        let square = |k: usize| self.covariance[k] + self.mean[k / d] * self.mean[k % d];
        SecondMoments((0..d * d).map(square).collect())
    }

    fn statistics(&self, expectations: &SecondMoments, record: &[f64], out: &mut [f64]) {
        let (x, target) = features(record);
        let weight = weight(&x, self.radius);
        let omega = weight * polya_gamma::mean(expectations.scale(&x));
        let (first, second) = out.split_at_mut(x.len());
        first.iter_mut().zip(&x).for_each(|(out, x)| *out = 0.5 * weight * target * x);
        super::scores::outer(&x, omega, second);
    }

    /// $V^{-1} = E[\alpha] I + S_2$ and $m = V S_1$; then $q(\alpha)$, by equations 53 and 54.
    fn maximise(&mut self, sums: &ExpectedSums) -> u64 {
        let d = self.size();
        let (first, second) = sums.values.split_at(d);
        let mut precision = vec![0.0; d * d];
        symmetric::from_coordinates(second, d, &mut precision);
        let moved = u64::from(matrix::raise_eigenvalues(&mut precision, d, 0.0));
        let alpha = self.precision.mean();
        (0..d).for_each(|k| precision[k * (d + 1)] += alpha);
        let Some(covariance) = matrix::symmetric_inverse(&precision, d) else { return moved + 1 };
        matrix::times(&covariance, d, first, &mut self.mean);
        self.covariance = covariance;
        let square = dot(&self.mean, &self.mean) + trace(&self.covariance, d);
        self.precision =
            Gamma { shape: self.prior.shape + 0.5 * d as f64, rate: self.prior.rate + 0.5 * square };
        moved
    }
}

fn trace(matrix: &[f64], size: usize) -> f64 {
    (0..size).map(|k| matrix[k * (size + 1)]).sum()
}
