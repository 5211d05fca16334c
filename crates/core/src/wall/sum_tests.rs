use super::super::WallError;
use super::super::geometry::{Block, Distance, Geometry};
use super::super::records::Records;
use super::*;
use reticent_noise::Resolution;

type From<'a> = (&'a mut Records, Batch<'a>, &'a mut dyn FnMut() -> bool);

/// The sum in units of the noise's lattice, as a release computes it.
pub(in crate::wall) fn exact(
    (records, batch, stop): From<'_>,
    query: &impl Query,
    lattice: &Lattice,
    sum: &mut [i64],
) -> Result<(), WallError> {
    let found = records.sum(batch, stop, query, (lattice, sum.len(), false))?.units(lattice);
    sum.copy_from_slice(&found);
    Ok(())
}

/// The sum without privacy.
pub(in crate::wall) fn plain(
    (records, batch, stop): From<'_>,
    query: &impl Query,
    lattice: &Lattice,
    sum: &mut [f64],
) -> Result<(), WallError> {
    let Total::Plain(found) = records.sum(batch, stop, query, (lattice, sum.len(), true))? else {
        panic!("it is not private")
    };
    sum.copy_from_slice(&found);
    Ok(())
}

struct Copy(usize);

impl Query for Copy {
    fn width(&self) -> usize {
        self.0
    }
    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        out.copy_from_slice(record);
        if record[0] > 1e6 {
            out[1] = f64::NAN;
        }
    }
}

const WIDTH: usize = 3;
const ROWS: usize = 40;

fn sum(values: &[f64], lattice: &Lattice) -> Vec<i64> {
    let mut records = Records::new(values.to_vec(), WIDTH).unwrap();
    let mut sum = vec![0; WIDTH];
    exact((&mut records, None, &mut || false), &Copy(WIDTH), lattice, &mut sum).unwrap();
    sum
}

/// Neighbouring data sets, through the code that a release runs. The hill climb moves all records and may make any of
/// them huge, so it would find a record that changes the contribution of another.
#[test]
fn neighbouring_data_sets_never_differ_by_more_than_the_sensitivity() {
    let blocks = vec![Block { width: 1, scale: 0.5 }, Block { width: 2, scale: 3.0 }];
    let geometries = [
        Geometry::Ball { radius: 2.0 },
        Geometry::NonNegativeBall { radius: 2.0 },
        Geometry::Box { lower: vec![-1.0, 0.0, 0.5], upper: vec![1.0, 2.0, 1.5] },
        Geometry::Blocks { radius: 1.0, blocks },
    ];
    let mut state = 5u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    for geometry in geometries {
        for kind in [Distance::Norm, Distance::Diameter] {
            let lattice = Lattice::new(&geometry, WIDTH, kind, 2.0, Resolution::Bits23).unwrap();
            let allowed = lattice.resolution.units_per_sigma() as f64 / 2.0;
            let distance = |data: &[f64], other: &[f64]| {
                let mut neighbour = data.to_vec();
                if kind == Distance::Norm {
                    neighbour.truncate(WIDTH * (ROWS - 1));
                } else {
                    neighbour[WIDTH * (ROWS - 1)..].copy_from_slice(other);
                }
                let (a, b) = (sum(data, &lattice), sum(&neighbour, &lattice));
                a.iter().zip(&b).map(|(a, b)| ((a - b) as f64).powi(2)).sum::<f64>().sqrt()
            };
            let mut data: Vec<f64> = (0..WIDTH * ROWS).map(|_| 3.0 * random()).collect();
            let mut other: Vec<f64> = (0..WIDTH).map(|_| 3.0 * random()).collect();
            let mut best = 0.0;
            for round in 0..3_000 {
                let (mut data_next, mut other_next) = (data.clone(), other.clone());
                let place = WIDTH * ROWS
                    - 1
                    - (random().abs() * (WIDTH * if round % 4 == 0 { ROWS } else { 1 }) as f64) as usize;
                data_next[place] =
                    if round % 50 == 0 { 1e12 * random() } else { data_next[place] + 10.0 * random() };
                other_next[(random().abs() * WIDTH as f64) as usize] += 10.0 * random();
                let found = distance(&data_next, &other_next);
                assert!(found <= allowed, "{geometry:?} {kind:?}: {}", found / allowed);
                if found >= best {
                    (data, other, best) = (data_next, other_next, found);
                }
            }
            assert!(
                best >= 0.98 * allowed,
                "{geometry:?} {kind:?}: the search found only {}",
                best / allowed
            );
        }
    }
}

/// Rows are documents: each number is a block, its words are those that are not 0, and each counts in two
/// coordinates. The closure corrupts the list of blocks.
struct Blocks<F>(F);

const BLOCKS: usize = 5;

impl<F: Fn(&mut Vec<usize>) + Sync> Query for Blocks<F> {
    fn width(&self) -> usize {
        2 * BLOCKS
    }
    fn block(&self) -> usize {
        2
    }
    fn blocks(&self, record: &[f64], blocks: &mut Vec<usize>) {
        blocks.extend((0..BLOCKS).filter(|&block| record[block] != 0.0));
        (self.0)(blocks);
    }
    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let words = record.iter().filter(|&&x| x != 0.0);
        for (pair, &x) in out.chunks_exact_mut(2).zip(words) {
            pair.copy_from_slice(&[x, 3.0 - x]);
        }
    }
}

/// The same contributions, dense.
struct Dense;

impl Query for Dense {
    fn width(&self) -> usize {
        2 * BLOCKS
    }
    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        for (pair, &x) in out.chunks_exact_mut(2).zip(record) {
            if x != 0.0 {
                pair.copy_from_slice(&[x, 3.0 - x]);
            }
        }
    }
}

fn of(records: &mut Records, query: &impl Query, lattice: &Lattice) -> Vec<i64> {
    let mut sum = vec![0; query.width()];
    exact((records, None, &mut || false), query, lattice, &mut sum).unwrap();
    sum
}

/// Long contributions are scaled to just within the ball, and less so where fewer coordinates are rounded: a record
/// may differ by some units, and by no more than its rounding.
#[test]
fn sparse_sums_equal_dense_sums() {
    let values: Vec<f64> =
        (0..BLOCKS * ROWS).map(|k| if k % 3 == 0 { 0.0 } else { 1.5 + (k as f64).sin() }).collect();
    let mut records = Records::new(values, BLOCKS).unwrap();
    for (radius, rounding) in [(100.0, 0), (1.0, 4)] {
        for geometry in [Geometry::Ball { radius }, Geometry::NonNegativeBall { radius }] {
            let lattice =
                Lattice::new(&geometry, 2 * BLOCKS, Distance::Diameter, 2.0, Resolution::Bits23).unwrap();
            let (sparse, dense) = (
                of(&mut records, &Blocks(|_: &mut Vec<usize>| ()), &lattice),
                of(&mut records, &Dense, &lattice),
            );
            assert!(dense.iter().all(|sum| *sum > 1000));
            let gap = sparse.iter().zip(&dense).map(|(a, b)| (a - b).unsigned_abs()).max().unwrap();
            assert!(gap <= rounding * ROWS as u64, "{geometry:?}: {gap}");
        }
    }
}

/// A repeated block would count twice and exceed the radius: such a list of blocks counts as empty, as do other
/// invalid ones.
#[test]
fn repeated_or_missing_blocks_contribute_nothing() {
    let mut records = Records::new(vec![2.0, 0.0, 1.0, 0.0, 0.5], BLOCKS).unwrap();
    let geometry = Geometry::Ball { radius: 1.0 };
    let lattice = Lattice::new(&geometry, 2 * BLOCKS, Distance::Diameter, 2.0, Resolution::Bits23).unwrap();
    assert!(of(&mut records, &Blocks(|_: &mut Vec<usize>| ()), &lattice).iter().any(|sum| *sum != 0));
    let corruptions: [fn(&mut Vec<usize>); 5] = [
        |blocks| blocks[1] = 0,
        |blocks| blocks.reverse(),
        |blocks| blocks[2] = BLOCKS,
        |blocks| blocks[2] = usize::MAX,
        |_| panic!("a query that fails"),
    ];
    silence_query_panics();
    for list in corruptions {
        assert!(of(&mut records, &Blocks(list), &lattice).iter().all(|sum| *sum == 0));
    }
    // Fewer values than blocks, or none: the rest is 0.
    assert!(of(&mut records, &Blocks(Vec::clear), &lattice).iter().all(|sum| *sum == 0));
}

/// The largest distance between documents is that of the non-negative ball, attained by documents without a common
/// word.
#[test]
fn sparse_neighbours_never_differ_by_more_than_the_sensitivity() {
    let geometry = Geometry::NonNegativeBall { radius: 1.0 };
    let lattice = Lattice::new(&geometry, 2 * BLOCKS, Distance::Diameter, 2.0, Resolution::Bits23).unwrap();
    let allowed = lattice.resolution.units_per_sigma() as f64 / 2.0;
    let one = |k: usize| {
        of(&mut Records::new(document(k), BLOCKS).unwrap(), &Blocks(|_: &mut Vec<usize>| ()), &lattice)
    };
    fn document(k: usize) -> Vec<f64> {
        (0..BLOCKS).map(|block| [0.0, 0.1, 2.9, 40.0][k / 4usize.pow(block as u32) % 4]).collect()
    }
    let all: Vec<Vec<i64>> = (0..4usize.pow(BLOCKS as u32)).step_by(3).map(one).collect();
    let mut farthest = 0f64;
    for a in &all {
        for b in &all {
            let distance = a.iter().zip(b).map(|(a, b)| ((a - b) as f64).powi(2)).sum::<f64>().sqrt();
            assert!(distance <= allowed, "{}", distance / allowed);
            farthest = farthest.max(distance);
        }
    }
    assert!(farthest > 0.99 * allowed, "{}", farthest / allowed);
}

/// A row with a value that is not finite adds nothing to a sum, whichever value it is and whatever the query computes
/// from it; to a box it adds the point nearest to 0.
#[test]
fn absent_records_contribute_nothing() {
    /// Writes finite numbers for any record, also for an absent one.
    struct Everything;
    impl Query for Everything {
        fn width(&self) -> usize {
            WIDTH
        }
        fn contribute(&self, record: &[f64], out: &mut [f64]) {
            out.iter_mut().zip(record).for_each(|(out, x)| *out = if x.is_finite() { *x } else { 1.0 });
        }
    }
    let present: Vec<f64> = (0..WIDTH * ROWS).map(|k| (k as f64).sin()).collect();
    for geometry in [
        Geometry::Ball { radius: 2.0 },
        Geometry::NonNegativeBall { radius: 2.0 },
        Geometry::L1Ball { radius: 2.0 },
        Geometry::Box { lower: vec![-1.0; WIDTH], upper: vec![1.0; WIDTH] },
    ] {
        let lattice = Lattice::new(&geometry, WIDTH, Distance::Diameter, 2.0, Resolution::Bits23).unwrap();
        let alone = of(&mut Records::new(present.clone(), WIDTH).unwrap(), &Everything, &lattice);
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for place in 0..WIDTH {
                let mut all = present.clone();
                let mut row = vec![0.5; WIDTH];
                row[place] = value;
                all.splice(WIDTH * 7..WIDTH * 7, row);
                let mut records = Records::new(all, WIDTH).unwrap();
                assert_eq!(of(&mut records, &Everything, &lattice), alone, "{geometry:?} {value} {place}");
                let (mut open, mut open_alone) = (vec![0.0; WIDTH], vec![0.0; WIDTH]);
                plain((&mut records, None, &mut || false), &Everything, &lattice, &mut open).unwrap();
                let mut alone = Records::new(present.clone(), WIDTH).unwrap();
                plain((&mut alone, None, &mut || false), &Everything, &lattice, &mut open_alone).unwrap();
                assert_eq!(open, open_alone);
            }
        }
    }
    // The point of a box nearest to 0, and sparse contributions.
    let geometry = Geometry::Box { lower: vec![0.5; WIDTH], upper: vec![1.0; WIDTH] };
    let lattice = Lattice::new(&geometry, WIDTH, Distance::Diameter, 2.0, Resolution::Bits23).unwrap();
    let of_row = |row: f64| of(&mut Records::new(vec![row; WIDTH], WIDTH).unwrap(), &Everything, &lattice);
    assert_eq!(of_row(f64::NAN), of_row(0.5));
    let geometry = Geometry::Ball { radius: 1.0 };
    let lattice = Lattice::new(&geometry, 2 * BLOCKS, Distance::Diameter, 2.0, Resolution::Bits23).unwrap();
    let mut absent = Records::new(vec![f64::NAN, 1.0, 1.0, 1.0, 1.0], BLOCKS).unwrap();
    assert!(of(&mut absent, &Blocks(|_: &mut Vec<usize>| ()), &lattice).iter().all(|sum| *sum == 0));
}

/// A box far from 0: a query that panics, or names no block or a wrong one, must not contribute the 0 vector, which is a hundred diameters away. Rows and
/// units of several rows, exchanged for each other.
#[test]
fn contributions_without_values_stay_in_their_box() {
    struct Odd;
    impl Query for Odd {
        fn width(&self) -> usize {
            WIDTH
        }
        fn blocks(&self, record: &[f64], blocks: &mut Vec<usize>) {
            match record[0] as usize {
                1 => {}
                2 => blocks.push(1),
                3 => blocks.extend([0, 0]),
                4 => panic!("before a block"),
                5 => {
                    blocks.push(0);
                    panic!("after a block");
                }
                _ => blocks.push(0),
            }
        }
        fn contribute(&self, record: &[f64], out: &mut [f64]) {
            assert!(record[0] != 6.0, "in the contribution");
            if record[0] != 1.0 {
                out.copy_from_slice(&record[1..]);
            }
        }
    }
    silence_query_panics();
    let geometry = Geometry::Box { lower: vec![100.0; WIDTH], upper: vec![101.0; WIDTH] };
    for kind in [Distance::Norm, Distance::Diameter] {
        let lattice = Lattice::new(&geometry, WIDTH, kind, 2.0, Resolution::Bits23).unwrap();
        let allowed = lattice.resolution.units_per_sigma() as f64 / 2.0;
        let row = |odd: u32, x: f64| [vec![f64::from(odd)], vec![x; WIDTH]].concat();
        let of_rows = |rows: &[Vec<f64>]| {
            let mut records = Records::of_units(rows.concat(), WIDTH + 1, &[rows.len()]).unwrap();
            of(&mut records, &Odd, &lattice)
        };
        let (low, high) = (of_rows(&[row(0, 100.0)]), of_rows(&[row(0, 101.0)]));
        for odd in 1..=6 {
            for rows in [vec![row(odd, 100.5)], vec![row(odd, 100.5); 3]] {
                let found = of_rows(&rows);
                assert_eq!(found, low, "{kind:?} {odd}: the point nearest to 0");
                let others = if kind == Distance::Norm {
                    vec![vec![0; WIDTH]]
                } else {
                    vec![low.clone(), high.clone()]
                };
                for other in others {
                    let squares = found.iter().zip(&other).map(|(a, b)| ((a - b) as f64).powi(2));
                    assert!(squares.sum::<f64>().sqrt() <= allowed, "{kind:?} {odd}");
                }
            }
        }
    }
}
