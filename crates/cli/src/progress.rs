//! How far a long run is, for somebody who watches.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

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
        if self.watched {
            let bar = bar(done as u64, self.total as u64);
            // Nothing is lost if it cannot be written.
            let _ = write!(std::io::stderr(), "\r{bar} {done} of {} {}", self.total, self.what);
        }
    }
}

impl Drop for Progress {
    /// Leaves an empty line behind, on failure too.
    fn drop(&mut self) {
        if self.watched {
            wipe();
        }
    }
}

fn wipe() {
    let _ = write!(std::io::stderr(), "\r\x1b[2K");
}

fn bar(done: u64, total: u64) -> String {
    const WIDTH: u64 = 30;
    let filled = (WIDTH * done / total.max(1)).min(WIDTH);
    "#".repeat(filled as usize) + &"-".repeat((WIDTH - filled) as usize)
}

/// The same for steps of several kinds, with their rate and the time left.
pub(crate) struct Steps {
    watched: bool,
    what: String,
    begun: Instant,
    shown: Option<Instant>,
}

impl Steps {
    /// Nothing is shown if it should be quiet, or nobody watches.
    pub(crate) fn new(quiet: bool) -> Self {
        let watched = !quiet && std::io::stderr().is_terminal();
        Self { watched, what: String::new(), begun: Instant::now(), shown: None }
    }

    /// About to take this step, from 1, of so many.
    pub(crate) fn show(&mut self, what: &str, step: u64, total: u64) {
        if !self.watched {
            return;
        }
        if self.what != what {
            (self.what, self.begun, self.shown) = (what.to_owned(), Instant::now(), None);
        }
        if self.shown.is_some_and(|shown| shown.elapsed() < Duration::from_millis(100)) {
            return;
        }
        self.shown = Some(Instant::now());
        let done = step - 1;
        let seconds = self.begun.elapsed().as_secs_f64();
        let rate = if done > 0 && seconds > 0.0 {
            let rate = done as f64 / seconds;
            format!(", {rate:.1} a second, {:.0} s left", (total - done) as f64 / rate)
        } else {
            String::new()
        };
        wipe();
        let _ = write!(std::io::stderr(), "{} {done} of {total} {what}{rate}", bar(done, total));
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if self.watched {
            wipe();
        }
    }
}
