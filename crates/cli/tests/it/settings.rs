//! Settings and plans out of range, fits that are too large, and budgets that make no sense: refused before anything is spent, by `plan` and by
//! `fit` alike.

use std::fmt::Write as _;

use crate::fit::{Case, SCHEMA};
use crate::{json, refused, reticent, stdout};

const PRIVACY: &str = "--epsilon 1 --delta 1e-5";

/// A schema that a model can be fitted with, and settings that it needs.
fn suited(model: &str) -> (String, &'static str) {
    let classes = SCHEMA.replace(
        "{ name = \"income\", kind = \"numeric\", bounds = [0, 100], unit = \"kUSD\" }",
        "{ name = \"rich\", kind = \"boolean\" }",
    );
    let features = |columns: &str| format!("features = [{columns}]\n");
    let age = "{ name = \"age\", kind = \"numeric\", bounds = [20, 70] }";
    let work = "{ name = \"work\", kind = \"categorical\", levels = [\"Private\", \"State\"] }";
    let yes = "{ name = \"member\", kind = \"boolean\" }, { name = \"rich\", kind = \"boolean\" }";
    match model {
        "logistic" | "probit" | "naive-bayes" => (classes, ""),
        "mixture" => (features(age), "--set components=2 --set noise-sd=0.3"),
        "hmm" => (features(&format!("{work}, {yes}")), "--set states=2"),
        "topics" | "sigmoid-belief" => (features(yes), ""),
        "beta-bernoulli" => (features(yes), ""),
        "dirichlet" => (features(work), ""),
        "normal" | "multivariate-normal" => (features(age), ""),
        "poisson" => (features("{ name = \"age\", kind = \"numeric\", bounds = [0, 70] }"), "--set bound=70"),
        _ => (SCHEMA.to_owned(), ""),
    }
}

/// The exit code and the message of a run, without the folder. A fit that only the ledger refused was accepted.
fn decision(arguments: &str) -> (Option<i32>, String) {
    let output = reticent(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    if error.contains("; remaining epsilon ") {
        return (Some(0), String::new());
    }
    (output.status.code(), error)
}

/// Every model, with budgets, neighbours, targets and settings that are right and wrong: `plan` and `fit` end with the same code and message. The
/// ledger has next to nothing left, so that no fit is made, and one that gets as far as to ask it was accepted.
#[test]
fn plan_and_fit_accept_and_refuse_the_same() {
    const RECORDS: u32 = 60;
    let case = Case::new(RECORDS);
    let ledger = case.path("budget.ledger");
    stdout(&format!("ledger init {ledger} --data-set none --epsilon 1e-9 --delta 1e-15"));
    stdout(&format!(
        "ledger init {ledger} --data-set other --epsilon 1e-9 --delta 1e-15 --adjacency add-remove"
    ));
    let (mut accepted, mut refused) = (0, 0);
    for model in reticent_core::model::models() {
        let (schema, needed) = suited(model.name());
        let moments = schema.replacen("bounds = [20, 70]", "mean = 40, sd = 10", 1);
        let private = schema.replacen("bounds = [20, 70]", "bounds = \"private\", within = [0, 1e6]", 1);
        let other = if schema.contains("target") {
            schema.lines().filter(|line| !line.contains("target")).collect()
        } else {
            SCHEMA.to_owned()
        };
        let mut trials = vec![
            (&schema, PRIVACY.to_owned()),
            (&schema, "--epsilon 1 --delta 0".to_owned()),
            (&schema, "--epsilon 1 --delta 0.1".to_owned()),
            (&schema, "--epsilon 1 --delta 0.1 --allow-large-delta".to_owned()),
            (&schema, "--epsilon 0 --delta 1e-5".to_owned()),
            (&schema, "--epsilon 1e-12 --delta 1e-5".to_owned()),
            (&schema, format!("{PRIVACY} --adjacency add-remove")),
            (&schema, format!("{PRIVACY} --set wings=2")),
            (&other, PRIVACY.to_owned()),
            (&moments, PRIVACY.to_owned()),
            (&private, PRIVACY.to_owned()),
            (&private, format!("{PRIVACY} --bounds-share 2")),
        ];
        for setting in model.declaration().settings {
            trials.push((&schema, format!("{PRIVACY} --set {}=1000000000", setting.name)));
        }
        for (schema, options) in trials {
            case.write("schema.toml", schema);
            let records =
                if options.contains("add-remove") { format!(" --records {RECORDS}") } else { String::new() };
            let data_set = if records.is_empty() { "none" } else { "other" };
            let plan = format!(
                "plan {} --schema {} --records {RECORDS} {needed} {options}",
                model.name(),
                case.path("schema.toml")
            );
            let fit = format!(
                "{} {needed} {options}{records} --ledger {ledger} --data-set {data_set}",
                case.fit(model.name(), "model.reticent")
            );
            let (planned, fitted) = (decision(&plan), decision(&fit));
            assert_eq!(planned, fitted, "{plan}\n{fit}\n{schema}");
            if planned.0 == Some(0) { accepted += 1 } else { refused += 1 }
        }
    }
    // At least the first of each model but one is accepted, and the wrong setting and epsilon of each is refused.
    let models = reticent_core::model::models().len();
    assert!(accepted >= models - 1 && refused >= 2 * models, "{accepted} {refused}");
}

/// The file with the records does not even exist.
#[test]
fn settings_out_of_range_are_refused_before_a_record_is_read() {
    let case = Case::new(10);
    let fit = |model: &str, setting: &str| {
        case.write("schema.toml", &suited(model).0);
        let fit = case.fit(model, "model.reticent").replace("people.csv", "absent.csv");
        format!("{fit} {PRIVACY} {} --set {setting}", suited(model).1)
    };
    refused(&fit("naive-bayes", "bins=1000000"), "an integer from 1 to 10000");
    refused(&fit("naive-bayes", "bins=2.5"), "an integer from 1 to 10000");
    refused(&fit("dirichlet", "concentration=1e308"), "a number from 1e-6 to 1e6");
    refused(&fit("dirichlet", "concentration=nan"), "a number from 1e-6 to 1e6");
    refused(&fit("hmm", "iterations=0"), "an integer from 2 to 1000000");
}

/// Ranges are where settings are listed.
#[test]
fn ranges_are_listed_with_settings() {
    let case = Case::new(10);
    case.write("schema.toml", &suited("naive-bayes").0);
    let plan =
        stdout(&format!("plan naive-bayes --schema {} --records 100 {PRIVACY}", case.path("schema.toml")));
    assert!(plan.contains("bins") && plan.contains("an integer from 1 to 10000"), "{plan}");
    refused(&format!("{} {PRIVACY} --set wings=2", case.fit("naive-bayes", "m")), "no setting");
    case.write("schema.toml", &suited("hmm").0);
    let hmm = format!("plan hmm --schema {} --records 100 {PRIVACY}", case.path("schema.toml"));
    refused(&format!("{hmm} --set region=9"), "an integer from 1 to 3");
}

/// Two thousand columns: minutes for eigenvectors alone.
#[test]
fn large_fits_are_refused_until_they_are_asked_for() {
    let case = Case::new(3);
    let (mut schema, mut data) = (
        "target = { name = \"y\", kind = \"numeric\", bounds = [0, 1] }\nfeatures = [\n".to_owned(),
        "y".to_owned(),
    );
    for k in 0..2000 {
        let _ = writeln!(schema, "{{ name = \"x{k}\", kind = \"numeric\", bounds = [0, 1] }},");
        let _ = write!(data, ",x{k}");
    }
    let row = format!("\n0.5{}", ",0.5".repeat(2000));
    case.write("schema.toml", &(schema + "]\n"));
    case.write("people.csv", &(data + &row.repeat(3) + "\n"));
    let plan = format!("plan linear --schema {} --records 3 {PRIVACY}", case.path("schema.toml"));
    let fit = format!("{} {PRIVACY}", case.fit("linear", "model.reticent"));
    for command in [&plan, &fit] {
        let output = reticent(command);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("would take about") && error.contains("--allow-large"), "{error}");
    }
    let text = stdout(&format!("{plan} --allow-large"));
    assert!(text.contains("time on one core") && text.contains("model file"), "{text}");
}

/// A delta of 1/N and more is refused with the flag that allows it, and stated on the receipt.
#[test]
fn a_large_delta_is_allowed_explicitly_and_on_the_receipt() {
    let case = Case::new(100);
    let fit = format!("{} --epsilon 1 --delta 0.1", case.fit("linear", "model.reticent"));
    let error = String::from_utf8(reticent(&fit).stderr).unwrap();
    assert!(error.contains("--allow-large-delta"), "{error}");
    stdout(&format!("{fit} --allow-large-delta"));
    let receipt = &json(&format!("show {}", case.path("model.reticent")))["receipt"];
    assert!(receipt["assumptions"].to_string().contains("delta 1e-1 is at least 1/N"), "{receipt}");
    // Where the delta is small there is nothing to state.
    let small = format!("{} {PRIVACY} --allow-large-delta", case.fit("linear", "small.reticent"));
    stdout(&small);
    let receipt = &json(&format!("show {}", case.path("small.reticent")))["receipt"];
    assert!(!receipt["assumptions"].to_string().contains("1/N"), "{receipt}");
}

/// The size of a file is as planned, within a factor of 2.
#[test]
fn model_files_are_as_long_as_planned() {
    let case = Case::new(200);
    let mut levels =
        "features = [{ name = \"work\", kind = \"categorical\", levels = [\"Private\", \"State\"".to_owned();
    for k in 0..3000 {
        let _ = write!(levels, ", \"l{k}\"");
    }
    levels.push_str("] }]\n");
    let bayes = suited("naive-bayes").0;
    for (model, schema) in [("linear", SCHEMA), ("dirichlet", &levels), ("naive-bayes", &bayes)] {
        case.write("schema.toml", schema);
        let plan = format!("plan {model} --schema {} --records 200 {PRIVACY}", case.path("schema.toml"));
        let text = stdout(&plan);
        let line = text.lines().find(|line| line.contains("model file")).expect("an estimate");
        let planned: f64 = line.split_whitespace().rev().nth(1).unwrap().parse().unwrap();
        stdout(&format!("{} {PRIVACY}", case.fit(model, "model.reticent")));
        let found = 1e-6 * std::fs::metadata(case.path("model.reticent")).unwrap().len() as f64;
        assert!((0.5..=2.0).contains(&(planned / found)), "{model}: {planned} planned, {found} found");
    }
}

/// The schema is a pipe: until somebody writes to it the process waits, with all its threads.
#[cfg(target_os = "linux")]
#[test]
fn a_huge_number_of_threads_is_not_obeyed() {
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("schema.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut child = Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(["plan", "linear", "--records", "100", "--epsilon", "1", "--delta", "1e-5", "--schema"])
        .arg(&pipe)
        .env("RAYON_NUM_THREADS", "99999")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Opening it waits until the process reads it, and that is after its threads were started.
    let mut writer = std::fs::OpenOptions::new().write(true).open(&pipe).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    std::io::Write::write_all(&mut writer, SCHEMA.as_bytes()).unwrap();
    drop(writer);
    assert!(child.wait().unwrap().success());
    let threads = status.lines().find_map(|line| line.strip_prefix("Threads:")).unwrap();
    let threads: usize = threads.trim().parse().unwrap();
    let cores = std::thread::available_parallelism().unwrap().get();
    // One more reads the command line.
    assert!(threads <= (4 * cores).min(256) + 1, "{threads} threads on {cores} cores");
}
