//! The ledger and the observer that a run gives to the wall: charged once, journalled, cancelled on request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reticent_accounting::{Event, Sampling};
use reticent_core::budget::{Ledger, LedgerError, Request, Spent, Ticket, Unlimited};
use reticent_core::observer::{Observer, ObserverError, Step};
use reticent_ledger::{Run, State as Charged};

use crate::cancel::Cancel;
use crate::journal::{Item, Journal, Replay};

/// A callback before each release.
pub(crate) type OnProgress = Box<dyn FnMut(Step<'_>) + Send>;

/// The journal of a run, and what of it is replayed if the run is resumed.
pub(crate) type Journalled = (Journal, Option<Replay>);

/// The account and the journal of a run.
///
/// # Privacy
/// Nothing that follows from a release is shown before the release is on the disk and the ledger has its digest. So a release that
/// is not may be made again with fresh noise: nobody has seen the first. Attacked by `every_failure_and_every_kill_can_be_resumed`
/// and `a_stopped_run_stays_charged`.
#[derive(Clone)]
pub(crate) struct Charge {
    shared: Arc<Mutex<Shared>>,
    cancel: Cancel,
}

struct Shared {
    account: Account,
    /// None for a run without privacy, and for one without a place for its model.
    journal: Option<Journal>,
    /// Releases from before the run was stopped, if it is resumed.
    replay: Option<Replay>,
    on_progress: Option<OnProgress>,
    started: bool,
    /// Releases are written when all are made: a shuffled pass cannot be resumed in its middle, since its order is forgotten.
    held: bool,
    /// Why releases cannot be written down any more.
    fault: Option<String>,
    /// Whether the ledger has refused.
    refused: bool,
}

/// The account of a run.
pub(crate) enum Account {
    /// No ledger.
    None(Unlimited),
    /// A data set of a ledger.
    DataSet(Box<Run>),
}

impl Account {
    fn ledger(&mut self) -> &mut dyn Ledger {
        match self {
            Self::None(none) => none,
            Self::DataSet(run) => run.as_mut(),
        }
    }

    fn state(&self) -> Option<Charged> {
        match self {
            Self::None(_) => None,
            Self::DataSet(run) => run.state(),
        }
    }
}

/// The state of a run that was not finished.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing was released, and nothing is charged.
    Void,
    /// Nothing was released, but the ledger cannot give back what it has reserved under this number, if it has.
    Reserved(Option<i64>),
    /// Something was or may have been released, and it can be resumed if it has a journal.
    Resumable,
}

/// A run that has ended without a model.
pub(crate) struct Ended {
    pub(crate) fate: Fate,
    /// Why its releases could not be written down; the failure itself may then depend on releases that will be made again, and must
    /// not be shown.
    pub(crate) fault: Option<String>,
    /// Whether the ledger has refused.
    pub(crate) refused: bool,
}

impl Charge {
    /// After the releases of a journal, if the run is resumed.
    pub(crate) fn new(
        account: Account,
        journal: Option<Journalled>,
        on_progress: Option<OnProgress>,
        cancel: Cancel,
    ) -> Self {
        let (journal, replay) = journal.map_or((None, None), |(journal, replay)| (Some(journal), replay));
        let (started, held, fault, refused) = (false, false, None, false);
        let shared = Shared { account, journal, replay, on_progress, started, held, fault, refused };
        Self { shared: Arc::new(Mutex::new(shared)), cancel }
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        // Nothing in there is left half done by a panic.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a wall to reserve, start and settle with.
    pub(crate) fn ledger(&self) -> Box<dyn Ledger> {
        Box::new(ChargedLedger(self.clone()))
    }

    /// For a wall to report its releases to.
    pub(crate) fn observer(&self) -> Box<dyn Observer> {
        Box::new(Journalling(self.clone()))
    }

    /// Whether the ledger has marked the run as started.
    pub(crate) fn is_started(&self) -> bool {
        self.shared().started
    }

    /// Writes down all that was released and that a model of this digest is about to be written. Only then may anything be shown.
    pub(crate) fn before_the_model(&self, digest: [u8; 32]) -> Result<(), String> {
        let mut shared = self.shared();
        if let Some(journal) = &mut shared.journal {
            journal.append(&Item::Model(digest));
        }
        shared.sync()
    }

    /// Removes the journal, once the model is on the disk and the run is settled.
    pub(crate) fn forget(&self) {
        if let Some(journal) = self.shared().journal.take() {
            // If it is left, it is of a run that is over.
            let _ = journal.remove();
        }
    }

    /// Ends a run that has failed or was stopped. What was released is written down, so that the failure may be shown.
    pub(crate) fn abandon(&self) -> Ended {
        let mut shared = self.shared();
        let back = match &mut shared.account {
            Account::None(_) => Ok(true),
            Account::DataSet(run) => run.refund(),
        };
        let any = shared.started || shared.replay.as_ref().is_some_and(|replay| replay.peek().is_some());
        let (fate, fault) = match back {
            Ok(true) if !any => {
                if let Some(journal) = shared.journal.take() {
                    // If it is left, the next run finds that nothing is in it.
                    let _ = journal.remove();
                }
                (Fate::Void, None)
            }
            Err(_) if !any => {
                let id = match &shared.account {
                    Account::None(_) => None,
                    Account::DataSet(run) => run.id(),
                };
                (Fate::Reserved(id), None)
            }
            _ if shared.held => {
                (Fate::Resumable, Some("not all releases of a shuffled pass were made".to_owned()))
            }
            _ => (Fate::Resumable, shared.sync().err()),
        };
        Ended { fate, fault, refused: shared.refused }
    }
}

impl Shared {
    /// On the disk, and then in the ledger.
    fn sync(&mut self) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let mut synced = journal
            .sync()
            .map_err(|error| format!("the journal {} cannot be written: {error}", journal.path().display()));
        if let (Ok(()), Account::DataSet(run)) = (&synced, &mut self.account) {
            synced = run.advance(&journal.digest()).map_err(|error| error.to_string());
        }
        synced.inspect_err(|fault| self.fault = Some(fault.clone()))
    }

    /// Remembers a refusal, which may reach the caller inside of another error.
    fn noting<T>(&mut self, result: Result<T, LedgerError>) -> Result<T, LedgerError> {
        self.refused |= matches!(result, Err(LedgerError::Refused(_)));
        result
    }
}

/// Whether releases of the plan can be resumed at any point: not in the middle of a shuffled pass.
fn resumes_anywhere(event: &Event) -> bool {
    event
        .releases()
        .is_ok_and(|releases| releases.iter().all(|(release, _)| release.sampling != Sampling::Pass))
}

struct ChargedLedger(Charge);

impl Ledger for ChargedLedger {
    fn name(&self) -> String {
        self.0.shared().account.ledger().name()
    }

    fn reserve(&mut self, request: &Request) -> Result<Ticket, LedgerError> {
        let mut shared = self.0.shared();
        shared.held = !resumes_anywhere(&request.event);
        let reserved = shared.account.ledger().reserve(request);
        shared.noting(reserved)
    }

    fn start(&mut self, ticket: &Ticket) -> Result<(), LedgerError> {
        let mut shared = self.0.shared();
        let started = shared.account.ledger().start(ticket);
        shared.started |= started.is_ok();
        shared.noting(started)
    }

    fn settle(&mut self, ticket: Ticket, spent: Spent<'_>) -> Result<(), LedgerError> {
        self.0.shared().account.ledger().settle(ticket, spent)
    }
}

struct Journalling(Charge);

fn refused(why: &str) -> ObserverError {
    ObserverError::Journal(why.to_owned())
}

impl Observer for Journalling {
    fn should_stop(&mut self) -> bool {
        self.0.cancel.is_cancelled()
    }

    fn replay(&mut self, step: Step<'_>) -> Result<Option<Vec<f64>>, ObserverError> {
        let mut shared = self.0.shared();
        if let Some(on_progress) = &mut shared.on_progress {
            on_progress(step);
        }
        let kept = match shared.replay.as_ref().and_then(Replay::peek) {
            // A release is paid for once, so the journal must have the one that the run would make now.
            Some(next) if next != (step.what, step.step) => {
                return Err(refused("the journal is not of this run"));
            }
            None if shared.account.state() == Some(Charged::Settled) => {
                return Err(refused("the run is settled, and its journal does not have all of its releases"));
            }
            kept => kept.is_some(),
        };
        let Some(replay) = shared.replay.as_mut().filter(|_| kept) else { return Ok(None) };
        match replay.take() {
            Ok(Some(values)) if values.len() != step.width => Err(refused("the journal is not of this run")),
            Ok(values) => Ok(values),
            Err(error) => Err(refused(&format!("the journal cannot be read: {error}"))),
        }
    }

    fn on_release(&mut self, step: Step<'_>, values: &[f64]) -> Result<(), ObserverError> {
        let mut shared = self.0.shared();
        let held = shared.held;
        let Some(journal) = &mut shared.journal else { return Ok(()) };
        let (what, values) = (step.what.to_owned(), values.to_vec());
        journal.append(&Item::Release { what, step: step.step, values });
        if journal.is_due() && !held { shared.sync().map_err(ObserverError::Journal) } else { Ok(()) }
    }
}
