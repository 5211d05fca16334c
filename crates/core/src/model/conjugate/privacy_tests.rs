//! Attacks on the claimed sensitivities.

use super::*;
use crate::budget::{Adjacency, Privacy, Unlimited};
use crate::family::{Beta, Gamma};
use crate::wall::{NoiseSource, Records, Wall};

fn pure(epsilon: f64, adjacency: Adjacency) -> Privacy {
    Privacy::new(epsilon, 0.0, adjacency).unwrap()
}

/// The clipped sums cannot be observed without noise, so the queries are evaluated one record at a time, without
/// noise: two records differ by at most the planned sensitivity, in both norms, and attain it.
#[test]
fn released_statistics_move_no_farther_than_planned() {
    let privacy = pure(1.0, Adjacency::ReplaceOne);
    let numbers: Vec<Vec<f64>> = (0..=200).map(|k| vec![f64::from(k) / 100.0 - 1.0]).collect();
    let counts: Vec<Vec<f64>> = (0..=9).map(|k| vec![f64::from(k)]).collect();
    let one_hot: Vec<Vec<f64>> = (0..6)
        .map(|k| (0..4).map(|j| f64::from(u8::from(j == k % 3 || (j == 3 && k > 2)))).collect())
        .collect();
    let prior = NormalPrior { mean: 0.0, strength: 1.0, shape: 1.0, scale: 1.0 };
    let gamma = Gamma { shape: 1.0, rate: 1.0 };
    let approximate = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    // The plans with their L1 and L2 sensitivities under replacement.
    let bernoulli = BernoulliPlan::new(1, Beta { a: 1.0, b: 1.0 }, 1, &privacy).unwrap();
    let mean = MeanPlan::new((-0.5, 1.0), 1.0, (0.0, 1.0), 1, &privacy).unwrap();
    let poisson = PoissonPlan::new(1, 5, gamma, 1, &privacy).unwrap();
    let laplace = NormalPlan::new(1, prior, 1, &privacy).unwrap();
    let gaussian = NormalPlan {
        statistics: laplace.statistics.clone(),
        ..NormalPlan::new(1, prior, 1, &approximate).unwrap()
    };
    let shares = CategoricalPlan::new(vec![3, 1], 1.0, 1, &privacy).unwrap();
    let bayes = NaiveBayesPlan::new(vec![3], 2, 1.0, 1, &privacy).unwrap();
    let gaussian = NormalPlan {
        statistics: crate::engine::conjugate::StatisticsPlan {
            laplace: false,
            ..gaussian.statistics.clone()
        },
        ..gaussian
    };
    let difference = |statistics: &crate::engine::conjugate::StatisticsPlan,
                      query: &dyn Fn(Wall, crate::wall::SumId) -> Vec<f64>,
                      rows: &[Vec<f64>]| {
        let sums: Vec<Vec<f64>> = rows
            .iter()
            .map(|row| {
                let (plan, id) = statistics.releases().unwrap();
                let records = Records::new(row.clone(), row.len()).unwrap();
                let source = NoiseSource::insecure_from_seed(1);
                query(Wall::without_privacy(records, source, plan, Box::new(Unlimited)).unwrap(), id)
            })
            .collect();
        let mut farthest = (0.0_f64, 0.0_f64);
        for a in &sums {
            for b in &sums {
                let gaps = || a.iter().zip(b).map(|(a, b)| (a - b).abs());
                farthest =
                    (farthest.0.max(gaps().sum()), farthest.1.max(gaps().map(|x| x * x).sum::<f64>().sqrt()));
            }
        }
        farthest
    };
    let root = f64::sqrt;
    let found = [
        (
            "bernoulli",
            difference(
                &bernoulli.statistics,
                &|mut w, id| w.sum(id, &bernoulli.query()).unwrap().values,
                &numbers,
            ),
            (1.0, 1.0),
        ),
        (
            "mean",
            difference(&mean.statistics, &|mut w, id| w.sum(id, &mean.query()).unwrap().values, &numbers),
            (1.5, 1.5),
        ),
        (
            "poisson",
            difference(
                &poisson.statistics,
                &|mut w, id| w.sum(id, &poisson.query()).unwrap().values,
                &counts,
            ),
            (5.0, 5.0),
        ),
        (
            "normal, L1",
            difference(
                &laplace.statistics,
                &|mut w, id| w.sum(id, &laplace.query()).unwrap().values,
                &numbers,
            ),
            (2.25, 2.0),
        ),
        (
            "normal, L2",
            difference(
                &gaussian.statistics,
                &|mut w, id| w.sum(id, &gaussian.query()).unwrap().values,
                &numbers,
            ),
            (2.25, 2.0),
        ),
        (
            "shares",
            difference(&shares.statistics, &|mut w, id| w.sum(id, &shares.query()).unwrap().values, &one_hot),
            (4.0, 2.0),
        ),
        (
            "naive Bayes",
            difference(&bayes.statistics, &|mut w, id| w.sum(id, &bayes.query()).unwrap().values, &one_hot),
            (2.0, root(2.0)),
        ),
    ];
    for (name, (l1, l2), (planned_l1, planned_l2)) in found {
        assert!(l1 <= planned_l1 * (1.0 + 1e-12) && l1 > 0.999 * planned_l1, "{name}: {l1} {planned_l1}");
        assert!(l2 <= planned_l2 * (1.0 + 1e-12) && l2 > 0.999 * planned_l2, "{name}: {l2} {planned_l2}");
    }
    // The radius of the plans' domains is half of it, over the root of two if nothing is negative.
    for (statistics, l1, l2) in [
        (&bernoulli.statistics, 1.0, 1.0),
        (&poisson.statistics, 5.0, 5.0),
        (&laplace.statistics, 2.25, 2.0),
        (&shares.statistics, 4.0, 2.0),
    ] {
        assert!((2.0 * statistics.sensitivity.l1 - l1).abs() < 1e-12);
        let apart = if statistics.sensitivity.non_negative { 2f64.sqrt() } else { 2.0 };
        assert!((apart * statistics.sensitivity.l2 - l2).abs() < 1e-12);
    }
}

/// With an epsilon of a millionth the posterior is the prior: all ones and all zeros give the same.
#[test]
fn huge_noise_leaves_the_prior() {
    let privacy = pure(1e-6, Adjacency::ReplaceOne);
    let prior = Beta { a: 2.0, b: 3.0 };
    for value in [0.0, 1.0] {
        let n = 100;
        let records = || Records::new(vec![value; n], 1).unwrap();
        let source = || NoiseSource::insecure_from_seed(7);
        let plan = BernoulliPlan::new(1, prior, n, &privacy).unwrap();
        let (rates, _) = plan.fit(records(), source(), Some(&privacy), Box::new(Unlimited)).unwrap();
        assert!((rates[0].mean() - 0.4).abs() < 1e-3, "{}", rates[0].mean());
        assert!((rates[0].variance() / prior.variance() - 1.0).abs() < 1e-2);
        let plan = MeanPlan::new((0.0, 1.0), 0.5, (0.3, 0.2), n, &privacy).unwrap();
        let (mean, _) = plan.fit(records(), source(), Some(&privacy), Box::new(Unlimited)).unwrap();
        assert!((mean.mean() - 0.3).abs() < 1e-3 && (mean.variance().sqrt() - 0.2).abs() < 1e-3);
        let plan = CategoricalPlan::new(vec![1], 1.0, n, &privacy).unwrap();
        let (shares, _) = plan.fit(records(), source(), Some(&privacy), Box::new(Unlimited)).unwrap();
        // A thousand dependent draws of a uniform law.
        assert!((shares[0].mean[0] - 0.5).abs() < 0.1, "{:?}", shares[0].mean);
        let plan = NaiveBayesPlan::new(vec![1], 2, 1.0, 50, &privacy).unwrap();
        let pairs = Records::new(vec![value; n], 2).unwrap();
        let (posterior, _) = plan.fit(pairs, source(), Some(&privacy), Box::new(Unlimited)).unwrap();
        let (probability, ..) = posterior.predict(&[value]);
        assert!((0.05..0.95).contains(&probability), "{probability}");
    }
}

/// Plans cost their budget, and not much less.
#[test]
fn plans_cost_nearly_their_budget() {
    for adjacency in [Adjacency::ReplaceOne, Adjacency::AddRemove] {
        for epsilon in [0.1, 1.0, 8.0] {
            let privacy = Privacy::new(epsilon, 1e-6, adjacency).unwrap();
            let plan = CategoricalPlan::new(vec![4, 1, 9], 1.0, 1000, &privacy).unwrap();
            let (planned, _) = plan.statistics.releases().unwrap();
            let cost = planned.price(1e-6).unwrap().epsilon.upper;
            assert!(cost <= epsilon && cost > 0.95 * epsilon, "{adjacency} {epsilon}: {cost}");
        }
    }
    let privacy = pure(1.0, Adjacency::AddRemove);
    assert!(BernoulliPlan::new(1, Beta { a: 1.0, b: 1.0 }, 10, &privacy).is_err());
}

/// All data sets of three records on a tiny domain, and released values on a grid: the largest log probability ratio of the Laplace
/// mechanism over neighbours is at most epsilon, and at least 0.95 of it. The noise distribution is that stated by
/// the plan.
#[test]
fn probability_ratios_of_laplace_releases_are_at_most_epsilon() {
    let epsilon = 0.7;
    let privacy = pure(epsilon, Adjacency::ReplaceOne);
    let normal =
        NormalPlan::new(1, NormalPrior { mean: 0.0, strength: 1.0, shape: 1.0, scale: 1.0 }, 3, &privacy)
            .unwrap();
    let shares = CategoricalPlan::new(vec![3], 1.0, 3, &privacy).unwrap();
    let bernoulli = BernoulliPlan::new(1, Beta { a: 1.0, b: 1.0 }, 3, &privacy).unwrap();
    let numbers: Vec<Vec<f64>> = [-1.0, -0.5, 0.0, 0.5, 1.0].iter().map(|&x| vec![x]).collect();
    let levels: Vec<Vec<f64>> =
        (0..3).map(|k| (0..3).map(|j| f64::from(u8::from(j == k))).collect()).collect();
    check(&normal.statistics, &normal.query(), &numbers, epsilon);
    check(&shares.statistics, &shares.query(), &levels, epsilon);
    check(&bernoulli.statistics, &bernoulli.query(), &[vec![0.0], vec![1.0]], epsilon);
}

fn check(
    statistics: &crate::engine::conjugate::StatisticsPlan,
    query: &impl crate::wall::Query,
    rows: &[Vec<f64>],
    epsilon: f64,
) {
    let noise = crate::engine::conjugate::NoiseDistribution::of(true, statistics.expected_noise);
    let width = statistics.width;
    let mut sums = Vec::new();
    for first in rows {
        for second in rows {
            for third in rows {
                let mut sum = vec![0.0; width];
                for row in [first, second, third] {
                    let out = crate::engine::conjugate::contribution(query, row);
                    sum.iter_mut().zip(out).for_each(|(sum, x)| *sum += x);
                }
                sums.push(([first, second, third], sum));
            }
        }
    }
    let mut widest = 0.0_f64;
    let released: Vec<f64> = (-6..=6).map(f64::from).collect();
    for (a, sum) in &sums {
        for (b, other) in &sums {
            if a.iter().zip(b).filter(|(x, y)| x != y).count() != 1 {
                continue;
            }
            // Coordinates are independent, so the largest ratio of all is the sum of the largest of each.
            let largest = |(&x, &y): (&f64, &f64)| {
                released
                    .iter()
                    .map(|r| (noise.log_density(r - x) - noise.log_density(r - y)).abs())
                    .fold(0.0, f64::max)
            };
            widest = widest.max(sum.iter().zip(other).map(largest).sum());
        }
    }
    assert!(widest <= epsilon * (1.0 + 1e-9) && widest >= 0.95 * epsilon, "{}: {widest}", statistics.what);
}
