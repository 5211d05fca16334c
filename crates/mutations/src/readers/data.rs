//! Reading of data files, for CSV and Parquet.

use reticent_tables::{Encoder, Schema, Source, TableError};

use crate::scratch;
use crate::secrets::assert_discreet;

/// The schema of the seeds.
pub(super) const SCHEMA: &str = r#"
target = { name = "income", kind = "numeric", bounds = [0, 100] }
features = [
    { name = "number", kind = "numeric", bounds = [0, 1000000], missing = 0 },
    { name = "count", kind = "numeric", bounds = [0, 100] },
    { name = "flag", kind = "boolean", missing = true },
    { name = "level", kind = "categorical", levels = ["a"], unknown = "other" },
    { name = "note", kind = "text", vocabulary = ["word"], missing = "" },
]
"#;

/// Opens, inspects, streams and reads a file. Returns whether it could be read; asserts that messages contain no value and features
/// are finite.
pub(super) fn read(bytes: &[u8], name: &str) -> bool {
    let file = scratch::file(name, bytes);
    let encoder = Encoder::new(&Schema::parse(SCHEMA).expect("a schema")).expect("bounds are known");
    let Ok(source) = Source::open(&file).inspect_err(assert_discreet) else { return false };
    let _ = source.columns().inspect_err(assert_discreet);
    let _ = Schema::from_data_assuming_public(&source, Some("income")).inspect_err(assert_discreet);
    let streamed = streamed(&encoder, &source);
    let read = encoder.read(&source).map(|table| table.rows().count());
    assert_eq!(streamed, read, "a file is read as it is streamed");
    read.inspect_err(assert_discreet).is_ok()
}

/// The number of records in all batches.
fn streamed(encoder: &Encoder, source: &Source) -> Result<usize, TableError> {
    let (mut batches, mut records) = (encoder.stream(source), 0);
    while let Some(batch) = batches.next_batch()? {
        for row in batch.rows() {
            let features = &row[..encoder.feature_width()];
            assert!(features.iter().all(|value| value.is_finite()), "features are numbers");
            records += 1;
        }
    }
    Ok(records)
}
