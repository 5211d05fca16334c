//! Plain loops against blocked algorithms, for each operation on matrices at sizes from 2 to 2000, and whole private linear regressions of many inputs.
//!
//! Both sides of a ratio are timed in turns, in windows of about a millisecond of which the shortest counts, so that other work on the machine does not.
//! Long operations and fits are timed on the processor of their thread, where the system says so. A size is marked if the library uses the slower one.

#![allow(clippy::print_stdout, reason = "a bench reports")]

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::math::matrix::{self, blocked, loops};
use reticent_core::model::regression::RegressionPlan;
use reticent_core::wall::{NoiseSource, Records};
use std::hint::black_box;
use std::time::Instant;

const SIZES: [usize; 18] = [2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1000, 2000];
/// Of whole fits.
const INPUTS: [usize; 4] = [200, 500, 1000, 2000];
const RECORDS: usize = 5000;
/// Seconds of a window, of all windows of one operation, and the least of an operation that is timed on the processor.
const WINDOW: f64 = 1e-3;
const ALL: f64 = 0.2;
const LONG: f64 = 0.05;
/// A slower choice than this is marked.
const SLOWER: f64 = 1.25;

/// Seconds of the clock, and of this thread on a processor.
fn now(begun: Instant) -> [f64; 2] {
    let clock = begun.elapsed().as_secs_f64();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let busy = text.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    [clock, busy.map_or(clock, |busy| 1e-9 * busy)]
}

/// Seconds that each of two operations takes.
fn interleaved(mut work: [&mut dyn FnMut(); 2]) -> [f64; 2] {
    let begun = Instant::now();
    let first = work.each_mut().map(|work| {
        let before = now(begun);
        work();
        let after = now(begun);
        if after[1] - before[1] > LONG { after[1] - before[1] } else { after[0] - before[0] }
    });
    let longest = first[0].max(first[1]);
    let mut least = first;
    if longest > LONG {
        return least;
    }
    for _ in 0..((ALL / WINDOW.max(longest)) as usize).max(3) {
        for (least, (work, first)) in least.iter_mut().zip(work.iter_mut().zip(first)) {
            let times = (WINDOW / first.max(1e-9)).clamp(1.0, 1e4) as u32;
            let before = Instant::now();
            (0..times).for_each(|_| work());
            *least = least.min(before.elapsed().as_secs_f64() / f64::from(times));
        }
    }
    least
}

fn report(name: &str, size: usize, from: usize, [plain, blocked]: [f64; 2]) {
    let chosen = if size < from { plain / blocked } else { blocked / plain };
    let mark = if chosen > SLOWER { "  SLOWER CHOICE" } else { "" };
    let used = if size < from { "loops" } else { "blocked" };
    println!(
        "  {name:<18} {size:>5}: loops {plain:.2e} s, blocked {blocked:.2e} s, ratio {:>6.2}, {used}{mark}",
        plain / blocked
    );
}

fn operations(size: usize) {
    let mut rng = SmallRng::seed_from_u64(1);
    let b: Vec<f64> = (0..size * size).map(|_| rng.random_range(-1.0..1.0)).collect();
    let mut a = matrix::multiply(&b, &matrix::transpose(&b, size), size);
    (0..size * size).filter(|k| k % size > k / size).for_each(|k| a[k] = a[k % size * size + k / size]);
    (0..size).for_each(|k| a[k * (size + 1)] += 0.1 * size as f64);
    let (mut one, mut other) = (vec![0.0; size * size], vec![0.0; size * size]);
    let found = interleaved([&mut || drop(black_box(loops::multiply(&a, &b, size))), &mut || {
        drop(black_box(blocked::multiply(&a, &b, size)));
    }]);
    report("product", size, matrix::BLOCKED_PRODUCT, found);
    let found = interleaved([&mut || assert!(loops::cholesky(&a, size, &mut one)), &mut || {
        assert!(blocked::cholesky(&a, size, &mut other));
    }]);
    report("Cholesky", size, matrix::BLOCKED_CHOLESKY, found);
    let found = interleaved([&mut || drop(black_box(loops::symmetric_inverse(&a, size))), &mut || {
        drop(black_box(blocked::symmetric_inverse(&a, size)));
    }]);
    report("symmetric inverse", size, matrix::BLOCKED_SYMMETRIC_INVERSE, found);
    let found = interleaved([&mut || drop(black_box(loops::general_inverse(&b, size))), &mut || {
        drop(black_box(blocked::general_inverse(&b, size)));
    }]);
    report("general inverse", size, matrix::BLOCKED_GENERAL_INVERSE, found);
    let found = interleaved([&mut || drop(black_box(loops::eigen(&a, size))), &mut || {
        drop(black_box(blocked::eigen(&a, size)));
    }]);
    report("eigenvalues", size, matrix::BLOCKED_EIGEN, found);
}

/// A plan and a private fit, on one thread.
fn fit(inputs: usize) -> f64 {
    let mut rng = SmallRng::seed_from_u64(1);
    let values = (0..RECORDS * (inputs + 1)).map(|_| rng.random_range(-1.0..1.0)).collect();
    let records = Records::new(values, inputs + 1).expect("whole rows");
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).expect("numbers");
    let begun = Instant::now();
    let before = now(begun)[1];
    let plan = RegressionPlan::linear(inputs, RECORDS, &privacy).expect("a plan");
    let source = NoiseSource::from_os().expect("random bits");
    black_box(plan.fit(records, source, &privacy, Box::new(Unlimited)).expect("a fit"));
    now(begun)[1] - before
}

fn main() {
    println!("seconds, and how many times as fast blocked algorithms are; the one that the library uses");
    SIZES.into_iter().for_each(operations);
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    for inputs in INPUTS {
        let seconds = one.install(|| fit(inputs));
        println!(
            "linear regression, {inputs} inputs, {RECORDS} records: plan and private fit {seconds:.2} s, one thread"
        );
    }
}
