//! The command as a user meets it.

mod account;
mod ledger;

use std::process::{Command, Output};

/// Runs `reticent` with these arguments.
fn reticent(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reticent")).args(arguments.split_whitespace()).output().expect("it runs")
}

fn stdout(arguments: &str) -> String {
    let output = reticent(arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

fn json(arguments: &str) -> serde_json::Value {
    serde_json::from_str(&stdout(&format!("{arguments} --json"))).expect("output is JSON")
}
