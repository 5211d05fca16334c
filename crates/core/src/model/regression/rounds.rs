//! Private linear regression by second moments, in rounds.
//!
//! A round releases $\sum_n v_n v_n^T$ for $v = (1, z, r/s)$, clipped to a norm $R$: inputs $z = (x - \mu)T$ in the coordinates of the round
//! before, and the standardised residual $r/s$ of its prediction. From the noisy moments follow a better centre
//! $\mu$, coordinates
//! $T$ in which the inputs are nearer to white, and a correction of the prediction by ridge regression.
//!
//! The noise is the same for all coordinates of $v$. In the first round it hides directions of small variance; in the
//! next, coordinates are rescaled so that those directions have the same variance as the others, as far as the round
//! before could distinguish them from noise. So few rounds find even directions whose variance is thousands of times
//! smaller than the largest. Clipping $v$ as one vector only weights records, and so affects a regression little.
//!
//! # Citation
//! Whitening in rounds: Biswas, Dong, Kamath, Ullman, "CoinPress: practical private mean and covariance estimation", NeurIPS 2020.
//! Regression from noisy moments: Wang, "Revisiting differentially private linear regression", UAI 2018.

use crate::math::matrix::{Eigen, EigenError};
use crate::math::vector::dot;
use crate::math::{matrix, symmetric};
use crate::wall::Released;
use serde::{Deserialize, Serialize};

/// Initial standard deviation of values between -1 and 1.
const INITIAL_SD: f64 = 0.5;

/// Minimum variance of a coordinate without noise: rounding errors, amplified by all rounds, must stay small compared
/// with it, as for the levels of a column, which always sum to 1.
const MIN: f64 = 1e-8;

/// A linear prediction, and coordinates in which inputs are about white.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// $\mu$, about the mean of the inputs.
    pub(super) centre: Vec<f64>,
    /// $T$, with a row for each input: $z = (x - \mu)T$.
    pub(super) whitening: Vec<f64>,
    /// $T^{-1}$, as long as there are further rounds; a saved model does not need it, and its file is half as long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) colouring: Vec<f64>,
    /// Variance of each $z_j$: 1, or less where it is below the noise.
    pub(super) spread: Vec<f64>,
    /// The prediction at the centre.
    pub(super) intercept: f64,
    /// The slope in each $x_i - \mu_i$.
    pub(super) weights: Vec<f64>,
    /// $s^2$: the variance of targets about the prediction.
    pub(super) residual_variance: f64,
    /// The variance of the error of the prediction at the centre, and the coefficient of each $z_j^2$ in it.
    pub(super) uncertainty: (f64, Vec<f64>),
    /// The share of it that is due to the privacy noise; the rest is sampling uncertainty.
    pub(super) privacy_share: f64,
}

impl Frame {
    /// The start: values are between -1 and 1.
    pub(super) fn new(inputs: usize) -> Self {
        let diagonal = |value: f64| {
            (0..inputs * inputs).map(|k| if k % (inputs + 1) == 0 { value } else { 0.0 }).collect()
        };
        Self {
            centre: vec![0.0; inputs],
            whitening: diagonal(1.0 / INITIAL_SD),
            colouring: diagonal(INITIAL_SD),
            spread: vec![1.0; inputs],
            intercept: 0.0,
            weights: vec![0.0; inputs],
            residual_variance: INITIAL_SD * INITIAL_SD,
            uncertainty: (0.0, vec![0.0; inputs]),
            privacy_share: 0.0,
        }
    }

    pub(super) fn inputs(&self) -> usize {
        self.centre.len()
    }

    /// $z$ of a record's inputs, which are clipped to between -1 and 1.
    #[inline]
    pub(super) fn whiten(&self, inputs: &[f64], z: &mut [f64]) {
        let d = z.len();
        z.fill(0.0);
        for ((x, centre), row) in inputs.iter().zip(&self.centre).zip(self.whitening.chunks_exact(d)) {
            let gap = x.clamp(-1.0, 1.0) - centre;
            z.iter_mut().zip(row).for_each(|(z, t)| *z += gap * t);
        }
    }

    /// As `whitened`, in a new vector.
    pub(super) fn whitened(&self, inputs: &[f64]) -> Vec<f64> {
        let mut z = vec![0.0; self.inputs()];
        self.whiten(inputs, &mut z);
        z
    }

    /// The linear prediction of a record's target.
    #[inline]
    pub(super) fn predict(&self, inputs: &[f64]) -> f64 {
        let gaps = inputs.iter().zip(&self.centre).map(|(x, centre)| x.clamp(-1.0, 1.0) - centre);
        self.intercept + gaps.zip(&self.weights).map(|(gap, weight)| gap * weight).sum::<f64>()
    }

    /// The target minus its prediction.
    #[inline]
    pub(super) fn residual(&self, record: &[f64]) -> f64 {
        let (inputs, target) = record.split_at(self.inputs());
        target[0].clamp(-1.0, 1.0) - self.predict(inputs)
    }

    /// The variance of the error of the prediction at $z$.
    pub(super) fn uncertainty(&self, z: &[f64]) -> f64 {
        let (centre, slopes) = &self.uncertainty;
        centre + z.iter().zip(slopes).map(|(z, slope)| z * z * slope).sum::<f64>()
    }

    /// Its average over inputs.
    pub(super) fn mean_uncertainty(&self) -> f64 {
        let (centre, slopes) = &self.uncertainty;
        centre + dot(&self.spread, slopes)
    }

    /// The norm that $v$ is clipped to: its square is `radius_factor` times the expected sum of squares of its
    /// coordinates, plus 1.
    pub(super) fn radius(&self, radius_factor: f64) -> f64 {
        (1.0 + radius_factor * (self.spread.iter().sum::<f64>() + 1.0)).sqrt()
    }

    /// Updates the frame by released moments over their radius squared; returns whether noise had made the moments
    /// impossible. Those are projected to the nearest possible ones: otherwise a sum of weights that is slightly too
    /// small would make means too large, and with them all covariances, if the inputs are far from the centre.
    ///
    /// # Errors
    /// [`EigenError`] if the moments are not finite, or eigenvalues do not converge: there are no coordinates for the
    /// next round.
    pub(super) fn update(
        &self,
        released: &Released,
        radius: f64,
        records: f64,
    ) -> Result<(Self, bool), EigenError> {
        let (d, n) = (self.inputs(), self.inputs() + 2);
        let unit = radius * radius / records;
        let mut moments = vec![0.0; n * n];
        symmetric::from_coordinates(&released.values, n, &mut moments);
        moments.iter_mut().for_each(|x| *x *= unit);
        let moved = matrix::raise_eigenvalues(&mut moments, n, 0.0)?;
        // Noise of a diagonal element, of an off-diagonal one, and of the matrix in the spectral norm.
        let noise = released.noise_sd[0] * unit;
        let off = noise * std::f64::consts::FRAC_1_SQRT_2;
        let spectral = noise * (2.0 * n as f64).sqrt() + MIN;
        // Clipping shortens the leading 1 as well: this is the remaining weight.
        let weight = moments[0].max(0.2);
        let shrink = 1.0 / (weight * (1.0 + (off / weight).powi(2)));
        let mean_z: Vec<f64> = (1..=d).map(|j| moments[j] * shrink).collect();
        let mean_r = moments[n - 1] * shrink;
        let about =
            |i: usize, j: usize, mean_i: f64, mean_j: f64| moments[i * n + j] / weight - mean_i * mean_j;
        let covariance: Vec<f64> =
            (0..d * d).map(|k| about(k / d + 1, k % d + 1, mean_z[k / d], mean_z[k % d])).collect();
        let cross: Vec<f64> = (0..d).map(|j| about(j + 1, n - 1, mean_z[j], mean_r)).collect();
        let variance_r = about(n - 1, n - 1, mean_r, mean_r);

        let Eigen { values, vectors } = matrix::eigen(&covariance, d)?;
        let along: Vec<f64> = vectors.chunks_exact(d).map(|u| dot(u, &cross)).collect();
        let floored: Vec<f64> = values.iter().map(|&l| l.max(spectral)).collect();
        let ridged: Vec<f64> = values.iter().map(|&l| l.max(0.0) + spectral).collect();
        let mut slope = vec![0.0; d];
        for ((u, c), l) in vectors.chunks_exact(d).zip(&along).zip(&ridged) {
            slope.iter_mut().zip(u).for_each(|(s, u)| *s += u * c / l);
        }
        let significant = values.iter().zip(&along).filter(|(l, _)| **l > spectral);
        let explained: f64 = significant.map(|(l, c)| c * c / l).sum();
        let left = (variance_r - explained).max(0.02 * variance_r.max(noise)).max(noise);
        let deviation = self.residual_variance.sqrt();

        // The new centre, and the prediction there.
        let mut centre = self.centre.clone();
        for (z, row) in mean_z.iter().zip(self.colouring.chunks_exact(d)) {
            centre.iter_mut().zip(row).for_each(|(x, t)| *x += z * t);
        }
        centre.iter_mut().for_each(|x| *x = x.clamp(-1.0, 1.0));
        let mut z = vec![0.0; d];
        self.whiten(&centre, &mut z);
        let beyond: f64 = z.iter().zip(&mean_z).zip(&slope).map(|((z, mean), s)| (z - mean) * s).sum();
        let intercept = self.predict(&centre) + deviation * (mean_r + beyond);
        let mut weights = self.weights.clone();
        for (weight, row) in weights.iter_mut().zip(self.whitening.chunks_exact(d)) {
            *weight += deviation * dot(row, &slope);
        }

        // Coordinates along the eigenvectors, scaled to unit variance where it exceeds the noise.
        let scales: Vec<f64> = floored.iter().map(|l| l.sqrt()).collect();
        let mut whitening = matrix::multiply(&self.whitening, &matrix::transpose(&vectors, d), d);
        let mut colouring = matrix::multiply(&vectors, &self.colouring, d);
        for (row, scale) in colouring.chunks_exact_mut(d).zip(&scales) {
            row.iter_mut().for_each(|x| *x *= scale);
        }
        for row in whitening.chunks_exact_mut(d) {
            row.iter_mut().zip(&scales).for_each(|(x, scale)| *x /= scale);
        }
        // The error of a slope, first from noise in the moments and then from the records, in the new coordinates.
        let from_noise = off * off * (1.0 + dot(&slope, &slope));
        let error = from_noise + left / records;
        let residual_variance = (left * self.residual_variance).min(1.0);
        let from_slopes = |(l, floor): (&f64, &f64)| error * floor / (l * l) * self.residual_variance;
        let frame = Self {
            centre,
            whitening,
            colouring,
            spread: values.iter().zip(&floored).map(|(l, floor)| l.max(0.0) / floor).collect(),
            intercept,
            weights,
            residual_variance,
            uncertainty: (
                error / weight * self.residual_variance,
                ridged.iter().zip(&floored).map(from_slopes).collect(),
            ),
            privacy_share: from_noise / error,
        };
        Ok((frame, moved))
    }
}
