//! The `reticent` command.
//!
//! Standard output is data, standard error is for people; 0 is success, 1 a failure, 2 bad usage.

mod account;
mod calibrate;
mod demo;
mod event;
mod ledger;
mod output;
mod plan;
mod progress;
mod reproduce;

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
    /// Price a real release, by every accountant, and print the receipt.
    Demo,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Account(args) => account::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Ledger(args) => ledger::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Demo => demo::run(),
    };
    match result {
        Ok(text) => output::print(&text),
        Err(failure) => failure.report(),
    }
}
