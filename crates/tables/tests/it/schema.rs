//! Schemas as files.

use proptest::prelude::*;
use reticent_tables::{
    Column, ColumnFault, Declared, Delimiter, Encoder, Found, Kind, Layout, Missing, Origin, Scale, Schema,
    SchemaError, Source, TableError,
};

use crate::tables::{folder, rows, write_csv};

const VALID: &str = r#"
description = "Visits"
target = { name = "stay", kind = "numeric", bounds = [0, 60], unit = "days", description = "length of stay" }
features = [
    { name = "age", kind = "numeric", bounds = [0, 110], missing = 50 },
    { name = "dose", kind = "numeric", mean = 1.5, sd = 0.5 },
    { name = "cost", kind = "numeric", bounds = "private", within = [-10, 1e6] },
    { name = "emergency", kind = "boolean", missing = false },
    { name = "ward", kind = "categorical", levels = ["A", "B"], unknown = "other", missing = "missing" },
    { name = "note", kind = "text", vocabulary = ["pain", "fever"], missing = "" },
]
"#;

fn schema() -> Schema {
    Schema::parse(VALID).expect("a schema")
}

#[test]
fn a_schema_survives_toml_and_json() {
    let schema = schema();
    assert_eq!(Schema::parse(&schema.to_toml()).expect("our own text"), schema);
    let json = serde_json::to_string(&schema).expect("texts and numbers");
    assert_eq!(serde_json::from_str::<Schema>(&json).expect("our own text"), schema);
    assert_eq!(schema.features()[4].levels(), ["A", "B", "other", "missing"]);
    assert_eq!(schema.target().and_then(Column::unit), Some("days"));
    assert_eq!(schema.assumptions(), Vec::<String>::new());
}

#[test]
fn mistakes_are_named() {
    let column = |entry: &str| Schema::parse(&format!("features = [{{ name = \"a\", {entry} }}]"));
    let fault = |entry: &str| match column(entry).expect_err(entry) {
        SchemaError::Column { fault, .. } => fault,
        other => panic!("{entry}: {other}"),
    };
    assert_eq!(fault(r#"kind = "numeric""#), ColumnFault::NoScale);
    assert_eq!(fault(r#"kind = "numeric", mean = 1"#), ColumnFault::NoScale);
    assert_eq!(fault(r#"kind = "numeric", bounds = [1, 1]"#), ColumnFault::Bounds);
    assert_eq!(fault(r#"kind = "numeric", bounds = [2, 1]"#), ColumnFault::Bounds);
    assert_eq!(fault(r#"kind = "numeric", bounds = [0, inf]"#), ColumnFault::Bounds);
    assert_eq!(fault(r#"kind = "numeric", bounds = [nan, 1]"#), ColumnFault::Bounds);
    assert_eq!(fault(r#"kind = "numeric", bounds = [0, 1], sd = 1"#), ColumnFault::TwoScales);
    assert_eq!(fault(r#"kind = "numeric", mean = 0, sd = 0"#), ColumnFault::Moments);
    assert_eq!(fault(r#"kind = "numeric", bounds = "private""#), ColumnFault::Within);
    assert_eq!(fault(r#"kind = "numeric", bounds = "private", within = [1, 0]"#), ColumnFault::Within);
    assert_eq!(
        fault(r#"kind = "numeric", bounds = "private", within = [-1e308, 1e308]"#),
        ColumnFault::Within
    );
    assert_eq!(fault(r#"kind = "numeric", bounds = [0, 1], within = [0, 1]"#), ColumnFault::NotPrivate);
    assert_eq!(fault(r#"kind = "numeric", bounds = [0, 1], missing = 2"#), ColumnFault::MissingOutside);
    assert!(matches!(
        fault(r#"kind = "numeric", bounds = [0, 1], missing = "x""#),
        ColumnFault::MissingKind { .. }
    ));
    assert!(matches!(
        fault(r#"kind = "boolean", levels = ["a"]"#),
        ColumnFault::Misplaced { key: "levels", .. }
    ));
    assert!(matches!(
        fault(r#"kind = "text", bounds = [0, 1]"#),
        ColumnFault::Misplaced { key: "bounds", .. }
    ));
    assert_eq!(fault(r#"kind = "categorical""#), ColumnFault::NoLevels);
    assert_eq!(fault(r#"kind = "categorical", levels = []"#), ColumnFault::NoLevels);
    assert_eq!(fault(r#"kind = "categorical", levels = ["a", "a"]"#), ColumnFault::RepeatedLevel);
    assert_eq!(fault(r#"kind = "categorical", levels = ["a", ""]"#), ColumnFault::EmptyLevel);
    assert_eq!(fault(r#"kind = "text""#), ColumnFault::NoWords);
    assert_eq!(
        fault(r#"kind = "text", vocabulary = ["ok", "Two words"]"#),
        ColumnFault::NotAWord { entry: 2 }
    );
    assert_eq!(fault(r#"kind = "text", vocabulary = ["a", "a"]"#), ColumnFault::RepeatedWord);
    assert!(matches!(column(r#"kind = "numeric", bound = [0, 1]"#), Err(SchemaError::Shape { .. })));
    assert!(matches!(column(r#"kind = "numerical", bounds = [0, 1]"#), Err(SchemaError::Shape { .. })));
    assert!(matches!(column(r#"kind = "numeric", bounds = "secret""#), Err(SchemaError::Shape { .. })));
    assert!(matches!(Schema::parse("features = []"), Err(SchemaError::NoFeatures)));
    assert!(matches!(Schema::parse("features = []\nfeature = []"), Err(SchemaError::Shape { .. })));
    let twice = r#"target = { name = "a", kind = "boolean" }
        features = [{ name = "a", kind = "boolean" }]"#;
    assert!(matches!(Schema::parse(twice), Err(SchemaError::Repeated { .. })));
    let text = r#"target = { name = "t", kind = "text", vocabulary = ["a"] }
        features = [{ name = "a", kind = "boolean" }]"#;
    assert!(matches!(Schema::parse(text), Err(SchemaError::Column { fault: ColumnFault::TextTarget, .. })));
}

#[test]
fn missing_values_can_have_a_column_or_a_level_of_their_own() {
    let schema = Schema::parse(
        r#"features = [
            { name = "age", kind = "numeric", bounds = [0, 100], missing = "indicator" },
            { name = "member", kind = "boolean", missing = "indicator" },
            { name = "work", kind = "categorical", levels = ["A", "B"], missing = "level" },
            { name = "floor", kind = "categorical", levels = ["ground", "level"], missing = "level" },
        ]"#,
    )
    .expect("a schema");
    let names = ["age", "age=missing", "member", "member=missing", "work=A", "work=B", "work=missing"];
    assert_eq!(schema.encoded_names()[..7], names);
    assert_eq!(schema.features()[3].levels(), ["ground", "level"], "a level of that name is meant");
    assert_eq!(Schema::parse(&schema.to_toml()).expect("our own text"), schema);
    let widths: Vec<usize> = schema.features().iter().flat_map(Column::input_widths).collect();
    assert_eq!(widths, [1, 1, 1, 1, 3, 2]);
    assert_eq!(widths.iter().sum::<usize>(), Encoder::new(&schema).expect("bounds").width());
    let target = r#"target = { name = "y", kind = "boolean", missing = "indicator" }
        features = [{ name = "a", kind = "boolean" }]"#;
    assert!(matches!(
        Schema::parse(target),
        Err(SchemaError::Column { fault: ColumnFault::TargetIndicator, .. })
    ));
    let level = r#"features = [{ name = "a", kind = "boolean", missing = "level" }]"#;
    assert!(matches!(
        Schema::parse(level),
        Err(SchemaError::Column { fault: ColumnFault::MissingKind { .. }, .. })
    ));
}

/// The receipt states what stands for values that are not there.
#[test]
fn the_rules_for_values_are_stated_in_words() {
    let rules = schema().value_rules().join("\n");
    for part in [
        "numbers outside the bounds count as the nearer bound (age, stay)",
        "missing and malformed ones count as the middle of the range (dose, cost)",
        "missing and malformed ones of age count as 50",
        "missing and malformed ones of emergency count as false",
        "missing ones of ward count as \"missing\", unlisted ones as \"other\"",
        "a record without stay contributes nothing",
    ] {
        assert!(rules.contains(part), "{part}: {rules}");
    }
}

#[test]
fn a_layout_is_part_of_the_schema() {
    let text = |file: &str| format!("file = {file}\nfeatures = [{{ name = \"a\", kind = \"boolean\" }}]");
    let layout = |file: &str| Schema::parse(&text(file)).expect("a layout").layout();
    assert_eq!(layout("{ delimiter = \";\" }").delimiter, Some(Delimiter::Semicolon));
    assert_eq!(layout("{ delimiter = \"\\t\" }").delimiter, Some(Delimiter::Tab));
    assert_eq!(layout("{ gzip = true }"), Layout { gzip: Some(true), ..Layout::default() });
    assert!(Schema::parse(&text("{ delimiter = \"|\" }")).is_err());
    let schema = Schema::parse(&text("{ delimiter = \"tab\", quoted_newlines = true }")).expect("a layout");
    assert_eq!(Schema::parse(&schema.to_toml()).expect("our own text"), schema);
    let json = serde_json::to_value(&schema).expect("texts");
    assert_eq!(serde_json::from_value::<Schema>(json).expect("our own text"), schema);
    assert!(schema.assumptions()[0].contains("newlines"), "{:?}", schema.assumptions());
}

#[test]
fn a_data_file_given_as_schema_is_not_quoted() {
    let error = Schema::parse("name,age\nSECRETVALUE,987654.321\n").expect_err("not TOML");
    assert!(matches!(error, SchemaError::NotToml { line: 1, .. }));
    assert!(!error.to_string().contains("SECRET") && !format!("{error:?}").contains("name,age"));
}

#[test]
fn private_bounds_are_set_once_estimated() {
    let schema = schema();
    let private: Vec<_> = schema.private_bounds().map(|(column, within)| (column.name(), within)).collect();
    assert_eq!(private, [("cost", (-10.0, 1e6))]);
    let from = schema.private_bounds_schema().expect("one column");
    let kind = Kind::Numeric { scale: Scale::UNSCALED, missing: Missing::Absent };
    assert_eq!(from.features(), [Column::new("cost", kind).expect("a name")]);
    assert!(matches!(Encoder::new(&schema), Err(TableError::NoBounds { .. })));
    assert!(Encoder::new(&schema.unscaled()).is_ok(), "they are estimated from the column as it is");
    assert!(matches!(schema.with_private_bounds("age", 0.0, 1.0), Err(SchemaError::Column { .. })));
    assert!(matches!(schema.with_private_bounds("costs", 0.0, 1.0), Err(SchemaError::NoColumn { .. })));
    assert!(matches!(schema.with_private_bounds("cost", 1.0, 0.0), Err(SchemaError::Column { .. })));
    let estimated = schema.with_private_bounds("cost", 0.0, 1e4).expect("bounds");
    assert!(Encoder::new(&estimated).is_ok() && estimated.private_bounds().next().is_none());
    assert_eq!(estimated.features()[2].origin(), Origin::Estimated);
    // What a missing one counts as was stated before the bounds were known.
    let entry = r#"features = [{ name = "a", kind = "numeric", bounds = "private", within = [0, 1000], missing = 50 }]"#;
    let estimated_below =
        Schema::parse(entry).expect("a schema").with_private_bounds("a", 0.0, 40.0).expect("bounds");
    let kind = Kind::Numeric { scale: Scale::Bounds { low: 0.0, high: 40.0 }, missing: Missing::Value(40.0) };
    assert_eq!(estimated_below.features()[0].kind(), &kind);
    assert_eq!(Schema::parse(&estimated.to_toml()).expect("our own text"), estimated);
}

#[test]
fn a_template_does_not_depend_on_the_records() {
    let folder = folder();
    let template = |text: &str| {
        let source = Source::open(write_csv(&folder, "t.csv", text)).expect("a file");
        Schema::template(&source.columns().expect("a header"), Some("y")).expect("a target")
    };
    let one = template("x,y\n1,2\n");
    assert_eq!(one, template("x,y\nSECRETVALUE,987654.321\n\"\n"));
    assert!(one.contains("name = \"x\"") && one.contains("target = { name = \"y\""));
    // It cannot be used as it is, and can once it is filled in.
    assert!(matches!(Schema::parse(&one), Err(SchemaError::Shape { .. })));
    let schema = Schema::parse(&one.replace("bounds = []", "bounds = [0, 1]")).expect("filled in");
    assert_eq!(schema.features().len(), 1);
}

#[test]
fn a_template_knows_the_types_of_parquet_columns() {
    let declared = |name: &str, found| Declared { name: name.into(), found: Some(found) };
    let columns = [
        declared("n", Found::Integers),
        declared("odd \"name\"", Found::Texts),
        declared("b", Found::Booleans),
        declared("d", Found::Other),
    ];
    let text = Schema::template(&columns, None).expect("no target");
    let filled = text.replace("bounds = []", "bounds = [0, 1]").replace("levels = []", "levels = [\"a\"]");
    let schema = Schema::parse(&filled).expect("filled in");
    let kinds: Vec<&str> = schema.features().iter().map(Column::name).collect();
    assert_eq!(kinds, ["n", "odd \"name\"", "b"]);
    assert!(matches!(schema.features()[2].kind(), Kind::Boolean { .. }));
    assert!(matches!(Schema::template(&columns, Some("z")), Err(TableError::NoTarget { .. })));
}

#[test]
fn what_is_read_from_the_data_is_marked() {
    let folder = folder();
    let file = write_csv(&folder, "t.csv", "n,c,k,b,y\n1,red,5,yes,0\n3,,5,no,1\n2,blue,5,no,1\n");
    let source = Source::open(&file).expect("a file");
    let schema = Schema::from_data_assuming_public(&source, Some("y")).expect("short columns");
    let scale = |column: &Column| match column.kind() {
        Kind::Numeric { scale, .. } => *scale,
        other => panic!("{other:?}"),
    };
    assert_eq!(scale(&schema.features()[0]), Scale::Bounds { low: 1.0, high: 3.0 });
    assert_eq!(scale(&schema.features()[2]), Scale::Bounds { low: 0.0, high: 10.0 }, "a constant gets room");
    assert_eq!(schema.features()[1].levels(), ["blue", "red", "missing"]);
    assert!(matches!(schema.features()[3].kind(), Kind::Boolean { .. }));
    assert!(schema.columns().all(|column| column.origin() == Origin::AssumedPublic));
    let sentences = schema.assumptions().join("\n");
    assert!(
        sentences.contains("the bounds of n, k, y") && sentences.contains("the levels of c"),
        "{sentences}"
    );
    assert_eq!(Schema::parse(&schema.to_toml()).expect("our own text"), schema);
    assert_eq!(rows(&schema, &file).expect("its own data")[0], [-1.0, 0.0, 1.0, 0.0, 0.0, 1.0, -1.0]);
}

#[test]
fn moments_of_training_rows_are_marked() {
    let features = ["a", "b"].map(|name| Column::numeric(name, 0.0, 1.0).expect("bounds"));
    let schema = Schema::new(None, features.to_vec()).expect("a schema");
    // Mean 3 and population deviation 2 (numpy's default) for a; b is constant.
    let rows = [[1.0, 7.0], [5.0, 7.0]];
    let learnt = schema.assuming_public_moments(rows.iter().map(|row| row.as_slice())).expect("rows");
    let kinds: Vec<&Kind> = learnt.features().iter().map(Column::kind).collect();
    let moments = |mean, sd| Kind::Numeric { scale: Scale::Moments { mean, sd }, missing: Missing::Unstated };
    assert_eq!(kinds, [&moments(3.0, 2.0), &moments(7.0, 1.0)]);
    assert!(learnt.assumptions()[0].contains("the mean and deviation of a, b"));
    let bounded = schema.assuming_public_bounds(rows.iter().map(|row| row.as_slice())).expect("rows");
    assert!(bounded.assumptions()[0].contains("the bounds of a, b"));
    assert!(matches!(schema.assuming_public_moments([]), Err(SchemaError::NoRows)));
    assert!(matches!(schema.assuming_public_moments([[1.0].as_slice()]), Err(SchemaError::Width { .. })));
}

fn any_column() -> impl Strategy<Value = Column> {
    let text = "[ -~\u{e9}\n]{1,8}";
    let numeric =
        (-1e9..0.0f64, 1e-3..1e9f64, prop::option::of(0.0..=1.0f64)).prop_map(|(low, high, share)| {
            let missing = share.map_or(Missing::Indicator, |share| {
                Missing::Value((low + share * (high - low)).clamp(low, high))
            });
            Kind::Numeric { scale: Scale::Bounds { low, high }, missing }
        });
    let moments = (-1e9..1e9f64, 1e-9..1e9f64).prop_map(|(mean, sd)| Kind::Numeric {
        scale: Scale::Moments { mean, sd },
        missing: Missing::Unstated,
    });
    let categorical =
        (prop::collection::btree_set(text, 2..5), prop::option::of(text), prop::option::of(text)).prop_map(
            |(levels, unknown, missing)| Kind::Categorical {
                levels: levels.into_iter().collect(),
                unknown,
                missing,
            },
        );
    let words = prop::collection::btree_set("[a-z]{1,5}", 1..5)
        .prop_map(|words| Kind::Text { vocabulary: words.into_iter().collect(), missing: None });
    let boolean = prop::option::of(any::<bool>())
        .prop_map(|missing| Kind::Boolean { missing: missing.map_or(Missing::Unstated, Missing::Value) });
    (text, prop_oneof![numeric, moments, categorical, words, boolean], prop::option::of(text)).prop_map(
        |(name, kind, unit)| {
            let column = Column::new(name, kind).expect("facts that make sense");
            if let Some(unit) = unit { column.with_unit(unit) } else { column }
        },
    )
}

proptest! {
    /// Whatever is a schema survives TOML and JSON, to the last bit of its numbers.
    #[test]
    fn any_schema_survives(columns in prop::collection::vec(any_column(), 1..6), description in "\\PC*") {
        let Ok(schema) = Schema::new(None, columns) else { return Ok(()) };
        let schema = schema.with_description(description);
        prop_assert_eq!(&Schema::parse(&schema.to_toml()).expect("our own text"), &schema);
        let json = serde_json::to_value(&schema).expect("texts and numbers");
        prop_assert_eq!(&serde_json::from_value::<Schema>(json).expect("our own text"), &schema);
        let width = Encoder::new(&schema).expect("no private bounds").width();
        prop_assert_eq!(schema.encoded_names().len(), width);
    }
}
