//! The `reticent` command.
//!
//! Standard output is data, standard error is for people; 0 is success, 1 a failure, 2 bad usage.

mod account;
mod bounds;
mod calibrate;
mod data;
mod demo;
mod effects;
mod evaluate;
mod event;
mod fit;
mod journal;
mod ledger;
mod manual;
mod opened;
mod output;
mod plan;
mod predict;
mod progress;
mod report;
mod reproduce;
mod request;
mod resume;
mod schema;
mod show;
mod threads;
mod watched;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Bayesian posteriors you may publish, and what they cost in privacy.
#[derive(Parser)]
#[command(name = "reticent", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write a schema to fill in, from the names and types of a file's columns.
    Schema(schema::Args),
    /// Fit a model to private records, and write a posterior that may be published.
    Fit(Box<fit::Args>),
    /// Predict the targets of records, with their uncertainty.
    Predict(predict::Args),
    /// How good a model is on records whose targets are known. Not private.
    Evaluate(evaluate::Args),
    /// What a model file says: the posterior in short, and the receipt.
    Show(show::Args),
    /// One page about a model, for any browser.
    Report(report::Args),
    /// What a sequence of private releases costs.
    Account(account::Args),
    /// The noise, or the number of steps, that meets a target.
    Calibrate(calibrate::Args),
    /// The budget of each data set, in one file.
    Ledger(ledger::Args),
    /// What a private fit would release, cost and achieve, before any record is read.
    Plan(plan::Args),
    /// Published experiments again, on simulated or public data.
    Reproduce(reproduce::Args),
    /// A private table, fitted at several budgets, from schema to report.
    Demo(demo::Args),
    /// Completions for a shell.
    #[command(hide = true)]
    Completions(manual::CompletionsArgs),
    /// Manual pages.
    #[command(hide = true)]
    Man(manual::ManArgs),
}

fn main() -> ExitCode {
    threads::start();
    let result = match Cli::parse().command {
        Command::Schema(args) => schema::run(&args),
        Command::Fit(args) => fit::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Account(args) => account::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Ledger(args) => ledger::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::pages(&args),
    };
    match result {
        Ok(text) => output::print(&text),
        Err(failure) => failure.report(),
    }
}
