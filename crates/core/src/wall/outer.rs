//! Sums of outer products of vectors: exact in integers, and rounded once to the lattice of the noise.

use super::geometry::{Distance, Geometry};
use super::lattice::{Domain, Lattice, Norm};
use reticent_noise::Resolution;

/// Binary logarithm of the steps of the lattice of vectors per clipping norm.
const STEPS_BITS: u32 = 22;
/// Vectors in a block: the sum of their squared norms in steps is at most $2^{53}$, so `f64` holds all sums of their products exactly.
pub(super) const BLOCK: usize = 1 << (53 - 2 * STEPS_BITS);
/// $\sqrt2$ times $2^{16}$, rounded up: off-diagonal elements count twice in the Frobenius norm.
const ROOT: u32 = 92_682;
const ROOT_BITS: u32 = 16;
/// Largest sensitivity in units, so that its square times $2^{33}$ fits in 128 bits.
const LARGEST: f64 = (1u64 << 46) as f64;

const _: () =
    assert!((ROOT as u64).pow(2) >= 2 << (2 * ROOT_BITS) && (ROOT as u64 - 1).pow(2) < 2 << (2 * ROOT_BITS));
const _: () = assert!((BLOCK as u64) << (2 * STEPS_BITS) <= 1 << 53);

/// Outer products $vv^T$ on two lattices: a fine one of vectors, which does not depend on the noise, and that of the noise.
///
/// # Privacy
/// A vector is rounded to integers $q$ with $\lVert q\rVert^2 \le R^2$ by [`Lattice::add`], for $R = 2^{22}$. The sum $X$ of all $qq^T$ is an exact
/// integer of at most $2^{44}$ times the number of records, so no sum in 128 bits overflows, whatever that number is. The release is
/// $Y + Z$ modulo $2^{64}$ with noise $Z$ and
///
/// $$Y_{ii} = \operatorname{round}(P X_{ii}/R^2), \qquad Y_{ij} = \operatorname{round}(a P X_{ij}/R^2) \quad (i < j),$$
///
/// for an integer $P$ and $a = 92682/2^{16} \ge \sqrt2$. Where 128 bits could not hold the product, $X_{ij}$ is clamped first, which brings no two
/// values farther apart, and which no sum of a planned number of records reaches. Let neighbouring sums differ by $D$. Rounding
/// moves the difference of two numbers by less than 1, so with $w$ elements
///
/// $$\lVert Y - Y'\rVert < \frac{P}{R^2}\Big(\sum_i D_{ii}^2 + a^2\sum_{i<j} D_{ij}^2\Big)^{1/2} + \sqrt w
/// \le \frac{a}{\sqrt2}\frac{P}{R^2}\lVert D\rVert_F + \sqrt w.$$
///
/// One record more or less gives $\lVert D\rVert_F = \lVert q\rVert^2 \le R^2$. Another record instead gives
/// $\lVert qq^T - pp^T\rVert_F^2 = \lVert q\rVert^4 + \lVert p\rVert^4 - 2(q \cdot p)^2 \le 2R^4$. In a Poisson sample under replace-one either record
/// moves the sum by at most half the sensitivity from that without both, which is once the bound for one record more or less. So with $c$ = 1, 2 or 4
/// and $k$ = 1, 1 or 2 the sensitivity is at most $a\sqrt{c/2}\,P + k\sqrt w$, and $P$ is the largest integer with
/// $a^2 c P^2 \le 2(\lfloor S/z\rfloor - k\lceil\sqrt w\rceil)^2$. Attacked by `search_reaches_and_never_exceeds_the_sensitivity_of_outer_products`,
/// `no_vector_leaves_the_ball`, `neighbouring_sums_of_outer_products_stay_within_the_units` and `blocks_are_summed_exactly`.
///
/// The multiplication of a block is trusted as well: a kernel of the library, or that of `faer`, which sums products and has no other
/// intermediate results (Strassen's method has).
pub(super) struct Outer {
    /// The lattice of vectors, and their ball.
    pub(super) vectors: Lattice,
    /// Coordinates of a vector.
    pub(super) size: usize,
    /// $P$.
    units: i128,
}

/// The largest size whose upper triangle has at most this many elements.
pub(super) fn size(width: usize) -> usize {
    width.saturating_mul(8).saturating_add(1).isqrt().saturating_sub(1) / 2
}

/// Whether each element of the upper triangle, row by row, is on the diagonal.
fn diagonal(size: usize) -> impl Iterator<Item = bool> {
    (0..size).flat_map(move |i| (i..size).map(move |j| i == j))
}

impl Outer {
    /// The lattice of a release of this width; `None` if this resolution is too coarse or too fine. `allowed` is the sensitivity in units.
    pub(super) fn lattice(
        radius: f64,
        width: usize,
        (distance, geometry): (Distance, &Geometry),
        allowed: f64,
        resolution: Resolution,
    ) -> Option<Lattice> {
        let twice = if distance == Distance::TwiceNorm { 2 } else { 1 };
        let rounding = twice * (width.isqrt() + 1);
        if !(allowed >= 8.0 * rounding as f64 && allowed <= LARGEST) {
            return None;
        }
        let left = allowed as u128 - rounding as u128;
        let squares = u128::from(ROOT).pow(2) * geometry.radii_squared(distance) as u128;
        let units = ((2 << (2 * ROOT_BITS)) * left.pow(2) / squares).isqrt() as i64;
        let ball = |limit, step, scales, outer| Lattice {
            step,
            resolution,
            domain: Domain::Ball { limit, norm: Norm::Two },
            scales,
            outer,
        };
        let size = size(width);
        let vectors = ball(1 << STEPS_BITS, radius / f64::from(1 << STEPS_BITS), Vec::new(), None);
        let outer = Self { vectors, size, units: units.into() };
        let root = f64::from(ROOT) / f64::from(1 << ROOT_BITS);
        let scales = diagonal(size).map(|diagonal| if diagonal { 1.0 } else { 1.0 / root }).collect();
        Some(ball(units, radius * radius / units as f64, scales, Some(Box::new(outer))))
    }

    /// Rounds the vectors of the rows of a unit, one after the other, to the lattice, each divided by the root of their number, or of `least` if that is larger. All become 0 if the
    /// trace of the sum of their outer products were beyond the bound. `units` is scratch space.
    pub(super) fn round_unit(&self, vectors: &mut [f64], least: usize, units: &mut Vec<i64>) {
        let (root, size) = (((vectors.len() / self.size).max(least) as f64).sqrt(), self.size as f64);
        // Rounding adds at most half the root of the size to a length. The factor covers the rounding of doubles.
        let longest = (f64::from(1 << STEPS_BITS) / root - 0.5 * size.sqrt()).max(0.0) * (1.0 - 1e-6);
        let mut trace = 0u128;
        for vector in vectors.chunks_exact_mut(self.size) {
            let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt() / self.vectors.step;
            let factor = (1.0 / root).min(longest / length);
            vector.iter_mut().for_each(|x| *x *= factor);
            units.clear();
            units.resize(self.size, 0);
            self.vectors.add(vector, units);
            for (x, unit) in vector.iter_mut().zip(units.iter()) {
                *x = *unit as f64;
                trace += u128::from(unit.unsigned_abs()).pow(2);
            }
        }
        if trace > 1 << (2 * STEPS_BITS) {
            vectors.fill(0.0);
        }
    }

    /// Brings exact sums to the lattice of the noise: $Y$ modulo $2^{64}$.
    pub(super) fn rescale(&self, squares: &[i128]) -> Vec<i64> {
        const SHIFT: u32 = 2 * STEPS_BITS + ROOT_BITS;
        let largest = i128::MAX / (2 * self.units * i128::from(ROOT));
        let each = |(square, diagonal): (&i128, bool)| {
            let by = self.units * if diagonal { 1 << ROOT_BITS } else { i128::from(ROOT) };
            ((square.clamp(&-largest, &largest) * by + (1 << (SHIFT - 1))) >> SHIFT) as i64
        };
        squares.iter().zip(diagonal(self.size)).map(each).collect()
    }
}

#[cfg(test)]
#[path = "outer_tests.rs"]
mod tests;
