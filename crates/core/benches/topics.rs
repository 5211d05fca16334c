//! The E-step of topics (K = 50, V = 8,000, documents of about a hundred words): documents per second on one thread
//! and on two, and as a multiple of scikit-learn's in the same run if `RETICENT_PEERS_PYTHON` names a Python that has
//! it.
//!
//! Times are CPU times, so that they hold on a busy machine too; those on two threads are wall times. The fastest of
//! several rounds counts, for both.

#![allow(clippy::print_stdout, reason = "a bench reports")]

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use reticent_core::model::topics::{Document, Expected, Until};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

const TOPICS: usize = 50;
const WORDS: usize = 8000;
const DOCUMENTS: usize = 4000;

/// Words by Zipf's law, shuffled differently for each topic; documents of three topics.
fn corpus() -> (Vec<Document>, Vec<f64>) {
    let mut rng = SmallRng::seed_from_u64(1);
    let mut topics: Vec<Vec<usize>> = vec![(0..WORDS).collect(); TOPICS];
    for topic in &mut topics {
        (0..2000).for_each(|_| topic.swap(rng.random_range(0..400), rng.random_range(0..WORDS)));
    }
    let rank = |u: f64| ((WORDS as f64).powf(u) as usize).min(WORDS - 1);
    let mut lambda = vec![1.0 / TOPICS as f64; TOPICS * WORDS];
    let documents = (0..DOCUMENTS)
        .map(|_| {
            let own: [usize; 3] = std::array::from_fn(|_| rng.random_range(0..TOPICS));
            let mut counts = std::collections::BTreeMap::new();
            for _ in 0..100 {
                let topic = own[rng.random_range(0..3)];
                let word = topics[topic][rank(rng.random())];
                *counts.entry(word).or_insert(0.0) += 1.0;
                lambda[word * TOPICS + topic] += 20.0;
            }
            let (words, counts) = counts.into_iter().unzip();
            Document { words, counts }
        })
        .collect();
    (documents, lambda)
}

/// One E-step over documents, with the statistics added up.
fn step(expected: &Expected, documents: &[Document]) -> Vec<f64> {
    let mut sums = vec![0.0; TOPICS * WORDS];
    let mut out = Vec::new();
    for document in documents {
        out.clear();
        out.resize(document.words.len() * TOPICS, 0.0);
        expected.infer(document, 1.0 / TOPICS as f64, Until::default()).write(&mut out);
        for (word, out) in document.words.iter().zip(out.chunks_exact(TOPICS)) {
            sums[word * TOPICS..].iter_mut().zip(out).for_each(|(sum, x)| *sum += x);
        }
    }
    sums
}

/// CPU nanoseconds of this thread, where the system reports them, and otherwise wall time.
fn busy(start: Instant) -> f64 {
    let of = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = of.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| start.elapsed().as_secs_f64(), |x| x * 1e-9)
}

/// Seconds of this many threads for a step, each for its part: wall time, and CPU time of the slowest.
fn threads(expected: &Expected, documents: &[Document], threads: usize) -> (f64, f64) {
    let begun = Instant::now();
    let parts = documents.chunks(DOCUMENTS.div_ceil(threads));
    let slowest = std::thread::scope(|scope| {
        let running: Vec<_> = parts
            .map(|part| {
                scope.spawn(move || {
                    let start = busy(begun);
                    (0..3).for_each(|_| drop(black_box(step(expected, part))));
                    std::thread::yield_now(); // updates the CPU time that the system reports
                    busy(begun) - start
                })
            })
            .collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).fold(0.0, f64::max)
    });
    (begun.elapsed().as_secs_f64(), slowest)
}

/// Number of rounds, of which the fastest counts.
const ROUNDS: usize = 15;

fn fastest(seconds: impl Iterator<Item = f64>) -> f64 {
    seconds.fold(f64::INFINITY, f64::min)
}

fn main() {
    let (documents, lambda) = corpus();
    let expected = Expected::new(&lambda, TOPICS);
    let begun = Instant::now();
    let timed = |work: &dyn Fn()| {
        let start = busy(begun);
        work();
        busy(begun) - start
    };
    // The system counts in ticks of some milliseconds: a round is some tenths of a second.
    let condition = fastest(
        (0..ROUNDS)
            .map(|_| timed(&|| (0..100).for_each(|_| drop(black_box(Expected::new(&lambda, TOPICS)))))),
    );
    println!("one thread: {:.2} ms to prepare the topics", 10.0 * condition);
    let seconds = fastest(
        (0..ROUNDS).map(|_| timed(&|| (0..5).for_each(|_| drop(black_box(step(&expected, &documents)))))),
    );
    let ours = 5.0 * DOCUMENTS as f64 / seconds;
    println!("one thread: {ours:.0} documents/s");
    let (one, two): (Vec<_>, Vec<_>) = (0..2 * ROUNDS)
        .map(|_| (threads(&expected, &documents, 1), threads(&expected, &documents, 2)))
        .unzip();
    let faster =
        |seconds: fn(&(f64, f64)) -> f64| fastest(one.iter().map(seconds)) / fastest(two.iter().map(seconds));
    println!(
        "two threads: {:.2} times as fast by the clock, and {:.2} by the processor time of the slower thread",
        faster(|(clock, _)| *clock),
        faster(|(_, processor)| *processor)
    );
    if let Ok(python) = std::env::var("RETICENT_PEERS_PYTHON") {
        match peer(&python, &documents, &lambda) {
            Some(peer) => {
                println!("scikit-learn: {peer:.0} documents/s; ours is {:.1} times that", ours / peer);
            }
            None => println!("scikit-learn could not be measured with {python}"),
        }
    }
}

/// Documents per second of scikit-learn, on the same documents and topics.
fn peer(python: &str, documents: &[Document], lambda: &[f64]) -> Option<f64> {
    let folder = std::env::temp_dir().join(format!("reticent-topics-{}", std::process::id()));
    std::fs::create_dir_all(&folder).ok()?;
    let mut starts = vec![0u64];
    starts.extend(documents.iter().scan(0, |at, document| {
        *at += document.words.len() as u64;
        Some(*at)
    }));
    let write = |name: &str, bytes: Vec<u8>| std::fs::write(folder.join(name), bytes).ok();
    write("starts", starts.iter().flat_map(|x| x.to_le_bytes()).collect())?;
    let words = documents.iter().flat_map(|d| &d.words).flat_map(|&x| (x as u64).to_le_bytes());
    write("words", words.collect())?;
    write("counts", documents.iter().flat_map(|d| &d.counts).flat_map(|x| x.to_le_bytes()).collect())?;
    write("lambda", lambda.iter().flat_map(|x| x.to_le_bytes()).collect())?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/topics.py");
    let arguments = [script.as_os_str(), folder.as_os_str()];
    let output = std::process::Command::new(python)
        .args(arguments)
        .args([TOPICS.to_string(), WORDS.to_string()])
        .output()
        .ok()?;
    std::fs::remove_dir_all(&folder).ok()?;
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    Some(found["documents"].as_f64()? / found["seconds"].as_f64()?)
}
