//! Hidden Markov models of events.

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
    assert!(text.contains("1, weather = Snow") && text.contains("Transition"), "{text}");
    let score = json(&format!("evaluate {model} --data {data}"));
    // Given the state: light is certain, and weather has two levels of 2/3 and 1/3.
    let entropy = 2.0 / 3.0 * (2.0f64 / 3.0).ln() + 1.0 / 3.0 * (1.0f64 / 3.0).ln();
    let log = score["score"]["log_likelihood"].as_f64().unwrap();
    assert!((log - entropy).abs() < 0.1, "{log} {entropy}");
    stdout(&format!("report {model} --out {}", path("report.html")));
    refused(&fit.replace("steps=36", "region=9 --force"), "region");
}
