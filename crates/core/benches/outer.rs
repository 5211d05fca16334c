//! Sums of outer products: private second moments through the wall against NumPy's `X.T @ (w * X)` without privacy, and whole private linear
//! regressions of many inputs; on one thread, in processor time where the system reports it.
//!
//! NumPy is measured if `RETICENT_PEERS_PYTHON` names a Python that has it; BLAS gets one thread. Each time of a sum is the shortest of several.

#![allow(clippy::print_stdout, reason = "a bench reports")]

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::model::regression::RegressionPlan;
use reticent_core::wall::{Geometry, NoiseSource, Plan, Query, Records, Sampler, Sums, Wall};
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

/// Records and columns of second moments.
const MOMENTS: [(usize, usize); 3] = [(200_000, 10), (50_000, 100), (5000, 1000)];
const REPEATS: u64 = 7;
/// Required speed relative to NumPy.
const GATE: f64 = 1.0;
/// Records and inputs of regressions, and the processor seconds that they may take.
const FITS: [(usize, usize, f64); 2] = [(100_000, 200, 1.5), (4000, 1000, 2.5)];

/// The numbers of a record, the last of which is its weight $w$: $\sqrt w x$.
struct Weighted(usize);

impl Query for Weighted {
    fn width(&self) -> usize {
        self.0
    }
    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let root = record[self.0].sqrt();
        out.iter_mut().zip(record).for_each(|(out, x)| *out = root * x);
    }
}

fn now(begun: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let busy = text.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    busy.map_or_else(|| begun.elapsed().as_secs_f64(), |busy| 1e-9 * busy)
}

fn values(records: usize, width: usize) -> Vec<f64> {
    let mut rng = SmallRng::seed_from_u64(1);
    (0..records * width).map(|_| rng.random_range(0.0..1.0)).collect()
}

fn moments(records: usize, columns: usize) -> f64 {
    let mut plan = Plan::new(records, Adjacency::ReplaceOne);
    let sums = Sums {
        what: "second moments".into(),
        width: columns * (columns + 1) / 2,
        geometry: Geometry::Outer { radius: (columns as f64).sqrt() },
        sampler: Sampler::Full,
        noise_multiplier: 10.0,
        steps: REPEATS,
    };
    let id = plan.sums(sums).expect("the plan is possible");
    let privacy = Privacy::new(100.0, 1e-6, Adjacency::ReplaceOne).expect("numbers");
    let data = Records::new(values(records, columns + 1), columns + 1).expect("whole rows");
    let source = NoiseSource::from_os().expect("random bits");
    let mut wall = Wall::new(data, source, plan, &privacy, Box::new(Unlimited)).expect("the wall stands");
    let begun = Instant::now();
    let one = |_| {
        let before = now(begun);
        black_box(wall.sum(id, &Weighted(columns)).expect("a sum"));
        now(begun) - before
    };
    (0..REPEATS).map(one).fold(f64::INFINITY, f64::min)
}

/// Seconds of NumPy.
fn peer(python: &str, records: usize, columns: usize) -> Option<f64> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/outer.py");
    let mut command = Command::new(python);
    command.arg(script).args([records.to_string(), columns.to_string(), REPEATS.to_string()]);
    for threads in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
        command.env(threads, "1");
    }
    String::from_utf8_lossy(&command.output().ok()?.stdout).trim().parse().ok()
}

/// Seconds of a plan and a private fit.
fn fit(records: usize, inputs: usize) -> f64 {
    let data = values(records, inputs + 1);
    let data = Records::new(data, inputs + 1).expect("whole rows");
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).expect("numbers");
    let begun = Instant::now();
    let before = now(begun);
    let plan = RegressionPlan::linear(inputs, records, &privacy).expect("a plan");
    let source = NoiseSource::from_os().expect("random bits");
    black_box(plan.fit(data, source, &privacy, Box::new(Unlimited)).expect("a fit"));
    now(begun) - before
}

fn main() {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let python = std::env::var("RETICENT_PEERS_PYTHON").ok();
    for (records, columns) in MOMENTS {
        let ours = one.install(|| moments(records, columns));
        println!("second moments of {columns} columns: {:.1} ns a record", 1e9 * ours / records as f64);
        if let Some(theirs) = python.as_ref().and_then(|python| peer(python, records, columns)) {
            let ratio = theirs / ours;
            let verdict = if ratio >= GATE { "met" } else { "MISSED" };
            let each = 1e9 * theirs / records as f64;
            println!(
                "  NumPy without privacy: {each:.1} ns; ours is {ratio:.2} x as fast  gate {GATE}: {verdict}"
            );
        }
    }
    for (records, inputs, most) in FITS {
        let seconds = one.install(|| fit(records, inputs));
        let verdict = if seconds <= most { "met" } else { "MISSED" };
        println!(
            "linear regression, {inputs} inputs, {records} records: plan and private fit {seconds:.2} s  gate {most}: {verdict}"
        );
    }
}
