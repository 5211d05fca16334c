//! $e^{\psi(x)}$ in single precision, in code that is vectorised.

/// $e^{\psi(x)}$ for $x > 0$, within a few units of the sixth digit.
///
/// $\psi(x) = \psi(x + 4) - \sum_{i<4} 1/(x + i)$, and $e^{\psi(u + 1/2)} = u + \frac{1}{24u} - \frac{37}{5760u^3} + \dots$, which is short
/// enough from $u = 3.5$ on.
#[inline(always)]
pub(super) fn exp_digamma(x: f32) -> f32 {
    let u = x + 3.5;
    let square = 1.0 / (u * u);
    let series = 1.0 + square * (1.0 / 24.0 - square * (37.0 / 5760.0 - square * (10313.0 / 2_903_040.0)));
    let (first, second) = (x * (x + 1.0), (x + 2.0) * (x + 3.0));
    let fractions = ((2.0 * x + 1.0) * second + (2.0 * x + 5.0) * first) / (first * second);
    u * series * exp_minus(fractions)
}

/// $e^{\psi(x)}$ as a factor and the exponent of a decay, $a e^{-b}$ with $b \ge 0$, by the same formulas in double
/// precision: the factor never underflows in single precision.
#[inline(always)]
pub(super) fn parts(x: f64) -> (f64, f64) {
    let u = x + 3.5;
    let square = 1.0 / (u * u);
    let series = 1.0 + square * (1.0 / 24.0 - square * (37.0 / 5760.0 - square * (10313.0 / 2_903_040.0)));
    let (first, second) = (x * (x + 1.0), (x + 2.0) * (x + 3.0));
    (u * series, ((2.0 * x + 1.0) * second + (2.0 * x + 5.0) * first) / (first * second))
}

/// $e^{-y}$ for $y \ge 0$; 0 from about 87 on.
#[inline(always)]
pub(super) fn exp_minus(y: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23: what is added to it is rounded to an integer in its low bits
    let y = y.min(88.0);
    let shifted = ROUND - y * std::f32::consts::LOG2_E;
    let integer = shifted - ROUND;
    // ln 2 in two parts, the first of few bits, so that the remainder is exact.
    let r = -y - integer * 0.693_359_4 + integer * 2.121_944_4e-4;
    let power =
        1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r / 720.0)))));
    let exponent = (shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32) + 127;
    power * f32::from_bits((exponent.max(0) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::digamma;

    #[test]
    fn it_is_the_exponential_of_digamma() {
        for k in 0..4000 {
            let x = 10f64.powf(-1.7 + 7.7 * f64::from(k) / 4000.0);
            let (found, expected) = (f64::from(exp_digamma(x as f32)), digamma(f64::from(x as f32)).exp());
            assert!((found / expected - 1.0).abs() < 2e-5, "{x}: {found} {expected}");
        }
        for k in 0..4000 {
            let x = 10f64.powf(-6.0 + 12.0 * f64::from(k) / 4000.0);
            let (factor, minus) = parts(x);
            let (found, expected) = (factor.ln() - minus, digamma(x));
            assert!((found - expected).abs() < 1e-6, "{x}: {found} {expected}");
        }
        // Far below the smallest number of this precision.
        assert!(exp_digamma(1e-4) < 1e-30);
    }
}
