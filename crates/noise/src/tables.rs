//! The normal density, partitioned into three levels of decreasing probability.
//!
//! Let $D(x) = \varphi(x/64)/32$ be the density of $|N(0,1)|$ measured in cells of width $1/64$, and cell $h$ the
//! interval $[h, h+1)$, for $h < 832$, that is up to 13 standard deviations. Write $x = h + s$. On a cell,
//! $|D'(x)| = xD(x)/4096$ rises up to $x = 64$ and falls after it, so its extremes are at the ends.
//!
//! 1. *Rectangles*: $c_h$ slots of probability $2^{-14}$, with $c_h 2^{-14} \le D(h+1)$.
//! 2. The remaining $r_1 = 222$ slots are divided into $2^{13}$ parts of $\rho = r_1 2^{-27}$: $a_h$ parts are further
//!    rectangles under $D(h+1)$, and $b_h$ parts are triangles $2(1-s)$ whose slope is at most the minimum of $|D'|$.
//! 3. The rest is the *remainder* $r_h(s) = D(h+s) - c_h 2^{-14} - \rho a_h - 2\rho b_h(1-s) \ge 0$,
//!    drawn by rejection under an envelope of integers.
//!
//! The pieces add up to the density for any counts, as long as none exceeds it: rounding here can only make the sampler
//! slower. The test `certificate_of_the_tables` proves that none does, in 400-bit arithmetic.
//!
//! # Citation
//! The partition of a density into rectangles, wedges and tails is due to Marsaglia; see Marsaglia and Tsang, "The ziggurat
//! method for generating random variables", J. Stat. Softw. 5(8), 2000.

use crate::fixed::{FULL_DEGREE, exp_neg, mul_high};
use crate::remainder::Cell;
use std::sync::LazyLock;

/// Cells on each side of zero.
pub(crate) const CELLS: usize = 13 * 64;
/// Slots of level 1 and parts of level 2, as powers of two.
pub(crate) const SLOT_BITS: u32 = 14;
pub(crate) const PART_BITS: u32 = 13;
const UNIT: u32 = 128 - SLOT_BITS - PART_BITS;
/// A slot that belongs to level 2, and a part that belongs to level 3.
pub(crate) const RARE: u8 = u8::MAX;
pub(crate) const REMAINDER: u16 = u16::MAX;
/// Flag of a part that is a triangle; the other bits are the cell.
pub(crate) const TRIANGLE: u16 = 1 << 15;
/// $D(0) = 1/(32\sqrt{2\pi})$ in units of $2^{-128}$, rounded down.
const DENSITY_AT_ZERO: u128 = 0x0331_08a6_7a86_ca11_a1f9_678a_0175_71c5;
/// Error bound of the densities below in units of $2^{-128}$: see [`densities`].
const GUARD: u128 = 1 << 10;

#[repr(C, align(64))]
pub(crate) struct Tables {
    pub slots: [u8; 1 << SLOT_BITS],
    pub parts: [u16; 1 << PART_BITS],
    pub cells: [Cell; CELLS],
    /// Sums of the envelopes of cells `0..=h`.
    pub cumulated: [u64; CELLS],
    /// First cell whose sum is above `i << 56`.
    pub guide: [u16; 256],
}

/// The tables, built once, in integers only: equal on every machine.
pub(crate) static TABLES: LazyLock<Box<Tables>> = LazyLock::new(|| Box::new(Tables::build()));

/// $D(h)$ in units of $2^{-128}$, by $D(h+1) = D(h) e^{-(2h+1)/8192}$.
///
/// A step adds less than 3 units of `exp_neg` times $D(h) < 1/64$ and 1 of the product to an error that it does not
/// magnify: less than $1.05 \cdot 832 + 1 <$ [`GUARD`] units in all.
fn densities() -> [u128; CELLS + 1] {
    let mut density = DENSITY_AT_ZERO;
    std::array::from_fn(|h| {
        let here = density;
        density = mul_high(here, exp_neg((2 * h as u128 + 1) << 115, FULL_DEGREE));
        here
    })
}

impl Tables {
    pub fn build() -> Self {
        let density = densities();
        let lower = |h: usize| density[h].saturating_sub(GUARD);
        let slope = |d: u128, h: usize| (d * h as u128) >> 12;
        let count = |h: usize| (lower(h + 1) >> (128 - SLOT_BITS)) as u32;
        let (mut slots, mut taken) = ([RARE; 1 << SLOT_BITS], 0);
        for h in 0..CELLS {
            slots[taken..][..count(h) as usize].fill(h as u8);
            taken += count(h) as usize;
        }
        // Level 2 in units of 2^-27: a slot is 2^13 and a part is `left` units.
        let left = (slots.len() - taken) as u128;
        let parts_under = |mass: u128| ((mass >> UNIT) / left) as u32;
        let (mut parts, mut taken, mut total) = ([REMAINDER; 1 << PART_BITS], 0, 0);
        let mut cumulated = [0; CELLS];
        let cells = std::array::from_fn(|h| {
            let flat = parts_under(lower(h + 1).saturating_sub(u128::from(count(h)) << (128 - SLOT_BITS)));
            let slope_below = slope(lower(h), h).min(slope(lower(h + 1), h + 1));
            let triangles = parts_under(slope_below / 2);
            for (number, entry) in [(flat, h as u16), (triangles, h as u16 | TRIANGLE)] {
                parts[taken..][..number as usize].fill(entry);
                taken += number as usize;
            }
            let taper = 2 * triangles * left as u32;
            let covered = (count(h) << PART_BITS) + flat * left as u32 + taper;
            // r_h(s) is at most D(h+1) plus the greatest slope, minus the covered density at s = 0.
            let slope_above = slope(density[h] + GUARD, h).max(slope(density[h + 1] + GUARD, h + 1)) + 1;
            let top = density[h + 1] + GUARD + slope_above - (u128::from(covered) << UNIT);
            let envelope = (top >> 56) as u64 + 1;
            total += envelope;
            cumulated[h] = total;
            Cell { density: density[h], covered, taper, envelope }
        });
        let guide = std::array::from_fn(|i| cumulated.partition_point(|&sum| sum <= (i as u64) << 56) as u16);
        Self { slots, parts, cells, cumulated, guide }
    }
}

#[cfg(test)]
pub(crate) mod tests;
