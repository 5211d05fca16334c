//! The worked model of `docs/adding-a-model.md` on the command line: one folder and one line, and every command and document has it.

#[path = "../../core/tests/worked_model/mod.rs"]
mod worked_model;

use std::path::Path;

use reticent_core::model::register;

/// What the command prints.
fn reticent(arguments: &str) -> String {
    reticent_cli::run(arguments.split_whitespace()).unwrap_or_else(|failure| panic!("{arguments}: {failure}"))
}

#[track_caller]
fn contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word}: {text}");
    }
}

const SCHEMA: &str = r#"
features = [
    { name = "age", kind = "numeric", bounds = [20, 70], unit = "years" },
    { name = "income", kind = "numeric", bounds = [0, 100] },
]
"#;
const ABOUT: &str = "the mean of each numeric column";

/// Writes the schema and records: three quarters have an age of 20, the others 70; all have an income of 75.
fn write_table(folder: &Path) -> usize {
    let records = 4000;
    let line = |n: usize| if n.is_multiple_of(4) { "70,75\n" } else { "20,75\n" };
    let lines: String = (0..records).map(line).collect();
    std::fs::write(folder.join("people.csv"), format!("age,income\n{lines}")).expect("room for the table");
    std::fs::write(folder.join("people.toml"), SCHEMA).expect("room for the schema");
    records
}

#[test]
fn one_folder_and_one_line_are_in_every_command_and_document() {
    assert!(register(&worked_model::ColumnMeans)); // the one line

    // The list, the page of the model, and the document that is generated.
    contains(&reticent("models"), &["means", ABOUT]);
    let setting = "a factor for the standard deviation of each mean";
    contains(&reticent("models means"), &[ABOUT, "it has no prior", "widen", "1 to 10", setting]);
    let document = reticent("models --markdown");
    contains(&document, &[&format!("| [`means`](#means) | none | {ABOUT} |"), "\n## means\n", "| `widen` |"]);

    let folder = tempfile::tempdir().expect("room for a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let records = write_table(folder.path());
    let (schema, model, page) = (path("people.toml"), path("means.reticent"), path("means.html"));
    let budget = "--epsilon 1 --delta 1e-6 --set widen=2";

    let plan = reticent(&format!("plan means --schema {schema} --records {records} {budget}"));
    contains(&plan, &["sums of columns"]);
    let data = path("people.csv");
    let fit = format!("fit means --data {data} --schema {schema} {budget} --out {model} --quiet");
    reticent(&fit);

    let shown = reticent(&format!("show {model}"));
    contains(&shown, &[&format!("means: {ABOUT}"), "95 % interval", "sums of columns"]);
    // In the units of the schema. Six standard deviations hold but for one run in 5e8.
    for (column, truth) in [("age", 32.5), ("income", 75.0)] {
        let line =
            shown.lines().find(|line| line.trim_start().starts_with(column)).expect("a line of the column");
        let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        assert!((numbers[0] - truth).abs() < 6.0 * numbers[1] + 1e-3, "{line}");
    }

    reticent(&format!("report {model} --out {page}"));
    let page = std::fs::read_to_string(&page).expect("a page");
    contains(&page, &["means", ABOUT, "sums of columns", "age", "income"]);

    let predictions = path("predictions.csv");
    reticent(&format!("predict {model} --data {data} --out {predictions}"));
    let lines = std::fs::read_to_string(&predictions).expect("predictions").lines().count();
    assert_eq!(lines, records + 1);
}
