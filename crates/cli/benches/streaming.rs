//! The most memory that `reticent fit` needs for a million and for ten million records of a Parquet file.
//!
//! The aims: less than 500 MB, and less than 10 % more for ten times the records. Resident memory is counted as the system counts it, all of
//! it: nothing is mapped from files but the program itself. Other numbers of records can be given as arguments.

#![allow(clippy::print_stdout, reason = "a bench reports")]

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

const INPUTS: usize = 20;
const MAX: f64 = 500.0;
const GROWTH: f64 = 1.1;
/// Asks for a file of records, and nothing else.
const WRITE: &str = "write";
/// Records that are written at a time.
const BLOCK: usize = 100_000;

/// Evenly distributed in [-1, 1) (Weyl's sequence, scrambled).
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed ^ (mixed >> 29)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn block(rows: usize, state: &mut u64) -> RecordBatch {
    let mut inputs: Vec<Vec<f64>> = (0..INPUTS).map(|_| Vec::with_capacity(rows)).collect();
    let (mut targets, mut classes) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    for _ in 0..rows {
        let mut score = 0.3 * uniform(state);
        for (k, column) in inputs.iter_mut().enumerate() {
            let x = uniform(state);
            score += x * (k as f64 + 1.0) / 100.0;
            column.push(x);
        }
        targets.push(score.clamp(-1.0, 1.0));
        classes.push(score > 0.0);
    }
    let inputs = inputs.into_iter().map(Float64Array::from).enumerate();
    let columns = inputs.map(|(k, x)| (format!("x{k}"), Arc::new(x) as ArrayRef)).chain([
        ("y".to_owned(), Arc::new(Float64Array::from(targets)) as ArrayRef),
        ("class".to_owned(), Arc::new(BooleanArray::from(classes)) as ArrayRef),
    ]);
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

fn write(file: &Path, rows: usize) {
    let mut state = 1;
    let mut left = rows;
    let mut next = || {
        let size = left.min(BLOCK);
        left -= size;
        (size > 0).then(|| block(size, &mut state))
    };
    let first = next().expect("at least one record");
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    let to = File::create(file).expect("room");
    let mut writer = ArrowWriter::try_new(to, first.schema(), Some(properties)).expect("a writer");
    writer.write(&first).expect("room");
    while let Some(block) = next() {
        writer.write(&block).expect("room");
    }
    writer.close().expect("room");
}

fn schema(target: &str) -> String {
    let inputs =
        (0..INPUTS).map(|k| format!("{{ name = \"x{k}\", kind = \"numeric\", bounds = [-1, 1] }},\n"));
    format!("target = {target}\nfeatures = [\n{}]\n", inputs.collect::<String>())
}

/// Megabytes at most, and seconds.
#[allow(clippy::zombie_processes, reason = "wait4 waits for it, and says what it used")]
fn fit(folder: &Path, model: &str) -> (f64, f64) {
    let path = |name: &str| folder.join(name).display().to_string();
    let start = Instant::now();
    let child = Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(["fit", model, "--data", &path("t.parquet"), "--schema", &path(&format!("{model}.toml"))])
        .args(["--epsilon", "1", "--delta", "1e-9", "--quiet", "--force", "--out", &path("m.reticent")])
        .stdin(Stdio::null())
        .spawn()
        .expect("it runs");
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: the child is ours and has not been waited for; both places are valid to write to.
    let ended = unsafe { libc::wait4(child.id() as libc::pid_t, &mut status, 0, usage.as_mut_ptr()) };
    assert!(ended > 0 && status == 0, "the fit failed");
    // SAFETY: zeroed, and written by wait4: a struct of numbers either way.
    let kilobytes = unsafe { usage.assume_init() }.ru_maxrss as f64;
    (kilobytes / 1024.0, start.elapsed().as_secs_f64())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, file, rows] = &arguments[..]
        && word == WRITE
    {
        return write(Path::new(file), rows.parse().expect("a number"));
    }
    let given: Vec<usize> = std::env::args().skip(1).filter_map(|given| given.parse().ok()).collect();
    let sizes = if given.is_empty() { vec![1_000_000, 10_000_000] } else { given };
    let folder = tempfile::tempdir().expect("room for a folder");
    for (model, target) in [
        ("linear", "{ name = \"y\", kind = \"numeric\", bounds = [-1, 1] }"),
        ("logistic", "{ name = \"class\", kind = \"boolean\" }"),
    ] {
        std::fs::write(folder.path().join(format!("{model}.toml")), schema(target)).expect("room");
    }
    let mut before = [None; 2];
    for rows in sizes {
        let file = folder.path().join("t.parquet");
        // By another process: the system counts what this one has used as used by its children too.
        let writer = std::env::current_exe().expect("it has a path");
        let written = Command::new(writer).arg(WRITE).arg(&file).arg(rows.to_string()).status();
        assert!(written.expect("it runs").success(), "no room");
        let size = file.metadata().expect("it was written").len() as f64 / 1e6;
        for (model, before) in ["linear", "logistic"].into_iter().zip(&mut before) {
            let (peak, seconds) = fit(folder.path(), model);
            let growth = before.map_or(1.0, |before: f64| peak / before);
            let met = if peak < MAX && growth < GROWTH { "met" } else { "MISSED" };
            println!(
                "{model:<8} {rows:>9} records x {INPUTS}, {size:5.0} MB of Parquet: {peak:4.0} MB at most (aim {MAX:.0}), \
                 x {growth:.2} (aim {GROWTH}), {seconds:.1} s: {met}"
            );
            *before = Some(peak);
        }
    }
}
