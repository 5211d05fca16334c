//! Errors of the library as exceptions of `reticent._errors`.

use pyo3::prelude::*;
use reticent::{Error, ErrorKind};

/// The exception for an error of the library.
///
/// # Privacy
/// Errors of the library contain no value of a record, and those of anything else are not passed on.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let class = match error.kind() {
        ErrorKind::Budget => "BudgetError",
        ErrorKind::Schema => "SchemaError",
        ErrorKind::Data => "DataError",
        ErrorKind::Settings => "SettingsError",
        ErrorKind::Stopped => "Stopped",
        ErrorKind::Io => "FileError",
        _ => "ReticentError",
    };
    let message = typed(error.message());
    let hint = error.hint().map(typed);
    let made = py
        .import("reticent._errors")
        .and_then(|errors| errors.getattr(class))
        .and_then(|class| class.call1((message, hint)));
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// Functions and options of the library as those of this package: `setting` noise-sd=VALUE is `noise_sd=VALUE` here.
fn typed(text: &str) -> String {
    let text = text
        .replace("::", ".")
        .replace("`without_privacy`", "`epsilon=None`")
        .replace("`Fit`", "the estimator")
        .replace("`Evaluation`", "`evaluate`");
    let Some((before, rest)) = text.split_once("`setting` ") else { return text };
    let (name, rest) = rest.split_once('=').unwrap_or((rest, ""));
    format!("{before}`{}=`{rest}", name.replace('-', "_"))
}

/// A request that cannot be met, in a sentence with a hint.
pub(crate) fn settings(py: Python<'_>, message: &str, hint: &str) -> PyErr {
    let made = py
        .import("reticent._errors")
        .and_then(|errors| errors.getattr("SettingsError"))
        .and_then(|class| class.call1((message, hint)));
    made.map_or_else(|failed| failed, PyErr::from_value)
}

/// Results of the library for Python.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Into<Error>> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, &error.into()))
    }
}

/// Anything as JSON, which the package parses.
pub(crate) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}
