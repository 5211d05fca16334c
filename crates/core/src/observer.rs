//! Progress, cancellation and the journal of a run. They do not affect its cost.

use std::fmt;

use thiserror::Error;

/// One release of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// Description of the release, as in the receipt.
    pub what: &'a str,
    /// Number of this release within its group, from 1.
    pub step: u64,
    /// Releases planned in its group.
    pub planned: u64,
    /// Numbers in a sum; 1 for a draw, whose number is the index of a candidate.
    pub width: usize,
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} of {}", self.what, self.step, self.planned)
    }
}

/// Why an observer ends a run. The reservation stays spent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ObserverError {
    /// A released value could not be recorded, or a recorded one belongs to another run.
    #[error("{0}")]
    Journal(String),
}

/// Observes the releases of a [`Wall`](crate::wall::Wall).
///
/// # Privacy
/// An observer receives only public information: which release is next, and released values. It can end a run and
/// replay released values, but it can neither charge nor refund: only the [`Ledger`](crate::budget::Ledger) does.
pub trait Observer: Send {
    /// Whether the run should end. Called before each release, and between the blocks of a pass over streamed
    /// records, so it should be fast.
    fn should_stop(&mut self) -> bool {
        false
    }
    /// The values of this release if the run is resumed and the release was made before: the wall returns them
    /// without reading a record. The cost of a run is that of all its releases, so only the newest journal of a run
    /// may be replayed.
    ///
    /// # Errors
    /// [`ObserverError`] to end the run, if the journal belongs to another run.
    fn replay(&mut self, _: Step<'_>) -> Result<Option<Vec<f64>>, ObserverError> {
        Ok(None)
    }
    /// Receives each new release before the caller does. If it fails, the release is not returned.
    ///
    /// # Errors
    /// [`ObserverError`] to end the run.
    fn on_release(&mut self, _: Step<'_>, _values: &[f64]) -> Result<(), ObserverError> {
        Ok(())
    }
}

/// Observes nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
