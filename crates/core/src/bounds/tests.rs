use super::*;
use crate::budget::Unlimited;
use crate::wall::{NoiseSource, Records};
use reticent_accounting::{Event, Sampling};

const RECORDS: usize = 20_000;

fn grid(low: f64, high: f64) -> Grid {
    Grid::new(low, high).unwrap()
}

#[test]
fn grids_are_ordered_and_span_the_range() {
    for (low, high) in [(0.0, 1e7), (-5.0, 1e9), (1900.0, 2100.0), (-3.0, 0.0), (-9.0, -2.0), (-1e300, 1e300)]
    {
        let grid = grid(low, high);
        assert_eq!(grid.cuts.len(), CELLS + 1);
        assert!(grid.cuts.is_sorted());
        assert_eq!((grid.cuts[0], grid.cuts[CELLS]), (low, high));
    }
    for (low, high) in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (-1e308, 1e308)] {
        assert!(Grid::new(low, high).is_err());
    }
    // A range from 0 has all geometric cuts on one side: 8 per octave, over 32 octaves.
    let cuts = grid(0.0, 1e7).cuts;
    assert!(cuts.windows(2).filter(|pair| pair[0] > 1e-6).all(|pair| pair[1] / pair[0] < 1.1));
}

/// Every record and every state of a search over a small grid: no two records differ by more than one unit in any
/// count.
#[test]
fn a_record_moves_each_count_by_at_most_one() {
    let grids = [grid(0.0, 4.0), grid(-1.0, 1.0)];
    let values = [f64::MIN, -1.0, -0.5, 0.0, 1e-30, 0.5, 1.0, 3.9, 4.0, f64::MAX];
    for step in 1..=STEPS {
        let half = CELLS >> step;
        for cell in (0..CELLS).step_by(2 * half) {
            let query = Below { grids: &grids, cells: &[[cell, 0], [0, cell]], half };
            for a in values {
                for b in values {
                    let mut out = [0.0; 4];
                    query.contribute(&[a, b], &mut out);
                    assert!(out.iter().all(|&x| x == 0.0 || x == 1.0), "{out:?}");
                }
            }
        }
    }
    // So replacing or adding a record moves the vector of counts by sqrt(2d), which is the sensitivity of the wall.
    let privacy = Privacy::new(1.0, 1e-5, Adjacency::ReplaceOne).unwrap();
    let plan = BoundsPlan::new(grids.to_vec(), RECORDS, &privacy, 0.1).unwrap();
    assert_eq!(plan.noise_sd(), plan.noise_multiplier * 2.0);
}

/// Private bounds and a release with the remaining budget together cost the budget.
#[test]
fn private_bounds_and_the_fit_together_cost_the_budget() {
    for (epsilon, share) in [(1.0, 0.1), (0.1, 0.3), (8.0, 0.05)] {
        let privacy = Privacy::new(epsilon, 1e-6, Adjacency::ReplaceOne).unwrap();
        let plan = BoundsPlan::new(vec![grid(0.0, 1.0); 3], 1000, &privacy, share).unwrap();
        let entry = plan.releases().unwrap().entries().next().unwrap().clone();
        let rest = remaining(&privacy, share).unwrap();
        let multiplier = gaussian::noise_multiplier(rest.epsilon(), exact_delta(&rest)).unwrap();
        let both = Event::Compose(vec![entry.event.unwrap(), Event::gaussian(multiplier, Sampling::None)]);
        let cost = reticent_accounting::account(
            &both,
            Adjacency::ReplaceOne,
            exact_delta(&privacy),
            reticent_accounting::Method::Auto,
        )
        .unwrap();
        assert!(cost.epsilon.upper <= epsilon && cost.epsilon.upper > 0.999 * epsilon, "{cost:?}");
    }
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    for share in [0.0, 1.0, f64::NAN, -1.0] {
        assert!(matches!(remaining(&privacy, share), Err(BoundsError::Share(_))));
    }
}

/// A quantile of the values of a column.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(share * sorted.len() as f64) as usize]
}

/// Skewed columns in ranges that are far too wide. The bounds contain the quantiles that the plan targets, with a
/// margin for a rank that is wrong by 4.5 standard deviations of the noise (each of 36 counts: false alarm below 3e-4
/// for all), and are no wider than the cells and the widening explain: at most three times the range of the records.
#[test]
fn bounds_hold_the_quantiles_of_skewed_columns() {
    let uniform = |n: usize, prime: f64| (n as f64 + 0.5) * prime % 1.0;
    let columns: [Vec<f64>; 3] = [
        // Log-normal incomes, waiting times, and years.
        (0..RECORDS).map(|n| (10.0 + normal::quantile(uniform(n, 0.618_033_988_75))).exp()).collect(),
        (0..RECORDS).map(|n| -uniform(n, 0.754_877_666_25).ln() * 1e-3).collect(),
        (0..RECORDS).map(|n| 1950.0 + 50.0 * uniform(n, 0.569_840_290_99).sqrt()).collect(),
    ];
    let grids = vec![grid(0.0, 1e9), grid(-1e3, 1e3), grid(1000.0, 3000.0)];
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let plan = BoundsPlan::new(grids, RECORDS, &privacy, 0.2).unwrap();
    let values = (0..RECORDS).flat_map(|n| columns.each_ref().map(|column| column[n])).collect();
    let records = Records::new(values, 3).unwrap();
    let source = NoiseSource::insecure_from_seed(3);
    let plan_of_wall = plan.releases().unwrap();
    let mut wall = Wall::new(records, source, plan_of_wall, &privacy, Box::new(Unlimited)).unwrap();
    let bounds = plan.estimate(&mut wall).unwrap();
    let (outside, error) = (plan.outside(), 4.5 * plan.noise_sd() / RECORDS as f64);
    assert!(outside < 0.05, "{outside}");
    for (column, (low, high)) in columns.iter().zip(bounds) {
        assert!(low <= quantile(column, outside + error), "{low}");
        assert!(high >= quantile(column, 1.0 - outside - error), "{high}");
        let inside = column.iter().filter(|&&x| low <= x && x <= high).count() as f64 / RECORDS as f64;
        assert!(inside >= 1.0 - 2.0 * (outside + error), "{inside}");
        let range =
            column.iter().copied().fold(f64::MIN, f64::max) - column.iter().copied().fold(f64::MAX, f64::min);
        assert!(high - low < 3.0 * range, "{low} to {high}");
    }
}

/// With noise far above the counts, the bounds are still bounds in the public range.
#[test]
fn huge_noise_leaves_bounds_in_the_range() {
    let privacy = Privacy::new(1e-4, 1e-9, Adjacency::AddRemove).unwrap();
    let plan = BoundsPlan::new(vec![grid(-1.0, 5.0); 20], 100, &privacy, 0.5).unwrap();
    for seed in 0..50 {
        let records = Records::new(vec![0.5; 20 * 100], 20).unwrap();
        let source = NoiseSource::insecure_from_seed(seed);
        let plan_of_wall = plan.releases().unwrap();
        let mut wall = Wall::new(records, source, plan_of_wall, &privacy, Box::new(Unlimited)).unwrap();
        let bounds = plan.estimate(&mut wall).unwrap();
        assert!(bounds.iter().all(|(low, high)| -1.0 <= *low && low < high && *high <= 5.0), "{bounds:?}");
    }
}
