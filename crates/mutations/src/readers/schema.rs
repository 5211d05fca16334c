//! Schemas.

use std::fmt::Write as _;

use reticent_tables::{Encoder, Schema, Source};

use super::data::SCHEMA;
use crate::{Reader, bytes, scratch};

const TOKENS: [&[u8]; 24] = [
    b"features",
    b"target",
    b"[[features]]\n",
    b"[target]\n",
    b"kind",
    b"\"numeric\"",
    b"\"boolean\"",
    b"\"categorical\"",
    b"\"text\"",
    b"bounds = [0, 1]",
    b"bounds = \"private\", within = [0, 1e9]",
    b"bounds = [-1e308, 1e308]",
    b"mean = 0, sd = 1",
    b"levels = [\"\"]",
    b"unknown = \"a\"",
    b"missing = \"missing\"",
    b"missing = \"indicator\"",
    b"vocabulary = []",
    b"unit = \"\"",
    b"description = \"\"\"",
    b"\n",
    b"\"",
    b"\\u0000",
    b"}, {",
];

pub(super) const READER: Reader =
    Reader { name: "schema", seeds, mutate: |bytes, dice| bytes::mutate(bytes, dice, &TOKENS), read };

fn seeds() -> Vec<Vec<u8>> {
    let tables = "\
description = \"people\"
[target]
name = \"sick\"
kind = \"categorical\"
levels = [\"no\", \"yes\"]
[[features]]
name = \"age\"
kind = \"numeric\"
bounds = \"private\"
within = [0, 150]
unit = \"years\"
description = \"at the visit\"
[[features]]
name = \"dose\"
kind = \"numeric\"
mean = 3
sd = 2.5
";
    vec![SCHEMA.as_bytes().to_vec(), tables.as_bytes().to_vec()]
}

/// Whether it is a schema. A valid one can be written, read again and used.
fn read(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let schema = match Schema::parse(&text) {
        Ok(schema) => schema,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "a refusal has a reason");
            return false;
        }
    };
    assert_eq!(Schema::parse(&schema.to_toml()).as_ref(), Ok(&schema), "a schema is written as it was read");
    if let Ok(encoder) = Encoder::new(&schema) {
        encode(&schema, &encoder);
    }
    true
}

/// Encodes two records that match hardly any schema, with the column names of the schema.
fn encode(schema: &Schema, encoder: &Encoder) {
    let mut table = String::new();
    for value in [None, Some("1e308"), Some("word")] {
        for (k, column) in schema.features().iter().chain(schema.target()).enumerate() {
            let field = value.unwrap_or(column.name()).replace('"', "\"\"");
            let _ = write!(table, "{}\"{field}\"", if k == 0 { "" } else { "," });
        }
        table.push('\n');
    }
    let source = Source::open(scratch::file("of-schema.csv", table.as_bytes())).expect("a file");
    if let Ok(table) = encoder.read(&source) {
        for row in table.rows() {
            let features = &row[..encoder.feature_width()];
            assert!(features.iter().all(|value| value.is_finite()), "features are numbers");
        }
    }
}
