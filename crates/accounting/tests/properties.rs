//! Properties that hold for every event, on random events over a wide range.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use reticent_accounting::pld::PldAccountant;
use reticent_accounting::rdp::{Conversion, poisson_gaussian};
use reticent_accounting::{
    Adjacency, Event, Mechanism, Method, Sampling, account, account_delta, gaussian, zcdp,
};

/// Log-uniform between two powers of ten.
fn scale(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low..high).prop_map(|exponent| 10f64.powf(exponent))
}

fn multiplier() -> impl Strategy<Value = f64> {
    scale(0.2f64.log10(), 4.0)
}

fn delta() -> impl Strategy<Value = f64> {
    scale(-12.0, -2.0)
}

fn steps() -> impl Strategy<Value = u64> {
    scale(0.0, 9.0).prop_map(|steps| steps as u64)
}

/// A sampler with an adjacency it can be accounted under.
fn sampler() -> impl Strategy<Value = (Sampling, Adjacency)> {
    let rate = || scale(-9.0, 0.0);
    let fixed = rate().prop_map(|rate| {
        let records = 1_000_000_000u64;
        Sampling::Fixed { batch: ((rate * records as f64) as u64).max(1), records }
    });
    prop_oneof![
        rate().prop_map(|rate| (Sampling::Poisson { rate }, Adjacency::AddRemove)),
        rate().prop_map(|rate| (Sampling::Poisson { rate }, Adjacency::ReplaceOne)),
        fixed.prop_map(|sampling| (sampling, Adjacency::ReplaceOne)),
        Just((Sampling::None, Adjacency::AddRemove)),
        Just((Sampling::Pass, Adjacency::ReplaceOne)),
    ]
}

fn mechanism() -> impl Strategy<Value = Mechanism> {
    prop_oneof![
        3 => multiplier().prop_map(|noise_multiplier| Mechanism::Gaussian { noise_multiplier }),
        1 => scale(-1.0, 3.0).prop_map(|noise_multiplier| Mechanism::Laplace { noise_multiplier }),
        1 => scale(-4.0, 1.0).prop_map(|epsilon| Mechanism::Pure { epsilon }),
        1 => scale(-4.0, 1.0).prop_map(|epsilon| Mechanism::BoundedRange { epsilon }),
    ]
}

/// The same cases in every run.
const SEED: RngSeed = RngSeed::Fixed(2026);

/// Room for rounding in comparisons of two computed numbers.
const ROUNDING: f64 = 1e-9;

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, rng_seed: SEED, ..ProptestConfig::default() })]

    /// No accountant panics or returns NaN, a negative epsilon or an inverted bracket.
    #[test]
    fn every_answer_is_a_number(
        mechanism in mechanism(), (sampling, adjacency) in sampler(), steps in steps(), delta in delta(),
    ) {
        let event = Event::release(mechanism, sampling).repeat(steps);
        for method in Method::ALL {
            if let Ok(cost) = account(&event, adjacency, delta, method) {
                prop_assert!(cost.epsilon.lower >= 0.0, "{method} {event:?}: {cost:?}");
                prop_assert!(cost.epsilon.lower <= cost.epsilon.upper, "{method} {event:?}: {cost:?}");
            }
        }
    }

    /// An upper bound of one accountant is never below a lower bound of another.
    #[test]
    fn renyi_is_never_below_the_loss_distribution(
        sigma in multiplier(), (sampling, adjacency) in sampler(), steps in steps(), delta in delta(),
    ) {
        let event = Event::gaussian(sigma, sampling).repeat(steps);
        let tight = account(&event, adjacency, delta, Method::Pld).unwrap().epsilon;
        for method in [Method::Rdp, Method::Wang9, Method::Wang27, Method::Zcdp, Method::Exact] {
            if let Ok(cost) = account(&event, adjacency, delta, method) {
                prop_assert!(cost.epsilon.upper >= tight.lower * (1.0 - ROUNDING), "{method}: {cost:?} {tight:?}");
            }
        }
    }

    /// More noise, a larger delta, fewer steps, a smaller rate: never a larger cost (as far as brackets can tell).
    #[test]
    fn costs_are_monotone(
        sigma in multiplier(), rate in scale(-6.0, -0.3), steps in steps(), delta in delta(), which in 0usize..3,
        factor in 1.1f64..3.0,
    ) {
        let (scheme, adjacency): (fn(f64) -> Sampling, _) = match which {
            0 => (|rate| Sampling::Poisson { rate }, Adjacency::AddRemove),
            1 => (|rate| Sampling::Poisson { rate }, Adjacency::ReplaceOne),
            _ => (
                |rate| Sampling::Fixed { batch: ((rate * 1e9) as u64).max(1), records: 1_000_000_000 },
                Adjacency::ReplaceOne,
            ),
        };
        let cost = |sigma, rate, steps, delta| {
            let event = Event::gaussian(sigma, scheme(rate)).repeat(steps);
            account(&event, adjacency, delta, Method::Pld).unwrap().epsilon
        };
        let base = cost(sigma, rate, steps, delta);
        let more = (steps as f64 * factor).ceil() as u64;
        prop_assert!(cost(sigma * factor, rate, steps, delta).lower <= base.upper * (1.0 + ROUNDING));
        prop_assert!(cost(sigma, rate / factor, steps, delta).lower <= base.upper * (1.0 + ROUNDING));
        prop_assert!(cost(sigma, rate, steps, (delta * factor).min(0.5)).lower <= base.upper * (1.0 + ROUNDING));
        prop_assert!(cost(sigma, rate, more, delta).upper >= base.lower * (1.0 - ROUNDING));
    }

    /// The Renyi curve is monotone in everything, exactly.
    #[test]
    fn renyi_curves_are_monotone(sigma in multiplier(), rate in scale(-9.0, 0.0), order in 1.05f64..200.0, factor in 1.01f64..2.0) {
        let value = poisson_gaussian(order, rate, sigma).unwrap();
        prop_assert!(value >= 0.0);
        prop_assert!(poisson_gaussian(order, rate, sigma * factor).unwrap() <= value * (1.0 + ROUNDING));
        prop_assert!(poisson_gaussian(order, rate / factor, sigma).unwrap() <= value * (1.0 + ROUNDING));
        prop_assert!(poisson_gaussian(order * factor, rate, sigma).unwrap() >= value * (1.0 - ROUNDING));
    }

    /// The cost does not depend on the shape of the tree.
    #[test]
    fn composition_is_associative(
        a in mechanism(), b in mechanism(), c in mechanism(), times in 1u64..50, delta in delta(),
    ) {
        let [a, b, c] = [a, b, c].map(|mechanism| Event::release(mechanism, Sampling::None));
        let left = Event::Compose(vec![Event::Compose(vec![a.clone(), b.clone()]), c.clone()]).repeat(times);
        let right = Event::Compose(vec![
            a.repeat(times), Event::Compose(vec![b, c]).repeat(times),
        ]);
        for method in [Method::Pld, Method::Rdp] {
            let [x, y] = [&left, &right].map(|event| account(event, Adjacency::AddRemove, delta, method).unwrap().epsilon);
            prop_assert!(x.upper == y.upper || (x.upper - y.upper).abs() <= ROUNDING * x.upper, "{method}: {x:?} {y:?}");
        }
    }

    /// A finer grid narrows the bracket.
    #[test]
    fn brackets_are_nested(
        sigma in multiplier(), (sampling, adjacency) in sampler(), steps in scale(0.0, 6.0), delta in delta(),
    ) {
        let event = Event::gaussian(sigma, sampling).repeat(steps as u64);
        let bracket = |tolerance| PldAccountant::with_tolerance(tolerance).unwrap().epsilon(&event, adjacency, delta).unwrap();
        let (wide, narrow) = (bracket(0.1), bracket(1e-3));
        prop_assert!(wide.lower <= narrow.lower && narrow.upper <= wide.upper, "{wide:?} {narrow:?}");
    }

    /// The loss distribution of unsampled Gaussians is the closed form, and epsilon and delta are inverse.
    #[test]
    fn gaussian_epsilon_and_delta_are_inverse(sigma in multiplier(), delta in delta()) {
        let epsilon = gaussian::epsilon(sigma, delta).unwrap();
        let event = Event::gaussian(sigma, Sampling::None);
        prop_assert_eq!(account(&event, Adjacency::AddRemove, delta, Method::Pld).unwrap().epsilon.width(), 0.0);
        if epsilon > 0.0 {
            let back = account_delta(&event, Adjacency::AddRemove, epsilon, Method::Auto).unwrap().upper;
            prop_assert!((back / delta - 1.0).abs() < 1e-7, "{back} {delta}");
        }
        let rho = zcdp::rho(Mechanism::Gaussian { noise_multiplier: sigma });
        prop_assert!(zcdp::epsilon(rho, delta, Conversion::Improved).unwrap() >= epsilon * (1.0 - ROUNDING));
    }

    /// Unequal parts: the composed cost lies between the largest part and the sum, and the delta query agrees.
    #[test]
    fn heterogeneous_composition(
        sigma in 0.5f64..5.0, rate in scale(-4.0, -1.0), scale_b in 0.5f64..20.0, steps in 1u64..3000,
    ) {
        let step = Event::gaussian(sigma, Sampling::Poisson { rate }).repeat(steps);
        let count = Event::release(Mechanism::Laplace { noise_multiplier: scale_b }, Sampling::None);
        let cost = |event: &Event| account(event, Adjacency::AddRemove, 1e-5, Method::Pld).unwrap().epsilon;
        let both = Event::Compose(vec![step.clone(), count.clone()]);
        let (a, b, ab) = (cost(&step), cost(&count), cost(&both));
        prop_assert!(ab.upper >= a.lower.max(b.lower) * (1.0 - ROUNDING), "{a:?} {b:?} {ab:?}");
        // 1/b is pure, so it adds at most that.
        prop_assert!(ab.lower <= a.upper + 1.0 / scale_b + ROUNDING, "{a:?} {b:?} {ab:?}");
        let delta = account_delta(&both, Adjacency::AddRemove, ab.upper, Method::Pld).unwrap();
        prop_assert!(delta.lower <= 1e-5 * (1.0 + 1e-6), "{delta:?}");
    }
}
