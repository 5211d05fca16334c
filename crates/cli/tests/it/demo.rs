use crate::stdout;

/// Fewer records than usual, for time. The error grows as the budget shrinks, up to chance in the middle.
#[test]
fn the_demo_goes_from_schema_to_report() {
    let folder = tempfile::tempdir().unwrap();
    let text = stdout(&format!("demo --records 2000 --out {}", folder.path().display()));
    for word in ["NOT PRIVATE", "log-likelihood", "reticent schema", "reticent fit", "reticent report"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    for file in ["schema.toml", "baseline.reticent", "epsilon-0.1.reticent", "predictions.csv", "report.html"]
    {
        assert!(folder.path().join(file).exists(), "{file}");
    }
    let number = |epsilon: &str, column: usize| -> f64 {
        let row = text.lines().find(|line| line.trim_start().starts_with(epsilon)).expect("a row");
        row.split_whitespace().nth(column).unwrap().parse().unwrap()
    };
    assert!(number("none", 1) < number("0.1", 1), "{text}");
    // The share inside the 95 % interval, of 500 records: within five standard errors, though smoker's levels sum to 1.
    assert!((number("none", 7) - 95.0).abs() < 5.0, "{text}");
}
