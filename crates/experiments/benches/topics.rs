//! Topics without privacy beside scikit-learn's online LDA: the same 20,000 documents of an encyclopedia, topics, priors, step sizes, batches and
//! passes, and one bound on the perplexity of the same held-out documents for both.
//!
//! Needs the files of `reticent-experiments vips-lda` in `../shared/data` (or in `../data` of where `RETICENT_REFERENCE` points), and a Python
//! that has scikit-learn, named by `RETICENT_PEERS_PYTHON`.

#![allow(clippy::print_stdout, reason = "a bench reports")]

use reticent_core::budget::Unlimited;
use reticent_core::engine::vb::{StepSize, VbPlan as _};
use reticent_core::model::topics::{Layout, TopicModel, TopicPosterior, TopicsPlan};
use reticent_core::wall::NoiseSource;
use reticent_experiments::vips::Corpus;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const DOCUMENTS: usize = 20_000;
const HELD_OUT: usize = 2000;
const TOPICS: usize = 50;
const PASSES: usize = 10;
const BATCH: usize = 128;
const SEEDS: u64 = 3;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::var_os("RETICENT_REFERENCE").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        |folder| PathBuf::from(folder).join("../data"),
    );
    let Ok(corpus) = Corpus::read(&folder, DOCUMENTS + HELD_OUT) else {
        println!("no documents in {}: skipped", folder.display());
        return Ok(());
    };
    let held_out = corpus.held_out(DOCUMENTS);
    let longest = corpus.documents.iter().map(Vec::len).max().unwrap_or(1);
    let model = TopicModel::new(TOPICS, corpus.words.len(), Layout::Slots(longest));
    let mut ours = Vec::new();
    for seed in 1..=SEEDS {
        let start = Instant::now();
        let perplexity = fit(&model, &corpus, seed)?.perplexity(&held_out);
        println!("ours, seed {seed}: {perplexity:.1} in {:.0} s", start.elapsed().as_secs_f64());
        ours.push(perplexity);
    }
    let Ok(python) = std::env::var("RETICENT_PEERS_PYTHON") else { return Ok(()) };
    let mut peers = Vec::new();
    for seed in 1..=SEEDS {
        let start = Instant::now();
        let perplexity = peer(&python, &model, &corpus, seed)?.perplexity(&held_out);
        println!("scikit-learn, seed {seed}: {perplexity:.1} in {:.0} s", start.elapsed().as_secs_f64());
        peers.push(perplexity);
    }
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    println!("ours is {:+.1} % on average", 100.0 * (mean(&ours) / mean(&peers) - 1.0));
    let batches = TopicsPlan::without_privacy(&model, DOCUMENTS, Some(DOCUMENTS / 10), 10 * PASSES as u64);
    println!("with our own batches and step sizes: {:.1}", run(&batches, &corpus)?.perplexity(&held_out));
    Ok(())
}

/// With scikit-learn's step sizes and start.
fn fit(model: &TopicModel, corpus: &Corpus, seed: u64) -> Result<TopicPosterior, Box<dyn Error>> {
    let steps = (PASSES * DOCUMENTS).div_ceil(BATCH) as u64;
    let mut plan = TopicsPlan::without_privacy(model, DOCUMENTS, Some(BATCH), steps);
    plan.step_size = StepSize::Decay { delay: 10.0, forgetting: 0.7 };
    (plan.start_shape, plan.start_seed) = (100.0, seed);
    run(&plan, corpus)
}

fn run(plan: &TopicsPlan, corpus: &Corpus) -> Result<TopicPosterior, Box<dyn Error>> {
    let layout = plan.model.layout;
    let records = corpus.stream(DOCUMENTS, layout)?;
    Ok(plan.run(records, NoiseSource::from_os()?, None, Box::new(Unlimited))?.0)
}

fn peer(
    python: &str,
    model: &TopicModel,
    corpus: &Corpus,
    seed: u64,
) -> Result<TopicPosterior, Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("reticent-topics-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let documents = &corpus.documents[..DOCUMENTS];
    let ends = documents.iter().scan(0u64, |end, document| {
        *end += document.len() as u64;
        Some(*end)
    });
    let starts: Vec<u8> = std::iter::once(0).chain(ends).flat_map(u64::to_le_bytes).collect();
    std::fs::write(folder.join("starts"), starts)?;
    let cells = || documents.iter().flatten();
    let words: Vec<u8> = cells().flat_map(|(word, _)| word.to_le_bytes()).collect();
    std::fs::write(folder.join("words"), words)?;
    let counts: Vec<u8> = cells().flat_map(|(_, count)| count.to_le_bytes()).collect();
    std::fs::write(folder.join("counts"), counts)?;
    let numbers = [model.words, TOPICS, PASSES, BATCH, seed as usize].map(|x| x.to_string());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/topics.py");
    let status = Command::new(python).arg(script).arg(&folder).args(numbers).status()?;
    if !status.success() {
        return Err("scikit-learn could not be run".into());
    }
    let bytes = std::fs::read(folder.join("topics"))?;
    std::fs::remove_dir_all(&folder)?;
    let lambda = bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    Ok(TopicPosterior { model: *model, lambda, noise_sd: 0.0 })
}
