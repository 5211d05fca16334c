//! The cost of the wall: `Wall::sum` against a plain `f64` sum of the same contributions, interleaved in one run.

#![allow(clippy::print_stdout, reason = "a bench reports")]

use std::hint::black_box;
use std::time::Instant;

use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::wall::{Geometry, NoiseSource, Plan, Query, Records, Sampler, SumId, Sums, Wall};

/// A contribution that costs about as much as reading and scaling the record.
struct Scaled {
    width: usize,
}

impl Query for Scaled {
    fn width(&self) -> usize {
        self.width
    }
    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        for (out, x) in out.iter_mut().zip(record) {
            *out = 0.7 * x;
        }
    }
}

fn values(records: usize, width: usize) -> Vec<f64> {
    (0..records * width).map(|k| ((k as f64) * 0.37).sin()).collect()
}

fn wall(records: usize, width: usize, sampler: Sampler, steps: u64) -> (Wall, SumId) {
    let mut plan = Plan::new(records, Adjacency::AddRemove);
    let geometry = Geometry::Ball { radius: 1.0 };
    let sums = Sums { what: "bench".into(), width, geometry, sampler, noise_multiplier: 100.0, steps };
    let id = plan.sums(sums).expect("the plan is possible");
    let privacy = Privacy::new(1e3, 1e-9, Adjacency::AddRemove).expect("these are numbers");
    let records = Records::new(values(records, width), width).expect("whole rows");
    let source = NoiseSource::from_os().expect("the system has random bits");
    (Wall::new(records, source, plan, &privacy, Box::new(Unlimited)).expect("the wall stands"), id)
}

fn plain(values: &[f64], query: &Scaled, sum: &mut [f64], scratch: &mut [f64]) {
    sum.fill(0.0);
    for record in values.chunks_exact(query.width) {
        query.contribute(record, scratch);
        sum.iter_mut().zip(&*scratch).for_each(|(sum, x)| *sum += x);
    }
}

/// The shortest time of each of two alternating calls, in seconds.
fn interleaved(repeats: usize, mut a: impl FnMut(), mut b: impl FnMut()) -> (f64, f64) {
    let mut fastest = (f64::INFINITY, f64::INFINITY);
    for _ in 0..repeats {
        let start = Instant::now();
        a();
        fastest.0 = fastest.0.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        b();
        fastest.1 = fastest.1.min(start.elapsed().as_secs_f64());
    }
    fastest
}

fn main() {
    // One thread on both sides, so that the ratio is of work.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one");
    pool.install(|| {
        for (records, width, steps) in
            [(1000, 1000, 60), (1000, 1000, 20_000), (1000, 20, 60), (1, 1000, 4000), (1, 20, 4000)]
        {
            let repeats = if records == 1 { 4000 } else { 60 };
            let query = Scaled { width };
            let data = values(records, width);
            let (mut sum, mut scratch) = (vec![0.0; width], vec![0.0; width]);
            let (mut wall, id) = wall(records, width, Sampler::Full, steps);
            let (ours, theirs) = interleaved(
                repeats,
                || drop(black_box(wall.sum(id, &query).expect("a sum"))),
                || plain(black_box(&data), &query, black_box(&mut sum), &mut scratch),
            );
            let ratio = ours / theirs;
            let gate = match (records, width) {
                (1000, 1000) if ratio <= 3.0 => "  gate 3.0: met",
                (1000, 1000) => "  gate 3.0: MISSED",
                _ => "",
            };
            // The rule of the plan: B sqrt(T) above 1e5.
            let lattice = if records as f64 * (steps as f64).sqrt() > 1e5 { "fine" } else { "coarse" };
            println!(
                "B = {records:>4}, width {width:>4}, {lattice} lattice: {:>9.2} us, {ratio:.2} x a plain sum{gate}",
                ours * 1e6
            );
        }
    });
}
