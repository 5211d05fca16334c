//! The command's help: every experiment is listed, and the examples that need no data set work.

#![cfg(unix)]

use std::process::{Command, Stdio};

use crate::stdout;

const ALL: [&str; 17] = [
    "table1",
    "fig1",
    "coverage",
    "table2",
    "table3",
    "foulds-fig1",
    "foulds-fig2",
    "foulds-are",
    "foulds-coverage",
    "naive-bayes",
    "vips-adult",
    "vips-lda",
    "vips-table3",
    "vips-sbn",
    "foulds-hmm",
    "year",
    "memory",
];

#[test]
fn every_experiment_is_listed() {
    let help = stdout("--help");
    assert!(help.starts_with("Reproduce published experiments"), "{help}");
    for name in ALL {
        assert!(help.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}: {help}");
    }
}

#[test]
fn the_examples_of_help_work() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["table1", "fig1", "coverage", "foulds-fig1", "foulds-fig2"] {
        let help = stdout(&format!("{name} --help"));
        let (_, example) = help.split_once("Example:\n").unwrap_or_else(|| panic!("{name} has no example"));
        let arguments = example.trim().strip_prefix("reticent-experiments ").expect("the command's name");
        let output = Command::new(env!("CARGO_BIN_EXE_reticent-experiments"))
            .args(arguments.split_whitespace())
            .current_dir(folder.path())
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{example}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A reader that goes away at once is no failure.
#[test]
fn a_closed_pipe_is_fine() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_reticent-experiments"))
        .args("table1 --sets 1 --records 100 --dimension 2 --epsilon 5 --printed-passes 0".split(' '))
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    drop(child.stdout.take());
    assert!(child.wait().expect("it ends").success());
}
