//! Messages name files, columns and types, and never a value.

use reticent_tables::{Column, Schema, Source, TableError};

use crate::tables::{folder, rows, write_csv};

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
    let texts = [
        "y,z\nSECRETVALUE,987654.321\n",
        "x,x\nSECRETVALUE,987654.321\n",
        // Without a header the first record looks like one.
        "SECRETVALUE,987654.321\nSECRETVALUE,987654.321\n",
        "\"SECRETVALUE,987654.321\nSECRETVALUE,987654.321\n",
        "",
        "\n\n",
        "\nSECRETVALUE\n",
    ];
    for text in texts {
        let file = write_csv(&folder, "t.csv", text);
        let error = rows(&numeric("x"), &file).expect_err("not a table with such a column");
        assert_discreet(&error);
        assert!(error.to_string().contains("t.csv") && error.to_string().contains("; hint: "), "{error}");
    }
    let file = folder.path().join("t.csv");
    std::fs::write(&file, b"SECRETVALUE\xff,x\n1,2\n").expect("room");
    assert_discreet(&rows(&numeric("x"), &file).expect_err("not UTF-8"));
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
