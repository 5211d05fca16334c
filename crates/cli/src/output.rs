//! What is printed, and what goes wrong.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use reticent_accounting::Error;

/// A command that did not work: one sentence and what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The exit code: 1 for what failed, 2 for bad usage.
    pub(crate) code: u8,
}

impl Failure {
    /// What was asked for makes no sense.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()), code: 2 }
    }

    /// What was asked for did not work.
    pub(crate) fn failed(message: impl Into<String>, hint: Option<String>) -> Self {
        Self { message: message.into(), hint, code: 1 }
    }

    /// The same failure of something other than the usage.
    pub(crate) fn not_usage(self) -> Self {
        Self { code: 1, ..self }
    }

    /// An error of the library, whose text may end with what to do.
    pub(crate) fn from_error(error: &impl std::error::Error, usual_hint: &str) -> Self {
        let text = error.to_string();
        let (message, hint) = text.split_once("hint: ").unwrap_or((&text, usual_hint));
        Self::usage(message.trim_end().trim_end_matches(';'), hint)
    }

    /// Prints the sentence; the exit code is 1, or 2 for bad usage.
    pub(crate) fn report(&self) -> ExitCode {
        let hint = self.hint.as_ref().map_or(String::new(), |hint| format!("\nhint: {hint}"));
        // Nothing is left to do if standard error is closed.
        let _ = writeln!(std::io::stderr(), "error: {}{hint}", self.message);
        ExitCode::from(self.code)
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
            // These say what to do themselves.
            Error::Unsupported { .. } | Error::Unreachable { .. } => {
                "reticent account without --accountant lists what applies"
            }
            _ => "see --help for what each option means",
        };
        Self::usage(error.to_string(), hint)
    }
}

/// Prints data. A reader that has gone away, as in `reticent ... | head -1`, is no error.
pub(crate) fn print(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

/// JSON, with a newline.
pub(crate) fn json(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("numbers and strings are JSON");
    text.push('\n');
    text
}

/// A number for people, rounded **up** to five significant digits: a privacy cost may not look smaller than it is.
pub(crate) fn rounded_up(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = 4 - value.abs().log10().floor() as i32;
    let unit = 10f64.powi(-digits);
    let rounded = (value / unit * (1.0 - 1e-15)).ceil() * unit;
    if (1e-4..1e6).contains(&rounded) {
        format!("{rounded:.*}", digits.max(0) as usize)
    } else {
        format!("{rounded:.4e}")
    }
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
    reticent_files::write(file, reticent_files::Access::Usual, text.as_bytes())
        .map_err(|error| not_written(file, &error))
}

pub(crate) fn not_written(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("{} cannot be written: {error}", path.display());
    Failure::failed(message, Some("name a place that you may write to with --out".to_owned()))
}

/// Left-aligned columns, two spaces apart.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:<width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

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
