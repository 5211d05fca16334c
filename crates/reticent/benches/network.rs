//! SEP and DP-SEP on a network with 8 inputs and 50 hidden units, as multiples of what a draw from `rand_distr::StandardNormal`
//! over `SmallRng` takes, interleaved in one run.

#![allow(clippy::print_stdout, reason = "a bench reports")]

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, StandardNormal};
use reticent::budget::{Adjacency, Privacy, Unlimited};
use reticent::engine::{Average, Coordinates, Damping, Phase, SiteModel, sep};
use reticent::model::network::{Network, NetworkCavity, OutputNoise, Start};
use reticent::wall::{Geometry, NoiseSource, Plan, Records, Sampler, SumId, Sums, Wall};
use std::hint::black_box;
use std::time::Instant;

const N: usize = 8192;
const D: usize = 8;

fn values(inputs: usize) -> Vec<f64> {
    let mut rng = SmallRng::seed_from_u64(1);
    (0..N)
        .flat_map(|_| {
            let mut row: Vec<f64> = (0..inputs).map(|_| StandardNormal.sample(&mut rng)).collect();
            row.push(row[0].abs() - row[1]);
            row
        })
        .collect()
}

fn wall(model: &Network, batch: usize, steps: u64, private: bool) -> (Wall, SumId) {
    let mut plan = Plan::new(N, Adjacency::ReplaceOne);
    let geometry = Geometry::Ball { radius: 5.0 };
    let sums = Sums {
        what: "sites".into(),
        width: model.width(),
        geometry,
        sampler: Sampler::Pass { batch },
        noise_multiplier: 2.0,
        steps,
    };
    let id = plan.sums(sums).expect("a plan");
    let records = Records::new(values(model.inputs()), model.inputs() + 1).expect("whole rows");
    let source = NoiseSource::from_os().expect("the system has random bits");
    let wall = if private {
        let privacy = Privacy::new(1e3, 1e-6, Adjacency::ReplaceOne).expect("numbers");
        Wall::new(records, source, plan, &privacy, Box::new(Unlimited))
    } else {
        Wall::without_privacy(records, source, plan, Box::new(Unlimited))
    };
    (wall.expect("the wall stands"), id)
}

/// Seconds per record of one run.
fn run(model: &Network, batch: usize, steps: u64, private: bool, coordinates: Coordinates) -> f64 {
    let (mut wall, sums) = wall(model, batch, steps, private);
    // Small steps with noise, so that it does not throw the state out of its domain: what is measured is the cost of privacy.
    let damping = Damping::Step(if private { 1e-4 } else { 1.0 });
    let phases = [Phase { sums, steps, coordinates, damping, clip: None }];
    let start = model.start(1, Start::Usual);
    let clock = Instant::now();
    black_box(sep(model, &mut wall, N, &start, &phases, Average::Last).expect("a fit"));
    clock.elapsed().as_secs_f64() / (steps as f64 * batch as f64)
}

/// Seconds for a cavity, and for a site.
fn parts(model: &Network) -> (f64, f64) {
    let values = values(D);
    let start = model.start(1, Start::Usual);
    let natural: Vec<f64> = model.prior().iter().zip(&start).map(|(p, l)| p + l).collect();
    let (mut cavity, mut out) = (NetworkCavity::default(), vec![0.0; model.width()]);
    let clock = Instant::now();
    for _ in 0..N {
        model.condition(black_box(&natural), &mut cavity);
    }
    let first = clock.elapsed().as_secs_f64();
    for record in values.chunks_exact(D + 1) {
        model.site(&cavity, record, &mut out);
        black_box(&mut out);
    }
    (first / N as f64, (clock.elapsed().as_secs_f64() - first) / N as f64)
}

fn normal_draw() -> f64 {
    let mut rng = SmallRng::seed_from_u64(2);
    let mut draws = vec![0.0f64; 1000];
    let clock = Instant::now();
    for _ in 0..1000 {
        draws.fill_with(|| StandardNormal.sample(&mut rng));
        black_box(&mut draws);
    }
    clock.elapsed().as_secs_f64() / 1e6
}

fn main() {
    let model = Network::new(&[D, 50], OutputNoise::default()).expect("a network");
    let large = Network::new(&[90, 100], OutputNoise::default()).expect("a network");
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    let (one, two) = (pool(1), pool(2));
    let mut least = [f64::INFINITY; 9];
    for _ in 0..15 {
        let (cavity, site) = parts(&model);
        let found = [
            normal_draw(),
            cavity,
            site,
            one.install(|| run(&model, 1, 8000, false, Coordinates::Factor)),
            one.install(|| run(&model, 1, 8000, true, Coordinates::Factor)),
            one.install(|| run(&model, 1, 8000, true, Coordinates::Centred)),
            one.install(|| run(&model, 256, 40, true, Coordinates::Centred)),
            two.install(|| run(&model, 256, 40, true, Coordinates::Centred)),
            one.install(|| run(&large, 256, 4, true, Coordinates::Centred)),
        ];
        least.iter_mut().zip(found).for_each(|(least, found)| *least = least.min(found));
    }
    let draw = least[0];
    println!("a normal draw                    {:>8.2} ns", draw * 1e9);
    let report = |what: &str, time: f64, gate: f64| {
        let met = if time / draw <= gate { "met" } else { "MISSED" };
        let gate = if gate.is_finite() { format!("gate {gate}: {met}") } else { String::new() };
        println!("{what:<32} {:>8.2} us, {:>6.0} draws  {gate}", time * 1e6, time / draw);
    };
    report("a cavity", least[1], f64::INFINITY);
    report("a site", least[2], f64::INFINITY);
    report("SEP, B = 1", least[3], 700.0);
    report("DP-SEP, B = 1", least[4], 1400.0);
    report("DP-SEP, B = 1, centred", least[5], 1400.0);
    report("DP-SEP, B = 256", least[6], 500.0);
    report("the same, two threads", least[7], f64::INFINITY);
    report("90 inputs, 100 units, B = 256", least[8], 5000.0);
    let ratio = least[6] / least[7];
    println!("two threads {ratio:.2} x faster  gate 1.7: {}", if ratio >= 1.7 { "met" } else { "MISSED" });
}
