//! The normal distribution function and its hazard, in both tails.

use std::f64::consts::FRAC_1_SQRT_2;

/// $\Phi(z)$.
#[must_use]
pub fn cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

/// $\log\Phi(z)$, however far out.
pub(crate) fn log_cdf(z: f64) -> f64 {
    Tail::at(z).log
}

/// What the probit needs of $\Phi$ at a point $z$: all without cancellation, however far out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tail {
    /// $\log\Phi(z)$.
    pub(crate) log: f64,
    /// $h = \varphi(z)/\Phi(z)$, the derivative of $\log\Phi$.
    pub(crate) hazard: f64,
    /// $h(h + z)$, less its second derivative: between 0 and 1.
    pub(crate) curvature: f64,
    /// $1 - h(h + z)$.
    pub(crate) rest: f64,
}

/// Levels of Laplace's continued fraction, of which fewer are needed the farther out; 40 leave nothing at [`FAR`].
const LEVELS: u32 = 40;
/// $\log 2\pi$.
const LOG_TAU: f64 = 1.837_877_066_409_345_5;
/// From here on it is used.
const FAR: f64 = -4.0;

// Contributions of records depend on it, so it must not use functions that differ between platforms.
impl Tail {
    /// At $z$. With $t = -z$ far out, $h = t + d$ where $d = 1/(t + 2c)$ and $c = 1/(t + 3/(t + 4/\cdots))$, so that
    /// $1 - h(h + z) = (2c - d)/(t + 2c)$.
    pub(crate) fn at(z: f64) -> Self {
        let log_density = -0.5 * (z * z + LOG_TAU);
        if z > FAR {
            let below = cdf(z);
            let log = if z > 0.0 { libm::log1p(-cdf(-z)) } else { libm::log(below) };
            let hazard = libm::exp(log_density) / below;
            let curvature = hazard * (hazard + z);
            return Self { log, hazard, curvature, rest: 1.0 - curvature };
        }
        let t = -z;
        let c = 1.0 / (t + (3..LEVELS).rev().fold(0.0, |inner, k| f64::from(k) / (t + inner)));
        let d = (t + 2.0 * c).recip();
        let hazard = t + d;
        let rest = (2.0 * c - d) * d;
        Self { log: log_density - libm::log(hazard), hazard, curvature: 1.0 - rest, rest }
    }
}

/// $\Phi^{-1}(p)$ by bisection; infinite at 0 and 1.
#[must_use]
pub fn quantile(probability: f64) -> f64 {
    // Accurate in the lower tail, and the upper is its mirror image.
    if probability > 0.5 {
        return -quantile(1.0 - probability);
    }
    if probability <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let (mut low, mut high) = (-40.0, 0.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if cdf(middle) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// Where both apply, the two ways to compute it agree; $h' = -h(h + z)$ by central differences, near and far; and far out
    /// $1 - h(h + z) \to z^{-2} - 6z^{-4} + 50 z^{-6} - \dots$, from the asymptotic series of $h$.
    #[test]
    fn hazards_are_right_near_and_far() {
        for z in [FAR, -5.0, -6.5, -8.0] {
            let far = Tail::at(z);
            let near = (-0.5 * z * z).exp() / TAU.sqrt() / cdf(z);
            assert!((far.hazard / near - 1.0).abs() < 1e-13, "{z}");
            assert!((far.log - cdf(z).ln()).abs() < 1e-12, "{z}");
        }
        for z in [-300.0, -30.0, -10.0, -3.9, -1.0, 0.0, 2.0, 6.0] {
            let step = 1e-5 * f64::max(1.0, f64::abs(z));
            let (up, down, at) = (Tail::at(z + step), Tail::at(z - step), Tail::at(z));
            assert!(((up.hazard - down.hazard) / (2.0 * step) + at.curvature).abs() < 1e-8, "{z}");
            assert!(
                ((up.log - down.log) / (2.0 * step) - at.hazard).abs() < 1e-8 * at.hazard.max(1.0),
                "{z}"
            );
            assert!((at.curvature + at.rest - 1.0).abs() < 1e-15);
        }
        for z in [-200.0, -1e4, -1e8f64] {
            let s = 1.0 / (z * z);
            assert!((Tail::at(z).rest / (s * (1.0 - s * (6.0 - 50.0 * s))) - 1.0).abs() < 1e-11, "{z}");
        }
    }
}
