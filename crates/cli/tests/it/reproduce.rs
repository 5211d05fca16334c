use std::path::Path;

use crate::{closed_pipe, failed, json, refused, reticent, stdout};

const TABLE1: &str =
    "reproduce table1 --sets 2 --records 100 --dimension 2 --components 2 --epsilon 5 --printed-passes 1";

fn parsed(file: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn table1_prints_and_writes_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let text = stdout(TABLE1);
    for word in ["simulated", "EP, from the prior", "printed DP-SEP, true epsilon 5", "4162.9041", "0.0007"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let printed = json(&format!("{TABLE1} --out {}/new", folder.path().display()));
    assert_eq!(parsed(&folder.path().join("new/table1.json")), printed);
    assert_eq!(printed["private"], false);
    assert_eq!(printed["settings"]["seeds"], serde_json::json!([60, 61]));
    // EP, SEP and its printed step; the printed algorithm, ours, and SEP from where ours ended.
    assert_eq!(printed["outcomes"].as_array().unwrap().len(), 2 * 6);
    assert_eq!(printed["summary"]["rows"].as_array().unwrap().len(), 6);
    let csv = std::fs::read_to_string(folder.path().join("new/table1.csv")).unwrap();
    assert_eq!(csv.lines().count(), 7);
}

#[test]
fn the_printed_algorithm_can_be_left_out_and_the_truth_sampled() {
    let run = TABLE1.replace("passes 1", "passes 0").replace("sets 2", "sets 1") + " --truth nuts";
    let text = stdout(&run);
    assert!(!text.contains("true epsilon") && text.contains("NUTS"), "{text}");
}

#[test]
fn fig1_writes_a_figure_and_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display();
    let text = stdout(&format!("reproduce fig1 --records 100 --epsilon 5 --out {out}"));
    assert!(text.contains("DP-SEP, epsilon 5") && text.contains("simulated"), "{text}");
    let svg = std::fs::read_to_string(folder.path().join("fig1.svg")).unwrap();
    let page = std::fs::read_to_string(folder.path().join("fig1.html")).unwrap();
    assert!(svg.starts_with("<svg") && page.contains(&svg) && page.contains("simulated"));
    assert!(!page.contains("<script") && !page.contains("href"));
}

#[test]
fn coverage_has_both_starts_and_both_regions() {
    let folder = tempfile::tempdir().unwrap();
    let run = format!("reproduce coverage --sets 2 --epsilon 10 --out {}", folder.path().display());
    let found = json(&run);
    assert_eq!(parsed(&folder.path().join("coverage.json")), found);
    let rows = found["rows"].as_array().unwrap();
    assert_eq!((rows[0]["start"].as_str(), rows[1]["start"].as_str()), (Some("sketch"), Some("points")));
    for row in rows {
        let (aware, naive) = (&row["noise_aware"]["share"], &row["naive"]["share"]);
        assert!(naive.as_f64().unwrap() <= aware.as_f64().unwrap(), "{row}");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("coverage.csv")).unwrap().lines().count(), 3);
}

#[cfg(target_os = "linux")]
#[test]
fn the_memory_of_ep_grows_and_that_of_sep_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let run = format!("reproduce memory --records 1000 --records 50000 --out {}", folder.path().display());
    let found = json(&run);
    let bytes = |row: usize, engine: &str| found["rows"][row][engine].as_f64().unwrap();
    // A site has 4 (4 + 10) numbers.
    let sites = (50_000 - 1000) as f64 * 56.0 * 8.0;
    assert!(bytes(1, "ep") - bytes(0, "ep") > 0.9 * sites, "{found}");
    assert!(bytes(1, "sep") - bytes(0, "sep") < 0.2 * sites, "{found}");
    let svg = std::fs::read_to_string(folder.path().join("memory.svg")).unwrap();
    assert_eq!(svg.matches("<circle").count(), 4);
    assert!(folder.path().join("memory.csv").exists());
}

#[test]
fn wrong_options_are_one_sentence_and_a_hint() {
    refused("reproduce table1 --sets 0", "--sets");
    refused("reproduce table1 --dimension 0", "--dimension");
    refused("reproduce table1 --epsilon -1", "epsilon");
    refused("reproduce table1 --delta 1", "delta");
    refused("reproduce fig1 --dimension 1", "--dimension");
    refused("reproduce fig1 --seed 4294967295", "seed");
    refused("reproduce coverage --sets 1", "--sets");
    refused("reproduce coverage --epsilon 0", "epsilon");
    if cfg!(target_os = "linux") {
        refused("reproduce memory --records 0", "--records");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    for experiment in ["table1", "fig1", "coverage"] {
        failed(&format!("reproduce {experiment} --out {}", file.path().display()), "cannot be written");
    }
    for arguments in ["reproduce table4", "reproduce table1 --truth guess", "reproduce table1 --sets many"] {
        assert_eq!(reticent(arguments).status.code(), Some(2), "{arguments}");
    }
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_fine() {
    closed_pipe(&TABLE1.replace("sets 2", "sets 1"));
}

#[test]
fn noisy_statistics_are_compared_with_samples() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display();
    let text = stdout(&format!("reproduce foulds-fig1 --draws 3 --out {out}"));
    assert!(text.contains("temperature 2.773") && text.contains("simulated"), "{text}");
    assert!(std::fs::read_to_string(folder.path().join("foulds-fig1.svg")).unwrap().starts_with("<svg"));
    for name in ["foulds-fig2", "foulds-are"] {
        let run = format!("reproduce {name} --records 5,50 --repeats 20 --out {out}");
        let found = json(&run);
        assert_eq!(parsed(&folder.path().join(format!("{name}.json"))), found);
        assert_eq!(found["rows"].as_array().unwrap().len(), 2);
        let svg = std::fs::read_to_string(folder.path().join(format!("{name}.svg"))).unwrap();
        assert_eq!(svg.matches("<circle").count(), 10);
    }
    let found = json("reproduce foulds-coverage --sets 3 --records 20 --epsilon 1");
    assert_eq!(found["rows"].as_array().unwrap().len(), 3);
    refused("reproduce foulds-fig1 --truncation 0.7", "truncation");
    failed(&format!("reproduce naive-bayes --data {out}"), "adult.parquet");
}
