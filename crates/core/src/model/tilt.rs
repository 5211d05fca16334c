//! Moments of the tilted distribution of a Gaussian number $a \sim N(m, v)$ given a record.

use crate::math::normal::Tail;

/// The evidence $Z = E[p(y|a)]$ of a record by its derivatives: the tilted mean is $m + vg$ and the tilted variance $vu$, with
/// $u = 1 - vk$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tilt {
    /// $\log Z$.
    pub(super) log_evidence: f64,
    /// $g = d\log Z/dm$.
    pub(super) slope: f64,
    /// $k = -d^2\log Z/dm^2 = g^2 - 2\,d\log Z/dv$.
    pub(super) curvature: f64,
    /// $u$, computed directly: the remaining share of the variance.
    pub(super) left: f64,
}

impl Tilt {
    /// A target that is $N(a, s^2)$.
    pub(super) fn gaussian(m: f64, v: f64, noise_variance: f64, target: f64) -> Self {
        let (by, gap) = (1.0 / (v + noise_variance), target - m);
        let log_evidence = -0.5 * (gap * gap * by - (by / std::f64::consts::TAU).ln());
        Self { log_evidence, slope: gap * by, curvature: by, left: noise_variance * by }
    }

    /// The class $+1$ or $-1$ with probability $\Phi(ya)$, which gives $Z = \Phi(ym/\sqrt{1 + v})$.
    #[inline(never)] // Inlined, it would only bloat the vector code of networks.
    pub(super) fn probit(m: f64, v: f64, class: f64) -> Self {
        let by = 1.0 / (1.0 + v);
        let tail = Tail::at(class * m * by.sqrt());
        Self {
            log_evidence: tail.log,
            slope: class * tail.hazard * by.sqrt(),
            curvature: tail.curvature * by,
            left: (1.0 + v * tail.rest) * by,
        }
    }
}

/// The class of a target: $+1$ if it is positive, and else $-1$.
pub(super) fn class(target: f64) -> f64 {
    if target > 0.0 { 1.0 } else { -1.0 }
}
