//! Private linear regression by second moments, in rounds.
//!
//! A round releases $\sum_n v_n v_n^T$ for $v = (1, z, r/s)$, clipped to a norm $R$: inputs $z = (x - \mu)T$ in the coordinates of the round
//! before, and the standardised residual $r/s$ of its prediction. From the noisy moments follow a better centre
//! $\mu$, coordinates
//! $T$ in which the inputs are nearer to white, and a better prediction: the mean of the [posterior](super::coefficients) of the coefficients.
//!
//! Moments of inputs are combined with what is known before the round, elementwise and by the variances of both: in the first round, inputs have
//! standard deviations of about a half and second moments are known up to 1; then they are white up to the noise of the round before. Otherwise much
//! noise would look like much variance of inputs, and so like much information about coefficients.
//!
//! The noise is the same for all coordinates of $v$. In the first round it hides directions of small variance; in the
//! next, coordinates are rescaled so that those directions have the same variance as the others, as far as the round
//! before could distinguish them from noise. So few rounds find even directions whose variance is thousands of times
//! smaller than the largest. Clipping $v$ as one vector only weights records, and so affects a regression little.
//!
//! # Citation
//! Whitening in rounds: Biswas, Dong, Kamath, Ullman, "CoinPress: practical private mean and covariance estimation", NeurIPS 2020.
//! Regression from noisy moments: Wang, "Revisiting differentially private linear regression", UAI 2018.

use super::coefficients::Observed;
use crate::math::matrix::{Eigen, EigenError};
use crate::math::vector::{dot, wide_dot};
use crate::math::{matrix, symmetric};
use crate::wall::Released;
use reticent_noise::with_wide_vectors;
use serde::{Deserialize, Serialize};

/// Initial standard deviation of values between -1 and 1.
pub(super) const INITIAL_SD: f64 = 0.5;

/// Minimum variance of a coordinate without noise: rounding errors, amplified by all rounds, must stay small compared
/// with it, as for the levels of a column, which always sum to 1.
const MIN: f64 = 1e-8;

/// Prior standard deviation of the mean weight of records, which clipping makes less than 1.
const WEIGHT_SD: f64 = 0.2;

/// A linear prediction, and coordinates in which inputs are about white.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// $\mu$, about the mean of the inputs.
    pub(super) centre: Vec<f64>,
    /// $T$, with a row for each input: $z = (x - \mu)T$.
    pub(super) whitening: Vec<f64>,
    /// Whether $T$ is diagonal, as at the start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) diagonal: bool,
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
    /// The standard deviation of the error of the mean $u_iu_j$ for $u = (1, z)$ is the product of the $i$-th and the
    /// $j$-th of these, times $\sqrt2$ on the diagonal; for further rounds only, as `colouring`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) doubt: Vec<f64>,
    /// The share of the weight of records that clipping took from these moments.
    pub(super) clipped: f64,
    /// The covariance of the intercept and the slopes in $z$, as far as it is due to the privacy noise.
    pub(super) covariance: Vec<f64>,
    /// The variance of the intercept and of each slope in $z$ that the records leave.
    pub(super) sampling: (f64, f64),
    /// The covariance of the intercept and the slopes in $z$ that the records and stated priors leave, instead of `sampling`; empty without such priors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) records: Vec<f64>,
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
            diagonal: true,
            colouring: diagonal(INITIAL_SD),
            spread: vec![1.0; inputs],
            intercept: 0.0,
            weights: vec![0.0; inputs],
            residual_variance: INITIAL_SD * INITIAL_SD,
            doubt: vec![1.0; inputs + 1],
            clipped: 0.0,
            covariance: vec![0.0; (inputs + 1) * (inputs + 1)],
            sampling: (0.0, 0.0),
            records: Vec::new(),
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
        let gap = |k: usize| inputs[k].clamp(-1.0, 1.0) - self.centre[k];
        if self.diagonal {
            let scales = self.whitening.iter().step_by(d + 1);
            z.iter_mut().zip(scales).enumerate().for_each(|(k, (z, scale))| *z = gap(k) * scale);
            return;
        }
        with_wide_vectors(
            #[inline(always)]
            || {
                // Four rows at a time: each number of z is read and written once for them.
                let mut blocks = self.whitening.chunks_exact(4 * d);
                let mut k = 0;
                for block in &mut blocks {
                    let ([a, b, c, e], gaps) =
                        (quarters(block), [gap(k), gap(k + 1), gap(k + 2), gap(k + 3)]);
                    for ((((z, a), b), c), e) in z.iter_mut().zip(a).zip(b).zip(c).zip(e) {
                        *z += gaps[0] * a + gaps[1] * b + (gaps[2] * c + gaps[3] * e);
                    }
                    k += 4;
                }
                for (k, row) in (k..).zip(blocks.remainder().chunks_exact(d)) {
                    let gap = gap(k);
                    z.iter_mut().zip(row).for_each(|(z, t)| *z += gap * t);
                }
            },
        );
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
        let (intercept, slope) = self.sampling;
        let records =
            if self.records.is_empty() { intercept + slope * dot(z, z) } else { along(&self.records, z) };
        self.privacy_variance(z) + records
    }

    /// The part of it that is due to the privacy noise.
    pub(super) fn privacy_variance(&self, z: &[f64]) -> f64 {
        along(&self.covariance, z)
    }

    /// The average of the variance over inputs.
    pub(super) fn mean_uncertainty(&self) -> f64 {
        let (intercept, slope) = self.sampling;
        let records = if self.records.is_empty() {
            intercept + slope * self.spread.iter().sum::<f64>()
        } else {
            self.mean_along(&self.records)
        };
        self.mean_privacy_variance() + records
    }

    /// The average of the part that is due to the privacy noise.
    pub(super) fn mean_privacy_variance(&self) -> f64 {
        self.mean_along(&self.covariance)
    }

    /// The average over inputs of the variance of predictions, with this covariance of intercept and slopes.
    fn mean_along(&self, covariance: &[f64]) -> f64 {
        let diagonal = covariance.iter().step_by(self.inputs() + 2);
        diagonal
            .zip(std::iter::once(&1.0).chain(&self.spread))
            .map(|(variance, spread)| variance * spread)
            .sum()
    }

    /// Drops what only further rounds need, so that files are shorter.
    pub(super) fn forget_rounds(&mut self) {
        self.colouring = Vec::new();
        self.doubt = Vec::new();
    }

    /// The norm that $v$ is clipped to: its square is `radius_factor` times the expected sum of squares of its
    /// coordinates, plus 1.
    pub(super) fn radius(&self, radius_factor: f64) -> f64 {
        (1.0 + radius_factor * (self.spread.iter().sum::<f64>() + 1.0)).sqrt()
    }

    /// Reads moments, released over their radius squared: the coordinates of the next round with the prediction of
    /// this one, what was observed, and whether noise had made the moments
    /// impossible. Coordinates are by the nearest possible ones: otherwise a sum of weights that is slightly too
    /// small would make means too large, and with them all covariances, if the inputs are far from the centre.
    ///
    /// # Errors
    /// [`EigenError`] if the moments are not finite, or eigenvalues do not converge: there are no coordinates for the
    /// next round.
    pub(super) fn observe(
        self,
        released: &Released,
        radius: f64,
        records: f64,
    ) -> Result<(Self, Observed, bool), EigenError> {
        let (d, n) = (self.inputs(), self.inputs() + 1);
        let unit = radius * radius / records;
        let mut moments = vec![0.0; (n + 1) * (n + 1)];
        symmetric::from_triangle(&released.values, n + 1, &mut moments);
        moments.iter_mut().for_each(|x| *x *= unit);
        // Noise of an off-diagonal element; that of a diagonal one has twice the variance, as has the prior.
        let noise = released.noise_sd[0] * unit * std::f64::consts::FRAC_1_SQRT_2;
        let expected = |k: usize| match k {
            0 => 1.0,
            _ if k.is_multiple_of(n + 1) => self.spread[k / n - 1],
            _ => 0.0,
        };
        // Moments differ by rounds as far as records are clipped in one of them.
        let lost = ((1.0 - moments[0]).powi(2) - 2.0 * noise * noise).max(self.clipped.powi(2)).sqrt();
        let left: Vec<f64> = (0..n * n)
            .map(|k| {
                let prior = (self.doubt[k / n] * self.doubt[k % n]).hypot(lost).max(MIN);
                let prior = if k == 0 { prior.min(WEIGHT_SD) } else { prior };
                1.0 / (1.0 + (noise / prior).powi(2))
            })
            .collect();
        let found = |k: usize| moments[k / n * (n + 1) + k % n];
        let mut gram: Vec<f64> =
            left.iter().enumerate().map(|(k, left)| expected(k) + left * (found(k) - expected(k))).collect();
        let moved = matrix::raise_eigenvalues(&mut gram, n, 0.0)?;
        let doubt = noise * left.iter().fold(0.0f64, |most, x| most.max(*x)).sqrt();
        // In the spectral norm.
        let spectral = doubt * 2.0 * (n as f64).sqrt() + MIN;
        // Clipping shortens the leading 1 as well: this is the remaining weight.
        let weight = gram[0].max(0.2);
        let shrink = 1.0 / (weight * (1.0 + (doubt / weight).powi(2)));
        let mean_z: Vec<f64> = (1..=d).map(|j| gram[j] * shrink).collect();
        let about = |i: usize, j: usize| gram[(i + 1) * n + j + 1] / weight - mean_z[i] * mean_z[j];
        let covariance: Vec<f64> = (0..d * d).map(|k| about(k / d, k % d)).collect();
        let Eigen { values, vectors } = matrix::eigen(&covariance, d)?;
        let floored: Vec<f64> = values.iter().map(|&l| l.max(spectral)).collect();

        let mut centre = self.centre.clone();
        for (z, row) in mean_z.iter().zip(self.colouring.chunks_exact(d)) {
            centre.iter_mut().zip(row).for_each(|(x, t)| *x += z * t);
        }
        centre.iter_mut().for_each(|x| *x = x.clamp(-1.0, 1.0));
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
        let doubt = std::iter::once(&1.0).chain(&floored).map(|l| (doubt / l).sqrt()).collect();
        let observed = Observed {
            gram,
            cross: moments.chunks_exact(n + 1).take(n).map(|row| row[n]).collect(),
            square: moments[moments.len() - 1],
            weight,
            noise,
            left,
            frame: self.clone(),
        };
        let frame = Self {
            intercept: self.predict(&centre),
            centre,
            whitening,
            diagonal: false,
            colouring,
            spread: values.iter().zip(&floored).map(|(l, floor)| l.max(0.0) / floor).collect(),
            doubt,
            clipped: (1.0 - weight).clamp(0.0, 1.0),
            ..self
        };
        Ok((frame, observed, moved))
    }
}

/// The quarters of a block of four rows.
#[inline(always)]
fn quarters(block: &[f64]) -> [&[f64]; 4] {
    let (first, second) = block.split_at(block.len() / 2);
    let ((a, b), (c, d)) = (first.split_at(first.len() / 2), second.split_at(second.len() / 2));
    [a, b, c, d]
}

/// The variance of a prediction at $z$, with this covariance of intercept and slopes, of which the upper triangle is read.
fn along(covariance: &[f64], z: &[f64]) -> f64 {
    let n = z.len() + 1;
    let mut sum = 0.0;
    with_wide_vectors(
        #[inline(always)]
        || {
            // Twice what is right of the diagonal, and the diagonal once.
            let (first, rest) = covariance.split_at(n);
            sum = first[0] + 2.0 * wide_dot(&first[1..], z);
            for (k, (row, at)) in rest.chunks_exact(n).zip(z).enumerate() {
                let right = wide_dot(&row[k + 2..], &z[k + 1..]);
                sum += at * (at * row[k + 1] + 2.0 * right);
            }
        },
    );
    sum
}
