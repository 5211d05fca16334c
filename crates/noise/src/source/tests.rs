use super::*;
use crate::chacha::BATCH;
use std::collections::HashSet;

#[test]
fn provenance_is_carried() {
    let fixed = NoiseSource::insecure_from_seed(1);
    assert_eq!(fixed.provenance(), Provenance::FixedSeed);
    let real = NoiseSource::from_os().unwrap();
    assert_eq!(real.provenance(), Provenance::OperatingSystem);
}

#[test]
fn operating_system_sources_differ() {
    let draw = || NoiseSource::from_os().unwrap().coins().unwrap().0.u64();
    // Equal with probability 2^-64.
    assert_ne!(draw(), draw());
}

/// 64-bit words seen twice among all streams: none expected, $2^{-35}$ likely by chance.
#[test]
fn streams_never_meet() {
    let mut source = NoiseSource::insecure_from_seed(1);
    let mut seen = HashSet::new();
    for _ in 0..10_000 {
        assert!(seen.insert(source.coins.u64()));
        assert!(seen.insert(source.laplace.u64()));
        assert!(seen.insert(source.keys.u64()));
        assert!(seen.insert(source.coarse.side.u64()));
        assert!(seen.insert(source.fine.side.u64()));
    }
    for main in [&mut source.coarse.main, &mut source.fine.main] {
        let mut words = [0; BATCH];
        for _ in 0..100 {
            main.fill(&mut words);
            assert!(words.chunks(2).all(|w| seen.insert(u64::from(w[0]) | u64::from(w[1]) << 32)));
        }
    }
}

#[test]
fn kinds_of_draws_are_independent() {
    let (mut alone, mut busy) = (NoiseSource::insecure_from_seed(2), NoiseSource::insecure_from_seed(2));
    let (mut x, mut y) = (vec![0; 5000], vec![0; 5000]);
    alone.gaussian(Resolution::Bits23).unwrap().fill(&mut x);
    for y in y.chunks_mut(700) {
        busy.coins().unwrap().permutation(50);
        busy.sample_key().unwrap();
        busy.laplace(NonZeroU64::MAX, NonZeroU64::MIN).unwrap().draw();
        busy.gaussian(Resolution::Bits40).unwrap().fill(&mut [0; 33]);
        busy.gaussian(Resolution::Bits23).unwrap().fill(y);
    }
    assert_eq!(x, y);
}

/// Reproducibility across machines and versions: these draws may change only with a major version.
#[test]
fn a_seed_gives_the_same_draws_on_every_machine() {
    let mut source = NoiseSource::insecure_from_seed(42);
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |z: i64| {
        for byte in z.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for resolution in [Resolution::Bits23, Resolution::Bits40] {
        let mut z = vec![0; 20_000];
        source.gaussian(resolution).unwrap().fill(&mut z);
        z.into_iter().for_each(&mut add);
    }
    let mut laplace = source.laplace(NonZeroU64::new(1000).unwrap(), NonZeroU64::new(7).unwrap()).unwrap();
    (0..1000).for_each(|_| add(laplace.draw()));
    source.coins().unwrap().permutation(1000).into_iter().for_each(|i| add(i as i64));
    assert_eq!(hash, 18_336_059_074_670_583_177);
}
