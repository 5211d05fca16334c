//! Denoised weights, by an empirical Bayes prior from the sums themselves.
//!
//! With the biases of outputs solved for, the means of the weights of output $j$ are $A^{-1}h_j$ with $A = \kappa\,(\sum zz^T - \frac1N\sum z\sum z^T)$ and
//! $h_j = \sum lz - \frac1N\sum z\sum l$. Noise in $h$ is divided by eigenvalues of $A$ that may be nearly 0, and
//! would dominate. But along an eigenvector $u_d$ the outputs are many draws of one distribution. Where $\bar m_d$ is
//! the mean of $(u_d\cdot h_j)^2$ over them and $\tau_d^2$ the known variance of the noise, weights are $N(0, s_d^2)$
//! with $\alpha_d^2 s_d^2 = \bar m_d - \tau_d^2$, and the posterior mean is $f_d\,u_d\cdot h_j/\alpha_d$ with
//! $f_d = 1 - \tau_d^2/\bar m_d$: directions of pure noise get weight 0.
//!
//! # Citation
//! Efron, Morris, "Stein's estimation rule and its competitors: an empirical Bayes approach", JASA 1973.

use super::statistics::Parts;
use crate::math::matrix::{self, Eigen};

/// Number of standard errors by which $\bar m_d$ must exceed the noise.
const ERRORS: f64 = 2.0;

/// The variances of the noise in a cell of each block: $\sum z$, $\sum l$, $\sum lz$ and the coordinates of $\sum zz^T$.
pub(super) struct NoiseVariances {
    pub(super) units: f64,
    pub(super) linear: f64,
    pub(super) linear_units: f64,
    pub(super) pairs: f64,
}

/// Means of the weights in rows of outputs, and the variance of those of each unit. Without eigenvalues of $A$ no direction can be told from noise, and
/// all means are 0.
pub(super) fn weights(parts: &Parts, noise: &NoiseVariances, records: f64) -> (Vec<f64>, Vec<f64>) {
    let (k, j) = (parts.units.len(), parts.linear.len());
    let shares: Vec<f64> = parts.units.iter().map(|z| z / records).collect();
    let mut a = parts.pairs[0].clone();
    for (row, z) in a.chunks_exact_mut(k).zip(&parts.units) {
        row.iter_mut().zip(&shares).for_each(|(a, share)| *a -= 0.25 * z * share);
    }
    let found = matrix::eigen(&a, k);
    // The largest eigenvalue of a symmetric matrix of noise: smaller eigenvalues are indistinguishable from noise.
    let floor = (0.25 * (2.0 * noise.pairs * k as f64).sqrt()).max(1.0);
    let mean_linear = parts.linear.iter().map(|l| (l / records).powi(2)).sum::<f64>() / j as f64;
    let (mut means, mut variances) = (vec![0.0; k * j], vec![0.0; k]);
    let mut along = vec![0.0; j];
    for (value, vector) in found.iter().flat_map(Eigen::pairs) {
        let share: f64 = vector.iter().zip(&shares).map(|(u, share)| u * share).sum();
        along.iter_mut().zip(&parts.linear).for_each(|(h, l)| *h = -share * l);
        for (u, row) in vector.iter().zip(parts.linear_units.chunks_exact(j)) {
            along.iter_mut().zip(row).for_each(|(h, x)| *h += u * x);
        }
        let tau = noise.linear_units + share * share * noise.linear + mean_linear * noise.units;
        let square = along.iter().map(|h| h * h).sum::<f64>() / j as f64;
        let kept = 1.0 - tau * (1.0 + ERRORS * (2.0 / j as f64).sqrt()) / square.max(f64::MIN_POSITIVE);
        if kept <= 0.0 {
            continue;
        }
        let by = kept / value.max(floor);
        let variance = by * by * square * (1.0 - kept) / kept;
        for ((u, row), total) in vector.iter().zip(means.chunks_exact_mut(j)).zip(&mut variances) {
            row.iter_mut().zip(&along).for_each(|(mean, h)| *mean += u * by * h);
            *total += u * u * variance;
        }
    }
    for (unit, variance) in variances.iter_mut().enumerate() {
        *variance += 1.0 / parts.pairs[0][unit * (k + 1)].max(1.0);
    }
    (means, variances)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha12Rng;
    use rand_distr::{Distribution, StandardNormal};

    const UNITS: usize = 5;
    const OUTPUTS: usize = 400;
    const RECORDS: f64 = 10_000.0;

    /// Units that are on half of the time, independently; the other sums are drawn.
    fn parts(scale: f64) -> Parts {
        let mut rng = ChaCha12Rng::seed_from_u64(3);
        let mut normal = |count: usize| -> Vec<f64> {
            (0..count).map(|_| scale * Distribution::<f64>::sample(&StandardNormal, &mut rng)).collect()
        };
        let pair = |i: usize| if i / UNITS == i % UNITS { 0.5 } else { 0.25 };
        Parts {
            units: vec![0.5 * RECORDS; UNITS],
            linear: vec![0.0; OUTPUTS],
            linear_units: normal(OUTPUTS * UNITS),
            curvature: Vec::new(),
            curvature_units: Vec::new(),
            pairs: vec![(0..UNITS * UNITS).map(|i| 0.25 * RECORDS * pair(i)).collect()],
        }
    }

    fn noise(variance: f64) -> NoiseVariances {
        NoiseVariances { units: 0.0, linear: 0.0, linear_units: variance, pairs: 0.0 }
    }

    /// The covariance of the units is I/4, so A is N/16: with negligible noise, weights are 16 h/N.
    #[test]
    fn with_little_noise_it_is_least_squares() {
        let parts = parts(100.0);
        let (means, variances) = weights(&parts, &noise(1e-9), RECORDS);
        for (mean, h) in means.iter().zip(&parts.linear_units) {
            assert!((mean - 16.0 * h / RECORDS).abs() < 1e-9, "{mean} {h}");
        }
        // 1/A without the part of the biases: 8/N.
        assert!(variances.iter().all(|x| (x - 8.0 / RECORDS).abs() < 1e-9), "{variances:?}");
    }

    /// Pure noise: nearly nothing of the squares of 400 outputs remains. A mean of 400 squares has a standard error
    /// of 7 %, so even one direction in five that is three errors above keeps less than a tenth.
    #[test]
    fn pure_noise_gives_zero_weights() {
        let (means, _) = weights(&parts(100.0), &noise(100.0 * 100.0), RECORDS);
        let (found, plain) = (means.iter().map(|x| x * x).sum::<f64>(), {
            let h = parts(100.0).linear_units;
            h.iter().map(|h| (16.0 * h / RECORDS).powi(2)).sum::<f64>()
        });
        assert!(found < 0.01 * plain, "{found} {plain}");
    }

    /// Half signal, half noise: the posterior mean is half of the observation, within the standard errors above.
    #[test]
    fn half_of_a_signal_as_strong_as_its_noise_is_kept() {
        let parts = parts(100.0);
        let (means, variances) = weights(&parts, &noise(100.0 * 50.0), RECORDS);
        let ratio = means.iter().zip(&parts.linear_units).map(|(mean, h)| mean * h).sum::<f64>()
            / parts.linear_units.iter().map(|h| 16.0 * h * h / RECORDS).sum::<f64>();
        assert!((0.35..0.55).contains(&ratio), "{ratio}");
        // Var = s^2 (1 - f) is 16^2 m f (1 - f)/N^2, a quarter of 0.16^2 at f = 1/2.
        assert!(variances.iter().all(|x| (x / 0.0064 - 1.0).abs() < 0.3), "{variances:?}");
    }
}
