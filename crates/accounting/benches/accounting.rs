//! Time of the accountants, and the ratio to their peers at the same tightness.
//!
//! `cargo xtask bench accounting --peers` installs the peers and names their Python in `RETICENT_PEERS_PYTHON`.
//! Medians of five, in CPU seconds of one thread on both sides (wall seconds where the system does not report them).

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::collections::HashMap;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use reticent_accounting::pld::{Bracket, PldAccountant};
use reticent_accounting::rdp::{Conversion, Curve, FixedSize, Theorem};
use reticent_accounting::{Adjacency, Event, Mechanism, Method, Sampling, account, calibrate};

const DELTA: f64 = 1e-5;
const STEPS: u64 = 100_000;

fn poisson(sigma: f64) -> Event {
    Event::gaussian(sigma, Sampling::Poisson { rate: 0.001 }).repeat(STEPS)
}

/// The median of five calls after a warm-up: seconds and the result.
fn measure<T>(mut call: impl FnMut() -> T) -> (f64, T) {
    call();
    let mut runs: Vec<(f64, T)> = (0..5)
        .map(|_| {
            let (start, wall) = (cpu_seconds(), Instant::now());
            let mut value = black_box(call());
            let mut calls = 1.0;
            // The system counts in ticks of some milliseconds.
            while wall.elapsed().as_secs_f64() < 0.2 {
                value = black_box(call());
                calls += 1.0;
            }
            let elapsed =
                cpu_seconds().zip(start).map_or(wall.elapsed().as_secs_f64(), |(end, start)| end - start);
            (elapsed / calls, value)
        })
        .collect();
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    runs.swap_remove(2)
}

/// CPU seconds of this thread, on Linux.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds * 1e-9)
}

fn main() {
    let rdp = measure(|| {
        let mechanism = Mechanism::Gaussian { noise_multiplier: 1.5 };
        let bound = FixedSize::new(mechanism, 0.001, Theorem::TwentySeven, 256).unwrap();
        let points = (2..=256).map(|order| (f64::from(order), STEPS as f64 * bound.rdp(f64::from(order))));
        Curve::new(points.collect()).unwrap().epsilon(DELTA, Conversion::Improved).unwrap().0
    });
    println!("rdp fixed, orders 2..256      {:>9.3} ms  epsilon {:.6}", rdp.0 * 1e3, rdp.1);
    let brackets = [("quick", 0.01), ("default", 1.5e-4), ("narrow", 2e-5)].map(|(name, tolerance)| {
        let accountant = PldAccountant::with_tolerance(tolerance).unwrap();
        let pld = measure(|| accountant.epsilon(&poisson(1.5), Adjacency::AddRemove, DELTA).unwrap());
        let (lower, upper) = (pld.1.lower, pld.1.upper);
        println!("pld poisson, {name:<8}         {:>9.3} ms  epsilon [{lower:.6}, {upper:.6}]", pld.0 * 1e3);
        pld
    });
    let [rough_sigma, sigma] = [("quick", 0.01), ("default", 1.5e-4)].map(|(name, tolerance)| {
        let pld = PldAccountant::with_tolerance(tolerance).unwrap();
        let sigma = measure(|| {
            calibrate::noise_multiplier_by(poisson, Adjacency::AddRemove, 1.0, DELTA, Method::Pld, pld)
                .unwrap()
        });
        println!("pld calibration, {name:<8}     {:>9.3} ms  noise multiplier {:.6}", sigma.0 * 1e3, sigma.1);
        sigma
    });
    for steps in [1_000, 1_000_000, 100_000_000] {
        let event = Event::gaussian(1.0, Sampling::Poisson { rate: 1e-6 }).repeat(steps);
        let pld = measure(|| account(&event, Adjacency::AddRemove, DELTA, Method::Pld).unwrap().epsilon);
        println!("pld poisson, {steps:>11} steps {:>9.3} ms  epsilon {:.6}", pld.0 * 1e3, pld.1.upper);
    }
    let Some(python) = std::env::var_os("RETICENT_PEERS_PYTHON") else { return };

    println!("\npeers");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers.py");
    let output = Command::new(python).arg(script).env("OMP_NUM_THREADS", "1").output().expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut peers: HashMap<String, (f64, f64)> = HashMap::new();
    for line in String::from_utf8(output.stdout).expect("the peers print UTF-8").lines() {
        let Ok(record) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let (name, value) = (record["name"].as_str().unwrap().to_owned(), record["value"].as_f64().unwrap());
        let seconds = record["seconds"].as_f64().unwrap();
        println!("{name:<44} {:>10.2} ms  {value:.6}", seconds * 1e3);
        peers.insert(name, (seconds, value));
    }
    println!();
    let [quick, default, narrow] = brackets;
    // A peer's answer may be undercut; being above it by less than a millionth is rounding.
    let ratio = |claim: &str, wanted: f64, peer: &str, (seconds, ours): (f64, f64)| {
        let (peer_seconds, theirs) = peers[peer];
        let times = peer_seconds / seconds;
        let tight = ours <= theirs * (1.0 + 1e-6);
        let verdict = if times >= wanted && tight { "met" } else { "MISSED" };
        let tightness = if tight { "at least as tight" } else { "looser" };
        println!("{claim:<28} {times:>8.1} x  (wanted {wanted} x, {tightness}: {verdict})");
    };
    let upper = |(seconds, bracket): (f64, Bracket)| (seconds, bracket.upper);
    ratio("rdp, default orders", 100.0, "rdp fixed: dp-accounting, default orders", rdp);
    ratio("rdp, orders 2..256", 100.0, "rdp fixed: dp-accounting, orders 2..256", rdp);
    ratio("rdp, autodp", 100.0, "rdp fixed: autodp, theorem 9", rdp);
    ratio("pld quick, step 1e-4", 10.0, "pld poisson: dp-accounting, step 1e-4", upper(quick));
    ratio("pld default, step 1e-5", 10.0, "pld poisson: dp-accounting, step 1e-5", upper(default));
    ratio("pld narrow, step 1e-5", 10.0, "pld poisson: dp-accounting, step 1e-5", upper(narrow));
    ratio("calibration quick", 20.0, "calibration: dp-accounting pld, step 1e-4", rough_sigma);
    ratio("calibration default", 20.0, "calibration: dp-accounting pld, step 1e-4", sigma);
    ratio("calibration, autodp", 20.0, "calibration: autodp", rough_sigma);
}
