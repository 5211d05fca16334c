//! `reticent check`

use std::path::PathBuf;

use reticent::{Check, Error};
use reticent_report::text;
use serde_json::json;

use crate::data::{self, LayoutArgs};
use crate::output::{self, Failure};

/// Count the values of a data set that its schema does not allow. Not private.
#[derive(clap::Args)]
#[command(after_help = "\
A fit takes every value: what is missing, malformed, out of bounds or not listed counts as the schema states, and a line
that does not parse is a record of missing values. This command finds them before a fit. State bounds and levels from
what is publicly known, not from what this prints.

Example:
  reticent check --data people.csv --schema schema.toml")]
pub(crate) struct Args {
    /// The records, CSV or Parquet: a file, a folder, a pattern, or - for CSV from standard input.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// What is publicly known about them.
    #[arg(long, value_name = "FILE")]
    schema: PathBuf,
    #[command(flatten)]
    layout: LayoutArgs,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let schema = data::schema(&args.schema)?;
    let source = data::source(&args.data, args.layout.over(schema.layout()))?;
    let check = Check::new(&schema, &source).map_err(Error::from)?;
    if args.json {
        let mut value = serde_json::to_value(&check).expect("numbers and texts are JSON");
        value["note"] = json!(text::CHECK_NOTE);
        return Ok(output::json(&value));
    }
    Ok(text::check(&check, &source))
}
