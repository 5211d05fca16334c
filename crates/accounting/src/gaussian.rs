//! The Gaussian mechanism, exactly.
//!
//! For noise multiplier $\sigma$ (Balle and Wang 2018, Theorem 8)
//! $$\delta(\varepsilon) = \Phi(a) - e^{\varepsilon}\,\Phi(b),\qquad
//!   a = \tfrac{1}{2\sigma} - \varepsilon\sigma,\quad b = -\tfrac{1}{2\sigma} - \varepsilon\sigma .$$
//! Since $\varphi(a) = e^{\varepsilon}\varphi(b)$, this is $\varphi(a)\,[M(-a) - M(-b)]$ with the Mills ratio
//! $M(x)=\Phi(-x)/\varphi(x)$, a difference that is evaluated as the integral of a positive function. So $\ln\delta$
//! has full precision for any $\delta$, including those below the range of a double.
//!
//! $T$ releases on all records are one release with multiplier $\sigma/\sqrt T$.
//!
//! # Citation
//! B. Balle, Y.-X. Wang. *Improving the Gaussian Mechanism for Differential Privacy: Analytical Calibration and
//! Optimal Denoising.* ICML 2018.

use std::convert::Infallible;

use crate::error::{Error, check, check_delta, check_epsilon};
use crate::normal::{LN_SQRT_2PI, cdf, log_cdf, mills_difference};
use crate::root::boundary;

/// Relative tolerance of the inverses below.
const TOLERANCE: f64 = 1e-14;

/// $\ln\delta(\varepsilon)$ of one Gaussian release; `epsilon` may be any real number.
pub fn log_delta(noise_multiplier: f64, epsilon: f64) -> Result<f64, Error> {
    check_multiplier(noise_multiplier)?;
    check(!epsilon.is_nan(), "epsilon", "a number", epsilon)?;
    Ok(profile(noise_multiplier, epsilon))
}

/// The smallest $\delta$ for which one release is $(\varepsilon, \delta)$-DP.
///
/// ```
/// let delta = reticent_accounting::gaussian::delta(1.0, 1.0).unwrap();
/// assert!((delta - 0.126_936_737_506_643_95).abs() < 1e-15);
/// ```
pub fn delta(noise_multiplier: f64, epsilon: f64) -> Result<f64, Error> {
    log_delta(noise_multiplier, epsilon).map(f64::exp)
}

/// The smallest $\varepsilon \ge 0$ for which one release is $(\varepsilon, \delta)$-DP.
pub fn epsilon(noise_multiplier: f64, delta: f64) -> Result<f64, Error> {
    check_multiplier(noise_multiplier)?;
    check_delta(delta)?;
    let target = delta.ln();
    let excess = |epsilon: f64| Ok::<_, Infallible>(profile(noise_multiplier, epsilon) - target);
    let Ok(at_zero) = excess(0.0);
    if at_zero <= 0.0 {
        return Ok(0.0);
    }
    let mut high = 1.0 / noise_multiplier;
    let mut low = (0.0, at_zero);
    loop {
        let Ok(value) = excess(high);
        if value <= 0.0 {
            let Ok(epsilon) = boundary(low, (high, value), TOLERANCE, excess);
            return Ok(epsilon);
        }
        low = (high, value);
        high *= 2.0;
    }
}

/// The smallest noise multiplier for which one release is $(\varepsilon, \delta)$-DP.
///
/// ```
/// let sigma = reticent_accounting::gaussian::noise_multiplier(0.01, 1e-5).unwrap();
/// assert!((sigma / 243.785_437_675_678_03 - 1.0).abs() < 1e-9);
/// ```
pub fn noise_multiplier(epsilon: f64, delta: f64) -> Result<f64, Error> {
    check_epsilon(epsilon)?;
    check_delta(delta)?;
    let target = delta.ln();
    // In x = ln(multiplier): the profile falls as the noise grows.
    let excess = |x: f64| Ok::<_, Infallible>(profile(x.exp(), epsilon) - target);
    let (mut low, mut high) = (0.0, 0.0);
    let Ok(mut at_low) = excess(low);
    let mut at_high = at_low;
    while at_low <= 0.0 {
        low -= 2.0;
        Ok(at_low) = excess(low);
    }
    while at_high > 0.0 {
        high += 2.0;
        Ok(at_high) = excess(high);
    }
    // Solve for 1 + x - low, away from zero, so that the relative tolerance applies.
    let Ok(x) = boundary((1.0, at_low), (1.0 + high - low, at_high), TOLERANCE, |x| excess(x - 1.0 + low));
    Ok((x - 1.0 + low).exp())
}

/// [`log_delta`] without the checks.
pub(crate) fn profile(sigma: f64, epsilon: f64) -> f64 {
    if epsilon == f64::INFINITY {
        return f64::NEG_INFINITY;
    }
    let a = 0.5 / sigma - epsilon * sigma;
    let b = a - 1.0 / sigma;
    if a > 3.0 {
        // delta is near one: 1 - delta is the accurate quantity.
        return (-(cdf(-a) + (epsilon + log_cdf(b)).exp())).ln_1p();
    }
    -0.5 * a * a - LN_SQRT_2PI + mills_difference(-a, 1.0 / sigma).ln()
}

pub(crate) fn check_multiplier(sigma: f64) -> Result<f64, Error> {
    check(sigma > 0.0 && sigma.is_finite(), "noise multiplier", "positive and finite", sigma)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_agree_over_the_whole_range() {
        for epsilon_target in [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3] {
            for log10_delta in [-2.0, -5.0, -30.0, -100.0, -300.0] {
                let delta = 10f64.powf(log10_delta);
                let sigma = noise_multiplier(epsilon_target, delta).unwrap();
                let back = epsilon(sigma, delta).unwrap();
                assert!(
                    (back / epsilon_target - 1.0).abs() < 1e-9,
                    "{epsilon_target} {delta} {sigma} {back}"
                );
                assert!(profile(sigma, epsilon_target) <= delta.ln());
                let less = profile(sigma * (1.0 - 1e-12), epsilon_target);
                assert!(less >= delta.ln() - 1e-9, "{epsilon_target} {delta}: not the smallest");
            }
        }
    }

    #[test]
    fn profile_is_the_textbook_difference_where_that_is_safe() {
        for sigma in [0.3, 1.0, 3.0] {
            for epsilon in [-1.0f64, 0.0, 0.5, 2.0] {
                let a = 0.5 / sigma - epsilon * sigma;
                let naive = cdf(a) - epsilon.exp() * cdf(a - 1.0 / sigma);
                assert!((profile(sigma, epsilon).exp() / naive - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn domain_errors() {
        assert!(delta(0.0, 1.0).is_err());
        assert!(epsilon(1.0, 0.0).is_err());
        assert!(epsilon(1.0, 1.0).is_err());
        assert!(epsilon(f64::NAN, 1e-5).is_err());
        assert!(noise_multiplier(-1.0, 1e-5).is_err());
    }
}
