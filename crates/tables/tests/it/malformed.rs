//! Damaged files: no panic, no hang, no value in a message.

use std::path::Path;

use arrow_array::{BooleanArray, Float64Array, Int64Array, StringArray};
use parquet::basic::{Compression, ZstdLevel};
use proptest::test_runner::{RngAlgorithm, TestRng};
use rand::Rng;
use reticent_tables::{Check, Column, Encoder, Kind, Missing, ModelFile, Scale, Schema, Source};

use crate::messages::assert_discreet;
use crate::tables::{array, folder, write_compressed};

/// Damaged files of each kind.
const EACH: usize = 400;

/// A few bytes changed, put in, taken out or repeated, or the end cut off.
fn damage(bytes: &[u8], rng: &mut TestRng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + below(rng, 4) {
        let length = bytes.len().max(1);
        let (at, until) = (below(rng, length), below(rng, length));
        match below(rng, 6) {
            0 if !bytes.is_empty() => bytes[at] = rng.next_u32() as u8,
            1 if !bytes.is_empty() => bytes[at] ^= 1 << below(rng, 8),
            2 => bytes.insert(at.min(bytes.len()), rng.next_u32() as u8),
            3 if !bytes.is_empty() => drop(bytes.drain(at..(at + below(rng, 8)).min(length))),
            4 => bytes.truncate(at),
            _ => {
                let part = bytes[at.min(until).min(bytes.len())..at.max(until).min(bytes.len())].to_vec();
                bytes.splice(at.min(bytes.len())..at.min(bytes.len()), part.into_iter().take(64));
            }
        }
    }
    bytes
}

fn below(rng: &mut TestRng, bound: usize) -> usize {
    rng.next_u64() as usize % bound
}

fn rng() -> TestRng {
    TestRng::deterministic_rng(RngAlgorithm::ChaCha)
}

fn schema() -> Schema {
    let numeric =
        Kind::Numeric { scale: Scale::Bounds { low: 0.0, high: 1e6 }, missing: Missing::Value(0.0) };
    let levels = Kind::Categorical { levels: vec!["a".into()], unknown: Some("other".into()), missing: None };
    let text = Kind::Text { vocabulary: vec!["word".into()], missing: Some(String::new()) };
    let columns = vec![
        Column::new("number", numeric).expect("a column"),
        Column::numeric("count", 0.0, 100.0).expect("a column"),
        Column::new("flag", Kind::Boolean { missing: Missing::Value(true) }).expect("a column"),
        Column::new("level", levels).expect("a column"),
        Column::new("note", text).expect("a column"),
    ];
    Schema::new(None, columns).expect("a schema")
}

/// Everything that can be done with a data file.
fn use_data(path: &Path) -> usize {
    let Ok(source) = Source::open(path).inspect_err(assert_discreet) else { return 1 };
    let schema = schema();
    let mut errors = 0;
    for error in [
        source.columns().err(),
        Encoder::new(&schema).expect("bounds are known").read(&source).err(),
        Schema::from_data_assuming_public(&source, None).err(),
        Check::new(&schema, &source).err(),
    ]
    .into_iter()
    .flatten()
    {
        assert_discreet(&error);
        errors += 1;
    }
    errors
}

/// Damage after the header is no error at all: each line is a record.
#[test]
fn damaged_csv_files_are_read_or_refused_discreetly() {
    let header = "number,count,flag,level,note\n";
    let mut records = String::new();
    for k in 0..40 {
        records += &format!("987654.321,{k},true,a,\"a word, or two: SECRETVALUE\"\n,3,no,SECRETVALUE,\n");
    }
    let (folder, mut rng, mut errors) = (folder(), rng(), 0);
    let file = folder.path().join("t.csv");
    std::fs::write(&file, format!("{header}{records}")).expect("room");
    assert_eq!(use_data(&file), 0);
    let encoder = Encoder::new(&schema()).expect("bounds are known");
    for _ in 0..EACH {
        let damaged = damage(records.as_bytes(), &mut rng);
        let lines = damaged.split(|&byte| byte == b'\n').count()
            - usize::from(damaged.last().is_none_or(|&byte| byte == b'\n'));
        std::fs::write(&file, [header.as_bytes(), &damaged].concat()).expect("room");
        let table = encoder.read(&Source::open(&file).expect("a file")).expect("no line is an error");
        assert_eq!(table.rows().len(), lines);
        std::fs::write(&file, damage(format!("{header}{records}").as_bytes(), &mut rng)).expect("room");
        errors += use_data(&file);
    }
    assert!(errors > 0, "the header is never damaged");
}

#[test]
fn damaged_parquet_files_are_refused_discreetly() {
    let (folder, mut rng, mut errors) = (folder(), rng(), 0);
    let columns = || {
        let notes = (0..60).map(|k| (k % 7 != 0).then_some("a word: SECRETVALUE"));
        let levels = (0..60).map(|k| if k % 3 == 0 { "a" } else { "SECRETVALUE" });
        vec![
            ("number", array((0..60).map(|k| (k % 5 != 0).then_some(987_654.321)).collect::<Float64Array>())),
            ("count", array(Int64Array::from_iter_values(0..60))),
            ("flag", array(BooleanArray::from_iter((0..60).map(|k| Some(k % 2 == 0))))),
            ("level", array(StringArray::from_iter_values(levels))),
            ("note", array(notes.collect::<StringArray>())),
        ]
    };
    for compression in
        [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())]
    {
        let file = write_compressed(&folder, "t.parquet", columns(), compression);
        let valid = std::fs::read(&file).expect("it was just written");
        assert_eq!(use_data(&file), 0);
        for _ in 0..EACH {
            std::fs::write(&file, damage(&valid, &mut rng)).expect("room");
            errors += use_data(&file);
        }
    }
    assert!(errors > EACH, "the damage is too gentle: {errors}");
}

#[test]
fn damaged_schemas_are_refused() {
    let valid = schema().to_toml();
    let (mut rng, mut errors) = (rng(), 0);
    for _ in 0..EACH {
        let damaged = damage(valid.as_bytes(), &mut rng);
        match Schema::parse(&String::from_utf8_lossy(&damaged)) {
            // What is accepted is valid: it can be written and read again.
            Ok(schema) => assert_eq!(Schema::parse(&schema.to_toml()), Ok(schema)),
            Err(error) => errors += usize::from(!error.to_string().is_empty()),
        }
    }
    assert!(errors > EACH / 4, "the damage is too gentle: {errors}");
}

#[test]
fn damaged_model_files_are_refused() {
    let valid = crate::model_file::model();
    let bytes = valid.to_bytes().expect("an ordinary model");
    let (mut rng, mut errors) = (rng(), 0);
    for _ in 0..EACH {
        match ModelFile::from_bytes(&damage(&bytes, &mut rng)) {
            Ok(read) => assert_eq!(read.header, valid.header),
            Err(error) => errors += usize::from(!error.to_string().is_empty()),
        }
    }
    assert!(errors > EACH / 2, "the damage is too gentle: {errors}");
}

/// What fuzzing starts from, and what it has found: `fuzz/corpus` at the root.
#[test]
fn every_file_of_the_corpora_is_handled() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let folder = folder();
    for kind in ["csv", "parquet", "schema", "model_file"] {
        let files: Vec<_> = std::fs::read_dir(corpora.join(kind)).expect("a corpus").collect();
        assert!(!files.is_empty(), "{kind}");
        for file in files {
            let bytes = std::fs::read(file.expect("a file").path()).expect("a file");
            match kind {
                "schema" => drop(Schema::parse(&String::from_utf8_lossy(&bytes))),
                "model_file" => drop(ModelFile::from_bytes(&bytes)),
                _ => {
                    let copy = folder.path().join(format!("t.{kind}"));
                    std::fs::write(&copy, bytes).expect("room");
                    use_data(&copy);
                }
            }
        }
    }
}
