//! Runs on a thread of their own, while the thread of Python reports progress and looks for Ctrl-C.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use reticent::{Cancel, Error, Step};

use crate::error::{raised, settings};

/// How long Python waits before it looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// What a run reports.
pub(crate) enum Report {
    /// A release is about to be made.
    Release { what: String, step: u64, planned: u64 },
    /// **Not private**: something for the curator of the records.
    Notice(String),
}

/// Where a run reports to.
#[derive(Clone)]
pub(crate) struct Reporter(Sender<Report>);

impl Reporter {
    /// Reports a release.
    pub(crate) fn release(&self, step: Step<'_>) {
        let Step { what, step, planned, .. } = step;
        // Nobody listens any more if Python has gone.
        let _ = self.0.send(Report::Release { what: what.to_owned(), step, planned });
    }

    /// Reports to the curator.
    pub(crate) fn notice(&self, text: &str) {
        let _ = self.0.send(Report::Notice(text.to_owned()));
    }
}

/// Runs something on a thread of its own.
///
/// A signal, or an exception of a callback, asks the run to stop, and its end is waited for: what was released is then in the journal. The
/// thread ends with the run, so that a process that forks afterwards has nothing to wait for.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    notice: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Reporter, Cancel) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    let cancel = Cancel::new();
    let cancelled = cancel.clone();
    let thread = thread::Builder::new()
        .name("reticent".to_owned())
        .spawn(move || work(Reporter(sender), cancelled))
        .map_err(|_| settings(py, "no thread can be started", "end other programs"))?;
    let mut failure = None;
    let mut waiting = Waiting { receiver };
    loop {
        let report = py.detach(|| waiting.next());
        let heard = match report {
            Next::Report(Report::Release { what, step, planned }) => {
                progress.map_or(Ok(()), |progress| progress.call1((what, step, planned)).map(drop))
            }
            Next::Report(Report::Notice(text)) => {
                notice.map_or(Ok(()), |notice| notice.call1((text,)).map(drop))
            }
            Next::Nothing => Ok(()),
            Next::End => break,
        };
        if let Err(error) = heard.and_then(|()| py.check_signals()) {
            cancel.cancel();
            failure.get_or_insert(error);
        }
    }
    let result = py.detach(|| thread.join());
    let result = result.map_err(|_| {
        // What panicked may have a value in its message.
        settings(py, "the run ended with an internal error", "report it, with the model and its settings")
    })?;
    match (result, failure) {
        // A run that was finished all the same has cost its budget: its result is not thrown away.
        (Ok(done), _) => Ok(done),
        (Err(error), Some(failure))
            if !failure.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) =>
        {
            let _ = error;
            Err(failure)
        }
        (Err(error), _) => Err(raised(py, &error)),
    }
}

enum Next {
    Report(Report),
    Nothing,
    End,
}

struct Waiting {
    receiver: Receiver<Report>,
}

impl Waiting {
    fn next(&mut self) -> Next {
        match self.receiver.recv_timeout(PATIENCE) {
            Ok(report) => Next::Report(report),
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => Next::End,
        }
    }
}
