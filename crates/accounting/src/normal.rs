//! Tails of the normal distribution with full relative precision, however small they are.

use std::f64::consts::SQRT_2;

use crate::quadrature::Rule;

/// $\ln\sqrt{2\pi}$.
pub(crate) const LN_SQRT_2PI: f64 = 0.918_938_533_204_672_8;

/// Beyond this the continued fraction of the Mills ratio beats `erfc`, whose scale factor $e^{x^2/2}$ loses digits.
const FAR: f64 = 4.0;

/// $\Phi(x)$, with full relative precision in the left tail.
pub(crate) fn cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / SQRT_2)
}

/// $\Phi(b) - \Phi(a)$ for $a \le b$ without cancellation between two values near one.
pub(crate) fn interval(a: f64, b: f64) -> f64 {
    if a > 0.0 { cdf(-a) - cdf(-b) } else { cdf(b) - cdf(a) }
}

/// The density $\varphi(x)$.
pub(crate) fn density(x: f64) -> f64 {
    (-0.5 * x * x - LN_SQRT_2PI).exp()
}

/// The Mills ratio $M(x) = \Phi(-x)/\varphi(x)$.
pub(crate) fn mills(x: f64) -> f64 {
    if x < FAR {
        return cdf(-x) / density(x);
    }
    // M(x) = 1/(x + 1/(x + 2/(x + 3/(x + ...)))), from the inside out; 120 terms are enough at x = 4.
    let terms = if x > 12.0 { 30 } else { 120 };
    let mut tail = x;
    for k in (1..terms).rev() {
        tail = x + f64::from(k) / tail;
    }
    1.0 / tail
}

/// $\ln\Phi(x)$.
pub(crate) fn log_cdf(x: f64) -> f64 {
    if x > 0.0 {
        (-cdf(-x)).ln_1p()
    } else if x > -FAR {
        cdf(x).ln()
    } else {
        -0.5 * x * x - LN_SQRT_2PI + mills(-x).ln()
    }
}

/// $M(x) - M(x+d) > 0$ for $x \ge -3$, $d > 0$.
///
/// $M(x) = \int_0^\infty e^{-xs-s^2/2}\,ds$, so the difference is an integral of the positive function
/// $e^{-xs-s^2/2}(1-e^{-ds})$ and nothing cancels when $d$ is small.
pub(crate) fn mills_difference(x: f64, d: f64) -> f64 {
    let (near, far) = (mills(x), mills(x + d));
    if far < 0.5 * near {
        return near - far;
    }
    // The integrand has decayed by e^-40 from its peak at s = max(-x, 0).
    let peak = if x < 0.0 { 0.5 * x * x } else { 0.0 };
    let end = 2.0 * (40.0 + peak) / (x + (x * x + 2.0 * (40.0 + peak)).sqrt());
    Rule::long().on(0.0, end).map(|(s, w)| w * (-s * (x + 0.5 * s)).exp() * -(-d * s).exp_m1()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from 50-digit arithmetic (mpmath `ncdf`, `npdf`).
    #[test]
    fn log_tails_match_fifty_digits() {
        let reference = [
            (-0.5, -1.175_911_761_593_618_6),
            (-4.0, -10.360_101_486_527_291),
            (-10.0, -53.231_285_150_512_47),
            (-37.5, -707.668_989_317_507_2),
            (2.0, -0.023_012_909_328_963_49),
        ];
        for (x, expected) in reference {
            let value = log_cdf(x);
            assert!((value - expected).abs() <= 2e-15 * f64::abs(expected), "{x}: {value} {expected}");
        }
    }

    #[test]
    fn mills_difference_is_the_difference_where_that_is_safe() {
        for x in [-3.0, -1.0, 0.0, 2.0, 5.0, 30.0, 200.0] {
            for d in [0.3, 1.0, 2.0] {
                let exact = mills(x) - mills(x + d);
                let value = mills_difference(x, d);
                assert!((value / exact - 1.0).abs() < 1e-10, "{x} {d}: {value} {exact}");
            }
            // For small d it is -d M'(x) = d (1 - x M(x)) to first order.
            let slope = mills_difference(x, 1e-9) / 1e-9;
            let difference = mills_difference(x, 1e-4) / 1e-4;
            assert!((slope / difference - 1.0).abs() < 1e-3, "{x}: {slope} {difference}");
        }
    }
}
