//! Public data sets, where they are at hand: in `../shared/data` beside the checkout, or where `RETICENT_DATA` points.

#![allow(clippy::print_stderr, reason = "a skipped test says so")]

use std::path::PathBuf;

use crate::{json, stdout};

fn data(file: &str) -> Option<String> {
    let folder = std::env::var_os("RETICENT_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join(file);
    if !path.exists() {
        eprintln!("skipped: {file} is not here");
        return None;
    }
    Some(path.display().to_string())
}

/// A schema from the data, without the columns that do not belong there.
fn schema(folder: &tempfile::TempDir, data: &str, target: &str, without: &[&str]) -> String {
    let text = stdout(&format!("schema --from {data} --target {target} --assume-public"));
    let schema = reticent_tables::Schema::parse(&text).expect("a schema");
    let kept = schema.features().iter().filter(|column| !without.contains(&column.name())).cloned().collect();
    let schema = reticent_tables::Schema::new(schema.target().cloned(), kept).expect("columns are left");
    let file = folder.path().join("schema.toml");
    std::fs::write(&file, schema.to_toml()).unwrap();
    file.display().to_string()
}

/// Better than always saying the more common class (76.07 % have it), at epsilon 1.
#[test]
fn adult_is_classified() {
    let Some(file) = data("adult.parquet") else { return };
    let folder = tempfile::tempdir().unwrap();
    let schema = schema(&folder, &file, "income", &["split", "fnlwgt", "education"]);
    let out = folder.path().join("adult.reticent");
    let fitted = json(&format!(
        "fit logistic --data {file} --schema {schema} --epsilon 1 --delta 1e-6 --out {}",
        out.display()
    ));
    assert!(fitted["receipt"]["guarantee"]["epsilon"]["upper"].as_f64().unwrap() <= 1.0);
    let assumed = fitted["receipt"]["assumptions"].as_array().unwrap();
    assert!(assumed.iter().any(|text| text.as_str().unwrap().contains("read from the data")), "{assumed:?}");
    let found = json(&format!("evaluate {} --data {file}", out.display()));
    let (accuracy, auc) = (&found["score"]["accuracy"], &found["score"]["auc"]);
    assert!(accuracy.as_f64().unwrap() > 0.7607 && auc.as_f64().unwrap() > 0.75, "{accuracy} {auc}");
}

/// Better than half way from the deviation of y to the error of least squares without privacy, both as the data sets'
/// description gives them.
#[test]
fn benchmarks_are_predicted() {
    let sets = [
        ("uci_kin8nm.parquet", "regression", 0.2636, 0.2023),
        ("uci_protein.parquet", "linear", 6.118, 5.213),
    ];
    for (name, model, deviation, least_squares) in sets {
        let Some(file) = data(name) else { continue };
        let folder = tempfile::tempdir().unwrap();
        let schema = schema(&folder, &file, "y", &[]);
        let out = folder.path().join("model.reticent");
        stdout(&format!(
            "fit {model} --data {file} --schema {schema} --epsilon 1 --delta 1e-5 --out {}",
            out.display()
        ));
        let score = &json(&format!("evaluate {} --data {file}", out.display()))["score"];
        let rmse = score["rmse"].as_f64().unwrap();
        assert!(rmse < 0.5 * (deviation + least_squares), "{name}: {rmse}");
        let inside = score["coverage"][2].as_f64().unwrap();
        assert!((0.9..=0.99).contains(&inside), "{name}: {inside}");
    }
}
