//! Contributions on the integer lattice, where clipping and summing are exact.

use super::geometry::{Distance, Geometry};
use super::outer::Outer;
use reticent_noise::Resolution;

/// Adding this to a number below $2^{51}$ leaves it rounded to an integer in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// Largest absolute value of a coordinate of a contribution, in lattice units.
const LARGEST: f64 = (1u64 << 50) as f64;

/// The squares of 128 numbers of this many bits sum up in 64 bits.
const NARROW: u32 = 28;

/// A domain in lattice units, and the resolution of its noise.
///
/// # Privacy
/// A lattice unit is a public `step` in real units; noise has standard deviation (Gaussian) or scale (Laplace) $S$
/// units. [`add`](Self::add) maps *any* vector of `f64` into the integer domain: coordinates are clamped to the
/// bounds, and then the norm is computed exactly and compared. Rounding errors in `f64` cannot violate the bound;
/// they only decide how much of the domain is used. The sensitivity in units is at most
/// $\lfloor S/z \rfloor$, checked in integers, so the noise multiplier $S/\Delta$ is at least the stated $z$.
/// Attacked by `search_reaches_and_never_exceeds_the_sensitivity` and `no_contribution_leaves_the_domain`.
pub(crate) struct Lattice {
    pub(super) step: f64,
    pub(super) resolution: Resolution,
    pub(super) domain: Domain,
    /// Real units over metric units of each coordinate; empty if 1.
    pub(super) scales: Vec<f64>,
    /// How contributions are added if they are outer products, which [`add`](Self::add) does not add.
    pub(super) outer: Option<Box<Outer>>,
}

pub(super) enum Domain {
    /// Vectors of norm at most `limit`.
    Ball { limit: i64, norm: Norm },
    /// Bounds of each coordinate, which are integers.
    Box { lower: Vec<f64>, upper: Vec<f64> },
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Norm {
    One,
    Two,
    TwoNonNegative,
}

impl Lattice {
    /// `None` if this resolution is too coarse or too fine for the domain.
    pub(super) fn new(
        geometry: &Geometry,
        width: usize,
        distance: Distance,
        multiplier: f64,
        resolution: Resolution,
    ) -> Option<Self> {
        let units = resolution.units_per_sigma() as f64;
        // The factor 1 - 1e-12 keeps the rounded quotient at most S/z.
        let mut allowed = (units / multiplier * (1.0 - 1e-12)).floor();
        if let Geometry::Outer { radius } = *geometry {
            return Outer::lattice(radius, width, (distance, geometry), allowed, resolution);
        }
        let norm = match geometry {
            Geometry::L1Ball { .. } => Norm::One,
            Geometry::NonNegativeBall { .. } => Norm::TwoNonNegative,
            _ => Norm::Two,
        };
        if norm == Norm::One {
            // A discrete Laplace shifted by k units is no easier to tell apart than a continuous one shifted by
            // k + 1: their profiles meet at e^((k-2j)/S), and the chords between lie below 1 - e^((e-(k+1)/S)/2).
            allowed -= width as f64;
        }
        // The sensitivity fills the allowed units up to a relative 1e-9 for rounding, so the noise is larger than
        // stated by
        // that much.
        let step = geometry.distance(distance) * (1.0 + 1e-9) / allowed;
        let resolved = 8.0 * if norm == Norm::One { width as f64 } else { (width as f64).sqrt() };
        if !(allowed >= resolved && allowed <= LARGEST) {
            return None;
        }
        let squared = |x: f64| (x as u128).pow(2);
        let domain = if let Geometry::Box { lower, upper } = geometry {
            let bounds = lower.iter().zip(upper).map(|(l, u)| integer_bounds(l / step, u / step));
            let (lower, upper): (Vec<f64>, Vec<f64>) = bounds.unzip();
            if !lower.iter().chain(&upper).all(|x| x.abs() <= LARGEST) {
                return None;
            }
            let sides = lower.iter().zip(&upper).map(|(l, u)| match distance {
                Distance::Diameter => squared(u - l),
                Distance::Norm => squared(l.abs().max(u.abs())),
                Distance::TwiceNorm => 4 * squared(l.abs().max(u.abs())),
            });
            if sides.sum::<u128>() > squared(allowed) {
                return None;
            }
            Domain::Box { lower, upper }
        } else {
            let radii_squared = geometry.radii_squared(distance);
            let mut limit = (allowed / radii_squared.sqrt()).floor();
            while radii_squared as u128 * squared(limit) > squared(allowed) {
                limit -= 1.0;
            }
            Domain::Ball { limit: limit as i64, norm }
        };
        let scales = match geometry {
            Geometry::Blocks { blocks, .. } => {
                blocks.iter().flat_map(|b| std::iter::repeat_n(b.scale, b.width)).collect()
            }
            _ => Vec::new(),
        };
        Some(Self { step, resolution, domain, scales, outer: None })
    }

    /// A box with the same two real bounds for each coordinate, at most `units` apart. It has no noise.
    pub(super) fn interval(width: usize, lower: f64, upper: f64, units: u32) -> Self {
        let step = (upper - lower) / f64::from(units);
        let (lower, upper) = integer_bounds(lower / step, upper / step);
        let domain = Domain::Box {
            lower: vec![lower; width],
            upper: vec![upper.min(lower + f64::from(units)); width],
        };
        Self { step, resolution: Resolution::Bits23, domain, scales: Vec::new(), outer: None }
    }

    /// Whether all coordinates have the same unit and each may be 0: a condition for sparse contributions.
    pub(super) fn is_ball(&self) -> bool {
        matches!(self.domain, Domain::Ball { .. }) && self.scales.is_empty()
    }

    /// Whether sums of this many contributions fit in 64 bits, with noise.
    pub(super) fn holds(&self, records: usize) -> bool {
        let largest = match &self.domain {
            Domain::Ball { limit, .. } => *limit as u128,
            Domain::Box { lower, upper } => {
                lower.iter().chain(upper).map(|x| x.abs() as u128).max().unwrap_or(0)
            }
        };
        largest * records as u128 <= 1 << 62
    }

    /// Rounds a contribution to the lattice, clips it to the domain and adds it to `sums`. One that is not finite
    /// becomes 0, or the point of a box nearest to 0. `real` is scratch space.
    ///
    /// Sums are modulo $2^{64}$, which is a function of the exact sum, so privacy holds even if a sum overflows.
    #[inline(always)]
    pub(super) fn add(&self, real: &mut [f64], sums: &mut [i64]) {
        real.iter_mut().zip(&self.scales).for_each(|(x, scale)| *x /= scale);
        match &self.domain {
            Domain::Box { lower, upper } => {
                if !real.iter().all(|x| x.is_finite()) {
                    real.fill(0.0);
                }
                for (((x, sum), &l), &u) in real.iter().zip(sums).zip(lower).zip(upper) {
                    *sum = sum.wrapping_add(round_within(x / self.step, l, u));
                }
            }
            &Domain::Ball { limit, norm } => {
                if norm == Norm::TwoNonNegative {
                    real.iter_mut().for_each(|x| *x = if *x < 0.0 { 0.0 } else { *x });
                }
                let mut step = self.step;
                let mut length = real_norm(norm, real);
                if length == f64::INFINITY {
                    // The squares overflowed: rescale and compute the norm again.
                    real.iter_mut().for_each(|x| *x *= 2f64.powi(-600));
                    step *= 2f64.powi(-600);
                    length = real_norm(norm, real);
                }
                let cap = limit as f64;
                let inside = length <= cap * step;
                if inside && add_scaled(real, 1.0 / step, limit, norm, sums) {
                    return;
                }
                // Rounding moves a vector by at most sqrt(d)/2, or d/2 in L1: the target is lower by that much, and
                // by a
                // little more so that the fast check of a fine lattice passes.
                let width = real.len() as f64;
                let target = cap - 0.5 * if norm == Norm::One { width } else { width.sqrt() };
                let factor = target * (1.0 - 1e-6) / length;
                if length.is_finite() {
                    add_scaled(real, factor, limit, norm, sums);
                }
            }
        }
    }
}

/// The integers between two bounds; if there are none, the nearest integer towards 0 as both bounds.
fn integer_bounds(lower: f64, upper: f64) -> (f64, f64) {
    let (l, u) = (lower.ceil(), upper.floor());
    if l <= u { (l, u) } else { (lower.trunc(), lower.trunc()) }
}

/// The nearest integer within integer bounds. NaN becomes a bound.
#[inline(always)]
fn round_within(x: f64, lower: f64, upper: f64) -> i64 {
    let x = if x < upper { x } else { upper };
    let x = if x > lower { x } else { lower };
    ((x + ROUND).to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64)
}

/// Scales, rounds and adds a contribution if its norm is within the limit, which is checked exactly. Returns whether
/// it is.
///
/// One sweep adds and measures; a contribution beyond the limit is subtracted again.
#[inline(always)]
fn add_scaled(real: &[f64], factor: f64, limit: i64, norm: Norm, sums: &mut [i64]) -> bool {
    let upper = limit as f64;
    let lower = if norm == Norm::TwoNonNegative { 0.0 } else { -upper };
    let unit = |x: &f64| round_within(x * factor, lower, upper);
    let limit = limit.unsigned_abs();
    // Without the low bits and rounded up: exact if there are none, and otherwise an upper bound. No coordinate is
    // above
    // the limit, so the high bits of one fit in 32.
    let low = (u64::BITS - limit.leading_zeros()).saturating_sub(NARROW);
    let mut squares = 0;
    for (real, sums) in real.chunks(128).zip(sums.chunks_mut(128)) {
        let mut part = 0;
        for (x, sum) in real.iter().zip(sums) {
            let unit = unit(x);
            *sum = sum.wrapping_add(unit);
            let high = ((unit as u64) >> low) as i32;
            let size = if low == 0 { i64::from(high) } else { i64::from(high.unsigned_abs() + 1) };
            part += (size * size) as u64;
        }
        squares += u128::from(part);
    }
    let sizes = real.iter().map(|x| u128::from(unit(x).unsigned_abs()));
    let within = match norm {
        Norm::One => sizes.sum::<u128>() <= u128::from(limit),
        _ if squares <= u128::from(limit >> low).pow(2) => true,
        _ => low > 0 && sizes.map(|size| size * size).sum::<u128>() <= u128::from(limit).pow(2),
    };
    if !within {
        real.iter().zip(sums).for_each(|(x, sum)| *sum = sum.wrapping_sub(unit(x)));
    }
    within
}

/// Sixteen accumulators let the compiler vectorise, since the order of additions is then free.
#[inline(always)]
fn real_norm(norm: Norm, real: &[f64]) -> f64 {
    let size = |x: f64| if norm == Norm::One { x.abs() } else { x * x };
    let mut lanes = [0.0; 16];
    let (chunks, rest) = real.as_chunks::<16>();
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += size(x);
        }
    }
    let sum = lanes.iter().sum::<f64>() + rest.iter().map(|&x| size(x)).sum::<f64>();
    if norm == Norm::One { sum } else { sum.sqrt() }
}

#[cfg(test)]
#[path = "lattice_tests.rs"]
mod tests;
