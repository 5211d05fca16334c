//! A run that somebody watches, and may stop with Ctrl-C between two releases.

use std::sync::atomic::{AtomicBool, Ordering};

use reticent::budget::{Ledger, LedgerError, Request, Spent, Ticket};

use crate::progress::Steps;

/// A ledger that shows how far the run is, and refuses the next release once it was asked to stop.
pub(crate) struct Watched {
    ledger: Box<dyn Ledger>,
    steps: Steps,
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
    pub(crate) fn new(ledger: Box<dyn Ledger>, quiet: bool) -> Self {
        Self { ledger, steps: Steps::new(quiet) }
    }
}

impl Ledger for Watched {
    fn name(&self) -> String {
        self.ledger.name()
    }

    fn reserve(&mut self, request: &Request) -> Result<Ticket, LedgerError> {
        self.ledger.reserve(request)
    }

    fn start(&mut self, ticket: &Ticket) -> Result<(), LedgerError> {
        self.ledger.start(ticket)
    }

    fn release(&mut self, what: &str, step: u64, planned: u64) -> Result<(), LedgerError> {
        if was_stopped() {
            return Err(LedgerError::Refused("stopped".to_owned()));
        }
        self.steps.show(what, step, planned);
        self.ledger.release(what, step, planned)
    }

    fn settle(&mut self, ticket: Ticket, spent: Spent<'_>) -> Result<(), LedgerError> {
        self.ledger.settle(ticket, spent)
    }
}
