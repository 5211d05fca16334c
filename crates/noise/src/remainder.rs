//! Levels 2 and 3: the one draw in 74 that level 1 does not cover.

use crate::coins::Stream;
use crate::fixed::{FULL_DEGREE, exp_neg, mul_high};
use crate::tables::{CELLS, PART_BITS, REMAINDER, TRIANGLE, Tables};

/// The remainder $r_h(s) = D(h+s) - (\text{covered} - \text{taper} \cdot s) 2^{-27}$ of cell $h$, which lies under
/// $\text{envelope} \cdot 2^{-72}$.
#[derive(Clone, Copy)]
pub(crate) struct Cell {
    /// $D(h)$ in units of $2^{-128}$.
    pub density: u128,
    pub covered: u32,
    pub taper: u32,
    pub envelope: u64,
}

/// Error margin of the screening test of a point, in units of $2^{-128}$. The test uses the first 64 bits of $s$ and $V$ and
/// $e^{-y}$ to degree 3, so its truncation error is below $D(h) y^4/4! < 2^{-33}$, as $y \le (h+1)/4096$ (greatest near $h = 128$);
/// all other errors are below $2^{-64}$. That is half of this margin: beyond it, the exact excess has the same sign
/// for any further bits. A point is within it with probability at most $832 \cdot 2 \cdot 2^{40}/2^{64} < 2^{-13}$.
/// Attacked by `screen_never_contradicts_decide`.
const MARGIN: u128 = 1 << 96;

impl Cell {
    /// $r_h(s) - V \cdot \text{envelope} \cdot 2^{-72}$ in units of $2^{-128}$, with $e^{-y}$ to a degree.
    ///
    /// Error in those units: $D(h)$ (1024), the rounding of the density, the taper and $V$ times the envelope (3), that
    /// of $y$ and $e^{-y}$ times $D < 1/64$ and the bits beyond 128 (1): below $2^{-117}$ for [`FULL_DEGREE`]. Attacked by
    /// `decide_is_within_its_error`.
    fn excess(&self, h: usize, s: u128, v: u128, degree: usize) -> i128 {
        let y = mul_high(s, (h as u128) << 118 | s >> 11) >> 2;
        let density = mul_high(self.density, exp_neg(y, degree));
        let covered = (u128::from(self.covered) << 101) - mul_high(u128::from(self.taper) << 101, s);
        density.wrapping_sub(covered + (mul_high(v, u128::from(self.envelope) << 64) >> 8)) as i128
    }
}

impl Tables {
    /// A draw of levels 2 and 3. The sign and the `bits` bits of position of `draw` are still random, and are used.
    #[inline]
    pub fn draw_rare(&self, draw: i64, bits: u32, side: &mut Stream) -> i64 {
        let word = side.u64();
        let part = self.parts[(word >> (64 - PART_BITS)) as usize];
        let (cell, position) = if part == REMAINDER {
            let (cell, s) = self.draw_remainder(side);
            (cell, s >> (64 - bits))
        } else {
            // The smaller of two uniforms has the density 2(1-s) of a triangle, and its floor is the smaller floor.
            let mask = (1 << bits) - 1;
            let other = if part & TRIANGLE == 0 { mask } else { word & mask };
            (part & !TRIANGLE, (draw as u64 & mask).min(other))
        };
        (u64::from(cell) << bits | position) as i64 ^ draw >> 63
    }

    /// A point of the remainder: its cell and the first 64 bits of its position in it.
    #[cold]
    pub fn draw_remainder(&self, side: &mut Stream) -> (u16, u64) {
        loop {
            let u = side.u64();
            if u >= self.cumulated[CELLS - 1] {
                continue;
            }
            let mut h = usize::from(self.guide[(u >> 56) as usize]);
            while self.cumulated[h] <= u {
                h += 1;
            }
            let (s, v) = (side.u64(), side.u64());
            let mut excess = self.cells[h].excess(h, u128::from(s) << 64, u128::from(v) << 64, 3);
            if excess.unsigned_abs() <= MARGIN {
                let mut longer = |x: u64| u128::from(x) << 64 | u128::from(side.u64());
                excess = self.cells[h].excess(h, longer(s), longer(v), FULL_DEGREE);
            }
            if excess > 0 {
                return (h as u16, s);
            }
        }
    }
}

#[cfg(test)]
mod tests;
