use crate::Coins;
use crate::chacha::{BATCH, ChaCha, Rounds};
use crate::coins::Stream;
use std::ops::Range;
use zeroize::Zeroizing;

/// The key of one Poisson sample: the coin of a unit is a function of the key and of the unit's number.
///
/// # Privacy
/// Coins are words of a `ChaCha` stream of a key of its own, in the order of the units, so all of them are independent and exactly
/// dyadic unless `ChaCha` is broken, and any range can be sampled anywhere and at any time with the same result. The key is itself
/// output of a stream that makes nothing else: whoever has it can compute neither the noise nor another sample. It must stay as
/// secret as the sample. Attacked by `any_range_has_the_coins_of_all`, `coins_of_a_key_are_those_of_chacha` and `streams_never_meet`.
#[derive(Clone, PartialEq, Eq)]
pub struct SampleKey(Zeroizing<[u32; 8]>);

impl SampleKey {
    /// The key that [`words`](Self::words) returned.
    pub fn new(words: [u32; 8]) -> Self {
        Self(Zeroizing::new(words))
    }

    /// The key itself, to be sent to those who sample a part of the units.
    pub fn words(&self) -> [u32; 8] {
        *self.0
    }

    /// The sampled units of a range, each sampled with probability exactly $k/2^{53}$, in increasing order.
    pub fn sampled(&self, units: Range<usize>, k: u64) -> impl Iterator<Item = usize> {
        const COINS: usize = BATCH / 2;
        let batch = units.start / COINS;
        let cipher = ChaCha::new(&self.0, b"sample  ", Rounds::default());
        let mut stream = Stream::new(cipher.starting_at(8 * batch as u64));
        // Coins of earlier units of the batch are drawn too, and not used.
        let drawn = batch * COINS..units.end;
        drawn.filter(move |_| Coins(&mut stream).bernoulli_dyadic(k)).filter(move |unit| *unit >= units.start)
    }
}

#[cfg(test)]
mod tests;
