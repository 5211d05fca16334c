//! Messages name files, columns and types, and never a value.

use arrow_array::{Date32Array, Float64Array, StringArray};
use reticent_tables::{Column, Kind, Schema, Source, TableError};

use crate::tables::{array, folder, rows, write_csv, write_parquet};

/// Values that a record has and no message may have.
pub(crate) const SECRETS: [&str; 2] = ["SECRETVALUE", "987654.321"];

/// Fails if a message, or what a program prints of an error, has a secret in it.
pub(crate) fn assert_discreet(error: &(impl std::fmt::Display + std::fmt::Debug)) {
    let text = format!("{error}\n{error:?}");
    for secret in SECRETS {
        assert!(!text.contains(secret), "{text}");
    }
}

fn numeric(name: &str) -> Schema {
    Schema::new(None, vec![Column::numeric(name, 0.0, 1.0).expect("bounds")]).expect("a schema")
}

#[test]
fn no_message_contains_a_value() {
    let folder = folder();
    let boolean = Column::new("x", Kind::Boolean { missing: None }).expect("a column");
    let schemas = [
        numeric("x"),
        numeric("z"),
        Schema::new(None, vec![boolean]).expect("a schema"),
        Schema::new(None, vec![Column::categorical("x", ["a"]).expect("levels")]).expect("a schema"),
    ];
    let texts = [
        "x,y\nSECRETVALUE,987654.321\n",
        "x,y\n1,SECRETVALUE,987654.321\n",
        "x,y\nSECRETVALUE\n",
        "x,x\nSECRETVALUE,987654.321\n",
        "x\n987654.321,SECRETVALUE\n",
        "x\n\"SECRETVALUE 987654.321\n",
        "x,y\n987654.321e,SECRETVALUE\n",
        // Without a header the first record looks like one.
        "SECRETVALUE,987654.321\nSECRETVALUE,987654.321\n",
        "",
        "\n\n",
    ];
    let mut errors = 0;
    for text in texts {
        let file = write_csv(&folder, "t.csv", text);
        for schema in &schemas {
            if let Err(error) = rows(schema, &file) {
                assert_discreet(&error);
                assert!(
                    error.to_string().contains("t.csv") && error.to_string().contains("; hint: "),
                    "{error}"
                );
                errors += 1;
            }
        }
    }
    assert_eq!(errors, texts.len() * schemas.len());
}

#[test]
fn a_wrong_type_is_said_in_one_sentence() {
    let folder = folder();
    let columns = vec![
        ("t", array(StringArray::from(vec!["SECRETVALUE"]))),
        ("d", array(Date32Array::from(vec![9876]))),
        ("f", array(Float64Array::from(vec![987_654.321]))),
    ];
    let file = write_parquet(&folder, "t.parquet", columns);
    let message = |schema: &Schema| rows(schema, &file).expect_err("a wrong type").to_string();
    let text = message(&numeric("t"));
    assert!(text.contains("column \"t\": expected numbers, found texts; hint: "), "{text}");
    let date = message(&numeric("d"));
    assert!(
        date.contains("expected numbers, found a type that is neither number, boolean nor text"),
        "{date}"
    );
    let levels = Schema::new(None, vec![Column::categorical("f", ["a"]).expect("levels")]).expect("a schema");
    assert!(message(&levels).contains("expected texts, found numbers"));
}

#[test]
fn the_position_of_a_malformed_record_is_given() {
    let folder = folder();
    let file = write_csv(&folder, "t.csv", "x,y\n0,1\n0,1\n0,1,2\n");
    assert_eq!(rows(&numeric("x"), &file), Err(TableError::Record { file, record: 4 }));
    let file = folder.path().join("u.csv");
    std::fs::write(&file, b"x,y\n0,1\n0,\xff\n").expect("room");
    assert_eq!(rows(&numeric("x"), &file), Err(TableError::Record { file, record: 3 }));
}

#[test]
fn the_record_with_an_unknown_level_is_not_given() {
    let folder = folder();
    let schema = Schema::new(None, vec![Column::categorical("x", ["a"]).expect("levels")]).expect("a schema");
    let message =
        |text: &str| rows(&schema, &write_csv(&folder, "t.csv", text)).expect_err("unknown").to_string();
    assert_eq!(message("x\nb\na\na\n"), message("x\na\na\nc\n"));
    assert_eq!(message("x,y\n,1\na,2\n"), message("x,y\na,1\n,2\n"));
}

#[test]
fn too_many_levels_are_refused_without_listing_them() {
    let folder = folder();
    let text: String = (0..2000).map(|k| format!("SECRETVALUE{k}\n")).collect();
    let source = Source::open(write_csv(&folder, "t.csv", &format!("x\n{text}"))).expect("a file");
    let error = Schema::from_data_assuming_public(&source, None).expect_err("too many");
    assert!(matches!(error, TableError::ManyLevels { .. }));
    assert_discreet(&error);
}
