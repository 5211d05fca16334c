//! Errors and coverage of private fits on simulated records.

use super::*;
use crate::budget::{Adjacency, Privacy, Unlimited};
use crate::math::normal;
use crate::math::vector::{dot, sigmoid};
use crate::wall::{NoiseSource, Records};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// Numbers that are uniform between their bounds and correlated, classes by weights for a standard deviation of scores, and the weights.
fn records(
    count: usize,
    inputs: usize,
    score_sd: f64,
    correlation: f64,
    rng: &mut ChaCha8Rng,
) -> (Vec<f64>, Vec<f64>) {
    let mut weights: Vec<f64> = (0..inputs).map(|_| StandardNormal.sample(rng)).collect();
    let (sum, square) = (weights.iter().sum::<f64>(), dot(&weights, &weights));
    let variance = ((1.0 - correlation) * square + correlation * sum * sum) / 3.0;
    weights.iter_mut().for_each(|w| *w *= score_sd / variance.sqrt());
    let mut values = Vec::with_capacity((inputs + 1) * count);
    for _ in 0..count {
        let mut draw = || -> f64 { StandardNormal.sample(rng) };
        let shared = correlation.sqrt() * draw();
        let x: Vec<f64> = (0..inputs)
            .map(|_| 2.0 * normal::cdf(shared + (1.0 - correlation).sqrt() * draw()) - 1.0)
            .collect();
        let class = if rng.random::<f64>() < sigmoid(dot(&x, &weights)) { 1.0 } else { -1.0 };
        values.extend(x);
        values.push(class);
    }
    weights.push(0.0);
    (values, weights)
}

/// What private fits of simulated records find.
#[derive(Default)]
struct Cell {
    /// The share of weights within their intervals of 95 %.
    covered: f64,
    /// The mean standard deviation, and the root mean square error.
    sd: f64,
    error: f64,
    /// The root mean square difference from the fit without privacy, in standard errors of that.
    gap: f64,
}

fn cell(plan: &LogisticPlan, privacy: &Privacy, score_sd: f64, correlation: f64, sets: u64) -> Cell {
    let (n, inputs) = (plan.size(), plan.size() - 1);
    let open = LogisticPlan::new(&plan.columns, plan.records, 10.0, None).unwrap();
    let mut found = Cell::default();
    let all = (inputs as u64 * sets) as f64;
    for set in 0..sets {
        let mut rng = ChaCha8Rng::seed_from_u64(100 + set);
        let (values, weights) = records(plan.records, inputs, score_sd, correlation, &mut rng);
        let public = Records::new(values.clone(), n).unwrap();
        let exact = open.fit_openly(public, NoiseSource::insecure_from_seed(set)).unwrap().moments;
        let (records, source) = (Records::new(values, n).unwrap(), NoiseSource::from_os().unwrap());
        let moments = plan.fit(records, source, Some(privacy), Box::new(Unlimited)).unwrap().0.moments;
        // A fit that is improper under the noise returns the prior, which has a diagonal.
        let full = moments.covariance.len() > n;
        for (k, weight) in weights.iter().enumerate().take(inputs) {
            let sd = moments.covariance[if full { (n + 1) * k } else { k }].sqrt();
            let (off, gap) = (moments.mean[k] - weight, moments.mean[k] - exact.mean[k]);
            found.covered += f64::from(u8::from(off.abs() < 1.96 * sd)) / all;
            found.sd += sd / all;
            found.error += off * off / all;
            found.gap += gap * gap / exact.covariance[(n + 1) * k] / all;
        }
    }
    Cell { error: found.error.sqrt(), gap: found.gap.sqrt(), ..found }
}

fn planned(count: usize, inputs: usize, epsilon: f64) -> (LogisticPlan, Privacy) {
    let privacy = Privacy::new(epsilon, 1e-5, Adjacency::ReplaceOne).unwrap();
    (LogisticPlan::new(&vec![1; inputs], count, 10.0, Some(&privacy)).unwrap(), privacy)
}

/// Data sets of each cell of a table.
fn sets() -> u64 {
    std::env::var("RETICENT_SETS").ok().and_then(|sets| sets.parse().ok()).unwrap_or(100)
}

/// Numbers of an environment variable, to print a part of a table.
fn part(name: &str, all: &[f64]) -> Vec<f64> {
    let part = std::env::var(name).ok();
    part.map_or_else(|| all.to_vec(), |part| part.split(',').map(|x| x.parse().unwrap()).collect())
}

/// Prints the coverage in all cells, of 100 data sets each.
#[test]
#[ignore = "takes many minutes: prints the table of the documentation"]
#[allow(clippy::print_stdout, reason = "the table is the result")]
fn table_of_logistic_coverage() {
    for inputs in part("RETICENT_INPUTS", &[5.0, 12.0]) {
        for (score_sd, correlation) in
            [(1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (1.0, 0.8), (2.0, 0.8), (3.0, 0.8)]
        {
            for count in part("RETICENT_RECORDS", &[1000.0, 3000.0, 10_000.0]) {
                let cell = |epsilon| {
                    let (plan, privacy) = planned(count as usize, inputs as usize, epsilon);
                    let cell = cell(&plan, &privacy, score_sd, correlation, sets());
                    format!("{:.3} (sd {:.3}, error {:.3})", cell.covered, cell.sd, cell.error)
                };
                let cells = [0.3, 1.0, 8.0].map(cell).join("  ");
                println!(
                    "{inputs:2} inputs, score sd {score_sd}, correlation {correlation}, {count:5} records: {cells}"
                );
            }
        }
    }
}

/// Prints errors for growing budgets, beside those with the typical length of inputs and residuals up to a half, and the distance from the fit without
/// privacy.
#[test]
#[ignore = "takes minutes: prints how private fits tend to the one without privacy"]
#[allow(clippy::print_stdout, reason = "the table is the result")]
fn table_of_logistic_errors() {
    for score_sd in [1.0, 3.0] {
        for count in part("RETICENT_RECORDS", &[1000.0, 10_000.0, 50_000.0]) {
            for epsilon in [0.1, 1.0, 8.0, 50.0] {
                let (plan, privacy) = planned(count as usize, 5, epsilon);
                let typical = LogisticPlan { radius: 3.5f64.sqrt(), residual_bound: 0.5, ..plan.clone() };
                let [new, old] = [&plan, &typical].map(|plan| cell(plan, &privacy, score_sd, 0.3, sets()));
                println!(
                    "score sd {score_sd}, {count:5} records, epsilon {epsilon}: radius {:.2}, bound {:.2}, error {:.4} ({:.4}), from the exact fit {:.3} ({:.3}) standard errors, covered {:.3}",
                    plan.radius, plan.residual_bound, new.error, old.error, new.gap, old.gap, new.covered
                );
            }
        }
    }
}

/// Intervals of 95 % hold the weights in cells that were hard: strong and correlated weights, of which noise hides most. Each has 40 data sets of 5
/// weights, whose errors share their noise: with an effective number of data sets of 80, the standard error of the share is 0.024 at a coverage
/// of 0.95, so that 0.85 is four of them below.
#[test]
fn intervals_of_correlated_strong_weights_cover() {
    for (count, epsilon) in [(1000, 1.0), (3000, 1.0), (3000, 8.0)] {
        let (plan, privacy) = planned(count, 5, epsilon);
        let Cell { covered, sd, error, .. } = cell(&plan, &privacy, 3.0, 0.8, 40);
        assert!(covered >= 0.85, "{covered} with {count} records, epsilon {epsilon}: sd {sd}, error {error}");
    }
}

/// The private fit tends to the one without privacy: at a budget at which noise is negligible it is within a fifth of a standard error of it.
#[test]
fn with_a_large_budget_the_fit_is_the_one_without_privacy() {
    let (plan, privacy) = planned(20_000, 5, 50.0);
    let noise = plan.sums()[3].noise_multiplier / (plan.rounds[1].steps as f64).sqrt();
    let gap = cell(&plan, &privacy, 1.0, 0.3, 5).gap;
    assert!(gap < 0.2, "{gap} with noise {noise}");
}

/// The share of weights within their intervals of 95 % if persons are protected, and if rows are. Persons have one to eight rows; all inputs are the
/// same in each, and so is, with a probability, what decides the class beside its probability.
fn coverage_of_persons(persons: usize, epsilon: f64, alike: f64, sets: u64) -> [f64; 2] {
    let mut covered = [0.0; 2];
    for set in 0..sets {
        let mut rng = ChaCha8Rng::seed_from_u64(900 + set);
        let (one_each, weights) = records(persons, 3, 1.5, 0.3, &mut rng);
        let (mut values, mut rows) = (Vec::new(), Vec::new());
        for (person, one) in one_each.chunks_exact(4).enumerate() {
            let (x, own): (&[f64], f64) = (&one[..3], rng.random());
            rows.push(1 + person % 8);
            for _ in 0..1 + person % 8 {
                let chance = if rng.random::<f64>() < alike { own } else { rng.random() };
                values.extend_from_slice(x);
                values.push(if chance < sigmoid(dot(x, &weights)) { 1.0 } else { -1.0 });
            }
        }
        let by_rows = Records::new(values.clone(), 4).unwrap();
        let by_person = Records::of_units(values, 4, &rows).unwrap();
        let all = rows.iter().sum();
        for (covered, (count, records)) in covered.iter_mut().zip([(persons, by_person), (all, by_rows)]) {
            let (plan, privacy) = planned(count, 3, epsilon);
            let source = NoiseSource::from_os().unwrap();
            let found = plan.fit(records, source, Some(&privacy), Box::new(Unlimited)).unwrap().0.moments;
            for (k, weight) in weights.iter().enumerate().take(3) {
                let sd = found.covariance[if found.covariance.len() > 4 { 5 * k } else { k }].sqrt();
                *covered +=
                    f64::from(u8::from((found.mean[k] - weight).abs() < 1.96 * sd)) / (3 * sets) as f64;
            }
        }
    }
    covered
}

/// Of 180 weights (60 data sets of 3), by persons at least 0.87 and by rows, if these are alike, at most 0.90: five and three standard errors of 0.0162 from 0.95.
#[test]
fn intervals_by_persons_cover_and_those_by_rows_do_not() {
    for alike in [0.0, 0.8] {
        let [by_person, by_rows] = coverage_of_persons(3000, 8.0, alike, 60);
        assert!(by_person >= 0.87, "{alike}: {by_person}");
        assert!(alike == 0.0 || by_rows <= 0.90, "{alike}: {by_rows}");
    }
}

/// Prints the coverage by persons and by rows.
#[test]
#[ignore = "takes minutes: prints the table of the documentation"]
#[allow(clippy::print_stdout, reason = "the table is the result")]
fn table_of_logistic_coverage_by_persons() {
    for persons in [500, 2000, 8000] {
        for alike in [0.0, 0.4, 0.8] {
            let cells = [1.0, 8.0].map(|epsilon| {
                let [by_person, by_rows] = coverage_of_persons(persons, epsilon, alike, sets());
                format!("epsilon {epsilon}: {by_person:.3} by persons, {by_rows:.3} by rows")
            });
            println!("{persons:5} persons, rows alike with probability {alike}: {}", cells.join("; "));
        }
    }
}
