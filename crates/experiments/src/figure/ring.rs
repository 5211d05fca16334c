//! Ellipses of two coordinates.

use std::f64::consts::TAU;

use crate::metrics::Moments;

/// Corners of an ellipse: with a radius of 100 pixels none is farther than a quarter of a pixel from it.
const CORNERS: u32 = 48;

/// The ellipse that holds 98 % of the first two coordinates: $m + \sqrt q\,L u$ for $u$ on the unit circle, with $LL^\top$ their
/// covariance. `None` if it is not an ellipse.
pub(super) fn ring(component: &Moments) -> Option<Vec<(f64, f64)>> {
    let d = component.mean.len();
    let (a, b, c) = (component.covariance[0], component.covariance[1], component.covariance[d + 1]);
    let (first, slope) = (a.sqrt(), b / a.sqrt());
    let second = (c - slope * slope).sqrt();
    if !(is_finite(component) && first > 0.0 && second > 0.0) {
        return None;
    }
    let radius = ring_quantile().sqrt();
    let corner = |k: u32| {
        let (sin, cos) = (TAU * f64::from(k) / f64::from(CORNERS)).sin_cos();
        let (x, y) = (first * cos, slope * cos + second * sin);
        (component.mean[0] + radius * x, component.mean[1] + radius * y)
    };
    Some((0..CORNERS).map(corner).collect())
}

pub(super) fn is_finite(component: &Moments) -> bool {
    component.mean.iter().chain(&component.covariance).all(|v| v.is_finite())
}

/// The 98 % quantile of chi-square with two degrees of freedom, whose distribution function is `1 - exp(-q/2)`.
pub(super) fn ring_quantile() -> f64 {
    -2.0 * 0.02_f64.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_holds_98_per_cent() {
        // scipy.stats.chi2.ppf(0.98, 2).
        assert!((ring_quantile() - 7.824046010856292).abs() < 1e-12);
    }

    /// Variances 4 along (1, 1) and 1 across: every corner is at the same distance, by the inverse of the covariance.
    #[test]
    fn corners_are_on_the_ellipse_of_the_covariance() {
        let component = Moments { mean: vec![1.0, 2.0], covariance: vec![2.5, 1.5, 1.5, 2.5] };
        for (x, y) in ring(&component).unwrap() {
            let (x, y) = (x - 1.0, y - 2.0);
            let (along, across) = (0.5 * (x + y) * (x + y), 0.5 * (x - y) * (x - y));
            assert!((along / 4.0 + across - ring_quantile()).abs() < 1e-12);
        }
        let flat = Moments { covariance: vec![1.0, 1.0, 1.0, 1.0], ..component };
        assert_eq!(ring(&flat), None);
    }
}
