use super::*;
use crate::NoiseSource;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

fn key(seed: u64) -> SampleKey {
    NoiseSource::insecure_from_seed(seed).sample_key().unwrap()
}

/// Whatever the ranges are, their samples are those of all units, also far from 0 and across batches of the cipher.
#[test]
fn any_range_has_the_coins_of_all() {
    let (key, k) = (key(1), (1 << 53) / 3);
    let all: Vec<usize> = key.sampled(0..1000, k).collect();
    assert!(all.is_sorted_by(|a, b| a < b) && (200..470).contains(&all.len()), "{}", all.len());
    for length in [1, 7, 63, 64, 65, 300, 1000] {
        let parts = (0..1000).step_by(length).rev();
        let mut found: Vec<usize> =
            parts.flat_map(|first| key.sampled(first..(first + length).min(1000), k)).collect();
        found.sort_unstable();
        assert_eq!(found, all, "{length}");
    }
    let far = usize::MAX - 500;
    let parts: Vec<usize> =
        key.sampled(far..far + 77, k).chain(key.sampled(far + 77..far + 300, k)).collect();
    assert_eq!(key.sampled(far..far + 300, k).collect::<Vec<_>>(), parts);
    assert_eq!(key.sampled(5..5, k).count(), 0);
    assert_eq!(key.sampled(3..300, 1 << 53).collect::<Vec<_>>(), (3..300).collect::<Vec<_>>());
    assert_eq!(key.sampled(3..300, 0).count(), 0);
    // The words are the key.
    assert!(SampleKey::new(key.words()) == key);
}

/// The same coins by an independent implementation: eight blocks of the cipher side by side, whose words alternate.
#[test]
fn coins_of_a_key_are_those_of_chacha() {
    let key = key(2);
    let bytes: Vec<u8> = key.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut rng = ChaCha12Rng::from_seed(bytes.try_into().unwrap());
    rng.set_stream(u64::from_le_bytes(*b"sample  "));
    let blocks: Vec<[u32; 16]> = (0..24).map(|_| std::array::from_fn(|_| rng.next_u32())).collect();
    let word = |k: usize| blocks[8 * (k / BATCH) + k % 8][k % BATCH / 8];
    let coin = |unit: usize| u64::from(word(2 * unit)) | u64::from(word(2 * unit + 1)) << 32;
    let k = 1 << 52;
    let expected: Vec<usize> = (0..192).filter(|unit| coin(*unit) >> 11 < k).collect();
    assert_eq!(key.sampled(0..192, k).collect::<Vec<_>>(), expected);
}

/// Keys of successive releases have independent coins: the number of units in two samples of rate 1/2 is binomial of rate 1/4, within
/// 4.5 standard deviations. False alarm below 1e-5.
#[test]
fn samples_of_different_keys_are_independent() {
    let mut source = NoiseSource::insecure_from_seed(3);
    let (units, k) = (100_000, 1 << 52);
    let keys: Vec<SampleKey> = (0..4).map(|_| source.sample_key().unwrap()).collect();
    let samples: Vec<std::collections::BTreeSet<usize>> =
        keys.iter().map(|key| key.sampled(0..units, k).collect()).collect();
    let sd = (units as f64 * 0.25 * 0.75).sqrt();
    for (a, b) in [(0, 1), (0, 2), (1, 3), (2, 3)] {
        let both = samples[a].intersection(&samples[b]).count() as f64;
        assert!((both - 0.25 * units as f64).abs() < 4.5 * sd, "{both}");
    }
}
