//! Reading and encoding against arrow's readers alone, which only decode: ratios of times, taken in turns in one run.
//!
//! `cargo bench --package reticent-tables`. The aim is half of arrow's speed or more for numbers, booleans and levels. There is
//! none for texts: finding and counting words is work that arrow's readers do not begin.

#![allow(clippy::print_stdout, reason = "a bench reports")]

use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use reticent_tables::{Column, Encoder, Kind, Missing, Schema, Source};

const RECORDS: usize = 200_000;
const REPEATS: usize = 9;
const LEVELS: usize = 20;
const WORDS: [&str; 8] = ["pain", "fever", "chest", "cough", "night", "acute", "mild", "left"];
/// The share of arrow's speed that is promised.
const AIM: f64 = 0.5;

/// A number in [0, 1) that looks random.
fn hash(row: usize, column: usize) -> f64 {
    let mixed = (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (column as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
    (mixed.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 11) as f64 / (1u64 << 53) as f64
}

/// Measurements with three decimals.
fn measured(column: usize) -> ArrayRef {
    let value = |row| (hash(row, column) * 1e6).round() / 1e3;
    Arc::new(Float64Array::from_iter_values((0..RECORDS).map(value)))
}

fn numbers() -> (RecordBatch, Schema) {
    let names: Vec<String> = (0..20).map(|column| format!("x{column}")).collect();
    let columns = names.iter().enumerate().map(|(k, name)| (name.as_str(), measured(k)));
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let features = names.iter().map(|name| Column::numeric(name, 0.0, 1000.0).expect("bounds"));
    (batch, Schema::new(None, features.collect()).expect("a schema"))
}

fn mixed() -> (RecordBatch, Schema) {
    let levels: Vec<String> = (0..LEVELS).map(|level| format!("category {level}")).collect();
    let level = |column: usize| {
        let value = |row| levels[(hash(row, column) * LEVELS as f64) as usize].as_str();
        Arc::new(StringArray::from_iter_values((0..RECORDS).map(value))) as ArrayRef
    };
    let flags = BooleanArray::from_iter((0..RECORDS).map(|row| Some(hash(row, 30) < 0.5)));
    let counts = Int64Array::from_iter_values((0..RECORDS).map(|row| (hash(row, 31) * 100.0) as i64));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", measured(0)),
        ("b", measured(1)),
        ("c", measured(2)),
        ("d", measured(3)),
        ("count", Arc::new(counts)),
        ("flag", Arc::new(flags)),
        ("ward", level(40)),
        ("code", level(41)),
    ];
    let features = vec![
        Column::numeric("a", 0.0, 1000.0),
        Column::numeric("b", 0.0, 1000.0),
        Column::numeric("c", 0.0, 1000.0),
        Column::numeric("d", 0.0, 1000.0),
        Column::numeric("count", 0.0, 100.0),
        Column::new("flag", Kind::Boolean { missing: Missing::Unstated }),
        Column::categorical("ward", levels.clone()),
        Column::categorical("code", levels.clone()),
    ];
    let features = features.into_iter().map(|column| column.expect("facts that make sense")).collect();
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    (batch, Schema::new(None, features).expect("a schema"))
}

fn notes() -> (RecordBatch, Schema) {
    let note = |row: usize| {
        let word = |k: usize| WORDS[(hash(row, 50 + k) * WORDS.len() as f64) as usize];
        // Notes are hardly ever the same text twice.
        format!("{} in the {}, {} since visit {row}", word(0), word(1), word(2))
    };
    let notes = Arc::new(StringArray::from_iter_values((0..RECORDS).map(note))) as ArrayRef;
    let batch =
        RecordBatch::try_from_iter([("a", measured(0)), ("note", notes)]).expect("columns of one length");
    let vocabulary = WORDS.map(str::to_owned).to_vec();
    let note = Column::new("note", Kind::Text { vocabulary, missing: None }).expect("words");
    let features = vec![Column::numeric("a", 0.0, 1000.0).expect("bounds"), note];
    (batch, Schema::new(None, features).expect("a schema"))
}

fn write(folder: &Path, name: &str, batch: &RecordBatch) -> (PathBuf, PathBuf) {
    let (csv, parquet) = (folder.join(format!("{name}.csv")), folder.join(format!("{name}.parquet")));
    let mut writer = arrow_csv::Writer::new(File::create(&csv).expect("room"));
    writer.write(batch).expect("room");
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let file = File::create(&parquet).expect("room");
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("these types can be written");
    writer.write(batch).expect("room");
    writer.close().expect("room");
    (csv, parquet)
}

/// Arrow's reader of CSV, given the types.
fn arrow_csv_alone(path: &Path, batch: &RecordBatch) {
    let file = BufReader::with_capacity(1 << 18, File::open(path).expect("a file"));
    let builder = arrow_csv::ReaderBuilder::new(batch.schema()).with_header(true).with_batch_size(8192);
    for batch in builder.build_buffered(file).expect("a CSV file") {
        black_box(batch.expect("a batch"));
    }
}

/// Arrow's reader of Parquet.
fn parquet_alone(path: &Path) {
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(File::open(path).expect("a file")).expect("a Parquet file");
    for batch in builder.with_batch_size(8192).build().expect("a reader") {
        black_box(batch.expect("a batch"));
    }
}

fn encoded(path: &Path, schema: &Schema) {
    let (encoder, source) = (Encoder::new(schema).expect("bounds"), Source::open(path).expect("a file"));
    let mut batches = encoder.stream(&source);
    while let Some(batch) = batches.next_batch().expect("the schema is that of the file") {
        black_box(batch.values());
    }
}

/// The minimum seconds of each of two calls, taken in turns.
fn interleaved(mut a: impl FnMut(), mut b: impl FnMut()) -> (f64, f64) {
    let mut min = (f64::INFINITY, f64::INFINITY);
    for _ in 0..REPEATS {
        let start = Instant::now();
        a();
        min.0 = min.0.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        b();
        min.1 = min.1.min(start.elapsed().as_secs_f64());
    }
    min
}

fn report(what: &str, aim: Option<f64>, (alone, ours): (f64, f64)) {
    let rate = |seconds: f64| RECORDS as f64 / seconds / 1e6;
    let verdict = match aim {
        Some(aim) if alone / ours >= aim => format!("(aim {aim}) met"),
        Some(aim) => format!("(aim {aim}) MISSED"),
        None => "(no aim)".to_owned(),
    };
    println!(
        "{what:<24} arrow alone {:6.2} M records/s, read and encoded {:6.2}, ratio {:.2} {verdict}",
        rate(alone),
        rate(ours),
        alone / ours,
    );
}

fn main() {
    let folder = tempfile::tempdir().expect("room for a folder");
    let aim = Some(AIM);
    for (name, aim, (batch, schema)) in
        [("20 numbers", aim, numbers()), ("8 mixed columns", aim, mixed()), ("notes", None, notes())]
    {
        let (csv, parquet) = write(folder.path(), name, &batch);
        let times = interleaved(|| arrow_csv_alone(&csv, &batch), || encoded(&csv, &schema));
        report(&format!("{name}, CSV"), aim, times);
        let times = interleaved(|| parquet_alone(&parquet), || encoded(&parquet, &schema));
        report(&format!("{name}, Parquet"), aim, times);
    }
}
