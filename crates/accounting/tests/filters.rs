//! Histories of runs against the exact cost of their releases.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use reticent_accounting::filter::{Figures, History, Limits};
use reticent_accounting::{Adjacency, Event, Mechanism, Method, Sampling, account, account_delta, gaussian};

fn limits(epsilon: f64, delta: f64) -> Limits {
    Limits::of((epsilon * 1e12).round() as i64, (delta * 1e18).round() as i64).unwrap()
}

fn gaussian_event(epsilon: f64, delta: f64) -> Event {
    Event::gaussian(gaussian::noise_multiplier(epsilon, delta).unwrap(), Sampling::None)
}

/// A run that was priced as a whole at a delta of its own.
struct Run {
    event: Event,
    adjacency: Adjacency,
    epsilon: f64,
    delta: f64,
}

impl Run {
    fn new(event: Event, adjacency: Adjacency, delta: f64) -> Self {
        // Renyi DP, which is quick; where it has no bound, loss distributions.
        let price = |method| account(&event, adjacency, delta, method);
        let epsilon = price(Method::Rdp).or_else(|_| price(Method::Pld)).unwrap().epsilon.upper;
        Self { event, adjacency, epsilon, delta }
    }

    fn gaussian(epsilon: f64, delta: f64) -> Self {
        Self { event: gaussian_event(epsilon, delta), adjacency: Adjacency::ReplaceOne, epsilon, delta }
    }

    fn pure(epsilon: f64) -> Self {
        let event = Event::release(Mechanism::Pure { epsilon }, Sampling::None);
        Self { event, adjacency: Adjacency::ReplaceOne, epsilon, delta: 0.0 }
    }

    fn figures(&self, limits: &Limits) -> Figures {
        Figures::of(&self.event, self.adjacency, limits.order, 1e-30).unwrap()
    }

    /// Adds the run if the history is then within the cap.
    fn reserve(&self, history: &mut History, limits: &Limits) -> bool {
        let mut next = *history;
        // The ledger rounds up too.
        let units = |x: f64, unit: f64| (x * unit - 1e-3).ceil() as i64;
        next.add(units(self.epsilon, 1e12), units(self.delta, 1e18), Some(self.figures(limits)));
        let granted = next.is_within(limits);
        if granted {
            *history = next;
        }
        granted
    }
}

/// How many of these runs fit.
fn granted(run: &Run, limits: &Limits) -> usize {
    let mut history = History::default();
    (0..100_000).take_while(|_| run.reserve(&mut history, limits)).count()
}

/// The figures of the issue: ten fits at (0.5, 1e-6) cost 1.523 at 1e-5, and basic composition charges 5.
#[test]
fn ten_small_fits_cost_little_more_than_their_exact_cost() {
    let run = Run::gaussian(0.5, 1e-6);
    let ten = run.event.clone().repeat(10);
    let exact = account(&ten, Adjacency::ReplaceOne, 1e-5, Method::Exact).unwrap().epsilon.upper;
    assert!((exact - 1.523).abs() < 5e-4, "{exact}");
    // The Gaussian filter has 85 % of delta: at 1.1e-5 it needs the exact cost at 0.935e-5.
    let needed = account(&ten, Adjacency::ReplaceOne, 0.85 * 1.1e-5, Method::Exact).unwrap().epsilon.upper;
    assert!(needed < 1.01 * exact, "{needed}");
    assert_eq!(granted(&run, &limits(needed * (1.0 + 1e-6), 1.1e-5)), 10);
    assert_eq!(granted(&run, &limits(needed * (1.0 - 1e-6), 1.1e-5)), 9);
}

#[test]
fn one_run_of_the_whole_cap_fits_and_nothing_more() {
    for delta in [0.0, 1e-6, 1e-5] {
        assert_eq!(granted(&Run::pure(1.0), &limits(1.0, delta)), 1, "{delta}");
    }
    assert_eq!(granted(&Run::gaussian(1.0, 1e-5), &limits(1.0, 1e-5)), 1);
    assert_eq!(granted(&Run::gaussian(1.001, 1e-5), &limits(1.0, 1e-5)), 0);
    assert_eq!(granted(&Run::pure(1.001), &limits(1.0, 1e-5)), 0);
}

/// Large ones by basic composition, which is the best there is; small ones by Renyi DP.
#[test]
fn pure_runs_fill_their_cap_at_least_as_by_basic_composition() {
    for delta in [0.0, 1e-6] {
        assert_eq!(granted(&Run::pure(0.1), &limits(1.0, delta)), 10);
    }
    // 0.01^2 / 2 times the order each: about 470 by the formula of the limit.
    let cap = limits(1.0, 1e-5);
    let each = 0.01 * f64::tanh(0.005) * cap.order as f64 * 1e12;
    assert!(granted(&Run::pure(0.01), &cap) as f64 >= (cap.renyi as f64 / each).floor());
    assert!(granted(&Run::pure(0.01), &cap) > 300);
}

/// Whatever the first run is, a cancelled one included, it decides for good.
#[test]
fn the_first_run_decides_which_rule_applies() {
    let cap = limits(1.0, 1e-5);
    let small = Run::gaussian(0.1, 1e-6);
    let large = Run::gaussian(1.0, 1e-5);
    let mut history = History::default();
    assert_eq!((history.is_joint(&cap), history.largest(&cap, 1e-5)), (None, 1.0));
    history.request(Some(large.figures(&cap)));
    assert_eq!(history.is_joint(&cap), Some(false));
    // By basic composition: ten of (0.1, 1e-6).
    assert_eq!((0..20).filter(|_| small.reserve(&mut history, &cap)).count(), 10);

    let mut history = History::default();
    history.request(Some(small.figures(&cap)));
    assert_eq!(history.is_joint(&cap), Some(true));
    assert!(!large.reserve(&mut history, &cap), "its delta is above the shares");
    assert!((0..100).filter(|_| small.reserve(&mut history, &cap)).count() > 30);

    // Runs without figures: basic composition.
    let mut history = History::default();
    history.add(500_000_000_000, 5_000_000_000_000, None);
    assert_eq!(history.is_joint(&cap), Some(false));
    assert!(history.is_within(&cap) && history.largest(&cap, 5e-6) == 0.5);
    assert_eq!(history.largest(&cap, 6e-6), 0.0);
}

/// What is stated as the largest epsilon fits, and a little more does not.
#[test]
fn the_stated_largest_epsilon_fits() {
    for (epsilon, delta, at) in [(1.0, 1e-5, 1e-5), (2.0, 1e-6, 1e-7), (8.0, 1e-9, 1e-9), (0.3, 1e-5, 1e-6)] {
        let cap = limits(epsilon, delta);
        let mut history = History::default();
        assert!(Run::gaussian(0.3 * epsilon, 0.1 * delta).reserve(&mut history, &cap));
        for pure in [0.0, 0.1] {
            if pure > 0.0 {
                assert!(Run::pure(pure * epsilon).reserve(&mut history, &cap));
            }
            let largest = history.largest(&cap, at);
            assert!(largest > 0.0);
            let mut next = history;
            assert!(!Run::gaussian(largest * (1.0 + 1e-6), at).reserve(&mut next, &cap), "{largest}");
            assert!(Run::gaussian(largest, at).reserve(&mut next, &cap), "{largest}");
            assert!(next.epsilon(&cap) <= epsilon + 1e-9);
            assert!(next.largest(&cap, at) < 1e-3 * epsilon, "{}", next.largest(&cap, at));
        }
    }
}

/// Noise that is far from ideal passes neither of the two filters that assume ideal noise.
#[test]
fn the_error_of_the_noise_is_charged() {
    let cap = limits(1.0, 1e-5);
    let figures = |deviation| {
        let figures = Figures::of(&gaussian_event(0.1, 1e-6), Adjacency::ReplaceOne, cap.order, deviation);
        let mut history = History::default();
        history.request(Some(figures.unwrap()));
        history.is_joint(&cap)
    };
    // A thousandth of delta, over 1 + e.
    let most = 1e-8 / (1.0 + 1f64.exp());
    assert_eq!(figures(1e-20), Some(true));
    assert!(cap.deviation as f64 <= most * 1e30);
    assert_eq!(figures(1.01 * most), Some(false));
}

/// The same cases in every run.
const SEED: RngSeed = RngSeed::Fixed(2026);

fn scale(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low..high).prop_map(|exponent| 10f64.powf(exponent))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: SEED, ..ProptestConfig::default() })]

    /// Never below, and within 2 %: epsilon moves by a share of 1 / z^2 with the logarithm of delta, and z is above 3 here.
    #[test]
    fn gaussian_histories_cost_what_they_cost_exactly(
        epsilon in scale(-0.3, 1.0), delta in scale(-10.0, -5.0), parts in prop::collection::vec(0.05..0.5_f64, 2..12),
    ) {
        let cap = limits(epsilon, delta);
        let mut history = History::default();
        let mut events = Vec::new();
        for part in parts {
            let run = Run::gaussian(part * epsilon, 0.1 * delta);
            if run.reserve(&mut history, &cap) {
                events.push(run.event);
            }
        }
        prop_assert_eq!(history.is_joint(&cap), Some(true));
        let exact = account(&Event::Compose(events), Adjacency::ReplaceOne, delta, Method::Exact).unwrap();
        let (exact, stated) = (exact.epsilon.upper, history.epsilon(&cap));
        // What is stated has nine decimals.
        prop_assert!(stated >= exact && stated <= epsilon + 1e-9, "{stated} {exact} {epsilon}");
        prop_assert!(exact < 0.05 || stated <= 1.02 * exact, "{stated} {exact}");
    }
}

/// A release of a random kind; `kind` is from 0 to 6.
fn random_event(kind: u64, sigma: f64, rate: f64, steps: u64) -> (Event, Event, Adjacency) {
    let batch = ((rate * 1e6) as u64).max(1);
    let (mechanism, worst, sampling, adjacency, steps) = match kind {
        0 | 1 => {
            let gaussian = Mechanism::Gaussian { noise_multiplier: sigma };
            (gaussian, gaussian, Sampling::None, Adjacency::ReplaceOne, steps.min(4))
        }
        2 => {
            let laplace = Mechanism::Laplace { noise_multiplier: sigma };
            (laplace, laplace, Sampling::None, Adjacency::ReplaceOne, steps.min(4))
        }
        3 => {
            let pure = Mechanism::Pure { epsilon: 1.0 / sigma };
            (pure, pure, Sampling::None, Adjacency::ReplaceOne, steps.min(4))
        }
        4 => {
            // The pair that dominates every bounded range is no mechanism of bounded range; randomised response of half of it is.
            let (range, response) =
                (Mechanism::BoundedRange { epsilon: 2.0 / sigma }, Mechanism::Pure { epsilon: 1.0 / sigma });
            (range, response, Sampling::None, Adjacency::ReplaceOne, steps.min(4))
        }
        5 => {
            let gaussian = Mechanism::Gaussian { noise_multiplier: 0.2 + 0.1 * sigma };
            (gaussian, gaussian, Sampling::Fixed { batch, records: 1_000_000 }, Adjacency::ReplaceOne, steps)
        }
        _ => {
            let gaussian = Mechanism::Gaussian { noise_multiplier: 0.2 + 0.1 * sigma };
            (gaussian, gaussian, Sampling::Poisson { rate }, Adjacency::AddRemove, steps)
        }
    };
    let event = |mechanism| Event::release(mechanism, sampling).repeat(steps);
    (event(mechanism), event(worst), adjacency)
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Log-uniform.
    fn scale(&mut self, low: f64, high: f64) -> f64 {
        let uniform = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        low * (high / low).powf(uniform)
    }
}

/// A search for a history that every step accepts and that costs more than the cap by the accountant of loss distributions,
/// with kinds of releases in any order, and of one adjacency.
#[test]
fn no_accepted_history_costs_more_than_the_cap() {
    let mut random = Random(5);
    let (mut accepted, mut refused, mut closest) = (0, 0, 0.0f64);
    for trial in 0..24 {
        let (epsilon, delta) = (random.scale(0.3, 6.0), random.scale(1e-9, 1e-4));
        let cap = limits(epsilon, delta);
        let mut history = History::default();
        let (mut worst, mut adjacency) = (Vec::new(), None);
        for _ in 0..12 {
            // Either kinds of replace-one, or those of add/remove, which has its own sampler and all but the fixed one.
            let kind =
                if trial % 3 == 0 { [0, 2, 3, 4, 6][random.next() as usize % 5] } else { random.next() % 6 };
            let sigma = random.scale(2.0, 100.0) / epsilon.min(1.0);
            let (rate, steps) = (random.scale(1e-4, 0.1), 1 << (random.next() % 10));
            let (event, attack, own) = random_event(kind, sigma, rate, steps);
            let own = if trial % 3 == 0 { Adjacency::AddRemove } else { own };
            adjacency = Some(own);
            let run = Run::new(event, own, delta * random.scale(1e-3, 1.0));
            if run.reserve(&mut history, &cap) {
                worst.push(attack);
                accepted += 1;
            } else {
                refused += 1;
            }
        }
        let Some(adjacency) = adjacency.filter(|_| !worst.is_empty()) else { continue };
        let cost = account_delta(&Event::Compose(worst), adjacency, epsilon, Method::Auto).unwrap();
        assert!(cost.lower <= delta, "{epsilon} {delta}: {cost:?} {history:?} {cap:?}");
        closest = closest.max(cost.lower / delta);
    }
    // The search comes close to the cap: the largest share of delta is that of the Gaussian filter.
    assert!(accepted > 50 && refused > 50, "{accepted} {refused}");
    assert!(closest > 0.1, "{closest}");
}

/// An analyst who makes one Gaussian release, and then fills the filter that suits its outcome: the Gaussian one by one more
/// release, or the basic one by a run that fails with all of its delta. The largest advantage, by integration over the outcome, is
/// within delta; with the whole of delta for each filter it would not be.
#[test]
fn switching_filters_after_a_release_stays_within_delta() {
    let (epsilon, delta) = (1.0, 1e-5);
    let advantage = |gaussian_delta: f64, basic_delta: f64, first: f64| {
        let limit = gaussian::noise_multiplier(epsilon, gaussian_delta).unwrap().recip();
        let (mu, rest) = (first * limit, (1.0 - first * first).sqrt() * limit);
        // Of the basic cap, the first release takes its own epsilon at half of the share.
        let own = gaussian::epsilon(1.0 / mu, 0.5 * basic_delta).unwrap();
        let (left, fails) = ((epsilon - own).max(0.0), 0.5 * basic_delta);
        let mut total = 0.0;
        let step = 1e-3;
        for k in -9000..9000 {
            let z = f64::from(k) * step;
            let weight = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt() * step;
            // Under the first data set the log ratio after the release is mu z + mu^2 / 2.
            let loss = mu * z + 0.5 * mu * mu;
            // What is left to win: the sum of the positive P - e^(epsilon - loss) P' over the outcomes of what comes next. A run
            // that fails gives the record away, and else it is randomised response.
            let rest_of_epsilon = epsilon - loss;
            let gaussian = gaussian::log_delta(1.0 / rest, rest_of_epsilon).unwrap().exp();
            let (p, q) = ((1.0 - fails) / (1.0 + (-left).exp()), (1.0 - fails) / (1.0 + left.exp()));
            let positive = |p: f64, q: f64| (p - rest_of_epsilon.exp() * q).max(0.0);
            let basic = fails + positive(p, q) + positive(q, p);
            total += weight * gaussian.max(basic);
        }
        total
    };
    let mut worst: f64 = 0.0;
    let mut unshared: f64 = 0.0;
    for first in 1..20 {
        let first = f64::from(first) / 20.0;
        worst = worst.max(advantage(0.85 * delta, 0.1 * delta, first));
        unshared = unshared.max(advantage(delta, delta, first));
    }
    assert!(worst <= delta, "{worst}");
    assert!(worst > 0.85 * delta, "the Gaussian filter alone reaches its share: {worst}");
    assert!(unshared > delta, "without shares the cap would be exceeded: {unshared}");
}
