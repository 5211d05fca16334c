//! `reticent completions` and `reticent man`: made from the same description as `--help`.

use std::path::PathBuf;

use clap::CommandFactory as _;

use crate::output::{Failure, make_folder, not_written};

/// Print completions for a shell.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  reticent completions bash > reticent.bash")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub(crate) fn completions(args: &CompletionsArgs) -> Result<String, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "reticent", &mut text);
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Write manual pages.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  reticent man --out man1")]
pub(crate) struct ManArgs {
    /// The folder that they go to.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn pages(args: &ManArgs) -> Result<String, Failure> {
    make_folder(&args.out)?;
    clap_mangen::generate_to(crate::Cli::command(), &args.out)
        .map_err(|error| not_written(&args.out, &error))?;
    Ok(format!("{}: manual pages\n", args.out.display()))
}
