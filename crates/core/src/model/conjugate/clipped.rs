//! Moments of clipped variables.

use crate::math::normal::cdf;
use std::f64::consts::TAU;

/// $E[c^k]$ for $k = 0..4$, where $c$ is a normal variable clipped to bounds.
///
/// Inside, $I_k = \int_a^b x^k p(x)\,dx$ obeys $I_k = \mu I_{k-1} + (k-1)\sigma^2 I_{k-2} - \sigma^2(b^{k-1}p(b) - a^{k-1}p(a))$, by parts.
pub(crate) fn normal_moments(mean: f64, sd: f64, (low, high): (f64, f64)) -> [f64; 5] {
    let z = |x: f64| (x - mean) / sd;
    let density = |x: f64| (-0.5 * z(x) * z(x)).exp() / (sd * TAU.sqrt());
    let (below, above) = (cdf(z(low)), cdf(-z(high)));
    let variance = sd * sd;
    let mut inside = [1.0 - below - above, 0.0, 0.0, 0.0, 0.0];
    for k in 1..5 {
        let power = k as i32 - 1;
        let edge = high.powi(power) * density(high) - low.powi(power) * density(low);
        let earlier = if k > 1 { f64::from(power) * variance * inside[k - 2] } else { 0.0 };
        inside[k] = mean * inside[k - 1] + earlier - variance * edge;
    }
    let mut moments = inside;
    for (k, moment) in moments.iter_mut().enumerate() {
        *moment += low.powi(k as i32) * below + high.powi(k as i32) * above;
    }
    moments
}

/// Mean and variance of $\min(x, M)$ for a Poisson variable.
pub(crate) fn poisson_moments(rate: f64, max_count: usize) -> (f64, f64) {
    let m = max_count as f64;
    let (mut log_mass, mut left) = (-rate, 1.0);
    let (mut mean, mut square) = (0.0, 0.0);
    for k in 0..max_count {
        let (count, mass) = (k as f64, log_mass.exp());
        left -= mass;
        mean += count * mass;
        square += count * count * mass;
        log_mass += rate.ln() - (count + 1.0).ln();
    }
    let left = left.max(0.0);
    mean += m * left;
    square += m * m * left;
    (mean, (square - mean * mean).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against sums over a fine grid, with much and with nothing clipped.
    #[test]
    fn moments_are_the_integrals() {
        for (mean, sd) in [(0.2, 0.1), (0.9, 0.5), (-2.0, 1.0), (0.0, 3.0)] {
            let found = normal_moments(mean, sd, (-1.0, 1.0));
            let step = sd * 1e-4;
            for (k, found) in found.iter().enumerate() {
                let integral: f64 = (-80_000..80_000)
                    .map(|j| mean + step * (f64::from(j) + 0.5))
                    .map(|x| {
                        let z: f64 = (x - mean) / sd;
                        x.clamp(-1.0, 1.0).powi(k as i32) * (-0.5 * z * z).exp() / (sd * TAU.sqrt()) * step
                    })
                    .sum();
                assert!((found - integral).abs() < 1e-7, "{mean} {sd} {k}: {found} {integral}");
            }
        }
        // Far below the bound it is a Poisson variable; at a bound of 1 it is 0 or 1.
        let (mean, variance) = poisson_moments(2.5, 40);
        assert!((mean - 2.5).abs() < 1e-12 && (variance - 2.5).abs() < 1e-12);
        let (mean, variance) = poisson_moments(0.7, 1);
        let p = 1.0 - (-0.7f64).exp();
        assert!((mean - p).abs() < 1e-15 && (variance - p * (1.0 - p)).abs() < 1e-15);
    }
}
