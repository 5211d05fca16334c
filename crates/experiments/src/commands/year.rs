//! `reticent-experiments year`

use std::path::PathBuf;

use reticent_experiments::table::digits;
use reticent_experiments::year::{BATCH, DELTA, EPSILON, HIDDEN, INPUTS, Measured, RECORDS, measure, steps};

use super::check_minimum;
use super::output::{self, Failure, write};
use super::progress::Progress;

/// Time and memory of DP-SEP on a network at the size of the Year data set.
#[derive(clap::Args)]
#[command(after_help = "\
The records are generated. All 40 passes take ten minutes or more on two cores; a part of a pass is enough to extrapolate from.

Example:
  reticent-experiments year --passes 0.05")]
pub(super) struct Args {
    /// Passes over the records, or a part of one.
    #[arg(long, default_value_t = 40.0, allow_negative_numbers = true)]
    passes: f64,
    /// Records.
    #[arg(long, default_value_t = RECORDS)]
    records: usize,
    /// Write year.json to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<String, Failure> {
    check_minimum("--records", args.records, BATCH)?;
    if !(args.passes > 0.0 && args.passes.is_finite()) {
        let message = format!("--passes must be positive and finite, not {}", args.passes);
        return Err(Failure::usage(message, "use a number such as 0.05"));
    }
    args.out.as_deref().map_or(Ok(()), output::make_folder)?;
    let progress = Progress::new("hundredths", 100);
    let found = measure(args.records, steps(args.records, args.passes), |done| progress.show(done))?;
    drop(progress);
    let document = output::json(&found);
    if let Some(folder) = &args.out {
        write(folder, "year.json", &document)?;
    }
    Ok(if args.json { document } else { shown(&found) })
}

fn shown(found: &Measured) -> String {
    let megabytes = |bytes: u64| format!("{} MB", digits(bytes as f64 / 1e6, 4));
    let peak = found.peak_beyond_records.map_or("not known here".to_owned(), megabytes);
    format!(
        "DP-SEP on a network of {HIDDEN} hidden units: {} generated records of {INPUTS} inputs, batches of {BATCH}, epsilon {EPSILON},\n\
         delta {DELTA:e}, replace-one. What is measured is time and memory; nothing is learnt with steps as small as these.\n\n\
         steps              {} (noise multiplier {})\n\
         planning           {} s\n\
         the steps          {} s on {} threads, {} ms each\n\
         all of Year        {} steps of 40 passes: {} s at this rate\n\
         the records        {}\n\
         peak beyond them   {peak}\n",
        found.records,
        found.steps,
        digits(found.noise_multiplier, 4),
        digits(found.seconds_to_plan, 3),
        digits(found.seconds, 3),
        std::thread::available_parallelism().map_or(1, usize::from),
        digits(1e3 * found.seconds / found.steps as f64, 3),
        found.steps_of_year,
        digits(found.seconds_of_year, 3),
        megabytes(found.record_bytes),
    )
}
