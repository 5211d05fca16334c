//! The lattice Gaussian. `tables.rs` describes the three levels of a draw.

use crate::NoiseError;
use crate::chacha::{BATCH, ChaCha};
use crate::coins::Stream;
use crate::simd::{self, Kernel, Row};
use crate::tables::{SLOT_BITS, TABLES, Tables};
use zeroize::Zeroizing;

/// Lattice units per standard deviation, $S$.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resolution {
    /// $S = 2^{23}$: one 32-bit word of keystream a draw.
    #[default]
    Bits23 = 23,
    /// $S = 2^{40}$: two words a draw, for sums over so many releases that rounding to $2^{-23}$ would matter.
    Bits40 = 40,
}

impl Resolution {
    /// $S$, the standard deviation of a draw in lattice units.
    pub const fn units_per_sigma(self) -> i64 {
        1 << self as u32
    }
}

/// A bound on the total variation distance between one draw and its target $\lfloor S N(0,1) \rfloor$: $2^{-113}$.
///
/// Levels 1 and 2 are exact. Level 3 is chosen with its exact probability $r$, and accepts under a density whose $L_1$
/// distance from the exact one is some $d$; normalising at most doubles $d/r$ and total variation is half of that, so
/// level 3 adds $d$. In each of 832 cells $d$ is at most the error of the tabulated density plus 4 units of $2^{-128}$.
/// The tail $P(|N(0,1)| > 13) < 2^{-125}$ is never drawn. `certificate_of_the_tables` computes the sum.
///
/// # Privacy
/// By coupling, $n$ draws are within $n\tau$ of exact ones, so a release that is $(\varepsilon, \delta)$-private with exact
/// noise is $(\varepsilon, \delta + (1 + e^\varepsilon) n \tau)$-private with this noise. The bound treats the keystream
/// as random bits: add the advantage of the best attack on `ChaCha`.
pub const TV_PER_DRAW: f64 = 1.0 / (1u128 << 113) as f64;

/// Draws per block.
const BLOCK: usize = 8 * BATCH;

#[repr(C, align(64))] // vectors in the arrays must not straddle cache lines
pub(crate) struct Generator {
    /// Double buffer: the first half is ready for use while the second is computed.
    words: Zeroizing<[[u32; BATCH]; 2]>,
    draws: Zeroizing<[i64; BLOCK]>,
    /// Bit $64m + 8j + k$ is set if draw $64m + 8k + j$ of a batch is not of level 1.
    rare: Zeroizing<[[u64; 2]; BLOCK / BATCH]>,
    next: usize,
    pub(crate) main: ChaCha,
    pub(crate) side: Stream,
    resolution: Resolution,
    tables: &'static Tables,
}

impl Generator {
    pub fn new(resolution: Resolution, mut main: ChaCha, side: ChaCha) -> Self {
        let mut words = Zeroizing::new([[0; BATCH]; 2]);
        main.fill(&mut words[0]);
        let (draws, rare, side) = ([0; BLOCK].into(), [[0; 2]; BLOCK / BATCH].into(), Stream::new(side));
        Self { words, draws, rare, next: BLOCK, main, side, resolution, tables: &TABLES }
    }

    /// Between one and `limit` further draws.
    fn take(&mut self, limit: usize) -> &[i64] {
        if self.next == BLOCK {
            self.make_block();
            self.next = 0;
        }
        let first = self.next;
        self.next = BLOCK.min(first + limit);
        &self.draws[first..self.next]
    }

    fn make_block(&mut self) {
        simd::run(&mut *self);
        let bits = self.resolution as u32 - 6; // a cell is 1/64
        for (draws, [low, high]) in self.draws.as_chunks_mut::<BATCH>().0.iter_mut().zip(*self.rare) {
            let mut rare = u128::from(low) | u128::from(high) << 64;
            while rare != 0 {
                let bit = rare.trailing_zeros() as usize;
                rare &= rare - 1;
                let draw = &mut draws[bit / 64 * 64 + bit % 8 * 8 + bit % 64 / 8];
                *draw = self.tables.draw_rare(*draw, bits, &mut self.side);
            }
        }
    }
}

/// The lattice Gaussian of a [`NoiseSource`](crate::NoiseSource): $Z = \lfloor S \cdot N(0,1) \rfloor$.
///
/// # Privacy
/// For integers $q$, $q + \lfloor S N \rfloor = \lfloor q + S N \rfloor$: the release is post-processing of that of the
/// continuous Gaussian mechanism with noise multiplier $S/\Delta$, where $\Delta$ is the $L_2$ sensitivity of
/// the integer sums. Every accountant for that mechanism applies unchanged in any dimension; [`TV_PER_DRAW`]
/// is the only correction. The mean of $Z$ is $-1/2$. Attacked by `certificate_of_the_tables`,
/// `gaussian_has_its_distribution` and `mutants_are_caught`.
///
/// # Citation
/// Mironov, "On significance of the least significant bits for differential privacy", CCS 2012.
pub struct Gaussian<'a>(pub(crate) &'a mut Generator);

impl Gaussian<'_> {
    /// Fills a slice with independent draws.
    pub fn fill(&mut self, mut out: &mut [i64]) {
        while !out.is_empty() {
            let draws = self.0.take(out.len());
            let (now, later) = out.split_at_mut(draws.len());
            now.copy_from_slice(draws);
            out = later;
        }
    }

    /// Releases integer sums: `out[i]` is `(sums[i] + z + 1/2) * step`.
    ///
    /// The sum with the noise is exact, modulo $2^{64}$; the rest is post-processing. The half removes the mean of
    /// the noise. `step` is the size of a lattice unit, $\sigma/S$. Nothing is drawn if an error is returned.
    pub fn release(&mut self, mut sums: &[i64], step: f64, mut out: &mut [f64]) -> Result<(), NoiseError> {
        if sums.len() != out.len() {
            return Err(NoiseError::Lengths { sums: sums.len(), outputs: out.len() });
        }
        if !(step > 0.0 && step.is_finite()) {
            return Err(NoiseError::Step(step));
        }
        while !out.is_empty() {
            let draws = self.0.take(out.len());
            let (now, later) = out.split_at_mut(draws.len());
            simd::run(
                #[inline(always)]
                || {
                    for ((out, sum), draw) in now.iter_mut().zip(sums).zip(draws) {
                        *out = centred(sum.wrapping_add(*draw)) * step;
                    }
                },
            );
            (sums, out) = (&sums[draws.len()..], later);
        }
        Ok(())
    }
}

/// Computes a block of draws as if all were of level 1, and the mask of those that are not.
impl Kernel for &mut Generator {
    #[inline(always)]
    fn run<R: Row>(self) {
        let Generator { words, draws, rare, main, resolution, tables: Tables { slots, .. }, .. } = self;
        let [mut words, mut next] = words.each_mut();
        let groups = 16usize.div_ceil(main.rounds as usize / 2);
        for (draws, rare) in draws.as_chunks_mut::<BATCH>().0.iter_mut().zip(rare.iter_mut()) {
            let (mut cells, mut looked_up) = ([0; BATCH], 0);
            main.batch::<R>(next, || {
                for _ in 0..groups {
                    if looked_up < BATCH {
                        for i in looked_up..looked_up + 8 {
                            cells[i] = slots[words[i] as usize % slots.len()];
                        }
                        looked_up += 8;
                    }
                }
            });
            for ((draw, word), cell) in draws.iter_mut().zip(words.iter()).zip(cells.iter()) {
                *draw = common(*word, *cell);
            }
            // A byte is 255 if its top bit is set and adding 1 to the others carries into it.
            const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
            for (mask, cells) in rare.iter_mut().zip(cells.as_chunks::<64>().0) {
                *mask = 0;
                for (k, bytes) in cells.as_chunks().0.iter().enumerate() {
                    let bytes = u64::from_le_bytes(*bytes);
                    *mask |= ((bytes & LOW).wrapping_add(!LOW >> 7) & bytes & !LOW) >> (7 - k);
                }
            }
            (words, next) = (next, words);
        }
        if *resolution == Resolution::Bits40 {
            for draws in draws.as_chunks_mut::<BATCH>().0 {
                main.batch::<R>(next, || ());
                draws.iter_mut().zip(next.iter()).for_each(|(draw, word)| *draw = refine(*draw, *word));
            }
        }
    }
}

/// A draw of level 1 at $S = 2^{23}$: the top bit is the sign, the 17 bits below it are the position.
///
/// The arithmetic shift spreads the sign over the bits of the cell, so the exclusive or makes
/// $2^{17} \text{cell} + p$ or the complement of $2^{17} \text{cell} + (2^{17} - 1 - p)$. The complement $-1 - k$ is the
/// floor of $-x$ if $k$ is that of $x$, and the position is uniform either way. Attacked by `every_slot_is_a_floor`.
#[inline(always)]
fn common(word: u32, cell: u8) -> i64 {
    i64::from(word as i32 >> SLOT_BITS ^ i32::from(cell) << 17)
}

/// The draw of level 1 at $S = 2^{40}$: uniform between two points of $2^{23}$, as the density is flat there.
#[inline(always)]
fn refine(draw: i64, word: u32) -> i64 {
    draw << 17 | i64::from(word >> 15)
}

/// $v + 1/2$, correctly rounded: exact below $2^{52}$.
///
/// The two halves of $v$ become the low bits of the mantissas of $2^{84}$ and $2^{52}$; all but the last sum is exact.
#[inline(always)]
fn centred(v: i64) -> f64 {
    let v = v as u64;
    let high = f64::from_bits(v >> 32 ^ 0x4530_0000_8000_0000) - ((1u128 << 84) + (1 << 63)) as f64;
    let low = f64::from_bits(v & 0xffff_ffff | 0x4330_0000_0000_0000) - 4_503_599_627_370_495.5;
    high + low
}

#[cfg(test)]
pub(crate) mod tests;
