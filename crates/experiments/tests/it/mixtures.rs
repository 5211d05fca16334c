//! `table1`, `fig1`, `coverage` and `memory`.

use crate::{failed, json, parsed, refused, run, stdout};

const TABLE1: &str =
    "table1 --sets 2 --records 100 --dimension 2 --components 2 --epsilon 5 --printed-passes 1";

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
    let text = stdout(&format!("fig1 --records 100 --epsilon 5 --out {out}"));
    assert!(text.contains("DP-SEP, epsilon 5") && text.contains("simulated"), "{text}");
    let svg = std::fs::read_to_string(folder.path().join("fig1.svg")).unwrap();
    let page = std::fs::read_to_string(folder.path().join("fig1.html")).unwrap();
    assert!(svg.starts_with("<svg") && page.contains(&svg) && page.contains("simulated"));
    assert!(!page.contains("<script") && !page.contains("href"));
}

#[test]
fn coverage_has_both_starts_and_both_regions() {
    let folder = tempfile::tempdir().unwrap();
    let run = format!("coverage --sets 2 --epsilon 10 --out {}", folder.path().display());
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
    let run = format!("memory --records 1000 --records 50000 --out {}", folder.path().display());
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
    refused("table1 --sets 0", "--sets");
    refused("table1 --dimension 0", "--dimension");
    refused("table1 --epsilon -1", "epsilon");
    refused("table1 --delta 1", "delta");
    refused("fig1 --dimension 1", "--dimension");
    refused("fig1 --seed 4294967295", "seed");
    refused("coverage --sets 1", "--sets");
    refused("coverage --epsilon 0", "epsilon");
    if cfg!(target_os = "linux") {
        refused("memory --records 0", "--records");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    for experiment in ["table1", "fig1", "coverage"] {
        failed(&format!("{experiment} --out {}", file.path().display()), "cannot be written");
    }
    for arguments in ["table4", "table1 --truth guess", "table1 --sets many"] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments}");
    }
}
