//! A run that somebody watches, may stop with Ctrl-C between two releases, and can go on with after a crash.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reticent::budget::{Cost, Ledger, LedgerError, Request, Spent, Ticket, Unlimited};
use reticent::receipt::{Entry, Receipt};
use reticent_accounting::{Event, Sampling};
use reticent_ledger::{Run, State as Charge};

use crate::journal::{Item, Journal, Replay};
use crate::progress::Steps;

/// A ledger that shows how far the run is, refuses the next release once it was asked to stop, and keeps what was released in a
/// journal.
///
/// A run may have two walls, to buy bounds and to fit with them. It is one run to the ledger behind: reserved and started
/// once, before the first release. It is settled by the command, when the model is on the disk.
///
/// # Privacy
/// Nothing that follows from a release is shown before the release is on the disk and the ledger has its digest. So a release that
/// is not may be made again with fresh noise: nobody has seen the first. Attacked by `every_failure_and_every_kill_can_be_resumed`
/// and `a_stopped_run_stays_charged`.
#[derive(Clone)]
pub(crate) struct Watched(Arc<Mutex<State>>);

struct State {
    charged: Charged,
    /// None for a run without privacy.
    journal: Option<Journal>,
    /// What was released before the run was stopped, if it goes on now.
    replay: Option<Replay>,
    steps: Steps,
    /// What both walls of the run cost together, until the first of them is settled.
    whole: Option<Request>,
    reserved: Option<(Ticket, f64)>,
    started: bool,
    /// Releases are written when all are made: a shuffled pass cannot go on in its middle, since its order is forgotten.
    held: bool,
    earlier: Vec<Entry>,
    /// Why releases cannot be written down any more.
    fault: Option<String>,
    /// What is to be settled when the model is on the disk.
    outcome: Option<(Ticket, Option<Cost>, Receipt)>,
}

/// Who counts.
pub(crate) enum Charged {
    /// Nobody.
    Nobody(Unlimited),
    /// A data set of a ledger.
    DataSet(Box<Run>),
}

impl Charged {
    fn ledger(&mut self) -> &mut dyn Ledger {
        match self {
            Self::Nobody(nobody) => nobody,
            Self::DataSet(run) => run.as_mut(),
        }
    }

    fn state(&self) -> Option<Charge> {
        match self {
            Self::Nobody(_) => None,
            Self::DataSet(run) => run.state(),
        }
    }
}

/// What has become of a run that was not finished.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing was released, and nothing is charged.
    Void,
    /// Nothing was released, but the ledger cannot give back what it has reserved under this number, if it has.
    Reserved(Option<i64>),
    /// Something was or may have been released, and it can go on.
    Resumable,
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
    /// Goes on after the releases of a journal, if there are any.
    pub(crate) fn new(charged: Charged, journal: Option<(Journal, Option<Replay>)>, quiet: bool) -> Self {
        let (journal, replay) = journal.map_or((None, None), |(journal, replay)| (Some(journal), replay));
        Self(Arc::new(Mutex::new(State {
            charged,
            journal,
            replay,
            steps: Steps::new(quiet),
            whole: None,
            reserved: None,
            started: false,
            held: false,
            earlier: Vec::new(),
            fault: None,
            outcome: None,
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

    /// Writes down all that was released and that a model of this digest is about to be written. Only then may anything be shown.
    pub(crate) fn before_the_model(&self, digest: [u8; 32]) -> Result<(), LedgerError> {
        let mut state = self.state();
        if let Some(journal) = &mut state.journal {
            journal.append(&Item::Model(digest));
        }
        state.sync()
    }

    /// Settles with the ledger, once the model is on the disk, and gives up the journal.
    pub(crate) fn settle(&self) -> Result<(), LedgerError> {
        let mut state = self.state();
        if let Some((ticket, cost, receipt)) = state.outcome.take() {
            state.charged.ledger().settle(ticket, Spent { cost, receipt: &receipt })?;
        }
        if let Some(journal) = state.journal.take() {
            // If it is left, it is of a run that is over.
            let _ = journal.remove();
        }
        Ok(())
    }

    /// Ends a run that has failed or was stopped. What was released is written down, so that the failure may be shown; if that
    /// fails too, or must not be, the second value is why.
    pub(crate) fn abandon(&self) -> (Fate, Option<String>) {
        let mut state = self.state();
        let back = match &mut state.charged {
            Charged::Nobody(_) => Ok(true),
            Charged::DataSet(run) => run.give_back(),
        };
        let any = state.started || state.replay.as_ref().is_some_and(|replay| replay.peek().is_some());
        match back {
            Ok(true) if !any => {
                if let Some(journal) = state.journal.take() {
                    // If it is left, the next run finds that nothing is in it.
                    let _ = journal.remove();
                }
                (Fate::Void, None)
            }
            Err(_) if !any => {
                let id = match &state.charged {
                    Charged::Nobody(_) => None,
                    Charged::DataSet(run) => run.id(),
                };
                (Fate::Reserved(id), None)
            }
            _ if state.held => {
                (Fate::Resumable, Some("not all releases of a shuffled pass were made".to_owned()))
            }
            _ => {
                let synced = state.sync();
                (Fate::Resumable, synced.err().map(|_| state.fault.clone().unwrap_or_default()))
            }
        }
    }
}

impl State {
    /// On the disk, and then in the ledger.
    fn sync(&mut self) -> Result<(), LedgerError> {
        if let Some(fault) = &self.fault {
            return Err(refused(fault));
        }
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let mut synced = journal
            .sync()
            .map_err(|error| format!("the journal {} cannot be written: {error}", journal.path().display()));
        if let (Ok(()), Charged::DataSet(run)) = (&synced, &mut self.charged) {
            synced = run.advance(&journal.digest()).map_err(|error| error.to_string());
        }
        synced.map_err(|fault| {
            self.fault = Some(fault.clone());
            LedgerError::Refused(fault)
        })
    }
}

/// Whether releases of the plan can go on at any point: not in the middle of a shuffled pass.
fn goes_on_anywhere(event: &Event) -> bool {
    event
        .releases()
        .is_ok_and(|releases| releases.iter().all(|(release, _)| release.sampling != Sampling::Pass))
}

fn refused(why: &str) -> LedgerError {
    LedgerError::Refused(why.to_owned())
}

impl Ledger for Watched {
    fn name(&self) -> String {
        self.state().charged.ledger().name()
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
        state.held = !goes_on_anywhere(&request.event);
        let ticket = state.charged.ledger().reserve(request)?;
        state.reserved = Some((ticket.clone(), epsilon(request)));
        Ok(ticket)
    }

    fn start(&mut self, ticket: &Ticket) -> Result<(), LedgerError> {
        let mut state = self.state();
        if !state.started {
            state.charged.ledger().start(ticket)?;
            state.started = true;
        }
        Ok(())
    }

    fn release(&mut self, what: &str, step: u64, planned: u64) -> Result<(), LedgerError> {
        if was_stopped() {
            return Err(refused("stopped"));
        }
        let mut state = self.state();
        match state.replay.as_ref().and_then(Replay::peek) {
            // What was released is paid for once, so it must be what the run would release now.
            Some(next) if next != (what, step) => return Err(refused("the journal is not of this run")),
            None if state.charged.state() == Some(Charge::Settled) => {
                return Err(refused("the run is settled, and its journal does not have all of its releases"));
            }
            _ => {}
        }
        state.steps.show(what, step, planned);
        state.charged.ledger().release(what, step, planned)
    }

    fn earlier(&self) -> Vec<Entry> {
        self.state().earlier.clone()
    }

    fn recall(&mut self, _: &str, _: u64, width: usize) -> Result<Option<Vec<f64>>, LedgerError> {
        let mut state = self.state();
        let Some(replay) = &mut state.replay else { return Ok(None) };
        match replay.take() {
            Ok(Some(values)) if values.len() != width => Err(refused("the journal is not of this run")),
            Ok(recalled) => Ok(recalled),
            Err(error) => Err(refused(&format!("the journal cannot be read: {error}"))),
        }
    }

    fn released(&mut self, what: &str, step: u64, values: &[f64]) -> Result<(), LedgerError> {
        let mut state = self.state();
        state.charged.ledger().released(what, step, values)?;
        let held = state.held;
        let Some(journal) = &mut state.journal else { return Ok(()) };
        journal.append(&Item::Release { what: what.to_owned(), step, values: values.to_vec() });
        if journal.is_due() && !held { state.sync() } else { Ok(()) }
    }

    /// Only remembers what is to be settled: a crash before the model is on the disk must find the run unsettled.
    fn settle(&mut self, ticket: Ticket, spent: Spent<'_>) -> Result<(), LedgerError> {
        let mut state = self.state();
        if state.whole.take().is_some() {
            state.earlier.clone_from(&spent.receipt.groups);
        } else {
            state.outcome = Some((ticket, spent.cost, spent.receipt.clone()));
        }
        Ok(())
    }
}
