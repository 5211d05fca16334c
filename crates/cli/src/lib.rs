//! The `reticent` command, as a library: [`main`] is all of it.
//!
//! Each command is a module with its arguments and what it prints; the crate [`reticent`] does the work. [`run`] carries out a command in this
//! process:
//!
//! ```
//! let text = reticent_cli::run(["account", "--noise-multiplier", "4", "--delta", "1e-5"])?;
//! assert!(text.contains("epsilon"));
//! # Ok::<(), reticent_cli::Failure>(())
//! ```
//!
//! Standard output is data, standard error is for people; 0 is success, 1 a failure, 2 bad usage.
//!
//! The content of a model file is shown by [`show_model`] and [`report_model`]. Both are functions of the file alone, and the
//! file may be forged: a checksum is no signature. Whatever it holds, they return a text or a [`Failure`], and never panic.

mod account;
mod balance;
mod calibrate;
mod check;
mod compare;
mod data;
mod demo;
mod draws;
mod evaluate;
mod event;
mod fit;
mod flags;
mod interrupt;
mod ledger;
mod manual;
mod models;
mod options;
mod output;
mod plan;
mod predict;
mod private;
mod progress;
mod report;
mod schema;
mod show;
mod simulate;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use reticent::{ModelFile, SavedModel};

pub use output::Failure;

/// Bayesian posteriors you may publish, and what they cost in privacy.
#[derive(Parser)]
#[command(name = "reticent", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the models, or show one: what it is for and not for, its settings and its papers.
    Models(models::Args),
    /// Write a schema to fill in, from the names and types of a file's columns.
    Schema(schema::Args),
    /// Count the values of a data set that its schema does not allow. Not private.
    Check(check::Args),
    /// Fit a model to private records, and write a posterior that may be published.
    Fit(Box<fit::Args>),
    /// Predict the targets of records, with their uncertainty.
    Predict(predict::Args),
    /// Score a model on records whose targets are known. Not private, unless --epsilon is given.
    Evaluate(Box<evaluate::Args>),
    /// Compare models of the same target on the same test records. Not private, unless --epsilon is given.
    Compare(Box<compare::Args>),
    /// Show a model file: a summary of the posterior, and the receipt.
    Show(show::Args),
    /// Write joint draws from the posterior of a model's parameters.
    Draws(draws::Args),
    /// Write simulated records from the posterior predictive distribution of a model.
    Simulate(simulate::Args),
    /// Write a report about a model as one HTML page.
    Report(report::Args),
    /// Compute the privacy cost of a sequence of releases.
    Account(account::Args),
    /// Find the noise, or the number of steps, that meets a target epsilon and delta.
    Calibrate(calibrate::Args),
    /// Manage the budgets of data sets in a ledger file.
    Ledger(ledger::Args),
    /// Plan a private fit: its releases, its cost and its expected error. No record is read.
    Plan(Box<plan::Args>),
    /// Fit a simulated table at several budgets, from schema to report.
    Demo(demo::Args),
    /// Print completions for a shell.
    #[command(hide = true)]
    Completions(manual::CompletionsArgs),
    /// Write manual pages.
    #[command(hide = true)]
    Man(manual::ManArgs),
}

/// What `reticent show` prints about a model file.
///
/// # Errors
/// [`Failure`] if it holds no model that this program can use.
pub fn show_model(model: ModelFile) -> Result<String, Failure> {
    Ok(reticent_report::text::model(&SavedModel::from_file(model)?, None)?)
}

/// The page that `reticent report` writes about a model file.
///
/// # Errors
/// As for [`show_model`].
pub fn report_model(model: ModelFile) -> Result<String, Failure> {
    report::page(&SavedModel::from_file(model)?, None, None)
}

/// The description of the command that help, manual and completions are made from.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command with the arguments of the process.
pub fn main() -> ExitCode {
    // The program owns the hook: no library below it may change it.
    reticent::silence_caught_panics();
    let command = Cli::parse().command;
    // Output that another program reads is written unchanged; on a terminal it is escaped like any other text.
    let is_file = matches!(command, Command::Schema(_) | Command::Completions(_));
    match carry_out(command) {
        Ok(text) if is_file && !std::io::stdout().is_terminal() => output::print_file(&text),
        Ok(text) => output::print(&text),
        Err(failure) => failure.report(),
    }
}

/// Runs a command in this process, with these arguments after the program's name; returns what it prints.
///
/// # Errors
/// [`Failure`] as the program reports it.
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Result<String, Failure> {
    let arguments = arguments.into_iter().map(Into::into);
    let parsed = Cli::try_parse_from(std::iter::once(OsString::from("reticent")).chain(arguments));
    let usage =
        |error: clap::Error| Failure::usage(error.to_string(), "see --help for what each option means");
    carry_out(parsed.map_err(usage)?.command)
}

fn carry_out(command: Command) -> Result<String, Failure> {
    match command {
        Command::Models(args) => models::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Fit(args) => fit::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Draws(args) => draws::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Account(args) => account::run(&args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Ledger(args) => ledger::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::pages(&args),
    }
}
