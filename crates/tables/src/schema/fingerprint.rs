//! What identifies a schema, however its file is written.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::Schema;

/// Begins every fingerprint of this kind.
const PREFIX: &str = "sha256:";

/// What does not change how records are read.
const DESCRIPTION: &str = "description";

pub(super) fn of(schema: &Schema) -> String {
    let mut canonical = String::new();
    // A schema is texts, finite numbers and lists of them, so it is always JSON.
    write(&serde_json::to_value(schema).unwrap_or_default(), &mut canonical);
    Sha256::digest(canonical).iter().fold(PREFIX.to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Writes JSON without spaces, with the keys of each object in order.
fn write(value: &Value, to: &mut String) {
    match value {
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().filter(|(key, _)| *key != DESCRIPTION).collect();
            entries.sort_by_key(|(key, _)| *key);
            to.push('{');
            for (k, (key, value)) in entries.into_iter().enumerate() {
                to.push_str(if k > 0 { "," } else { "" });
                let _ = write!(to, "{}:", Value::from(key.as_str()));
                write(value, to);
            }
            to.push('}');
        }
        Value::Array(items) => {
            to.push('[');
            for (k, item) in items.iter().enumerate() {
                to.push_str(if k > 0 { "," } else { "" });
                write(item, to);
            }
            to.push(']');
        }
        other => {
            let _ = write!(to, "{other}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"
        target = { name = "y", kind = "numeric", bounds = [0, 100] }
        features = [{ name = "x", kind = "numeric", bounds = [20, 70] }, { name = "b", kind = "boolean" }]
    "#;

    fn of(text: &str) -> String {
        Schema::parse(text).unwrap().fingerprint()
    }

    #[test]
    fn how_it_is_written_does_not_matter() {
        let written_anew = r#"
            # The same.
            description = "people"
            features = [
                { kind = "numeric", bounds = [20.0, 7e1], name = "x", description = "age" },
                { name = "b", kind = "boolean" },
            ]
            [target]
            bounds = [0, 1e2]
            kind = "numeric"
            name = "y"
        "#;
        assert_eq!(of(SCHEMA), of(written_anew));
        assert!(of(SCHEMA).starts_with("sha256:") && of(SCHEMA).len() == 7 + 64);
        let again = Schema::parse(&Schema::parse(SCHEMA).unwrap().to_toml()).unwrap();
        assert_eq!(again.fingerprint(), of(SCHEMA));
    }

    #[test]
    fn what_changes_how_records_are_read_matters() {
        let changes = [
            ("[20, 70]", "[20, 71]"),
            ("\"b\"", "\"c\""),
            ("kind = \"boolean\"", "kind = \"boolean\", missing = true"),
            ("features", "file = { delimiter = \";\" }\nfeatures"),
            ("bounds = [0, 100]", "bounds = \"private\", within = [0, 100]"),
        ];
        for (from, to) in changes {
            assert_ne!(of(&SCHEMA.replace(from, to)), of(SCHEMA), "{to}");
        }
    }
}
