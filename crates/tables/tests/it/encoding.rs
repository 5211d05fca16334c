//! Every kind of column, from every kind of file.

use arrow_array::types::Int32Type;
use arrow_array::{
    BooleanArray, Decimal128Array, Decimal256Array, DictionaryArray, Float32Array, Float64Array, Int8Array,
    Int64Array, LargeStringArray, StringArray, UInt16Array,
};
use arrow_cast::cast;
use arrow_schema::DataType;
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use proptest::prelude::*;
use reticent_tables::{Column, Encoder, Kind, Missing, Predictions, Scale, Schema, Source, TableError};

use crate::tables::{array, folder, rows, write_compressed, write_csv, write_parquet};

fn one(column: Column) -> Schema {
    Schema::new(None, vec![column]).expect("one column")
}

#[test]
fn numbers_are_scaled_to_the_public_bounds() {
    let folder = folder();
    let file = write_csv(&folder, "t.csv", "x\n10\n 15 \n20\n1e300\n-7.5\n12.5\n");
    let schema = one(Column::numeric("x", 10.0, 20.0).expect("bounds"));
    // (x - 15) / 5, moved into [-1, 1].
    assert_eq!(rows(&schema, &file).expect("numbers").concat(), [-1.0, 0.0, 1.0, 1.0, -1.0, -0.5]);
}

#[test]
fn wide_bounds_do_not_overflow() {
    let folder = folder();
    let file = write_csv(&folder, "t.csv", "x\n-1.7e308\n0\n1.7e308\n");
    let wide = one(Column::numeric("x", -f64::MAX, f64::MAX).expect("bounds"));
    assert_eq!(rows(&wide, &file).expect("numbers").concat(), [-1.7e308 / f64::MAX, 0.0, 1.7e308 / f64::MAX]);
    let kind = Kind::Numeric { scale: Scale::Moments { mean: 0.0, sd: 1e-300 }, missing: Missing::Unstated };
    let steep = one(Column::new("x", kind).expect("moments"));
    assert_eq!(rows(&steep, &file).expect("numbers").concat(), [-f64::MAX, 0.0, f64::MAX]);
}

#[test]
fn numbers_that_are_not_finite_are_missing() {
    let folder = folder();
    let csv = write_csv(&folder, "t.csv", "x,y\n,0\nNaN,0\ninf,0\n-inf,0\n 4 ,0\n");
    let numbers = Float64Array::from(vec![
        None,
        Some(f64::NAN),
        Some(f64::INFINITY),
        Some(f64::NEG_INFINITY),
        Some(4.0),
    ]);
    let parquet = write_parquet(&folder, "t.parquet", vec![("x", array(numbers))]);
    let kind = |missing| Kind::Numeric { scale: Scale::Bounds { low: 0.0, high: 8.0 }, missing };
    let stated = one(Column::new("x", kind(Missing::Value(2.0))).expect("a rule"));
    let unstated = one(Column::new("x", kind(Missing::Unstated)).expect("no rule"));
    let indicated = one(Column::new("x", kind(Missing::Indicator)).expect("a rule"));
    assert_eq!(indicated.encoded_names(), ["x", "x=missing"]);
    for file in [csv, parquet] {
        assert_eq!(rows(&stated, &file).expect("a rule").concat(), [-0.5, -0.5, -0.5, -0.5, 0.0]);
        assert_eq!(rows(&unstated, &file).expect("the middle").concat(), [0.0; 5]);
        assert_eq!(
            rows(&indicated, &file).expect("an indicator"),
            [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, -1.0]]
        );
        // Without bounds there is no middle: the record is absent.
        let unscaled = rows(&stated.unscaled(), &file).expect("numbers as they are").concat();
        assert!(unscaled[..4].iter().all(|value| value.is_nan()) && unscaled[4] == 4.0);
    }
}

#[test]
fn every_numeric_type_of_parquet_is_read() {
    let folder = folder();
    let decimals =
        Decimal128Array::from(vec![Some(150), None]).with_precision_and_scale(10, 2).expect("two digits");
    let wide = Decimal256Array::from(vec![Some(150.into()), None])
        .with_precision_and_scale(60, 2)
        .expect("two digits");
    let half = cast(&Float32Array::from(vec![Some(1.5), None]), &DataType::Float16).expect("a half");
    let file = write_parquet(
        &folder,
        "t.parquet",
        vec![
            ("float", array(Float32Array::from(vec![Some(1.5), None]))),
            ("byte", array(Int8Array::from(vec![Some(-3), None]))),
            ("long", array(Int64Array::from(vec![Some(1 << 40), None]))),
            ("unsigned", array(UInt16Array::from(vec![Some(65_535), None]))),
            ("decimal", array(decimals)),
            ("wide", array(wide)),
            ("half", half),
        ],
    );
    let read = |name: &str| {
        let kind = Kind::Numeric { scale: Scale::UNSCALED, missing: Missing::Value(-1.0) };
        rows(&one(Column::new(name, kind).expect("a rule")), &file).expect("numbers").concat()
    };
    assert_eq!(read("float"), [1.5, -1.0]);
    assert_eq!(read("byte"), [-3.0, -1.0]);
    assert_eq!(read("long"), [1_099_511_627_776.0, -1.0]);
    assert_eq!(read("unsigned"), [65_535.0, -1.0]);
    for name in ["decimal", "wide", "half"] {
        assert_eq!(read(name), [1.5, -1.0], "{name}");
    }
}

#[test]
fn every_compression_is_read() {
    let folder = folder();
    let schema = one(Column::unscaled("x").expect("a name"));
    let level = (GzipLevel::default(), ZstdLevel::default());
    for (name, compression) in [
        ("none", Compression::UNCOMPRESSED),
        ("snappy", Compression::SNAPPY),
        ("zstd", Compression::ZSTD(level.1)),
        ("gzip", Compression::GZIP(level.0)),
        ("lz4", Compression::LZ4_RAW),
    ] {
        let numbers = array(Float64Array::from_iter_values((0..1000).map(f64::from)));
        let file = write_compressed(&folder, &format!("{name}.parquet"), vec![("x", numbers)], compression);
        assert_eq!(rows(&schema, &file).expect(name).concat(), (0..1000).map(f64::from).collect::<Vec<_>>());
    }
}

#[test]
fn levels_are_one_hot_whatever_type_they_are_written_in() {
    let folder = folder();
    let texts = [Some("b"), None, Some("z"), Some("a")];
    let file = write_parquet(
        &folder,
        "t.parquet",
        vec![
            ("text", array(StringArray::from(texts.to_vec()))),
            ("large", array(LargeStringArray::from(texts.to_vec()))),
            ("dictionary", array(texts.into_iter().collect::<DictionaryArray<Int32Type>>())),
        ],
    );
    let csv = write_csv(&folder, "t.csv", "text,n\nb,1\n,2\nz,3\n\"a\",4\n");
    let kind = Kind::Categorical {
        levels: vec!["a".into(), "b".into()],
        unknown: Some("other".into()),
        missing: Some("missing".into()),
    };
    let expected = [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]];
    for (file, name) in [(&file, "text"), (&file, "large"), (&file, "dictionary"), (&csv, "text")] {
        let schema = one(Column::new(name, kind.clone()).expect("levels"));
        assert_eq!(rows(&schema, file).expect(name), expected);
    }
    // A missing value counts as unknown if only that is stated, and the other way round; without both as the first level.
    let rules = |unknown: Option<&str>, missing: Option<&str>| {
        let levels = vec!["a".into(), "b".into()];
        let kind =
            Kind::Categorical { levels, unknown: unknown.map(Into::into), missing: missing.map(Into::into) };
        let schema = one(Column::new("text", kind).expect("levels"));
        rows(&schema, &csv).expect("levels")[1..3].to_vec()
    };
    assert_eq!(rules(None, None), [[1.0, 0.0], [1.0, 0.0]]);
    assert_eq!(rules(Some("o"), None), [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]);
    assert_eq!(rules(None, Some("b")), [[0.0, 1.0], [0.0, 1.0]]);
}

/// More different texts than rows in a batch: the dictionary of the file is longer than a batch.
#[test]
fn long_dictionaries_are_read_too() {
    let folder = folder();
    let texts = (0..20_000).map(|k| if k % 2 == 0 { "even".to_owned() } else { format!("odd {k}") });
    let texts = array(StringArray::from_iter_values(texts));
    let file = write_parquet(&folder, "t.parquet", vec![("x", texts)]);
    let kind = Kind::Categorical { levels: vec!["even".into()], unknown: Some("odd".into()), missing: None };
    let read = rows(&one(Column::new("x", kind).expect("levels")), &file).expect("texts");
    assert_eq!(read.len(), 20_000);
    assert!(read.iter().enumerate().all(|(k, row)| row[k % 2] == 1.0 && row[1 - k % 2] == 0.0));
}

#[test]
fn integers_and_booleans_can_be_levels() {
    let folder = folder();
    let columns = vec![
        ("digit", array(Int64Array::from(vec![7, 3]))),
        ("flag", array(BooleanArray::from(vec![true, false]))),
    ];
    let file = write_parquet(&folder, "t.parquet", columns);
    let digits = one(Column::categorical("digit", ["3", "7"]).expect("levels"));
    assert_eq!(rows(&digits, &file).expect("digits"), [[0.0, 1.0], [1.0, 0.0]]);
    let flags = one(Column::categorical("flag", ["false", "true"]).expect("levels"));
    assert_eq!(rows(&flags, &file).expect("flags"), [[0.0, 1.0], [1.0, 0.0]]);
}

#[test]
fn booleans_are_minus_one_and_one() {
    let folder = folder();
    let csv = write_csv(&folder, "t.csv", "b,n\ntrue,1\nNo,2\n1,3\n f ,4\n,5\n");
    let flags = BooleanArray::from(vec![Some(true), Some(false), Some(true), Some(false), None]);
    let digits = Int8Array::from(vec![Some(1), Some(0), Some(1), Some(0), None]);
    let typed = write_parquet(&folder, "t.parquet", vec![("b", array(flags))]);
    let integers = write_parquet(&folder, "i.parquet", vec![("b", array(digits))]);
    let schema = one(Column::new("b", Kind::Boolean { missing: Missing::Value(true) }).expect("a rule"));
    for file in [&csv, &typed, &integers] {
        assert_eq!(rows(&schema, file).expect("booleans").concat(), [1.0, -1.0, 1.0, -1.0, 1.0]);
    }
    let unstated = one(Column::new("b", Kind::Boolean { missing: Missing::Unstated }).expect("no rule"));
    assert_eq!(rows(&unstated, &typed).expect("booleans").concat(), [1.0, -1.0, 1.0, -1.0, 0.0]);
    let indicated = one(Column::new("b", Kind::Boolean { missing: Missing::Indicator }).expect("a rule"));
    assert_eq!(rows(&indicated, &csv).expect("booleans")[3..], [[-1.0, -1.0], [0.0, 1.0]]);
    let two = write_parquet(&folder, "two.parquet", vec![("b", array(Int8Array::from(vec![2])))]);
    assert_eq!(rows(&unstated, &two).expect("neither").concat(), [0.0]);
    // Other programs make numbers of booleans, and texts of numbers.
    let numbers =
        write_parquet(&folder, "n.parquet", vec![("b", array(Float64Array::from(vec![1.0, 0.0, f64::NAN])))]);
    assert_eq!(rows(&unstated, &numbers).expect("booleans").concat(), [1.0, -1.0, 0.0]);
    let texts =
        write_parquet(&folder, "s.parquet", vec![("b", array(StringArray::from(vec!["Yes", "No", "1.0"])))]);
    assert_eq!(rows(&unstated, &texts).expect("booleans").concat(), [1.0, -1.0, 1.0]);
}

#[test]
fn texts_become_counts_of_public_words() {
    let folder = folder();
    std::fs::write(folder.path().join("words.txt"), "pain\nchest\n\nnone\n").expect("a vocabulary");
    let text = r#"features = [{ name = "note", kind = "text", vocabulary = "words.txt", missing = "" }]"#;
    let schema = Schema::load(write_csv(&folder, "schema.toml", text)).expect("a schema");
    let file = write_csv(&folder, "t.csv", "note,n\n\"Pain, PAIN: in the chest\",1\n,2\n");
    assert_eq!(rows(&schema, &file).expect("texts"), [[2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]);
    assert_eq!(schema.encoded_names(), ["note:pain", "note:chest", "note:none"]);
    assert!(Schema::parse(text).is_err(), "there is no folder to look for the words in");
}

#[test]
fn the_target_comes_last_and_can_be_left_out() {
    let folder = folder();
    let with = write_csv(&folder, "with.csv", "y,x\nno,1\nyes,-1\n");
    let without = write_csv(&folder, "without.csv", "x\n1\n-1\n");
    let target = Column::categorical("y", ["no", "yes"]).expect("levels");
    let schema =
        Schema::new(Some(target), vec![Column::numeric("x", -1.0, 1.0).expect("bounds")]).expect("a schema");
    assert_eq!(rows(&schema, &with).expect("two rows"), [[1.0, -1.0], [-1.0, 1.0]]);
    assert_eq!(schema.encoded_names(), ["x", "y"]);
    assert!(matches!(rows(&schema, &without), Err(TableError::NoColumn { .. })));
    let encoder = Encoder::of_features(&schema).expect("bounds are known");
    let table = encoder.read(&Source::open(&without).expect("a file")).expect("features");
    assert_eq!(table.into_values(), [1.0, -1.0]);

    let target = Column::categorical("y", ["no", "perhaps", "yes"]).expect("levels");
    let three = Schema::new(Some(target), schema.features().to_vec()).expect("a schema");
    assert_eq!(rows(&three, &with).expect("two rows"), [[1.0, 1.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 1.0]]);
    assert_eq!(three.encoded_names(), ["x", "y=no", "y=perhaps", "y=yes"]);
}

#[test]
fn many_files_are_one_data_set_in_sorted_order() {
    let folder = folder();
    for (name, value) in
        [("part-2.csv", "3\n4"), ("part-0.csv", "1"), ("part-1.csv", "2\n"), ("_SUCCESS", "x")]
    {
        write_csv(
            &folder,
            name,
            &if name == "part-1.csv" { format!("z,x\n9,{value}") } else { format!("x\n{value}") },
        );
    }
    let schema = one(Column::unscaled("x").expect("a name"));
    let expected = [1.0, 2.0, 3.0, 4.0];
    assert_eq!(rows(&schema, folder.path()).expect("a folder").concat(), expected);
    assert_eq!(rows(&schema, &folder.path().join("part-*.csv")).expect("a pattern").concat(), expected);
    assert_eq!(
        rows(&schema, &folder.path().join("part-[12].csv")).expect("a pattern").concat(),
        expected[1..]
    );
    assert!(matches!(Source::open(folder.path().join("none-*.csv")), Err(TableError::NoFiles { .. })));
    assert!(matches!(Source::open(folder.path().join("none.csv")), Err(TableError::Unreadable { .. })));
    assert!(matches!(Source::open(folder.path().join("_SUCCESS")), Err(TableError::UnknownFormat { .. })));
    write_parquet(&folder, "part-3.parquet", vec![("x", array(Int64Array::from(vec![1])))]);
    assert!(matches!(Source::open(folder.path()), Err(TableError::MixedFormats { .. })));
}

#[test]
fn csv_files_may_have_marks_quotes_and_windows_lines() {
    let folder = folder();
    let file = write_csv(&folder, "t.csv", "\u{feff}x,\"a, b\"\r\n1,\"say \"\"so\"\"\"\r\n2,no\r\n");
    let columns = vec![
        Column::unscaled("x").expect("a name"),
        Column::categorical("a, b", ["no", "say \"so\""]).expect("levels"),
    ];
    let schema = Schema::new(None, columns).expect("a schema");
    assert_eq!(rows(&schema, &file).expect("two rows"), [[1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]);
}

/// Room for 8192 rows of a million fields would be 64 GB.
#[test]
fn files_with_a_million_columns_are_read_in_small_pieces() {
    let folder = folder();
    let commas = ",".repeat(1_000_000);
    let file = write_csv(&folder, "t.csv", &format!("x{commas}\n1{commas}\n2{commas}\n"));
    assert_eq!(
        rows(&one(Column::unscaled("x").expect("a name")), &file).expect("numbers").concat(),
        [1.0, 2.0]
    );
}

#[test]
fn batches_are_the_table_in_pieces() {
    let folder = folder();
    let text: String = (0..20_000).map(|k| format!("{k}\n")).collect();
    let file = write_csv(&folder, "t.csv", &format!("x\n{text}"));
    let schema = one(Column::unscaled("x").expect("a name"));
    let (encoder, source) = (Encoder::new(&schema).expect("no bounds"), Source::open(&file).expect("a file"));
    let (mut values, mut batches, mut count) = (Vec::new(), encoder.stream(&source), 0);
    while let Some(batch) = batches.next_batch().expect("numbers") {
        assert_eq!(batch.first_row(), values.len() as u64);
        values.extend_from_slice(batch.values());
        count += 1;
    }
    assert!(count > 1, "otherwise this tests nothing");
    assert_eq!(values, encoder.read(&source).expect("numbers").into_values());
}

#[test]
fn predictions_are_keyed_by_row() {
    let folder = folder();
    for name in ["p.csv", "p.parquet"] {
        let file = folder.path().join(name);
        let mut predictions = Predictions::create(&file, &["mean", "sd"]).expect("a folder");
        predictions.append(&[&[0.1, -2.5e-300], &[1.0, 3.0]]).expect("two rows");
        predictions.append(&[&[7.0], &[8.0]]).expect("one row");
        assert!(!file.exists(), "there is no half of a file");
        predictions.finish().expect("room");
        let schema = Schema::new(
            None,
            ["row", "mean", "sd"].map(|name| Column::unscaled(name).expect("a name")).to_vec(),
        );
        let read = rows(&schema.expect("a schema"), &file).expect("what was written");
        assert_eq!(read, [[0.0, 0.1, 1.0], [1.0, -2.5e-300, 3.0], [2.0, 7.0, 8.0]]);
    }
    assert!(Predictions::create(folder.path().join("p.txt"), &["mean"]).is_err());
    assert!(Predictions::create(folder.path().join("p.csv"), &["row"]).is_err());
    let mut predictions =
        Predictions::create(folder.path().join("q.csv"), &["mean", "sd"]).expect("a folder");
    assert!(predictions.append(&[&[1.0]]).is_err() && predictions.append(&[&[1.0], &[]]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A row is a function of its record: it does not matter which others are in the file.
    #[test]
    fn a_row_does_not_depend_on_the_others(
        values in prop::collection::vec(-1e6..1e6f64, 1..40),
        low in -1e6..0.0f64,
        high in 1.0..1e6f64,
    ) {
        let folder = folder();
        let schema = one(Column::numeric("x", low, high).expect("bounds"));
        let text = |values: &[f64]| values.iter().fold("x\n".to_owned(), |text, value| text + &format!("{value}\n"));
        let together = rows(&schema, &write_csv(&folder, "t.csv", &text(&values))).expect("numbers").concat();
        prop_assert_eq!(together.len(), values.len());
        for (value, encoded) in values.iter().zip(together) {
            let alone = rows(&schema, &write_csv(&folder, "one.csv", &text(&[*value]))).expect("a number").concat();
            prop_assert_eq!(alone[0].to_bits(), encoded.to_bits());
            prop_assert!((-1.0..=1.0).contains(&encoded));
        }
    }

    /// What a table says does not depend on the format it is written in.
    #[test]
    fn csv_and_parquet_give_the_same_rows(
        records in prop::collection::vec(
            (prop::option::of(-1e9..1e9f64), any::<bool>(), prop::option::of("[a-d ,\"\r]{1,4}")),
            1..30,
        ),
    ) {
        let folder = folder();
        let quoted = |text: &String| format!("\"{}\"", text.replace('"', "\"\""));
        let line = |(number, flag, text): &(Option<f64>, bool, Option<String>)| {
            let number = number.map_or(String::new(), |number| number.to_string());
            format!("{number},{flag},{}\n", text.as_ref().map_or(String::new(), quoted))
        };
        let text = records.iter().map(line).fold("n,b,t\n".to_owned(), |text, line| text + &line);
        let csv = write_csv(&folder, "t.csv", &text);
        let columns = vec![
            ("t", array(records.iter().map(|record| record.2.clone()).collect::<StringArray>())),
            ("n", array(records.iter().map(|record| record.0).collect::<Float64Array>())),
            ("b", array(BooleanArray::from_iter(records.iter().map(|record| Some(record.1))))),
        ];
        let parquet = write_parquet(&folder, "t.parquet", columns);
        let schema = Schema::parse(r#"features = [
            { name = "b", kind = "boolean" },
            { name = "n", kind = "numeric", bounds = [-5e8, 5e8], missing = 0.5 },
            { name = "t", kind = "categorical", levels = ["a", "b", " "], unknown = "other", missing = "none" },
        ]"#).expect("a schema");
        prop_assert_eq!(rows(&schema, &csv).expect("a table"), rows(&schema, &parquet).expect("a table"));
    }

    /// Decoding undoes encoding within the bounds, up to rounding of numbers as large as the bounds.
    #[test]
    fn decoding_undoes_encoding(low in -1e6..1e6f64, length in 1e-3..1e6f64, share in 0.0..=1.0f64) {
        let high = low + length;
        let target = Column::numeric("y", low, high).expect("bounds");
        let schema = Schema::new(Some(target), vec![Column::unscaled("x").expect("a name")]).expect("a schema");
        let folder = folder();
        let value = (low + share * length).min(high);
        let numbers = |value| array(Float64Array::from(vec![value]));
        let file = write_parquet(&folder, "t.parquet", vec![("x", numbers(0.0)), ("y", numbers(value))]);
        let encoded = rows(&schema, &file).expect("numbers")[0][1];
        let units = schema.target_units().expect("a numeric target");
        let scale = low.abs().max(high.abs());
        prop_assert!((units.decode(encoded) - value).abs() <= 8.0 * f64::EPSILON * scale);
        prop_assert!((units.decode_sd(2.0) - length).abs() <= 8.0 * f64::EPSILON * scale);
    }
}
