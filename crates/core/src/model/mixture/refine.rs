//! DP-SEP in centred coordinates, with the response of the released sums known from the model.
//!
//! The centred site of a record times $s^2$ is, to first order in $V_k/s^2$, the weighted residual
//! $f_k = r_k(x - m_k)$. The residuals of all components, and the responsibilities $c(r_k - 1/J)$, are one vector,
//! clipped once. The precision of the sites is *not* released. It would add to the width and the norm of the vector,
//! and follows from the model: given the means, sites have an expected precision, and clipped sites an expected
//! response to the true means $\mu$,
//!
//! $$E\Big[\sum_n f(x_n)\Big] = b + H(\mu - m) + \dots, \qquad H = N\,E[f\,\nabla_\mu \log p(x)^T], \quad K = N\,E[ff^T].$$
//!
//! $H$, $K$ and $b$ are averages over records simulated from the model, so they are public, and they include the
//! effect of clipping.
//! A released sum $g = \sum f + e - b$ with noise $e \sim N(0, \sigma^2 I)$ is then a linear observation of the means, and the optimal damping
//! is a Kalman filter's: $\Sigma \leftarrow (\Sigma^{-1} + H^TH/\sigma^2)^{-1}$, $m \leftarrow m + \Sigma H^T g/\sigma^2$. $\Sigma$ is the covariance of the noise in $m$; that
//! of the records is $H^{-1} K H^{-T}$, and the reported covariance is the sum of both.

use crate::engine::SiteModel;
use crate::family::{Covariance, Moments};
use crate::math::matrix;
use crate::model::mixture::query::WeightedResiduals;
use crate::model::mixture::sketch::Start;
use crate::model::mixture::{Component, Mixture, MixtureCavity, MixturePosterior, normal, public_rng};
use crate::wall::{Query, Released, WallError};

/// The linear response of sums of clipped residuals to the means.
struct Response {
    h: Vec<f64>,
    k: Vec<f64>,
    bias: Vec<f64>,
    /// $N E[\nabla\log p\,\nabla\log p^T]$.
    information: Vec<f64>,
    /// Average share of a contribution after clipping.
    kept: f64,
}

/// Public inputs of the refinement.
pub(super) struct Refine<'a> {
    pub model: &'a Mixture,
    pub records: f64,
    pub noise_variance: f64,
    pub clip: f64,
    pub count_scale: f64,
    /// Simulated records behind each response.
    pub draws: usize,
}

impl Refine<'_> {
    /// The response at these means, if the true ones are `means` plus a draw from $N(0, \Sigma)$. By antithetic
    /// draws, with public randomness.
    fn response(
        &self,
        residuals: &WeightedResiduals<&MixtureCavity>,
        means: &[f64],
        sigma: &[f64],
    ) -> Response {
        let (j, d) = (residuals.components, residuals.dimension);
        let size = j * d;
        let mut l = vec![0.0; size * size];
        let known = !matrix::cholesky(sigma, size, &mut l);
        let mut rng = public_rng(4);
        let mut response = Response {
            h: vec![0.0; size * size],
            k: vec![0.0; size * size],
            bias: vec![0.0; size],
            information: vec![0.0; size * size],
            kept: 0.0,
        };
        let (mut truth, mut shift, mut score) = (vec![0.0; size], vec![0.0; size], vec![0.0; size]);
        let (mut record, mut scatter, mut z) = (vec![0.0; d], vec![0.0; d], vec![0.0; size]);
        let (mut f, mut r) = (vec![0.0; residuals.width()], vec![0.0; j]);
        let pairs = (self.draws / (2 * j)).max(1);
        for k in 0..j {
            for _ in 0..pairs {
                scatter.iter_mut().for_each(|x| *x = self.noise_variance.sqrt() * normal(&mut rng));
                z.iter_mut().for_each(|x| *x = normal(&mut rng));
                if !known {
                    matrix::times_factor(&l, size, &z, &mut shift);
                }
                for sign in [1.0, -1.0] {
                    (0..size).for_each(|u| truth[u] = means[u] + sign * shift[u]);
                    (0..d).for_each(|i| record[i] = truth[k * d + i] + sign * scatter[i]);
                    residuals.contribute(&record, &mut f);
                    let norm = f.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let kept = if norm > self.clip { self.clip / norm } else { 1.0 };
                    self.score(&truth, &record, &mut r, &mut score);
                    response.kept += kept;
                    for u in 0..size {
                        let residual = kept * f[u];
                        // The score has mean zero: subtracting it as a control variate reduces the variance.
                        response.bias[u] += residual - self.noise_variance * score[u];
                        if residual.abs() + score[u].abs() < 1e-9 {
                            continue;
                        }
                        for v in 0..size {
                            response.h[u * size + v] += residual * score[v];
                            response.k[u * size + v] += residual * kept * f[v];
                            response.information[u * size + v] += score[u] * score[v];
                        }
                    }
                }
            }
        }
        let total = (2 * pairs * j) as f64;
        response.kept /= total;
        let parts = [&mut response.h, &mut response.k, &mut response.bias, &mut response.information];
        parts.into_iter().flatten().for_each(|x| *x *= self.records / total);
        response
    }

    /// $\nabla_\mu \log p(x) = r_k(x - \mu_k)/s^2$ at known means.
    fn score(&self, truth: &[f64], record: &[f64], r: &mut [f64], score: &mut [f64]) {
        let d = record.len();
        let mut top = f64::NEG_INFINITY;
        for (r, mean) in r.iter_mut().zip(truth.chunks_exact(d)) {
            let distance: f64 = record.iter().zip(mean).map(|(x, m)| (x - m).powi(2)).sum();
            *r = -0.5 * distance / self.noise_variance;
            top = top.max(*r);
        }
        r.iter_mut().for_each(|r| *r = (*r - top).exp());
        let total: f64 = r.iter().sum();
        for ((score, mean), r) in score.chunks_exact_mut(d).zip(truth.chunks_exact(d)).zip(&*r) {
            for ((score, x), m) in score.iter_mut().zip(record).zip(mean) {
                *score = r / total * (x - m) / self.noise_variance;
            }
        }
    }

    /// Releases `steps` sums from a start, and returns the posterior of the last state, with the number of
    /// projections of released sizes.
    pub fn run(
        &self,
        start: Start,
        steps: u64,
        mut release: impl FnMut(&WeightedResiduals<&MixtureCavity>) -> Result<Released, WallError>,
    ) -> Result<(MixturePosterior, u64), WallError> {
        let (j, d) = (self.model.components(), self.model.dimension());
        let size = j * d;
        let mut projections = 0;
        let Start { mut means, covariance: mut sigma } = start;
        let each = self.records / j as f64;
        let prior_precision = self.model.prior_precision;
        let full = Mixture {
            family: crate::family::Gaussian { dimension: d, covariance: Covariance::Full },
            ..self.model.clone()
        };
        let mut cavity = MixtureCavity::default();
        let mut precisions: Vec<Vec<f64>> =
            vec![scaled_identity(d, each / self.noise_variance + prior_precision); j];
        let (mut counts, mut count_precision) =
            (vec![each; j], 1.0 / (each * (1.0 - 1.0 / j as f64).max(0.1)));
        for step in 0..=steps {
            // Twice, since the precision of the cavity depends on the information, and that only weakly on the
            // cavity.
            self.condition(&full, &means, &precisions, &mut cavity);
            let residuals = WeightedResiduals {
                cavity: &cavity,
                components: j,
                dimension: d,
                count_scale: self.count_scale,
            };
            let mut response = self.response(&residuals, &means, &sigma);
            for matrix in [&mut response.h, &mut response.k, &mut response.information] {
                for (u, x) in matrix.iter_mut().enumerate() {
                    *x *= (counts[u / size / d] * counts[u % size / d]).sqrt() / each;
                }
            }
            for (k, precision) in precisions.iter_mut().enumerate() {
                *precision = block(&response.information, size, k, d);
                let floor = 0.02 * each / self.noise_variance;
                // Simulated information that is not finite is worth the least.
                if matrix::raise_eigenvalues(precision, d, floor).is_err() {
                    *precision = scaled_identity(d, floor);
                }
                (0..d).for_each(|i| precision[i * (d + 1)] += prior_precision);
            }
            if step == steps {
                return Ok((self.posterior(&means, &sigma, &response), projections));
            }
            self.condition(&full, &means, &precisions, &mut cavity);
            let residuals = WeightedResiduals {
                cavity: &cavity,
                components: j,
                dimension: d,
                count_scale: self.count_scale,
            };
            let released = release(&residuals)?;
            let variance = released.noise_sd[0].powi(2).max(1e-12 * each);
            let (sums, count_sums) = released.values.split_at(size);
            let gap: Vec<f64> = sums.iter().zip(&response.bias).map(|(sum, bias)| sum - bias).collect();
            // Sizes of components: a scalar Kalman filter for each, relative to equal weights.
            let gain = (self.count_scale * response.kept).max(1e-9);
            let precision = gain * gain / variance;
            for (count, sum) in counts.iter_mut().zip(count_sums) {
                let found = each + sum / gain;
                *count = (count_precision * *count + precision * found) / (count_precision + precision);
                // Noise may make a component's size negative.
                if *count < 0.2 * each {
                    *count = 0.2 * each;
                    projections += 1;
                }
            }
            count_precision += precision;
            let total: f64 = counts.iter().sum();
            counts.iter_mut().for_each(|count| *count *= self.records / total);
            // The means.
            let transposed: Vec<f64> =
                matrix::transpose(&response.h, size).iter().map(|x| x / variance).collect();
            let mut precision = matrix::multiply(&transposed, &response.h, size);
            let before = matrix::symmetric_inverse(&sigma, size)
                .unwrap_or_else(|| scaled_identity(size, prior_precision));
            precision.iter_mut().zip(&before).for_each(|(x, y)| *x += y);
            if let Some(after) = matrix::symmetric_inverse(&symmetrised(&precision, size), size) {
                sigma = after;
                let mut pulled = vec![0.0; size];
                matrix::times(&transposed, size, &gap, &mut pulled);
                let mut step = vec![0.0; size];
                matrix::times(&sigma, size, &pulled, &mut step);
                means.iter_mut().zip(&step).for_each(|(mean, step)| *mean += step);
            }
        }
        unreachable!("the last round returns")
    }

    fn condition(&self, full: &Mixture, means: &[f64], precisions: &[Vec<f64>], cavity: &mut MixtureCavity) {
        let d = self.model.dimension();
        let mut natural = Vec::new();
        for (mean, precision) in means.chunks_exact(d).zip(precisions) {
            let mut part = vec![0.0; full.family.width()];
            matrix::times(precision, d, mean, &mut part[..d]);
            full.family.set_precision(precision, &mut part);
            natural.extend(part);
        }
        full.condition(&natural, cavity);
    }

    /// The means with the sampling covariance $H^{-1}KH^{-T}$, and with that of the noise, $\Sigma$; each times the
    /// prior.
    fn posterior(&self, means: &[f64], sigma: &[f64], response: &Response) -> MixturePosterior {
        let (j, d) = (self.model.components(), self.model.dimension());
        let size = j * d;
        let mut h = response.h.clone();
        (0..size).for_each(|u| h[u * (size + 1)] += 1e-3 * self.records / j as f64);
        let wide = || scaled_identity(size, 1.0 / self.model.prior_precision);
        let sampling = matrix::general_inverse(&h, size)
            .map_or_else(wide, |inverse| matrix::sandwich(&inverse, &response.k, size));
        let component = |k: usize| {
            let data = block(&sampling, size, k, d);
            let noise = block(sigma, size, k, d);
            let total: Vec<f64> = data.iter().zip(&noise).map(|(a, b)| a + b).collect();
            let mean = &means[k * d..][..d];
            let alone = self.with_prior(k, mean, &data);
            let Moments { mean, covariance } = self.with_prior(k, mean, &total);
            let noise_covariance: Vec<f64> =
                covariance.iter().zip(&alone.covariance).map(|(a, b)| a - b).collect();
            // Only the means are noisy: the precision is that of the model.
            let expected_kl = matrix::symmetric_inverse(&alone.covariance, d)
                .map_or(f64::MAX, |p| 0.5 * p.iter().zip(&noise_covariance).map(|(p, n)| p * n).sum::<f64>());
            Component {
                mean,
                data_covariance: alone.covariance,
                noise_covariance,
                expected_kl,
                weight: 1.0 / j as f64,
            }
        };
        MixturePosterior { components: (0..j).map(component).collect(), noise_variance: self.noise_variance }
    }

    /// An estimate of a component's mean, combined with its prior.
    fn with_prior(&self, k: usize, mean: &[f64], covariance: &[f64]) -> Moments {
        let d = mean.len();
        let precision = self.model.prior_precision;
        let prior = self.model.prior_mean(k);
        let Some(mut total) = matrix::symmetric_inverse(covariance, d) else {
            return Moments { mean: prior, covariance: scaled_identity(d, 1.0 / precision) };
        };
        let mut shift = vec![0.0; d];
        matrix::times(&total, d, mean, &mut shift);
        for i in 0..d {
            shift[i] += precision * prior[i];
            total[i * (d + 1)] += precision;
        }
        let covariance =
            matrix::symmetric_inverse(&total, d).unwrap_or_else(|| scaled_identity(d, 1.0 / precision));
        let mut mean = vec![0.0; d];
        matrix::times(&covariance, d, &shift, &mut mean);
        Moments { mean, covariance }
    }
}

fn scaled_identity(size: usize, x: f64) -> Vec<f64> {
    (0..size * size).map(|k| if k % (size + 1) == 0 { x } else { 0.0 }).collect()
}

fn block(matrix: &[f64], size: usize, k: usize, d: usize) -> Vec<f64> {
    (0..d * d).map(|ij| matrix[(k * d + ij / d) * size + k * d + ij % d]).collect()
}

fn symmetrised(matrix: &[f64], size: usize) -> Vec<f64> {
    (0..size * size).map(|k| 0.5 * (matrix[k] + matrix[k % size * size + k / size])).collect()
}
