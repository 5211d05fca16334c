use crate::chacha::{BATCH, ChaCha};
use crate::error::NoiseError;
use std::num::NonZeroU64;
use zeroize::Zeroizing;

/// Keystream words, two at a time.
pub(crate) struct Stream {
    cipher: ChaCha,
    words: Zeroizing<[u32; BATCH]>,
    next: usize,
}

impl Stream {
    pub fn new(cipher: ChaCha) -> Self {
        Self { cipher, words: Zeroizing::new([0; BATCH]), next: BATCH }
    }

    #[inline]
    pub fn u64(&mut self) -> u64 {
        if self.next == BATCH {
            self.cipher.fill(&mut self.words);
            self.next = 0;
        }
        let [low, high] = [self.words[self.next], self.words[self.next + 1]];
        self.next += 2;
        u64::from(low) | u64::from(high) << 32
    }
}

/// Exactly uniform random choices.
///
/// # Privacy
/// Amplification by sampling is proved for the exact distribution of the sample: a subset must be uniform, and a record's
/// inclusion independent with exactly the probability accounted for. Attacked by `below_is_uniform`,
/// `bernoulli_dyadic_is_exact`, `every_subset_is_equally_likely` and `every_order_is_equally_likely`.
pub struct Coins<'a>(pub(crate) &'a mut Stream);

impl Coins<'_> {
    /// An integer in `0..n`, exactly uniform.
    ///
    /// # Citation
    /// Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019: the high half of a product is
    /// uniform once the $2^{64} \bmod n$ smallest low halves are rejected.
    pub fn below(&mut self, n: NonZeroU64) -> u64 {
        let n = n.get();
        loop {
            let product = u128::from(self.0.u64()) * u128::from(n);
            let low = product as u64;
            if low >= n || low >= n.wrapping_neg() % n {
                return (product >> 64) as u64;
            }
        }
    }

    /// `true` with probability exactly $k/2^{53}$, and always if $k \ge 2^{53}$.
    pub fn bernoulli_dyadic(&mut self, k: u64) -> bool {
        self.0.u64() >> 11 < k
    }

    /// `true` with probability exactly $e^{-n/d}$, for $n \le d$.
    ///
    /// Among coins of probability $n/d$, $n/2d$, $n/3d$, ... the first to fail is an odd one with probability
    /// $\sum_k (-n/d)^k/k!$. The coin of $n/kd$ is one of $n/d$ and one of $1/k$, so no product can overflow.
    ///
    /// # Citation
    /// Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, algorithm 1.
    pub fn bernoulli_exp(&mut self, n: u64, d: NonZeroU64) -> bool {
        let mut k = NonZeroU64::MIN;
        while self.below(d) < n && self.below(k) == 0 {
            k = k.saturating_add(1);
        }
        k.get() % 2 == 1
    }

    /// A uniform subset of `0..population` of the given size, in increasing order.
    ///
    /// Uniform indices are drawn, as many as are missing, and duplicates dropped, until there are enough: the procedure is
    /// symmetric in the indices, so all subsets are equally likely. If the subset is more than half of the population, its
    /// complement is drawn instead, so that few draws are duplicates.
    pub fn subset(&mut self, population: usize, size: usize) -> Result<Vec<usize>, NoiseError> {
        let left_out = population.checked_sub(size).ok_or(NoiseError::Subset { size, population })?;
        let wanted = size.min(left_out);
        let mut chosen = Vec::with_capacity(wanted);
        while chosen.len() < wanted {
            let missing = wanted - chosen.len();
            chosen.extend((0..missing).map(|_| self.index_up_to(population - 1)));
            chosen.sort_unstable();
            chosen.dedup();
        }
        if size > left_out {
            chosen = (0..population).filter(|i| chosen.binary_search(i).is_err()).collect();
        }
        Ok(chosen)
    }

    /// The numbers `0..n` in a uniform order (Fisher and Yates).
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for last in (1..n).rev() {
            order.swap(last, self.index_up_to(last));
        }
        order
    }

    fn index_up_to(&mut self, last: usize) -> usize {
        self.below(NonZeroU64::MIN.saturating_add(last as u64)) as usize
    }
}

#[cfg(test)]
mod tests;
