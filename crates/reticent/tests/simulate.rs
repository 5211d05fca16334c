//! Simulated records and predictions as files.

use std::collections::HashMap;
use std::path::Path;

use reticent::{Adjacency, Fit, Fitted, Privacy, SavedModel, Schema};

const ROWS: usize = 4000;

const FEATURES: &str = r#"features = [
    { name = "age", kind = "numeric", bounds = [20, 80], unit = "years" },
    { name = "ward", kind = "categorical", levels = ["a, b", "c", "d"] },
    { name = "emergency", kind = "boolean" },
]"#;

/// Simulated patients: nobody is one. Half are in the first ward, and a quarter are emergencies.
fn patients(folder: &Path) -> std::path::PathBuf {
    let line = |n: usize| {
        let ward = ["\"a, b\"", "\"a, b\"", "c", "d"][n % 4];
        let (age, emergency) = (20 + n * 7 % 60, (n / 4).is_multiple_of(4));
        format!("p{n},{age},{ward},{emergency},{}\n", age + 10 * usize::from(emergency) > 50 + n % 7)
    };
    let path = folder.join("patients.csv");
    std::fs::write(
        &path,
        "id,age,ward,emergency,stays\n".to_owned() + &(0..ROWS).map(line).collect::<String>(),
    )
    .unwrap();
    path
}

fn fitted(model: &str, target: &str, folder: &Path) -> SavedModel {
    let schema = Schema::parse(&format!("{target}\n{FEATURES}")).unwrap();
    let privacy = Privacy::new(8.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let fit: Fitted = Fit::new(model, &schema).unwrap().privacy(privacy).run(patients(folder)).unwrap();
    let file = folder.join("model.reticent");
    fit.save(&file).unwrap();
    SavedModel::load(&file).unwrap()
}

/// Fields of the lines of a file without newlines in fields.
fn lines(file: &Path) -> Vec<Vec<String>> {
    let fields = |line: &str| {
        let (mut fields, mut quoted) = (vec![String::new()], false);
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(String::new()),
                c => fields.last_mut().unwrap().push(c),
            }
        }
        fields
    };
    std::fs::read_to_string(file).unwrap().lines().map(fields).collect()
}

#[test]
fn simulated_records_are_in_the_columns_and_levels_of_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let model = fitted("dirichlet", "", folder.path());
    let out = folder.path().join("synthetic.csv");
    assert_eq!(model.simulate(10_000, 1, &out).unwrap(), ["age", "ward", "emergency"]);
    let rows = lines(&out);
    assert_eq!((rows.len(), &rows[0][..]), (10_001, &["age", "ward", "emergency"].map(str::to_owned)[..]));
    let mut counts: HashMap<&str, f64> = HashMap::new();
    for row in &rows[1..] {
        let age: f64 = row[0].parse().unwrap();
        assert!((20.0..=80.0).contains(&age), "{age}");
        assert!(["true", "false"].contains(&row[2].as_str()));
        *counts.entry(&row[1]).or_default() += 1e-4;
        *counts.entry(&row[2]).or_default() += 1e-4;
    }
    // Five standard errors of 10,000 draws, and 0.01 for the noise.
    for (level, share) in [("a, b", 0.5), ("c", 0.25), ("d", 0.25), ("true", 0.25)] {
        assert!((counts[level] - share).abs() < 0.035, "{counts:?}");
    }
    let again = folder.path().join("again.csv");
    model.simulate(10_000, 1, &again).unwrap();
    assert_eq!(lines(&again), rows, "the seed is all that matters");
    model.simulate(10, 1, folder.path().join("synthetic.parquet")).unwrap();
}

#[test]
fn models_of_a_target_alone_simulate_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let model = fitted("logistic", "target = { name = \"stays\", kind = \"boolean\" }", folder.path());
    let error = model.simulate(10, 1, folder.path().join("synthetic.csv")).unwrap_err();
    assert!(
        error.to_string().contains("logistic") && error.to_string().contains("distribution of records"),
        "{error}"
    );
    assert!(!folder.path().join("synthetic.csv").exists());
}

#[test]
fn probabilities_have_a_spread_and_columns_are_carried_through() {
    let folder = tempfile::tempdir().unwrap();
    let model = fitted("logistic", "target = { name = \"stays\", kind = \"boolean\" }", folder.path());
    let out = folder.path().join("predictions.csv");
    let names = model.predict_with(patients(folder.path()), &["id", "ward"], &out).unwrap();
    let expected = [
        "id",
        "ward",
        "probability_false",
        "probability_true",
        "probability_sd",
        "q05",
        "q25",
        "q50",
        "q75",
        "q95",
    ];
    assert_eq!(names, expected);
    let rows = lines(&out);
    assert_eq!(rows.len(), 1 + ROWS);
    for (n, row) in rows[1..].iter().enumerate() {
        assert_eq!(
            (row[1].as_str(), row[2].as_str()),
            (&*format!("p{n}"), ["a, b", "a, b", "c", "d"][n % 4])
        );
        let numbers: Vec<f64> = row[3..].iter().map(|text| text.parse().unwrap()).collect();
        let [no, yes, sd, quantiles @ ..] = &numbers[..] else { panic!("{row:?}") };
        assert!((no + yes - 1.0).abs() < 1e-12 && *sd > 0.0 && *sd < 0.5, "{row:?}");
        assert!(quantiles.windows(2).all(|pair| pair[0] < pair[1]), "{row:?}");
        assert!(quantiles[0] < *yes && *yes < quantiles[4], "{row:?}");
        // The interquartile range of a normal variable is 1.35 standard deviations; between these probabilities the link bends it a little.
        let range = (quantiles[3] - quantiles[1]) / 1.349;
        assert!(!(0.2..0.8).contains(yes) || (range / sd - 1.0).abs() < 0.2, "{row:?}");
    }
    // Every missing column is named.
    let file = folder.path().join("new.csv");
    std::fs::write(&file, "age\n30\n").unwrap();
    let error = model.predict_with(file, &["id"], &out).unwrap_err().to_string();
    assert!(["ward", "emergency", "id"].iter().all(|name| error.contains(&format!("{name:?}"))), "{error}");
}
