//! Output and failures of commands.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use reticent::{ErrorKind, visible};
use reticent_accounting::Error;
pub(crate) use reticent_accounting::rounded_up;
pub(crate) use reticent_report::text::{Lines, table};

use crate::flags::typed;

/// Prints a line for the person at the terminal.
pub(crate) fn notice(text: &str) {
    // Nothing is left to do if standard error is closed.
    let _ = writeln!(std::io::stderr(), "note: {}", visible::line(text));
}

/// Why a command failed: one sentence and a hint.
#[derive(Debug)]
pub struct Failure {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The exit code: 1 for what failed, 2 for bad usage.
    pub(crate) code: u8,
}

impl Failure {
    /// Bad usage.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()), code: 2 }
    }

    /// A failure for another reason.
    pub(crate) fn failed(message: impl Into<String>, hint: Option<String>) -> Self {
        Self { message: message.into(), hint, code: 1 }
    }

    /// An error of the library, whose text may end with what to do.
    pub(crate) fn from_error(error: &impl std::error::Error, usual_hint: &str) -> Self {
        let text = error.to_string();
        let (message, hint) = text.split_once("hint: ").unwrap_or((&text, usual_hint));
        Self::usage(typed(message.trim_end().trim_end_matches(';')), typed(hint))
    }

    /// Prints the sentence; the exit code is 1, or 2 for bad usage.
    pub(crate) fn report(&self) -> ExitCode {
        // Nothing is left to do if standard error is closed.
        let _ = writeln!(std::io::stderr(), "error: {self}");
        ExitCode::from(self.code)
    }
}

/// One line, and another with the hint. Names from files are part of it, so hidden characters are shown as their numbers.
impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&visible::line(&self.message))?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "\nhint: {}", visible::line(hint)))
    }
}

impl std::error::Error for Failure {}

impl From<reticent::Error> for Failure {
    fn from(error: reticent::Error) -> Self {
        let code = if error.kind() == ErrorKind::Settings { 2 } else { 1 };
        // Amounts are on lines of their own in the text of a refusal.
        let message = if error.kind() == ErrorKind::Budget {
            one_line(error.message())
        } else {
            error.message().to_owned()
        };
        Self { message: typed(&message), hint: error.hint().map(typed), code }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let hint = match &error {
            Error::Domain { name: "delta", .. } => {
                "delta is a small probability, well below 1/N, such as 1e-5"
            }
            Error::Domain { name: "noise multiplier", .. } => {
                "it is the noise's standard deviation over the sensitivity"
            }
            Error::Domain { name: "sampling rate", .. } => "it is the chance that a record is in a batch",
            Error::BatchTooLarge { .. } => "--batch must be at most --records",
            // These have a hint of their own.
            Error::Unsupported { .. } | Error::Unreachable { .. } => {
                "reticent account without --accountant lists what applies"
            }
            _ => "see --help for what each option means",
        };
        Self::usage(error.to_string(), hint)
    }
}

/// Lines as one: after the first a colon, between the others semicolons.
fn one_line(text: &str) -> String {
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    let first = lines.next().unwrap_or_default();
    let rest: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    if rest.is_empty() { first } else { format!("{first}: {}", rest.join("; ")) }
}

/// Prints a text: hidden characters but line breaks as their numbers.
pub(crate) fn print(text: &str) -> ExitCode {
    print_file(&visible::lines(text))
}

/// Prints a file that is meant for programs, as it is. A reader that has gone away, as in `reticent ... | head -1`, is no
/// error.
pub(crate) fn print_file(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

/// JSON, with a newline. Hidden characters in it are escaped.
pub(crate) fn json(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("numbers and strings are JSON");
    let mut text = visible::json(&text).into_owned();
    text.push('\n');
    text
}

/// The lower end of a bracket, rounded **down** to five decimals.
pub(crate) fn rounded_down(value: f64) -> String {
    format!("{:.5}", (value * 1e5).floor() / 1e5)
}

/// Makes the folder that files will go to, before the work that they are about.
pub(crate) fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| not_written(folder, &error))
}

/// Writes a file to a folder.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let file = folder.join(name);
    write_file(&file, text)
}

/// Writes a file that may be published: in full, or not at all.
pub(crate) fn write_file(file: &Path, text: &str) -> Result<(), Failure> {
    reticent_files::write(file, reticent_files::Access::Umask, text.as_bytes())
        .map_err(|error| not_written(file, &error))
}

pub(crate) fn not_written(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("{} cannot be written: {error}", path.display());
    Failure::failed(message, Some("choose a path that you may write to (--out)".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_one_line() {
        assert_eq!(
            one_line("too much\n  requested  epsilon 1\n  cap        epsilon 0.5\n"),
            "too much: requested epsilon 1; cap epsilon 0.5"
        );
        assert_eq!(one_line("no such data set"), "no such data set");
    }

    #[test]
    fn numbers_are_rounded_up() {
        assert_eq!(rounded_up(0.876_401), "0.87641");
        assert_eq!(rounded_up(1.0), "1.0000");
        assert_eq!(rounded_up(12.345_61), "12.346");
        assert_eq!(rounded_up(1.234_56e-9), "1.2346e-9");
        assert_eq!(rounded_up(f64::INFINITY), "inf");
        assert_eq!(rounded_down(0.876_359), "0.87635");
        for value in [0.1, 0.3, 2.0 / 3.0, 123.456_789] {
            assert!(rounded_up(value).parse::<f64>().unwrap() >= value * (1.0 - 1e-12));
        }
    }
}
