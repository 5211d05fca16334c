//! Logistic regression: an update of Algorithm 5 (expected statistics of all records, and the M-step), with and
//! without privacy, the same for a small random batch as in the paper, with privacy, and a complete private fit by
//! weighted scores; with one thread and with two.
//!
//! If `RETICENT_PEERS_PYTHON` names a Python that has NumPy, `logistic.py` beside it does the same updates in the
//! same run, vectorised over records: those over all records without privacy, those over a batch with NumPy's noise.
//! BLAS gets one thread, as we do. Each time is the shortest of several. One thread is timed in CPU time, where the
//! system reports it, so that other work on the machine does not count; the speedup of two threads is in wall time,
//! and needs two free processors.

#![allow(clippy::print_stdout, reason = "a bench reports")]

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::engine::vb::{ExpectationModel, StepSize, Vb};
use reticent_core::family::Gamma;
use reticent_core::model::logistic::{LogisticPlan, VariationalLogistic};
use reticent_core::wall::{NoiseSource, Plan, Records, Sampler, Sums, Wall};
use std::process::Command;
use std::time::Instant;

const RECORDS: usize = 20_000;
const WINDOWS: u64 = 3;
const INPUTS: [usize; 2] = [10, 100];
/// Batch size: 0.4 % of the records, as in Section 6.4 of the paper.
const BATCH: usize = RECORDS / 250;
/// Too many inputs for a matrix, of fewer records.
const WIDE: ([usize; 2], usize) = ([1000, 4000], 2000);
/// Required speedup of an update without privacy over NumPy, and of two threads over one.
const GATES: (f64, f64) = (20.0, 1.7);

fn values(inputs: usize, records: usize) -> Vec<f64> {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut row = |_| -> Vec<f64> {
        let x: Vec<f64> = (0..inputs).map(|_| rng.random_range(-1.0..1.0)).collect();
        let class = (x[0] + rng.random_range(-0.5..0.5)).signum();
        x.into_iter().chain([class]).collect()
    };
    (0..records).flat_map(&mut row).collect()
}

/// CPU nanoseconds per record of this thread, where the system reports them, and wall time: the shortest of several
/// windows. The system counts in ticks of some milliseconds, so a window is many times that.
fn shortest(times: u64, records: usize, mut work: impl FnMut()) -> [f64; 2] {
    let begun = Instant::now();
    let now = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let busy = text.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
        let clock = begun.elapsed().as_secs_f64() * 1e9;
        [busy.unwrap_or(clock), clock]
    };
    let mut shortest_times = [f64::INFINITY; 2];
    for _ in 0..WINDOWS {
        let before = now();
        (0..times).for_each(|_| work());
        let after = now();
        let each = (records as u64 * times) as f64;
        (0..2).for_each(|k| shortest_times[k] = shortest_times[k].min((after[k] - before[k]) / each));
    }
    shortest_times
}

/// An update of Algorithm 5, in nanoseconds per record of its batch.
fn update(inputs: usize, private: bool, batch: usize) -> [f64; 2] {
    let radius = (1.0 + 0.5 * inputs as f64).sqrt();
    let mut model = VariationalLogistic::new(inputs, Gamma { shape: 1.0, rate: 1.0 }, radius);
    let mut plan = Plan::new(RECORDS, Adjacency::ReplaceOne);
    let (sampler, size) = if batch < RECORDS {
        (Sampler::Fixed { batch }, StepSize::Decay { delay: 1024.0, forgetting: 0.7 })
    } else {
        (Sampler::Full, StepSize::Full)
    };
    let (width, geometry) = (model.width(), model.geometry());
    let each = (5 + 500 / inputs as u64) * (RECORDS / batch) as u64;
    let steps = WINDOWS * each;
    let sums = Sums { what: "all".into(), width, geometry, sampler, noise_multiplier: 100.0, steps };
    let id = plan.sums(sums).expect("a plan");
    let records = Records::new(values(inputs, RECORDS), inputs + 1).expect("whole rows");
    let source = NoiseSource::from_os().expect("random bits");
    let wall = if private {
        let privacy = Privacy::new(10.0, 1e-6, Adjacency::ReplaceOne).expect("numbers");
        Wall::new(records, source, plan, &privacy, Box::new(Unlimited))
    } else {
        Wall::without_privacy(records, source, plan, Box::new(Unlimited))
    };
    let mut wall = wall.expect("the wall stands");
    let mut vb = Vb::new(RECORDS, vec![0.0; width]);
    shortest(each, batch, || vb.step(&mut model, &mut wall, id, size).expect("a step"))
}

/// A complete private fit.
fn fit(inputs: usize, records: usize) -> [f64; 2] {
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).expect("numbers");
    let plan = LogisticPlan::new(&vec![1; inputs], records, 1.0, Some(&privacy)).expect("a plan");
    let (values, times) = (values(inputs, records), 2);
    let copy = |_| Records::new(values.clone(), inputs + 1).expect("whole rows");
    let mut copies: Vec<Records> = (0..times * WINDOWS).map(copy).collect();
    shortest(times, records, || {
        let rows = copies.pop().expect("one for each");
        let source = NoiseSource::from_os().expect("random bits");
        plan.fit(rows, source, Some(&privacy), Box::new(Unlimited)).expect("a fit");
    })
}

/// Time of NumPy for an update over all records and one over a batch, in nanoseconds per record, for each number of
/// inputs.
fn peer(python: &str) -> Option<Vec<[f64; 2]>> {
    let mut command = Command::new(python);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/benches/logistic.py"));
    command
        .args([RECORDS, BATCH].map(|number| number.to_string()))
        .args(INPUTS.map(|inputs| inputs.to_string()));
    for threads in ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"] {
        command.env(threads, "1");
    }
    serde_json::from_slice(&command.output().ok()?.stdout).ok()
}

fn gate(ratio: f64, wanted: f64) -> String {
    format!("gate {wanted}: {}", if ratio >= wanted { "met" } else { "MISSED" })
}

fn main() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let measure = |threads, inputs| {
        let all = |private| update(inputs, private, RECORDS);
        pool(threads).install(|| [all(false), all(true), fit(inputs, RECORDS)])
    };
    let numpy = match std::env::var("RETICENT_PEERS_PYTHON") {
        Ok(python) => peer(&python).or_else(|| {
            println!("NumPy could not be measured with {python}");
            None
        }),
        Err(_) => {
            println!("NumPy is not measured: RETICENT_PEERS_PYTHON names no Python");
            None
        }
    };
    let names = ["update without privacy", "update, private", "whole private fit"];
    for (k, inputs) in INPUTS.into_iter().enumerate() {
        let (one, two) = (measure(1, inputs), measure(2, inputs));
        println!("{inputs} inputs, {RECORDS} records, nanoseconds a record");
        for (name, (one, two)) in names.iter().zip(one.into_iter().zip(two)) {
            let ratio = one[1] / two[1];
            println!(
                "  {name:<24} {:>7.0}; two threads {ratio:.2} x faster  {}",
                one[0],
                gate(ratio, GATES.1)
            );
        }
        let small = pool(1).install(|| update(inputs, true, BATCH))[0];
        println!("  update of {BATCH}, private   {small:>7.0}");
        if let Some([numpy, batch]) = numpy.as_ref().and_then(|found| found.get(k)) {
            let (open, private) = (numpy / one[0][0], numpy / one[1][0]);
            println!(
                "  NumPy, one thread        {numpy:>7.0}: ours is {open:.2} x as fast  {}",
                gate(open, GATES.0)
            );
            println!("  ours with privacy is {private:.2} x as fast as NumPy without");
            println!(
                "  NumPy, a batch of {BATCH}, noise {batch:>7.0}: ours is {:.2} x as fast",
                batch / small
            );
        }
    }
    let (inputs, records) = WIDE;
    for inputs in inputs {
        let seconds = pool(1).install(|| fit(inputs, records))[0] * 1e-9 * records as f64;
        println!("{inputs} inputs, {records} records: whole private fit {seconds:.2} s, one thread");
    }
}
