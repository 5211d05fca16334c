//! Progress, cancellation and the journal of a run: what happens beside the releases, without a say in what they cost.

use std::fmt;

use thiserror::Error;

/// One release of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step<'a> {
    /// What is released, as in the receipt.
    pub what: &'a str,
    /// Which release of its group, from 1.
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

/// Why an observer ends a run. What was reserved stays spent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ObserverError {
    /// A released value could not be kept, or a kept one is not of this run.
    #[error("{0}")]
    Journal(String),
}

/// Observes the releases of a [`Wall`](crate::wall::Wall).
///
/// # Privacy
/// An observer only sees what is public: which release comes next, and released values. It can end a run and hand released values back,
/// but it can neither charge nor refund: that is the [`Ledger`](crate::budget::Ledger)'s.
pub trait Observer: Send {
    /// Whether the run should end. Called before each release, and between the blocks of a pass over streamed records, so it should be quick.
    fn should_stop(&mut self) -> bool {
        false
    }
    /// The values of this release if the run is resumed and it was made before: the wall returns them without reading a record. The
    /// cost of a run is that of all it ever released, so only the newest journal of a run may be replayed.
    ///
    /// # Errors
    /// [`ObserverError`] to end the run, if what was kept is not of this run.
    fn replay(&mut self, _: Step<'_>) -> Result<Option<Vec<f64>>, ObserverError> {
        Ok(None)
    }
    /// Receives each new release before anybody else does. If this fails, nobody does.
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
