//! Progress of a long run: a bar on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use reticent::{Step, visible};

/// A bar that is wiped when it is dropped, on failure too.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar with so many steps. Nothing is shown if it is quiet, or if standard error is no terminal.
    pub(crate) fn new(what: &str, total: u64, quiet: bool) -> Self {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(total) };
        let style = ProgressStyle::with_template("{bar:30.#/-} {pos} of {len} {msg}, {per_sec}, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        // Names of releases are texts of this program, but a name is never to move the cursor.
        bar.set_message(visible::line(what).into_owned());
        Self(bar)
    }

    pub(crate) fn show(&self, done: u64) {
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Shows the releases of a fit, one bar for each kind.
pub(crate) fn releases(quiet: bool) -> impl FnMut(Step<'_>) + Send {
    let mut shown: Option<(String, Progress)> = None;
    move |step| {
        if shown.as_ref().is_none_or(|(what, _)| what != step.what) {
            // The old bar is wiped before the new one is drawn.
            shown = None;
            shown = Some((step.what.to_owned(), Progress::new(step.what, step.planned, quiet)));
        }
        if let Some((_, progress)) = &shown {
            progress.show(step.step - 1);
        }
    }
}
