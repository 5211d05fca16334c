//! What the targets share: everything that is done with a data file.

use reticent_tables::{Encoder, Schema, Source};

/// The columns of the files in the corpus.
const SCHEMA: &str = r#"
features = [
    { name = "number", kind = "numeric", bounds = [0, 1000000], missing = 0 },
    { name = "count", kind = "numeric", bounds = [0, 100] },
    { name = "flag", kind = "boolean", missing = true },
    { name = "level", kind = "categorical", levels = ["a"], unknown = "other" },
    { name = "note", kind = "text", vocabulary = ["word"], missing = "" },
]
"#;

/// Reads a file with this ending in every way there is. Messages must not contain what the corpus marks as secret.
pub fn read(bytes: &[u8], ending: &str) {
    let file = tempfile::Builder::new().suffix(ending).tempfile().expect("room for a file");
    std::fs::write(file.path(), bytes).expect("room for a file");
    let source = Source::open(file.path()).expect("a file of a known format");
    let encoder = Encoder::new(&Schema::parse(SCHEMA).expect("a schema")).expect("bounds are known");
    for error in [
        source.columns().err(),
        encoder.read(&source).err(),
        Schema::from_data_assuming_public(&source, None).err(),
    ]
    .into_iter()
    .flatten()
    {
        let text = format!("{error} {error:?}");
        assert!(!text.contains("987654.321") && !text.contains("SECRETVALUE"), "{text}");
    }
}
