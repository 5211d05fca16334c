//! One module for each group of experiments, with its arguments and output.

mod adult;
mod conjugate;
mod coverage;
mod crashes;
mod fig1;
mod memory;
mod output;
mod progress;
mod table1;
mod uci;
mod vips;
mod year;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use reticent_experiments::error::ExperimentError;

use output::{Failure, write_all};

/// Reproduce published experiments, on simulated or public data.
#[derive(Parser)]
#[command(name = "reticent-experiments", version, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    /// Error of posteriors of a mixture, at several budgets.
    Table1(table1::Args),
    /// The posteriors of one data set as a picture, with a page around it.
    Fig1(fig1::Args),
    /// Root mean squared errors of regressions on five data sets, with and without privacy.
    Table2(uci::Args),
    /// Log-likelihoods of the same.
    Table3(uci::Args),
    /// Private hidden Markov models of crashes by region and month, compared with naive Bayes.
    FouldsHmm(crashes::Args),
    /// Time and memory of DP-SEP at the size of the Year data set.
    Year(year::Args),
    /// Logistic regression on the adult data set, by private variational Bayes and others.
    VipsAdult(adult::Args),
    /// Coverage of private credible regions.
    Coverage(coverage::Args),
    /// Memory of SEP and EP by number of records (Linux only).
    Memory(memory::Args),
    /// Private posteriors of one rate as a picture.
    FouldsFig1(conjugate::Fig1Args),
    /// Error of samples of a rate, by number of records.
    FouldsFig2(conjugate::Fig2Args),
    /// Efficiency of posterior samples relative to the best estimate, by number of records.
    FouldsAre(conjugate::AreArgs),
    /// Coverage of intervals from noisy statistics.
    FouldsCoverage(conjugate::CoverageArgs),
    /// Naive Bayes on the census income data, with and without privacy.
    NaiveBayes(conjugate::NaiveBayesArgs),
    /// Private topics of an encyclopedia: perplexities.
    VipsLda(vips::TopicsArgs),
    /// Private topics of an encyclopedia: their words.
    VipsTable3(vips::TopicsArgs),
    /// Private sigmoid belief networks of binary images.
    VipsSbn(vips::BeliefArgs),
    /// One measurement for `memory`.
    #[command(hide = true)]
    MemoryOf(memory::OneArgs),
}

/// Runs the command with the arguments of the process.
pub(super) fn main() -> ExitCode {
    match run(&Arguments::parse().experiment) {
        Ok(text) => output::print(&text),
        Err(failure) => failure.report(),
    }
}

fn run(experiment: &Experiment) -> Result<String, Failure> {
    match experiment {
        Experiment::Table1(args) => table1::run(args),
        Experiment::Fig1(args) => fig1::run(args),
        Experiment::Table2(args) => uci::table(args, uci::Number::Two),
        Experiment::Table3(args) => uci::table(args, uci::Number::Three),
        Experiment::FouldsHmm(args) => crashes::table(args),
        Experiment::Year(args) => year::run(args),
        Experiment::VipsAdult(args) => adult::run(args),
        Experiment::Coverage(args) => coverage::run(args),
        Experiment::Memory(args) => memory::run(args),
        Experiment::FouldsFig1(args) => conjugate::fig1(args),
        Experiment::FouldsFig2(args) => conjugate::fig2(args),
        Experiment::FouldsAre(args) => conjugate::are(args),
        Experiment::FouldsCoverage(args) => conjugate::covered(args),
        Experiment::NaiveBayes(args) => conjugate::naive_bayes(args),
        Experiment::VipsLda(args) => vips::topics(args, vips::Shown::Perplexities),
        Experiment::VipsTable3(args) => vips::topics(args, vips::Shown::Words),
        Experiment::VipsSbn(args) => vips::belief(args),
        Experiment::MemoryOf(args) => memory::one(args),
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        let hint = match error {
            ExperimentError::NoData { .. } => "name the folder of the data with --data",
            ExperimentError::File { .. } => "name a folder that you may write to with --out",
            ExperimentError::TooFew { .. } => "read more records, or use smaller batches",
            _ => "see --help for what each option means",
        };
        Self::from_error(&error, hint)
    }
}

/// A failure with exit code 1: not of the usage.
fn not_usage(error: ExperimentError) -> Failure {
    Failure::from(error).not_usage()
}

/// Validates budgets before hours of work.
fn check_budgets(epsilons: &[f64], delta: f64) -> Result<(), Failure> {
    if let Some(epsilon) = epsilons.iter().find(|epsilon| !(**epsilon > 0.0 && epsilon.is_finite())) {
        return Err(Failure::usage(
            format!("epsilon must be positive and finite, not {epsilon}"),
            "use a number such as 1",
        ));
    }
    if !(delta > 0.0 && delta < 1.0) {
        let hint = "delta is a small probability, well below 1/N, such as 1e-5";
        return Err(Failure::usage(format!("delta must be in (0, 1), not {delta}"), hint));
    }
    Ok(())
}

/// Refuses a number below its minimum.
fn check_minimum(option: &str, number: usize, least: usize) -> Result<(), Failure> {
    if number < least {
        let message = format!("{option} must be at least {least}, not {number}");
        return Err(Failure::usage(message, format!("use {option} {least} or more")));
    }
    Ok(())
}
