#![allow(clippy::float_cmp, reason = "results are equal bit for bit")]

use super::*;
use crate::tables::{CELLS, RARE, REMAINDER, TRIANGLE};
use crate::{NoiseSource, Rounds};

fn source(seed: u8, tables: &'static Tables) -> NoiseSource {
    let mut source = NoiseSource::insecure_from_seed(seed.into());
    for resolution in [Resolution::Bits23, Resolution::Bits40] {
        source.gaussian(resolution).unwrap().0.tables = tables;
    }
    source
}

/// Each statistic below raises a false alarm for at most one seed in $10^{7}$.
const FALSE_ALARM: f64 = 1e-7;
/// $P(|N(0,1)| > 6.5) < 10^{-10}$: with up to 900 statistics of one kind, less than [`FALSE_ALARM`].
const DEVIATIONS: f64 = 6.5;

/// Laurent and Massart (2000), lemma 1: $P(\chi^2_k \ge k + 2\sqrt{kx} + 2x) \le e^{-x}$.
pub(crate) fn chi_square_bound(k: usize) -> f64 {
    let (k, x) = (k as f64, -FALSE_ALARM.ln());
    k + 2.0 * (k * x).sqrt() + 2.0 * x
}

/// $P(a < N(0,1) < b)$ by Gauss and Legendre's rule of five points: exact to rounding for $b - a \le 1/64$.
fn mass(a: f64, b: f64) -> f64 {
    let phi = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let (middle, half) = (f64::midpoint(a, b), (b - a) / 2.0);
    let points = [
        (0.0, 0.568_888_888_888_888_9),
        (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
        (0.906_179_845_938_664, 0.236_926_885_056_189_08),
    ];
    let pair = |x: f64| phi(middle - half * x) + phi(middle + half * x);
    half * (points[0].1 * phi(middle) + points[1].1 * pair(points[1].0) + points[2].1 * pair(points[2].0))
}

#[derive(Default)]
struct Statistics {
    draws: f64,
    /// Signed bins of sigma/256.
    bins: Vec<u64>,
    moments: [f64; 7],
    lane_sums: Vec<f64>,
    lane_squares: Vec<f64>,
    lags: [f64; 6],
    square_lags: [f64; 6],
    lagged: f64,
}

const LAGS: [usize; 6] = [1, 2, 8, 16, 128, 1024];
const HALF_BINS: usize = CELLS * 4;

/// Statistics of `blocks` times 16384 draws, in units of $2^{-23}$ sigma.
fn collect(blocks: usize, mut draw: impl FnMut(&mut [i64])) -> Statistics {
    let mut st = Statistics { bins: vec![0; 2 * HALF_BINS], ..Statistics::default() };
    (st.lane_sums, st.lane_squares) = (vec![0.0; 128], vec![0.0; 128]);
    let mut z = vec![0; 1 << 14];
    let mut x = vec![0.0; 1 << 14];
    for block in 0..blocks {
        draw(&mut z);
        let mut sums = [0.0; 7];
        for (x, &z) in x.iter_mut().zip(&z) {
            st.bins[((z >> 15) + HALF_BINS as i64) as usize] += 1;
            *x = (z as f64 + 0.5) / 8_388_608.0;
            let (a, b) = (*x, *x * *x);
            for (sum, power) in sums[1..].iter_mut().zip([a, b, a * b, b * b, a * b * b, b * b * b]) {
                *sum += power;
            }
        }
        st.moments.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
        if block % 16 == 0 {
            for (i, x) in x.iter().enumerate() {
                st.lane_sums[i % 128] += x;
                st.lane_squares[i % 128] += x * x - 1.0;
            }
            let kept = x.len() - 1024;
            for (i, lag) in LAGS.into_iter().enumerate() {
                for (a, b) in x[..kept].iter().zip(&x[lag..]) {
                    st.lags[i] += a * b;
                    st.square_lags[i] += (a * a - 1.0) * (b * b - 1.0);
                }
            }
            st.lagged += kept as f64;
        }
    }
    st.draws = (blocks << 14) as f64;
    st
}

impl Statistics {
    /// The statistics that exceed the bound of their stated false-alarm rate.
    fn alarms(&self) -> Vec<String> {
        let mut alarms = Vec::new();
        let mut check = |name: String, value: f64, bound: f64| {
            if value.is_nan() || value > bound {
                alarms.push(format!("{name}: {value:.2} > {bound:.2}"));
            }
        };
        let expected: Vec<f64> = (0..2 * HALF_BINS)
            .map(|i| {
                self.draws
                    * mass((i as f64 - HALF_BINS as f64) / 256.0, (i as f64 + 1.0 - HALF_BINS as f64) / 256.0)
            })
            .collect();
        let (mut chi, mut used, mut rest) = (0.0, 0, (0.0, 0.0));
        for (&n, &e) in self.bins.iter().zip(&expected) {
            if e >= 50.0 {
                chi += (n as f64 - e).powi(2) / e;
                used += 1;
            } else {
                rest = (rest.0 + n as f64, rest.1 + e);
            }
        }
        chi += (rest.0 - rest.1).powi(2) / rest.1;
        check(format!("chi square of {used} bins"), chi, chi_square_bound(used));
        // The cells of the sampler, both signs together.
        let cell = |h: usize, of: &dyn Fn(usize) -> f64| -> f64 {
            (4 * h..4 * h + 4).map(|i| of(HALF_BINS + i) + of(HALF_BINS - 1 - i)).sum()
        };
        for h in 0..CELLS {
            let (n, e) = (cell(h, &|i| self.bins[i] as f64), cell(h, &|i| expected[i]));
            if e > 1000.0 {
                check(format!("cell {h}"), (n - e).abs() / e.sqrt(), DEVIATIONS);
            }
        }
        let positive = self.bins[HALF_BINS..].iter().sum::<u64>() as f64;
        check("sign".into(), (2.0 * positive - self.draws).abs() / self.draws.sqrt(), DEVIATIONS);
        for (k, (mean, variance)) in
            [(0.0, 1.0), (1.0, 2.0), (0.0, 15.0), (3.0, 96.0), (0.0, 945.0), (15.0, 10170.0)]
                .into_iter()
                .enumerate()
        {
            let z = (self.moments[k + 1] - self.draws * mean) / (self.draws * variance).sqrt();
            check(format!("moment {}", k + 1), z.abs(), DEVIATIONS);
        }
        for sigmas in [3, 4, 5] {
            let tail = |of: &dyn Fn(usize) -> f64| -> f64 {
                (256 * sigmas..HALF_BINS).map(|i| of(HALF_BINS + i) + of(HALF_BINS - 1 - i)).sum()
            };
            let (n, e) = (tail(&|i| self.bins[i] as f64), tail(&|i| expected[i]));
            check(format!("tail beyond {sigmas}"), (n - e).abs() / e.sqrt(), DEVIATIONS);
        }
        let per_lane = self.lagged / 15_360.0 * 128.0;
        for lane in 0..128 {
            check(format!("mean of lane {lane}"), self.lane_sums[lane].abs() / per_lane.sqrt(), DEVIATIONS);
            check(
                format!("variance of lane {lane}"),
                self.lane_squares[lane].abs() / (2.0 * per_lane).sqrt(),
                DEVIATIONS,
            );
        }
        for (i, lag) in LAGS.into_iter().enumerate() {
            check(format!("correlation at {lag}"), self.lags[i].abs() / self.lagged.sqrt(), DEVIATIONS);
            let squares = self.square_lags[i].abs() / (4.0 * self.lagged).sqrt();
            check(format!("correlation of squares at {lag}"), squares, DEVIATIONS);
        }
        alarms
    }
}

const BLOCKS: usize = 1 << 14; // times 2^14 draws

fn statistics(tables: &'static Tables) -> Statistics {
    let mut source = source(1, tables);
    collect(BLOCKS, |z| source.gaussian(Resolution::Bits23).unwrap().fill(z))
}

/// $2^{28}$ draws. False alarm: 1100 statistics of at most $10^{-10}$ and one of [`FALSE_ALARM`].
#[test]
fn gaussian_has_its_distribution() {
    assert_eq!(statistics(&TABLES).alarms(), Vec::<String>::new());
}

/// The same statistics detect each of three small errors in the tables.
#[test]
fn mutants_are_caught() {
    let mutant = |change: fn(&mut Tables)| {
        let mut tables = Box::new(Tables::build());
        change(&mut tables);
        statistics(Box::leak(tables)).alarms()
    };
    let flat = mutant(|t| t.parts.iter_mut().filter(|p| **p != REMAINDER).for_each(|p| *p &= !TRIANGLE));
    assert!(flat.iter().any(|a| a.starts_with("chi square")), "triangles drawn flat: {flat:?}");
    let always = mutant(|t| t.cells.iter_mut().for_each(|c| c.density = u128::MAX >> 2));
    assert!(!always.is_empty(), "level 3 always accepts: {always:?}");
    let moved = mutant(|t| {
        let last = t.slots.iter().rposition(|&cell| cell == 0).unwrap();
        t.slots[last] = 1;
    });
    assert!(moved.iter().any(|a| a.starts_with("cell ")), "a slot moved to the next cell: {moved:?}");
}

/// $2^{25}$ draws of 40 bits: the distribution at 23 bits, and the low bits. False alarm as above.
#[test]
fn the_finer_lattice_has_its_distribution() {
    let mut source = source(2, &TABLES);
    let mut low = vec![0u64; 2 << 10];
    let statistics = collect(1 << 11, |z| {
        source.gaussian(Resolution::Bits40).unwrap().fill(z);
        for z in z {
            low[(*z & 1023) as usize] += 1;
            low[1024 + (*z >> 10 & 1023) as usize] += 1;
            *z >>= 17;
        }
    });
    assert_eq!(statistics.alarms(), Vec::<String>::new());
    let e = statistics.draws / 1024.0;
    for half in low.chunks(1024) {
        let chi: f64 = half.iter().map(|&n| (n as f64 - e).powi(2) / e).sum();
        assert!(chi < chi_square_bound(1023), "{chi}");
    }
}

/// Level 1, over all slots and signs: the floor of a point of the slot's cell, each once.
#[test]
fn every_slot_is_a_floor() {
    for (slot, &cell) in TABLES.slots.iter().enumerate().filter(|(_, cell)| **cell != RARE) {
        for position in [0, 1, 77_777, (1 << 17) - 1] {
            let word = position << 14 | slot as u32;
            let magnitude = i64::from(cell) << 17 | i64::from(position);
            assert_eq!(common(word, cell), magnitude);
            let mirrored = i64::from(cell) << 17 | ((1 << 17) - 1 - i64::from(position));
            assert_eq!(common(word | 1 << 31, cell), -1 - mirrored);
        }
    }
    // The finer floor of a point is that of its coarser one and of where it is between two of those.
    for (draw, low) in [(5, 0), (5, (1 << 17) - 1), (-5, 0), (-5, 77_777)] {
        let point = draw as f64 + (f64::from(low) + 0.5) / f64::from(1 << 17);
        assert_eq!(refine(draw, low << 15 | 0x7fff), (point * f64::from(1 << 17)).floor() as i64);
    }
}

/// For any number of rounds, every word is looked up, in order: a draw of level 1 is a function of its own word.
#[test]
fn every_word_is_looked_up() {
    for rounds in [Rounds::Eight, Rounds::Twelve, Rounds::Twenty] {
        let stream = |purpose| ChaCha::new(&[9; 8], purpose, rounds);
        let mut draws = vec![0; 3 * BLOCK];
        Gaussian(&mut Generator::new(Resolution::Bits23, stream(b"one     "), stream(b"another ")))
            .fill(&mut draws);
        let (mut main, mut words, mut rare) = (stream(b"one     "), [0; BATCH], 0);
        for draws in draws.chunks(BATCH) {
            main.fill(&mut words);
            for (&draw, word) in draws.iter().zip(words) {
                let cell = TABLES.slots[word as usize % TABLES.slots.len()];
                rare += usize::from(cell == RARE);
                assert!(cell == RARE || draw == common(word, cell), "{rounds:?} rounds");
            }
        }
        assert!(rare > 0);
    }
}

/// Levels 2 and 3 keep the sign of the draw they replace and, in rectangles, its position.
#[test]
fn rare_draws_keep_their_sign_and_position() {
    let mut source = source(7, &TABLES);
    let side = &mut source.gaussian(Resolution::Bits40).unwrap().0.side;
    for (bits, draw) in [(17, 12_345i64), (34, 0x2_1234_5678)] {
        let mut kept = 0;
        for _ in 0..1000 {
            let (up, down) = (TABLES.draw_rare(draw, bits, side), TABLES.draw_rare(!draw, bits, side));
            assert!(up >= 0 && down < 0);
            let position = |z: i64| z & ((1 << bits) - 1);
            kept += usize::from(position(up) == draw) + usize::from(position(!down) == draw);
        }
        assert!(kept > 200, "{kept} of 2000 positions kept"); // flat parts are more than a tenth of all
    }
}

#[test]
fn portable_equals_wide() {
    for resolution in [Resolution::Bits23, Resolution::Bits40] {
        let draws = || {
            let mut source = source(3, &TABLES);
            let mut gaussian = source.gaussian(resolution).unwrap();
            let (mut z, mut released) = (vec![0; 300_000], vec![0.0; 5000]);
            gaussian.fill(&mut z);
            gaussian.release(&z[..5000], 0.3, &mut released).unwrap();
            (z, released)
        };
        simd::tests::same(draws);
    }
}

proptest::proptest! {
    /// Draws do not depend on how they are split into calls, nor on the kind of call.
    #[test]
    fn draws_do_not_depend_on_calls(sizes in proptest::collection::vec(0usize..3000, 1..12), fine: bool) {
        let resolution = if fine { Resolution::Bits40 } else { Resolution::Bits23 };
        let (mut whole, mut parts) = (source(4, &TABLES), source(4, &TABLES));
        let total = sizes.iter().sum();
        let mut expected = vec![0; total];
        whole.gaussian(resolution).unwrap().fill(&mut expected);
        let mut rest = &expected[..];
        for (i, size) in sizes.into_iter().enumerate() {
            let (now, later) = rest.split_at(size);
            let mut gaussian = parts.gaussian(resolution).unwrap();
            if i % 2 == 0 {
                let mut out = vec![0; size];
                gaussian.fill(&mut out);
                proptest::prop_assert_eq!(&out[..], now);
            } else {
                let mut out = vec![0.0; size];
                gaussian.release(&vec![0; size], 1.0, &mut out).unwrap();
                for (out, z) in out.iter().zip(now) {
                    proptest::prop_assert_eq!(*out, *z as f64 + 0.5);
                }
            }
            rest = later;
        }
    }

    /// Exact below 2^52, correctly rounded above (checked through i128), modulo 2^64.
    #[test]
    fn release_is_the_exact_sum(sum: i64, shift in 0u32..40) {
        let (mut a, mut b) = (source(5, &TABLES), source(5, &TABLES));
        let (mut z, mut out) = ([0], [0.0]);
        a.gaussian(Resolution::Bits23).unwrap().fill(&mut z);
        b.gaussian(Resolution::Bits23).unwrap().release(&[sum >> shift], 1.0, &mut out).unwrap();
        let twice = 2 * i128::from((sum >> shift).wrapping_add(z[0])) + 1;
        proptest::prop_assert_eq!(out[0], twice as f64 / 2.0);
    }
}

#[test]
fn bad_releases_are_refused_before_anything_is_drawn() {
    let (mut a, mut b) = (source(6, &TABLES), source(6, &TABLES));
    let mut gaussian = a.gaussian(Resolution::Bits23).unwrap();
    assert!(matches!(
        gaussian.release(&[1, 2], 1.0, &mut [0.0]),
        Err(NoiseError::Lengths { sums: 2, outputs: 1 })
    ));
    for step in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(gaussian.release(&[1], step, &mut [0.0]), Err(NoiseError::Step(_))));
    }
    let (mut x, mut y) = ([0; 4], [0; 4]);
    gaussian.fill(&mut x);
    b.gaussian(Resolution::Bits23).unwrap().fill(&mut y);
    assert_eq!(x, y);
}
