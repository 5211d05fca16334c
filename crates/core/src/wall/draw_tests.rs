use super::*;
use reticent_noise::NoiseSource;

/// Chi-square with 3 degrees of freedom: exceeds 27 with probability below 1e-5.
#[test]
fn draws_have_their_exact_law() {
    let mut source = NoiseSource::insecure_from_seed(4);
    let log_weights = [0.0, -0.7, -2.5, 0.4];
    let weights = log_weights.map(|w| (w * LOG_UNIT as f64) as i128);
    let draws = 200_000;
    let mut counts = [0f64; 4];
    for _ in 0..draws {
        counts[index(&mut source.coins().unwrap(), &weights)] += 1.0;
    }
    let total: f64 = log_weights.iter().map(|w| w.exp()).sum();
    let chi2: f64 = counts
        .iter()
        .zip(log_weights)
        .map(|(n, w)| {
            let expected = f64::from(draws) * w.exp() / total;
            (n - expected).powi(2) / expected
        })
        .sum();
    assert!(chi2 < 27.0, "{chi2} {counts:?}");
}

/// Differences far beyond 64 bits do not overflow: the heaviest candidate is drawn.
#[test]
fn huge_weights_do_not_overflow() {
    let mut source = NoiseSource::insecure_from_seed(5);
    let weights = [-(1i128 << 100), 1i128 << 100, 0];
    assert_eq!(index(&mut source.coins().unwrap(), &weights), 1);
}
