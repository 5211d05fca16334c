//! `reticent-experiments memory`

use std::path::PathBuf;
use std::process::Command;

use clap::ValueEnum;
use reticent_experiments::error::ExperimentError;
use reticent_experiments::figure::{Scale, Series, lines};
use reticent_experiments::memory::{COMPONENTS, DIMENSION, Engine, STEPS, peak, size_of_records, work};
use reticent_experiments::table::{Table, digits};
use serde_json::json;

use super::output::{self, Failure, write};
use super::progress::Progress;
use super::{check_minimum, write_all};

/// Memory of SEP and EP by number of records (Linux only).
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  reticent-experiments memory --records 1000 --records 20000")]
pub(super) struct Args {
    /// A number of records; may be given several times.
    #[arg(long, default_values_t = [1_000, 10_000, 100_000, 1_000_000])]
    records: Vec<usize>,
    /// Write memory.csv, memory.json and memory.svg to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// One measurement.
#[derive(clap::Args)]
pub(super) struct OneArgs {
    #[arg(long, value_enum)]
    engine: Name,
    #[arg(long)]
    records: usize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    Sep,
    Ep,
}

impl Name {
    fn word(self) -> &'static str {
        match self {
            Self::Sep => "sep",
            Self::Ep => "ep",
        }
    }
}

/// Prints the peak of this process less the records, in bytes.
pub(super) fn one(args: &OneArgs) -> Result<String, Failure> {
    let engine = match args.engine {
        Name::Sep => Engine::Sep,
        Name::Ep => Engine::Ep,
    };
    work(engine, args.records)?;
    let peak = peak().ok_or_else(only_on_linux)?;
    Ok(format!("{}\n", peak.saturating_sub(size_of_records(args.records))))
}

pub(super) fn run(args: &Args) -> Result<String, Failure> {
    if peak().is_none() {
        return Err(only_on_linux());
    }
    for &records in &args.records {
        check_minimum("--records", records, 2)?;
    }
    args.out.as_deref().map_or(Ok(()), output::make_folder)?;
    let progress = Progress::new("measurements", 2 * args.records.len());
    let mut rows = Vec::new();
    for &records in &args.records {
        let sep = measure(Name::Sep, records)?;
        progress.show(2 * rows.len() + 1);
        let ep = measure(Name::Ep, records)?;
        rows.push((records, sep, ep));
        progress.show(2 * rows.len());
    }
    drop(progress);
    let document = json!({
        "what": "peak memory of a process beyond its records, in bytes",
        "rows": rows.iter().map(|(records, sep, ep)| json!({
            "records": records, "records_bytes": size_of_records(*records), "sep": sep, "ep": ep,
        })).collect::<Vec<_>>(),
    });
    if let Some(folder) = &args.out {
        let series = |name: &str, of: fn(&(usize, u64, u64)) -> u64| {
            Series::new(name, rows.iter().map(|row| (row.0 as f64, megabytes(of(row)))).collect())
        };
        let both = [series("SEP: one site", |row| row.1), series("EP: a site per record", |row| row.2)];
        let x = ("records", Scale::Logarithmic);
        let y = ("peak memory beyond the records, MB", Scale::Logarithmic);
        write(folder, "memory.svg", &lines("Peak memory of a process, by number of records", x, y, &both))?;
    }
    let (shown, exact) = tables(&rows)?;
    write_all(args.out.as_deref(), "memory", &exact.to_csv(), &document)?;
    if args.json {
        return Ok(output::json(&document));
    }
    Ok(format!(
        "Peak memory of a whole process beyond its records, in MB (10^6 bytes), each measured in a process of its own:\n\
         a mixture of {COMPONENTS} components in {DIMENSION} dimensions with full covariances; the program itself is included\n\n\
         SEP   DP-SEP through the wall, one record a step, {STEPS} steps: one site for all records\n\
         EP    one pass: a site for each record\n\n{}",
        shown.to_text()
    ))
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

fn tables(rows: &[(usize, u64, u64)]) -> Result<(Table, Table), ExperimentError> {
    let columns = ["records", "the records", "SEP", "EP"];
    let (mut shown, mut exact) =
        (Table::new(&columns), Table::new(&["records", "records_bytes", "sep", "ep"]));
    for &(records, sep, ep) in rows {
        let bytes = [size_of_records(records), sep, ep];
        let mut cells = vec![records.to_string()];
        cells.extend(bytes.map(|bytes| digits(megabytes(bytes), 3)));
        shown.push(cells.iter().map(|cell| cell.as_str().into()).collect())?;
        let mut cells = vec![(records as f64).into()];
        cells.extend(bytes.map(|bytes| (bytes as f64).into()));
        exact.push(cells)?;
    }
    Ok((shown, exact))
}

/// Runs this program as a child process, since the peak of a process cannot be reset.
fn measure(engine: Name, records: usize) -> Result<u64, Failure> {
    let failed = |why: String| {
        let message = format!("{} of {records} records could not be measured: {why}", engine.word());
        Failure::usage(message, "there may be too little memory; try fewer --records")
    };
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let output = Command::new(program)
        .args(["memory-of", "--engine", engine.word(), "--records", &records.to_string()])
        .output()
        .map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| failed(output.status.to_string()))
}

fn only_on_linux() -> Failure {
    Failure::usage("peak memory can only be measured on Linux", "run it in a Linux container")
}
