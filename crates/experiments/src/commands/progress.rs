//! Progress of a long run.

use std::io::{IsTerminal as _, Write as _};

/// A progress line on standard error, if that is a terminal.
pub(super) struct Progress {
    what: &'static str,
    total: usize,
    is_shown: bool,
}

impl Progress {
    pub(super) fn new(what: &'static str, total: usize) -> Self {
        let progress = Self { what, total, is_shown: std::io::stderr().is_terminal() };
        progress.show(0);
        progress
    }

    pub(super) fn show(&self, done: usize) {
        const WIDTH: usize = 30;
        if self.is_shown {
            let filled = (WIDTH * done / self.total.max(1)).min(WIDTH);
            let bar = "#".repeat(filled) + &"-".repeat(WIDTH - filled);
            // Errors of progress output are ignored.
            let _ = write!(std::io::stderr(), "\r{bar} {done} of {} {}", self.total, self.what);
        }
    }
}

impl Drop for Progress {
    /// Clears the line, also on failure.
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}
