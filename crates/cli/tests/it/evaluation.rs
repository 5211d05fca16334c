//! Comparison of models, and private evaluation.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use crate::fit::{Case, SCHEMA, people};
use crate::{failed, json, refused, reticent, stdout};

const PRIVATE: &str = "--epsilon 1 --delta 1e-5";

fn classes() -> String {
    SCHEMA.replace(
        "{ name = \"income\", kind = \"numeric\", bounds = [0, 100], unit = \"kUSD\" }",
        "{ name = \"rich\", kind = \"boolean\" }",
    )
}

fn figure<'a>(evaluation: &'a Value, model: usize, name: &str) -> &'a Value {
    let figures = evaluation["evaluated"]["models"][model]["figures"].as_array().unwrap();
    figures.iter().find(|figure| figure["name"].as_str().unwrap().starts_with(name)).unwrap()
}

/// Exact scores are those of `evaluate`, a model does not differ from itself, and one with fewer columns is worse.
#[test]
fn models_are_compared_without_privacy() {
    let case = Case::new(3000);
    let (a, b, data) = (case.path("a.reticent"), case.path("b.reticent"), case.path("people.csv"));
    stdout(&format!("{} {PRIVATE}", case.fit("linear", "a.reticent")));
    let fewer = SCHEMA.replace("    { name = \"member\", kind = \"boolean\" },\n", "");
    assert_ne!(fewer, SCHEMA);
    case.write("schema.toml", &fewer);
    stdout(&format!("{} {PRIVATE}", case.fit("linear", "b.reticent")));
    let compared = json(&format!("compare {a} {a} {b} --data {data}"));
    assert!(compared["note"].as_str().unwrap().starts_with("NOT PRIVATE"));
    let models = &compared["compared"]["models"];
    for (k, file) in [&a, &a, &b].into_iter().enumerate() {
        let score = &json(&format!("evaluate {file} --data {data}"))["score"];
        assert_eq!(models[k]["score"], *score);
        assert_eq!(models[k]["rmse"]["value"], score["rmse"]);
    }
    assert_eq!(models[1]["rmse"]["difference"], 0.0);
    assert_eq!(models[1]["rmse"]["difference_error"], 0.0);
    let worse = |name: &str| models[2][name]["difference"].as_f64().unwrap();
    let error = |name: &str| models[2][name]["difference_error"].as_f64().unwrap();
    // Membership is worth 10 kUSD: its variance of 25 is missed.
    assert!(worse("rmse") > 5.0 * error("rmse") && error("rmse") > 0.0, "{models}");
    assert!(worse("log_likelihood") < -5.0 * error("log_likelihood"), "{models}");
    let text = stdout(&format!("compare {a} {b} --data {data}"));
    assert!(text.starts_with("NOT PRIVATE") && text.contains("root mean squared error, kUSD"), "{text}");

    case.write("schema.toml", &classes());
    stdout(&format!("{} {PRIVATE}", case.fit("logistic", "c.reticent")));
    refused(&format!("compare {a} {} --data {data}", case.path("c.reticent")), "different targets");
    let compared = json(&format!("compare {} --data {data}", case.path("c.reticent")));
    assert!(compared["compared"]["models"][0]["auc"]["standard_error"].as_f64().unwrap() > 0.0);
}

/// Noisy figures are near the exact ones, and the receipt and the ledger have what they cost, under the name of the test records.
#[test]
fn private_evaluation_is_charged_and_near() {
    let case = Case::new(4000);
    let (model, ledger) = (case.path("m.reticent"), case.path("budget.ledger"));
    case.write("test.csv", &people(6000));
    let test = case.path("test.csv");
    stdout(&format!("{} {PRIVATE}", case.fit("linear", "m.reticent")));
    stdout(&format!("ledger init {ledger} --data-set test --epsilon 1.2 --delta 1e-5"));
    let exact = json(&format!("evaluate {model} --data {test}"));
    let out = case.path("evaluation.json");
    let evaluate = format!("evaluate {model} --data {test} {PRIVATE} --ledger {ledger} --data-set test");
    let found = json(&format!("{evaluate} --out {out}"));
    // Five standard deviations of the estimate, whose noise is that of the receipt.
    let rmse = figure(&found, 0, "root");
    let number = |value: &Value| value.as_f64().unwrap();
    let gap = number(&rmse["value"]) - number(&exact["score"]["rmse"]);
    assert!(gap.abs() < 5.0 * number(&rmse["privacy_sd"]), "{rmse} {exact}");
    assert!(
        number(&rmse["lower"]) < number(&rmse["value"]) && number(&rmse["value"]) < number(&rmse["upper"])
    );
    let spent = number(&found["receipt"]["guarantee"]["epsilon"]["upper"]);
    assert!((0.99..=1.0).contains(&spent), "{spent}");
    assert_eq!(found["receipt"]["records"], 6000);
    let written: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(written["evaluated"], found["evaluated"]);
    assert!(!std::path::Path::new(&format!("{out}.journal")).exists());
    let history = stdout(&format!("ledger history {ledger} --data-set test"));
    assert!(history.contains("evaluate linear"), "{history}");
    // No second release for free, and no file is lost.
    failed(&evaluate, "remain");
    failed(&format!("evaluate {model} --data {test} {PRIVATE} --out {out}"), "already exists");
    // Text, with both sources of error.
    let text = stdout(&format!("evaluate {model} --data {test} {PRIVATE}"));
    assert!(text.contains("sd of the noise") && text.contains("errors are clipped at"), "{text}");
    // Under add/remove the number of records is private.
    refused(&format!("evaluate {model} --data {test} {PRIVATE} --adjacency add-remove"), "private");
    let found =
        json(&format!("evaluate {model} --data {test} {PRIVATE} --adjacency add-remove --records 5000"));
    assert_eq!(found["receipt"]["records"], 5000);
    let records = &found["evaluated"]["records"];
    assert!((number(&records["value"]) - 6000.0).abs() < 5.0 * number(&records["privacy_sd"]), "{records}");
    refused(&format!("evaluate {model} --data {test} --epsilon 1 --delta 0"), "delta must be positive");
    assert_eq!(reticent(&format!("evaluate {model} --data {test} --epsilon 1")).status.code(), Some(2));
}

/// Two models of classes are compared by one release.
#[test]
fn models_are_compared_with_privacy() {
    let case = Case::new(4000);
    case.write("schema.toml", &classes());
    let (a, b, data) = (case.path("a.reticent"), case.path("b.reticent"), case.path("people.csv"));
    stdout(&format!("{} {PRIVATE}", case.fit("logistic", "a.reticent")));
    case.write(
        "schema.toml",
        &classes().replace("    { name = \"age\", kind = \"numeric\", bounds = [20, 70] },\n", ""),
    );
    stdout(&format!("{} {PRIVATE}", case.fit("logistic", "b.reticent")));
    let exact = json(&format!("compare {a} {b} --data {data}"));
    let found = json(&format!("compare {a} {b} --data {data} --epsilon 4 --delta 1e-5"));
    assert_eq!(found["receipt"]["groups"].as_array().unwrap().len(), 1);
    let number = |value: &Value| value.as_f64().unwrap();
    for (k, model) in exact["compared"]["models"].as_array().unwrap().iter().enumerate() {
        for (name, score) in [("area", "auc"), ("accuracy", "accuracy")] {
            let figure = figure(&found, k, name);
            let gap = number(&figure["value"]) - number(&model[score]["value"]);
            // Five standard deviations of the noise, and the width of the bins.
            assert!(gap.abs() < 5.0 * number(&figure["privacy_sd"]) + 0.01, "{figure} {model}");
        }
    }
    // Age decides most: the model without it is worse.
    let differences = found["evaluated"]["models"][1]["differences"].as_array().unwrap();
    let loss = differences.iter().find(|figure| figure["name"] == "log loss").unwrap();
    assert!(number(&loss["lower"]) > 0.0, "{loss}");
    let text = stdout(&format!("compare {a} {b} --data {data} --epsilon 4 --delta 1e-5"));
    assert!(text.contains("predicted P(true)") && text.contains("less "), "{text}");
}

/// Whatever the test records hold, a private evaluation ends in the same way and writes the same words.
#[test]
fn no_value_of_a_test_record_changes_how_an_evaluation_ends() {
    let case = Case::new(2000);
    let model = case.path("m.reticent");
    stdout(&format!("{} {PRIVATE}", case.fit("linear", "m.reticent")));
    let mut odd = "age,member,work,income,rich\n".to_owned();
    (0..50).for_each(|k| {
        let lines = ["nan,x,?,inf,", "1e308,,,-1e308,", "\"", "", ",,,,,,,,", "30,true,State,,"];
        let _ = writeln!(odd, "{}", lines[k % lines.len()]);
    });
    let usual: String = people(50);
    let words = |data: &str| {
        case.write("test.csv", data);
        let text = stdout(&format!("evaluate {model} --data {} {PRIVATE}", case.path("test.csv")));
        // Numbers, and the estimates that are too noisy to be shown, are the release.
        let receipt = text.split("Receipt of the test records").nth(1).unwrap().to_owned();
        (text.lines().count(), receipt)
    };
    assert_eq!(words(&odd), words(&usual));
}

/// Every record is in the fit or in the evaluation, and both are charged to one data set.
#[test]
fn held_out_records_are_evaluated_on() {
    let case = Case::new(3000);
    let (model, data, ledger) =
        (case.path("m.reticent"), case.path("people.csv"), case.path("budget.ledger"));
    stdout(&format!("ledger init {ledger} --data-set people --epsilon 3 --delta 1e-4"));
    let charged = format!("{PRIVATE} --ledger {ledger} --data-set people");
    let fit = format!("{} {charged} --holdout 0.25", case.fit("linear", "m.reticent"));
    let printed = stdout(&fit);
    assert!(printed.contains("m.reticent.holdout: keep it secret"), "{printed}");
    let key = format!("{model}.holdout");
    let fitted = json(&format!("show {model}"))["receipt"]["records"].as_u64().unwrap();
    let evaluate = format!("evaluate {model} --data {data} --holdout {key}");
    let evaluated = json(&format!("{evaluate} {charged}"));
    assert_eq!(fitted + evaluated["receipt"]["records"].as_u64().unwrap(), 3000);
    assert_eq!(json(&format!("ledger show {ledger}"))[0]["counts"]["settled"], 2);
    let shown = stdout(&format!("show {model}"));
    assert!(shown.contains("--holdout 0.25") && shown.contains("were held out by secret coins"), "{shown}");
    // Errors are even over a width of 10, so the best prediction leaves 10/12^(1/2) = 2.89 kUSD.
    let error = figure(&evaluated, 0, "root mean squared error");
    assert!(error["lower"].as_f64().unwrap() < 3.2 && error["upper"].as_f64().unwrap() > 2.7, "{error}");
    // The key is nowhere else: not in the model, not in what is printed, not in the ledger.
    let text: Value = serde_json::from_str(&fs::read_to_string(&key).unwrap()).unwrap();
    let secret = text["key"].as_str().unwrap();
    for file in [&model, &ledger] {
        let bytes = fs::read(file).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{file}");
    }
    assert!(!printed.contains(secret) && !shown.contains(secret));

    let output = reticent(&evaluate);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && error.contains("--epsilon"), "{error}");
    refused(&format!("{evaluate} {PRIVATE} --adjacency add-remove --records 700"), "add-remove");
    refused(&format!("{} --holdout 2 {PRIVATE}", case.fit("linear", "b.reticent")), "0.01 to 0.9");
    let add_remove = format!("{} --holdout 0.2 {PRIVATE}", case.fit("linear", "b.reticent"));
    refused(&format!("{add_remove} --adjacency add-remove --records 3000"), "add-remove");
    failed(&fit, "has not seen");
    case.write("fewer.csv", &people(2000));
    failed(&format!("{evaluate} {PRIVATE}").replace("people.csv", "fewer.csv"), "3000");
    crate::noted(&format!("{} {PRIVATE}", case.fit("linear", "all.reticent")));
    failed(&format!("{evaluate} {PRIVATE}").replace("m.reticent --", "all.reticent --"), "may have seen");
}
