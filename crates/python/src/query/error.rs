//! Errors of the library as exceptions.

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use reticent::{Error, ErrorKind};

/// The exception for an error of the library: of `reticent._errors`, or of Python if the package has none.
///
/// # Privacy
/// Errors of the library contain no value of a record, and those of anything else are not passed on.
pub(super) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let (class, builtin): (_, fn(String) -> PyErr) = match error.kind() {
        ErrorKind::Budget => ("BudgetError", PyRuntimeError::new_err),
        ErrorKind::Schema => ("SchemaError", PyValueError::new_err),
        ErrorKind::Data => ("DataError", PyValueError::new_err),
        ErrorKind::Settings => ("SettingsError", PyValueError::new_err),
        ErrorKind::Stopped => ("Stopped", PyRuntimeError::new_err),
        ErrorKind::Io => ("FileError", PyOSError::new_err),
        _ => ("ReticentError", PyRuntimeError::new_err),
    };
    let typed = |text: &str| text.replace("::", ".");
    let (message, hint) = (typed(error.message()), error.hint().map(typed));
    let whole = hint.as_ref().map_or_else(|| message.clone(), |hint| format!("{message}\nhint: {hint}"));
    let made = py.import("reticent._errors").and_then(|errors| errors.getattr(class));
    let made = made.and_then(|class| class.call1((message, hint)));
    made.map_or_else(|_| builtin(whole), PyErr::from_value)
}

/// Results of the library for Python.
pub(super) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Into<Error>> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, &error.into()))
    }
}
