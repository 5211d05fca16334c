//! One line of a file is one record: the claim of the CSV reader, attacked with nasty lines.

use proptest::test_runner::{RngAlgorithm, TestRng};
use rand::Rng;
use reticent_tables::{Delimiter, Encoder, Layout, Schema, Source};

use crate::tables::{folder, rows, write_csv};

/// Edits in all; each is of one line of one file.
const EDITS: usize = 100_000;
/// Edits of the same file.
const EACH: usize = 10;

/// A record in bits, so that NaN is equal to itself.
type Record = Vec<u64>;

fn below(rng: &mut TestRng, bound: usize) -> usize {
    rng.next_u64() as usize % bound
}

/// What lines are made of. There is no LF: that would be several lines.
const PIECES: [&[u8]; 30] = [
    b"",
    b"1",
    b"-7.5",
    b"a",
    b"b",
    b"other",
    b"true",
    b",",
    b",,",
    b";",
    b"\t",
    b"\"",
    b"\"\"",
    b"\"\"\"",
    b"\"a,b\"",
    b"\"a\"\"b\"",
    b"\"open",
    b"\r",
    b"\r\r",
    b"\"a\rb\"",
    b"\0",
    b"\xff",
    b"\xe2\x80",
    "\u{2028}".as_bytes(),
    "\u{feff}".as_bytes(),
    b"\x85",
    b" ",
    b"NaN",
    b"x,y,z",
    b"1e999",
];

/// A line, well-formed or not. One in some ten thousand is too long, or as long as can be.
fn line(rng: &mut TestRng, columns: usize, delimiter: u8) -> Vec<u8> {
    if below(rng, 20_000) == 0 {
        return vec![*b"1\"".get(below(rng, 2)).expect("two bytes"); (1 << 20) + below(rng, 3)];
    }
    if below(rng, 2) == 0 {
        let values: [&[u8]; 8] = [b"1", b"2.5", b"", b"a", b"b", b"true", b"\"a\"", b"no"];
        let fields: Vec<&[u8]> = (0..columns).map(|_| values[below(rng, values.len())]).collect();
        return fields.join(&delimiter);
    }
    (0..below(rng, 6)).flat_map(|_| PIECES[below(rng, PIECES.len())].to_vec()).collect()
}

/// A file of these lines. An empty last line needs a LF, or it would be none.
fn file(header: &str, lines: &[Vec<u8>], terminated: bool) -> Vec<u8> {
    let mut bytes = header.as_bytes().to_vec();
    for line in lines {
        bytes.push(b'\n');
        bytes.extend_from_slice(line);
    }
    if terminated || lines.last().is_none_or(Vec::is_empty) {
        bytes.push(b'\n');
    }
    bytes
}

fn read(encoder: &Encoder, delimiter: Delimiter, bytes: &[u8]) -> Vec<Record> {
    let layout = Layout { delimiter: Some(delimiter), ..Layout::default() };
    let source = Source::from_stream(bytes).expect("bytes in memory").with_layout(layout);
    let table = encoder.read(&source).expect("no line is an error");
    table.rows().map(|row| row.iter().map(|value| value.to_bits()).collect()).collect()
}

/// Different records have different codes, as far as can be: each column has one for missing values.
fn encoder(columns: usize) -> Encoder {
    let all = [
        r#"{ name = "x", kind = "numeric", bounds = [-10, 10], missing = "indicator" }"#,
        r#"{ name = "y", kind = "categorical", levels = ["a", "b"], unknown = "other", missing = "level" }"#,
        r#"{ name = "z", kind = "text", vocabulary = ["a", "b", "1", "open"] }"#,
    ];
    let schema = Schema::parse(&format!("features = [{}]", all[..columns].join(", "))).expect("a schema");
    Encoder::new(&schema).expect("bounds")
}

#[test]
fn one_edited_line_changes_at_most_one_record() {
    let mut rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let encoders = [1, 2, 3].map(encoder);
    let mut changed = 0;
    for k in 0..EDITS / EACH {
        let columns = 1 + k % 3;
        let delimiter = Delimiter::ALL[below(&mut rng, 3)];
        let (byte, text) = match delimiter {
            Delimiter::Comma => (b',', ","),
            Delimiter::Semicolon => (b';', ";"),
            Delimiter::Tab => (b'\t', "\t"),
        };
        let header = ["x", "y", "z"][..columns].join(text);
        let encoder = &encoders[columns - 1];
        let lines: Vec<Vec<u8>> = (0..below(&mut rng, 8)).map(|_| line(&mut rng, columns, byte)).collect();
        let before = read(encoder, delimiter, &file(&header, &lines, below(&mut rng, 2) == 0));
        assert_eq!(before.len(), lines.len(), "each line is a record");
        for _ in 0..EACH {
            let (mut edited, terminated) = (lines.clone(), below(&mut rng, 2) == 0);
            let new = line(&mut rng, columns, byte);
            let kind = if lines.is_empty() { 0 } else { below(&mut rng, 3) };
            let at = below(&mut rng, lines.len() + usize::from(kind == 0));
            // The records that must not change, before and after.
            let (kept, after_kept): (Vec<usize>, Vec<usize>) = match kind {
                0 => {
                    edited.insert(at, new);
                    ((0..lines.len()).collect(), (0..edited.len()).filter(|&row| row != at).collect())
                }
                1 => {
                    edited.remove(at);
                    ((0..lines.len()).filter(|&row| row != at).collect(), (0..edited.len()).collect())
                }
                _ => {
                    edited[at] = new;
                    let others: Vec<usize> = (0..lines.len()).filter(|&row| row != at).collect();
                    (others.clone(), others)
                }
            };
            let after = read(encoder, delimiter, &file(&header, &edited, terminated));
            assert_eq!(after.len(), edited.len(), "each line is a record");
            let of = |records: &[Record], rows: &[usize]| -> Vec<Record> {
                rows.iter().map(|&row| records[row].clone()).collect()
            };
            assert!(of(&before, &kept) == of(&after, &after_kept), "{lines:?} {edited:?}");
            changed += usize::from(before != after);
        }
    }
    assert!(changed > EDITS / 2, "the edits are too gentle: {changed}");
}

fn numeric() -> Schema {
    Schema::parse(r#"features = [{ name = "x", kind = "numeric", bounds = [0, 10], missing = "indicator" }]"#)
        .expect("a schema")
}

const MISSING: [f64; 2] = [0.0, 1.0];

fn known(x: f64) -> [f64; 2] {
    [(x - 5.0) / 5.0, -1.0]
}

#[test]
fn a_blank_line_is_a_record() {
    let folder = folder();
    let read =
        |text: &str| rows(&numeric(), &write_csv(&folder, "t.csv", text)).expect("no line is an error");
    assert_eq!(read("x\n5\n\n0\n"), [known(5.0), MISSING, known(0.0)]);
    assert_eq!(read("x\n5\n0\n\n"), [known(5.0), known(0.0), MISSING]);
    assert_eq!(read("x\r\n\r\n5\r\n"), [MISSING, known(5.0)]);
    assert_eq!(read("x\n"), Vec::<Vec<f64>>::new());
    // Of several columns too.
    assert_eq!(read("x,y\n5,1\n\n0,1"), [known(5.0), MISSING, known(0.0)]);
}

#[test]
fn a_stray_quote_stays_in_its_line() {
    let folder = folder();
    let read =
        |text: &str| rows(&numeric(), &write_csv(&folder, "t.csv", text)).expect("no line is an error");
    assert_eq!(read("x,y\n1,a\n\"2,b\n3,c\n4,\"d\"\n"), [known(1.0), MISSING, known(3.0), known(4.0)]);
    assert_eq!(read("x,y\n1,a\n2,\"open at the end"), [known(1.0), MISSING]);
    assert_eq!(read("x,y\n1,a\n2,\"a\nb\"\n3,c\n"), [known(1.0), MISSING, MISSING, known(3.0)]);
}

#[test]
fn a_bare_cr_is_data() {
    let folder = folder();
    let read =
        |text: &str| rows(&numeric(), &write_csv(&folder, "t.csv", text)).expect("no line is an error");
    assert_eq!(read("x,y\n1,a\rb\r2,c\n3,d\n"), [MISSING, known(3.0)], "one line with three fields");
    assert_eq!(read("x,y\n1,a\rb\n3,d\n"), [known(1.0), known(3.0)]);
}

#[test]
fn lines_that_do_not_parse_are_records_of_missing_values() {
    let folder = folder();
    let long = "7".repeat((1 << 20) + 1);
    for odd in ["1,2,3", "1", "", "\"1\"2,3", long.as_str(), "1,\u{0}", "oops,1"] {
        let file = write_csv(&folder, "t.csv", &format!("x,y\n1,a\n{odd}\n3,c\n"));
        let expected = if odd == "1,\u{0}" { known(1.0) } else { MISSING };
        assert_eq!(rows(&numeric(), &file).expect("no error"), [known(1.0), expected, known(3.0)]);
    }
    let file = folder.path().join("u.csv");
    std::fs::write(&file, b"x,y\n1,a\n2,\xff\n3,c\n").expect("room");
    assert_eq!(rows(&numeric(), &file).expect("no error"), [known(1.0), MISSING, known(3.0)]);
}
