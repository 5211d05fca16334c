//! A run of user-defined queries: the wall, what it is charged to, and the thread that calls Python.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyList;
use reticent::{Cancel, Contributions, Custom, CustomRun, Privacy};
use reticent_core::wall::{Released, SumId};

use super::plan::Written;
use crate::error::{OrRaise, settings};
use crate::schema::{Schema, data};

/// How long Python waits before it looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// Bytes of the stack of the thread that calls Python, of which none is used beforehand. A row that recurses has to meet the limit of Python before its end.
const STACK: usize = 64 << 20;

/// The values of a release, the standard deviations of their noise, the expected size of the batch, and the number of the release.
type Values<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, f64, u64);

/// Records behind a wall, and the releases that a plan allows.
///
/// # Privacy
/// Python cannot take the records out again: there is no accessor, no copy and no pickle of it.
#[pyclass(frozen, module = "reticent._core.query")]
pub(crate) struct Run {
    run: Mutex<Option<CustomRun>>,
    ids: Vec<SumId>,
    cancel: Cancel,
    /// Names of the numbers of a row, if they have any.
    names: Vec<String>,
    width: usize,
}

/// Where the cost of a run goes: a budget of epsilon and delta, or none, and a data set of a ledger.
type Budget = (Option<(f64, f64)>, Option<(PathBuf, String)>);

/// A run of a plan, and its groups.
fn custom(
    py: Python<'_>,
    plan: &str,
    (budget, ledger): Budget,
    cancel: &Cancel,
) -> PyResult<(Custom, Vec<SumId>)> {
    let plan = Written::read(py, plan)?;
    let (built, ids) = plan.stated().or_raise(py)?;
    let custom = Custom::new(built).cancelled_by(cancel);
    let custom = match budget {
        Some((epsilon, delta)) => custom.privacy(Privacy::new(epsilon, delta, plan.adjacency).or_raise(py)?),
        None => custom.without_privacy(),
    };
    let custom = match ledger {
        Some((file, data_set)) => custom.ledger(file, data_set),
        None => custom,
    };
    Ok((custom, ids))
}

#[pymethods]
impl Run {
    /// Rows of numbers.
    #[staticmethod]
    fn of_rows(
        py: Python<'_>,
        rows: PyReadonlyArray2<'_, f64>,
        plan: &str,
        budget: Option<(f64, f64)>,
        ledger: Option<(PathBuf, String)>,
    ) -> PyResult<Self> {
        let cancel = Cancel::new();
        let (custom, ids) = custom(py, plan, (budget, ledger), &cancel)?;
        let width = rows.shape()[1];
        let values: Vec<f64> = rows.as_array().iter().copied().collect();
        drop(rows);
        let run = py.detach(|| custom.begin_rows(values, width)).or_raise(py)?;
        Ok(Self { run: Mutex::new(Some(run)), ids, cancel, names: Vec::new(), width })
    }

    /// A table, or a path, encoded by a schema.
    #[staticmethod]
    fn of_table(
        py: Python<'_>,
        table: &Bound<'_, PyAny>,
        schema: &Schema,
        plan: &str,
        budget: Option<(f64, f64)>,
        ledger: Option<(PathBuf, String)>,
    ) -> PyResult<Self> {
        let cancel = Cancel::new();
        let (custom, ids) = custom(py, plan, (budget, ledger), &cancel)?;
        let (data, schema) = (data(table)?, &schema.schema);
        let run = py.detach(|| custom.begin(data, schema)).or_raise(py)?;
        let names = schema.encoded_names();
        Ok(Self { run: Mutex::new(Some(run)), ids, cancel, width: names.len(), names })
    }

    /// Names of the numbers of a row; none for rows of numbers.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// Numbers in a row.
    #[getter]
    fn width(&self) -> usize {
        self.width
    }

    /// The guarantee of the whole plan in words.
    #[getter]
    fn guarantee(&self, py: Python<'_>) -> PyResult<String> {
        let run = self.lock(py)?;
        Ok(run.as_ref().map(|run| run.guarantee().to_string()).unwrap_or_default())
    }

    /// Releases a sum of the contributions that `evaluate` makes of blocks of rows. `stop` is a list that becomes non-empty when the
    /// release is to end.
    fn sum<'py>(
        &self,
        py: Python<'py>,
        group: usize,
        width: usize,
        evaluate: Py<PyAny>,
        stop: &Bound<'py, PyList>,
    ) -> PyResult<Values<'py>> {
        let unknown =
            || settings(py, "the plan has no such sums", "give what `sums` of this plan has returned");
        let id = *self.ids.get(group).ok_or_else(unknown)?;
        let mut guard = self.lock(py)?;
        let run = guard.as_mut().ok_or_else(|| over(py))?;
        let thread = Arc::new(AtomicU64::new(0));
        let contributions = called(evaluate, self.width, width, Arc::clone(&thread));
        let (released, interrupt) = self.away(py, &thread, stop, || run.sum(id, width, contributions));
        match (released.and_then(|released| released.or_raise(py)), interrupt) {
            // A release that was made all the same has cost its budget, and is not thrown away.
            (Ok(Released { values, noise_sd, expected_batch, step, .. }), _) => {
                let (values, noise_sd) =
                    (PyArray1::from_vec(py, values), PyArray1::from_slice(py, &noise_sd));
                Ok((values, noise_sd, expected_batch, step))
            }
            (Err(_), Some(interrupt)) if !interrupt.is_instance_of::<PyKeyboardInterrupt>(py) => {
                Err(interrupt)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Settles the charge. The receipt as JSON and as text.
    fn finish(
        &self,
        py: Python<'_>,
        projections: u64,
        assumptions: Vec<String>,
    ) -> PyResult<(String, String)> {
        let run = self.lock(py)?.take().ok_or_else(|| over(py))?;
        let receipt = py.detach(|| run.finish(projections, assumptions)).or_raise(py)?;
        let json = serde_json::to_string(&receipt).unwrap_or_default();
        Ok((json, receipt.to_string()))
    }
}

fn over(py: Python<'_>) -> PyErr {
    settings(py, "the wall is closed", "make another one")
}

impl Run {
    /// The run, unless another thread, or a row, is using it.
    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<CustomRun>>> {
        match self.run.try_lock() {
            Ok(run) => Ok(run),
            Err(TryLockError::Poisoned(run)) => Ok(run.into_inner()),
            Err(TryLockError::WouldBlock) => Err(settings(
                py,
                "the wall makes a release already",
                "make one at a time, and none within a query",
            )),
        }
    }

    /// Does some work on a thread of its own. Python raises Ctrl-C in its main thread alone, and thus never in a row, whose exceptions are not
    /// shown; this thread looks for it meanwhile. It ends the work: between blocks by the flag of the run, between rows by `stop`, and within one
    /// by an exception there.
    fn away<T: Send>(
        &self,
        py: Python<'_>,
        thread: &AtomicU64,
        stop: &Bound<'_, PyList>,
        work: impl FnOnce() -> T + Send,
    ) -> (PyResult<T>, Option<PyErr>) {
        let stop = stop.clone().unbind();
        let mut interrupt = None;
        let result = py.detach(|| {
            std::thread::scope(|scope| {
                let (sender, receiver) = channel::<()>();
                let work = move || {
                    let result = work();
                    drop(sender);
                    result
                };
                let builder = std::thread::Builder::new().name("reticent".to_owned()).stack_size(STACK);
                let worker = builder.spawn_scoped(scope, work).ok()?;
                while receiver.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    Python::attach(|py| {
                        if let Err(error) = py.check_signals() {
                            self.cancel.cancel();
                            // A list always takes an element.
                            let _ = stop.bind(py).append(true);
                            interrupt.get_or_insert(error);
                        }
                        if interrupt.is_some() {
                            interrupt_row(py, thread.load(Ordering::Relaxed));
                        }
                    });
                }
                worker.join().ok()
            })
        });
        // What panicked may have a value in its message.
        let internal =
            || settings(py, "the release ended with an internal error", "report it, with the plan");
        (result.ok_or_else(internal), interrupt)
    }
}

/// Raises an exception in what the thread is running.
fn interrupt_row(py: Python<'_>, thread: u64) {
    if let (Ok(id), true) = (thread.try_into(), thread != 0) {
        let exception = py.get_type::<PyKeyboardInterrupt>();
        // SAFETY: the interpreter is attached, the exception is a class, and a thread that does not exist any more, or runs nothing of Python, is
        // not found.
        unsafe { pyo3::ffi::PyThreadState_SetAsyncExc(id, exception.as_ptr()) };
    }
}

/// Contributions by a function of Python: it gets an array of rows and returns one of contributions.
///
/// # Privacy
/// The interpreter is attached once for each block, and not while the wall adds. A function that fails, and does not deal with it itself,
/// contributes nothing; its exception is dropped where it is, with its traceback, which has the rows.
fn called(evaluate: Py<PyAny>, from: usize, to: usize, thread: Arc<AtomicU64>) -> Contributions {
    Box::new(move |rows, out| {
        let found = Python::attach(|py| -> PyResult<bool> {
            let id = py.import("threading")?.call_method0("get_ident")?.extract()?;
            thread.store(id, Ordering::Relaxed);
            let rows = PyArray1::from_slice(py, rows).reshape([rows.len() / from, from])?;
            let found = evaluate.call1(py, (rows,));
            thread.store(0, Ordering::Relaxed);
            let found = found?.into_bound(py).cast_into::<PyArray2<f64>>()?;
            let found = found.try_readonly()?;
            let as_planned = found.shape() == [out.len() / to, to];
            if as_planned {
                out.iter_mut().zip(found.as_array()).for_each(|(out, x)| *out = *x);
            }
            Ok(as_planned)
        });
        if !found.unwrap_or(false) {
            out.fill(f64::NAN);
        }
    })
}
