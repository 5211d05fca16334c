//! How far a long run is, for somebody who watches.

use std::io::{IsTerminal as _, Write as _};

/// A line on standard error that is written over. Nothing if standard error is no terminal.
pub(crate) struct Progress {
    what: &'static str,
    total: usize,
    watched: bool,
}

impl Progress {
    pub(crate) fn new(what: &'static str, total: usize) -> Self {
        let progress = Self { what, total, watched: std::io::stderr().is_terminal() };
        progress.show(0);
        progress
    }

    pub(crate) fn show(&self, done: usize) {
        const WIDTH: usize = 30;
        if self.watched {
            let filled = WIDTH * done / self.total.max(1);
            let bar = "#".repeat(filled) + &"-".repeat(WIDTH.saturating_sub(filled));
            // Nothing is lost if it cannot be written.
            let _ = write!(std::io::stderr(), "\r{bar} {done} of {} {}", self.total, self.what);
        }
    }
}

impl Drop for Progress {
    /// Leaves an empty line behind, on failure too.
    fn drop(&mut self) {
        if self.watched {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}
