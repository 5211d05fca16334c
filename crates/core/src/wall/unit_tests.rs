//! Units of several rows: they move a sum as far as one row does, whatever their rows are and however many.

use super::geometry::{Block, Distance, Geometry};
use super::lattice::Lattice;
use super::records::Records;
use super::sum::tests::{exact, plain};
use super::{Query, outer};
use reticent_noise::Resolution;

const WIDTH: usize = 3;

/// Contributes the record itself, or a vector whose outer product is added.
struct Copy;

impl Query for Copy {
    fn width(&self) -> usize {
        WIDTH
    }
    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        assert!(record[0] < 1e6, "a query may panic");
        out.copy_from_slice(record);
    }
}

type Unit = Vec<[f64; WIDTH]>;

fn records(units: &[Unit], least: usize) -> Records {
    let rows: Vec<usize> = units.iter().map(Vec::len).collect();
    let values = units.iter().flatten().flatten().copied().collect();
    Records::of_units(values, WIDTH, &rows).unwrap().counting_at_least(least)
}

/// Numbers that a release of this geometry has.
fn width(geometry: &Geometry) -> usize {
    if matches!(geometry, Geometry::Outer { .. }) { WIDTH * (WIDTH + 1) / 2 } else { WIDTH }
}

fn lattice(geometry: &Geometry, distance: Distance) -> (Lattice, f64) {
    let resolution =
        if matches!(geometry, Geometry::Outer { .. }) { Resolution::Bits40 } else { Resolution::Bits23 };
    let lattice = Lattice::new(geometry, width(geometry), distance, 2.0, resolution).unwrap();
    let allowed = lattice.resolution.units_per_sigma() as f64 / 2.0;
    (lattice, allowed)
}

fn summed(units: &[Unit], least: usize, geometry: &Geometry, lattice: &Lattice) -> Vec<i64> {
    let mut sum = vec![0; width(geometry)];
    exact((&mut records(units, least), None, &mut || false), &Copy, lattice, &mut sum).unwrap();
    sum
}

fn geometries() -> Vec<Geometry> {
    let blocks = vec![Block { width: 1, scale: 0.5 }, Block { width: 2, scale: 3.0 }];
    vec![
        Geometry::Ball { radius: 2.0 },
        Geometry::NonNegativeBall { radius: 2.0 },
        Geometry::Box { lower: vec![-1.0, 0.0, 0.5], upper: vec![1.0, 2.0, 1.5] },
        Geometry::Blocks { radius: 1.0, blocks },
        Geometry::L1Ball { radius: 2.0 },
        Geometry::Outer { radius: 1.5 },
    ]
}

/// The norm that the sensitivity of a geometry is in.
fn distance(geometry: &Geometry, a: &[i64], b: &[i64]) -> f64 {
    let differences = a.iter().zip(b).map(|(a, b)| (a - b) as f64);
    match geometry {
        Geometry::L1Ball { .. } => differences.map(f64::abs).sum(),
        _ => differences.map(|x| x * x).sum::<f64>().sqrt(),
    }
}

/// Between -1 and 1, by a linear congruential generator.
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// One to forty rows: alike or not, small, huge, not finite, or such that the query panics.
fn unit(state: &mut u64) -> Unit {
    let rows = 1 + (20.0 * (uniform(state) + 1.0)) as usize;
    let (size, alike) = (10f64.powf(2.0 * uniform(state)), uniform(state) > 0.0);
    let first: [f64; WIDTH] = std::array::from_fn(|_| size * uniform(state));
    let row = |state: &mut u64| match (10.0 * (uniform(state) + 1.0)) as u8 {
        0 => [f64::NAN; WIDTH],
        1 => [1e300, -1e300, f64::INFINITY],
        2 => [1e7; WIDTH],
        _ if alike => first,
        _ => std::array::from_fn(|_| size * uniform(state)),
    };
    (0..rows).map(|_| row(state)).collect()
}

/// Another unit instead of one, and one unit more or less, of all geometries and rules: never farther than one row, and as far as that for units of equal
/// rows at the edge of the domain.
#[test]
fn a_unit_moves_a_sum_as_one_row_does() {
    let mut state = 11;
    for geometry in geometries() {
        for kind in [Distance::Norm, Distance::Diameter] {
            let (lattice, allowed) = lattice(&geometry, kind);
            let moved = |ours: Unit, theirs: Option<Unit>, least| {
                let others: Vec<Unit> = vec![vec![[0.3, 0.1, 0.7]; 3], vec![[0.2; WIDTH]]];
                let with = |unit: Option<Unit>| {
                    summed(
                        &others.iter().cloned().chain(unit).collect::<Vec<_>>(),
                        least,
                        &geometry,
                        &lattice,
                    )
                };
                distance(&geometry, &with(Some(ours)), &with(theirs)) / allowed
            };
            for trial in 0..3000 {
                let (ours, theirs) = (unit(&mut state), unit(&mut state));
                let theirs = (kind == Distance::Diameter).then_some(theirs);
                let ratio = moved(ours, theirs, 1 + trial % 3 * 5);
                assert!(ratio <= 1.0, "{geometry:?}, {kind:?}: {ratio}");
            }
            // The edge: 100 is far outside, and clipped.
            let edges: [[f64; WIDTH]; 2] = match geometry {
                Geometry::Box { .. } | Geometry::NonNegativeBall { .. } if kind == Distance::Norm => {
                    [[100.0; WIDTH]; 2]
                }
                Geometry::Box { .. } => [[100.0; WIDTH], [-100.0; WIDTH]],
                Geometry::NonNegativeBall { .. } | Geometry::Outer { .. } => {
                    [[100.0, 0.0, 0.0], [0.0, 100.0, 0.0]]
                }
                Geometry::Blocks { .. } => [[100.0, 0.0, 0.0], [-100.0, 0.0, 0.0]],
                _ => [[100.0, 0.0, 0.0], [-100.0, 0.0, 0.0]],
            };
            let theirs = (kind == Distance::Diameter).then(|| vec![edges[1]; 7]);
            let ratio = moved(vec![edges[0]; 40], theirs, 1);
            assert!((0.999..=1.0).contains(&ratio), "{geometry:?}, {kind:?}: {ratio}");
        }
    }
}

/// The rows of a unit are rounded one by one: together their squared lengths, in steps, are at most that of one vector. The bound on the length of each leaves
/// room for rounding, so that nothing is lost either: units of equal rows at the edge keep 1 - 1e-3 of it.
#[test]
fn units_of_vectors_stay_within_the_trace() {
    let (lattice, _) = lattice(&Geometry::Outer { radius: 1.5 }, Distance::Norm);
    let outer = lattice.outer.as_ref().unwrap();
    let (mut state, bound) = (5, 1u128 << 44);
    let trace = |rows: &[f64], least: usize| {
        let mut vectors = rows.to_vec();
        outer.round_unit(&mut vectors, least, &mut Vec::new());
        assert!(vectors.iter().all(|x| x.fract() == 0.0));
        vectors.iter().map(|x| (x.abs() as u128).pow(2)).sum::<u128>()
    };
    for trial in 0..20_000 {
        let rows: Vec<f64> = (0..WIDTH * (1 + trial % 50))
            .map(|_| 10f64.powi(trial as i32 % 9 - 4) * uniform(&mut state))
            .collect();
        assert!(trace(&rows, 1) <= bound);
        assert!(trace(&rows, 4) <= bound);
    }
    for rows in [2, 3, 40, 5000] {
        let edge = trace(&vec![100.0; WIDTH * rows], 1);
        assert!(edge <= bound && edge as f64 > 0.998 * bound as f64, "{rows}: {edge}");
        // Four rows that count as eight have half of it.
        let half = trace(&[100.0; WIDTH * 4], 8);
        assert!(2 * half <= bound && 2.0 * half as f64 > 0.998 * bound as f64);
    }
    assert_eq!(outer::BLOCK as u128 * bound, 1 << 53);
}

/// The mean of the rows that are present, or their sum over a public number; of outer products likewise.
#[test]
fn a_unit_counts_as_the_mean_of_its_rows() {
    let nan = [f64::NAN; WIDTH];
    let unit: Unit = vec![[0.5, 0.25, -0.75], nan, [0.25, 0.25, 0.25], [2e6, 0.0, 0.0]];
    let ball = Geometry::Ball { radius: 4.0 };
    let one = |row: [f64; WIDTH]| vec![vec![row]];
    let (lattice, _) = lattice(&ball, Distance::Norm);
    // The third row panics, the second is absent.
    super::sum::silence_query_panics();
    assert_eq!(
        summed(std::slice::from_ref(&unit), 1, &ball, &lattice),
        summed(&one([0.375, 0.25, -0.25]), 1, &ball, &lattice)
    );
    assert_eq!(
        summed(std::slice::from_ref(&unit), 4, &ball, &lattice),
        summed(&one([0.1875, 0.125, -0.125]), 1, &ball, &lattice)
    );
    assert_eq!(
        summed(&one([1.0, 0.5, -0.5]), 4, &ball, &lattice),
        summed(&one([0.25, 0.125, -0.125]), 1, &ball, &lattice)
    );
    assert_eq!(summed(&[vec![nan, nan]], 1, &ball, &lattice), [0; WIDTH]);
    // Without privacy: the mean of 0.25, 0.0625 and so on.
    let outer = Geometry::Outer { radius: 4.0 };
    let (lattice, _) = super::unit_tests::lattice(&outer, Distance::Norm);
    let mut products = vec![0.0; 6];
    plain((&mut records(&[unit], 1), None, &mut || false), &Copy, &lattice, &mut products).unwrap();
    let expected = [0.15625, 0.09375, -0.15625, 0.0625, -0.0625, 0.3125];
    products.iter().zip(expected).for_each(|(found, expected)| assert!((found - expected).abs() < 1e-12));
}

/// A row that is absent counts for nothing where contributions are sparse, too.
#[test]
fn absent_rows_of_a_unit_do_not_dilute_sparse_contributions() {
    struct Cell;
    impl Query for Cell {
        fn width(&self) -> usize {
            4
        }
        fn block(&self) -> usize {
            1
        }
        fn blocks(&self, record: &[f64], blocks: &mut Vec<usize>) {
            if record[0] >= 0.0 {
                blocks.push(record[0] as usize);
            }
        }
        fn contribute(&self, _: &[f64], out: &mut [f64]) {
            out.fill(1.0);
        }
    }
    let lattice =
        Lattice::new(&Geometry::Ball { radius: 1.0 }, 4, Distance::Norm, 2.0, Resolution::Bits23).unwrap();
    let cells = |rows: &[f64]| {
        let mut records = Records::of_units(rows.to_vec(), 1, &[rows.len()]).unwrap();
        let mut sum = vec![0; 4];
        exact((&mut records, None, &mut || false), &Cell, &lattice, &mut sum).unwrap();
        sum
    };
    assert_eq!(cells(&[2.0, f64::NAN]), cells(&[2.0]));
    // A row that is there and contributes nothing does.
    let half: Vec<i64> = cells(&[2.0, -1.0]);
    assert!((2 * half[2] - cells(&[2.0])[2]).abs() <= 1, "half of it, but for rounding");
    assert_eq!(cells(&[2.0, 3.0, 2.0, 3.0]), cells(&[2.0, 3.0]));
}

/// Blocks of any number of units give the same sums as all units in memory.
#[test]
fn streamed_units_are_those_in_memory() {
    let mut state = 3;
    let units: Vec<Unit> = (0..50).map(|_| unit(&mut state)).collect();
    for geometry in geometries() {
        let (lattice, _) = lattice(&geometry, Distance::Diameter);
        let all = summed(&units, 1, &geometry, &lattice);
        for size in [1, 7, 50] {
            let parts = units.clone();
            let pass = move |_: Option<&[usize]>, each: super::records::EachUnits<'_>| {
                for block in parts.chunks(size) {
                    let mut starts = vec![0];
                    block.iter().for_each(|unit| starts.push(starts[starts.len() - 1] + unit.len()));
                    let values: Vec<f64> = block.iter().flatten().flatten().copied().collect();
                    if each(&values, &starts).is_break() {
                        return;
                    }
                }
            };
            let mut records = Records::streamed_units(units.len(), WIDTH, Box::new(pass)).unwrap();
            let mut sum = vec![0; width(&geometry)];
            exact((&mut records, None, &mut || false), &Copy, &lattice, &mut sum).unwrap();
            assert_eq!(sum, all);
        }
    }
}
