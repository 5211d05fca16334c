//! A run that somebody watches, and may stop with Ctrl-C between two releases.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reticent::budget::{Ledger, LedgerError, Request, Spent, Ticket};
use reticent::receipt::Entry;
use reticent_accounting::{Event, Mechanism, Sampling};
use serde::{Deserialize, Serialize};

use crate::progress::Steps;

/// A ledger that shows how far the run is, refuses the next release once it was asked to stop, and remembers what was released.
///
/// A run may have two walls, to buy bounds and to fit with them. It is one run to the ledger behind: reserved and started
/// once, before the first release, and settled by the second.
#[derive(Clone)]
pub(crate) struct Watched(Arc<Mutex<State>>);

struct State {
    ledger: Box<dyn Ledger>,
    steps: Steps,
    /// What both walls of the run cost together, until the first of them is settled.
    whole: Option<Request>,
    reserved: Option<(Ticket, f64)>,
    started: bool,
    resumable: bool,
    earlier: Vec<Entry>,
    releases: Vec<Recorded>,
    /// How many of them were made before the run was stopped, and how many of those were handed out again.
    before: usize,
    recalled: usize,
}

/// What a ledger wants to see of a run that goes on: its number, and a secret.
pub(crate) type Secret = (i64, String);

/// A release as it was made: public.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recorded {
    what: String,
    step: u64,
    values: Vec<f64>,
}

/// Set by Ctrl-C.
static STOP: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C asks the run to stop. The second time it ends the program as it always does; the ledger is right then too.
pub(crate) fn listen() {
    #[cfg(unix)]
    interrupt::listen();
}

/// Whether Ctrl-C was pressed.
pub(crate) fn was_stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

#[cfg(unix)]
mod interrupt {
    use super::{Ordering, STOP};

    const INTERRUPT: i32 = 2;
    /// What a signal does unless it was told otherwise.
    const USUAL: usize = 0;

    unsafe extern "C" {
        fn signal(number: i32, handler: usize) -> usize;
    }

    /// Only does what a signal handler may: it stores a flag and restores the usual handler.
    extern "C" fn stop(number: i32) {
        STOP.store(true, Ordering::Relaxed);
        // SAFETY: `signal` may be called in a handler (POSIX lists it as async-signal-safe), with a handler that it knows.
        unsafe { signal(number, USUAL) };
    }

    pub(super) fn listen() {
        let handler: extern "C" fn(i32) = stop;
        // SAFETY: the handler has the type that `signal` wants, lives as long as the program, and is async-signal-safe.
        unsafe { signal(INTERRUPT, handler as usize) };
    }
}

impl Watched {
    /// Goes on after these releases, if there are any.
    pub(crate) fn new(ledger: Box<dyn Ledger>, releases: Vec<Recorded>, quiet: bool) -> Self {
        Self(Arc::new(Mutex::new(State {
            ledger,
            steps: Steps::new(quiet),
            whole: None,
            reserved: None,
            started: false,
            resumable: false,
            earlier: Vec::new(),
            before: releases.len(),
            releases,
            recalled: 0,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in there is left half done by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next wall is the first of two, which together ask for this.
    pub(crate) fn first_of_two(&self, whole: Request) {
        self.state().whole = Some(whole);
    }

    /// What it takes to go on with the run later: what was released, and what the ledger wants to see, if it is one that counts.
    /// Nothing if the run has not begun or cannot go on.
    pub(crate) fn set_aside(&self) -> Option<(Vec<Recorded>, Option<Secret>)> {
        let mut state = self.state();
        (state.started && state.resumable).then(|| (state.releases.clone(), state.ledger.set_aside()))
    }
}

/// Whether releases of the same plan can go on later, with fresh noise: not in the middle of a shuffled pass, whose order is
/// forgotten, and not with draws, which are not remembered.
fn resumable(event: &Event) -> bool {
    event.releases().is_ok_and(|releases| {
        releases.iter().all(|(release, _)| {
            release.sampling != Sampling::Pass && !matches!(release.mechanism, Mechanism::BoundedRange { .. })
        })
    })
}

fn refused(why: &str) -> LedgerError {
    LedgerError::Refused(why.to_owned())
}

impl Ledger for Watched {
    fn name(&self) -> String {
        self.state().ledger.name()
    }

    fn reserve(&mut self, request: &Request) -> Result<Ticket, LedgerError> {
        let mut state = self.state();
        let epsilon = |request: &Request| request.guarantee.cost().map_or(0.0, |cost| cost.epsilon.upper);
        if let Some((ticket, reserved)) = &state.reserved {
            return if epsilon(request) <= *reserved {
                Ok(ticket.clone())
            } else {
                Err(refused("the fit would cost more than was reserved for it and its bounds"))
            };
        }
        let whole = state.whole.clone();
        let request = whole.as_ref().unwrap_or(request);
        state.resumable = request.guarantee.cost().is_some() && resumable(&request.event);
        let ticket = state.ledger.reserve(request)?;
        state.reserved = Some((ticket.clone(), epsilon(request)));
        Ok(ticket)
    }

    fn start(&mut self, ticket: &Ticket) -> Result<(), LedgerError> {
        let mut state = self.state();
        if !state.started {
            state.ledger.start(ticket)?;
            state.started = true;
        }
        Ok(())
    }

    fn release(&mut self, what: &str, step: u64, planned: u64) -> Result<(), LedgerError> {
        if was_stopped() {
            return Err(refused("stopped"));
        }
        let mut state = self.state();
        if let Some(next) = state.releases[..state.before].get(state.recalled) {
            // What was released is paid for once, so it must be what the run would release now.
            if (next.what.as_str(), next.step) != (what, step) {
                return Err(refused("the checkpoint is not of this run"));
            }
        }
        state.steps.show(what, step, planned);
        state.ledger.release(what, step, planned)
    }

    fn earlier(&self) -> Vec<Entry> {
        self.state().earlier.clone()
    }

    fn recall(&mut self, _: &str, _: u64, width: usize) -> Option<Vec<f64>> {
        let mut state = self.state();
        let recalled = state.releases[..state.before].get(state.recalled).map(|next| {
            let mut values = next.values.clone();
            values.resize(width, 0.0);
            values
        });
        state.recalled += usize::from(recalled.is_some());
        recalled
    }

    fn released(&mut self, what: &str, step: u64, values: &[f64]) {
        let recorded = Recorded { what: what.to_owned(), step, values: values.to_vec() };
        self.state().releases.push(recorded);
    }

    fn settle(&mut self, ticket: Ticket, spent: Spent<'_>) -> Result<(), LedgerError> {
        let mut state = self.state();
        if state.whole.take().is_some() {
            state.earlier.clone_from(&spent.receipt.groups);
            return Ok(());
        }
        state.ledger.settle(ticket, spent)
    }
}
