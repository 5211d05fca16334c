//! `reticent-experiments vips-lda`, `vips-table3` and `vips-sbn`

use std::path::PathBuf;

use reticent_core::model::sigmoid_belief::Curvature;
use reticent_experiments::vips::topics::{Experiment, Method, Report};
use reticent_experiments::vips::{Corpus, Images, belief};
use serde_json::json;

use super::output::{self, Failure, write};
use super::progress::Progress;
use super::{check_budgets, check_minimum, not_usage, write_all};

/// Topics of an encyclopedia, private and not.
#[derive(clap::Args)]
#[command(after_help = "\
After Section 4 of Park, Foulds, Chaudhuri and Welling, \"Variational Bayes in private settings\". Neighbours exchange one document. The
paper's sensitivity is that of adding one, and its delta of 1e-4 is above one over the number of documents: what it prints as
epsilon 2.38 costs what the last column says.

Example:
  reticent-experiments vips-lda --documents 20000 --topics 20")]
pub(super) struct TopicsArgs {
    /// The folder of wiki_bow.parquet and wiki_vocab.txt.
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    data: PathBuf,
    /// Number of documents to read.
    #[arg(long, default_value_t = 326_297)]
    documents: usize,
    /// Number of held-out documents.
    #[arg(long, default_value_t = 2000)]
    held_out: usize,
    /// Topics.
    #[arg(long, default_value_t = 50)]
    topics: usize,
    /// The actual epsilon.
    #[arg(long, default_value_t = 2.38, allow_negative_numbers = true)]
    epsilon: f64,
    /// Its delta.
    #[arg(long, default_value_t = 1e-6, allow_negative_numbers = true)]
    delta: f64,
    /// Write CSV, JSON and SVG to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Which of the two tables of topics.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Perplexities,
    Words,
}

pub(super) fn topics(args: &TopicsArgs, shown: Shown) -> Result<String, Failure> {
    check_budgets(&[args.epsilon], args.delta)?;
    check_minimum("--topics", args.topics, 1)?;
    check_minimum("--held-out", args.held_out, 1)?;
    args.out.as_deref().map_or(Ok(()), output::make_folder)?;
    let corpus = Corpus::read(&args.data, args.documents).map_err(not_usage)?;
    let experiment = Experiment {
        topics: args.topics,
        held_out: args.held_out,
        epsilon: args.epsilon,
        delta: args.delta,
        batches: 10,
    };
    let progress = Progress::new("fits", Method::ALL.len());
    let mut outcomes = Vec::new();
    for method in Method::ALL {
        outcomes.push(experiment.fit(method, &corpus).map_err(not_usage)?);
        progress.show(outcomes.len());
    }
    drop(progress);
    let report = Report { baseline: experiment.baseline(&corpus).map_err(not_usage)?, outcomes };
    let (name, table) = match shown {
        Shown::Perplexities => ("vips-lda", report.table().map_err(not_usage)?),
        Shown::Words => ("vips-table3", report.words(&corpus.words, 3).map_err(not_usage)?),
    };
    let document = json!({
        "documents": corpus.documents.len(),
        "held_out": args.held_out,
        "delta": args.delta,
        "paper": { "epsilon": 2.38, "delta": 1e-4, "noise_multiplier": 1.24, "batch": 20_000 },
        "baseline": report.baseline,
        "outcomes": report.outcomes,
        "table": table.to_json(),
    });
    write_all(args.out.as_deref(), name, &table.to_csv(), &document)?;
    if let Some(folder) = &args.out {
        write(folder, &format!("{name}.svg"), &report.figure())?;
    }
    if args.json {
        return Ok(output::json(&document));
    }
    Ok(format!(
        "{} documents, of which {} are held out; {} topics; replace-one adjacency, delta {:e}. The paper prints epsilon 2.38 at delta 1e-4.\n\n{}",
        corpus.documents.len(),
        args.held_out,
        args.topics,
        args.delta,
        table.to_text()
    ))
}

/// Sigmoid belief networks of binary images, private and not.
#[derive(clap::Args)]
#[command(after_help = "\
After Figure 8 of the same paper. One network sees as many images as there are, in batches; accuracy is the share of pixels of test images
that are reconstructed from their hidden units. The paper's accuracies are only drawn. With --six-blocks the likelihood is bounded as in
the paper, which takes hours at 100 units.

Example:
  reticent-experiments vips-sbn --units 20 --images 5000 --batches 400,800")]
pub(super) struct BeliefArgs {
    /// The folder of mnist_train.parquet and mnist_test.parquet.
    #[arg(long, value_name = "DIR", default_value = "../shared/data")]
    data: PathBuf,
    /// Number of training images to read.
    #[arg(long, default_value_t = 60_000)]
    images: usize,
    /// Hidden units.
    #[arg(long, default_value_t = 100)]
    units: usize,
    /// Batch sizes.
    #[arg(long, value_delimiter = ',', default_values_t = [400, 800, 1600, 3200])]
    batches: Vec<usize>,
    /// The noise multiplier.
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    noise_multiplier: f64,
    /// The delta of the true epsilon.
    #[arg(long, default_value_t = 1e-6, allow_negative_numbers = true)]
    delta: f64,
    /// Test images.
    #[arg(long, default_value_t = 1000)]
    tested: usize,
    /// Six blocks of statistics, as in the paper.
    #[arg(long)]
    six_blocks: bool,
    /// Write CSV, JSON and SVG to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn belief(args: &BeliefArgs) -> Result<String, Failure> {
    check_budgets(&[args.noise_multiplier], args.delta)?;
    check_minimum("--units", args.units, 1)?;
    args.batches.iter().try_for_each(|batch| check_minimum("--batches", *batch, 1))?;
    args.out.as_deref().map_or(Ok(()), output::make_folder)?;
    let train = Images::read(&args.data, "mnist_train.parquet", args.images).map_err(not_usage)?;
    let test = Images::read(&args.data, "mnist_test.parquet", args.tested).map_err(not_usage)?;
    let experiment = belief::Experiment {
        units: args.units,
        batches: args.batches.clone(),
        noise_multiplier: args.noise_multiplier,
        curvature: if args.six_blocks { Curvature::PolyaGamma } else { Curvature::Quadratic },
        delta: args.delta,
        tested: args.tested,
    };
    let progress = Progress::new("batch sizes", args.batches.len());
    let outcomes = experiment.run(&train, &test, |done| progress.show(done)).map_err(not_usage)?;
    drop(progress);
    let table = belief::table(&outcomes).map_err(not_usage)?;
    let document = json!({ "units": args.units, "noise_multiplier": args.noise_multiplier, "delta": args.delta, "outcomes": outcomes });
    write_all(args.out.as_deref(), "vips-sbn", &table.to_csv(), &document)?;
    if let Some(folder) = &args.out {
        write(folder, "vips-sbn.svg", &belief::figure(&outcomes))?;
    }
    if args.json {
        return Ok(output::json(&document));
    }
    Ok(format!(
        "{} images of {} pixels, {} units, noise multiplier {}; replace-one adjacency. The printed epsilon, that by moments and the tight one \
         are at the paper's delta of 1e-4, the last at {:e}.\n\n{}",
        train.values.len() / train.pixels,
        train.pixels,
        args.units,
        args.noise_multiplier,
        args.delta,
        table.to_text()
    ))
}
