//! `reticent schema`

use std::path::PathBuf;

use reticent::{Error, Layout, Schema};

use crate::data::{self, LayoutArgs};
use crate::output::{Failure, write_file};

/// Write a schema to fill in, from the names and types of a file's columns.
#[derive(clap::Args)]
#[command(after_help = "\
No record is read, so bounds and levels are left for you to fill in from what is publicly known.
With --assume-public they are read from the data: then you declare them public, and every
receipt of a fit with this schema states that.

Example:
  reticent schema --from people.csv --target income > schema.toml")]
pub(crate) struct Args {
    /// CSV or Parquet: a file, a folder, a pattern such as 'data/*.parquet', or - for CSV from standard input.
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    #[command(flatten)]
    layout: LayoutArgs,
    /// The column that is to be predicted.
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,
    /// NOT PRIVATE: read bounds and levels from the data.
    #[arg(long)]
    assume_public: bool,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file that --out names, which somebody may have filled in.
    #[arg(long, requires = "out")]
    force: bool,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    if let Some(file) = args.out.as_ref().filter(|file| !args.force && file.symlink_metadata().is_ok()) {
        let message = format!("{} already exists, and somebody may have filled it in", file.display());
        let hint = "choose another --out, or replace the file with --force";
        return Err(Failure::failed(message, Some(hint.to_owned())));
    }
    let source = data::source(&args.from, args.layout.over(Layout::default()))?;
    let target = args.target.as_deref();
    let text = if args.assume_public {
        let schema = Schema::from_data_assuming_public(&source, target).map_err(Error::from)?;
        let lines = schema.assumptions().into_iter().map(|line| format!("# {line}\n"));
        lines.collect::<String>() + &schema.to_toml()
    } else {
        Schema::template_for(&source.columns().map_err(Error::from)?, target, source.layout())
            .map_err(Error::from)?
    };
    match &args.out {
        None => Ok(text),
        Some(file) => {
            write_file(file, &text)?;
            let next =
                if args.assume_public { "read it before you fit" } else { "fill in bounds and levels" };
            Ok(format!("{}: {next}\n", file.display()))
        }
    }
}
