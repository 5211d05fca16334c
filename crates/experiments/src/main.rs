//! The `reticent-experiments` command: reproduce published experiments on simulated or public data.
//!
//! Standard output is data, standard error is for people; exit codes are 0 (success), 1 (failure) and 2 (bad usage). The commands
//! measure methods on simulated or public data and give no privacy.

mod commands;

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::main()
}
