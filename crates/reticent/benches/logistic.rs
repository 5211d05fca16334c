//! Logistic regression: nanoseconds a record of an update of Algorithm 5 (expected statistics and the step that maximises) and of a whole private
//! fit by weighted scores, with one thread and with two. `logistic.py` beside it does the same updates with NumPy.

#![allow(clippy::print_stdout, reason = "a bench reports")]

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use reticent::budget::{Adjacency, Privacy, Unlimited};
use reticent::engine::vb::{ExpectationModel, StepSize, Vb};
use reticent::family::Gamma;
use reticent::model::logistic::{LogisticPlan, VariationalLogistic};
use reticent::wall::{NoiseSource, Plan, Records, Sampler, Sums, Wall};
use std::time::Instant;

const RECORDS: usize = 20_000;
const STEPS: u64 = 5;

fn values(inputs: usize) -> Vec<f64> {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut row = |_| -> Vec<f64> {
        let x: Vec<f64> = (0..inputs).map(|_| rng.random_range(-1.0..1.0)).collect();
        let class = (x[0] + rng.random_range(-0.5..0.5)).signum();
        x.into_iter().chain([class]).collect()
    };
    (0..RECORDS).flat_map(&mut row).collect()
}

/// Nanoseconds a record of an update of Algorithm 5.
fn update(inputs: usize, private: bool) -> f64 {
    let radius = (1.0 + 0.5 * inputs as f64).sqrt();
    let mut model = VariationalLogistic::new(inputs, Gamma { shape: 1.0, rate: 1.0 }, radius);
    let mut plan = Plan::new(RECORDS, Adjacency::ReplaceOne);
    let (width, geometry, sampler) = (model.width(), model.geometry(), Sampler::Full);
    let sums = Sums { what: "all".into(), width, geometry, sampler, noise_multiplier: 50.0, steps: STEPS };
    let id = plan.sums(sums).expect("a plan");
    let records = Records::new(values(inputs), inputs + 1).expect("whole rows");
    let source = NoiseSource::from_os().expect("random bits");
    let wall = if private {
        let privacy = Privacy::new(10.0, 1e-6, Adjacency::ReplaceOne).expect("numbers");
        Wall::new(records, source, plan, &privacy, Box::new(Unlimited))
    } else {
        Wall::without_privacy(records, source, plan, Box::new(Unlimited))
    };
    let mut wall = wall.expect("the wall stands");
    let mut vb = Vb::new(RECORDS, vec![0.0; width]);
    let start = Instant::now();
    for _ in 0..STEPS {
        vb.step(&mut model, &mut wall, id, StepSize::Whole).expect("a step");
    }
    start.elapsed().as_secs_f64() * 1e9 / (STEPS as f64 * RECORDS as f64)
}

/// Nanoseconds a record of a whole private fit.
fn fit(inputs: usize) -> f64 {
    let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).expect("numbers");
    let plan = LogisticPlan::new(&vec![1; inputs], RECORDS, 1.0, Some(&privacy)).expect("a plan");
    let records = Records::new(values(inputs), inputs + 1).expect("whole rows");
    let source = NoiseSource::from_os().expect("random bits");
    let start = Instant::now();
    plan.fit(records, source, Some(&privacy), Box::new(Unlimited)).expect("a fit");
    start.elapsed().as_secs_f64() * 1e9 / RECORDS as f64
}

fn main() {
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| {
            for inputs in [10, 100] {
                let (open, private, whole) = (update(inputs, false), update(inputs, true), fit(inputs));
                println!(
                    "threads {threads}, inputs {inputs}: update {private:.0} ns a record private, {open:.0} without; \
                     whole fit by scores {whole:.0} ns"
                );
            }
        });
    }
}
