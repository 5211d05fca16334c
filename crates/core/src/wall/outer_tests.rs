use super::super::records::Records;
use super::super::sum::silence_query_panics;
use super::super::sum::tests::{exact, plain};
use super::super::{NoiseSource, Plan, PlanError, Query, Sampler, Sums, Wall, WallError};
use super::*;
use crate::budget::{Adjacency, Privacy, Unlimited};
use crate::math::symmetric;
use proptest::prelude::*;
use std::f64::consts::SQRT_2;
use std::ops::ControlFlow;

const DISTANCES: [Distance; 3] = [Distance::Norm, Distance::Diameter, Distance::TwiceNorm];

/// Writes the record as the vector. It panics on numbers above 1e6.
struct Copy(usize);

impl Query for Copy {
    fn width(&self) -> usize {
        self.0
    }
    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        assert!(record[0] <= 1e6, "a query that fails");
        out.copy_from_slice(record);
    }
}

/// A small generator for searches; its quality does not matter.
struct TestRng(u64);

impl TestRng {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
    fn vector(&mut self, size: usize) -> Vec<f64> {
        (0..size).map(|_| self.next()).collect()
    }
}

fn lattice(size: usize, distance: Distance, allowed: f64) -> Lattice {
    let geometry = Geometry::Outer { radius: 1.5 };
    Outer::lattice(1.5, symmetric::width(size), (distance, &geometry), allowed, Resolution::Bits40).unwrap()
}

/// A vector through the real code, in steps.
fn quantised(lattice: &Lattice, vector: &[f64]) -> Vec<i64> {
    let mut steps = vec![0; vector.len()];
    lattice.outer.as_ref().unwrap().vectors.add(&mut vector.to_vec(), &mut steps);
    steps
}

/// The upper triangle of the sum of outer products, by plain loops.
fn naive(vectors: &[Vec<i64>], size: usize) -> Vec<i128> {
    let pairs = (0..size).flat_map(|i| (i..size).map(move |j| (i, j)));
    pairs.map(|(i, j)| vectors.iter().map(|q| i128::from(q[i]) * i128::from(q[j])).sum()).collect()
}

fn rescaled(lattice: &Lattice, squares: &[i128]) -> Vec<i64> {
    lattice.outer.as_ref().unwrap().rescale(squares)
}

fn distance(a: &[i64], b: &[i64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a.wrapping_sub(*b) as f64).powi(2)).sum::<f64>().sqrt()
}

/// Random, extremal and hill-climbing pairs of vectors reach at least 0.999 of the stated sensitivity and never exceed it, as integers before the
/// noise: under add/remove from a sum without the record, under replace-one with another, and for Poisson samples twice that without.
#[test]
fn search_reaches_and_never_exceeds_the_sensitivity_of_outer_products() {
    let multiplier = 2.0;
    for size in [1, 2, 3, 6] {
        for kind in DISTANCES {
            for resolution in [Resolution::Bits23, Resolution::Bits40] {
                let (width, geometry) = (symmetric::width(size), Geometry::Outer { radius: 0.7 });
                let lattice = Lattice::new(&geometry, width, kind, multiplier, resolution).unwrap();
                let allowed = (resolution.units_per_sigma() as f64 / multiplier).floor();
                let units = |vector: &[f64]| rescaled(&lattice, &naive(&[quantised(&lattice, vector)], size));
                let zero = vec![0; width];
                let mut best = 0.0;
                let mut measure = |a: &[f64], b: &[f64]| {
                    let found = match kind {
                        Distance::Norm => distance(&units(a), &zero),
                        Distance::TwiceNorm => 2.0 * distance(&units(a), &zero),
                        Distance::Diameter => distance(&units(a), &units(b)),
                    };
                    assert!(found <= allowed, "{size} {kind:?} {resolution:?}: {}", found / allowed);
                    best = f64::max(best, found);
                    found
                };
                let axis = |k: usize, x: f64| -> Vec<f64> {
                    (0..size).map(|i| if i == k { x } else { 0.0 }).collect()
                };
                for magnitude in [0.5, 0.7, 1.0, 1e3, 1e200] {
                    for k in 0..size {
                        measure(&axis(0, magnitude), &axis(k, -magnitude));
                        measure(&vec![magnitude; size], &axis(k, magnitude));
                    }
                }
                let mut dice = TestRng(7);
                let mut top = (dice.vector(size), dice.vector(size));
                let mut most = 0.0;
                for round in 0..4000 {
                    let by = [3.0, 0.3, 0.03, 0.003][round / 1000];
                    let moved = |x: &Vec<f64>, dice: &mut TestRng| -> Vec<f64> {
                        x.iter().map(|x| x + by * dice.next()).collect()
                    };
                    let next = (moved(&top.0, &mut dice), moved(&top.1, &mut dice));
                    let found = measure(&next.0, &next.1);
                    if found > most {
                        (top, most) = (next, found);
                    }
                }
                // A matrix of one element has no two that are orthogonal: C^2 is the farthest that they are apart.
                let reached = if size == 1 && kind == Distance::Diameter { 1.0 / SQRT_2 } else { 1.0 };
                assert!(
                    best >= 0.999 * reached * allowed,
                    "{size} {kind:?} {resolution:?}: only {}",
                    best / allowed
                );
                // The climb alone finds it too.
                assert!(
                    most >= 0.99 * reached * allowed,
                    "{size} {kind:?}: the climb found {}",
                    most / allowed
                );
            }
        }
    }
}

/// Whatever else is in the sums: rounding two neighbouring sums moves their difference by less than 1 in each element, which the units leave
/// room for. On a coarse lattice that is a large share of the sensitivity.
#[test]
fn neighbouring_sums_of_outer_products_stay_within_the_units() {
    let mut dice = TestRng(5);
    let mut above_the_units = false;
    for size in [1, 2, 3, 5] {
        for kind in DISTANCES {
            let mut best = 0.0;
            let allowed = 8.0 * 2.0 * ((symmetric::width(size) as f64).sqrt().floor() + 1.0);
            let lattice = lattice(size, kind, allowed);
            for _ in 0..4000 {
                let pick = |dice: &mut TestRng| {
                    let mut vector = dice.vector(size);
                    if dice.next() > 0.0 {
                        let axis = (dice.next().abs() * size as f64) as usize % size;
                        vector
                            .iter_mut()
                            .enumerate()
                            .for_each(|(k, x)| *x *= if k == axis { 9.0 } else { 1e-6 });
                    }
                    quantised(&lattice, &vector.iter().map(|x| 9.0 * x).collect::<Vec<_>>())
                };
                let (a, b) = (pick(&mut dice), pick(&mut dice));
                let rest: Vec<i128> =
                    (0..symmetric::width(size)).map(|_| (dice.next() * 2f64.powi(60)) as i128).collect();
                let with = |vectors: &[Vec<i64>]| {
                    let sums = naive(vectors, size).into_iter().zip(&rest).map(|(x, rest)| x + rest);
                    rescaled(&lattice, &sums.collect::<Vec<_>>())
                };
                let found = match kind {
                    Distance::Norm => distance(&with(&[a]), &with(&[])),
                    Distance::Diameter => distance(&with(&[a]), &with(&[b])),
                    Distance::TwiceNorm => 2.0 * distance(&with(&[a]), &with(&[])),
                };
                assert!(found <= allowed, "{size} {kind:?}: {}", found / allowed);
                best = f64::max(best, found);
            }
            // Without room for the rounding the sensitivity would be this, and it would be exceeded: the test can fail.
            let Domain::Ball { limit, .. } = lattice.domain else { panic!("a ball") };
            let radii = Geometry::Outer { radius: 1.0 }.radii_squared(kind);
            above_the_units |= best > limit as f64 * radii.sqrt();
        }
    }
    assert!(above_the_units);
}

/// Sums that 128 bits could not multiply are clamped: neighbours stay neighbours there, and where 64 bits overflow.
#[test]
fn sums_of_any_size_move_no_farther() {
    for kind in DISTANCES {
        let lattice = lattice(2, kind, 1e6);
        let full = 1i128 << (2 * STEPS_BITS);
        let room = 1e6 / Geometry::Outer { radius: 1.0 }.radii_squared(kind).sqrt();
        for bits in 40..126 {
            for sum in [1i128 << bits, -(1 << bits), 3 << (bits - 1), i128::MAX - full, i128::MIN + full] {
                let units = |sum: i128| rescaled(&lattice, &[sum, 0, 0]);
                assert!(distance(&units(sum), &units(sum + full)) <= room, "{kind:?} {sum}");
                assert!(distance(&units(sum), &units(sum - full)) <= room, "{kind:?} {sum}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the bits, the trace of the outer product is at most R^2, and a vector in the ball is only rounded.
    #[test]
    fn no_vector_leaves_the_ball(bits in prop::collection::vec(any::<u64>(), 6), special in 0usize..8) {
        let lattice = lattice(6, Distance::Diameter, 1e6);
        let mut vector: Vec<f64> = bits.iter().map(|&bits| f64::from_bits(bits)).collect();
        match special {
            0 => vector[2] = f64::NAN,
            1 => vector[3] = f64::INFINITY,
            2 => vector = vec![f64::MAX; 6],
            3 => vector = vec![f64::MIN_POSITIVE / 4.0; 6],
            4 => vector.iter_mut().for_each(|x| *x = if x.is_finite() { *x % 0.6 } else { 0.3 }),
            _ => {}
        }
        let q = quantised(&lattice, &vector);
        let trace: i128 = q.iter().map(|q| i128::from(*q).pow(2)).sum();
        prop_assert!(trace <= 1 << (2 * STEPS_BITS), "{vector:?} {q:?}");
        if vector.iter().any(|x| x.is_nan()) {
            prop_assert!(trace == 0);
        } else if special == 4 {
            let step = 1.5 / f64::from(1 << STEPS_BITS);
            prop_assert!(q.iter().zip(&vector).all(|(q, x)| (*q as f64 * step - x).abs() <= 0.501 * step));
        } else if special == 2 {
            prop_assert!(trace as f64 > 0.99999 * 2f64.powi(2 * STEPS_BITS as i32));
        }
    }
}

fn summed(records: &mut Records, query: &impl Query, lattice: &Lattice) -> Vec<i64> {
    let mut sums = vec![0; symmetric::width(query.width())];
    exact((records, None, &mut || false), query, lattice, &mut sums).unwrap();
    sums
}

/// Sums by blocks equal sums one by one, to the last bit: for matrices on both sides of the choice of a kernel, numbers of records about multiples
/// of a block, vectors at the limit of the ball, one thread and several, and records in memory or read in pieces.
#[test]
fn blocks_are_summed_exactly() {
    for size in [1, 2, 5, 12, 31, 32, 33, 50] {
        let lattice = lattice(size, Distance::Diameter, 2f64.powi(38));
        for rows in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            let mut dice = TestRng(rows as u64);
            let mut values: Vec<f64> = (0..rows).flat_map(|_| dice.vector(size)).collect();
            if rows % 2 == 1 {
                // All the same, at the limit: block sums reach 2^53.
                values.chunks_mut(size).for_each(|row| {
                    row.fill(0.0);
                    row[size / 2] = -1.5;
                });
            }
            let vectors: Vec<Vec<i64>> = values.chunks(size).map(|row| quantised(&lattice, row)).collect();
            let expected = rescaled(&lattice, &naive(&vectors, size));
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let found = pool.install(|| {
                    let mut records = Records::new(values.clone(), size).unwrap();
                    summed(&mut records, &Copy(size), &lattice)
                });
                assert_eq!(found, expected, "{size} {rows} {threads}");
            }
            for piece in [1, 300, 2000] {
                let all = values.clone();
                let pass = move |_: Option<&[usize]>, each: &mut dyn FnMut(&[f64]) -> ControlFlow<()>| {
                    let _ = all.chunks(piece * size).try_for_each(&mut *each);
                };
                let mut records = Records::streamed(rows, size, Box::new(pass)).unwrap();
                assert_eq!(summed(&mut records, &Copy(size), &lattice), expected, "{size} {rows} {piece}");
            }
        }
    }
}

/// Absent records and queries that panic contribute zeros, wherever they are in a block.
#[test]
fn absent_vectors_are_zeros() {
    silence_query_panics();
    let (size, rows) = (3, 700);
    let lattice = lattice(size, Distance::Diameter, 1e9);
    let mut dice = TestRng(3);
    let values: Vec<f64> = (0..rows).flat_map(|_| dice.vector(size)).collect();
    let expected = summed(&mut Records::new(values.clone(), size).unwrap(), &Copy(size), &lattice);
    for bad in [[f64::NAN, 0.1, 0.2], [0.1, 0.2, f64::NEG_INFINITY], [1e7, 0.1, 0.1]] {
        let mut more = values.clone();
        for place in [0, 511, 512, 702] {
            more.splice(size * place..size * place, bad);
        }
        let mut records = Records::new(more, size).unwrap();
        assert_eq!(summed(&mut records, &Copy(size), &lattice), expected, "{bad:?}");
        let mut open = vec![0.0; symmetric::width(size)];
        if bad[0] < 1e6 {
            plain((&mut records, None, &mut || false), &Copy(size), &lattice, &mut open).unwrap();
            assert!(open.iter().all(|x| x.is_finite()) && open[0] > 100.0);
        }
    }
}

fn sums(width: usize, sampler: Sampler, steps: u64) -> Sums {
    let (what, geometry) = ("outer products".into(), Geometry::Outer { radius: 2.0 });
    Sums { what, width, geometry, sampler, noise_multiplier: 30.0, steps }
}

/// The noise of each element has the stated standard deviation, which is that of the sensitivity: $C^2$, $\sqrt2C^2$ and, for Poisson samples under
/// replace-one, $2C^2$. An estimate from $n$ draws has a relative standard error of $1/\sqrt{2n}$, a mean one of $1/\sqrt n$ standard deviations: with 5
/// of them, 60 comparisons fail by chance with a probability below 1e-4.
#[test]
fn noise_of_outer_products_is_as_stated() {
    let size = 3;
    let everyone = super::super::Rate::at_most(1.0).unwrap();
    let cases = [
        (Adjacency::AddRemove, Sampler::Full, 1.0),
        (Adjacency::ReplaceOne, Sampler::Full, SQRT_2),
        (Adjacency::ReplaceOne, Sampler::Poisson { rate: everyone }, 2.0),
    ];
    for (adjacency, sampler, factor) in cases {
        let steps = 2000;
        let mut plan = Plan::new(4, adjacency);
        let id = plan.sums(sums(6, sampler, steps)).unwrap();
        let privacy = Privacy::new(1e4, 1e-6, adjacency).unwrap();
        let values = vec![0.5, -1.0, 0.25, 1.0, 1.0, 0.0, 0.0, 0.0, 6.0, -0.1, 0.2, 0.3];
        let records = Records::new(values, size).unwrap();
        // The third is clipped to a length of 2.
        let expected = [1.26, 0.48, 0.095, 2.04, -0.19, 4.1525];
        let source = NoiseSource::insecure_from_seed(8);
        let mut wall = Wall::new(records, source, plan, &privacy, Box::new(Unlimited)).unwrap();
        let (mut first, mut second) = ([0.0; 6], [0.0; 6]);
        let mut stated = Vec::new();
        for _ in 0..steps {
            let released = wall.sum(id, &Copy(size)).unwrap();
            for (k, (x, mean)) in released.values.iter().zip(expected).enumerate() {
                first[k] += x - mean;
                second[k] += (x - mean).powi(2);
            }
            stated = released.noise_sd.to_vec();
        }
        let n = steps as f64;
        for k in 0..6 {
            let diagonal = [0, 3, 5].contains(&k);
            let sd = 30.0 * factor * 4.0 * if diagonal { 1.0 } else { 1.0 / SQRT_2 };
            assert!((stated[k] / sd - 1.0).abs() < 2e-6, "{adjacency:?} {k}: {} {sd}", stated[k]);
            assert!(
                ((second[k] / n).sqrt() / sd - 1.0).abs() < 5.0 / (2.0 * n).sqrt(),
                "{k}: {}",
                second[k] / n
            );
            assert!((first[k] / n).abs() < 5.0 * sd / n.sqrt(), "{k}: {}", first[k] / n);
        }
    }
}

/// Without privacy the sums are those of the vectors as they are.
#[test]
fn without_privacy_outer_products_are_plain() {
    for size in [3, 40] {
        let mut plan = Plan::new(1300, Adjacency::ReplaceOne);
        let id = plan.sums(sums(symmetric::width(size), Sampler::Full, 1)).unwrap();
        let mut dice = TestRng(9);
        let values: Vec<f64> = (0..1300).flat_map(|_| dice.vector(size)).map(|x| 5.0 * x).collect();
        let records = Records::new(values.clone(), size).unwrap();
        let source = NoiseSource::insecure_from_seed(1);
        let mut wall = Wall::without_privacy(records, source, plan, Box::new(Unlimited)).unwrap();
        let released = wall.sum(id, &Copy(size)).unwrap();
        let mut found = vec![0.0; size * size];
        symmetric::from_triangle(&released.values, size, &mut found);
        for k in 0..size * size {
            let expected: f64 = values.chunks(size).map(|row| row[k / size] * row[k % size]).sum();
            assert!((found[k] - expected).abs() < 1e-9, "{k}: {} {expected}", found[k]);
        }
        assert!(released.noise_sd.iter().all(|sd| *sd == 0.0));
    }
}

/// A release that is stopped leaves nothing of its vectors to the next one.
#[test]
fn a_stopped_release_leaves_no_vector_behind() {
    let lattice = lattice(2, Distance::Diameter, 1e9);
    let pass = |_: Option<&[usize]>, each: &mut dyn FnMut(&[f64]) -> ControlFlow<()>| {
        let _ = (0..4).try_for_each(|_| each(&[0.3, 0.4]));
    };
    let mut records = Records::streamed(4, 2, Box::new(pass)).unwrap();
    let expected = summed(&mut records, &Copy(2), &lattice);
    let mut calls = 0;
    let mut stop = || {
        calls += 1;
        calls == 3
    };
    let stopped = exact((&mut records, None, &mut stop), &Copy(2), &lattice, &mut [0; 3]);
    assert!(matches!(stopped, Err(WallError::Stopped)));
    let mut sums = vec![0; 3];
    exact((&mut records, None, &mut || false), &Copy(2), &lattice, &mut sums).unwrap();
    assert_eq!(sums, expected);
}

#[test]
fn outer_products_of_another_size_are_refused() {
    /// Sparse, and dense otherwise.
    struct Sparse;
    impl Query for Sparse {
        fn width(&self) -> usize {
            4
        }
        fn block(&self) -> usize {
            2
        }
        fn contribute(&self, _: &[f64], _: &mut [f64]) {}
    }
    for width in [2, 4, 5, 7] {
        let refused = Plan::new(4, Adjacency::ReplaceOne).sums(sums(width, Sampler::Full, 1));
        assert!(matches!(refused, Err(PlanError::Invalid { .. })), "{width}");
    }
    let mut plan = Plan::new(1, Adjacency::ReplaceOne);
    let id = plan.sums(sums(10, Sampler::Full, 1)).unwrap();
    let entry = serde_json::to_string(&plan.entries().next().unwrap().kind).unwrap();
    assert!(entry.contains(r#"{"outer":{"radius":2.0}}"#), "{entry}");
    let records = Records::new(vec![0.0; 4], 4).unwrap();
    let source = NoiseSource::insecure_from_seed(1);
    let mut wall = Wall::without_privacy(records, source, plan, Box::new(Unlimited)).unwrap();
    assert!(matches!(wall.sum(id, &Copy(10)), Err(WallError::Width { planned: 4, given: 10 })));
    assert!(matches!(wall.sum(id, &Sparse), Err(WallError::Sparse)));
    assert!(wall.sum(id, &Copy(4)).is_ok());
}

/// The resolution of vectors does not depend on the noise, and the number of records decides how fine the noise is.
#[test]
fn vectors_are_fine_whatever_the_noise() {
    for (records, multiplier, resolution) in [
        (1000, 1e-3, Resolution::Bits23),
        (1000, 1.0, Resolution::Bits40),
        (1000, 1e6, Resolution::Bits40),
        (1 << 30, 1.0, Resolution::Bits23),
    ] {
        let mut plan = Plan::new(records, Adjacency::ReplaceOne);
        plan.sums(Sums { noise_multiplier: multiplier, ..sums(21, Sampler::Full, 1) }).unwrap();
        let lattice = &plan.groups[0].lattice;
        assert_eq!(lattice.resolution, resolution, "{records} {multiplier}");
        let steps = 2.0 / lattice.outer.as_ref().unwrap().vectors.step;
        assert!(steps >= f64::from(1 << 18));
    }
}
