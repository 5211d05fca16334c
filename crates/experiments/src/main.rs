//! The `reticent-experiments` command: reproduce published experiments on simulated or public data.
//!
//! Standard output is data, standard error is for people; 0 is success, 1 a failure, 2 bad usage. The commands show what
//! methods do. They see the records in the clear, and protect nobody.

mod commands;

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::main()
}
