//! Exact draws from an exponential mechanism.

use super::plan::LOG_UNIT;
use reticent_noise::Coins;
use std::num::NonZeroU64;

/// An index, drawn with probability proportional to $e^{w/u}$ for integer log weights $w$ and $u$ = [`LOG_UNIT`].
///
/// Rejection sampling: a candidate is proposed uniformly and accepted with probability $e^{(w - w_{\max})/u}$. The
/// distribution is exact, because every coin is. The heaviest candidate is always accepted, so the expected number of
/// proposals is at most the number of candidates.
///
/// The running time depends on the weights, as the distribution does. Attacked by `draws_have_their_exact_law`.
pub(super) fn index(coins: &mut Coins<'_>, weights: &[i128]) -> usize {
    let top = weights.iter().copied().max().unwrap_or_default();
    let count = NonZeroU64::new(weights.len() as u64).unwrap_or(NonZeroU64::MIN);
    loop {
        let index = coins.below(count) as usize;
        if exp_neg(coins, weights[index].abs_diff(top)) {
            return index;
        }
    }
}

/// `true` with probability exactly $e^{-x/u}$.
fn exp_neg(coins: &mut Coins<'_>, x: u128) -> bool {
    let unit = const { NonZeroU64::new(LOG_UNIT).unwrap() };
    let quotient = x / u128::from(LOG_UNIT);
    (0..quotient).all(|_| coins.bernoulli_exp(LOG_UNIT, unit))
        && coins.bernoulli_exp((x % u128::from(LOG_UNIT)) as u64, unit)
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
