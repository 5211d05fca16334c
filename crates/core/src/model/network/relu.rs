//! The first two moments of $\max(a, 0)$ for Gaussian $a$, and their derivatives.
//!
//! With $\alpha = m/\sqrt v$, $T = \Phi(-|\alpha|)$, $\varphi = \varphi(\alpha)$ and $w = \varphi - |\alpha| T \ge 0$,
//!
//! $$E = \max(m, 0) + \sqrt v\, w, \qquad V = v\,(\Phi(\alpha) - w(|\alpha| + w)),$$
//!
//! without cancellation for large $\alpha$ of either sign. The derivatives are
//!
//! $$\frac{dE}{dm} = \Phi, \quad \frac{dE}{dv} = \frac{\varphi}{2\sqrt v}, \quad \frac{dV}{dm} = 2E(1 - \Phi), \quad
//!   \frac{dV}{dv} = \Phi - \frac{E\varphi}{\sqrt v}.$$
//!
//! Far below zero everything underflows to exact zeros: a unit that is dead for a record has neither output nor
//! gradient.

/// $(a + 5.5)\,\Phi(-a)\,e^{a^2/2}$ for $0 \le a \le 37.7$ as a polynomial in $t = 1.29178 - 12.6048/(a + 5.5)$, which goes from -1 to 1:
/// the Chebyshev series of degree 19, from 50 digits. Relative error below $4 \cdot 10^{-16}$.
const TAIL: [f64; 20] = [
    0.8705038735803468,
    -0.7342435501149358,
    0.5326692265950536,
    -0.3308310758251453,
    0.17383757358646884,
    -0.07549943832778165,
    0.025862029810149772,
    -0.0062325188192165586,
    0.0006309749812967458,
    0.00021628831385094773,
    -0.00010246756206549427,
    7.016414984510948e-06,
    6.936424744810597e-06,
    -1.7358007846429785e-06,
    -3.895225211884492e-07,
    2.028913190892162e-07,
    2.0619991387494077e-08,
    -2.014671224410853e-08,
    -9.323675175625302e-10,
    1.4078944192221636e-09,
];
const TAIL_SHIFT: f64 = 5.5;
const TAIL_PLACE: [f64; 2] = [1.29178, 12.6048];

/// $e^r$ for $|r| \le \frac12\log 2$: 1 and $r$ times the Chebyshev series of degree 10 of $(e^r - 1)/r$, from 50 digits. Relative error
/// below $10^{-17}$.
const EXPONENTIAL: [f64; 12] = [
    1.0,
    1.0,
    0.5000000000000006,
    0.1666666666666667,
    0.04166666666657314,
    0.008333333333326141,
    0.0013888888932488625,
    0.00019841269874800512,
    2.480150434696448e-05,
    2.7557255425720897e-06,
    2.762635725527078e-07,
    2.510520638458724e-08,
];

/// $1/\sqrt{2\pi}$.
const INVERSE_SQRT_TAU: f64 = 0.398_942_280_401_432_7;

/// Above this, $e^{-y}$ underflows.
const UNDERFLOW: f64 = 708.0;

/// Minimum variance, so that $\alpha$ is finite.
const MIN_VARIANCE: f64 = 1e-100;

/// $\sum_k c_k x^k$, in pairs of terms and two independent sums.
#[inline(always)]
fn polynomial<const TERMS: usize>(c: &[f64; TERMS], x: f64) -> f64 {
    let square = x * x;
    let fourth = square * square;
    let pair = |k: usize| c[k + 1].mul_add(x, c[k]);
    let [mut a, mut b] = [pair(TERMS - 4), pair(TERMS - 2)];
    let mut k = TERMS - 4;
    while k > 0 {
        k -= 4;
        a = a.mul_add(fourth, pair(k));
        b = b.mul_add(fourth, pair(k + 2));
    }
    b.mul_add(square, a)
}

/// $e^{-y}$ for $y \ge 0$, without branches, so that a loop over units is vectorised.
#[inline(always)]
fn exp_minus(y: f64) -> f64 {
    /// Adding this to a small number leaves it rounded to an integer in the low bits.
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let y = if y < UNDERFLOW { y } else { UNDERFLOW };
    let shifted = y.mul_add(std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    // n has at most 10 bits and the high part of ln 2 has 32: their product is exact.
    let r = n.mul_add(LN2_LOW, n.mul_add(LN2_HIGH, -y));
    let sum = polynomial(&EXPONENTIAL, r);
    let exponent = 1023u64.wrapping_sub(shifted.to_bits().wrapping_sub(ROUND.to_bits()));
    let power = f64::from_bits(exponent << 52);
    if y < UNDERFLOW { sum * power } else { 0.0 }
}

/// Maximum number of units in a block.
pub(super) const BLOCK: usize = 64;

/// A block of units: inputs, intermediate values and outputs. The arrays are fields of one struct, so that the
/// compiler can assume that they do not overlap.
pub(super) struct Units {
    /// $m$.
    pub(super) m: [f64; BLOCK],
    /// $v$.
    pub(super) v: [f64; BLOCK],
    by_sd: [f64; BLOCK],
    /// $1/(|\alpha| + c)$, the argument of the tail polynomial.
    place: [f64; BLOCK],
    exponential: [f64; BLOCK],
    tail: [f64; BLOCK],
    /// $E$.
    pub(super) mean: [f64; BLOCK],
    /// $V$.
    pub(super) variance: [f64; BLOCK],
    /// $dE/dm$, $dE/dv$, $dV/dm$ and $dV/dv$.
    pub(super) by: [[f64; BLOCK]; 4],
}

impl Default for Units {
    fn default() -> Self {
        let none = [0.0; BLOCK];
        Self {
            m: none,
            v: none,
            by_sd: none,
            place: none,
            exponential: none,
            tail: none,
            mean: none,
            variance: none,
            by: [none; 4],
        }
    }
}

impl Units {
    /// The moments of $\max(a, 0)$ for the first `count` units. Sweeps are short, so that their vector operations are
    /// independent.
    #[inline(always)]
    pub(super) fn rectify(&mut self, count: usize) {
        let count = count.min(BLOCK);
        for i in 0..count {
            let v = if self.v[i] > MIN_VARIANCE { self.v[i] } else { MIN_VARIANCE };
            let sd = v.sqrt();
            // One division for 1/sd and for 1/(|m|/sd + c) = sd/(|m| + c sd).
            let shifted = sd.mul_add(TAIL_SHIFT, self.m[i].abs());
            let inverse = 1.0 / (sd * shifted);
            self.v[i] = v;
            self.by_sd[i] = inverse * shifted;
            self.place[i] = inverse * v;
        }
        for i in 0..count {
            let alpha = self.m[i] * self.by_sd[i];
            self.exponential[i] = exp_minus(0.5 * alpha * alpha);
        }
        for i in 0..count {
            let t = (-TAIL_PLACE[1]).mul_add(self.place[i], TAIL_PLACE[0]);
            self.tail[i] = polynomial(&TAIL, t) * self.place[i];
        }
        for i in 0..count {
            let (m, v, by_sd) = (self.m[i], self.v[i], self.by_sd[i]);
            let (e, tail) = (self.exponential[i], self.tail[i]);
            let (sd, a) = (v * by_sd, (m * by_sd).abs());
            // Rounding can leave a small negative number.
            let excess = (-a).mul_add(tail, INVERSE_SQRT_TAU);
            let w = if excess > 0.0 { e * excess } else { 0.0 };
            let (tail, phi) = (e * tail, e * INVERSE_SQRT_TAU);
            let (below, above) = if m < 0.0 { (1.0 - tail, tail) } else { (tail, 1.0 - tail) };
            let mean = if m < 0.0 { 0.0 } else { m } + sd * w;
            let share = above - w * (a + w);
            self.mean[i] = mean;
            self.variance[i] = if share > 0.0 { v * share } else { 0.0 };
            self.by[0][i] = above;
            self.by[1][i] = 0.5 * phi * by_sd;
            self.by[2][i] = 2.0 * mean * below;
            self.by[3][i] = above - mean * by_sd * phi;
        }
    }
}

/// Moments and derivatives for one unit.
#[cfg(test)]
#[derive(Debug, PartialEq)]
pub(super) struct Rectified {
    pub(super) mean: f64,
    pub(super) variance: f64,
    pub(super) mean_by_mean: f64,
    pub(super) mean_by_variance: f64,
    pub(super) variance_by_mean: f64,
    pub(super) variance_by_variance: f64,
}

#[cfg(test)]
pub(super) fn rectify(m: f64, v: f64) -> Rectified {
    let mut units = Units::default();
    (units.m[0], units.v[0]) = (m, v);
    units.rectify(1);
    let Units { mean, variance, by, .. } = units;
    Rectified {
        mean: mean[0],
        variance: variance[0],
        mean_by_mean: by[0][0],
        mean_by_variance: by[1][0],
        variance_by_mean: by[2][0],
        variance_by_variance: by[3][0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_right() {
        for k in 0..7080 {
            let y = f64::from(k) * 0.1 + 1e-3;
            let error = (exp_minus(y) / (-y).exp() - 1.0).abs();
            assert!(error < 1e-15 || y >= UNDERFLOW, "{y} {error}");
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
    fn dead_and_certain_units_are_finite() {
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
