//! Slice sampling of one coordinate.

use rand::{Rng, RngExt};

/// Maximum number of stepping-out steps.
const WIDENINGS: u32 = 50;
/// Maximum number of shrinking steps before the point stays: each halves the interval on average, so only a density
/// that is NaN needs more.
const NARROWINGS: u32 = 2000;

/// The next point of a chain that leaves the density $e^{f}$ between two bounds invariant, from the point `x`.
///
/// A level is drawn below the density at `x`, an interval of about the given width around it is stepped out until
/// both ends are below that level, and points are drawn from it, each shrinking it, until one is above. Where the
/// density is 0, $f$ is $-\infty$; it may be a step function, such as that of a number rounded down.
///
/// # Citation
/// Neal, "Slice sampling", Annals of Statistics 31, 2003, figures 3 and 5.
pub fn slice(x: f64, width: f64, (low, high): (f64, f64), f: impl Fn(f64) -> f64, rng: &mut impl Rng) -> f64 {
    let level = f(x) + (1.0 - rng.random::<f64>()).ln();
    let start = x - width * rng.random::<f64>();
    let (mut left, mut right) = (start.max(low), (start + width).min(high));
    // The split of the steps between the two ends is random, since it must not depend on x.
    let first = rng.random_range(0..WIDENINGS);
    for _ in 0..first {
        if left <= low || f(left) < level {
            break;
        }
        left = (left - width).max(low);
    }
    for _ in first + 1..WIDENINGS {
        if right >= high || f(right) < level {
            break;
        }
        right = (right + width).min(high);
    }
    for _ in 0..NARROWINGS {
        let next = left + (right - left) * rng.random::<f64>();
        if f(next) >= level {
            return next;
        }
        if next < x {
            left = next;
        } else {
            right = next;
        }
        if right - left < 1e-14 * width {
            return x;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    /// Moments of a density with two modes, from a poor width, within five standard errors for an effective sample
    /// size of one in ten draws.
    #[test]
    fn two_modes_are_visited_in_proportion() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let f = |x: f64| ((-0.5 * (x + 2.0).powi(2)).exp() + 3.0 * (-0.5 * (x - 2.0).powi(2)).exp()).ln();
        let (mut x, mut mean, draws) = (0.0, 0.0, 200_000);
        for _ in 0..draws {
            x = slice(x, 3.0, (f64::NEG_INFINITY, f64::INFINITY), f, &mut rng);
            mean += x / f64::from(draws);
        }
        // Probability 3/4 at 2 and the rest at -2: mean 1, variance 1 + 4 * 3/4.
        assert!((mean - 1.0).abs() < 5.0 * (4.0 * 10.0 / f64::from(draws)).sqrt(), "{mean}");
    }
}
