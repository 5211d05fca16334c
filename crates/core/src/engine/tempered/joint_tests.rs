use super::*;
use crate::budget::{Adjacency, Unlimited};
use crate::family::{Dirichlet, TruncatedDirichlet};
use crate::wall::{NoiseSource, Query, Records};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

fn pure(epsilon: f64, adjacency: Adjacency) -> Privacy {
    Privacy::new(epsilon, 0.0, adjacency).unwrap()
}

fn one_hot(level: usize) -> Vec<f64> {
    (0..3).map(|k| f64::from(u8::from(k == level))).collect()
}

/// The log probability of each point, for counts of records, from the scores that the query contributes.
fn distribution(plan: &JointSamplePlan, scores: &[Vec<f64>], counts: [usize; 3]) -> Vec<f64> {
    let power = 1.0 / plan.temperature();
    let score = |c: usize| power * (0..3).map(|k| counts[k] as f64 * scores[k][c]).sum::<f64>();
    let logs: Vec<f64> = (0..scores[0].len()).map(score).collect();
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total = top + logs.iter().map(|log| (log - top).exp()).sum::<f64>().ln();
    logs.iter().map(|log| log - total).collect()
}

fn scores(plan: &JointSamplePlan) -> Vec<Vec<f64>> {
    let candidates = plan.candidates();
    let of = |level: usize| {
        let mut out = vec![0.0; candidates.width()];
        candidates.contribute(&one_hot(level), &mut out);
        out
    };
    (0..3).map(of).collect()
}

/// All data sets of three levels, all neighbours, all points: the largest log ratio is at most the charged epsilon,
/// and at least 0.95 of it, tempered and untempered, for records that are replaced and for ones that are added. An
/// untempered draw costs $2\log 8$ or $\log 8$ at a minimum probability of 0.1.
#[test]
fn a_joint_sample_costs_its_range_and_no_less() {
    for (adjacency, ends) in [(Adjacency::ReplaceOne, 2.0), (Adjacency::AddRemove, 1.0)] {
        for epsilon in [1.0, 50.0] {
            let mut plan = JointSamplePlan::new(3, 0.1, 150, 1, &pure(epsilon, adjacency)).unwrap();
            plan.points = 300;
            let charged = plan.releases().unwrap().0.price(0.0).unwrap().epsilon.upper;
            let claimed = (ends * 8f64.ln()).min(epsilon);
            assert!((charged / claimed - 1.0).abs() < 1e-6, "{charged} {claimed}");
            let (scores, n) = (scores(&plan), plan.records);
            let mut widest = 0.0_f64;
            let mut compare = |a: &[f64], b: &[f64]| {
                widest = a.iter().zip(b).fold(widest, |widest, (a, b)| widest.max((a - b).abs()));
            };
            for first in 0..=n {
                for second in 0..=n - first {
                    let counts = [first, second, n - first - second];
                    let own = distribution(&plan, &scores, counts);
                    for k in (0..3).filter(|&k| counts[k] > 0) {
                        let mut less = counts;
                        less[k] -= 1;
                        if adjacency == Adjacency::AddRemove {
                            compare(&own, &distribution(&plan, &scores, less));
                        }
                        for j in (0..k).filter(|_| adjacency == Adjacency::ReplaceOne) {
                            let mut other = less;
                            other[j] += 1;
                            compare(&own, &distribution(&plan, &scores, other));
                        }
                    }
                }
            }
            assert!(widest <= charged * (1.0 + 1e-9), "{adjacency} {epsilon}: {widest} {charged}");
            assert!(widest >= 0.95 * charged, "{adjacency} {epsilon}: {widest} {charged}");
        }
    }
}

/// The wall's draws have the distribution that the ratios above were computed from: chi-square over twenty groups of
/// points, with 19 degrees of freedom, exceeds 50 with probability 1e-4. And that distribution has the mean of exact
/// draws from the truncated, tempered Dirichlet density, within five standard errors for as many draws as there are
/// effective points.
#[test]
fn joint_samples_have_the_tempered_posterior() {
    let (counts, privacy) = ([14, 5, 1], pure(2.0, Adjacency::ReplaceOne));
    let values = counts.iter().enumerate().flat_map(|(k, &n)| vec![one_hot(k); n]).flatten();
    let values: Vec<f64> = values.collect();
    let mut plan = JointSamplePlan::new(3, 0.05, 20, 1, &privacy).unwrap();
    plan.points = 397;
    let exact = distribution(&plan, &scores(&plan), counts);
    let (groups, runs, points) = (20, 3000, plan.candidates().points);
    let mut found = vec![0.0; groups];
    // Many draws about the same records, each tempered as a single one.
    plan.samples = runs;
    let budget = pure(2.0 * runs as f64, Adjacency::ReplaceOne);
    let records = Records::new(values, 3).unwrap();
    let source = NoiseSource::insecure_from_seed(1);
    for sample in plan.fit(records, source, &budget, Box::new(Unlimited)).unwrap().0 {
        found[points.iter().position(|point| *point == sample).unwrap() % groups] += 1.0;
    }
    let chi2: f64 = found
        .iter()
        .enumerate()
        .map(|(group, &count)| {
            let of_group = exact.iter().skip(group).step_by(groups).map(|log| log.exp());
            let expected = runs as f64 * of_group.sum::<f64>();
            (count - expected).powi(2) / expected
        })
        .sum();
    assert!(chi2 < 50.0, "{chi2}");

    plan.points = 10_000;
    let (exact, points) = (distribution(&plan, &scores(&plan), counts), plan.candidates().points);
    let power = 1.0 / plan.temperature();
    let concentration = counts.iter().map(|&n| 1.0 + power * n as f64).collect();
    let truncated = TruncatedDirichlet { untruncated: Dirichlet { concentration }, min: 0.05 };
    let (mut rng, draws) = (ChaCha8Rng::seed_from_u64(5), 5000);
    let sharing = 1.0 / exact.iter().map(|log| (2.0 * log).exp()).sum::<f64>();
    let drawn: Vec<Vec<f64>> = (0..draws).map(|_| truncated.draw(&mut rng)).collect();
    for k in 0..3 {
        let mean: f64 = exact.iter().zip(&points).map(|(log, point)| log.exp() * point[k]).sum();
        let expected = drawn.iter().map(|draw| draw[k]).sum::<f64>() / f64::from(draws);
        let variance = drawn.iter().map(|draw| (draw[k] - expected).powi(2)).sum::<f64>() / f64::from(draws);
        let error = (variance * (1.0 / sharing + 1.0 / f64::from(draws))).sqrt();
        assert!((mean - expected).abs() < 5.0 * error, "{k}: {mean} {expected} {error}");
    }
}

/// A sample is one draw, and two are two. With five levels its temperature is several times lower than that of
/// splits, which is its purpose; with many records of many levels there would be too few points.
#[test]
fn joint_samples_are_charged_once() {
    let privacy = pure(2.0, Adjacency::ReplaceOne);
    let plan = JointSamplePlan::new(3, 0.1, 30, 2, &privacy).unwrap();
    let values = (0..30).flat_map(|k| one_hot(k % 3)).collect();
    let (samples, receipt) = plan
        .fit(
            Records::new(values, 3).unwrap(),
            NoiseSource::insecure_from_seed(1),
            &privacy,
            Box::new(Unlimited),
        )
        .unwrap();
    assert_eq!((samples.len(), receipt.groups[0].planned, receipt.groups[0].made), (2, 2, 2));
    assert!(samples.iter().all(|shares| shares.iter().all(|share| *share >= 0.1 * (1.0 - 1e-12))));
    let cost = plan.releases().unwrap().0.price(0.0).unwrap().epsilon.upper;
    assert!(cost <= 2.0 && cost > 1.999, "{cost}");
    // For each split log(1/a), twice, four of them; together log((1 - 4a)/a), twice.
    let joint = JointSamplePlan::new(5, 0.05, 100, 1, &privacy).unwrap();
    let splits = SamplePlan::new(5, (0.05, 0.95), 100, 1, &privacy).unwrap();
    let ratio = 4.0 * 20f64.ln() / 16f64.ln();
    assert!((splits.temperature() / joint.temperature() / ratio - 1.0).abs() < 1e-6);
    assert!(JointSamplePlan::new(20, 0.005, 1_000_000, 1, &pure(10.0, Adjacency::ReplaceOne)).is_err());
    assert!(JointSamplePlan::new(3, 0.34, 10, 1, &privacy).is_err());
    // With a delta, composition is cheaper for many samples.
    let approximate = Privacy::new(2.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let many = JointSamplePlan::new(3, 0.1, 50, 200, &approximate).unwrap();
    assert!(many.epsilon > 2.0 * 2.0 / 200.0, "{}", many.epsilon);
    assert!(many.releases().unwrap().0.price(1e-6).unwrap().epsilon.upper <= 2.0);
}
