//! `foulds-hmm`.

use std::fmt::Write as _;

use crate::{json, refused, stdout};

/// Crashes in the columns of the file: two divisions with other weather, which changes with the months.
fn crashes() -> tempfile::TempDir {
    let mut text = String::from("division,t_month,light,weather,manner,route,rural_urban\n");
    for n in 0..7200 {
        let (region, month) = (n % 2, n / 2 % 36);
        let winter = (month % 12 < 6) == (region == 0);
        let weather = if winter { ["Snow", "Snow", "Rain"] } else { ["Clear", "Clear", "Rain"] }[n / 72 % 3];
        let light = if winter { "Dawn" } else { "Daylight" };
        let name = ["Pacific", "Mountain"][region];
        writeln!(text, "{name},{month},{light},{weather},Angle,Interstate,Rural").unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fars_2013_2015.csv"), text).unwrap();
    folder
}

#[test]
fn the_case_study_prints_writes_and_goes_on() {
    let folder = crashes();
    let (data, out) = (folder.path().display(), folder.path().join("out"));
    let arguments = format!(
        "--data {data} --regions division --splits 2 --states 2 --chains 1 --iterations 10 --epsilon 5 --drawn-states 2 \
         --methods naive-bayes,naive,noise-aware --out {}",
        out.display()
    );
    let found = json(&format!("foulds-hmm {arguments}"));
    let results = std::fs::read_to_string(out.join("results.jsonl")).unwrap();
    assert_eq!(results.lines().count(), 2 * 5);
    // Nothing is done twice.
    let text = stdout(&format!("foulds-hmm {arguments}"));
    assert_eq!(std::fs::read_to_string(out.join("results.jsonl")).unwrap(), results);
    for word in ["HMM, counts, noise-aware", "Laplace", "not private", "of the gain", "fig7-division.svg"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(found["summary"]["rows"].as_array().unwrap().len(), 5);
    for number in 3..=7 {
        let figure = std::fs::read_to_string(out.join(format!("fig{number}-division.svg"))).unwrap();
        assert!(figure.starts_with("<svg") && !figure.contains("NaN"), "{number}");
    }
    refused("foulds-hmm --splits 0", "splits");
    let nowhere = folder.path().join("nowhere");
    refused(&format!("foulds-hmm --data {} --out {}", nowhere.display(), out.display()), "fars_2013_2015");
}
