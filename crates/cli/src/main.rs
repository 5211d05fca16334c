//! The `reticent` command.

fn main() -> std::process::ExitCode {
    reticent_cli::main()
}
