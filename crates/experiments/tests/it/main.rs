//! The command as a user meets it.

mod adult;
mod conjugate;
mod crashes;
mod help;
mod mixtures;
mod uci;
mod vips;

use std::path::Path;
use std::process::{Command, Output};

/// Runs `reticent-experiments` with these arguments.
fn run(arguments: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_reticent-experiments");
    Command::new(program).args(arguments.split_whitespace()).output().expect("it runs")
}

fn stdout(arguments: &str) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

fn json(arguments: &str) -> serde_json::Value {
    serde_json::from_str(&stdout(&format!("{arguments} --json"))).expect("output is JSON")
}

fn parsed(file: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
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
    let output = run(arguments);
    let error = String::from_utf8(output.stderr).expect("errors are UTF-8");
    assert_eq!(output.status.code(), Some(code), "{arguments}: {error}");
    assert!(output.stdout.is_empty(), "{arguments}");
    let lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines.len(), 2, "{arguments}: {error}");
    assert!(lines[0].starts_with("error: ") && lines[0].contains(word), "{arguments}: {error}");
    assert!(lines[1].starts_with("hint: "), "{arguments}: {error}");
}
