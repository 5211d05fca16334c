use super::*;
use crate::NoiseSource;
use crate::gaussian::tests::chi_square_bound;

const DRAWS: usize = 400_000;

fn positive(n: u64) -> NonZeroU64 {
    NonZeroU64::new(n).unwrap()
}

fn draws(p: u64, q: u64) -> Vec<i64> {
    let mut source = NoiseSource::insecure_from_seed(p ^ q << 20);
    let mut laplace = source.laplace(positive(p), positive(q)).unwrap();
    (0..DRAWS).map(|_| laplace.draw()).collect()
}

/// Against $P(z) = \frac{1-r}{1+r} r^{|z|}$ with $r = e^{-q/p}$. False alarm: $10^{-7}$ a scale.
#[test]
fn laplace_has_its_exact_distribution() {
    for (p, q) in [(1, 1), (2, 1), (3, 2), (1, 3), (20, 1), (7, 40), (1_000_003, 99_991)] {
        let r = (-(q as f64) / p as f64).exp();
        let pmf = |z: i64| (1.0 - r) / (1.0 + r) * r.powi(z.unsigned_abs() as i32);
        let draws = draws(p, q);
        let (mut chi, mut bins, mut seen, mut total) = (0.0, 0, 0, 0.0);
        for z in -2000i64..=2000 {
            let e = DRAWS as f64 * pmf(z);
            if e >= 50.0 {
                let n = draws.iter().filter(|&&d| d == z).count();
                (bins, seen, total) = (bins + 1, seen + n, total + e);
                chi += (n as f64 - e).powi(2) / e;
            }
        }
        let rest = DRAWS as f64 - total;
        if rest > 0.5 {
            chi += ((DRAWS - seen) as f64 - rest).powi(2) / rest.max(1.0);
        }
        assert!(bins >= 1 && chi < chi_square_bound(bins), "{p}/{q}: chi square {chi} of {bins} bins");
    }
}

/// Scales too wide to count values: 64 classes of equal mass of $e^{-|z|/t}$, and the sign. False alarm: $10^{-7}$.
#[test]
fn wide_scales_have_their_distribution() {
    for (p, q) in [(1 << 40, 1), (1 << 40, 3), ((1 << 40) - 1, (1 << 10) + 1), (1 << 50, 1)] {
        let scale = p as f64 / q as f64;
        let mut classes = [0u32; 128];
        for z in draws(p, q) {
            let class = (-(z.unsigned_abs() as f64) / scale).exp() * 64.0;
            classes[(class as usize).min(63) + if z < 0 { 64 } else { 0 }] += 1;
        }
        let e = DRAWS as f64 / 128.0;
        let chi: f64 = classes.iter().map(|&n| (f64::from(n) - e).powi(2) / e).sum();
        assert!(chi < chi_square_bound(127), "{p}/{q}: {chi}");
    }
}

#[test]
fn extreme_scales_neither_panic_nor_hang() {
    let mut source = NoiseSource::insecure_from_seed(1);
    for (p, q) in [(u64::MAX, 1), (u64::MAX, u64::MAX), (1, u64::MAX), (1 << 63, 3)] {
        let mut laplace = source.laplace(positive(p), positive(q)).unwrap();
        assert_eq!((0..1000).all(|_| laplace.draw() == 0), p == 1);
    }
}
