//! Checks and benches: `cargo xtask test | deny | package | python | fuzz | bench | docs | picture | audit`.

mod audit;
mod bench;
mod deny;
mod docs;
mod fuzz;
mod package;
mod picture;
mod python;
mod test;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

const USAGE: &str = "\
cargo xtask test                        format, lints, docs, every test, the Python package, and a minute of fuzzing for each reader
cargo xtask deny                        licences, sources, banned and double dependencies
cargo xtask package                     whether the packages to be published are complete
cargo xtask python [--release]          the wheel, its types and its tests in a virtual environment; optimised, with a check of its size
cargo xtask fuzz --minutes M            fuzzes every reader for so long, or one with --reader R; --seed S repeats a search
cargo xtask bench accounting [--peers]  how fast the accountant is, alone or beside its peers
cargo xtask docs                        the documentation, with its formulas
cargo xtask picture                     fits anew and draws docs/picture.svg
cargo xtask audit [--short]             attacks on every model, more than half an hour; writes docs/audit.md unless --short";

/// What a task ends with: nothing, or what went wrong.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["test"] => test::run(),
        ["deny"] => deny::run(),
        ["package"] => package::run(),
        ["python"] => python::test(false),
        ["python", "--release"] => python::test(true),
        ["fuzz", ref rest @ ..] => fuzz::run(rest),
        ["bench", "accounting"] => bench::accounting(false),
        ["bench", "accounting", "--peers"] => bench::accounting(true),
        ["docs"] => docs::run(),
        ["picture"] => picture::draw(),
        ["audit"] => audit::run_all(false),
        ["audit", "--short"] => audit::run_all(true),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the workspace.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace").to_path_buf()
}

/// A command that starts in the root.
fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command to its end.
fn run(command: &mut Command) -> Outcome {
    let name = format!("{command:?}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name} ended with {status}")),
        Err(error) => Err(format!("{name} could not be started: {error}")),
    }
}
