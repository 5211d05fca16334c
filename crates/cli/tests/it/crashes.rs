//! `reproduce foulds-hmm`, and hidden Markov models of events.

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
    let found = json(&format!("reproduce foulds-hmm {arguments}"));
    let results = std::fs::read_to_string(out.join("results.jsonl")).unwrap();
    assert_eq!(results.lines().count(), 2 * 5);
    // Nothing is done twice.
    let text = stdout(&format!("reproduce foulds-hmm {arguments}"));
    assert_eq!(std::fs::read_to_string(out.join("results.jsonl")).unwrap(), results);
    for word in ["HMM, counts, noise-aware", "Laplace", "not private", "of the gain", "fig7-division.svg"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert_eq!(found["summary"]["rows"].as_array().unwrap().len(), 5);
    for number in 3..=7 {
        let figure = std::fs::read_to_string(out.join(format!("fig{number}-division.svg"))).unwrap();
        assert!(figure.starts_with("<svg") && !figure.contains("NaN"), "{number}");
    }
    refused("reproduce foulds-hmm --splits 0", "splits");
    let nowhere = folder.path().join("nowhere");
    refused(
        &format!("reproduce foulds-hmm --data {} --out {}", nowhere.display(), out.display()),
        "fars_2013_2015",
    );
}

#[test]
fn events_are_fitted_shown_and_evaluated() {
    let folder = crashes();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let schema = "features = [\n\
        { name = \"division\", kind = \"categorical\", levels = [\"Pacific\", \"Mountain\"] },\n\
        { name = \"t_month\", kind = \"numeric\", bounds = [0, 35] },\n\
        { name = \"light\", kind = \"categorical\", levels = [\"Daylight\", \"Dawn\"] },\n\
        { name = \"weather\", kind = \"categorical\", levels = [\"Clear\", \"Rain\", \"Snow\"] },\n]\n";
    std::fs::write(folder.path().join("schema.toml"), schema).unwrap();
    let (data, schema, model) = (path("fars_2013_2015.csv"), path("schema.toml"), path("model.reticent"));
    let fit = format!(
        "fit hmm --data {data} --schema {schema} --epsilon 2 --delta 1e-6 --set states=2 --set steps=36 --out {model}"
    );
    let text = stdout(&fit);
    assert!(text.contains("counts of events"), "{text}");
    let text = stdout(&format!("show {model}"));
    assert!(text.contains("state 1") && text.contains("weather=Snow"), "{text}");
    let score = json(&format!("evaluate {model} --data {data}"));
    // Given the state: light is certain, and weather has two levels of 2/3 and 1/3.
    let entropy = 2.0 / 3.0 * (2.0f64 / 3.0).ln() + 1.0 / 3.0 * (1.0f64 / 3.0).ln();
    let log = score["score"]["log_likelihood"].as_f64().unwrap();
    assert!((log - entropy).abs() < 0.1, "{log} {entropy}");
    stdout(&format!("report {model} --out {}", path("report.html")));
    refused(&fit.replace("steps=36", "region=9 --force"), "region");
}
