//! The logistic-normal integral $Z = \int \sigma(a)\,N(a; m, v)\,da$ and the moments of its integrand.
//!
//! The trapezoidal rule converges geometrically for integrands that are analytic about the real line. The logistic function has its
//! poles at $\pm i\pi$, which cost $e^{-2\pi^2/h}$ at a step of $h$, and the Gaussian costs $e^{-2\pi^2 v/h^2}$: a step of
//! $h = \min(0.5, 0.7\sqrt v)$ leaves less than $10^{-16}$. As the integrand is log-concave, and more so than the Gaussian
//! alone, nine standard deviations of that to each side of its mode leave as little out.
//!
//! For $v > 25$ that would be many nodes. There, nodes $a = \pi\sinh t$ with even steps in $t$ are dense about 0,
//! where the logistic function bends, and sparse where it is constant. For a Gaussian that is more than ten standard
//! deviations away, $\sigma = 1$ on one side and $\sigma = e^a$ on the other.

use crate::math::vector::{log_sigmoid, sigmoid};
use crate::model::tilt::Tilt;
use std::f64::consts::{PI, TAU};

/// Variance above which the nodes are unevenly spaced.
const WIDE: f64 = 25.0;

/// The tilted moments of $a \sim N(m, v)$ given the class $\pm1$.
pub(super) fn tilt(m: f64, v: f64, class: f64) -> Tilt {
    let found = positive(class * m, v);
    Tilt { slope: class * found.slope, ..found }
}

/// The tilted moments for the class $+1$.
fn positive(m: f64, v: f64) -> Tilt {
    let sd = v.sqrt();
    if !(sd > 1e-100 && m.is_finite()) {
        let s = sigmoid(-m);
        return Tilt { log_evidence: log_sigmoid(m), slope: s, curvature: s * (1.0 - s), left: 1.0 };
    }
    if v > WIDE && m > 10.0 * sd {
        return Tilt { log_evidence: 0.0, slope: 0.0, curvature: 0.0, left: 1.0 };
    }
    if v > WIDE && m + v < -10.0 * sd {
        return Tilt { log_evidence: m + 0.5 * v, slope: 1.0, curvature: 0.0, left: 1.0 };
    }
    let mode = mode(m, v);
    let mut sums = Sums::new(m, v, mode);
    if v > WIDE {
        let (from, to) = (((mode - 9.0 * sd) / PI).asinh(), ((mode + 9.0 * sd) / PI).asinh());
        let nodes = ((to - from) / 0.05).ceil();
        let step = (to - from) / nodes;
        for k in 0..=nodes as u32 {
            let t = from + f64::from(k) * step;
            sums.add(PI * t.sinh() - mode, PI * t.cosh() * step);
        }
    } else {
        let step = (0.7 * sd).min(0.5);
        for k in 0..=(18.0 * sd / step).ceil() as u32 {
            // Steps from the mode, which may be small compared with it.
            sums.add(f64::from(k) * step - 9.0 * sd, step);
        }
    }
    sums.tilt(m, v)
}

/// The approximate maximum of $\log\sigma(a) - (a - m)^2/2v$: the root of the increasing function
/// $a - m - v\sigma(-a)$, by Newton steps within a bracket.
fn mode(m: f64, v: f64) -> f64 {
    let (mut low, mut high) = (m, m + v);
    let mut a = if high < 0.0 { high } else { low.max(0.0) };
    for _ in 0..100 {
        let s = sigmoid(-a);
        let gap = a - m - v * s;
        if gap > 0.0 {
            high = a;
        } else {
            low = a;
        }
        let newton = a - gap / (1.0 + v * s * (1.0 - s));
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        let step = (next - a).abs();
        a = next;
        if step < 1e-3 * v.sqrt() {
            break;
        }
    }
    a
}

/// Weighted sums over nodes, about the mode, and relative to the density there.
struct Sums {
    /// The mode minus $m$.
    shift: f64,
    by_variance: f64,
    mode: f64,
    log_top: f64,
    mass: f64,
    /// Sums of $a$ minus the mode, and of its square.
    first: f64,
    second: f64,
    /// Sums of $s = \sigma(-a)$, and of its square.
    slope: f64,
    square: f64,
}

impl Sums {
    fn new(m: f64, v: f64, mode: f64) -> Self {
        let shift = mode - m;
        let log_top = log_sigmoid(mode) - 0.5 * shift * shift / v;
        let by_variance = 1.0 / v;
        Self {
            shift,
            by_variance,
            mode,
            log_top,
            mass: 0.0,
            first: 0.0,
            second: 0.0,
            slope: 0.0,
            square: 0.0,
        }
    }

    /// Adds a node this far from the mode.
    fn add(&mut self, gap: f64, step: f64) {
        let a = self.mode + gap;
        // One exponential gives both the logistic function and its logarithm.
        let e = (-a.abs()).exp();
        let (log, s) = if a < 0.0 { (a - e.ln_1p(), 1.0 / (1.0 + e)) } else { (-e.ln_1p(), e / (1.0 + e)) };
        let weight = step * (log - 0.5 * (self.shift + gap).powi(2) * self.by_variance - self.log_top).exp();
        self.mass += weight;
        self.first += weight * gap;
        self.second += weight * gap * gap;
        self.slope += weight * s;
        self.square += weight * s * s;
    }

    /// With $E$ over the tilted density, $g = E[s]$ and $k = g(1 - g) - 2\operatorname{Var}(s)$, by parts. For large
    /// $v$ this suffers from cancellation and $u = \operatorname{Var}(a)/v$ does not.
    fn tilt(&self, m: f64, v: f64) -> Tilt {
        let log_evidence = self.log_top + self.mass.ln() - 0.5 * (TAU * v).ln();
        let by = 1.0 / self.mass;
        let slope = self.slope * by;
        if v < 1.0 {
            let spread = self.square * by - slope * slope;
            let curvature = slope * (1.0 - slope) - 2.0 * spread;
            return Tilt { log_evidence, slope, curvature, left: 1.0 - v * curvature };
        }
        let mean = self.first * by;
        let left = (self.second * by - mean * mean) / v;
        let slope = if m < 0.0 { (self.mode - m + mean) / v } else { slope };
        Tilt { log_evidence, slope, curvature: (1.0 - left) / v, left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evidence, tilted mean and tilted variance by a brute sum: 100,001 nodes over the mode and thirteen standard deviations.
    fn brute(m: f64, v: f64) -> (f64, f64, f64) {
        let sd = v.sqrt();
        let centre = mode(m, v);
        let log = |a: f64| log_sigmoid(a) - 0.5 * (a - m).powi(2) / v;
        let top = log(centre);
        let step = 13.0 * sd / 50_000.0;
        let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
        for k in -50_000..=50_000 {
            let gap = f64::from(k) * step;
            let weight = (log(centre + gap) - top).exp() * step;
            mass += weight;
            first += weight * gap;
            second += weight * gap * gap;
        }
        let mean = first / mass;
        (top + mass.ln() - 0.5 * (TAU * v).ln(), centre + mean, second / mass - mean * mean)
    }

    /// Errors below $10^{-10}$ in $\log Z$, in the tilted mean over the standard deviation, and in the remaining
    /// share of the variance.
    #[test]
    fn moments_are_those_of_brute_force() {
        for v in [1e-4, 0.01, 0.5, 0.99, 1.01, 4.0, 24.9, 25.1, 100.0, 2500.0] {
            let sd = f64::sqrt(v);
            for shift in [-30.0, -12.0, -9.9, -5.0, -2.0, -0.3, 0.0, 1.0, 4.0, 9.9, 10.1] {
                for m in [shift * sd, shift * sd - 0.5 * v, shift - v] {
                    let found = positive(m, v);
                    let (log, mean, variance) = brute(m, v);
                    let scale = log.abs().max(1.0);
                    assert!((found.log_evidence - log).abs() < 1e-10 * scale, "{m} {v}: {found:?} {log}");
                    let gap = (m + v * found.slope - mean) / sd;
                    assert!(gap.abs() < 1e-10 * (m / sd).abs().max(1.0), "{m} {v}: {found:?} {mean}");
                    assert!((found.left - variance / v).abs() < 1e-10, "{m} {v}: {found:?} {variance}");
                }
            }
        }
    }

    /// Derivatives of the evidence, by finite differences; and $\sigma(m)$ for a variance of 0.
    #[test]
    fn slope_and_curvature_are_derivatives() {
        for (m, v) in [(0.3, 1e-8), (-40.0, 1e-3), (2.0, 0.7), (-3.0, 5.0), (-20.0, 90.0), (15.0, 400.0)] {
            let step = 1e-4 * f64::max(1.0, f64::sqrt(v));
            let (up, down, at) = (positive(m + step, v), positive(m - step, v), positive(m, v));
            assert!(
                ((up.log_evidence - down.log_evidence) / (2.0 * step) - at.slope).abs() < 1e-8,
                "{m} {v}"
            );
            assert!(((down.slope - up.slope) / (2.0 * step) - at.curvature).abs() < 1e-8, "{m} {v}");
            assert!((at.left + v * at.curvature - 1.0).abs() < 1e-12);
        }
        for m in [-700.0, -3.0, 0.0, 5.0, 300.0] {
            for v in [0.0, 1e-20] {
                let at = tilt(m, v, -1.0);
                assert!(
                    (at.slope + sigmoid(m)).abs() < 1e-14
                        && (at.log_evidence - log_sigmoid(-m)).abs() < 1e-12 * m.abs().max(1.0)
                );
            }
        }
        for (m, v) in [(1e30, 1e60), (-1e30, 1e60), (0.0, 1e60), (-1e30, 1.0), (1e30, 1e-30)] {
            let at = positive(m, v);
            assert!(at.slope.is_finite() && at.curvature.is_finite() && at.left > 0.0, "{m} {v} {at:?}");
        }
    }
}
