use super::*;
use crate::NoiseSource;
use crate::chacha::Rounds;
use crate::gaussian::tests::chi_square_bound;
use std::collections::HashMap;

fn check_uniform<K: std::hash::Hash + Eq>(
    outcomes: usize,
    draws: u32,
    mut draw: impl FnMut(&mut Coins) -> K,
) {
    let mut source = NoiseSource::insecure_from_seed(7);
    let mut coins = source.coins().unwrap();
    let mut counts: HashMap<K, u32> = HashMap::new();
    (0..draws).for_each(|_| *counts.entry(draw(&mut coins)).or_default() += 1);
    assert_eq!(counts.len(), outcomes);
    let e = f64::from(draws) / outcomes as f64;
    let chi: f64 = counts.values().map(|&n| (f64::from(n) - e).powi(2) / e).sum();
    assert!(chi < chi_square_bound(outcomes - 1), "chi square {chi} of {outcomes}");
}

/// False alarm: $10^{-7}$ each.
#[test]
fn below_is_uniform() {
    for n in [1, 2, 3, 10, 1000] {
        check_uniform(n, 400_000, |coins| coins.below(NonZeroU64::new(n as u64).unwrap()));
    }
    // Without rejection, half of all words would land on multiples of three.
    let n = NonZeroU64::new(3 << 62).unwrap();
    check_uniform(3, 400_000, |coins| coins.below(n) % 3);
    assert!(NoiseSource::insecure_from_seed(1).coins().unwrap().below(NonZeroU64::MAX) < u64::MAX);
}

/// Heads if and only if the top 53 bits of a word are below k: exactly k of $2^{53}$ equally likely values.
#[test]
fn bernoulli_dyadic_is_exact() {
    for seed in 0..2000 {
        let flip = |k| NoiseSource::insecure_from_seed(seed).coins().unwrap().bernoulli_dyadic(k);
        let top = NoiseSource::insecure_from_seed(seed).coins().unwrap().0.u64() >> 11;
        assert!(!flip(0) && !flip(top) && flip(top + 1) && flip(1 << 53) && flip(u64::MAX));
    }
    check_uniform(2, 400_000, |coins| coins.bernoulli_dyadic(1 << 52)); // false alarm: 10^-7
}

/// False alarm: $10^{-7}$ each.
#[test]
fn every_subset_is_equally_likely() {
    check_uniform(20, 200_000, |coins| coins.subset(6, 3).unwrap());
    check_uniform(7, 200_000, |coins| coins.subset(7, 6).unwrap());
    check_uniform(9, 200_000, |coins| coins.subset(9, 1).unwrap());
}

#[test]
fn subsets_are_sorted_and_bounded() {
    let mut source = NoiseSource::insecure_from_seed(5);
    let mut coins = source.coins().unwrap();
    assert_eq!(coins.subset(5, 5).unwrap(), [0, 1, 2, 3, 4]);
    assert!(coins.subset(5, 0).unwrap().is_empty());
    assert!(coins.subset(0, 0).unwrap().is_empty());
    assert!(matches!(coins.subset(2, 3), Err(NoiseError::Subset { size: 3, population: 2 })));
    let many = coins.subset(1 << 40, 1000).unwrap();
    assert!(many.len() == 1000 && many.is_sorted_by(|a, b| a < b) && many[999] < 1 << 40);
}

/// False alarm: $10^{-7}$.
#[test]
fn every_order_is_equally_likely() {
    check_uniform(24, 200_000, |coins| coins.permutation(4));
    assert!(NoiseSource::insecure_from_seed(5).coins().unwrap().permutation(0).is_empty());
}

#[test]
fn words_are_the_keystream_in_order() {
    let cipher = || ChaCha::new(&[3; 8], b"a stream", Rounds::Twelve);
    let (mut coins, mut cipher) = (Stream::new(cipher()), cipher());
    let mut batch = [0; BATCH];
    for _ in 0..3 {
        cipher.fill(&mut batch);
        for pair in batch.chunks(2) {
            assert_eq!(coins.u64(), u64::from(pair[0]) | u64::from(pair[1]) << 32);
        }
    }
}

/// The coin of probability $e^{-n/d}$; 6.5 deviations are a false alarm of $10^{-10}$.
#[test]
fn exponential_coins_are_exact() {
    let mut source = NoiseSource::insecure_from_seed(9);
    let mut coins = source.coins().unwrap();
    const DRAWS: u64 = 200_000;
    for (n, d) in [(0, 5), (1, 5), (1, 2), (4, 5), (1, 1), (u64::MAX / 3, u64::MAX), (u64::MAX, u64::MAX)] {
        let heads = (0..DRAWS).filter(|_| coins.bernoulli_exp(n, NonZeroU64::new(d).unwrap())).count() as f64;
        let chance = (-(n as f64) / d as f64).exp();
        let (mean, variance) = (DRAWS as f64 * chance, DRAWS as f64 * chance * (1.0 - chance));
        assert!((heads - mean).abs() <= 6.5 * variance.sqrt(), "e^-{n}/{d}: {heads} of {mean}");
    }
}
