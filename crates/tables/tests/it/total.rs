//! Every value of every stored type has a code: no value and no type is an error.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, MapBuilder, StringBuilder};
use arrow_array::types::{Int8Type, Int32Type, IntervalMonthDayNano, UInt16Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, Date32Array, Date64Array, Decimal32Array,
    Decimal64Array, Decimal128Array, Decimal256Array, DictionaryArray, DurationSecondArray,
    FixedSizeBinaryArray, FixedSizeListArray, Float32Array, Float64Array, Int8Array, Int16Array, Int64Array,
    IntervalDayTimeArray, IntervalMonthDayNanoArray, IntervalYearMonthArray, LargeBinaryArray,
    LargeStringArray, ListArray, NullArray, RecordBatch, RecordBatchIterator, RecordBatchReader, RunArray,
    StringArray, StringViewArray, StructArray, Time32SecondArray, Time64NanosecondArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray, UInt16Array, UInt64Array,
    UnionArray,
};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, UnionFields};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use reticent_tables::{Check, Encoder, Schema, Source, TableError, UnitRows};
use tempfile::TempDir;

use crate::tables::{array, folder, rows, write_csv, write_parquet};

const ROWS: usize = 3;

fn list() -> ArrayRef {
    let values = [Some(vec![Some(1), None]), None, Some(vec![])];
    array(ListArray::from_iter_primitive::<Int32Type, _, _>(values))
}

fn dictionary() -> ArrayRef {
    array([Some("1"), None, Some("somewhere else")].into_iter().collect::<DictionaryArray<Int8Type>>())
}

/// Columns of many types, with what is odd in each.
fn columns() -> Vec<(&'static str, ArrayRef)> {
    let decimal = Decimal128Array::from(vec![Some(100), None, Some(i128::MAX / 10)]);
    let decimal = decimal.with_precision_and_scale(38, 2).expect("two digits");
    let wide = Decimal256Array::from(vec![Some(100.into()), None, Some(9_999_999_999i64.into())]);
    let wide = wide.with_precision_and_scale(76, 2).expect("two digits");
    let half =
        cast(&Float32Array::from(vec![Some(1.0), None, Some(f32::NAN)]), &DataType::Float16).expect("halves");
    let part: (Arc<Field>, ArrayRef) =
        (Arc::new(Field::new("a", DataType::Int64, true)), array(Int64Array::from(vec![1, 2, 3])));
    vec![
        ("byte", array(Int8Array::from(vec![Some(1), None, Some(-128)]))),
        ("long", array(Int64Array::from(vec![Some(1), None, Some(i64::MIN)]))),
        ("unsigned", array(UInt64Array::from(vec![Some(1), None, Some(u64::MAX)]))),
        ("float", array(Float32Array::from(vec![Some(1.0), None, Some(f32::INFINITY)]))),
        ("double", array(Float64Array::from(vec![Some(1.0), None, Some(f64::NAN)]))),
        ("half", half),
        ("decimal", array(decimal)),
        ("wide", array(wide)),
        ("boolean", array(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("text", array(StringArray::from(vec![Some("1"), None, Some("\0,\"\n")]))),
        ("large", array(LargeStringArray::from(vec![Some("1"), None, Some("")]))),
        ("view", array(StringViewArray::from(vec![Some("1"), None, Some("x")]))),
        ("binary", array(BinaryArray::from_opt_vec(vec![Some(b"1"), None, Some(b"\xff\xfe")]))),
        ("large_binary", array(LargeBinaryArray::from_opt_vec(vec![Some(b"1"), None, Some(b"\xff")]))),
        (
            "fixed",
            array(FixedSizeBinaryArray::try_from(vec![&b"1"[..], &b"2"[..], &b"\xff"[..]]).expect("bytes")),
        ),
        ("dictionary", dictionary()),
        ("date", array(Date32Array::from(vec![Some(18_262), None, Some(i32::MAX)]))),
        ("date64", array(Date64Array::from(vec![Some(18_262 * 86_400_000), None, Some(i64::MAX)]))),
        ("time", array(Time32SecondArray::from(vec![Some(1), None, Some(i32::MAX)]))),
        ("time64", array(Time64NanosecondArray::from(vec![Some(1), None, Some(i64::MIN)]))),
        ("milliseconds", array(TimestampMillisecondArray::from(vec![Some(1), None, Some(i64::MAX)]))),
        ("microseconds", array(TimestampMicrosecondArray::from(vec![Some(1), None, Some(i64::MIN)]))),
        (
            "zoned",
            array(TimestampNanosecondArray::from(vec![Some(1), None, Some(i64::MAX)]).with_timezone("UTC")),
        ),
        ("duration", array(DurationSecondArray::from(vec![Some(1), None, Some(i64::MAX)]))),
        ("list", list()),
        ("struct", array(StructArray::from(vec![part]))),
        ("nothing", array(NullArray::new(ROWS))),
    ]
}

/// The same for types that no Parquet file has.
fn columns_of_batches() -> Vec<(&'static str, ArrayRef)> {
    let runs = |values: ArrayRef| {
        let ends = Int16Array::from(vec![1, 2, 3]);
        array(RunArray::try_new(&ends, &values).expect("runs"))
    };
    let keys = || UInt16Array::from(vec![Some(0), None, Some(2)]);
    let of = |values: ArrayRef| array(DictionaryArray::<UInt16Type>::try_new(keys(), values).expect("keys"));
    let fixed =
        FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)]), None, Some([None])], 1);
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    map.keys().append_value("1");
    map.values().append_value(1);
    (0..ROWS).for_each(|row| map.append(row == 0).expect("pairs"));
    let union = UnionArray::try_new(
        [(0, Arc::new(Field::new("a", DataType::Int64, true)))].into_iter().collect::<UnionFields>(),
        vec![0; ROWS].into(),
        None,
        vec![array(Int64Array::from(vec![1, 2, 3]))],
    );
    let small = Decimal32Array::from(vec![Some(100), None, Some(999_999_999)]);
    let middle = Decimal64Array::from(vec![Some(100), None, Some(i64::MAX / 10)]);
    let month = IntervalMonthDayNano::new(i32::MAX, i32::MIN, i64::MAX);
    let nowhere = TimestampMillisecondArray::from(vec![Some(1), None, Some(i64::MAX)]);
    vec![
        ("decimal32", array(small.with_precision_and_scale(9, 2).expect("two digits"))),
        ("decimal64", array(middle.with_precision_and_scale(18, 2).expect("two digits"))),
        ("binary_view", array(BinaryViewArray::from(vec![Some(&b"1"[..]), None, Some(b"\xff")]))),
        ("years", array(IntervalYearMonthArray::from(vec![Some(1), None, Some(i32::MAX)]))),
        ("days", array(IntervalDayTimeArray::new_null(ROWS))),
        ("months", array(IntervalMonthDayNanoArray::from(vec![None, Some(month), None]))),
        ("nowhere", array(nowhere.with_timezone("Nowhere/Land"))),
        ("runs", runs(array(StringArray::from(vec![Some("1"), None, Some("x")])))),
        ("runs_of_numbers", runs(array(Float64Array::from(vec![Some(1.0), None, Some(f64::NAN)])))),
        ("of_numbers", of(array(Int64Array::from(vec![1, 2, i64::MIN])))),
        ("of_views", of(array(StringViewArray::from(vec![Some("1"), None, None])))),
        ("of_bytes", of(array(BinaryArray::from(vec![&b"1"[..], b"2", b"\xff"])))),
        ("of_dates", of(array(Date32Array::from(vec![18_262, 0, i32::MAX])))),
        ("of_lists", of(list())),
        ("fixed_list", array(fixed)),
        ("map", array(map.finish())),
        ("union", array(union.expect("one type"))),
    ]
}

/// A batch needs no file: the encoder has a code for each of its types.
#[test]
fn no_type_of_a_batch_is_an_error() {
    for (name, column) in columns().into_iter().chain(columns_of_batches()) {
        let constant = ("constant", array(Float64Array::from(vec![0.5; ROWS])), true);
        let batch = RecordBatch::try_from_iter_with_nullable([constant, (name, Arc::clone(&column), true)]);
        let batch = batch.expect("columns of one length");
        for schema in schemas(name) {
            let encoder = Encoder::new(&schema).expect("bounds");
            let table = encoder.encode(&batch).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(table.rows().len(), ROWS, "{name}");
            for row in table.rows() {
                let features = &row[..encoder.feature_width()];
                assert!(features.iter().all(|value| value.is_finite()), "{name}: {row:?}");
            }
            // Each row by itself has the same code as among the others.
            let alone =
                (0..ROWS).flat_map(|row| encoder.encode(&batch.slice(row, 1)).expect("a row").into_values());
            assert!(alone.map(f64::to_bits).eq(table.rows().flatten().map(|x| x.to_bits())), "{name}");
            let source = Source::from_batches([batch.clone()]);
            assert_eq!(Check::new(&schema, &source).expect(name).records, ROWS as u64);
        }
        let nested = column.data_type().is_nested();
        let schema = &schemas(name)[0];
        let first = Encoder::new(schema).expect("bounds").encode(&batch).expect("rows").into_values()[0];
        let is_one = !nested && !["nothing", "boolean"].contains(&name) && !is_time(column.data_type());
        // Between 0 and 10, 1 is -0.8 and a missing value 0.
        assert_eq!(first, if is_one { -0.8 } else { 0.0 }, "{name}");
    }
}

/// Whether a type is one of dates and times, directly or by a dictionary: texts, and no numbers.
fn is_time(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_time(values),
        other => other.is_temporal(),
    }
}

/// A column of each kind, as a feature and as a target.
fn schemas(name: &str) -> Vec<Schema> {
    let kinds = [
        r#"kind = "numeric", bounds = [0, 10]"#,
        r#"kind = "numeric", mean = 0, sd = 1e-9"#,
        r#"kind = "boolean""#,
        r#"kind = "categorical", levels = ["1", "true"]"#,
        r#"kind = "text", vocabulary = ["1", "true"]"#,
    ];
    let feature = |kind: &str| format!(r#"features = [{{ name = "{name}", {kind} }}]"#);
    let target = |kind: &str| {
        format!(
            r#"target = {{ name = "{name}", {kind} }}
            features = [{{ name = "constant", kind = "numeric", bounds = [0, 1] }}]"#
        )
    };
    let texts = kinds.iter().map(|kind| feature(kind)).chain(kinds[..4].iter().map(|kind| target(kind)));
    texts.map(|text| Schema::parse(&text).expect("a schema")).collect()
}

#[test]
fn no_value_and_no_type_is_an_error() {
    let folder = folder();
    for (name, column) in columns() {
        let constant = ("constant", array(Float64Array::from(vec![0.5; ROWS])));
        let file = write_parquet(&folder, "t.parquet", vec![(name, column), constant]);
        for schema in schemas(name) {
            let read = rows(&schema, &file).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(read.len(), ROWS, "{name}");
            let features = schema.encoded_names().len() - usize::from(schema.target().is_some());
            for row in &read {
                assert!(row[..features].iter().all(|value| value.is_finite()), "{name}: {row:?}");
            }
            let check = Check::new(&schema, &Source::open(&file).expect("a file")).expect(name);
            assert_eq!(check.records, ROWS as u64);
        }
        // A schema of the data's own is accepted by it.
        let source = Source::open(&file).expect("a file");
        let own = Schema::from_data_assuming_public(&source, Some("constant"));
        if let Ok(own) = own {
            assert_eq!(rows(&own, &file).unwrap_or_else(|error| panic!("{name}: {error}")).len(), ROWS);
        }
    }
}

/// All rows of a column whose type has no texts would be units of their own, whatever is in it: such a column is refused as the privacy unit by its type, before
/// a value is read. One of nulls has the type of a file in which all values are missing, and is none of them.
#[test]
fn a_unit_column_whose_type_has_no_texts_is_refused() {
    let folder = folder();
    let without =
        ["list", "struct", "years", "days", "months", "nowhere", "of_lists", "fixed_list", "map", "union"];
    let stored = |name: &'static str, column: ArrayRef| {
        let constant = ("constant", array(Float64Array::from(vec![0.5; ROWS])));
        Source::open(write_parquet(&folder, &format!("{name}.parquet"), vec![(name, column), constant]))
            .expect("a file")
    };
    let batch = |name: &'static str, column: ArrayRef| {
        let constant = ("constant", array(Float64Array::from(vec![0.5; ROWS])), true);
        RecordBatch::try_from_iter_with_nullable([constant, (name, column, true)]).expect("one length")
    };
    let files = columns().into_iter().map(|(name, column)| (name, stored(name, column)));
    let batches = columns().into_iter().chain(columns_of_batches());
    let batches = batches.map(|(name, column)| (name, Source::from_batches([batch(name, column)])));
    for (name, source) in files.collect::<Vec<_>>().into_iter().chain(batches) {
        let text = r#"features = [{ name = "constant", kind = "numeric", bounds = [0, 1] }]"#;
        let schema = Schema::parse(&format!("privacy_unit = \"{name}\"\n{text}")).expect("a schema");
        match UnitRows::read(&schema, &source, 1000, &mut || false) {
            Err(error) => {
                assert!(
                    matches!(error, TableError::NoUnits { .. }) && without.contains(&name),
                    "{name}: {error}"
                );
            }
            Ok(units) => assert!(
                !without.contains(&name) && units.is_some_and(|units| units.count() == ROWS),
                "{name}"
            ),
        }
    }
    // A reader is refused without any batch.
    let empty = batch("list", list()).schema();
    let source = Source::from_readers(move || {
        Ok(Box::new(RecordBatchIterator::new(Vec::new(), Arc::clone(&empty)))
            as Box<dyn RecordBatchReader + Send>)
    });
    let schema =
        "privacy_unit = \"list\"\nfeatures = [{ name = \"constant\", kind = \"numeric\", bounds = [0, 1] }]";
    let read = UnitRows::read(&Schema::parse(schema).expect("a schema"), &source, 1000, &mut || false);
    assert!(matches!(read, Err(TableError::NoUnits { .. })));
}

/// The same values, stored in many types, have the same codes: whoever wrote the file may have inferred the type from
/// another record's value.
#[test]
fn the_type_of_a_column_does_not_matter() {
    let folder = folder();
    let decimals = Decimal128Array::from(vec![Some(100), Some(200), None, Some(300)])
        .with_precision_and_scale(10, 2)
        .expect("two digits");
    let texts = [Some("1"), Some("2.0"), None, Some("3.00")];
    let stored: Vec<ArrayRef> = vec![
        array(Int8Array::from(vec![Some(1), Some(2), None, Some(3)])),
        array(Int64Array::from(vec![Some(1), Some(2), None, Some(3)])),
        array(Float32Array::from(vec![Some(1.0), Some(2.0), None, Some(3.0)])),
        array(Float64Array::from(vec![1.0, 2.0, f64::NAN, 3.0])),
        array(decimals),
        array(StringArray::from(texts.to_vec())),
        array(texts.into_iter().collect::<DictionaryArray<Int8Type>>()),
        array(BinaryArray::from_opt_vec(texts.map(|text| text.map(str::as_bytes)).to_vec())),
    ];
    let csv = write_csv(&folder, "t.csv", "x,n\n1,0\n 2.0,0\n,0\n3,0\n");
    let unknown = r#"kind = "categorical", levels = ["1", "2"], unknown = "other", missing = "level""#;
    for kind in [
        r#"kind = "numeric", bounds = [0, 4], missing = "indicator""#,
        r#"kind = "boolean", missing = "indicator""#,
        r#"kind = "categorical", levels = ["1", "2", "3"]"#,
        r#"kind = "categorical", levels = ["1.0", "2.0", "3.0"], missing = "level""#,
        unknown,
    ] {
        let schema = Schema::parse(&format!(r#"features = [{{ name = "x", {kind} }}]"#)).expect("a schema");
        let expected = rows(&schema, &csv).expect("a table");
        for column in &stored {
            let file = write_parquet(&folder, "t.parquet", vec![("x", column.clone())]);
            assert_eq!(rows(&schema, &file).expect("a table"), expected, "{kind}: {}", column.data_type());
        }
    }
}

#[test]
fn levels_match_by_value() {
    let folder = folder();
    let read = |levels: &str, values: &str| {
        let text = format!(
            r#"features = [{{ name = "x", kind = "categorical", levels = {levels}, unknown = "other" }}]"#
        );
        let file = write_csv(
            &folder,
            "t.csv",
            &values.split(' ').fold("x,n\n".to_owned(), |text, x| text + x + ",0\n"),
        );
        let read = rows(&Schema::parse(&text).expect("a schema"), &file).expect("levels");
        read.iter()
            .map(|row| row.iter().position(|&value| value == 1.0).expect("a level"))
            .collect::<Vec<_>>()
    };
    assert_eq!(read(r#"["0", "1"]"#, "1 1.0 1e0 +1 -0 0.00 2 x"), [1, 1, 1, 1, 0, 0, 2, 2]);
    assert_eq!(read(r#"["True", "False"]"#, "true TRUE False yes 1"), [0, 0, 1, 2, 2]);
    // Codes that are the same number are told apart by their texts.
    assert_eq!(read(r#"["250.0", "250.00"]"#, "250.0 250.00 250"), [0, 1, 2]);
    assert_eq!(read(r#"["true", "True"]"#, "true True TRUE"), [0, 1, 2]);
    // Integers that no float can tell apart.
    assert_eq!(
        read(r#"["9007199254740992", "9007199254740993"]"#, "9007199254740993 9007199254740992"),
        [1, 0]
    );
    let dates = write_parquet(&folder, "d.parquet", vec![("x", array(Date32Array::from(vec![18_292])))]);
    let schema = Schema::parse(
        r#"features = [{ name = "x", kind = "categorical", levels = ["2020-01-30", "2020-01-31"] }]"#,
    );
    assert_eq!(rows(&schema.expect("a schema"), &dates).expect("dates"), [[0.0, 1.0]]);
}

/// A record without a target is absent: NaN, which the wall takes for nothing.
#[test]
fn a_target_that_is_not_known_is_no_number() {
    let folder = folder();
    let file = write_csv(&folder, "t.csv", "x,y\n1,yes\n1,\n1,maybe\n\"1,yes\n");
    let read = |target: &str| {
        let text = format!(
            r#"target = {{ name = "y", {target} }}
            features = [{{ name = "x", kind = "numeric", bounds = [0, 1] }}]"#
        );
        rows(&Schema::parse(&text).expect("a schema"), &file).expect("no value is an error")
    };
    for target in [
        r#"kind = "boolean""#,
        r#"kind = "categorical", levels = ["no", "yes"]"#,
        r#"kind = "categorical", levels = ["no", "never", "yes"]"#,
        r#"kind = "numeric", bounds = [0, 1]"#,
    ] {
        let rows = read(target);
        assert_eq!((rows[0][0], rows[3][0]), (1.0, 0.0));
        assert_eq!(rows[0][1..].iter().all(|value| value.is_finite()), !target.contains("numeric"));
        assert!(rows[1..].iter().all(|row| row[1..].iter().all(|value| value.is_nan())), "{target}");
    }
    // What is stated holds.
    let stated = read(r#"kind = "categorical", levels = ["no", "yes"], unknown = "other", missing = "none""#);
    assert!(stated.iter().flatten().all(|value| value.is_finite()));
    let unknown = read(r#"kind = "categorical", levels = ["no", "yes"], unknown = "no""#);
    assert!(unknown[1][1].is_nan() && unknown[2][1] == -1.0);
    assert_eq!(read(r#"kind = "boolean", missing = true"#)[1..].concat(), [1.0, 1.0, 1.0, 1.0, 0.0, 1.0]);
    // What is out of bounds is moved to the bound, as in any other column.
    let far = write_csv(&folder, "f.csv", "x,y\n1,50\n");
    let schema = Schema::parse(
        r#"target = { name = "y", kind = "numeric", bounds = [0, 1] }
        features = [{ name = "x", kind = "numeric", bounds = [0, 1] }]"#,
    );
    assert_eq!(rows(&schema.expect("a schema"), &far).expect("a number"), [[1.0, 1.0]]);
}

/// A Parquet file with these bytes for texts, which no writer of Arrow would make.
fn write_texts(folder: &TempDir, texts: &[&[u8]]) -> PathBuf {
    let file = folder.path().join("bytes.parquet");
    let schema =
        Arc::new(parse_message_type("message m { REQUIRED BYTE_ARRAY x (UTF8); }").expect("a schema"));
    let mut writer = SerializedFileWriter::new(File::create(&file).expect("room"), schema, Arc::default())
        .expect("a writer");
    let mut group = writer.next_row_group().expect("a group");
    let mut column = group.next_column().expect("no error").expect("a column");
    let values: Vec<ByteArray> = texts.iter().map(|text| ByteArray::from(text.to_vec())).collect();
    column.typed::<ByteArrayType>().write_batch(&values, None, None).expect("room");
    column.close().expect("room");
    group.close().expect("room");
    writer.close().expect("room");
    file
}

/// One text that is not UTF-8 is a missing value, and does nothing to the others.
#[test]
fn texts_of_parquet_files_need_not_be_utf8() {
    let folder = folder();
    let file = write_texts(&folder, &[b"a", b"\xff\xfe", b"b", b"1"]);
    let read = |kind: &str| {
        let schema = Schema::parse(&format!(r#"features = [{{ name = "x", {kind} }}]"#)).expect("a schema");
        rows(&schema, Path::new(&file)).expect("no value is an error")
    };
    assert_eq!(
        read(r#"kind = "categorical", levels = ["a", "b"], unknown = "other", missing = "level""#),
        [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    );
    assert_eq!(
        read(r#"kind = "text", vocabulary = ["a", "b"]"#).concat(),
        [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    );
    assert_eq!(read(r#"kind = "numeric", bounds = [0, 1]"#).concat(), [0.0, 0.0, 0.0, 1.0]);
}

/// Texts that were yes and no became booleans that their own file could not be read with.
#[test]
fn schemas_from_data_are_accepted_by_their_data() {
    let folder = folder();
    let yes = StringArray::from(vec![Some("Yes"), Some("No"), None]);
    let mixed = StringArray::from(vec![Some("1"), Some("1.0"), Some("x")]);
    let numbers = StringArray::from(vec![Some("1"), Some("2.5"), None]);
    let columns = vec![
        ("yes", array(yes)),
        ("mixed", array(mixed)),
        ("numbers", array(numbers)),
        ("empty", array(Float64Array::from(vec![None, None, None]))),
        ("dates", array(Date32Array::from(vec![1, 2, 3]))),
        ("lists", list()),
        ("target", array(BooleanArray::from(vec![Some(true), Some(false), None]))),
    ];
    let parquet = write_parquet(&folder, "t.parquet", columns);
    let csv = write_csv(
        &folder,
        "t.csv",
        "yes,mixed,numbers,empty,target\nYes,1,1,,true\nNo,1.0,2.5,,false\n,x,,,\n",
    );
    let mut encoded = Vec::new();
    for file in [parquet, csv] {
        let source = Source::open(&file).expect("a file");
        let schema = Schema::from_data_assuming_public(&source, Some("target")).expect("a schema");
        let names: Vec<&str> = schema.features().iter().map(|column| column.name()).collect();
        assert_eq!(names, ["yes", "mixed", "numbers"]);
        assert_eq!(Schema::parse(&schema.to_toml()).expect("our own text"), schema);
        let check = Check::new(&schema, &source).expect("a file");
        let odd = |column: &reticent_tables::ColumnCheck| {
            column.outside.count + column.unknown.count + column.malformed.count
        };
        assert!(check.columns.iter().all(|column| odd(column) == 0), "{check:?}");
        encoded.push(rows(&schema, &file).expect("its own data"));
    }
    let bits = |rows: &[Vec<f64>]| rows.concat().iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&encoded[0]), bits(&encoded[1]));
}
