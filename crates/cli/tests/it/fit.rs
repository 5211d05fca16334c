use std::fmt::Write as _;
use std::path::Path;

use crate::{failed, json, refused, reticent, stdout};

/// What is publicly known of [`people`].
pub(crate) const SCHEMA: &str = r#"
target = { name = "income", kind = "numeric", bounds = [0, 100], unit = "kUSD" }
features = [
    { name = "age", kind = "numeric", bounds = [20, 70] },
    { name = "member", kind = "boolean" },
    { name = "work", kind = "categorical", levels = ["Private", "State"] },
]
"#;

/// A table in which income is about `20 + age/2 + 10 (member) + 5 (State)`, with errors even between -5 and 5. Multiples of
/// irrational numbers stand for chance.
pub(crate) fn people(records: u32) -> String {
    let mut text = "age,member,work,income,rich\n".to_owned();
    let chance = |k: u32, root: f64| (f64::from(k) * root).fract();
    for k in 1..=records {
        let age = 20.0 + 50.0 * chance(k, 2f64.sqrt());
        let (member, state) = (chance(k, 3f64.sqrt()) < 0.5, chance(k, 5f64.sqrt()) < 0.5);
        let error = 10.0 * chance(k, 7f64.sqrt()) - 5.0;
        let income =
            20.0 + 0.5 * age + 10.0 * f64::from(u8::from(member)) + 5.0 * f64::from(u8::from(state)) + error;
        let work = if state { "State" } else { "Private" };
        let _ = writeln!(text, "{age:.2},{member},{work},{income:.3},{}", income > 52.0);
    }
    text
}

/// A folder with the table, its schema, and the start of a command to fit it.
pub(crate) struct Case {
    pub(crate) folder: tempfile::TempDir,
}

impl Case {
    pub(crate) fn new(records: u32) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let case = Self { folder };
        case.write("people.csv", &people(records));
        case.write("schema.toml", SCHEMA);
        case
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).expect("a file");
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    pub(crate) fn fit(&self, model: &str, out: &str) -> String {
        let (data, schema, out) = (self.path("people.csv"), self.path("schema.toml"), self.path(out));
        format!("fit {model} --data {data} --schema {schema} --out {out} --force")
    }
}

const PRIVACY: &str = "--epsilon 1 --delta 1e-5";

/// Errors are even over a width of 10, so the best prediction leaves 10/sqrt(12) = 2.89; the mean of income leaves its
/// deviation, the root of 50^2/48 + 25 + 25/4 + 100/12 = 9.58. Half way between is far from both.
#[test]
fn from_file_to_predictions() {
    let case = Case::new(4000);
    let template = stdout(&format!("schema --from {} --target income", case.path("people.csv")));
    assert!(template.contains("name = \"age\"") && !template.contains("State"), "{template}");

    case.write("test.csv", &people(4000));
    let test = case.path("test.csv");
    let fit = format!("{} {PRIVACY} --test {test}", case.fit("regression", "model.reticent"));
    let text = stdout(&fit);
    assert!(text.contains("4000 records") && text.contains("the number of records is public"), "{text}");
    assert!(text.contains("NOT PRIVATE") && text.contains("model.scores.json"), "{text}");
    let model = case.path("model.reticent");
    let shown = json(&format!("show {model}"));
    assert!(shown["receipt"]["guarantee"]["epsilon"]["upper"].as_f64().unwrap() <= 1.0);
    let text = stdout(&format!("show {model}"));
    assert!(
        text.starts_with("A regression model of income in kUSD by 3 columns, fitted to 4000 records on 20"),
        "{text}"
    );
    assert!(
        text.contains("epsilon 1, delta 1e-5, replace-one adjacency.\nreticent fit regression --data"),
        "{text}"
    );

    let score = &json(&format!("evaluate {model} --data {}", case.path("people.csv")));
    assert!(score["note"].as_str().unwrap().contains("NOT PRIVATE"));
    let rmse = score["score"]["rmse"].as_f64().unwrap();
    assert!(rmse < 6.2, "{rmse}");
    // What was found at the fit is in a file of its own, exactly.
    let scores = std::fs::read_to_string(case.path("model.scores.json")).unwrap();
    let scores: serde_json::Value = serde_json::from_str(&scores).unwrap();
    assert_eq!(score["score"], scores["score"]);

    for name in ["out.csv", "out.parquet"] {
        let out = case.path(name);
        let text = stdout(&format!("predict {model} --data {} --out {out}", case.path("people.csv")));
        assert!(text.contains("row, mean, sd, q05, q25, q50, q75, q95"), "{text}");
    }
    let predictions = std::fs::read_to_string(case.path("out.csv")).unwrap();
    assert_eq!(predictions.lines().count(), 4001);
    for line in predictions.lines().skip(1).take(100) {
        let row: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        assert!(row[3..].is_sorted() && row[2] > 0.0 && (0.0..=100.0).contains(&row[1]), "{line}");
    }
}

/// The numbers of a parameter are the same in `show`, `show --json`, `draws` and the report: in `show` and the report with two digits of the standard
/// deviation, and the rows that a long table leaves out in none of the two. Means of 4,000 draws have a standard error of 0.016 deviations. Posteriors by
/// chains have fewer different draws, a thousand or more: ten standard errors are 0.32 deviations.
fn agree(case: &Case, model: &str, page: &str) {
    let (shown, text) = (json(&format!("show {model}")), stdout(&format!("show {model}")));
    let (page, draws) = (std::fs::read_to_string(page).unwrap(), case.path("draws.csv"));
    let _ = std::fs::remove_file(&draws);
    stdout(&format!("draws {model} --n 4000 --out {draws}"));
    let mut reader = csv_rows(&std::fs::read_to_string(draws).unwrap());
    let header = reader.remove(0);
    assert_eq!(reader.len(), 4000, "{model}");
    let parameters = shown["parameters"].as_array().unwrap();
    assert!(!parameters.is_empty(), "{model}");
    let mut place = std::collections::BTreeMap::new();
    for parameter in parameters {
        let (mean, sd) = (parameter["mean"].as_f64().unwrap(), parameter["sd"].as_f64().unwrap());
        let (name, variable) = (parameter["name"].as_str().unwrap(), parameter["variable"].as_str().unwrap());
        let row = place.entry(variable).or_insert(0);
        *row += 1;
        if *row <= reticent_report::tables::MAX_ROWS {
            let value = reticent_report::tables::number(mean, sd);
            assert!(page.contains(&value), "{model}: no {value} of {name} in the report");
            // States are listed with their times.
            assert!(
                text.contains(&value) || variable == "state_probability",
                "{model}: no {value} of {name}"
            );
        }
        let column = header.iter().position(|other| other == name).unwrap_or_else(|| panic!("no {name}"));
        let drawn: Vec<f64> = reader.iter().map(|row| row[column].parse().unwrap()).collect();
        let drawn_mean = drawn.iter().sum::<f64>() / 4000.0;
        let variance = drawn.iter().map(|x| (x - drawn_mean).powi(2)).sum::<f64>() / 4000.0;
        assert!(
            (drawn_mean - mean).abs() <= 0.32 * sd + 1e-9 * mean.abs(),
            "{model}: {name}: {drawn_mean}, {mean}"
        );
        assert!((variance.sqrt() - sd).abs() <= 0.2 * sd + 1e-9, "{model}: {name}: {variance}, {sd}");
    }
}

/// The cells of CSV text, with quoted ones, without newlines within quotes.
fn csv_rows(text: &str) -> Vec<Vec<String>> {
    let row = |line: &str| {
        let (mut cells, mut quoted) = (vec![String::new()], false);
        for character in line.chars() {
            match character {
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(String::new()),
                _ => cells.last_mut().unwrap().push(character),
            }
        }
        cells
    };
    text.lines().map(row).collect()
}

/// Every model can be fitted; a saved one has the scores of the fit, and the same parameters in every form.
#[test]
fn every_model_goes_through() {
    let case = Case::new(1500);
    let classes = SCHEMA.replace(
        "{ name = \"income\", kind = \"numeric\", bounds = [0, 100], unit = \"kUSD\" }",
        "{ name = \"rich\", kind = \"boolean\" }",
    );
    let groups = "features = [{ name = \"age\", kind = \"numeric\", bounds = [20, 70] }]\n";
    let counts = "features = [{ name = \"age\", kind = \"numeric\", bounds = [0, 70] }]\n";
    let both = "features = [{ name = \"age\", kind = \"numeric\", bounds = [20, 70] }, \
                { name = \"income\", kind = \"numeric\", bounds = [0, 100] }]\n";
    let yes =
        "features = [{ name = \"member\", kind = \"boolean\" }, { name = \"rich\", kind = \"boolean\" }]\n";
    let levels =
        "features = [{ name = \"work\", kind = \"categorical\", levels = [\"Private\", \"State\"] }]\n";
    let flags = ["work", "member", "rich"].map(|name| {
        let levels = if name == "work" { "\"Private\", \"State\"" } else { "\"true\", \"false\"" };
        format!("{{ name = \"{name}\", kind = \"categorical\", levels = [{levels}] }}")
    });
    let events = format!("features = [{}]\n", flags.join(", "));
    let words = "features = [{ name = \"work\", kind = \"text\", vocabulary = [\"private\", \"state\"] }]\n";
    let cases = [
        ("regression", SCHEMA, PRIVACY),
        ("linear", SCHEMA, "--no-privacy"),
        ("linear", SCHEMA, PRIVACY),
        ("logistic", &classes, "--no-privacy"),
        ("logistic", &classes, PRIVACY),
        ("probit", &classes, PRIVACY),
        ("probit", &classes, "--no-privacy"),
        ("mixture", groups, "--epsilon 1 --delta 1e-5 --set components=2 --set noise-sd=0.3"),
        ("network", SCHEMA, "--no-privacy --set hidden=5 --set passes=2"),
        ("network", SCHEMA, PRIVACY),
        ("network-vi", SCHEMA, "--no-privacy --set hidden=5 --set passes=2"),
        ("network-sgd", SCHEMA, "--epsilon 1 --delta 1e-5 --set hidden=5 --set batch=100 --set steps=20"),
        ("network", &classes, "--no-privacy --set hidden=5 --set passes=2"),
        ("naive-bayes", &classes, PRIVACY),
        ("naive-bayes", &classes, "--no-privacy"),
        (
            "naive-bayes",
            &classes,
            "--epsilon 1 --delta 1e-5 --adjacency add-remove --records 1000 --posterior naive",
        ),
        ("dirichlet", levels, PRIVACY),
        ("beta-bernoulli", yes, "--epsilon 1 --delta 1e-5 --posterior naive"),
        ("beta-bernoulli", yes, "--epsilon 1 --delta 0"),
        ("normal", groups, PRIVACY),
        ("multivariate-normal", both, PRIVACY),
        ("poisson", counts, "--epsilon 1 --delta 1e-5 --set bound=70"),
        ("hmm", &events, "--epsilon 1 --delta 1e-5 --set states=2 --set iterations=200"),
        ("topics", words, "--epsilon 1 --delta 1e-5 --set topics=2"),
        ("sigmoid-belief", yes, "--epsilon 1 --delta 1e-5 --set units=2"),
    ];
    for model in json("models").as_array().unwrap() {
        let name = model["name"].as_str().unwrap();
        assert!(cases.iter().any(|(fitted, ..)| *fitted == name), "no case of {name}");
    }
    case.write("test.csv", &people(1500));
    for (model, schema, options) in cases {
        case.write("schema.toml", schema);
        let test = case.path("test.csv");
        let fitted = json(&format!("{} {options} --test {test}", case.fit(model, "model.reticent")));
        let again = json(&format!("evaluate {} --data {test}", case.path("model.reticent")));
        assert_eq!(fitted["score"], again["score"], "{model}");
        let private = fitted["receipt"]["guarantee"]["epsilon"]["upper"].as_f64();
        assert_eq!(private.is_some_and(|epsilon| epsilon <= 1.0), options.contains("--epsilon"), "{model}");
        let (file, page) = (case.path("model.reticent"), case.path("report.html"));
        stdout(&format!("report {file} --out {page}"));
        agree(&case, &file, &page);
    }
}

#[test]
fn a_ledger_is_charged_until_nothing_is_left() {
    let case = Case::new(1000);
    let ledger = case.path("budget.ledger");
    stdout(&format!(
        "ledger init {ledger} --data-set people --epsilon 1.2 --delta 2e-5 --schema {}",
        case.path("schema.toml")
    ));
    let fit =
        format!("{} {PRIVACY} --ledger {ledger} --data-set people", case.fit("linear", "model.reticent"));
    let text = stdout(&fit);
    assert!(text.contains("data set \"people\""), "{text}");
    let account = &json(&format!("ledger show {ledger}"))[0];
    let epsilon = |name: &str| account[name]["epsilon"].as_f64().unwrap();
    assert!((0.99..=1.0).contains(&epsilon("sum")), "{account}");
    // At the delta of the cap, which is twice that of the fit, it is less: two of them would be 1.40 by the exact cost at 2e-5.
    assert!((0.9..epsilon("sum")).contains(&epsilon("spent")), "{account}");

    let before = std::fs::read(case.path("model.reticent")).unwrap();
    let output = reticent(&fit);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("remaining"), "{error}");
    assert_eq!(std::fs::read(case.path("model.reticent")).unwrap(), before);
    // Nothing that has no guarantee can be charged, and no other schema.
    refused_by_clap(&format!("{fit} --no-privacy"));
    case.write("schema.toml", &SCHEMA.replace("[20, 70]", "[10, 70]"));
    failed_with(&fit, "schema");
}

/// Intervals of a private network of two classes do not cover: it is refused, and the ledger is as it was.
#[test]
fn a_private_network_of_two_classes_is_refused_before_the_charge() {
    let case = Case::new(1000);
    case.write(
        "schema.toml",
        &SCHEMA.replace(
            "{ name = \"income\", kind = \"numeric\", bounds = [0, 100], unit = \"kUSD\" }",
            "{ name = \"rich\", kind = \"boolean\" }",
        ),
    );
    let (ledger, schema) = (case.path("budget.ledger"), case.path("schema.toml"));
    stdout(&format!("ledger init {ledger} --data-set people --epsilon 1.5 --delta 2e-5 --schema {schema}"));
    failed_with(
        &format!("plan network --schema {schema} --records 1000 {PRIVACY}"),
        "`logistic` or `probit`",
    );
    let fit = case.fit("network", "model.reticent");
    failed_with(&format!("{fit} {PRIVACY} --ledger {ledger} --data-set people"), "`logistic` or `probit`");
    let shown = json(&format!("ledger show {ledger}"));
    assert_eq!(shown[0]["spent"]["epsilon"].as_f64(), Some(0.0), "{shown}");
    assert!(!Path::new(&case.path("model.reticent")).exists());
}

#[track_caller]
fn refused_by_clap(arguments: &str) {
    assert_eq!(reticent(arguments).status.code(), Some(2), "{arguments}");
}

#[track_caller]
fn failed_with(arguments: &str, word: &str) {
    let output = reticent(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && error.contains(word), "{error}");
}

/// Under add/remove the number of records is nobody's business.
#[test]
fn the_number_of_records_is_public_or_guessed() {
    let case = Case::new(987);
    let fit = format!("{} {PRIVACY}", case.fit("linear", "model.reticent"));
    refused(&format!("{fit} --records 987"), "number of records");
    refused(&format!("{fit} --adjacency add-remove"), "number of records is private");
    stdout(&format!("{fit} --adjacency add-remove --records 1000"));
    let file = std::fs::read(case.path("model.reticent")).unwrap();
    let text = String::from_utf8_lossy(&file);
    // Digits of other numbers may happen to be the same: it is no number by itself.
    let mut numbers = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
    assert!(text.contains("\\\"records\\\":1000") && numbers.all(|number| number != "987"));
}

/// A plan can be printed, edited and run; one that costs more is refused before anything is spent.
#[test]
fn a_plan_is_edited_and_run() {
    let case = Case::new(2000);
    let plan = format!("plan linear --schema {} --records 2000 {PRIVACY}", case.path("schema.toml"));
    let text = stdout(&plan);
    for word in ["moments of inputs", "Cost: epsilon", "memory", "Why"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let mut printed = json(&plan);
    let fit = format!("{} {PRIVACY} --plan {}", case.fit("linear", "model.reticent"), case.path("plan.json"));
    case.write("plan.json", &printed.to_string());
    stdout(&fit);
    let multiplier = &mut printed["plan"]["rounds"][0]["noise_multiplier"];
    *multiplier = (multiplier.as_f64().unwrap() / 2.0).into();
    case.write("plan.json", &printed.to_string());
    failed(&fit, "costs epsilon");
    case.write("plan.json", "no plan");
    failed(&fit, "plan.json");
    case.write("plan.json", r#"{"model": "regression", "plan": {}}"#);
    failed(&fit, "another model");
}

/// What is wrong is said in one sentence, without a value of a record.
#[test]
fn wrong_files_are_refused_discreetly() {
    let case = Case::new(100);
    let fit = format!("{} {PRIVACY}", case.fit("linear", "model.reticent"));
    let data = people(100);
    let wrong = [
        ("people.csv", data.replacen("age", "years", 1), "no column \"age\""),
        ("people.csv", data.lines().next().unwrap().to_owned() + "\n", "no records"),
        ("schema.toml", SCHEMA.replace("[20, 70]", "[]"), "schema.toml"),
        ("schema.toml", SCHEMA.replace("[20, 70]", "\"private\""), "bounds"),
        ("schema.toml", SCHEMA.replace("bounds = [20, 70]", "mean = 40, sd = 10"), "bounds"),
    ];
    for (name, text, word) in wrong {
        let right = std::fs::read_to_string(case.path(name)).unwrap();
        case.write(name, &text);
        failed(&fit, word);
        let error = String::from_utf8(reticent(&fit).stderr).unwrap();
        assert!(!error.contains("State") && !error.contains("true"), "{error}");
        case.write(name, &right);
    }
    failed(&fit.replace("people.csv", "absent.csv"), "absent.csv");
    failed(&fit.replace("model.reticent", "absent/model.reticent"), "cannot be written");
    failed(&format!("{fit} --test {}", case.path("schema.toml")), "schema.toml");
    refused(&fit.replace("fit linear", "fit oracle"), "no model");
    failed(&fit.replace("fit linear", "fit logistic"), "two classes");
    refused(&fit.replace("--delta 1e-5", "--delta 0"), "delta");
    refused(&fit.replace("--delta 1e-5", "--delta 0.1"), "100 records");
    refused(&format!("{fit} --set wings=2"), "no setting");
    refused(&format!("{} --assume-public-moments", fit.replace("fit linear", "fit network")), "bounds");
    assert!(!Path::new(&case.path("model.reticent")).exists());
    for command in ["show", "report --out x.html", "evaluate --data x.csv"] {
        failed(&format!("{command} {}", case.path("people.csv")), "not a model file");
    }
}

/// Whether anybody is in the file is private under add/remove: no records are fitted like any others.
#[test]
fn an_empty_file_is_no_error_if_its_size_is_private() {
    let case = Case::new(500);
    let data = std::fs::read_to_string(case.path("people.csv")).unwrap();
    case.write("people.csv", &(data.lines().next().unwrap().to_owned() + "\n"));
    let fit = format!("{} {PRIVACY}", case.fit("linear", "model.reticent"));
    failed(&fit, "no records");
    stdout(&format!("{fit} --adjacency add-remove --records 500"));
    assert!(Path::new(&case.path("model.reticent")).exists());
}

/// A plan with numbers beyond reason is refused, rather than never done.
#[test]
fn an_absurd_plan_is_refused() {
    let case = Case::new(3000);
    let schema = case.path("schema.toml");
    let plan = stdout(&format!("plan regression --schema {schema} --records 3000 {PRIVACY} --json"));
    let mut plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let edited = case.path("plan.json");
    let fit = format!("{} {PRIVACY} --plan {edited}", case.fit("regression", "model.reticent"));
    for (name, number) in [("length_scale", 1e-300), ("noise_multiplier", 1e200), ("inflation", 1e-200)] {
        let place = &mut plan["plan"]["refinement"]["features"][name];
        let before = std::mem::replace(place, number.into());
        assert!(before.is_number(), "{name}");
        std::fs::write(&edited, plan.to_string()).unwrap();
        failed(&fit, &format!("features.{name} must be a number from"));
        plan["plan"]["refinement"]["features"][name] = before;
    }
}

/// A file with a right checksum and arrays that do not fit together is refused, without a panic.
#[test]
fn a_forged_model_is_refused() {
    let case = Case::new(500);
    let classes = SCHEMA.replace(
        "{ name = \"income\", kind = \"numeric\", bounds = [0, 100], unit = \"kUSD\" }",
        "{ name = \"rich\", kind = \"boolean\" }",
    );
    for (model, schema) in [("linear", SCHEMA), ("naive-bayes", &classes)] {
        case.write("schema.toml", schema);
        stdout(&format!("{} {PRIVACY}", case.fit(model, "model.reticent")));
        forge(&case.path("model.reticent"));
    }
}

/// Takes each array away, and puts one number in its place.
fn forge(file: &str) {
    use reticent_tables::{Array, ModelFile};
    let whole = ModelFile::read(file).unwrap();
    assert!(whole.arrays.len() > 3);
    for name in whole.arrays.keys().take(40) {
        let mut forged = whole.clone();
        forged.arrays.insert(name.clone(), Array::new(vec![1], vec![0.5]).unwrap());
        forged.write(file).unwrap();
        for command in ["show", "evaluate --data x.csv"] {
            let output = reticent(&format!("{command} {file}"));
            let error = String::from_utf8(output.stderr).unwrap();
            assert!(!error.contains("panicked"), "{name}: {error}");
            assert!(output.status.code() != Some(101), "{name}");
        }
        forged.arrays.remove(name);
        forged.write(file).unwrap();
        failed(&format!("show {file}"), "no model");
    }
}

/// Bounds that nobody knows are bought as a part of the same run: one charge, one receipt, one price.
#[test]
fn bounds_are_bought_with_the_fit() {
    let case = Case::new(4000);
    let private = "bounds = \"private\", within = [0, 1000]";
    case.write(
        "schema.toml",
        &SCHEMA.replace("bounds = [0, 100]", private).replace("bounds = [20, 70]", private),
    );
    let (schema, ledger) = (case.path("schema.toml"), case.path("budget.ledger"));
    let plan = format!("plan linear --schema {schema} --records 4000 {PRIVACY}");
    let text = stdout(&plan);
    assert!(text.contains("for private bounds") && text.contains("10 %"), "{text}");
    refused(&format!("{plan} --bounds-share 1.5"), "share");

    stdout(&format!("ledger init {ledger} --data-set people --epsilon 1 --delta 1e-5"));
    let fit = format!("{} {PRIVACY}", case.fit("linear", "model.reticent"));
    let receipt = json(&format!("{fit} --ledger {ledger} --data-set people"))["receipt"].clone();
    let epsilon = receipt["guarantee"]["epsilon"]["upper"].as_f64().unwrap();
    assert!((0.99..=1.0).contains(&epsilon), "{epsilon}");
    let groups = receipt["groups"].as_array().unwrap();
    let bought =
        groups.iter().find(|group| group["what"].as_str().unwrap().contains("for private bounds")).unwrap();
    assert_eq!((&bought["made"], &bought["width"]), (&9.into(), &4.into()));
    let charges = json(&format!("ledger history {ledger} --data-set people"));
    assert_eq!((charges.as_array().map(Vec::len), &charges[0]["state"]), (Some(1), &"settled".into()));
    let spent = json(&format!("ledger show {ledger}"))[0]["spent"]["epsilon"].as_f64().unwrap();
    assert!((spent - epsilon).abs() < 1e-9, "{spent} {epsilon}");

    // As good as with known bounds, about: see `from_file_to_predictions`.
    let model = case.path("model.reticent");
    let rmse = json(&format!("evaluate {model} --data {}", case.path("people.csv")))["score"]["rmse"].clone();
    assert!(rmse.as_f64().unwrap() < 6.2, "{rmse}");
    let shown = json(&format!("show {model}"))["schema"].to_string();
    assert!(shown.contains("bought") && !shown.contains("within"), "{shown}");

    // Nothing is left for a second run.
    assert_eq!(reticent(&format!("{fit} --ledger {ledger} --data-set people")).status.code(), Some(1));
    refused(&format!("{} --no-privacy", case.fit("linear", "m.reticent")), "without a privacy budget");
}
