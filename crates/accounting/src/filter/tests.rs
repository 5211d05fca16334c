use super::*;
use crate::Sampling;
use crate::normal::cdf;

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// $\Phi^{-1}(p)$ by bisection.
fn quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if cdf(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The two outcomes of randomised response are the corner of the trade-off function of an $\varepsilon$-DP release.
#[test]
fn a_pure_release_has_the_mu_of_its_corner() {
    for epsilon in [1e-6, 0.01, 0.5, 1.0, 3.0, 20.0] {
        let exact = -2.0 * quantile(logistic(-epsilon));
        let error = pure_mu(epsilon) - exact;
        assert!(error.abs() < 2e-14 + 1e-9 * exact, "{epsilon}: {} {exact}", pure_mu(epsilon));
    }
    // Phi(-x) <= e^(-x^2/2) / 2: mu is at most that of the bound, and close to it for a large epsilon.
    for epsilon in [100.0, 1e4, 1e6] {
        let bound = 2.0 * f64::sqrt(2.0 * epsilon);
        assert!(pure_mu(epsilon) <= bound * (1.0 + 1e-9) && pure_mu(epsilon) > 0.9 * bound, "{epsilon}");
    }
}

/// Two outcomes whose log ratios are $\varepsilon$ apart, over the whole range of their probabilities.
#[test]
fn a_bounded_range_has_the_largest_mu_of_two_outcomes() {
    for epsilon in [0.01, 0.5, 1.0, 4.0, 10.0] {
        let mu = mu(Mechanism::BoundedRange { epsilon });
        let pair = |x: f64| quantile(logistic(x + epsilon)) - quantile(logistic(x));
        let largest = (-200..=200).map(|k| pair(-0.5 * epsilon + f64::from(k) / 20.0)).fold(0.0, f64::max);
        assert!((largest / mu - 1.0).abs() < 1e-9, "{epsilon}: {largest} {mu}");
    }
}

#[test]
fn figures_are_those_of_the_releases() {
    let figures = |event: &Event, adjacency| Figures::of(event, adjacency, 8, 2.5e-30).unwrap();
    let plain = Event::gaussian(2.0, Sampling::None).repeat(3);
    let Figures { gaussian, renyi, deviation } = figures(&plain, Adjacency::AddRemove);
    // 3 / 2^2, and 8 times half of it, with a margin of 1e-9.
    assert!((750_000_000_000..750_000_001_000).contains(&gaussian.unwrap()));
    assert!((3_000_000_000_000..3_000_000_004_000).contains(&renyi.unwrap()));
    assert_eq!(deviation, 3);
    // Sampling is amplified in the Renyi filter alone.
    let sampled = Event::gaussian(2.0, Sampling::Fixed { batch: 1, records: 1000 }).repeat(3);
    let small = figures(&sampled, Adjacency::ReplaceOne);
    assert_eq!(small.gaussian, gaussian);
    assert!(small.renyi.unwrap() < renyi.unwrap() / 1000);
    // No accountant has a Renyi bound for this pairing, and none has any bound for the next.
    let poisson = Event::gaussian(2.0, Sampling::Poisson { rate: 0.01 });
    assert_eq!(figures(&poisson, Adjacency::ReplaceOne).renyi, None);
    let unknown = figures(&sampled, Adjacency::AddRemove);
    assert_eq!((unknown.gaussian, unknown.renyi), (None, None));
    let huge = Event::gaussian(1e-6, Sampling::None).repeat(u64::MAX);
    let huge = figures(&huge, Adjacency::AddRemove);
    assert_eq!((huge.gaussian, huge.renyi), (None, None));
    assert!(Figures::of(&plain, Adjacency::AddRemove, 8, f64::NAN).is_err());
    assert!(Figures::of(&plain, Adjacency::AddRemove, 1, 0.0).is_err());
}

#[test]
fn shares_add_up_to_delta() {
    assert_eq!(GAUSSIAN_SHARE + RENYI_SHARE + NOISE_SHARE + BASIC_SHARE, 1000);
}

/// The largest and the smallest caps of a ledger, and figures that no sum of 64 bits would hold.
#[test]
fn extreme_caps_and_sums_do_not_overflow() {
    let most = 1_000_000_000_000_000_000;
    for epsilon in [1, 1_000_000, 1_000_000_000_000, most] {
        for delta in [0, 1, 1_000_000, most - 1] {
            let limits = Limits::of(epsilon, delta).unwrap();
            assert!(limits.gaussian >= 0 && limits.renyi >= 0 && limits.order >= 2, "{limits:?}");
            assert!(delta > 0 || (limits.gaussian, limits.renyi) == (0, 0));
            let mut history = History::default();
            let figures = Figures { gaussian: Some(1), renyi: Some(1), deviation: 0 };
            history.add(0, 0, Some(figures));
            for _ in 0..100 {
                let figures =
                    Figures { gaussian: Some(i64::MAX), renyi: Some(i64::MAX), deviation: i64::MAX };
                history.add(i64::MAX, i64::MAX, Some(figures));
            }
            assert!(!history.is_within(&limits));
            assert_eq!(history.largest(&limits, 1e-6), 0.0);
        }
    }
    assert!(Limits::of(0, 1).is_err() && Limits::of(1, most).is_err() && Limits::of(1, -1).is_err());
}
