//! Delimiters, compression, quoted newlines, streams.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use reticent_tables::{Encoder, Format, Layout, Schema, Source, TableError};

use crate::tables::{folder, rows, write_csv};

const SCHEMA: &str = r#"features = [
    { name = "x", kind = "numeric", bounds = [0, 10] },
    { name = "note", kind = "text", vocabulary = ["pain", "none"] },
]"#;

fn schema(file: &str) -> Schema {
    Schema::parse(&format!("{file}\n{SCHEMA}")).expect("a schema")
}

fn encoded(schema: &Schema, source: Source) -> Result<Vec<Vec<f64>>, TableError> {
    let table = Encoder::new(schema)?.read(&source.with_layout(schema.layout()))?;
    Ok(table.rows().map(<[f64]>::to_vec).collect())
}

fn zipped(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn semicolons_tabs_and_gzip_are_read_where_they_are_stated() {
    let folder = folder();
    let expected = [[1.0, 1.0, 0.0], [-1.0, 0.0, 1.0]];
    let text = "x,note\n10,\"pain, much\"\n0,none\n";
    let (semicolons, tabs) = ("x;note\n10;pain, much\n0;none\n", "x\tnote\n10\tpain, much\n0\tnone\n");
    let open = |file: &std::path::Path| Source::open(file).expect("a file");
    let file = write_csv(&folder, "s.csv", semicolons);
    assert_eq!(encoded(&schema("file = { delimiter = \";\" }"), open(&file)).expect("a table"), expected);
    assert!(matches!(encoded(&schema(""), open(&file)), Err(TableError::NoColumns { .. })));
    let file = write_csv(&folder, "t.csv", tabs);
    assert_eq!(encoded(&schema("file = { delimiter = \"tab\" }"), open(&file)).expect("a table"), expected);
    // By their names.
    assert_eq!(rows(&schema(""), &write_csv(&folder, "t.tsv", tabs)).expect("a table"), expected);
    for (name, layout, bytes) in [
        ("z.csv.gz", "", zipped(text)),
        ("z.TSV.GZ", "", zipped(tabs)),
        ("z.csv", "file = { gzip = true }", zipped(text)),
        ("y.csv.gz", "", [zipped("x,note\n10,\"pain, much\"\n"), zipped("0,none\n")].concat()),
        ("not.csv.gz", "file = { gzip = false }", text.as_bytes().to_vec()),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).expect("room");
        assert_eq!(encoded(&schema(layout), open(&file)).expect(name), expected, "{name}");
    }
    // What is cut short is an error of the file.
    let file = folder.path().join("cut.csv.gz");
    std::fs::write(&file, &zipped(text)[..20]).expect("room");
    assert!(matches!(encoded(&schema(""), open(&file)), Err(TableError::Unreadable { .. })));
}

#[test]
fn quoted_newlines_are_read_where_they_are_stated() {
    let read = |text: &str| {
        let schema = schema("file = { quoted_newlines = true }");
        encoded(&schema, Source::from_stream(text.as_bytes()).expect("memory")).expect("no line is an error")
    };
    let (pain, missing) = ([1.0, 1.0, 0.0], [0.0, 0.0, 0.0]);
    assert_eq!(read("x,note\n10,\"much\npain\"\n0,none\n"), [pain, [-1.0, 0.0, 1.0]]);
    assert_eq!(read("x,note\r\n10,\"a \"\"quoted\"\"\r\n\r\npain\"\r\n10,pain\r\n"), [pain, pain]);
    assert_eq!(read("x,note\n10,5\" pain\n10,pain\n"), [pain, pain], "a quote within a field opens nothing");
    // The end of the file within quotes.
    assert_eq!(read("x,note\n10,pain\n10,\"pain\n10,pain\n"), [pain, missing]);
    assert_eq!(read("x,note\n10,\""), [missing]);
    // More than 1 MiB within quotes.
    let long = format!("x,note\n10,\"pain{}\"\n10,pain\n", "\npain".repeat(300_000));
    assert_eq!(read(&long), [missing, pain]);
    let long = format!("x,note\n10,\"pain\n{}\"\n10,pain\n", "x".repeat(2 << 20));
    assert_eq!(read(&long), [missing, pain]);
}

/// More than is kept in memory: several passes over one stream, in turns.
#[test]
fn a_stream_can_be_read_in_several_passes() {
    let text = "x,note\n".to_owned() + &"10,pain and more of it\n".repeat(3_000_000);
    let (schema, source) = (schema(""), Source::from_stream(text.as_bytes()).expect("room"));
    assert_eq!((source.format(), source.columns().expect("a header").len()), (Format::Csv, 2));
    let encoder = Encoder::new(&schema).expect("bounds");
    let (mut one, mut other) = (encoder.stream(&source), encoder.stream(&source));
    let mut count = 0;
    while let Some(batch) = one.next_batch().expect("a stream") {
        assert!(batch.values().chunks(3).all(|row| row == [1.0, 1.0, 0.0]));
        count += batch.rows().len();
        assert_eq!(
            other.next_batch().expect("a stream").map(|batch| batch.rows().len()),
            Some(batch.rows().len())
        );
    }
    assert_eq!(count, 3_000_000);
    assert_eq!(format!("{:?}", source.layout()), format!("{:?}", Layout::default()));
    assert!(!format!("{source:?}").contains("pain"));
}
