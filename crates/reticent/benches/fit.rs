//! CPU seconds of a fit to record batches in memory, for `python/benches/speed.py` to compare with:
//! `cargo bench -p reticent --bench fit -- FILE.parquet SCHEMA.toml MODEL REPETITIONS`. Prints the least of the repetitions.

#![allow(clippy::print_stdout, reason = "a bench shows its result")]

use std::fs::File;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use reticent::arrow::RecordBatch;
use reticent::{Adjacency, Fit, Privacy, Schema};

/// CPU seconds of all threads of this process.
fn seconds() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call fills the structure, which is valid when it is zero.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let time = |time: libc::timeval| time.tv_sec as f64 + 1e-6 * time.tv_usec as f64;
    time(usage.ru_utime) + time(usage.ru_stime)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [file, schema, model, repetitions] = &words[..] else {
        println!("fit: give FILE.parquet SCHEMA.toml MODEL REPETITIONS");
        return Ok(());
    };
    let schema = Schema::load(schema)?;
    let batches = ParquetRecordBatchReaderBuilder::try_new(File::open(file)?)?.build()?;
    let batches: Vec<RecordBatch> = batches.collect::<Result<_, _>>()?;
    let mut least = f64::INFINITY;
    for _ in 0..repetitions.parse::<u32>()? {
        let begin = seconds();
        Fit::new(model, &schema)?
            .privacy(Privacy::new(1.0, 1e-8, Adjacency::ReplaceOne)?)
            .run(batches.clone())?;
        least = least.min(seconds() - begin);
    }
    println!("{least}");
    Ok(())
}
