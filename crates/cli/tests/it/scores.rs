//! Scores on test records are not covered by the receipt.

use std::fs;

use reticent_tables::ModelFile;

use crate::fit::{Case, people};
use crate::{failed, json, refused, stdout};

const PRIVACY: &str = "--epsilon 1 --delta 1e-5";

/// The defect: `fit --test` wrote exact statistics of the test records into the model file, beside the receipt.
#[test]
fn scores_stay_out_of_the_model_file() {
    let case = Case::new(400);
    case.write("test.csv", &people(100));
    let (model, scores, page) = (case.path("m.reticent"), case.path("m.scores.json"), case.path("r.html"));
    let fit = format!("{} {PRIVACY} --test {}", case.fit("linear", "m.reticent"), case.path("test.csv"));
    let score = json(&fit)["score"].clone();

    let file = ModelFile::read(&model).unwrap();
    let header = serde_json::to_string(&file.header).unwrap();
    let rmse = score["rmse"].to_string();
    for word in ["rmse", "log_likelihood", "coverage", "calibration", "test.csv", &rmse] {
        assert!(!header.contains(word), "{word}: {header}");
    }
    assert!(!stdout(&format!("show {model}")).contains("test records"));
    stdout(&format!("report {model} --out {page}"));
    assert!(!fs::read_to_string(&page).unwrap().contains("Test scores"));

    let written: serde_json::Value = serde_json::from_str(&fs::read_to_string(&scores).unwrap()).unwrap();
    assert_eq!(written["score"], score);
    assert!(written["note"].as_str().unwrap().starts_with("NOT PRIVATE"), "{written}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&scores).unwrap().permissions().mode() & 0o777, 0o600);
    }

    // A page has them if it is asked to, and says what they are.
    stdout(&format!("report {model} --out {page} --scores {scores}"));
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains("Test scores") && text.contains("NOT PRIVATE: the scores are exact"), "{text}");
    // Those of another model are refused, and so is what is no file of scores.
    json(&fit.replace("m.reticent", "n.reticent"));
    failed(&format!("report {model} --out {page} --scores {}", case.path("n.scores.json")), "another model");
    failed(&format!("report {model} --out {page} --scores {}", case.path("test.csv")), "no scores");
    failed(&format!("report {model} --out {page} --scores {}", case.path("absent.json")), "absent.json");
}

/// Scores of records that were declared public are in the file, and receipt, card, `show` and report state what they are.
#[test]
fn scores_of_public_records_are_stated() {
    let case = Case::new(400);
    case.write("test.csv", &people(100));
    let (model, page) = (case.path("m.reticent"), case.path("r.html"));
    let fit = case.fit("linear", "m.reticent");
    assert_eq!(crate::reticent(&format!("{fit} {PRIVACY} --test-is-public")).status.code(), Some(2));
    let fitted = json(&format!("{fit} {PRIVACY} --test {} --test-is-public", case.path("test.csv")));
    assert!(!std::path::Path::new(&case.path("m.scores.json")).exists());

    let stated = "the scores are exact statistics of test records that were declared public; the receipt does not cover them";
    let shown = json(&format!("show {model}"));
    assert_eq!(shown["card"]["test"]["score"], fitted["score"]);
    assert_eq!(shown["card"]["test"]["note"], stated);
    for receipt in [&shown["receipt"], &fitted["receipt"]] {
        let assumptions = receipt["assumptions"].as_array().unwrap();
        assert!(assumptions.iter().any(|assumption| assumption == stated), "{assumptions:?}");
    }
    stdout(&format!("report {model} --out {page}"));
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains("Test scores") && text.matches(stated).count() >= 2, "{text}");
    assert!(stdout(&format!("show {model}")).matches(stated).count() == 2);
}

/// Before anything is spent, however the file is named. A copy is not recognised: contents are not compared, since then the
/// exit code would depend on the records.
#[test]
fn a_test_file_that_is_a_training_file_is_refused() {
    let case = Case::new(400);
    let (ledger, data) = (case.path("budget.ledger"), case.path("people.csv"));
    stdout(&format!("ledger init {ledger} --data-set people --epsilon 2 --delta 1e-4"));
    let fit = format!("{} {PRIVACY} --ledger {ledger} --data-set people", case.fit("linear", "m.reticent"));
    fs::create_dir(case.path("folder")).unwrap();
    fs::copy(&data, case.path("folder/a.csv")).unwrap();
    fs::hard_link(&data, case.path("folder/link.csv")).unwrap();
    let mut names = vec![data.clone(), case.path("folder/../people.csv"), case.path("folder/link.csv")];
    names.push(case.path("folder"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&data, case.path("soft.csv")).unwrap();
        names.push(case.path("soft.csv"));
    }
    for name in names {
        refused(&format!("{fit} --test {name}"), "training file");
        refused(&format!("{fit} --test {name} --test-is-public"), "training file");
    }
    // The other way round: one of several training files.
    let several = fit.replace(&data, &case.path("folder"));
    refused(&format!("{several} --test {}", case.path("folder/a.csv")), "training file");
    assert!(!std::path::Path::new(&case.path("m.reticent")).exists());
    assert_eq!(json(&format!("ledger history {ledger} --data-set people")), serde_json::json!([]));

    stdout(&format!("{fit} --test {}", case.path("folder/a.csv")));
}
