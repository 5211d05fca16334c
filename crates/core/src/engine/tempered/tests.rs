use super::*;
use crate::budget::{Adjacency, Privacy, Unlimited};
use crate::family::Beta;
use crate::wall::{NoiseSource, Plan, Query, Records, Wall};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

fn pure(epsilon: f64, adjacency: Adjacency) -> Privacy {
    Privacy::new(epsilon, 0.0, adjacency).unwrap()
}

fn bits(ones: usize, records: usize) -> Records {
    Records::new((0..records).map(|k| f64::from(u8::from(k < ones))).collect(), 1).unwrap()
}

/// The probability of each cell for a number of records of the second level, from the scores that the query contributes.
fn distribution(plan: &SamplePlan, ones: usize) -> Vec<f64> {
    let split = plan.split(0);
    let power = 1.0 / plan.temperature();
    let zeros = plan.records - ones;
    let mut out = [vec![0.0; plan.cells], vec![0.0; plan.cells]];
    split.contribute(&[0.0], &mut out[0]);
    split.contribute(&[1.0], &mut out[1]);
    let logs: Vec<f64> = (0..plan.cells)
        .map(|c| split.log_weights[c] + power * (zeros as f64 * out[0][c] + ones as f64 * out[1][c]))
        .collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logs.iter().map(|log| (log - top).exp()).sum();
    logs.iter().map(|log| (log - top).exp() / sum).collect()
}

/// With bounds 0.2 and 0.8 the temperature at epsilon 1 is 2.773. All data sets of 400 records and all cells: the
/// largest log ratio between neighbours is at most the charged epsilon, and at least 0.95 of it, since data can put
/// all mass at an end. With bounds 0.1 and 0.5 an untempered draw costs 2.197 and not 4.394.
#[test]
fn a_sample_costs_its_range_and_no_less() {
    let privacy = pure(1.0, Adjacency::ReplaceOne);
    let plan = SamplePlan::new(2, (0.2, 0.8), 400, 1, &privacy).unwrap();
    assert!((plan.temperature() - 2.773).abs() < 5e-4);
    let warm = SamplePlan::new(2, (0.2, 0.8), 400, 1, &pure(50.0, Adjacency::ReplaceOne)).unwrap();
    assert_eq!(warm.temperature(), 1.0);
    let cost = warm.releases().unwrap().0.price(0.0).unwrap().epsilon.upper;
    assert!((cost - 4.0 * 2f64.ln()).abs() < 1e-6, "{cost}");
    let lopsided = SamplePlan::new(2, (0.1, 0.5), 400, 1, &pure(50.0, Adjacency::ReplaceOne)).unwrap();
    assert!((lopsided.range() - 9f64.ln()).abs() < 1e-12, "{}", lopsided.range());
    for plan in [plan, warm, lopsided] {
        let charged = plan.releases().unwrap().0.price(0.0).unwrap().epsilon.upper;
        let distributions: Vec<Vec<f64>> = (0..=plan.records).map(|ones| distribution(&plan, ones)).collect();
        let widest = distributions.windows(2).fold(0.0_f64, |widest, pair| {
            pair[0].iter().zip(&pair[1]).fold(widest, |widest, (a, b)| widest.max((a / b).ln().abs()))
        });
        assert!(widest <= charged * (1.0 + 1e-9) && widest >= 0.95 * charged, "{widest} {charged}");
    }
}

/// Chi-square over twenty groups of cells, for symmetric and asymmetric bounds, against the distribution that the
/// ratios above were computed from and against the tempered beta density: with 19 degrees of freedom it exceeds 50
/// with probability 1e-4.
#[test]
fn samples_have_the_tempered_posterior() {
    for (bounds, seed) in [((0.2, 0.8), 1), ((0.1, 0.5), 2)] {
        let privacy = pure(1.0, Adjacency::ReplaceOne);
        let mut plan = SamplePlan::new(2, bounds, 20, 1, &privacy).unwrap();
        plan.cells = 100;
        let (ones, groups, runs) = (6, 20, 4000);
        let mut counts = vec![0.0; groups];
        for run in 0..runs {
            let source = NoiseSource::insecure_from_seed(seed * 100_000 + run);
            let (samples, _) = plan.fit(bits(ones, 20), source, &privacy, Box::new(Unlimited)).unwrap();
            let place = (samples[0][0] - bounds.0) / (bounds.1 - bounds.0);
            counts[(place * groups as f64) as usize] += 1.0;
        }
        let cells = distribution(&plan, ones);
        // The first level is that of records that are not positive.
        let power = 1.0 / plan.temperature();
        let beta = Beta { a: 1.0 + power * 14.0, b: 1.0 + power * 6.0 };
        let inside = beta.cdf(bounds.1) - beta.cdf(bounds.0);
        let mut chi2 = 0.0;
        for (group, count) in counts.iter().enumerate() {
            let probability: f64 = cells[group * 5..][..5].iter().sum();
            let at = |k: usize| beta.cdf(bounds.0 + (bounds.1 - bounds.0) * k as f64 / groups as f64);
            let exact = (at(group + 1) - at(group)) / inside;
            assert!((probability / exact - 1.0).abs() < 1e-2, "{probability} {exact}");
            let expected = runs as f64 * probability;
            chi2 += (count - expected).powi(2) / expected;
        }
        assert!(chi2 < 50.0, "{bounds:?}: {chi2}");
    }
}

/// Three levels are two splits, and two samples four draws; all are charged, and more samples need a higher
/// temperature. Probabilities sum to 1.
#[test]
fn every_split_of_every_sample_is_charged() {
    let privacy = pure(2.0, Adjacency::ReplaceOne);
    let plan = SamplePlan::new(3, (0.1, 0.9), 30, 2, &privacy).unwrap();
    let single = SamplePlan::new(3, (0.1, 0.9), 30, 1, &privacy).unwrap();
    assert!((plan.temperature() / single.temperature() - 2.0).abs() < 1e-6);
    let cost = plan.releases().unwrap().0.price(0.0).unwrap().epsilon.upper;
    assert!(cost <= 2.0 && cost > 1.999, "{cost}");
    let values = (0..30).flat_map(|k| (0..3).map(move |j| f64::from(u8::from(j == k % 3)))).collect();
    let records = Records::new(values, 3).unwrap();
    let (samples, receipt) =
        plan.fit(records, NoiseSource::insecure_from_seed(1), &privacy, Box::new(Unlimited)).unwrap();
    assert_eq!((samples.len(), receipt.groups[0].made), (2, 4));
    assert!(samples.iter().all(|shares| (shares.iter().sum::<f64>() - 1.0).abs() < 1e-12));
    // With a delta, composition is cheaper for many samples.
    let privacy = Privacy::new(2.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let many = SamplePlan::new(2, (0.1, 0.9), 1000, 200, &privacy).unwrap();
    assert!(many.epsilon > 2.0 * 2.0 / 200.0, "{}", many.epsilon);
    assert!(many.releases().unwrap().0.price(1e-6).unwrap().epsilon.upper <= 2.0);
}

fn coin(record: &[f64], at: &[f64]) -> f64 {
    if record[0] > 0.0 { at[0].ln() } else { (1.0 - at[0]).ln() }
}

/// On two states, in both directions: the log probabilities of accepting and rejecting never change by more than the
/// charged epsilon, and nearly attain it; Metropolis' rejection changes without bound. The wall's frequencies are
/// those of the sigmoid.
#[test]
fn accepting_and_refusing_cost_what_is_charged() {
    let (bound, epsilon, records) = (3f64.ln(), 1.0, 30);
    let privacy = pure(1.001 * epsilon, Adjacency::ReplaceOne);
    let mut plan = Plan::new(records, Adjacency::ReplaceOne);
    plan.draws(barker_draws(bound, epsilon, 1)).unwrap();
    let charged = plan.price(0.0).unwrap().epsilon.upper;
    let power = 0.5 * epsilon / bound;
    // From 0.25 to 0.75: a one contributes log 3, a zero its negative.
    let accept = |ones: usize| 1.0 / (1.0 + (-power * bound * (2.0 * ones as f64 - records as f64)).exp());
    let mut widest = [0.0_f64; 2];
    for ones in 0..records {
        let (a, b) = (accept(ones), accept(ones + 1));
        widest[0] = widest[0].max((a / b).ln().abs());
        widest[1] = widest[1].max(((1.0 - a) / (1.0 - b)).ln().abs());
    }
    assert!(
        widest.iter().all(|&w| w <= charged * (1.0 + 1e-9) && w >= 0.95 * charged),
        "{widest:?} {charged}"
    );
    let metropolis =
        |ones: usize| 1.0 - (power * bound * (2.0 * ones as f64 - records as f64)).exp().min(1.0);
    assert!(metropolis(15) == 0.0 && metropolis(14) > 0.0);
    let barker = Barker { log_likelihood: coin, log_prior: |_: &[f64]| 0.0 };
    let (runs, ones) = (4000, 14);
    let mut moves = 0.0;
    for seed in 0..runs {
        let mut plan = Plan::new(records, Adjacency::ReplaceOne);
        let id = plan.draws(barker_draws(bound, epsilon, 1)).unwrap();
        let source = NoiseSource::insecure_from_seed(seed);
        let mut wall = Wall::new(bits(ones, records), source, plan, &privacy, Box::new(Unlimited)).unwrap();
        let mut at = vec![0.25];
        moves += f64::from(u8::from(barker.step(&mut wall, id, &mut at, vec![0.75]).unwrap()));
    }
    let expected = accept(ones);
    let error = (expected * (1.0 - expected) / runs as f64).sqrt();
    assert!((moves / runs as f64 - expected).abs() < 4.0 * error, "{moves} {expected}");
}

/// A long chain of small, cheap steps has the moments of the tempered posterior, within five standard errors for an
/// effective sample size of one in a hundred draws.
#[test]
fn chains_have_the_tempered_posterior() {
    let (records, steps) = (12, 20_000);
    let bound = 1.0;
    let epsilon = 1.2; // each
    let mut plan = Plan::new(records, Adjacency::ReplaceOne);
    let id = plan.draws(barker_draws(bound, epsilon, steps)).unwrap();
    let privacy = pure(epsilon * steps as f64 * 1.001, Adjacency::ReplaceOne);
    let source = NoiseSource::insecure_from_seed(1);
    let mut wall = Wall::new(bits(9, records), source, plan, &privacy, Box::new(Unlimited)).unwrap();
    // In log odds, where a uniform rate has the logistic density, and the slope of a log-likelihood is at most 1.
    let rate = |at: &[f64]| 1.0 / (1.0 + (-at[0]).exp());
    let barker = Barker {
        log_likelihood: move |record: &[f64], at: &[f64]| coin(record, &[rate(at)]),
        log_prior: move |at: &[f64]| (rate(at) * (1.0 - rate(at))).ln(),
    };
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let propose = |at: &[f64], rng: &mut ChaCha8Rng| vec![at[0] + rng.random_range(-1.0..1.0)];
    let states = barker.run(&mut wall, id, vec![0.0], steps, propose, &mut rng).unwrap();
    let power = 0.5 * epsilon / bound;
    let beta = Beta { a: 1.0 + power * 9.0, b: 1.0 + power * 3.0 };
    let mean = states.iter().map(|at| rate(at)).sum::<f64>() / steps as f64;
    let error = (beta.variance() * 100.0 / steps as f64).sqrt();
    assert!((mean - beta.mean()).abs() < 5.0 * error, "{mean} {} {error}", beta.mean());
}

/// No change of log weights within h moves the normalised weights farther than $2\tanh(h/2)$, and a pair attains it.
#[test]
fn normalised_weights_move_no_farther_than_their_sensitivity() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let normalised = |logs: &[f64]| {
        let sum: f64 = logs.iter().map(|log| log.exp()).sum();
        logs.iter().map(|log| log.exp() / sum).collect::<Vec<_>>()
    };
    for h in [0.1, 0.7, 2.0] {
        let limit = weights_sensitivity(h);
        let mut widest = 0.0_f64;
        for _ in 0..20_000 {
            let logs: Vec<f64> = (0..rng.random_range(2..6)).map(|_| rng.random_range(-3.0..3.0)).collect();
            let moved: Vec<f64> = logs.iter().map(|log| log + if rng.random() { h } else { -h }).collect();
            let gaps = normalised(&logs).iter().zip(normalised(&moved)).map(|(a, b)| (a - b).abs()).sum();
            widest = widest.max(gaps);
        }
        assert!(widest <= limit, "{h}: {widest} {limit}");
        // Weights that are e^(-h) and e^h from equal are swapped about the middle.
        let gap = normalised(&[-0.5 * h, 0.5 * h])
            .iter()
            .zip(normalised(&[0.5 * h, -0.5 * h]))
            .map(|(a, b)| (a - b).abs())
            .sum::<f64>();
        assert!((gap - limit).abs() < 1e-12, "{h}: {gap} {limit}");
    }
}

/// Choosing among annealed particles costs the epsilon of its plan, and gives the posterior at the last power: by the
/// mean over runs, within five standard errors.
#[test]
fn annealed_particles_are_weighted_and_charged() {
    let records = 10;
    let (low, high) = (0.1, 0.9);
    let plan = AnnealedPlan {
        powers: vec![0.25, 0.5],
        particles: 60,
        log_likelihoods: (f64::ln(low), f64::ln(high)),
        bound: (f64::ln(high) - f64::ln(low)),
    };
    let range = f64::ln(high / low);
    let cost = 60.0 * 2.0 * (0.25 + 0.5) * range + 2.0 * 0.5 * range;
    let privacy = pure(cost * 1.0001, Adjacency::ReplaceOne);
    let model = Barker {
        log_likelihood: coin,
        log_prior: move |at: &[f64]| if (low..high).contains(&at[0]) { 0.0 } else { f64::NEG_INFINITY },
    };
    let runs = 300;
    let mut mean = 0.0;
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for seed in 0..runs {
        let source = NoiseSource::insecure_from_seed(seed);
        let draw = |rng: &mut ChaCha8Rng| vec![rng.random_range(low..high)];
        let propose = |at: &[f64], rng: &mut ChaCha8Rng| vec![at[0] + rng.random_range(-0.2..0.2)];
        let (chosen, receipt) = annealed(
            &plan,
            &model,
            draw,
            propose,
            (bits(9, records), records),
            source,
            &privacy,
            Box::new(Unlimited),
            &mut rng,
        )
        .unwrap();
        // A proposal outside the support of the prior is rejected without a release, and stays charged.
        assert!(receipt.groups.len() == 3 && receipt.groups[2].made == 1);
        mean += chosen[0] / runs as f64;
    }
    // A smaller budget is refused.
    let cheap = pure(cost * 0.99, Adjacency::ReplaceOne);
    let source = NoiseSource::insecure_from_seed(0);
    let refused = annealed(
        &plan,
        &model,
        |_| vec![0.5],
        |at: &[f64], _: &mut ChaCha8Rng| at.to_vec(),
        (bits(9, records), records),
        source,
        &cheap,
        Box::new(Unlimited),
        &mut rng,
    );
    assert!(refused.is_err());
    // The posterior at power 1/2 between the bounds, by quadrature.
    let cells = 10_000;
    let at = |k: i32| low + (high - low) * (f64::from(k) + 0.5) / f64::from(cells);
    let weight = |p: f64| (0.5 * (9.0 * p.ln() + (1.0 - p).ln())).exp();
    let mass: f64 = (0..cells).map(|k| weight(at(k))).sum();
    let expected = (0..cells).map(|k| at(k) * weight(at(k))).sum::<f64>() / mass;
    let square = (0..cells).map(|k| at(k).powi(2) * weight(at(k))).sum::<f64>() / mass;
    let error = ((square - expected * expected) / runs as f64).sqrt();
    assert!((mean - expected).abs() < 5.0 * error, "{mean} {expected} {error}");
}
