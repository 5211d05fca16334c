//! Upper bounds are never below the true cost: loss distributions against closed forms and figures of high precision.

#![allow(clippy::excessive_precision, reason = "figures are quoted as computed")]

use reticent_accounting::{
    Adjacency, Event, Mechanism, Method, Sampling, account, account_delta, composition, gaussian,
};

/// `times` pure releases, as two parts that are the same to the theory and different to the accountant: a single part has a
/// closed form.
fn pure_in_two_parts(epsilon: f64, times: u64) -> Event {
    let part = |sampling, times| Event::release(Mechanism::Pure { epsilon }, sampling).repeat(times);
    Event::Compose(vec![part(Sampling::None, times / 2), part(Sampling::Pass, times - times / 2)])
}

fn pld(event: &Event, adjacency: Adjacency, delta: f64) -> (f64, f64) {
    let bracket = account(event, adjacency, delta, Method::Pld).unwrap().epsilon;
    (bracket.lower, bracket.upper)
}

/// Sums over all outcomes of randomised response with 40 digits (mpmath), both directions: releases, epsilon of each,
/// sampling rate, delta and epsilon.
const RESPONSES: [(u64, f64, f64, f64, f64); 11] = [
    (4, 39.0, 0.0625, 1e-5, 143.844_390_226_026_764),
    (4, 39.0, 1.0, 1e-5, 155.999_989_999_95),
    (2, 37.0, 0.1, 1e-5, 69.393_829_313_678_327),
    (4, 5.0, 1.0, 1e-5, 19.999_989_727_693_108),
    (20_000, 1e-4, 1.0, 1e-5, 0.039_988_805_459_440_6),
    (20_000, 1e-4, 0.5, 1e-5, 0.018_481_423_918_316_083),
    (1000, 1e-6, 1.0, 1e-5, 5.631_645_065_275_438_5e-6),
    (1000, 1e-5, 0.25, 1e-5, 6.094_883_705_168_642_2e-5),
    (1000, 0.01, 0.5, 1e-6, 0.647_375_555_408_099_47),
    (3, 2.0, 0.9, 1e-3, 5.726_773_005_435_896_65),
    (300, 600.0, 1e-3, 1e-3, 1_778.727_046_499_169_04),
];

#[test]
fn randomised_response_is_never_undercut() {
    for (times, epsilon, rate, delta, exact) in RESPONSES {
        let sampling = if rate == 1.0 { Sampling::None } else { Sampling::Poisson { rate } };
        let event = Event::release(Mechanism::Pure { epsilon }, sampling).repeat(times);
        let mut results = vec![pld(&event, Adjacency::AddRemove, delta)];
        if rate == 1.0 {
            results.push(pld(&pure_in_two_parts(epsilon, times), Adjacency::ReplaceOne, delta));
        }
        for (lower, upper) in results {
            let case = format!("{times} * pure({epsilon}) at {rate}: [{lower}, {upper}], {exact}");
            assert!(lower <= exact * (1.0 + 1e-15) && exact * (1.0 - 1e-15) <= upper, "{case}");
            // Useful, too, where a grid can hold the losses.
            assert!(upper <= exact * 1.001 || epsilon > 30.0, "{case}");
        }
        let cost = account(&event, Adjacency::AddRemove, delta, Method::Auto).unwrap().epsilon;
        assert!(cost.upper >= exact * (1.0 - 1e-15) && cost.upper.is_finite(), "{times} {epsilon}: {cost:?}");
    }
}

/// Sums over the numbers of losses at either atom and between them, the latter with an Irwin-Hall density, with 20 digits
/// (mpmath): releases, scale, delta, epsilon. The last two leave out more than 12 and 7 losses between atoms.
const LAPLACES: [(u64, f64, f64, f64); 4] = [
    // 1/b + 2 ln(1 - delta).
    (1, 1e4, 1e-5, 7.999_989_999_933_332_8e-5),
    (2, 1e4, 1e-5, 1.599_999_999_975_385e-4),
    (40, 10.0, 1e-5, 2.451_173_934_249_997),
    (5000, 1e4, 1e-5, 0.018_479_865_95),
];

#[test]
fn laplace_noise_is_never_undercut() {
    for (times, noise_multiplier, delta, exact) in LAPLACES {
        let event = Event::release(Mechanism::Laplace { noise_multiplier }, Sampling::None).repeat(times);
        let (lower, upper) = pld(&event, Adjacency::AddRemove, delta);
        let case = format!("{times} * laplace({noise_multiplier}): [{lower}, {upper}], {exact}");
        assert!(lower <= exact * (1.0 + 1e-14) && exact * (1.0 - 1e-14) <= upper, "{case}");
        assert!(upper <= exact * 1.001, "{case}");
    }
}

/// A range of losses that overflows when exponentiated has no small cost.
#[test]
fn huge_losses_are_not_free() {
    for epsilon in [600.0, 900.0, 2000.0, 1e6] {
        let event = Event::release(Mechanism::BoundedRange { epsilon }, Sampling::None).repeat(4);
        for method in [Method::Pld, Method::Auto] {
            let cost = account(&event, Adjacency::AddRemove, 1e-5, method).unwrap().epsilon;
            // A single release: (e^{eps/2} - e^{x/2})^2 / (e^eps - 1) = delta at x = eps + 2 ln(1 - sqrt(delta)).
            let one = epsilon + 2.0 * (-1e-5f64.sqrt()).ln_1p();
            assert!(cost.upper >= one * (1.0 - 1e-12), "{epsilon}: {cost:?}");
            assert!(cost.upper <= 4.0 * epsilon * (1.0 + 1e-9), "{epsilon}: {cost:?}");
        }
    }
}

/// So many releases that rounding dominates: the bound is loose, never low.
#[test]
fn huge_counts_are_not_free() {
    let laplace = Mechanism::Laplace { noise_multiplier: 1e3 };
    for exponent in [40, 41, 50, 60, 63] {
        let times = 1u64 << exponent;
        let event = Event::release(laplace, Sampling::None).repeat(times);
        // The mean of the losses, n (1/b + e^{-1/b} - 1), is exceeded with a probability near one half.
        let mean = times as f64 * (1e-3 + (-1e-3f64).exp_m1());
        for method in [Method::Pld, Method::Auto] {
            let cost = account(&event, Adjacency::AddRemove, 1e-5, method).unwrap().epsilon;
            assert!(cost.upper >= mean, "2^{exponent} by {method}: {cost:?}");
        }
        let event = Event::gaussian(1.0, Sampling::Poisson { rate: 1e-3 }).repeat(times);
        let cost = account(&event, Adjacency::AddRemove, 1e-5, Method::Pld).unwrap().epsilon;
        assert!(cost.upper.is_infinite() || exponent == 40, "2^{exponent}: {cost:?}");
        assert_eq!(account_delta(&event, Adjacency::AddRemove, 1.0, Method::Pld).unwrap().upper, 1.0);
    }
}

/// A generator of the same cases in every run (SplitMix64).
struct Cases(u64);

impl Cases {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Log-uniform between two powers of ten.
    fn scale(&mut self, low: f64, high: f64) -> f64 {
        let share = (self.bits() >> 11) as f64 * (0.5f64).powi(53);
        10f64.powf(low + (high - low) * share)
    }

    fn mechanism(&mut self, kind: u64) -> Mechanism {
        match kind % 4 {
            0 => Mechanism::Gaussian { noise_multiplier: self.scale(-1.0, 5.0) },
            1 => Mechanism::Laplace { noise_multiplier: self.scale(-2.0, 6.0) },
            2 => Mechanism::Pure { epsilon: self.scale(-7.0, 3.0) },
            _ => Mechanism::BoundedRange { epsilon: self.scale(-7.0, 3.0) },
        }
    }

    fn sampling(&mut self, kind: u64) -> (Sampling, Adjacency) {
        let rate = self.scale(-6.0, 0.0);
        match kind % 4 {
            0 => (Sampling::None, Adjacency::AddRemove),
            1 => (Sampling::Poisson { rate }, Adjacency::AddRemove),
            2 => {
                let records = 1_000_000_000;
                (Sampling::Fixed { batch: ((rate * 1e9) as u64).max(1), records }, Adjacency::ReplaceOne)
            }
            _ => (Sampling::Pass, Adjacency::ReplaceOne),
        }
    }
}

/// The epsilon of one release under its sampling; infinite for Gaussian noise.
fn pure_epsilon(mechanism: Mechanism, rate: f64) -> f64 {
    let epsilon = match mechanism {
        Mechanism::Gaussian { .. } => return f64::INFINITY,
        Mechanism::Laplace { noise_multiplier } => 1.0 / noise_multiplier,
        Mechanism::Pure { epsilon } | Mechanism::BoundedRange { epsilon } => epsilon,
    };
    // ln(1 - q + q e^eps)
    if epsilon < 30.0 {
        (rate * epsilon.exp_m1()).ln_1p()
    } else {
        epsilon + (rate + (1.0 - rate) * (-epsilon).exp()).ln()
    }
}

/// A lower bound on the true epsilon where a closed form is known, and the relative error of computing it.
fn exact(mechanism: Mechanism, times: u64, delta: f64) -> Option<(f64, f64)> {
    match mechanism {
        Mechanism::Gaussian { noise_multiplier } => {
            Some((gaussian::epsilon(noise_multiplier / (times as f64).sqrt(), delta).unwrap(), 1e-9))
        }
        Mechanism::Pure { epsilon } => {
            Some((composition::optimal_epsilon(epsilon, 0.0, times, delta).unwrap(), 1e-5))
        }
        // 1 - e^{(x - 1/b)/2} = delta.
        Mechanism::Laplace { noise_multiplier } if times == 1 => {
            Some(((1.0 / noise_multiplier + 2.0 * (-delta).ln_1p()).max(0.0), 1e-9))
        }
        _ => None,
    }
}

/// All mechanisms and samplers, parameters over many decades and up to a million releases.
#[test]
fn no_bound_is_below_what_is_known() {
    const ROOM: f64 = 1e-9;
    let mut cases = Cases(2026);
    for case in 0..64 {
        let mechanism = cases.mechanism(case);
        let (sampling, adjacency) = cases.sampling(case / 4);
        let times = cases.scale(0.0, 6.0) as u64;
        let times = if case % 7 == 0 { 1 } else { times };
        let delta = cases.scale(-12.0, -2.0);
        let name = format!("{case}: {times} * {mechanism:?} {sampling:?} at {delta}");
        let event = |mechanism| Event::release(mechanism, sampling);
        let cost = |event: &Event, delta, method| account(event, adjacency, delta, method).unwrap().epsilon;
        let this = event(mechanism).repeat(times);
        let auto = cost(&this, delta, Method::Auto);
        let tight = cost(&this, delta, Method::Pld);
        for bracket in [auto, tight] {
            assert!(0.0 <= bracket.lower && bracket.lower <= bracket.upper, "{name}: {bracket:?}");
        }
        assert!(
            auto.upper >= tight.lower * (1.0 - ROOM) || matches!(mechanism, Mechanism::BoundedRange { .. }),
            "{name}"
        );
        let basic = times as f64 * pure_epsilon(mechanism, sampling.rate());
        assert!(auto.upper <= basic * (1.0 + ROOM), "{name}: {auto:?} above {basic}");
        if let Some((exact, error)) = exact(mechanism, times, delta).filter(|_| sampling.rate() == 1.0) {
            for bracket in [auto, tight] {
                assert!(bracket.upper >= exact * (1.0 - error), "{name}: {bracket:?} below {exact}");
                assert!(bracket.lower <= exact * (1.0 + error), "{name}: {bracket:?} above {exact}");
            }
            if let (Mechanism::Pure { epsilon }, 2..) = (mechanism, times) {
                let (lower, upper) = pld(&pure_in_two_parts(epsilon, times), Adjacency::ReplaceOne, delta);
                assert!(upper >= exact * (1.0 - error), "{name}: {upper} below {exact}");
                assert!(lower <= exact * (1.0 + error), "{name}: {lower} above {exact}");
            }
        }
        // More releases, a smaller delta, a larger epsilon of each: not less, as far as brackets can tell.
        let stronger = match mechanism {
            Mechanism::Gaussian { noise_multiplier } => {
                Mechanism::Gaussian { noise_multiplier: noise_multiplier / 1.5 }
            }
            Mechanism::Laplace { noise_multiplier } => {
                Mechanism::Laplace { noise_multiplier: noise_multiplier / 1.5 }
            }
            Mechanism::Pure { epsilon } => Mechanism::Pure { epsilon: 1.5 * epsilon },
            Mechanism::BoundedRange { epsilon } => Mechanism::BoundedRange { epsilon: 1.5 * epsilon },
        };
        let greater = match case % 3 {
            0 => cost(&event(mechanism).repeat(times + times.div_ceil(2)), delta, Method::Pld),
            1 => cost(&this, 0.5 * delta, Method::Pld),
            _ => cost(&event(stronger).repeat(times), delta, Method::Pld),
        };
        assert!(greater.upper >= tight.lower * (1.0 - ROOM), "{name}: {tight:?} {greater:?}");
    }
}
