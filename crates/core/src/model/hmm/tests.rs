use super::chain::Transitions;
use super::query::event_counts;
use super::*;
use crate::budget::{Adjacency, Privacy, Unlimited};
use crate::engine::conjugate::contribution;
use crate::model::{DefinitionError, FitError};
use crate::wall::{NoiseSource, Records};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use reticent_accounting::gaussian;

/// Columns of single numbers: region, step, then fields.
fn coding(regions: usize, steps: usize, fields: &[usize]) -> Coding {
    let levels = [regions, steps].into_iter().chain(fields.iter().copied());
    Coding { columns: levels.map(|levels| Coded { inputs: 1, levels }).collect(), region: 0, time: 1 }
}

/// A level as a single number.
fn number(level: usize, levels: usize) -> f64 {
    if levels == 1 { 0.0 } else { 2.0 * level as f64 / (levels - 1) as f64 - 1.0 }
}

/// All possible records.
fn all_records(coding: &Coding) -> Vec<Vec<f64>> {
    coding.columns.iter().fold(vec![Vec::new()], |rows, column| {
        let with = |row: &Vec<f64>, level| [row.clone(), vec![number(level, column.levels)]].concat();
        rows.iter().flat_map(|row| (0..column.levels).map(move |level| with(row, level))).collect()
    })
}

fn privacy(epsilon: f64, adjacency: Adjacency) -> Privacy {
    Privacy::new(epsilon, 1e-6, adjacency).unwrap()
}

/// Largest distances of the counts of two neighbours, in L1 and L2: with one event added, and with one replaced.
fn largest_moves(coding: &Coding) -> [(f64, f64); 2] {
    let layout = coding.layout().unwrap();
    let query = event_counts(&layout, coding);
    let all: Vec<Vec<f64>> = all_records(coding).iter().map(|row| contribution(&query, row)).collect();
    let norms =
        |x: Vec<f64>| (x.iter().map(|x| x.abs()).sum::<f64>(), x.iter().map(|x| x * x).sum::<f64>().sqrt());
    let larger = |a: (f64, f64), b: (f64, f64)| (a.0.max(b.0), a.1.max(b.1));
    let one = all.iter().map(|x| norms(x.clone())).fold((0.0, 0.0), larger);
    let pairs = all.iter().flat_map(|x| all.iter().map(move |y| (x, y)));
    let differences = pairs.map(|(x, y)| norms(x.iter().zip(y).map(|(x, y)| x - y).collect()));
    [one, differences.fold((0.0, 0.0), larger)]
}

/// With three fields: 3 and its root, 6 and its root, also for events that move to another cell.
#[test]
fn an_event_moves_as_many_counts_as_there_are_fields() {
    let [one, two] = largest_moves(&coding(2, 3, &[2, 3, 2]));
    assert_eq!(one, (3.0, 3f64.sqrt()));
    assert_eq!(two, (6.0, 6f64.sqrt()));
}

/// The noise of the wall, against the sensitivity of an event by enumeration. The largest log probability ratio of
/// Laplace noise is the sensitivity over its scale.
#[test]
fn the_release_never_exceeds_its_epsilon() {
    let coding = coding(2, 3, &[2, 3, 2]);
    let moves = largest_moves(&coding);
    for (adjacency, (l1, l2)) in [Adjacency::AddRemove, Adjacency::ReplaceOne].into_iter().zip(moves) {
        for epsilon in [0.1, 1.0, 10.0] {
            for mechanism in [Mechanism::Laplace, Mechanism::Gaussian] {
                let privacy = privacy(epsilon, adjacency);
                let plan =
                    HmmPlan::new(coding.clone(), 2, 1, &privacy).unwrap().with(mechanism, &privacy).unwrap();
                let records = Records::new(all_records(&coding).swap_remove(0), 5).unwrap();
                let source = NoiseSource::from_os().unwrap();
                let (counts, receipt) =
                    plan.counts(records, source, Some(&privacy), Box::new(Unlimited)).unwrap();
                let sd = counts.noise().unwrap().sd();
                let (charged, real) = (
                    receipt.guarantee.cost().unwrap().epsilon.upper,
                    match mechanism {
                        Mechanism::Laplace => l1 * 2f64.sqrt() / sd,
                        Mechanism::Gaussian => gaussian::epsilon(sd / l2, 1e-6).unwrap(),
                    },
                );
                assert!(real <= charged && charged <= epsilon, "{mechanism:?} {real} {charged} {epsilon}");
                assert!(real > 0.95 * epsilon, "{mechanism:?} {real} {epsilon}");
            }
        }
    }
}

/// C11 of the errata: with five fields and replace-one adjacency Laplace noise is smaller than Gaussian at an epsilon
/// of 5, and larger at 1; the standard deviations are 2.83 and 3.10, 14.1 and 13.4.
#[test]
fn the_planner_takes_the_smaller_noise() {
    for (epsilon, mechanism, laplace, gaussian) in
        [(5.0, Mechanism::Laplace, 2.83, 3.10), (1.0, Mechanism::Gaussian, 14.14, 13.4)]
    {
        let privacy = privacy(epsilon, Adjacency::ReplaceOne);
        let plan = HmmPlan::new(coding(2, 2, &[2; 5]), 2, 1000, &privacy).unwrap();
        assert_eq!(plan.mechanism, mechanism);
        assert!((plan.expected_sd.0 / laplace - 1.0).abs() < 0.005, "{:?}", plan.expected_sd);
        assert!((plan.expected_sd.1.unwrap() / gaussian - 1.0).abs() < 0.005, "{:?}", plan.expected_sd);
        assert!(plan.price().unwrap().epsilon.upper <= epsilon);
    }
    let pure = Privacy::new(0.01, 0.0, Adjacency::AddRemove).unwrap();
    let plan = HmmPlan::new(coding(2, 2, &[2; 5]), 2, 1000, &pure).unwrap();
    assert_eq!((plan.mechanism, plan.expected_sd.1), (Mechanism::Laplace, None));
}

#[test]
fn records_are_assigned_to_cells() {
    let levels = |levels| Coded { inputs: levels, levels };
    let columns = vec![levels(2), Coded { inputs: 1, levels: 36 }, levels(3), Coded { inputs: 1, levels: 2 }];
    let coding = Coding { columns, region: 2, time: 1 };
    let layout = coding.layout().unwrap();
    assert_eq!(layout, Layout { regions: 3, steps: 36, fields: vec![2, 2] });
    let record = [0.0, 1.0, number(35, 36), 0.0, 1.0, 0.0, -1.0];
    assert_eq!(coding.cell(&layout, &record), Some(layout.cell(1, 35)));
    assert_eq!(coding.event(&record).collect::<Vec<_>>(), [Some(1), Some(0)]);
    // No level of the region, and a row that is too short.
    let nowhere = [0.0, 1.0, 1.0, 0.0, 0.0, 0.0, -1.0];
    assert_eq!(coding.cell(&layout, &nowhere), None);
    assert_eq!(coding.event(&record[..4]).collect::<Vec<_>>(), [Some(1), None]);
    assert!(matches!(
        Coding { region: 1, ..coding }.layout(),
        Err(FitError::Definition(DefinitionError::HmmLayout))
    ));
}

/// Events of cells that alternate between two states every ten steps.
fn events(regions: usize, steps: usize, per_cell: usize, seed: u64) -> (Coding, Vec<f64>, Vec<usize>) {
    let fields = [3, 2, 4];
    let coding = coding(regions, steps, &fields);
    let probabilities =
        [[0.7, 0.2, 0.1, 0.8, 0.2, 0.4, 0.3, 0.2, 0.1], [0.3, 0.3, 0.4, 0.4, 0.6, 0.1, 0.2, 0.3, 0.4]];
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut rows, mut states) = (Vec::new(), Vec::new());
    for region in 0..regions {
        for step in 0..steps {
            let state = (step / 10 + region) % 2;
            states.push(state);
            for _ in 0..per_cell {
                rows.extend([number(region, regions), number(step, steps)]);
                let mut distribution = &probabilities[state][..];
                for levels in fields {
                    let (mut left, shares) = (rng.random::<f64>(), &distribution[..levels]);
                    let level = shares.iter().position(|share| {
                        left -= share;
                        left < 0.0
                    });
                    rows.push(number(level.unwrap_or(levels - 1), levels));
                    distribution = &distribution[levels..];
                }
            }
        }
    }
    (coding, rows, states)
}

/// Noise of standard deviation 4 in counts of 100 events a cell: each cell then identifies its state.
#[test]
fn states_are_found_through_the_wall() {
    let (coding, rows, states) = events(4, 30, 100, 1);
    let privacy = privacy(1.0, Adjacency::AddRemove);
    let width = coding.width();
    let plan = HmmPlan::new(coding, 2, 12_000, &privacy).unwrap();
    let records = Records::new(rows, width).unwrap();
    let (posterior, receipt) =
        plan.fit(records, NoiseSource::from_os().unwrap(), Some(&privacy), Box::new(Unlimited)).unwrap();
    assert!(receipt.guarantee.cost().unwrap().epsilon.upper <= 1.0);
    assert_eq!((receipt.groups.len(), receipt.groups[0].made), (1, 1));
    let same = posterior.assignments.iter().zip(&states).filter(|(a, b)| a == b).count();
    assert!(same.max(120 - same) >= 114, "{same}");
    for profile in posterior.profiles.chunks(9) {
        assert!((profile.iter().sum::<f64>() - 3.0).abs() < 1e-6);
    }
    let (log, states) = posterior.predict(0, &[Some(0), None, Some(3)]);
    assert!(log < 0.0 && (states.iter().sum::<f64>() - 1.0).abs() < 1e-12);
}

/// Two data sets without a cell in common give the same result with the same noise, if it is a million times the
/// sensitivity.
#[test]
fn huge_noise_destroys_the_states() {
    let fit = |seed: u64, flip: bool| {
        let (coding, mut rows, _) = events(2, 20, 20, seed);
        if flip {
            rows.iter_mut().for_each(|x| *x = -*x);
        }
        let privacy = privacy(1e-6, Adjacency::AddRemove);
        let width = coding.width();
        let plan = HmmPlan::new(coding, 2, 800, &privacy).unwrap();
        assert!(plan.noise_multiplier > 2e5);
        let source = NoiseSource::insecure_from_seed(7);
        let records = Records::new(rows, width).unwrap();
        plan.fit(records, source, Some(&privacy), Box::new(Unlimited)).unwrap().0
    };
    let (a, b) = (fit(1, false), fit(2, true));
    for (a, b) in a.profiles.iter().zip(&b.profiles) {
        assert!((a - b).abs() < 1e-2, "{a} {b}");
    }
}

/// The states of cells with known category probabilities, from 40 events with noise of scale 6: by the log score of
/// the true state, the noise-aware likelihood is better. In the mean of 300 cells its gain is many standard errors.
#[test]
fn noise_aware_states_are_better_than_naive_ones() {
    let (coding, rows, states) = events(10, 30, 40, 3);
    let layout = coding.layout().unwrap();
    let query = event_counts(&layout, &coding);
    let mut values = vec![0.0; layout.width()];
    for row in rows.chunks(coding.width()) {
        values.iter_mut().zip(contribution(&query, row)).for_each(|(sum, x)| *sum += x);
    }
    let (mut rng, scale) = (ChaCha8Rng::seed_from_u64(4), 6.0);
    for value in &mut values {
        let sign = if rng.random::<bool>() { 1.0 } else { -1.0 };
        *value -= sign * scale * (1.0 - rng.random::<f64>()).ln();
    }
    let model = Hmm::new(layout.clone(), 2).unwrap();
    let counts = Counts::new(&layout, values, Some(Noise::Laplace { scale })).unwrap();
    let probabilities =
        [0.7, 0.2, 0.1, 0.8, 0.2, 0.4, 0.3, 0.2, 0.1, 0.3, 0.3, 0.4, 0.4, 0.6, 0.1, 0.2, 0.3, 0.4];
    let score = |posterior: NoiseTreatment| {
        let evidence = Evidence::new(&model, &counts, posterior).unwrap();
        let (mut prepared, mut logs) = (vec![0.0; 18], [0.0; 2]);
        evidence.prepare(&probabilities, &mut prepared);
        let scores = states.iter().enumerate().map(|(cell, &state)| {
            evidence.log_likelihood(cell, &prepared, &mut logs);
            -(logs[1 - state] - logs[state]).exp().ln_1p()
        });
        scores.sum::<f64>() / 300.0
    };
    let (aware, naive) = (score(NoiseTreatment::NoiseAware), score(NoiseTreatment::Naive));
    assert!(aware > naive, "{aware} {naive}");
    assert!(aware > -(2f64.ln()), "better than no data: {aware}");
}

/// The mean over draws of one state's law of the probability of other events is that of a Dirichlet-multinomial:
/// $\prod_d B(\beta + n + m)/B(\beta + n)$. Its standard error over 20,000 draws is below 1 %.
#[test]
fn held_out_events_of_one_state_have_their_closed_form() {
    let layout = Layout { regions: 1, steps: 2, fields: vec![3, 2] };
    let values = vec![5.0, 3.0, 1.0, 4.0, 5.0, 2.0, 0.0, 1.0, 1.0, 2.0];
    let truth = Counts::new(&layout, values.clone(), None).unwrap();
    let model = Hmm::new(layout.clone(), 1).unwrap();
    let counts = truth.clone().only(vec![true, false]).unwrap();
    let evidence = Evidence::new(&model, &counts, NoiseTreatment::Naive).unwrap();
    let sampling = Sampling { chains: 1, iterations: 20_000, burn_in: 0, seed: 3 };
    let found = sampling.held_out(&evidence, HeldOut::new(&truth, counts.observed())).log_likelihood();
    let log_beta = |a: &[f64]| a.iter().map(|x| libm::lgamma(*x)).sum::<f64>() - libm::lgamma(a.iter().sum());
    let exact: f64 = layout
        .field_ranges()
        .map(|range| {
            let before: Vec<f64> = range.clone().map(|j| 1.0 + values[j]).collect();
            let after: Vec<f64> = range.map(|j| 1.0 + values[j] + values[5 + j]).collect();
            log_beta(&after) - log_beta(&before)
        })
        .sum();
    assert!((found - exact).abs() < 0.03, "{found} {exact}");
}

/// Transitions alone, without data: the joint distribution of the states of a short chain is that of the Polya urns.
#[test]
fn states_without_data_follow_the_prior() {
    let layout = Layout { regions: 1, steps: 3, fields: vec![2] };
    let model = Hmm::new(layout.clone(), 2).unwrap();
    let counts = Counts::new(&layout, vec![0.0; 6], None).unwrap().only(vec![false; 3]).unwrap();
    let evidence = Evidence::new(&model, &counts, NoiseTreatment::Naive).unwrap();
    let mut gibbs = Gibbs::new(&evidence, 1);
    let (mut same, draws) = (0.0, 40_000);
    for _ in 0..draws {
        gibbs.step();
        let z = gibbs.assignments();
        same += f64::from(u8::from(z[0] == z[1] && z[1] == z[2]));
    }
    // All three alike: 1/2 for the second to be as the first, and then (1 + 1)/(1 + 2) for the third.
    let share = same / f64::from(draws);
    assert!((share - 1.0 / 3.0).abs() < 0.02, "{share}");
    let transitions = Transitions::of(2, 1.0, 3, &[0, 0, 0]);
    let mut weights = [0.0; 2];
    transitions.weights(transitions.between(&[0, 0, 0], 3, 0), &mut weights);
    assert!(weights[0] > weights[1]);
}

#[test]
fn what_is_no_model_is_refused() {
    let layout = Layout { regions: 2, steps: 3, fields: vec![2] };
    assert!(matches!(Hmm::new(layout.clone(), 0), Err(FitError::Definition(DefinitionError::HmmNumbers))));
    assert!(matches!(
        Hmm::new(Layout { fields: vec![], ..layout }, 2),
        Err(FitError::Definition(DefinitionError::HmmLayout))
    ));
    assert!(matches!(
        Counts::new(&layout, vec![0.0; 11], None),
        Err(FitError::Definition(DefinitionError::HmmCounts))
    ));
    let counts = Counts::new(&layout, vec![0.0; 12], None).unwrap();
    assert!(matches!(counts.clone().only(vec![true]), Err(FitError::Definition(DefinitionError::HmmCounts))));
    let other = Hmm::new(Layout { steps: 4, ..layout }, 2).unwrap();
    assert!(matches!(
        Evidence::new(&other, &counts, NoiseTreatment::Naive),
        Err(FitError::Definition(DefinitionError::HmmCounts))
    ));
}
