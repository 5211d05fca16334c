//! A run that somebody watches, and may stop with Ctrl-C between two releases.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reticent::budget::{Ledger, LedgerError, Request, Spent, Ticket};

use crate::progress::Steps;

/// A ledger that shows how far the run is, and refuses the next release once it was asked to stop.
pub(crate) struct Watched {
    ledger: Box<dyn Ledger>,
    steps: Steps,
    stop: Arc<AtomicBool>,
}

/// Whether Ctrl-C was pressed. The second time it ends the program at once.
pub(crate) fn interrupts() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let signal = signal_hook::consts::SIGINT;
    // Without these, Ctrl-C ends the program as it always does; the ledger is right then too.
    let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, stop.clone());
    let _ = signal_hook::flag::register(signal, stop.clone());
    stop
}

impl Watched {
    pub(crate) fn new(ledger: Box<dyn Ledger>, quiet: bool, stop: Arc<AtomicBool>) -> Self {
        Self { ledger, steps: Steps::new(quiet), stop }
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
        if self.stop.load(Ordering::Relaxed) {
            return Err(LedgerError::Refused("stopped".to_owned()));
        }
        self.steps.show(what, step, planned);
        self.ledger.release(what, step, planned)
    }

    fn settle(&mut self, ticket: Ticket, spent: Spent<'_>) -> Result<(), LedgerError> {
        self.ledger.settle(ticket, spent)
    }
}
