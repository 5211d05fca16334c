//! SEP and DP-SEP on a mixture of Gaussians (D = 4, J = 4, full covariance), as multiples of the time of a draw from
//! `rand_distr::StandardNormal` over `SmallRng`, interleaved in one run.

#![allow(clippy::print_stdout, reason = "a bench reports")]

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, StandardNormal};
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::engine::{Average, Coordinates, Damping, Phase, SiteModel, ep, sep};
use reticent_core::family::Covariance;
use reticent_core::model::mixture::{Mixture, NoiseVariance, Weights};
use reticent_core::wall::{Geometry, NoiseSource, Plan, Records, Sampler, SumId, Sums, Wall};
use std::hint::black_box;
use std::time::Instant;

const N: usize = 1000;
const D: usize = 4;
const J: usize = 4;
const STEPS: u64 = 20_000;

fn values(rows: usize) -> Vec<f64> {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    (0..rows)
        .flat_map(|n| (0..D).map(move |i| (n, i)))
        .map(|(n, i)| means()[n % J][i] + 0.5 * normal())
        .collect()
}

fn means() -> Vec<Vec<f64>> {
    (0..J).map(|k| (0..D).map(|i| 2.0 * ((k * D + i) as f64 * 1.3).sin()).collect()).collect()
}

fn model() -> Mixture {
    Mixture::new(&means(), 10.0, Covariance::Full, NoiseVariance::Known(0.25), Weights::Uniform)
        .expect("a mixture")
}

fn wall(model: &Mixture, rows: usize, batch: usize, steps: u64, private: bool) -> (Wall, SumId) {
    let mut plan = Plan::new(rows, Adjacency::ReplaceOne);
    let sampler = if batch == rows { Sampler::Full } else { Sampler::Fixed { batch } };
    let geometry = Geometry::Ball { radius: 20.0 };
    let sums =
        Sums { what: "sites".into(), width: model.width(), geometry, sampler, noise_multiplier: 2.0, steps };
    let id = plan.sums(sums).expect("a plan");
    let records = Records::new(values(rows), D).expect("whole rows");
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
fn run(model: &Mixture, rows: usize, batch: usize, steps: u64, private: bool) -> f64 {
    let (mut wall, id) = wall(model, rows, batch, steps, private);
    // Small steps, so that noise does not move the state out of its domain: the cost of privacy is measured.
    let damping = Damping::Step(1e-3);
    let phases = [Phase { sums: id, steps, coordinates: Coordinates::Factor, damping, clip: None }];
    let start = model.start(&means(), 100.0);
    let clock = Instant::now();
    black_box(sep(model, &mut wall, rows, &start, &phases, Average::Last).expect("a fit"));
    clock.elapsed().as_secs_f64() / (steps as f64 * batch as f64)
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
    let model = model();
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    let (one, two) = (pool(1), pool(2));
    let mut fastest = [f64::INFINITY; 6];
    for _ in 0..7 {
        let found = [
            normal_draw(),
            one.install(|| run(&model, N, 1, STEPS, false)),
            one.install(|| run(&model, N, 1, STEPS, true)),
            one.install(|| run(&model, 20_000, 1000, 400, true)),
            two.install(|| run(&model, 20_000, 1000, 400, true)),
            {
                let data = values(N);
                let clock = Instant::now();
                black_box(ep(&model, &data, D, 5, 0.5));
                clock.elapsed().as_secs_f64() / (5 * N) as f64
            },
        ];
        fastest.iter_mut().zip(found).for_each(|(fastest, found)| *fastest = fastest.min(found));
    }
    let [draw, plain, private, single, double, per_site] = fastest;
    let gate = |met: bool| if met { "met" } else { "MISSED" };
    println!("a normal draw                 {:>9.2} ns", draw * 1e9);
    println!(
        "SEP, B = 1                    {:>9.2} us a record, {:>5.0} draws  gate 830: {}",
        plain * 1e6,
        plain / draw,
        gate(plain / draw <= 830.0)
    );
    println!(
        "DP-SEP, B = 1                 {:>9.2} us a record, {:>5.2} x SEP  gate 1.3: {}",
        private * 1e6,
        private / plain,
        gate(private / plain <= 1.3)
    );
    println!("DP-SEP, B = 1000, one thread  {:>9.2} us a record", single * 1e6);
    println!(
        "DP-SEP, B = 1000, two threads {:>9.2} us a record, {:>5.2} x faster  gate 1.7: {}",
        double * 1e6,
        single / double,
        gate(single / double >= 1.7)
    );
    println!("EP                            {:>9.2} us a record", per_site * 1e6);
}
