//! Record batches: the same rules as for files, and one row is one record.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::types::{Int8Type, Int32Type, UInt64Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, LargeStringArray, RecordBatch,
    RecordBatchIterator, RecordBatchReader, StringArray, StringViewArray,
};
use arrow_schema::{ArrowError, SchemaRef};
use proptest::prelude::*;
use reticent_tables::{Check, Encoder, Format, Rows, Schema, Source, TableError};

use crate::messages::{SECRETS, assert_discreet};
use crate::passes::pass;
use crate::tables::{array, folder, write_csv, write_parquet};

const SCHEMA: &str = r#"
    target = { name = "stays", kind = "boolean" }
    features = [
        { name = "age", kind = "numeric", bounds = [0, 80], missing = "indicator" },
        { name = "cost", kind = "numeric", bounds = [0, 10] },
        { name = "ward", kind = "categorical", levels = ["a", "b"], unknown = "other", missing = "level" },
        { name = "note", kind = "text", vocabulary = ["pain", "fever"] },
    ]
"#;

/// A record as a caller has it: each value may be missing or odd.
type Row = (Option<i64>, Option<f64>, Option<String>, Option<String>, Option<bool>);

fn encoder() -> Encoder {
    Encoder::new(&Schema::parse(SCHEMA).expect("a schema")).expect("bounds")
}

fn columns(rows: &[Row]) -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("age", array(rows.iter().map(|row| row.0).collect::<Int64Array>())),
        ("cost", array(rows.iter().map(|row| row.1).collect::<Float64Array>())),
        ("ward", array(rows.iter().map(|row| row.2.as_deref()).collect::<StringArray>())),
        ("note", array(rows.iter().map(|row| row.3.as_deref()).collect::<StringArray>())),
        ("stays", array(rows.iter().map(|row| row.4).collect::<BooleanArray>())),
    ]
}

fn batch(columns: Vec<(&'static str, ArrayRef)>) -> RecordBatch {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length")
}

fn bits(values: impl IntoIterator<Item = f64>) -> Vec<u64> {
    values.into_iter().map(f64::to_bits).collect()
}

fn encoded(batch: &RecordBatch) -> Vec<u64> {
    bits(encoder().encode(batch).expect("all columns").into_values())
}

fn read(source: &Source) -> Vec<u64> {
    bits(encoder().read(source).expect("all columns").into_values())
}

/// The same values in other types, with other columns before and between, in another order.
fn in_other_types(rows: &[Row]) -> RecordBatch {
    let text = |of: fn(&Row) -> Option<String>| rows.iter().map(of).collect::<Vec<_>>();
    let ages: LargeStringArray = text(|row| row.0.map(|age| age.to_string())).into_iter().collect();
    let costs: StringViewArray = text(|row| row.1.map(|cost| cost.to_string())).into_iter().collect();
    let wards = rows.iter().map(|row| row.2.as_deref()).collect::<DictionaryArray<Int8Type>>();
    let notes = rows.iter().map(|row| row.3.as_deref()).collect::<DictionaryArray<UInt64Type>>();
    let stays: Int64Array = rows.iter().map(|row| row.4.map(i64::from)).collect();
    batch(vec![
        ("stays", array(stays)),
        ("name", array(rows.iter().map(|_| Some("nobody")).collect::<StringArray>())),
        ("note", array(notes)),
        ("ward", array(wards)),
        ("cost", array(costs)),
        ("age", array(ages)),
    ])
}

fn csv(rows: &[Row]) -> String {
    let text = |value: Option<String>| value.unwrap_or_default();
    let line = |row: &Row| {
        let (age, cost) = (row.0.map(|age| age.to_string()), row.1.map(|cost| cost.to_string()));
        let stays = row.4.map(|stays| stays.to_string());
        let note = row.3.as_ref().map(|note| format!("\"{}\"", note.replace('"', "\"\"")));
        format!("{},{},{},{},{}\n", text(age), text(cost), text(row.2.clone()), text(note), text(stays))
    };
    rows.iter().map(line).fold("age,cost,ward,note,stays\n".to_owned(), |all, line| all + &line)
}

fn row() -> impl Strategy<Value = Row> {
    (
        prop::option::of(-10i64..100),
        prop::option::of(prop_oneof![-5.0..20.0, Just(f64::NAN), Just(f64::INFINITY), Just(-0.0)]),
        prop::option::of("[abc]?"),
        prop::option::of("(pain|fever|Pain|x| |\"|,){0,5}"),
        prop::option::of(any::<bool>()),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// CSV, Parquet and batches of these or other types have the same codes, bit by bit.
    #[test]
    fn the_same_rows_have_the_same_codes(rows in prop::collection::vec(row(), 1..40)) {
        let folder = folder();
        let plain = batch(columns(&rows));
        let expected = encoded(&plain);
        let csv = Source::open(write_csv(&folder, "t.csv", &csv(&rows))).expect("a file");
        let parquet = Source::open(write_parquet(&folder, "t.parquet", columns(&rows))).expect("a file");
        prop_assert_eq!(read(&csv), &expected[..]);
        prop_assert_eq!(read(&parquet), &expected[..]);
        prop_assert_eq!(read(&Source::from_batches([plain])), &expected[..]);
        prop_assert_eq!(encoded(&in_other_types(&rows)), expected);
    }

    /// One row that is replaced, added or removed changes one record, at its place, and where batches end changes none.
    #[test]
    fn a_row_of_a_batch_is_a_record(
        rows in prop::collection::vec(row(), 1..40),
        other in row(),
        at in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let width = encoder().width();
        let (at, cut) = (at.index(rows.len()), cut.index(rows.len()));
        let before = encoded(&in_other_types(&rows));
        prop_assert_eq!(before.len(), rows.len() * width);
        let own = encoded(&in_other_types(std::slice::from_ref(&other)));
        let mut replaced = rows.clone();
        replaced[at] = other.clone();
        let mut expected = before.clone();
        expected.splice(at * width..(at + 1) * width, own.iter().copied());
        prop_assert_eq!(encoded(&in_other_types(&replaced)), &expected[..]);
        let mut added = rows.clone();
        added.insert(at, other);
        let mut expected = before.clone();
        expected.splice(at * width..at * width, own);
        prop_assert_eq!(encoded(&in_other_types(&added)), &expected[..]);
        let mut removed = rows.clone();
        removed.remove(at);
        let mut expected = before.clone();
        expected.drain(at * width..(at + 1) * width);
        prop_assert_eq!(encoded(&in_other_types(&removed)), &expected[..]);
        let parts = [in_other_types(&rows[..cut]), batch(columns(&rows[cut..])), batch(columns(&[]))];
        prop_assert_eq!(read(&Source::from_batches(parts)), before);
    }
}

fn many(count: usize) -> Vec<Row> {
    let row = |k: usize| {
        let ward = if k.is_multiple_of(3) { "a" } else { "c" };
        (Some(k as i64 % 80), Some(k as f64 % 10.0), Some(ward.to_owned()), None, Some(k.is_multiple_of(2)))
    };
    (0..count).map(row).collect()
}

/// A batch that is longer than what is encoded at once.
#[test]
fn long_batches_are_encoded_in_slices() {
    let (rows, short) = (many(30_000), many(1000));
    let all = encoded(&in_other_types(&rows));
    let (width, parts) = (encoder().width(), rows.chunks(1000).map(in_other_types));
    assert_eq!(all, read(&Source::from_batches(parts)));
    assert_eq!(all[..1000 * width], encoded(&batch(columns(&short))));
}

#[test]
fn only_a_missing_column_is_an_error() {
    let without = |name: &str| {
        let mut columns = columns(&many(3));
        columns.retain(|(known, _)| *known != name);
        columns.push(("SECRETVALUE", array(Float64Array::from(vec![987_654.321; 3]))));
        batch(columns)
    };
    let error = encoder().encode(&without("ward")).err().expect("there is no ward");
    assert!(matches!(&error, TableError::NoColumn { column, .. } if column == "ward"), "{error}");
    assert!(error.to_string().contains("record batches: there is no column \"ward\""), "{error}");
    assert_discreet(&error);
    assert!(encoder().read(&Source::from_batches([without("age")])).is_err());
    let features = Encoder::of_features(&Schema::parse(SCHEMA).expect("a schema")).expect("bounds");
    assert!(features.encode(&without("stays")).is_ok(), "predictions need no target");
    let mut twice = columns(&many(3));
    twice.push(("age", array(Int64Array::from(vec![1, 2, 3]))));
    let error = encoder().encode(&batch(twice)).err().expect("two columns");
    assert!(matches!(error, TableError::TwoColumns { .. }));
    // A reader without any batch still has columns.
    let empty = without("ward").schema();
    let source = Source::from_readers(move || Ok(reader(&empty, Vec::new())));
    assert!(matches!(encoder().read(&source), Err(TableError::NoColumn { .. })));
    assert_eq!(encoder().read(&Source::from_batches([])).expect("no records").rows().len(), 0);
}

fn reader(
    schema: &SchemaRef,
    batches: Vec<Result<RecordBatch, ArrowError>>,
) -> Box<dyn RecordBatchReader + Send> {
    Box::new(RecordBatchIterator::new(batches, Arc::clone(schema)))
}

/// A reader is opened for each pass, and none of the rows is kept.
#[test]
fn readers_are_opened_for_each_pass() {
    let (opened, rows) = (Arc::new(AtomicUsize::new(0)), many(20_000));
    let (count, parts) = (Arc::clone(&opened), rows.chunks(3000).map(in_other_types).collect::<Vec<_>>());
    let schema = parts[0].schema();
    let source = Source::from_readers(move || {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(reader(&schema, parts.iter().cloned().map(Ok).collect()))
    });
    assert_eq!((source.format(), source.files().len()), (Format::Arrow, 0));
    assert_eq!(source.columns().expect("a schema").len(), 6);
    let expected = encoded(&in_other_types(&rows));
    let before = opened.load(Ordering::Relaxed);
    let Rows::Streamed(stream) = encoder().rows(&source, expected.len() - 1).expect("rows") else {
        panic!("one number too many to be kept")
    };
    for _ in 0..2 {
        assert_eq!(bits(pass(&stream)), expected);
    }
    assert_eq!(opened.load(Ordering::Relaxed), before + 3);
    let check = Check::new(&Schema::parse(SCHEMA).expect("a schema"), &source).expect("rows");
    assert_eq!((check.records, check.columns[2].unknown.count), (20_000, 13_333));
}

/// What a reader states about its failure may be a value of a record.
#[test]
fn no_message_of_a_reader_is_repeated() {
    let (secret, whole) = (format!("{} {}", SECRETS[0], SECRETS[1]), batch(columns(&many(10))));
    let schema = whole.schema();
    let refused = secret.clone();
    let sources = [
        Source::from_readers(move || Err(ArrowError::ComputeError(refused.clone()))),
        Source::from_readers(move || {
            let failed = Err(ArrowError::ParseError(secret.clone()));
            Ok(reader(&schema, vec![Ok(whole.clone()), failed]))
        }),
        Source::from_readers(|| panic!("{} {}", SECRETS[0], SECRETS[1])),
    ];
    for source in sources {
        let error = encoder().read(&source).err().expect("it fails");
        assert_eq!(error, TableError::Reader);
        assert_discreet(&error);
    }
}

#[test]
fn sources_do_not_print_their_values() {
    let secret = array(StringArray::from(vec![SECRETS[0]; 2]));
    let source = Source::from_batches([batch(vec![("ward", secret)])]);
    assert_discreet(&format!("{source:?}"));
}

/// A dictionary may have values that no row has, the same value twice, and values that are null.
#[test]
fn dictionaries_are_only_storage() {
    let schema = Schema::parse(
        r#"features = [{ name = "x", kind = "categorical", levels = ["a", "b"], unknown = "other", missing = "level" }]"#,
    );
    let encoder = Encoder::new(&schema.expect("a schema")).expect("levels");
    let rows = |array: ArrayRef| {
        let batch = RecordBatch::try_from_iter_with_nullable([("x", array, true)]).expect("a column");
        encoder.encode(&batch).expect("a column").into_values()
    };
    let texts = [Some("b"), None, Some("a"), Some("b"), Some("elsewhere"), None, Some("b")];
    let expected = rows(array(StringArray::from(texts.to_vec())));
    let values =
        StringArray::from(vec![Some("unused"), Some("b"), None, Some("a"), Some("b"), Some("elsewhere")]);
    let keys = [Some(1), Some(2), Some(3), Some(4), Some(5), None, Some(1)];
    let dictionary = DictionaryArray::<Int32Type>::try_new(keys.into_iter().collect(), array(values));
    assert_eq!(rows(array(dictionary.expect("keys in range"))), expected);
    // A dictionary that is longer than the batch is looked up where it is used.
    let long = (0..100).map(|k| format!("unused {k}")).chain(["b", "a", "elsewhere"].map(str::to_owned));
    let keys = [Some(100), None, Some(101), Some(100), Some(102), None, Some(100)];
    let dictionary = DictionaryArray::<Int8Type>::try_new(
        keys.into_iter().collect(),
        array(StringArray::from_iter_values(long)),
    );
    assert_eq!(rows(array(dictionary.expect("keys in range"))), expected);
}
