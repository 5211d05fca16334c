//! A private release of the counts of a million records against reading them: ratios of times, taken in turns in one run.
//!
//! `cargo bench --package reticent-tables --bench counts`. The aim is that reading, the release and the posterior together take at most 1.5
//! times as long as reading alone.

#![allow(clippy::print_stdout, reason = "a bench reports")]

use std::fs::File;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::model::conjugate::CategoricalPlan;
use reticent_core::model::conjugate::ConjugatePlan as _;
use reticent_core::wall::{NoiseSource, Records};
use reticent_tables::{Column, Encoder, Schema, Source, Table};

const RECORDS: usize = 1_000_000;
const REPEATS: usize = 5;
const COLUMNS: usize = 4;
const LEVELS: usize = 8;
/// The time of a release beside that of reading.
const AIM: f64 = 1.5;

/// A level that looks random.
fn level(row: usize, column: usize) -> usize {
    let mixed = (row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ (column as u64 + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
    (mixed.wrapping_mul(0xff51_afd7_ed55_8ccd) >> 40) as usize % LEVELS
}

fn write(folder: &Path, format: &str) -> (PathBuf, Schema) {
    let levels: Vec<String> = (0..LEVELS).map(|level| format!("category {level}")).collect();
    let names: Vec<String> = (0..COLUMNS).map(|column| format!("c{column}")).collect();
    let column = |k: usize| {
        let values = (0..RECORDS).map(|row| levels[level(row, k)].as_str());
        Arc::new(StringArray::from_iter_values(values)) as ArrayRef
    };
    let columns = names.iter().enumerate().map(|(k, name)| (name.as_str(), column(k)));
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let file = folder.join(format!("counts.{format}"));
    if format == "csv" {
        arrow_csv::Writer::new(File::create(&file).expect("room")).write(&batch).expect("room");
    } else {
        let mut writer =
            ArrowWriter::try_new(File::create(&file).expect("room"), batch.schema(), None).expect("texts");
        writer.write(&batch).expect("room");
        writer.close().expect("room");
    }
    let features = names.iter().map(|name| Column::categorical(name, levels.clone()).expect("levels"));
    (file, Schema::new(None, features.collect()).expect("a schema"))
}

fn read(file: &Path, schema: &Schema) -> Table {
    let source = Source::open(file).expect("a file");
    Encoder::new(schema).expect("levels").read(&source).expect("the schema is that of the file")
}

fn released(file: &Path, schema: &Schema, privacy: &Privacy) {
    let table = read(file, schema);
    let width = table.width();
    let records = Records::new(table.into_values(), width).expect("whole rows");
    let plan = CategoricalPlan::new(vec![LEVELS; COLUMNS], 1.0, RECORDS, privacy).expect("a plan");
    let source = NoiseSource::from_os().expect("entropy");
    black_box(plan.fit(records, source, Some(privacy), Box::new(Unlimited)).expect("a release"));
}

fn main() {
    let folder = tempfile::tempdir().expect("room for a folder");
    let privacy = Privacy::new(1.0, 1e-9, Adjacency::ReplaceOne).expect("a budget");
    for format in ["parquet", "csv"] {
        let (file, schema) = write(folder.path(), format);
        let mut min = (f64::INFINITY, f64::INFINITY);
        for _ in 0..REPEATS {
            let start = Instant::now();
            black_box(read(&file, &schema));
            min.0 = min.0.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            released(&file, &schema, &privacy);
            min.1 = min.1.min(start.elapsed().as_secs_f64());
        }
        let ratio = min.1 / min.0;
        println!(
            "{format:<8} read {:.0} ms, read and released {:.0} ms, ratio {ratio:.2} (aim {AIM}) {}",
            1e3 * min.0,
            1e3 * min.1,
            if ratio <= AIM { "met" } else { "MISSED" }
        );
    }
}
