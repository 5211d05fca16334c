//! Model files that somebody has forged, with a right checksum: what is shown of them is escaped, and nothing panics.

use reticent_tables::{Array, Header, ModelFile};
use serde_json::{Value, json};

use crate::fit::Case;
use crate::{failed, reticent, stdout};

/// Texts of a model file that a person may choose, as pointers into its header.
pub(crate) const TEXTS: [&str; 16] = [
    "/schema/description",
    "/schema/target/name",
    "/schema/target/unit",
    "/schema/target/description",
    "/schema/features/0/name",
    "/schema/features/0/unit",
    "/schema/features/0/description",
    "/schema/features/1/name",
    "/schema/features/2/levels/0",
    "/schema/features/2/levels/1",
    "/receipt/software",
    "/receipt/noise",
    "/receipt/ledger",
    "/receipt/groups/0/what",
    "/receipt/assumptions/0",
    "/card/settings/ridge",
];

/// Texts that are shown nowhere but in JSON.
pub(crate) const HIDDEN_TEXTS: [&str; 6] =
    ["/card/about", "/card/target", "/card/inputs/0", "/card/test/note", "/plan/model", "/plan/plan/why/0"];

/// Numbers and choices: a text in their place is refused.
pub(crate) const NUMBERS: [&str; 27] = [
    "/receipt/projections",
    "/receipt/records",
    "/receipt/groups",
    "/receipt/groups/0",
    "/receipt/groups/0/made",
    "/receipt/groups/0/planned",
    "/receipt/groups/0/width",
    "/receipt/groups/0/kind",
    "/receipt/groups/0/kind/sum/noise_multiplier",
    "/receipt/guarantee",
    "/receipt/guarantee/epsilon",
    "/receipt/guarantee/epsilon/upper",
    "/receipt/guarantee/delta",
    "/receipt/guarantee/method",
    "/receipt/guarantee/adjacency",
    "/receipt/assumptions",
    "/card/asked",
    "/card/asked/epsilon",
    "/card/asked/delta",
    "/card/asked/adjacency",
    "/card/fitted_on",
    "/card/settings",
    "/card/test",
    "/card/test/score/rmse",
    "/card/test/score/calibration/0/count",
    "/schema/features/0/bounds/0",
    "/plan",
];

const SCHEMA: &str = r#"
description = "people of a town"
target = { name = "income", kind = "numeric", bounds = [0, 100], unit = "kUSD", description = "before tax" }
features = [
    { name = "age", kind = "numeric", bounds = [20, 70], unit = "years", description = "at the census" },
    { name = "member", kind = "boolean" },
    { name = "work", kind = "categorical", levels = ["Private", "State"] },
]
"#;

/// A model that shows everything that a page can show of one: columns of each kind, units, descriptions and test scores.
pub(crate) fn model(case: &Case) -> ModelFile {
    case.write("schema.toml", SCHEMA);
    case.write("test.csv", &crate::fit::people(60));
    let fit = case.fit("linear", "model.reticent");
    let test = case.path("test.csv");
    stdout(&format!("{fit} --epsilon 1 --delta 1e-5 --test {test} --test-is-public"));
    let mut file = ModelFile::read(case.path("model.reticent")).unwrap();
    // A setting is shown as a part of the command.
    file.header.card["settings"] = json!({ "ridge": "small" });
    file
}

/// The model with another value in one place of its header; nothing if the schema itself does not allow it.
pub(crate) fn forge(model: &ModelFile, place: &str, value: Value) -> Option<ModelFile> {
    let mut header = serde_json::to_value(&model.header).unwrap();
    *header.pointer_mut(place).unwrap_or_else(|| panic!("{place} is not in a model file")) = value;
    let header: Header = serde_json::from_value(header).ok()?;
    let forged = ModelFile { header, arrays: model.arrays.clone() };
    // Its checksum is right.
    Some(ModelFile::from_bytes(&forged.to_bytes().unwrap()).unwrap())
}

/// What clears a screen, names a window, fills a clipboard, turns text around, begins a line, or has no width.
const NAMES: [&str; 6] = [
    "a\u{1b}[2J\u{1b}[1;1Hb",
    "a\u{1b}]0;owned\u{7}\u{1b}]52;c;b3duZWQ=\u{7}\u{9b}31mb\u{7f}",
    "a\u{202e}01 nolispe\u{202c}\u{2066}\u{2069}\u{200f}\u{61c}b",
    "a\u{200b}\u{200d}\u{feff}\u{ad}\u{2060}\u{e0041}b",
    "a\u{2028}b\u{2029}c\u{85}d\rb",
    "a\nepsilon 0.0001, delta 1e-9\nb",
];

/// Nothing that a terminal acts on, or that cannot be seen: see the unit tests for what else is escaped.
fn is_plain(text: &str) -> bool {
    let hidden = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
    };
    !text.contains(hidden)
}

/// The defect: `show` printed raw escape and right-to-left characters.
#[test]
fn terminals_are_shown_no_control_characters() {
    let case = Case::new(300);
    let model = model(&case);
    let forged = case.path("forged.reticent");
    let lines = reticent_cli::show_model(model.clone()).unwrap().lines().count();
    for place in TEXTS {
        for name in NAMES {
            let Some(file) = forge(&model, place, json!(name)) else { continue };
            let text = reticent_cli::show_model(file.clone()).unwrap();
            assert!(is_plain(&text), "{place}: {text:?}");
            assert_eq!(text.lines().count(), lines, "{place}: {text}");
            let page = reticent_cli::report_model(file).unwrap();
            assert!(is_plain(&page), "{place}");
        }
        let Some(file) = forge(&model, place, json!(NAMES.concat())) else { continue };
        file.write(&forged).unwrap();
        // Some fail, since the data have no such column.
        for command in ["show", "show --json", "evaluate --data DATA", "predict --data DATA --out OUT"] {
            let command = command.replace("DATA", &case.path("test.csv")).replace("OUT", &case.path("p.csv"));
            let output = reticent(&format!("{command} {forged}"));
            for bytes in [output.stdout, output.stderr] {
                let text = String::from_utf8(bytes).unwrap();
                assert!(is_plain(&text), "{command} {place}: {text:?}");
            }
        }
        // JSON is still JSON, with the same text in it.
        let shown: Value = serde_json::from_str(&stdout(&format!("show {forged} --json"))).unwrap();
        assert_eq!(shown.pointer(place), Some(&json!(NAMES.concat())), "{place}");
    }
}

/// Names in a ledger are as foreign as those in a model file.
#[test]
fn ledgers_show_no_control_characters() {
    use reticent_ledger::{Amount, Ledger, Request};
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("budget.ledger");
    stdout(&format!("ledger init {} --data-set trial --epsilon 2 --delta 1e-5", file.display()));
    let request = Request {
        amount: Amount::new(0.5, 1e-6),
        schema_fingerprint: "none".into(),
        adjacency: "replace-one".into(),
        purpose: NAMES.concat(),
        plan_json: "{}".into(),
        releases: None,
    };
    let mut ledger = Ledger::open(&file).unwrap();
    let _ = ledger.reserve("trial", &request).unwrap();
    // A ledger may refuse such an id; if it does not, it is shown escaped.
    let _ = ledger.add_data_set(&NAMES.concat(), "none", Amount::new(1.0, 1e-6), "replace-one");
    drop(ledger);
    for command in ["show", "show --json", "history --data-set trial", "history --data-set trial --json"] {
        let text = stdout(&format!("ledger {command} {}", file.display()));
        assert!(is_plain(&text), "{command}: {text:?}");
    }
    let history = stdout(&format!("ledger history {} --data-set trial", file.display()));
    assert!(history.contains("\\u{1b}[2J") && history.lines().count() == 2, "{history}");
}

/// The defect: a text in place of a number went to the page as it was.
#[test]
fn a_text_in_place_of_a_number_is_refused() {
    let case = Case::new(300);
    let model = model(&case);
    let forged = case.path("forged.reticent");
    for place in NUMBERS {
        let Some(file) = forge(&model, place, json!("<script>alert(1)</script>\u{1b}[2J")) else { continue };
        for failure in [reticent_cli::show_model(file.clone()), reticent_cli::report_model(file.clone())]
            .map(Result::unwrap_err)
        {
            assert!(is_plain(&failure.to_string()), "{place}");
        }
        file.write(&forged).unwrap();
        failed(&format!("show {forged}"), "forged.reticent");
    }
}

/// Numbers that no fit writes, in every array and in every number of the state: a text, a page or one sentence comes of it,
/// not a panic. Numbers are few and extreme; random ones are for the fuzzer.
#[test]
fn forged_numbers_are_no_panic() {
    let case = Case::new(300);
    let classes = SCHEMA.replace(
        r#"{ name = "income", kind = "numeric", bounds = [0, 100], unit = "kUSD", description = "before tax" }"#,
        r#"{ name = "rich", kind = "boolean" }"#,
    );
    let alone = "features = [{ name = \"age\", kind = \"numeric\", bounds = [20, 70] }]\n";
    let privacy = "--epsilon 1 --delta 1e-5";
    let mixture = format!("{privacy} --set components=2 --set noise-sd=0.3");
    for (name, schema, options) in
        [("regression", SCHEMA, privacy), ("naive-bayes", &classes, privacy), ("mixture", alone, &mixture)]
    {
        case.write("schema.toml", schema);
        stdout(&format!("{} {options}", case.fit(name, "model.reticent")));
        let model = ModelFile::read(case.path("model.reticent")).unwrap();
        for forged in forgeries(&model) {
            let shown = reticent_cli::show_model(forged.clone());
            assert!(shown.as_ref().ok().is_none_or(|text| is_plain(text)), "{name}");
            let page = reticent_cli::report_model(forged);
            assert!(page.as_ref().ok().is_none_or(|page| is_plain(page)), "{name}");
        }
    }
}

/// Each array with other values and lengths, and each number of the state changed.
fn forgeries(model: &ModelFile) -> Vec<ModelFile> {
    const VALUES: [f64; 8] = [0.0, -1.0, 1e-308, -1e308, 1e308, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let mut all = Vec::new();
    for (name, array) in model.arrays.iter().take(30) {
        let length = array.values().len();
        let mut put = |values: Vec<f64>| {
            let mut forged = model.clone();
            forged.arrays.insert(name.clone(), Array::new(vec![values.len()], values).unwrap());
            all.push(forged);
        };
        VALUES.iter().for_each(|value| put(vec![*value; length]));
        [0, 1, length.saturating_sub(1), length + 1].iter().for_each(|length| put(vec![0.5; *length]));
    }
    let state = model.header.card["state"].clone();
    for place in numbers(&state, String::new()) {
        for number in [json!(0), json!(-1), json!(1e300), json!(u32::MAX), json!("a text"), Value::Null] {
            let mut forged = model.clone();
            *forged.header.card["state"].pointer_mut(&place).unwrap() = number;
            all.push(forged);
        }
    }
    all
}

/// Pointers to the numbers of a document.
fn numbers(value: &Value, place: String) -> Vec<String> {
    match value {
        Value::Number(_) => vec![place],
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(k, item)| numbers(item, format!("{place}/{k}"))).collect()
        }
        Value::Object(fields) => {
            fields.iter().flat_map(|(name, value)| numbers(value, format!("{place}/{name}"))).collect()
        }
        _ => Vec::new(),
    }
}
