//! Every example of `--help` works.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use reticent_ledger::{Amount, Ledger, Request};

use crate::fit::{Case, people};
use crate::stdout;

/// In the order that a person would try them: later ones use the files of earlier ones.
const COMMANDS: [&str; 17] = [
    "models",
    "schema",
    "check",
    "fit",
    "predict",
    "evaluate",
    "compare",
    "show",
    "report",
    "plan",
    "account",
    "calibrate",
    "ledger init",
    "ledger show",
    "ledger history",
    "ledger cancel",
    "completions",
];

#[test]
fn the_examples_of_help_work() {
    let case = Case::new(500);
    ["test.csv", "new.csv"].iter().for_each(|name| case.write(name, &people(50)));
    let schema = std::fs::read_to_string(case.path("schema.toml")).unwrap();
    for command in COMMANDS {
        if command == "ledger cancel" {
            reservations(&case, 7);
        }
        let help = stdout(&format!("{command} --help"));
        let (_, example) =
            help.split_once("Example:\n").unwrap_or_else(|| panic!("{command} has no example"));
        for line in example.lines().map(str::trim).filter(|line| !line.is_empty()) {
            shell(&case, line);
        }
        // The template that `schema` writes has yet to be filled in.
        case.write("schema.toml", &schema);
    }
}

/// Runs a line of a shell where the case's files are.
#[track_caller]
fn shell(case: &Case, line: &str) {
    let folder = Path::new(env!("CARGO_BIN_EXE_reticent")).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut run = Command::new("sh");
    run.args(["-c", line]).current_dir(case.folder.path()).env("PATH", &path);
    let output = run.output().expect("a shell");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The guide, from the first command to the last, with the schema that it shows.
#[test]
fn the_guide_works() {
    let case = Case::new(4000);
    ["test.csv", "new.csv"].iter().for_each(|name| case.write(name, &people(50)));
    let (events, schema) = crashes();
    case.write("crashes.csv", &events);
    case.write("visits.csv", &visits());
    case.write("crashes.toml", schema);
    // The guide begins without a schema.
    std::fs::remove_file(case.path("schema.toml")).unwrap();
    let guide = include_str!("../../../../docs/guide.md");
    let mut commands = 0;
    for block in guide.split("```").skip(1).step_by(2) {
        if let Some(schema) = block.strip_prefix("toml\n") {
            case.write("schema.toml", schema);
        }
        for line in block.strip_prefix("sh\n").unwrap_or("").lines() {
            shell(&case, line);
            commands += 1;
        }
    }
    assert!(commands >= 10, "{commands}");
}

/// The rows of `people`, of persons with one to five each.
fn visits() -> String {
    let rows = people(4000);
    let with = |(row, line): (usize, &str)| match row {
        0 => format!("person,{line}\n"),
        _ => format!("{},{line}\n", (row * row) % 1301),
    };
    rows.lines().enumerate().map(with).collect()
}

/// Events in two regions and three years, with what they were like, and a schema for them.
fn crashes() -> (String, &'static str) {
    let mut events = "region,month,light\n".to_owned();
    for k in 0..3000 {
        let (region, month) = (if k % 2 == 0 { "north" } else { "south" }, 1 + k % 36);
        let light = if (month % 12 < 6) == (k % 5 > 0) { "day" } else { "night" };
        events += &format!("{region},{month},{light}\n");
    }
    let schema = r#"features = [
    { name = "region", kind = "categorical", levels = ["north", "south"] },
    { name = "month", kind = "numeric", bounds = [1, 36] },
    { name = "light", kind = "categorical", levels = ["day", "night"] },
]
"#;
    (events, schema)
}

fn reservations(case: &Case, number: usize) {
    let mut ledger = Ledger::open(case.path("budget.ledger")).unwrap();
    for _ in 0..number {
        let request = Request {
            amount: Amount::new(0.01, 1e-7),
            schema_fingerprint: "none".into(),
            adjacency: "replace-one".into(),
            purpose: "an example".into(),
            plan_json: "{}".into(),
            releases: None,
        };
        // Never started: `cancel` gives it back.
        let _reserved = ledger.reserve("trial", &request).unwrap();
    }
}
