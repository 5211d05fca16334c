//! `vips-adult` on the public data set, where it is at hand: in `../shared/data` beside the checkout, or where
//! `RETICENT_DATA` points.

#![allow(clippy::print_stderr, reason = "a skipped test is reported")]

use std::path::PathBuf;

use crate::json;

/// A small version of the experiment: weighted scores on few records, written and printed.
#[test]
fn the_adult_experiment_runs() {
    let data = std::env::var_os("RETICENT_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    if !data.join("adult.parquet").exists() {
        eprintln!("skipped: adult.parquet is not here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let printed = json(&format!(
        "vips-adult --data {} --runs 1 --records 3000 --epsilon 4 --methods scores,open-scores --out {}",
        data.display(),
        folder.path().display()
    ));
    assert_eq!(printed["rows"].as_array().unwrap().len(), 2);
    assert!(printed["rows"][0]["auc"].as_f64().unwrap() > 0.75);
    for file in ["vips-adult.csv", "vips-adult.json", "vips-adult.svg"] {
        assert!(folder.path().join(file).exists());
    }
}
