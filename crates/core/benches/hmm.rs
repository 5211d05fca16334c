//! Gibbs sampling of a hidden Markov model of 10 states on 51 regions and 36 months with five fields, compared with
//! the same sampler in NumPy.
//!
//! `RETICENT_PEERS_PYTHON` names a Python that has NumPy. Both get the same counts, use one thread, and are timed in
//! CPU seconds (wall seconds where the system does not report them).

#![allow(clippy::print_stdout, reason = "a bench reports")]

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use reticent_core::model::hmm::{Counts, Evidence, Gibbs, Hmm, Layout, Noise, NoiseTreatment};
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

const STATES: usize = 10;
const ITERATIONS: usize = 200;
/// Maximum share of the time of the peer.
const MAX_SHARE: f64 = 0.1;

/// About 50 events in each cell, with probabilities that depend on the region and the season.
fn counts(layout: &Layout) -> Vec<f64> {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut counts = vec![0.0; layout.width()];
    for (cell, counts) in counts.chunks_mut(layout.categories()).enumerate() {
        let kind = cell / layout.steps % 4 + usize::from(cell % 12 < 6);
        for _ in 0..20 + 5 * (cell / layout.steps % 13) {
            for field in layout.field_ranges() {
                // The smaller of two is more frequent, by how much depends on the kind.
                let draw = (rng.random::<f64>().powi(1 + kind as i32) * field.len() as f64) as usize;
                counts[field][draw] += 1.0;
            }
        }
    }
    counts
}

/// The mean of five runs, after one to warm up.
fn seconds(mut run: impl FnMut()) -> f64 {
    run();
    let (cpu, wall) = (cpu_seconds(), Instant::now());
    (0..5).for_each(|_| run());
    let spent = cpu_seconds().zip(cpu).map(|(after, before)| after - before);
    spent.unwrap_or(wall.elapsed().as_secs_f64()) / 5.0
}

/// CPU time of this thread.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds * 1e-9)
}

fn main() {
    let layout = Layout { regions: 51, steps: 36, fields: vec![8, 12, 10, 9, 3] };
    let values = counts(&layout);
    let model = Hmm::new(layout.clone(), STATES).expect("a model");
    let sample = |evidence: &Evidence| {
        let mut gibbs = Gibbs::new(evidence, 1);
        (0..ITERATIONS).for_each(|_| {
            black_box(gibbs.step());
        });
    };
    let exact = Counts::new(&layout, values.clone(), None).expect("counts");
    let evidence = Evidence::new(&model, &exact, NoiseTreatment::Naive).expect("evidence");
    let ours = seconds(|| sample(&evidence));
    println!("{ITERATIONS} iterations, {} cells, {STATES} states", layout.cells());
    println!("naive                 {ours:>8.3} s");
    let noisy = Counts::new(&layout, values.clone(), Some(Noise::Laplace { scale: 1.0 })).expect("counts");
    let aware =
        seconds(|| sample(&Evidence::new(&model, &noisy, NoiseTreatment::NoiseAware).expect("evidence")));
    println!("noise-aware           {aware:>8.3} s, with its curves");

    let Some(python) = std::env::var_os("RETICENT_PEERS_PYTHON") else { return };
    let file = std::env::temp_dir().join(format!("reticent-hmm-{}.txt", std::process::id()));
    let text: Vec<String> = values.iter().map(|count| count.to_string()).collect();
    std::fs::write(&file, text.join(" ")).expect("a file");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/hmm_peer.py");
    let output = Command::new(python)
        .arg(script)
        .arg(&file)
        .env("OMP_NUM_THREADS", "1")
        .output()
        .expect("Python runs");
    std::fs::remove_file(&file).expect("the file is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let peer: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("seconds");
    println!("NumPy                 {peer:>8.3} s");
    let share = ours / peer;
    let verdict = if share <= MAX_SHARE { "met" } else { "MISSED" };
    println!("naive over NumPy      {share:>8.4}    (wanted {MAX_SHARE}: {verdict})");
}
