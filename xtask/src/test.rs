//! `cargo xtask test`

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::{Outcome, command};

/// How long each reader is fuzzed.
const FUZZ_MINUTES: &str = "1";

fn checks() -> Outcome {
    crate::deny::run()?;
    crate::package::run()?;
    crate::run(&mut command("cargo", &["fmt", "--all", "--check"]))?;
    let lints = ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];
    crate::run(&mut command("cargo", &lints))?;
    crate::run(command("cargo", &["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

pub(crate) fn run() -> Outcome {
    checks()?;
    // No early stop: the counts at the end are of all tests.
    let mut tests = command("cargo", &["test", "--workspace", "--no-fail-fast"]);
    // Snapshots that differ are failures, and no file is written for them.
    tests.env("INSTA_UPDATE", "no");
    let mut child = tests.stdout(Stdio::piped()).spawn().map_err(|error| format!("cargo test: {error}"))?;
    let output = child.stdout.take().expect("standard output is piped");
    let (mut passed, mut failed, mut ignored) = (0, 0, 0);
    for line in BufReader::new(output).lines() {
        let line = line.map_err(|error| format!("cargo test: {error}"))?;
        println!("{line}");
        if let Some(result) = line.strip_prefix("test result: ") {
            passed += count(result, " passed");
            failed += count(result, " failed");
            ignored += count(result, " ignored");
        }
    }
    let status = child.wait().map_err(|error| format!("cargo test: {error}"))?;
    println!("{passed} passed, {failed} failed, {ignored} skipped");
    let python = crate::python::test(false);
    let fuzzed = crate::fuzz::run(&["--minutes", FUZZ_MINUTES]);
    if status.success() { python.and(fuzzed) } else { Err("some tests failed".to_owned()) }
}

/// The number before `word`.
fn count(result: &str, word: &str) -> u64 {
    let number = result.split(word).next().and_then(|before| before.rsplit([' ', '.']).next());
    number.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}
