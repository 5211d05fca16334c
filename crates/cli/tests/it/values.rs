//! No value of a record decides whether a command works, or what it shows beside the releases.

use std::io::Write as _;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use reticent_tables::ModelFile;
use serde_json::{Value, json};

use crate::fit::{Case, SCHEMA, people};
use crate::{json, reticent, stdout};

const RECORDS: u32 = 1000;
/// The line that is edited, in the middle of the file.
const LINE: usize = 500;
const PRIVACY: &str = "--epsilon 1 --delta 1e-5";

/// Lines of `people.csv` that its schema does not allow, and worse.
fn nasty() -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = [
        "",
        "\r",
        "40,true,State,50,true",
        "40,true,Astronaut,50,true",
        "40,6174,State,50,true",
        "nobody,true,State,50,true",
        ",,,,",
        "NaN,NaN,NaN,NaN,NaN",
        "1e308,true,State,-1e308,true",
        "inf,true,State,inf,true",
        "\"40,true,State,50,true",
        "40,true,State,\"50,true",
        "40,true,State,50,\"true",
        "\"40\",\"true\",\"State\",\"50\",\"true\"",
        "40,true,State,50",
        "40,true,State,50,true,1",
        "40\r41,true,State,50,true",
        "age,member,work,income,rich",
        "\u{feff}40,true,State,50,true",
        "40,true,State,,true",
        "40;true;State;50;true",
    ]
    .iter()
    .map(|line| line.as_bytes().to_vec())
    .collect();
    lines.push(b"40,true,\xff\xfe,50,true".to_vec());
    lines.push(b"40,\0,State,50,true".to_vec());
    lines.push(vec![b'4'; (1 << 20) + 7]);
    lines
}

/// The table with one line replaced.
fn edited(table: &str, line: &[u8]) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = table.lines().map(str::as_bytes).collect();
    lines[LINE] = line;
    let mut bytes = lines.join(&b'\n');
    bytes.push(b'\n');
    bytes
}

/// What a fit shows that no release determines: the exit code, messages, the receipt without what noise did, and the shape
/// of the model file.
fn shown(case: &Case, fit: &str) -> Value {
    let output = reticent(&format!("{fit} --json"));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    let receipt = &printed["receipt"];
    let groups: Vec<Value> = receipt["groups"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|group| json!([group["what"], group["width"], group["planned"], group["made"]]))
        .collect();
    let file = ModelFile::read(case.path("model.reticent")).expect("a model");
    let arrays: Vec<Value> = file.arrays.iter().map(|(name, array)| json!([name, array.shape()])).collect();
    json!({
        "code": output.status.code(),
        "stderr": String::from_utf8_lossy(&output.stderr),
        "records": receipt["records"],
        "guarantee": receipt["guarantee"],
        "assumptions": receipt["assumptions"],
        "groups": groups,
        "arrays": arrays,
        "plan": file.header.plan,
    })
}

/// A schema that left out a level made `fit` fail if one record had it, and work if none had.
#[test]
fn no_value_changes_what_a_fit_shows() {
    let case = Case::new(RECORDS);
    let table = people(RECORDS);
    let classes = SCHEMA.replace(
        "{ name = \"income\", kind = \"numeric\", bounds = [0, 100], unit = \"kUSD\" }",
        "{ name = \"rich\", kind = \"boolean\" }",
    );
    let levels =
        "features = [{ name = \"work\", kind = \"categorical\", levels = [\"Private\", \"State\"] }]\n";
    let private = SCHEMA.replace("bounds = [20, 70]", "bounds = \"private\", within = [0, 1000]");
    for (model, schema, options) in [
        ("linear", SCHEMA, PRIVACY),
        ("linear", &private, PRIVACY),
        ("naive-bayes", &classes, PRIVACY),
        ("dirichlet", levels, "--epsilon 0.1 --delta 0"),
        ("dirichlet", levels, "--epsilon 1 --delta 1e-5 --adjacency add-remove --records 990"),
    ] {
        case.write("schema.toml", schema);
        case.write("people.csv", &table);
        let fit = format!("{} {options}", case.fit(model, "model.reticent"));
        // Each run has a file of its own: none is overwritten.
        let run = |line: Option<&[u8]>| {
            let _ = std::fs::remove_file(case.path("model.reticent"));
            if let Some(line) = line {
                std::fs::write(case.path("people.csv"), edited(&table, line)).unwrap();
            }
            shown(&case, &fit)
        };
        let ordinary = run(None);
        assert_eq!(ordinary["code"], json!(0), "{model}: {ordinary}");
        let expected = if options.contains("990") { 990 } else { RECORDS };
        assert_eq!(ordinary["records"], json!(expected), "{model}");
        for line in nasty() {
            let line = line.as_slice();
            assert_eq!(
                run(Some(line)),
                ordinary,
                "{model}: {:?}",
                String::from_utf8_lossy(&line[..line.len().min(99)])
            );
        }
    }
}

/// A blank line of one column is a record, so the public number of records does not tell what is in it.
#[test]
fn a_blank_line_counts() {
    let case = Case::new(1);
    case.write(
        "schema.toml",
        "features = [{ name = \"x\", kind = \"categorical\", levels = [\"a\", \"b\"] }]\n",
    );
    for middle in ["a", "", "\"", "c"] {
        case.write("people.csv", &format!("x\n{}{middle}\n{}", "a\n".repeat(150), "b\n".repeat(149)));
        let _ = std::fs::remove_file(case.path("model.reticent"));
        let fitted = json(&format!("{} --epsilon 0.1 --delta 0", case.fit("dirichlet", "model.reticent")));
        assert_eq!(fitted["receipt"]["records"], json!(300), "{middle:?}");
    }
}

#[test]
fn predictions_and_scores_take_every_line() {
    let case = Case::new(RECORDS);
    stdout(&format!("{} {PRIVACY}", case.fit("linear", "model.reticent")));
    let mut bytes = b"age,member,work,income,rich\n40,true,State,50,true\n".to_vec();
    for line in nasty() {
        bytes.extend_from_slice(&line);
        bytes.push(b'\n');
    }
    std::fs::write(case.path("new.csv"), &bytes).unwrap();
    let (model, new) = (case.path("model.reticent"), case.path("new.csv"));
    stdout(&format!("predict {model} --data {new} --out {}", case.path("out.csv")));
    let predictions = std::fs::read_to_string(case.path("out.csv")).unwrap();
    assert_eq!(predictions.lines().count(), nasty().len() + 2);
    let finite = |line: &str| line.split(',').all(|cell| cell.parse::<f64>().is_ok_and(f64::is_finite));
    assert!(predictions.lines().skip(1).all(finite), "{predictions}");

    // Targets that are known: 50 in 8 of these lines and in the first, and one that is out of bounds.
    let score = json(&format!("evaluate {model} --data {new}"));
    let (scored, left_out) =
        (score["score"]["records"].as_u64().unwrap(), score["score"]["without_target"].as_u64().unwrap());
    assert_eq!(scored + left_out, nasty().len() as u64 + 1);
    assert_eq!(scored, 10, "{score}");
    assert!(stdout(&format!("evaluate {model} --data {new}")).contains("without a target, left out"));
}

/// Texts that are yes and no became booleans, which the fit then refused.
#[test]
fn schemas_that_are_written_are_accepted() {
    let case = Case::new(RECORDS);
    let text = |k: usize| if k.is_multiple_of(3) { "Yes" } else { "No" };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("answer", Arc::new(StringArray::from_iter_values((0..400).map(text)))),
        (
            "code",
            Arc::new(StringArray::from_iter((0..400).map(|k| (k % 5 > 0).then(|| (k % 3).to_string())))),
        ),
        ("y", Arc::new(StringArray::from_iter_values((0..400).map(|k| text(k + k / 7))))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = std::fs::File::create(case.path("t.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let csv: String = (0..400).map(|k| format!("{};{};{}\n", text(k), k % 3, text(k + k / 7))).collect();
    case.write("t.csv", &format!("answer;code;y\n{csv}"));
    for (name, option) in [("t.parquet", ""), ("t.csv", "--delimiter ;")] {
        let (data, schema) = (case.path(name), case.path("schema.toml"));
        let text = stdout(&format!("schema --from {data} --target y --assume-public {option}"));
        case.write("schema.toml", &text);
        let out = case.path("model.reticent");
        let _ = std::fs::remove_file(&out);
        // The delimiter is in the schema now.
        stdout(&format!("fit naive-bayes --data {data} --schema {schema} {PRIVACY} --out {out}"));
        stdout(&format!("evaluate {out} --data {data}"));
    }
}

/// Runs `reticent` with this standard input.
fn piped(arguments: &str, input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(arguments.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn standard_input_tabs_and_gzip_are_read() {
    let case = Case::new(RECORDS);
    let table = people(RECORDS);
    let fit = format!("{} {PRIVACY} --json", case.fit("linear", "model.reticent"));
    let fit = fit.replace(&case.path("people.csv"), "-");
    let gzip = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(table.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    for (option, input) in [
        ("", table.clone().into_bytes()),
        ("--delimiter tab", table.replace(',', "\t").into_bytes()),
        ("--gzip", gzip),
    ] {
        let _ = std::fs::remove_file(case.path("model.reticent"));
        let output = piped(&format!("{fit} {option}"), &input);
        assert!(output.status.success(), "{option}: {}", String::from_utf8_lossy(&output.stderr));
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(printed["receipt"]["records"], json!(RECORDS));
    }
    let model = case.path("model.reticent");
    let output = piped(&format!("evaluate {model} --data - --json"), table.as_bytes());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = piped(&format!("evaluate {model} --data - --delimiter |"), b"");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("delimiter"));
}
