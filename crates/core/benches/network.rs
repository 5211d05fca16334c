//! SEP and DP-SEP on networks with 8 inputs and 50 hidden units and with 90 and 100, as multiples of the time of a
//! draw from `rand_distr::StandardNormal` over `SmallRng`, interleaved in one run. Everything is timed in windows of
//! about a millisecond, of which the shortest counts, so that other work on the machine matters little.

#![allow(clippy::print_stdout, reason = "a bench reports")]

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, StandardNormal};
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::engine::{Average, Coordinates, Damping, Phase, Sep, SiteModel};
use reticent_core::model::network::{Network, NetworkCavity, OutputNoise, Start};
use reticent_core::wall::{Geometry, NoiseSource, Plan, Records, Sampler, SumId, Sums, Wall};
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

/// The shortest of several windows of `count` repetitions, in seconds per repetition.
fn shortest(windows: u64, count: usize, mut window: impl FnMut()) -> f64 {
    let once = |_| {
        let clock = Instant::now();
        window();
        clock.elapsed().as_secs_f64() / count as f64
    };
    (0..windows).map(once).fold(f64::INFINITY, f64::min)
}

/// Seconds per record.
fn run(model: &Network, batch: usize, steps: u64, private: bool, coordinates: Coordinates) -> f64 {
    const WINDOWS: u64 = 16;
    let (mut wall, sums) = wall(model, batch, WINDOWS * steps, private);
    // Small steps with noise, so that it does not move the state out of its domain: the cost of privacy is measured.
    let damping = Damping::Step(if private { 1e-4 } else { 1.0 });
    let phase = Phase { sums, steps, coordinates, damping, clip: None };
    let mut state = Sep::new(model, N, &model.start(1, Start::Prior));
    let seconds = shortest(WINDOWS, steps as usize * batch, || {
        state.run(model, &mut wall, &phase, Average::Last).expect("steps");
    });
    black_box(state.fit(model));
    seconds
}

/// Seconds for a cavity, and for a site.
fn parts(model: &Network) -> (f64, f64) {
    const COUNT: usize = 512;
    let values = values(model.inputs());
    let start = model.start(1, Start::Prior);
    let natural: Vec<f64> = model.prior().iter().zip(&start).map(|(p, l)| p + l).collect();
    let (mut cavity, mut out) = (NetworkCavity::default(), vec![0.0; model.width()]);
    let prepare =
        shortest(16, COUNT, || (0..COUNT).for_each(|_| model.condition(black_box(&natural), &mut cavity)));
    let mut records = values.chunks_exact(model.inputs() + 1);
    let site = shortest((N / COUNT) as u64, COUNT, || {
        for record in records.by_ref().take(COUNT) {
            model.site(&cavity, record, &mut out);
            black_box(&mut out);
        }
    });
    (prepare, site)
}

fn normal_draw() -> f64 {
    let mut rng = SmallRng::seed_from_u64(2);
    let mut draws = vec![0.0f64; 1000];
    shortest(10, 100_000, || {
        for _ in 0..100 {
            draws.fill_with(|| StandardNormal.sample(&mut rng));
            black_box(&mut draws);
        }
    })
}

fn main() {
    let model = Network::new(&[D, 50], OutputNoise::default()).expect("a network");
    let large = Network::new(&[90, 100], OutputNoise::default()).expect("a network");
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    let (one, two) = (pool(1), pool(2));
    let mut fastest = [f64::INFINITY; 10];
    for _ in 0..15 {
        let (cavity, site) = parts(&model);
        let found = [
            normal_draw(),
            cavity,
            site,
            one.install(|| run(&model, 1, 500, false, Coordinates::Factor)),
            one.install(|| run(&model, 1, 500, true, Coordinates::Factor)),
            one.install(|| run(&model, 1, 500, true, Coordinates::Centred)),
            one.install(|| run(&model, 256, 4, true, Coordinates::Centred)),
            two.install(|| run(&model, 256, 4, true, Coordinates::Centred)),
            one.install(|| run(&large, 256, 1, true, Coordinates::Centred)),
            two.install(|| run(&large, 256, 1, true, Coordinates::Centred)),
        ];
        fastest.iter_mut().zip(found).for_each(|(fastest, found)| *fastest = fastest.min(found));
    }
    let draw = fastest[0];
    println!("a normal draw                    {:>8.2} ns", draw * 1e9);
    let report = |what: &str, time: f64, gate: f64| {
        let met = if time / draw <= gate { "met" } else { "MISSED" };
        let gate = if gate.is_finite() { format!("gate {gate}: {met}") } else { String::new() };
        println!("{what:<32} {:>8.2} us, {:>6.0} draws  {gate}", time * 1e6, time / draw);
    };
    report("a cavity", fastest[1], f64::INFINITY);
    report("a site", fastest[2], f64::INFINITY);
    report("SEP, B = 1", fastest[3], 700.0);
    report("DP-SEP, B = 1", fastest[4], 1400.0);
    report("DP-SEP, B = 1, centred", fastest[5], 1400.0);
    report("DP-SEP, B = 256", fastest[6], 500.0);
    report("the same, two threads", fastest[7], f64::INFINITY);
    report("90 inputs, 100 units, B = 256", fastest[8], 5000.0);
    report("the same, two threads", fastest[9], f64::INFINITY);
    for (what, ratio) in [("8 inputs", fastest[6] / fastest[7]), ("90 inputs", fastest[8] / fastest[9])] {
        let met = if ratio >= 1.7 { "met" } else { "MISSED" };
        println!("{what}: two threads {ratio:.2} x faster  gate 1.7: {met}");
    }
}
