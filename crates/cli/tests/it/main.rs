//! The command as a user meets it.

mod account;
mod audit;
mod check;
mod crashes;
mod demo;
mod documents;
mod durable;
mod evaluation;
mod examples;
mod fit;
mod forged;
mod injection;
mod interrupt;
mod ledger;
mod models;
mod plan;
mod readme;
mod real;
mod report;
mod scores;
mod settings;
mod snapshots;
mod statements;
mod values;

use std::process::{Command, Output, Stdio};

/// Runs `reticent` with these arguments.
fn reticent(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reticent")).args(arguments.split_whitespace()).output().expect("it runs")
}

/// Standard output of a fit without a ledger, of records that have a budget in one beside them.
fn noted(arguments: &str) -> String {
    let output = reticent(arguments);
    let note = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && note.contains("note: NOT PRIVATE") && note.contains("not charged to"),
        "{note}"
    );
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

fn stdout(arguments: &str) -> String {
    let output = reticent(arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// Bad usage is one sentence with this word in it, and a hint.
#[track_caller]
fn refused(arguments: &str, word: &str) {
    wrong(arguments, word, 2);
}

/// So is what failed for another reason.
#[track_caller]
fn failed(arguments: &str, word: &str) {
    wrong(arguments, word, 1);
}

#[track_caller]
fn wrong(arguments: &str, word: &str, code: i32) {
    let output = reticent(arguments);
    let error = String::from_utf8(output.stderr).expect("errors are UTF-8");
    assert_eq!(output.status.code(), Some(code), "{arguments}: {error}");
    assert!(output.stdout.is_empty(), "{arguments}");
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines.len(), 2, "{arguments}: {error}");
    assert!(lines[0].starts_with("error: ") && lines[0].contains(word), "{arguments}: {error}");
    assert!(lines[1].starts_with("hint: "), "{arguments}: {error}");
}

/// A reader that goes away at once is no failure.
fn closed_pipe(arguments: &str) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(arguments.split_whitespace())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    drop(child.stdout.take());
    assert!(child.wait().expect("it ends").success());
}

fn json(arguments: &str) -> serde_json::Value {
    serde_json::from_str(&stdout(&format!("{arguments} --json"))).expect("output is JSON")
}
