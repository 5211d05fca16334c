//! Every example runs, and prints what it is about.

use std::process::Command;

#[track_caller]
fn example(name: &str, expected: &[&str]) {
    // Cargo builds the examples of a package with its tests, in a folder beside the test's own.
    let mut folder = std::env::current_exe().expect("a test has a file");
    folder.pop();
    folder.pop();
    let program = folder.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION);
    let output =
        Command::new(&program).output().unwrap_or_else(|error| panic!("{name} does not run: {error}"));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    for word in expected {
        assert!(text.contains(word), "{name}: no {word:?} in {text}");
    }
}

#[test]
fn fit_runs() {
    example("fit", &["epsilon", "data set \"ward-7\"", "probability"]);
}

#[test]
fn accountant_runs() {
    example("accountant", &["epsilon between", "noise multiplier"]);
}

#[test]
fn ledger_runs() {
    example("ledger", &["remaining", "refused", "settled"]);
}

#[test]
fn predict_runs() {
    example("predict", &["probability_true", "age", "emergency"]);
}

#[test]
fn custom_query_runs() {
    example("custom_query", &["90 to 99 years", "records by decade"]);
}
