//! ChaCha keystreams, eight blocks side by side.
//!
//! # Citation
//! Bernstein, "ChaCha, a variant of Salsa20" (2008); RFC 8439 (2018). Attacked by `chacha_matches_published_vectors`
//! and `chacha_matches_rand_chacha`.

use crate::simd::{self, Kernel, Row};
use std::array::from_fn;
use zeroize::Zeroizing;

/// Words per batch: sixteen state words of eight blocks, with the block as the fastest index, so that no transposition is needed.
pub(crate) const BATCH: usize = 16 * 8;
const CONSTANT: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Number of ChaCha rounds. No attack on 8 rounds is known; TLS uses 20.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Rounds {
    Eight = 8,
    #[default]
    Twelve = 12,
    Twenty = 20,
}

/// One keystream. Neither `Clone` nor `Debug`: a copy would repeat the noise.
pub(crate) struct ChaCha {
    key: Zeroizing<[u32; 8]>,
    nonce: [u32; 2],
    counter: u64,
    pub rounds: Rounds,
}

impl ChaCha {
    pub fn new(key: &[u32; 8], purpose: &[u8; 8], rounds: Rounds) -> Self {
        let nonce = from_fn(|i| u32::from_le_bytes(purpose.as_chunks().0[i]));
        Self { key: Zeroizing::new(*key), nonce, counter: 0, rounds }
    }

    /// The same keystream from this block on.
    pub fn starting_at(mut self, block: u64) -> Self {
        self.counter = block;
        self
    }

    /// The next words. `between` is called after every double round: its scalar work overlaps with the vector units that
    /// compute the keystream.
    #[inline(always)]
    pub fn batch<R: Row>(&mut self, out: &mut [u32; BATCH], mut between: impl FnMut()) {
        let counter = self.counter;
        let block = |lane: usize| counter.wrapping_add(lane as u64);
        let first: [R; 16] = from_fn(|i| match i {
            0..4 => [CONSTANT[i]; 8].into(),
            4..12 => [self.key[i - 4]; 8].into(),
            12 => from_fn(|lane| block(lane) as u32).into(),
            13 => from_fn(|lane| (block(lane) >> 32) as u32).into(),
            _ => [self.nonce[i - 14]; 8].into(),
        });
        let mut v = first;
        for _ in 0..self.rounds as usize / 2 {
            quarter_round(&mut v, [0, 4, 8, 12]);
            quarter_round(&mut v, [1, 5, 9, 13]);
            quarter_round(&mut v, [2, 6, 10, 14]);
            quarter_round(&mut v, [3, 7, 11, 15]);
            quarter_round(&mut v, [0, 5, 10, 15]);
            quarter_round(&mut v, [1, 6, 11, 12]);
            quarter_round(&mut v, [2, 7, 8, 13]);
            quarter_round(&mut v, [3, 4, 9, 14]);
            between();
        }
        for (out, (v, first)) in out.as_chunks_mut().0.iter_mut().zip(v.into_iter().zip(first)) {
            *out = v.add(first).into();
        }
        self.counter = block(8);
    }

    pub fn fill(&mut self, out: &mut [u32; BATCH]) {
        simd::run((self, out));
    }
}

impl Kernel for (&mut ChaCha, &mut [u32; BATCH]) {
    #[inline(always)]
    fn run<R: Row>(self) {
        self.0.batch::<R>(self.1, || ());
    }
}

#[inline(always)]
fn quarter_round<R: Row>(v: &mut [R; 16], [a, b, c, d]: [usize; 4]) {
    v[a] = v[a].add(v[b]);
    v[d] = v[d].xor_rotate::<16>(v[a]);
    v[c] = v[c].add(v[d]);
    v[b] = v[b].xor_rotate::<12>(v[c]);
    v[a] = v[a].add(v[b]);
    v[d] = v[d].xor_rotate::<8>(v[a]);
    v[c] = v[c].add(v[d]);
    v[b] = v[b].xor_rotate::<7>(v[c]);
}

#[cfg(test)]
mod tests;
