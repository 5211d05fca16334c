use crate::coins::Coins;
use std::num::NonZeroU64;

/// Integer noise with $P(z) \propto e^{-|z|/t}$, exactly, for a rational scale $t = p/q$ in lattice units.
///
/// # Privacy
/// An integer sum of $L_1$ sensitivity $\Delta$, plus one independent draw per coordinate, is $(\Delta/t, 0)$-private.
/// Every step is an exact coin. Draws are modulo $2^{64}$, which is relevant only if $t$ exceeds about $2^{50}$; add them with
/// `wrapping_add`, and the release is a function of the exact sum. Attacked by `laplace_has_its_exact_distribution`.
///
/// # Citation
/// Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, algorithms 1 and 2.
pub struct Laplace<'a> {
    pub(crate) p: NonZeroU64,
    pub(crate) q: NonZeroU64,
    pub(crate) coins: Coins<'a>,
}

impl Laplace<'_> {
    /// One draw: $\lfloor X/q \rfloor$ with a random sign, where $X$ is geometric with $P(X = x) \propto e^{-x/p}$; a
    /// negative zero is drawn again.
    pub fn draw(&mut self) -> i64 {
        loop {
            // X = remainder + p * quotient, whose parts are independent.
            let remainder = self.coins.below(self.p);
            if !self.coins.bernoulli_exp(remainder, self.p) {
                continue;
            }
            let mut quotient = 0u64;
            while self.coins.bernoulli_exp(1, NonZeroU64::MIN) {
                quotient += 1;
            }
            let x = u128::from(remainder) + u128::from(self.p.get()) * u128::from(quotient);
            let magnitude = x / u128::from(self.q.get());
            let negative = self.coins.0.u64() & 1 == 1;
            if magnitude != 0 || !negative {
                return if negative { (magnitude as i64).wrapping_neg() } else { magnitude as i64 };
            }
        }
    }
}

#[cfg(test)]
mod tests;
