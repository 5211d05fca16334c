//! Ctrl-C.

#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::Duration;

use crate::fit::Case;
use crate::{failed, json, stdout};

/// A run that is stopped between two releases says so, writes no model, and stays charged. It goes on from its journal without
/// another charge.
#[test]
fn a_stopped_run_stays_charged() {
    let case = Case::new(2000);
    let (ledger, schema) = (case.path("budget.ledger"), case.path("schema.toml"));
    stdout(&format!("ledger init {ledger} --data-set people --epsilon 3 --delta 1e-4"));
    let mut plan =
        json(&format!("plan regression --schema {schema} --records 2000 --epsilon 2 --delta 1e-5"));
    // So many steps that it takes seconds, with the noise that makes them cost as much as before or less.
    let steps = 10_000.0f64;
    plan["plan"]["refinement"] = serde_json::json!({ "features": {
        "frequencies": 16, "length_scale": 0.4, "seed": 1, "steps": steps as u64, "clip": 1.5, "inflation": 1.5,
        "noise_multiplier": 10.0 * steps.sqrt(), "check_noise_multiplier": 100.0,
    }});
    for round in plan["plan"]["rounds"].as_array_mut().unwrap() {
        round["noise_multiplier"] = (2.0 * round["noise_multiplier"].as_f64().unwrap()).into();
    }
    case.write("plan.json", &plan.to_string());
    let arguments = format!(
        "{} --epsilon 2 --delta 1e-5 --plan {} --ledger {ledger} --data-set people",
        case.fit("regression", "model.reticent"),
        case.path("plan.json")
    );
    let child = Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(arguments.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let history = format!("ledger history {ledger} --data-set people");
    for _ in 0..600 {
        if json(&history)[0]["state"] == "started" {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(sent.success());
    let output = child.wait_with_output().expect("it ends");
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("stopped") && error.contains("stays charged") && error.contains("--resume"),
        "{error}"
    );
    assert!(!std::path::Path::new(&case.path("model.reticent")).exists());
    let spent = json(&format!("ledger show {ledger}"))[0]["spent"]["epsilon"].as_f64().unwrap();
    assert!(spent > 0.0, "{spent}");

    let journal = std::fs::read(case.path("model.reticent.journal")).expect("a journal");
    failed(
        &arguments.replace("--epsilon 2", "--epsilon 1.9").replace(" --plan", " --resume --plan"),
        "another run: it differs in asked",
    );
    failed(&arguments, "was interrupted");
    let resume = format!("{arguments} --resume");
    let receipt = json(&resume)["receipt"].clone();
    let made = |what: &str| {
        let groups = receipt["groups"].as_array().unwrap();
        groups.iter().find(|group| group["what"] == what).unwrap()["made"].as_u64()
    };
    assert_eq!(made("clipped residual-feature products"), Some(steps as u64));
    let charges = json(&history);
    assert_eq!(charges.as_array().map(Vec::len), Some(1), "{charges}");
    assert_eq!(charges[0]["state"], "settled");
    assert_eq!(json(&format!("ledger show {ledger}"))[0]["spent"]["epsilon"].as_f64(), Some(spent));

    // It is over. A copy of the journal, which does not have all of the releases, can make no others.
    failed(&resume, "no journal");
    std::fs::write(case.path("model.reticent.journal"), journal).unwrap();
    failed(&resume, "gone further than this journal");
}
