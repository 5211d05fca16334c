//! What files and pages state is true: no budget that was not spent, no bounds that came from elsewhere, no value that cannot be.

use std::fmt::Write as _;

use reticent_tables::ModelFile;
use serde_json::Value;

use crate::fit::{Case, SCHEMA};
use crate::{failed, json, reticent, stdout};

const CLASSES: &str = r#"
target = { name = "rich", kind = "boolean" }
features = [
    { name = "age", kind = "numeric", bounds = [20, 70] },
    { name = "member", kind = "boolean" },
]
"#;
const NUMBERS: &str = r#"features = [{ name = "age", kind = "numeric", bounds = [20, 70] },
    { name = "income", kind = "numeric", bounds = [0, 100] }]"#;
const ANSWERS: &str =
    r#"features = [{ name = "member", kind = "boolean" }, { name = "rich", kind = "boolean" }]"#;

const EVENTS: &str = r#"
features = [
    { name = "work", kind = "categorical", levels = ["Private", "State"] },
    { name = "age", kind = "numeric", bounds = [20, 70] },
    { name = "member", kind = "boolean" },
]
"#;

/// Names in a JSON value that stand for a privacy budget or for noise that was added.
fn claims(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                let private = ["epsilon", "delta", "multiplier", "_noise"];
                // A receipt without privacy may state that the multiplier was 0.
                let claim = private.iter().any(|word| name.contains(word)) && value.as_f64() != Some(0.0);
                if claim && !value.is_null() {
                    found.push(format!("{name}: {value}"));
                }
                claims(value, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| claims(item, found)),
        Value::String(text) if text.contains("epsilon") => found.push(text.clone()),
        _ => {}
    }
}

/// Several models plan a fit without privacy as if for a large budget: nothing of that is in the file.
#[test]
fn a_file_without_privacy_has_no_budget() {
    let case = Case::new(300);
    case.write("notes.csv", "text\n\"soup bread\"\n\"train hotel\"\n");
    let text =
        r#"features = [{ name = "text", kind = "text", vocabulary = ["soup", "bread", "train", "hotel"] }]"#;
    let counts = r#"features = [{ name = "age", kind = "numeric", bounds = [0, 70] }]"#;
    let small = "--set hidden=3 --set passes=1";
    let cases = [
        ("regression", SCHEMA, ""),
        ("linear", SCHEMA, ""),
        ("logistic", CLASSES, ""),
        ("probit", CLASSES, ""),
        ("network", SCHEMA, small),
        ("network", CLASSES, small),
        ("network-vi", SCHEMA, small),
        ("network-sgd", SCHEMA, "--set hidden=3 --set steps=5"),
        ("naive-bayes", CLASSES, ""),
        ("dirichlet", ANSWERS, ""),
        ("beta-bernoulli", ANSWERS, ""),
        ("normal", NUMBERS, ""),
        ("multivariate-normal", NUMBERS, ""),
        ("poisson", counts, "--set bound=70"),
        ("topics", text, "--set topics=2"),
        ("sigmoid-belief", ANSWERS, "--set units=2"),
        ("hmm", EVENTS, "--set states=2 --set iterations=20"),
        ("mixture", NUMBERS, "--set components=2 --set noise-sd=0.3"),
    ];
    let mut fitted = 0;
    for (model, schema, settings) in cases {
        case.write("schema.toml", schema);
        let mut command = format!("{} --no-privacy {settings}", case.fit(model, "model.reticent"));
        if model == "topics" {
            command = command.replace("people.csv", "notes.csv");
        }
        let output = reticent(&command);
        if !output.status.success() {
            panic!("{model}: {}", String::from_utf8_lossy(&output.stderr));
        }
        fitted += 1;
        let header = ModelFile::read(case.path("model.reticent")).unwrap().header;
        let mut found = Vec::new();
        for part in [&header.plan, &header.receipt, &header.card] {
            claims(part, &mut found);
        }
        assert!(found.is_empty(), "{model}: {found:?}");
    }
    assert_eq!(fitted, cases.len());
    // The same names are found in a private file: the search can fail.
    case.write("schema.toml", NUMBERS);
    stdout(&format!("{} --epsilon 1 --delta 1e-5", case.fit("normal", "model.reticent")));
    let mut found = Vec::new();
    claims(&ModelFile::read(case.path("model.reticent")).unwrap().header.plan, &mut found);
    assert!(!found.is_empty());
}

/// Every model of the program is in the test above.
#[test]
fn no_model_is_forgotten() {
    let text = include_str!("statements.rs");
    for model in reticent_core::model::models() {
        assert!(text.contains(&format!("(\"{}\", ", model.name())), "{}", model.name());
    }
}

/// The assumptions in the receipt of a run, in what `show` prints, and on the page.
fn stated(case: &Case, options: &str) -> [String; 3] {
    let fitted =
        json(&format!("{} --epsilon 1 --delta 1e-5 {options}", case.fit("linear", "model.reticent")));
    let assumptions: Vec<&str> =
        fitted["receipt"]["assumptions"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let (model, page) = (case.path("model.reticent"), case.path("page.html"));
    stdout(&format!("report {model} --out {page}"));
    [assumptions.join("\n"), stdout(&format!("show {model}")), std::fs::read_to_string(&page).unwrap()]
}

#[test]
fn private_bounds_are_not_said_to_be_chosen_without_the_data() {
    let case = Case::new(2000);
    let chosen = "bounds were chosen without looking at the data";
    for text in stated(&case, "") {
        assert!(text.contains(chosen) && !text.contains("estimated from the data"), "{text}");
    }
    case.write(
        "schema.toml",
        &SCHEMA.replace("bounds = [0, 100]", "bounds = \"private\", within = [0, 1000]"),
    );
    let _ = std::fs::remove_file(case.path("model.reticent"));
    for text in stated(&case, "") {
        assert!(!text.contains(chosen), "{text}");
        let estimated =
            "the bounds of income were estimated from the data with a share of the privacy budget";
        assert!(text.contains(estimated), "{text}");
        assert!(text.contains("the bounds of age were chosen without looking at the data"), "{text}");
    }
    // Bounds that were read from the data are not said to be chosen without it either.
    let people = case.path("people.csv");
    let public = stdout(&format!("schema --from {people} --target income --assume-public"));
    case.write("schema.toml", &public);
    let _ = std::fs::remove_file(case.path("model.reticent"));
    for text in stated(&case, "") {
        assert!(!text.contains(chosen), "{text}");
        assert!(text.contains("were read from the data and are assumed to be public"), "{text}");
    }
}

/// Numbers are no documents: neither a plan nor a fit takes them, whatever the plan file says.
#[test]
fn topics_of_numbers_are_refused() {
    let case = Case::new(200);
    let words = r#"{ name = "work", kind = "text", vocabulary = ["private", "state"] }"#;
    let (schema, privacy) = (case.path("schema.toml"), "--epsilon 1 --delta 1e-5 --set topics=2");
    case.write("schema.toml", &format!("features = [{words}]"));
    let plan = stdout(&format!("plan topics --schema {schema} --records 200 {privacy} --json"));
    case.write("plan.json", &plan);
    let mixed = format!("features = [{words}, {{ name = \"age\", kind = \"numeric\", bounds = [20, 70] }}]");
    for schema_of_numbers in [NUMBERS, &mixed] {
        case.write("schema.toml", schema_of_numbers);
        failed(&format!("plan topics --schema {schema} --records 200 {privacy}"), "columns of words");
        let fit = case.fit("topics", "model.reticent");
        failed(&format!("{fit} {privacy}"), "columns of words");
        failed(&format!("{fit} --no-privacy --set topics=2"), "columns of words");
        let output = reticent(&format!("{fit} {privacy}"));
        assert!(String::from_utf8_lossy(&output.stderr).contains("kind = \"text\""));
        failed(
            &format!("{fit} --epsilon 1 --delta 1e-5 --plan {}", case.path("plan.json")),
            "columns of words",
        );
    }
}

/// All records are at the upper bounds, so that noise puts the mean of a component outside about every other time: that none of 20 fits has
/// one outside has a chance of about 1e-6.
#[test]
fn components_outside_the_bounds_are_warned_of() {
    let case = Case::new(1);
    let mut text = "x,y\n".to_owned();
    (0..2000).for_each(|_| _ = writeln!(text, "10,10"));
    case.write("people.csv", &text);
    let column = |name: &str| format!("{{ name = \"{name}\", kind = \"numeric\", bounds = [0, 10] }}");
    case.write("schema.toml", &format!("features = [{}, {}]", column("x"), column("y")));
    let settings = "--epsilon 2 --delta 1e-5 --set components=2 --set noise-sd=0.2 --set prior-variance=4";
    let mut warned = 0;
    for k in 0..20 {
        let out = format!("model{k}.reticent");
        let fitted = json(&format!("{} {settings}", case.fit("mixture", &out)));
        let warnings = fitted["warnings"].as_array().unwrap();
        let model = case.path(&out);
        let shown = json(&format!("show {model}"));
        let outside = ModelFile::read(&model).unwrap().arrays.iter().any(|(name, array)| {
            name.ends_with(".mean") && array.values().iter().any(|mean| mean.abs() > 1.0)
        });
        assert_eq!(outside, !warnings.is_empty(), "{warnings:?}");
        assert_eq!(shown["card"]["warnings"].as_array().map_or(0, Vec::len), warnings.len());
        let Some(warning) = warnings.first().and_then(Value::as_str) else { continue };
        warned += 1;
        assert!(warning.contains("outside the bounds of"), "{warning}");
        assert!(stdout(&format!("show {model}")).contains(&format!("warning: {warning}")));
        let page = case.path("page.html");
        stdout(&format!("report {model} --out {page}"));
        assert!(std::fs::read_to_string(&page).unwrap().contains(warning));
        if warned > 2 {
            break;
        }
    }
    assert!(warned > 0);
}

/// The deviation of a predicted probability is that of draws of the weights, which are read from the file and drawn on an even grid of normal
/// quantiles.
#[test]
fn deviations_of_probabilities_are_those_of_draws() {
    let case = Case::new(3000);
    case.write(
        "schema.toml",
        r#"
target = { name = "rich", kind = "boolean" }
features = [{ name = "age", kind = "numeric", bounds = [20, 70] }]
"#,
    );
    stdout(&format!("{} --no-privacy", case.fit("probit", "model.reticent")));
    let model = case.path("model.reticent");
    let arrays = ModelFile::read(&model).unwrap().arrays;
    let (mean, covariance) =
        (arrays["moments.mean"].values().to_vec(), arrays["moments.covariance"].values().to_vec());
    case.write("new.csv", "age\n20\n70\n");
    let out = case.path("predictions.csv");
    stdout(&format!("predict {model} --data {} --out {out}", case.path("new.csv")));
    let text = std::fs::read_to_string(&out).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let column = rows[0].iter().position(|name| *name == "probability_sd").unwrap();
    for (x, row) in [(-1.0, &rows[1]), (1.0, &rows[2])] {
        let found: f64 = row[column].parse().unwrap();
        let score = mean[0] * x + mean[1];
        let sd = (covariance[0] * x * x + 2.0 * covariance[1] * x + covariance[3]).sqrt();
        // The deviation of the probability over draws of the score.
        let (mut first, mut second, mut mass) = (0.0, 0.0, 0.0);
        for k in -4000..=4000 {
            let z = f64::from(k) * 1e-3;
            let (weight, p) = ((-0.5 * z * z).exp(), cdf(score + sd * z));
            (first, second, mass) = (first + weight * p, second + weight * p * p, mass + weight);
        }
        let deviation = (second / mass - (first / mass).powi(2)).sqrt();
        // To first order both are the sd times the density; the log-odds scale differs by a factor of 1.6 or more.
        assert!((found - deviation).abs() < 0.1 * deviation + 1e-4, "{row:?}: {found} {deviation}");
    }
}

/// The normal distribution function, by Simpson's rule.
fn cdf(x: f64) -> f64 {
    let density = |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    let steps = 400;
    let width = x / f64::from(steps);
    let weight = |k: i32| {
        if k == 0 || k == steps {
            1.0
        } else if k % 2 == 1 {
            4.0
        } else {
            2.0
        }
    };
    0.5 + (0..=steps).map(|k| weight(k) * density(f64::from(k) * width)).sum::<f64>() * width / 3.0
}

/// A network by DP-SGD with steps far too long: whatever it learnt, it predicts what can be.
#[test]
fn predictions_stay_within_the_bounds_of_the_target() {
    let case = Case::new(500);
    let settings =
        "--epsilon 1 --delta 1e-5 --set hidden=5 --set batch=50 --set steps=50 --set rate=50 --set clip=5";
    stdout(&format!("{} {settings}", case.fit("network-sgd", "model.reticent")));
    let (model, people, out) = (case.path("model.reticent"), case.path("people.csv"), case.path("out.csv"));
    stdout(&format!("predict {model} --data {people} --out {out}"));
    let text = std::fs::read_to_string(&out).unwrap();
    let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    for line in text.lines().skip(1) {
        for (name, cell) in
            names.iter().zip(line.split(',')).filter(|(name, _)| **name != "sd" && **name != "row")
        {
            let value: f64 = cell.parse().unwrap();
            assert!((0.0..=100.0).contains(&value), "{name}: {value}");
        }
    }
    // Incomes are between 0 and 100, so that no prediction within them is farther than 100 from any.
    let rmse = json(&format!("evaluate {model} --data {people}"))["score"]["rmse"].as_f64().unwrap();
    assert!(rmse <= 100.0, "{rmse}");
}
