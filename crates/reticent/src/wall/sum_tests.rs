use super::super::geometry::{Block, Distance, Geometry};
use super::*;
use reticent_noise::Resolution;

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
    let mut scratch = Scratch::default();
    scratch.clear(WIDTH);
    exact(&mut records, None, &Copy(WIDTH), lattice, &mut scratch);
    scratch.sum
}

/// Whole data sets that differ in one record, through the code that a release runs: the hill climb moves all records,
/// and may make any of them huge, so that it would find a record that changes what another contributes.
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
    let mut dice = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    for geometry in geometries {
        for kind in [Distance::Reach, Distance::Diameter] {
            let lattice = Lattice::new(&geometry, WIDTH, kind, 2.0, Resolution::Bits23).unwrap();
            let allowed = lattice.resolution.units_per_sigma() as f64 / 2.0;
            let distance = |data: &[f64], other: &[f64]| {
                let mut neighbour = data.to_vec();
                if kind == Distance::Reach {
                    neighbour.truncate(WIDTH * (ROWS - 1));
                } else {
                    neighbour[WIDTH * (ROWS - 1)..].copy_from_slice(other);
                }
                let (a, b) = (sum(data, &lattice), sum(&neighbour, &lattice));
                a.iter().zip(&b).map(|(a, b)| ((a - b) as f64).powi(2)).sum::<f64>().sqrt()
            };
            let mut data: Vec<f64> = (0..WIDTH * ROWS).map(|_| 3.0 * dice()).collect();
            let mut other: Vec<f64> = (0..WIDTH).map(|_| 3.0 * dice()).collect();
            let mut best = 0.0;
            for round in 0..3_000 {
                let (mut data_next, mut other_next) = (data.clone(), other.clone());
                let place = WIDTH * ROWS
                    - 1
                    - (dice().abs() * (WIDTH * if round % 4 == 0 { ROWS } else { 1 }) as f64) as usize;
                data_next[place] =
                    if round % 50 == 0 { 1e12 * dice() } else { data_next[place] + 10.0 * dice() };
                other_next[(dice().abs() * WIDTH as f64) as usize] += 10.0 * dice();
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
