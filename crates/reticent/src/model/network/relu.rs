//! The first two moments of $\max(a, 0)$ for Gaussian $a$, and their derivatives.
//!
//! With $\alpha = m/\sqrt v$, $T = \Phi(-|\alpha|)$, $\varphi = \varphi(\alpha)$ and $w = \varphi - |\alpha| T \ge 0$,
//!
//! $$E = \max(m, 0) + \sqrt v\, w, \qquad V = v\,(\Phi(\alpha) - w(|\alpha| + w)),$$
//!
//! in which nothing cancels for large $\alpha$ of either sign. The derivatives are
//!
//! $$\frac{dE}{dm} = \Phi, \quad \frac{dE}{dv} = \frac{\varphi}{2\sqrt v}, \quad \frac{dV}{dm} = 2E(1 - \Phi), \quad
//!   \frac{dV}{dv} = \Phi - \frac{E\varphi}{\sqrt v}.$$
//!
//! Far below zero everything fades to exact zeros: a unit that is dead for a record neither passes anything on nor learns.

/// $(a + 4)\,\Phi(-a)\,e^{a^2/2}$ for $a \ge 0$ as a polynomial in $t = (a - 4)/(a + 4)$: the Chebyshev series of degree 23, from
/// 60 digits. Relative error below $6 \cdot 10^{-16}$.
const TAIL: [f64; 24] = [
    0.7552851304157514,
    -0.6078966419718923,
    0.3871374007422266,
    -0.1865218579596366,
    0.06039657489036092,
    -0.007540188967386312,
    -0.0034796923566515025,
    0.0016308184674099085,
    0.00013334420916014778,
    -0.00023109501736277426,
    -1.907676030719098e-06,
    3.514511190283765e-05,
    7.146021531267462e-07,
    -5.921611045923978e-06,
    -6.249551077565178e-07,
    1.0247851016552774e-06,
    2.647337281979868e-07,
    -1.597739614223922e-07,
    -7.878360342693638e-08,
    1.7844927772981415e-08,
    1.60673869573294e-08,
    -5.873626764987191e-10,
    -1.6886576966786735e-09,
    -1.1997782031253095e-10,
];

/// $1/k!$ up to 13, and zeros.
const INVERSE_FACTORIALS: [f64; 16] = {
    let mut table = [1.0; 16];
    let mut k = 1;
    while k < 14 {
        table[k] = table[k - 1] / k as f64;
        k += 1;
    }
    (table[14], table[15]) = (0.0, 0.0);
    table
};

/// $1/\sqrt{2\pi}$.
const INVERSE_SQRT_TAU: f64 = 0.398_942_280_401_432_7;

/// Above it $e^{-y}$ is nothing: it would be no normal number.
const NOTHING: f64 = 708.0;

/// Variances are at least this, so that $\alpha$ is a number.
const LEAST_VARIANCE: f64 = 1e-100;

/// Moments and derivatives for one unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rectified {
    /// $E$.
    pub(super) mean: f64,
    /// $V$.
    pub(super) variance: f64,
    /// $dE/dm$.
    pub(super) mean_by_mean: f64,
    /// $dE/dv$.
    pub(super) mean_by_variance: f64,
    /// $dV/dm$.
    pub(super) variance_by_mean: f64,
    /// $dV/dv$.
    pub(super) variance_by_variance: f64,
}

/// $\sum_k c_k x^k$, in pairs of terms and two sums, which do not wait for each other.
#[inline(always)]
fn polynomial<const TERMS: usize>(c: &[f64; TERMS], x: f64) -> f64 {
    let square = x * x;
    let fourth = square * square;
    let [mut a, mut b] = [c[TERMS - 4] + c[TERMS - 3] * x, c[TERMS - 2] + c[TERMS - 1] * x];
    let mut k = TERMS - 4;
    while k > 0 {
        k -= 4;
        a = a * fourth + (c[k] + c[k + 1] * x);
        b = b * fourth + (c[k + 2] + c[k + 3] * x);
    }
    a + b * square
}

/// $e^{-y}$ for $y \ge 0$, without branches, so that a loop over units becomes vector code.
#[inline(always)]
fn exp_minus(y: f64) -> f64 {
    /// Adding this to a small number leaves it rounded to an integer in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let y = if y < NOTHING { y } else { NOTHING };
    let shifted = y * std::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // n has at most 10 bits and the high part of ln 2 has 32 that are used: their product is exact.
    let r = (n * LN2_HIGH - y) + n * LN2_LOW;
    let sum = polynomial(&INVERSE_FACTORIALS, r);
    let exponent = 1023u64.wrapping_sub(shifted.to_bits().wrapping_sub(ROUND.to_bits()));
    let power = f64::from_bits(exponent << 52);
    if y < NOTHING { sum * power } else { 0.0 }
}

/// The moments of $\max(a, 0)$ for $a \sim N(m, v)$.
#[inline(always)]
pub(super) fn rectify(m: f64, v: f64) -> Rectified {
    let v = if v > LEAST_VARIANCE { v } else { LEAST_VARIANCE };
    let sd = v.sqrt();
    let by_sd = 1.0 / sd;
    let alpha = m * by_sd;
    let a = alpha.abs();
    let e = exp_minus(0.5 * alpha * alpha);
    let by = 1.0 / (a + 4.0);
    let t = (a - 4.0) * by;
    let tail = polynomial(&TAIL, t) * by;
    // Rounding can leave a little less than nothing.
    let excess = INVERSE_SQRT_TAU - a * tail;
    let w = if excess > 0.0 { e * excess } else { 0.0 };
    let (tail, phi) = (e * tail, e * INVERSE_SQRT_TAU);
    let (below, above) = if m < 0.0 { (1.0 - tail, tail) } else { (tail, 1.0 - tail) };
    let mean = if m < 0.0 { 0.0 } else { m } + sd * w;
    let share = above - w * (a + w);
    Rectified {
        mean,
        variance: if share > 0.0 { v * share } else { 0.0 },
        mean_by_mean: above,
        mean_by_variance: 0.5 * phi * by_sd,
        variance_by_mean: 2.0 * mean * below,
        variance_by_variance: above - mean * by_sd * phi,
    }
}

/// Units that are worked out together: enough for the compiler to keep a loop, which becomes vector code.
pub(super) const LANES: usize = 8;

/// [`rectify`] for several units: the six results, each for all units.
#[inline(always)]
pub(super) fn rectify_all(m: &[f64; LANES], v: &[f64; LANES]) -> [[f64; LANES]; 6] {
    let mut out = [[0.0; LANES]; 6];
    for l in 0..LANES {
        let z = rectify(m[l], v[l]);
        out[0][l] = z.mean;
        out[1][l] = z.variance;
        out[2][l] = z.mean_by_mean;
        out[3][l] = z.mean_by_variance;
        out[4][l] = z.variance_by_mean;
        out[5][l] = z.variance_by_variance;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_right() {
        for k in 0..7080 {
            let y = f64::from(k) * 0.1 + 1e-3;
            let error = (exp_minus(y) / (-y).exp() - 1.0).abs();
            assert!(error < 1e-15 || y >= NOTHING, "{y} {error}");
        }
        assert_eq!((exp_minus(0.0), exp_minus(1e300), exp_minus(f64::INFINITY)), (1.0, 0.0, 0.0));
    }

    /// Against an independent distribution function, and for large $|\alpha|$ against
    /// $E/\sqrt v = \varphi\,(\alpha^{-2} - 3\alpha^{-4} + 15\alpha^{-6} - \dots)$ and $V/v \to 2\varphi/|\alpha|^3$.
    #[test]
    fn moments_are_right_near_and_far() {
        let cdf = |x: f64| 0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
        let pdf = |x: f64| (-0.5 * x * x).exp() * INVERSE_SQRT_TAU;
        for v in [1e-12, 1.0, 30.0f64] {
            for k in -60..=60 {
                let alpha = f64::from(k) * 0.1;
                let found = rectify(alpha * v.sqrt(), v);
                let mean = alpha * cdf(alpha) + pdf(alpha);
                let square = (1.0 + alpha * alpha) * cdf(alpha) + alpha * pdf(alpha);
                assert!((found.mean / v.sqrt() - mean).abs() < 1e-14, "{alpha} {found:?}");
                assert!((found.variance / v - (square - mean * mean)).abs() < 4e-14, "{alpha} {found:?}");
                assert!((found.mean_by_mean - cdf(alpha)).abs() < 1e-15);
            }
            for alpha in [-31.0, -34.5, -37.0] {
                let found = rectify(alpha * v.sqrt(), v);
                let s = 1.0 / (alpha * alpha);
                let mean = s * (1.0 - s * (3.0 - s * (15.0 - s * (105.0 - s * 945.0))));
                assert!((found.mean / (v.sqrt() * pdf(alpha) * mean) - 1.0).abs() < 1e-9, "{alpha}");
                let square =
                    2.0 * s / alpha.abs() * (1.0 - s * (6.0 - s * (45.0 - s * (420.0 - s * 4725.0))));
                assert!((found.variance / (v * pdf(alpha) * square) - 1.0).abs() < 1e-7, "{alpha}");
            }
        }
    }

    #[test]
    fn the_dead_and_the_certain_are_numbers() {
        for (m, v) in [(-1.0, 1e-300), (-1e10, 1.0), (-40.0, 1.0), (-1e-3, 1e-12)] {
            let dead = rectify(m, v);
            let nothing = Rectified {
                mean: 0.0,
                variance: 0.0,
                mean_by_mean: 0.0,
                mean_by_variance: 0.0,
                variance_by_mean: 0.0,
                variance_by_variance: 0.0,
            };
            assert_eq!(dead, nothing, "{m} {v}");
        }
        let alive = rectify(3.0, 1e-12);
        assert_eq!((alive.mean, alive.mean_by_mean, alive.variance_by_variance), (3.0, 1.0, 1.0));
        assert!((alive.variance - 1e-12).abs() < 1e-27);
        assert!(rectify(0.0, 0.0).mean >= 0.0);
    }

    /// Central differences.
    #[test]
    fn derivatives_are_right() {
        for v in [1e-12, 0.3, 7.0f64] {
            for alpha in [-8.0, -2.0, -0.1, 0.0, 0.7, 3.0, 9.0] {
                let m = alpha * v.sqrt();
                let at = rectify(m, v);
                let (hm, hv) = (1e-5 * v.sqrt(), 1e-5 * v);
                let (up, down) = (rectify(m + hm, v), rectify(m - hm, v));
                let (wide, narrow) = (rectify(m, v + hv), rectify(m, v - hv));
                // In units in which v = 1.
                let sd = v.sqrt();
                let pairs = [
                    (at.mean_by_mean, (up.mean - down.mean) / (2.0 * hm)),
                    (at.mean_by_variance * sd, (wide.mean - narrow.mean) / (2.0 * hv) * sd),
                    (at.variance_by_mean / sd, (up.variance - down.variance) / (2.0 * hm) / sd),
                    (at.variance_by_variance, (wide.variance - narrow.variance) / (2.0 * hv)),
                ];
                for (k, (found, expected)) in pairs.into_iter().enumerate() {
                    assert!((found - expected).abs() < 2e-8, "{v} {alpha} {k}: {found} {expected}");
                }
            }
        }
    }
}
