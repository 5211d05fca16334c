//! `reticent._core.accounting`: what releases cost.
//!
//! Events come as lists of `(release, times)`, where a release is an object with the attributes of [`PyRelease`]; costs go out as tuples. Numbers
//! are priced without the interpreter lock.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::types::PyType;
use reticent_accounting::{
    Adjacency, Error, Event, Mechanism, Method, Sampling, account, account_delta, calibrate,
};

/// What releases cost.
#[pymodule]
pub(crate) mod accounting {
    #[pymodule_export]
    use super::{cost, delta, noise_multiplier, rounded_up, steps};
}

/// How the records of a release are chosen.
#[derive(FromPyObject)]
struct PySampling {
    scheme: String,
    rate: f64,
    batch: u64,
    records: u64,
}

/// One release.
#[derive(FromPyObject)]
struct PyRelease {
    mechanism: String,
    parameter: f64,
    sampling: Option<PySampling>,
}

type Releases = Vec<(PyRelease, u64)>;

/// Epsilon at `delta`: its upper and its lower bound, and the accountant that computed it.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted by value")]
fn cost(
    py: Python<'_>,
    releases: Releases,
    adjacency: &str,
    delta: f64,
    method: &str,
) -> PyResult<(f64, f64, &'static str)> {
    let (event, adjacency, method) =
        (event(py, &releases)?, neighbours(py, adjacency)?, accountant(py, method)?);
    let cost = without_lock(py, || account(&event, adjacency, delta, method))?;
    Ok((cost.epsilon.upper, cost.epsilon.lower, cost.method.name()))
}

/// Delta at `epsilon`: its upper and its lower bound.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted by value")]
fn delta(
    py: Python<'_>,
    releases: Releases,
    adjacency: &str,
    epsilon: f64,
    method: &str,
) -> PyResult<(f64, f64)> {
    let (event, adjacency, method) =
        (event(py, &releases)?, neighbours(py, adjacency)?, accountant(py, method)?);
    let delta = without_lock(py, || account_delta(&event, adjacency, epsilon, method))?;
    Ok((delta.upper, delta.lower))
}

/// The smallest noise multiplier at which the releases that `releases_at` returns cost at most `epsilon`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted by value")]
fn noise_multiplier(
    py: Python<'_>,
    releases_at: Py<PyAny>,
    adjacency: &str,
    epsilon: f64,
    delta: f64,
    method: &str,
) -> PyResult<f64> {
    let (adjacency, method) = (neighbours(py, adjacency)?, accountant(py, method)?);
    let mut raised = None;
    let noise = without_lock(py, || {
        let failure = RefCell::new(None);
        let event_at = |noise: f64| {
            let answer =
                Python::attach(|py| event(py, &releases_at.call1(py, (noise,))?.extract::<Releases>(py)?));
            answer.unwrap_or_else(|error| {
                failure.replace(Some(error));
                // Not a valid event, so the search ends here.
                Event::gaussian(f64::NAN, Sampling::None)
            })
        };
        let noise = calibrate::noise_multiplier(event_at, adjacency, epsilon, delta, method);
        raised = failure.into_inner();
        noise
    });
    raised.map_or(noise, Err)
}

/// The largest number of repetitions that cost at most `epsilon` at `delta`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments are extracted by value")]
fn steps(
    py: Python<'_>,
    releases: Releases,
    adjacency: &str,
    epsilon: f64,
    delta: f64,
    method: &str,
) -> PyResult<u64> {
    let (event, adjacency, method) =
        (event(py, &releases)?, neighbours(py, adjacency)?, accountant(py, method)?);
    without_lock(py, || calibrate::steps(&event, adjacency, epsilon, delta, method))
}

/// Five significant digits, rounded up.
#[pyfunction]
fn rounded_up(value: f64) -> String {
    reticent_accounting::rounded_up(value)
}

/// The result of `price`, which other threads of Python need not wait for.
fn without_lock<T: Send>(py: Python<'_>, price: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    // A panic would end programs that catch `Exception` only.
    let result = py.detach(|| catch_unwind(AssertUnwindSafe(price)));
    match result {
        Ok(result) => result.map_err(|error| raise(py, &error)),
        Err(_) => {
            let message = "the parameters of the event are too extreme for this accountant";
            Err(exception(py, "AccountingError", message.to_owned()))
        }
    }
}

fn event(py: Python<'_>, releases: &Releases) -> PyResult<Event> {
    let parts = releases.iter().map(|(release, times)| Ok(release_event(py, release)?.repeat(*times)));
    Ok(Event::Compose(parts.collect::<PyResult<_>>()?))
}

fn release_event(py: Python<'_>, release: &PyRelease) -> PyResult<Event> {
    let &PyRelease { parameter, .. } = release;
    let mechanism = match release.mechanism.as_str() {
        "gaussian" => Mechanism::Gaussian { noise_multiplier: parameter },
        "laplace" => Mechanism::Laplace { noise_multiplier: parameter },
        "pure" => Mechanism::Pure { epsilon: parameter },
        "bounded_range" => Mechanism::BoundedRange { epsilon: parameter },
        other => return Err(argument_error(py, format!("there is no mechanism called {other:?}"))),
    };
    let sampling = match &release.sampling {
        None => Sampling::None,
        Some(PySampling { scheme, rate, batch, records }) => match scheme.as_str() {
            "poisson" => Sampling::Poisson { rate: *rate },
            "fixed" => Sampling::Fixed { batch: *batch, records: *records },
            "shuffled" => Sampling::Pass,
            other => return Err(argument_error(py, format!("there is no sampling called {other:?}"))),
        },
    };
    Ok(Event::release(mechanism, sampling))
}

fn neighbours(py: Python<'_>, name: &str) -> PyResult<Adjacency> {
    match name {
        "add-remove" => Ok(Adjacency::AddRemove),
        "replace-one" => Ok(Adjacency::ReplaceOne),
        other => Err(argument_error(py, format!("there is no adjacency called {other:?}"))),
    }
}

fn accountant(py: Python<'_>, name: &str) -> PyResult<Method> {
    name.parse().map_err(|error| argument_error(py, format!("{error}")))
}

/// The exception of Python for an error of the accountants.
fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error {
        Error::Unsupported { .. } => "UnsupportedError",
        Error::Unreachable { .. } => "UnreachableError",
        _ => "ArgumentError",
    };
    exception(py, name, error.to_string())
}

fn argument_error(py: Python<'_>, message: String) -> PyErr {
    exception(py, "ArgumentError", message)
}

/// An exception of `reticent.accounting`.
fn exception(py: Python<'_>, name: &str, message: String) -> PyErr {
    let class = py.import("reticent.accounting").and_then(|module| module.getattr(name));
    class
        .and_then(|class| Ok(class.cast_into::<PyType>()?))
        .map_or_else(|error| error, |class| PyErr::from_type(class, message))
}
