//! Public data sets, where they are at hand: in `../shared/data` beside the checkout, or where `RETICENT_DATA` points.

use std::path::PathBuf;

use reticent_tables::{Check, Column, Encoder, Found, Kind, Origin, Schema, Source};

fn data(file: &str) -> Option<Source> {
    let folder = std::env::var_os("RETICENT_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join(file);
    if !path.exists() {
        eprintln!("skipped: {file} is not here");
        return None;
    }
    Some(Source::open(path).expect("a Parquet file"))
}

fn regression(features: usize) -> Schema {
    let features = (0..features).map(|k| Column::unscaled(format!("x{k}")).expect("a name")).collect();
    Schema::new(Some(Column::unscaled("y").expect("a name")), features).expect("a schema")
}

/// Rows, columns, and the mean and deviation of y as the data sets' description gives them, to its digits.
#[test]
fn benchmark_sets_have_their_published_moments() {
    let sets =
        [("uci_kin8nm.parquet", 8192, 8, 0.7143, 0.2636), ("uci_protein.parquet", 45_730, 9, 7.749, 6.118)];
    for (file, records, features, mean, sd) in sets {
        let Some(source) = data(file) else { continue };
        let schema = regression(features);
        let table = Encoder::new(&schema).expect("no private bounds").read(&source).expect("numbers");
        assert_eq!((table.rows().len(), table.width()), (records, features + 1));
        let moments = schema.assuming_public_moments(table.rows()).expect("rows");
        let units = moments.target_units().expect("a numeric target");
        assert!((units.centre / mean - 1.0).abs() < 1e-4, "{file}: {}", units.centre);
        assert!((units.unit / sd - 1.0).abs() < 2e-4, "{file}: {}", units.unit);
        assert_eq!(moments.target().map(Column::origin), Some(Origin::AssumedPublic));

        // Standardised, every column has mean 0 and deviation 1.
        let again = Encoder::new(&moments).expect("moments are known").read(&source).expect("numbers");
        for k in 0..=features {
            let values = || again.rows().map(|row| row[k]);
            let n = records as f64;
            assert!((values().sum::<f64>() / n).abs() < 1e-9);
            assert!((values().map(|v| v * v).sum::<f64>() / n - 1.0).abs() < 1e-9);
        }
    }
}

/// 48,842 records of 16 columns; 45,222 have no missing value; 23.93 % earn more than 50K.
#[test]
fn adult_is_read_with_its_missing_values() {
    let Some(source) = data("adult.parquet") else { return };
    let columns = source.columns().expect("a Parquet file");
    assert_eq!(columns.len(), 16);
    assert!(columns.iter().any(|column| column.found == Some(Found::Texts)));

    let schema = Schema::from_data_assuming_public(&source, Some("income")).expect("numbers and short texts");
    assert_eq!(schema.features().len(), 15);
    assert!(!schema.assumptions().is_empty());
    assert_eq!(Schema::parse(&schema.to_toml()).expect("it was written by us"), schema);

    let encoder = Encoder::new(&schema).expect("bounds are known");
    let names = schema.encoded_names();
    assert_eq!(names.len(), encoder.width());
    let missing: Vec<usize> = (0..names.len()).filter(|&k| names[k].ends_with("=missing")).collect();
    assert!(!missing.is_empty());

    let (mut records, mut complete, mut rich) = (0, 0, 0);
    let mut batches = encoder.stream(&source);
    while let Some(batch) = batches.next_batch().expect("the schema is that of the file") {
        assert_eq!(batch.first_row(), records);
        for row in batch.rows() {
            records += 1;
            complete += usize::from(missing.iter().all(|&k| row[k] == 0.0));
            rich += usize::from(row[encoder.feature_width()] == 1.0);
            assert!(row.iter().all(|value| (-1.0..=1.0).contains(value)));
        }
    }
    assert_eq!((records, complete), (48_842, 45_222));
    assert!((rich as f64 / records as f64 - 0.2393).abs() < 5e-5);
}

/// 48,842 less 45,222 records have a missing value; without a rule it counts as the first level.
#[test]
fn adult_needs_no_rule_for_missing_values() {
    let Some(source) = data("adult.parquet") else { return };
    let schema = Schema::from_data_assuming_public(&source, None).expect("numbers and short texts");
    let bare = schema.features().iter().map(|column| match column.kind() {
        Kind::Categorical { levels, .. } => {
            Column::categorical(column.name(), levels.clone()).expect("levels")
        }
        _ => column.clone(),
    });
    let bare = Schema::new(None, bare.collect()).expect("a schema");
    let table = Encoder::new(&bare).expect("bounds are known").read(&source).expect("no value is an error");
    assert_eq!(table.rows().len(), 48_842);
    let check = Check::new(&bare, &source).expect("a file");
    let most = check.columns.iter().map(|column| column.missing.count).max();
    let all: u64 = check.columns.iter().map(|column| column.missing.count).sum();
    assert!(most <= Some(48_842 - 45_222) && all >= 48_842 - 45_222, "{most:?} {all}");
    assert!(check.columns.iter().all(|column| column.unknown.count + column.malformed.count == 0));
}

/// 906,750 entries: 90 % and 10 % of 20 splits (5 for protein) of five sets. Each split holds each row once.
#[test]
fn splits_partition_the_rows() {
    let Some(source) = data("uci_splits.parquet") else { return };
    let schema = Schema::from_data_assuming_public(&source, None).expect("numbers and short texts");
    let table = Encoder::new(&schema.unscaled()).expect("no private bounds").read(&source).expect("splits");
    assert_eq!(table.rows().len(), 906_750);
    let names = schema.encoded_names();
    let place =
        |name: &str| names.iter().position(|known| known == name).unwrap_or_else(|| panic!("{names:?}"));
    let (kin8nm, split, row) = (place("dataset=kin8nm"), place("split"), place("row"));
    let mut rows: Vec<usize> = table
        .rows()
        .filter(|entry| entry[kin8nm] == 1.0 && entry[split] == 0.0)
        .map(|entry| entry[row] as usize)
        .collect();
    rows.sort_unstable();
    assert_eq!(rows, (0..8192).collect::<Vec<_>>());
}
