//! What the command prints, word for word: help, models, a plan, typical errors and a model file.
//!
//! `INSTA_UPDATE=always cargo test --package reticent-cli --test it snapshots` writes the files in `snapshots/` anew; read the
//! differences before you commit them. `cargo xtask test` never writes any.

use std::fmt::Write as _;

use crate::fit::{Case, SCHEMA};
use crate::{reticent, stdout};

const PRIVACY: &str = "--epsilon 1 --delta 1e-5";

/// Each command with what it prints. What differs from run to run has a name in its place.
fn transcript(case: &Case, commands: &[String]) -> String {
    let mut text = String::new();
    for command in commands {
        let output = reticent(command);
        let (out, err) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        let _ = write!(text, "$ reticent {command}\n{out}{err}");
        if let Some(code) = output.status.code().filter(|code| *code != 0) {
            let _ = writeln!(text, "[exit code {code}]");
        }
        text.push('\n');
    }
    let version = format!("reticent {}", env!("CARGO_PKG_VERSION"));
    let folder = case.folder.path().display().to_string();
    without_counts(&without_days(&text.replace(&version, "reticent [VERSION]").replace(&folder, "[FOLDER]")))
}

/// The levels of a column sum to 1, so that a matrix has an eigenvalue of 0, and rounding, which differs between processors, decides whether it is
/// moved back to 0: such counts have a name in their place.
fn without_counts(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix("projections: ") {
        Some(rest) => {
            format!("projections: [COUNT]{}\n", rest.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// Days such as 2026-01-31 have a name in their place.
fn without_days(text: &str) -> String {
    let is_day = |part: &str| {
        let digits = |range: std::ops::Range<usize>| part.as_bytes()[range].iter().all(u8::is_ascii_digit);
        digits(0..4) && digits(5..7) && digits(8..10) && &part[4..5] == "-" && &part[7..8] == "-"
    };
    let mut out = text.to_owned();
    for at in (0..text.len().saturating_sub(9)).rev() {
        if text.get(at..at + 10).is_some_and(is_day) {
            out.replace_range(at..at + 10, "[DAY]");
        }
    }
    out
}

/// The names of all commands, with those below them, as on the command line.
fn commands(of: &clap::Command, before: &str, names: &mut Vec<String>) {
    for command in of.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = format!("{before}{} ", command.get_name());
        names.push(format!("{name}--help"));
        commands(command, &name, names);
    }
}

#[test]
fn help_of_every_command() {
    let mut names = vec!["--help".to_owned()];
    commands(&reticent_cli::command(), "", &mut names);
    assert!(names.len() > 15, "{names:?}");
    insta::assert_snapshot!("help", transcript(&Case::new(1), &names));
}

#[test]
fn lists_of_models() {
    let commands = ["models", "models logistic", "models poisson --json"].map(str::to_owned);
    insta::assert_snapshot!("models", transcript(&Case::new(1), &commands));
}

/// A schema whose target has two classes.
fn classes() -> String {
    let numeric = "{ name = \"income\", kind = \"numeric\", bounds = [0, 100], unit = \"kUSD\" }";
    SCHEMA.replace(numeric, "{ name = \"rich\", kind = \"boolean\" }")
}

#[test]
fn a_plan_in_words() {
    let case = Case::new(1);
    case.write("schema.toml", &classes());
    let plan = format!(
        "plan logistic --schema {} --records 5000 {PRIVACY} --simulations 0",
        case.path("schema.toml")
    );
    insta::assert_snapshot!("plan", transcript(&case, &[plan]));
}

/// Sums without noise are exact, so that the posterior is the same on every machine.
#[test]
fn a_model_file_without_privacy() {
    let case = Case::new(500);
    let fit = format!("{} --no-privacy", case.fit("linear", "model.reticent"));
    let show = format!("show {}", case.path("model.reticent"));
    insta::assert_snapshot!("show", transcript(&case, &[fit, show]));
}

#[test]
fn typical_errors() {
    let case = Case::new(100);
    let ledger = case.path("budget.ledger");
    stdout(&format!("ledger init {ledger} --data-set people --epsilon 0.5 --delta 1e-5"));
    let data = std::fs::read_to_string(case.path("people.csv")).unwrap();
    case.write("years.csv", &data.replacen("age", "years", 1));
    case.write("taken.reticent", "");
    let fit = format!("{} {PRIVACY}", case.fit("linear", "model.reticent"));
    let errors = [
        fit.replace("fit linear", "fit oracle"),
        fit.replace("fit linear", "fit logistic"),
        fit.replace("people.csv", "absent.csv"),
        fit.replace("people.csv", "years.csv"),
        format!("{fit} --ledger {ledger} --data-set people"),
        format!("{fit} --set wings=2"),
        fit.replace("fit linear", "fit network") + " --set hidden=0",
        fit.replace("--delta 1e-5", "--delta 0.1"),
        format!("{fit} --adjacency add-remove"),
        format!("{fit} --resume"),
        fit.replace("model.reticent", "taken.reticent").replace(" --force", ""),
        format!("show {}", case.path("people.csv")),
    ];
    insta::assert_snapshot!("errors", transcript(&case, &errors));
}
