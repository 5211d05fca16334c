//! Roots of monotone functions and minima of unimodal ones.

/// The sign change of a monotone function: `f` is positive at `outside` and not positive at `inside`.
/// Returns a point that is at most `tolerance` (relative) from the sign change and where `f` is **not positive**,
/// so that a calibrated parameter always meets its target. False position with the Illinois weights, safeguarded
/// by bisection; `f` may be infinite.
pub(crate) fn boundary<E>(
    mut outside: (f64, f64),
    mut inside: (f64, f64),
    tolerance: f64,
    mut f: impl FnMut(f64) -> Result<f64, E>,
) -> Result<f64, E> {
    debug_assert!(outside.1 > 0.0 && inside.1 <= 0.0, "{outside:?} {inside:?}");
    let (mut weight_out, mut weight_in) = (1.0, 1.0);
    let mut width = f64::INFINITY;
    for _ in 0..200 {
        let gap = (outside.0 - inside.0).abs();
        let resolution = tolerance * inside.0.abs().max(outside.0.abs()).max(f64::MIN_POSITIVE);
        if gap <= resolution {
            break;
        }
        let (a, b) = (outside.1 * weight_out, inside.1 * weight_in);
        let secant = inside.0 + (outside.0 - inside.0) * (-b / (a - b));
        // A secant step that would not shrink the interval is replaced by its middle.
        let x = if secant.is_finite() && gap <= 0.6 * width {
            // Step a little past the estimate, towards the farther end, so that this end moves close to the root too.
            let margin = (0.01 * gap).max(0.4 * resolution);
            let near_outside = (secant - outside.0).abs() < (secant - inside.0).abs();
            let farther = if near_outside { inside.0 } else { outside.0 };
            let (low, high) = (outside.0.min(inside.0), outside.0.max(inside.0));
            (secant + margin * (farther - secant).signum())
                .clamp(low + 0.4 * resolution, high - 0.4 * resolution)
        } else {
            0.5 * (outside.0 + inside.0)
        };
        width = gap;
        let value = f(x)?;
        if value > 0.0 {
            outside = (x, value);
            (weight_out, weight_in) = (1.0, 0.5 * weight_in);
        } else {
            inside = (x, value);
            (weight_out, weight_in) = (0.5 * weight_out, 1.0);
        }
        if value == 0.0 {
            break;
        }
    }
    Ok(inside.0)
}

/// The minimum of a unimodal function on `[a, b]`, by golden section: the point and the value.
pub(crate) fn minimum(mut a: f64, mut b: f64, steps: usize, mut f: impl FnMut(f64) -> f64) -> (f64, f64) {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (mut x1, mut x2) = (b - GOLDEN * (b - a), a + GOLDEN * (b - a));
    let (mut f1, mut f2) = (f(x1), f(x2));
    for _ in 0..steps {
        if f1 <= f2 {
            (b, x2, f2) = (x2, x1, f1);
            x1 = b - GOLDEN * (b - a);
            f1 = f(x1);
        } else {
            (a, x1, f1) = (x1, x2, f2);
            x2 = a + GOLDEN * (b - a);
            f2 = f(x2);
        }
    }
    if f1 <= f2 { (x1, f1) } else { (x2, f2) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn lands_on_the_inside_within_tolerance() {
        for root in [1e-8, 0.3, 7.0, 1e6] {
            let mut calls = 0;
            let x = boundary((0.0, 1.0), (2e6, -1.0), 1e-9, |x| {
                calls += 1;
                Ok::<_, Infallible>(if x < root { (root - x).ln_1p() } else { -(x - root).tanh() })
            });
            let x = x.unwrap();
            assert!(x >= root && x <= root * (1.0 + 2e-9), "{root}: {x}");
            assert!(calls < 90, "{calls}");
        }
    }

    #[test]
    fn an_infinite_side_is_bisected() {
        let f = |x: f64| Ok::<_, Infallible>(if x < 3.0 { f64::INFINITY } else { -1.0 });
        let x = boundary((0.1, f64::INFINITY), (1e3, -1.0), 1e-6, f).unwrap();
        assert!((3.0..3.00001).contains(&x));
    }
}
