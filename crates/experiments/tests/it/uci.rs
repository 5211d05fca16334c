//! `table2`, `table3` and `year`.

use std::fmt::Write as _;
use std::path::Path;

use crate::{json, refused, stdout};

/// A set in the columns of wine, within its bounds: the score depends on two of eleven inputs.
fn wine(records: usize) -> tempfile::TempDir {
    let names: Vec<String> = (0..11).map(|k| format!("x{k}")).collect();
    let mut text = names.join(",") + ",y\n";
    let mut state = 1u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / f64::from(1 << 24)
    };
    // The middles of the bounds, and a part of their widths.
    let middles = [10.0, 0.8, 0.5, 8.0, 0.3, 40.0, 150.0, 1.0, 3.4, 1.1, 11.5];
    let widths = [10.0, 1.0, 0.9, 14.0, 0.5, 60.0, 250.0, 0.015, 1.2, 1.5, 6.0];
    for _ in 0..records {
        let u: Vec<f64> = (0..11).map(|_| uniform() - 0.5).collect();
        for ((u, middle), width) in u.iter().zip(middles).zip(widths) {
            write!(text, "{},", middle + u * width).unwrap();
        }
        writeln!(text, "{}", 5.5 + 3.0 * u[10] - 1.5 * u[1] + 0.2 * (uniform() - 0.5)).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("uci_wine_red.csv"), text).unwrap();
    folder
}

fn lines(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn both_tables_share_their_results_and_all_methods_predict() {
    let folder = wine(1500);
    let (data, out) = (folder.path().display(), folder.path().join("out"));
    let arguments =
        format!("--data {data} --sets wine --quick --hidden 8 --epsilon 8 --out {}", out.display());
    let found = json(&format!("table2 {arguments}"));
    let results = lines(&out.join("results.jsonl"));
    assert_eq!(results.len(), 2 * 10);

    // Nothing is done twice: the results are the same, and the other table has them.
    assert_eq!(json(&format!("table2 {arguments}")), found);
    let text = stdout(&format!("table3 {arguments}")).replace('\n', " ");
    assert_eq!(lines(&out.join("results.jsonl")), results);
    for word in
        ["Log-likelihood", "private regression, epsilon 8, add/remove", "-0.936", "only without noise"]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    let file = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&file("table2.json")).unwrap(), found);
    assert_eq!(file("table3.csv").lines().count(), 1 + 10);
    let page = file("table3.html");
    assert!(page.contains("95 %") && page.contains("0.623") && !page.contains("<script"), "{page}");

    let columns: Vec<&str> =
        found["summary"]["columns"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let place = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    // Scores are between 3.25 and 7.75, so an error of 2.25 is that of the middle at worst.
    for row in found["summary"]["rows"].as_array().unwrap() {
        assert!(row[place("rmse")].as_f64().unwrap() < 2.25, "{row}");
        assert!(row[place("log_likelihood")].is_f64() && row[place("coverage")].is_number(), "{row}");
        assert_eq!(row[place("splits")], 2.0, "{row}");
    }
}

#[test]
fn assumed_moments_are_said_to_be() {
    let folder = wine(300);
    let (data, out) = (folder.path().display(), folder.path().join("out"));
    let run = format!(
        "table2 --data {data} --sets wine --methods linear --splits 1 --epsilon 1,4 \
         --adjacency add-remove,replace-one --assume-public-moments --out {}",
        out.display()
    );
    // Paragraphs are broken into lines.
    let text = stdout(&run).replace('\n', " ");
    for word in ["assumed to be public", "epsilon 4, replace-one, moments assumed public"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(lines(&out.join("results.jsonl")).len(), 4);
}

#[test]
fn a_short_run_of_the_size_of_year_is_measured() {
    let found = json("year --records 2000 --passes 0.4");
    assert_eq!(found["steps"], 3);
    assert_eq!(found["steps_of_year"], 72_455);
    assert_eq!(found["finite"], true);
    assert!(stdout("year --records 2000 --passes 0.1").contains("generated records"));
}

#[test]
fn wrong_options_are_one_sentence_and_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display();
    refused(&format!("table2 --data {out} --out {out}/new"), "uci_naval.parquet");
    refused(&format!("table3 --epsilon 0 --out {out}"), "epsilon");
    refused(&format!("table2 --splits 0 --out {out}"), "--splits");
    refused("year --passes 0", "--passes");
    refused("year --records 10", "--records");
    for arguments in ["table2 --sets iris", "table2 --methods guess", "table2 --quick --splits 3"] {
        let output = crate::run(&format!("{arguments} --out {out}"));
        assert_eq!(output.status.code(), Some(2), "{arguments}");
    }
}
