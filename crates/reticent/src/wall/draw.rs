//! Exact draws from an exponential mechanism.

use super::plan::LOG_UNIT;
use reticent_noise::Coins;
use std::num::NonZeroU64;

/// An index, drawn with probability proportional to $e^{w/u}$ for integer log weights $w$ and $u$ = [`LOG_UNIT`].
///
/// A candidate is picked uniformly and kept with probability $e^{(w - w_{\max})/u}$. The law is exact: every coin is. The
/// heaviest candidate is always kept, so on average there are at most as many rounds as candidates.
///
/// # Privacy
/// Time depends on the weights, as the law does. Attacked by `draws_have_their_exact_law`.
pub(super) fn index(coins: &mut Coins, weights: &[i128]) -> usize {
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
///
/// # Citation
/// Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020, algorithm 1.
fn exp_neg(coins: &mut Coins, x: u128) -> bool {
    let unit = u128::from(LOG_UNIT);
    let mut whole = x / unit;
    while whole > 0 {
        if !exp_neg_below_one(coins, LOG_UNIT) {
            return false;
        }
        whole -= 1;
    }
    exp_neg_below_one(coins, (x % unit) as u64)
}

/// Among coins of probability $x/u$, $x/2u$, $x/3u$, ... the first to fail is an odd one with probability $e^{-x/u}$.
fn exp_neg_below_one(coins: &mut Coins, x: u64) -> bool {
    let unit = const { NonZeroU64::new(LOG_UNIT).unwrap() };
    let mut k = NonZeroU64::MIN;
    while coins.below(unit) < x && coins.below(k) == 0 {
        k = k.saturating_add(1);
    }
    k.get() % 2 == 1
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
