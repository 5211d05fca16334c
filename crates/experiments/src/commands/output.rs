//! Output and failures of commands.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

/// A failed command: a message and a hint.
#[derive(Debug)]
pub(super) struct Failure {
    message: String,
    hint: Option<String>,
    /// The exit code: 1 for what failed, 2 for bad usage.
    code: u8,
}

impl Failure {
    /// Invalid arguments.
    pub(super) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()), code: 2 }
    }

    /// The same failure with exit code 1, for failures other than of the usage.
    pub(super) fn not_usage(self) -> Self {
        Self { code: 1, ..self }
    }

    /// A failure from an error of the library, whose message may end with a hint.
    pub(super) fn from_error(error: &impl std::error::Error, default_hint: &str) -> Self {
        let text = error.to_string();
        let (message, hint) = text.split_once("hint: ").unwrap_or((&text, default_hint));
        Self::usage(message.trim_end().trim_end_matches(';'), hint)
    }

    /// Prints message and hint, and returns the exit code.
    pub(super) fn report(&self) -> ExitCode {
        let hint = self.hint.as_ref().map_or(String::new(), |hint| format!("\nhint: {hint}"));
        // A closed standard error is ignored.
        let _ = writeln!(std::io::stderr(), "error: {}{hint}", self.message);
        ExitCode::from(self.code)
    }
}

/// Prints a text. A closed pipe, as in `reticent-experiments ... | head -1`, is no error.
pub(super) fn print(text: &str) -> ExitCode {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

/// JSON, with a newline.
pub(super) fn json(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("numbers and strings are JSON");
    text + "\n"
}

/// Creates the folder of the results before the work begins.
pub(super) fn make_folder(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| not_written(folder, &error))
}

/// Writes a file to a folder.
pub(super) fn write(folder: &Path, name: &str, text: &str) -> Result<(), Failure> {
    let file = folder.join(name);
    std::fs::write(&file, text).map_err(|error| not_written(&file, &error))
}

/// Writes the CSV and the JSON file of an experiment, if there is a folder for them.
pub(super) fn write_all(
    folder: Option<&Path>,
    name: &str,
    csv: &str,
    document: &serde_json::Value,
) -> Result<(), Failure> {
    let Some(folder) = folder else { return Ok(()) };
    write(folder, &format!("{name}.csv"), csv)?;
    write(folder, &format!("{name}.json"), &json(document))
}

fn not_written(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("{} cannot be written: {error}", path.display());
    Failure::usage(message, "name a place that you may write to with --out").not_usage()
}
