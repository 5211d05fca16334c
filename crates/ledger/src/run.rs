//! The ledger trait of the wall for one run, charged to one data set.

use std::path::PathBuf;

use reticent_core::budget::{self, Request as Planned, Spent, Ticket};

use crate::{Amount, Found, Ledger, LedgerError, Releases, Request, Reservation, State, Token};

/// A run that is charged to a data set.
///
/// Only runs with a guarantee can be charged: one without noise or with a fixed seed is refused here.
pub struct Run {
    ledger: Ledger,
    data_set: String,
    schema_fingerprint: String,
    purpose: String,
    journal: Option<Journal>,
    reservation: Option<Reservation>,
    state: Option<State>,
    /// Whether this process has started or resumed the run.
    active: bool,
}

/// The journal of a run, from which it can be resumed after a crash.
struct Journal {
    token: Token,
    path: PathBuf,
    /// Digests of all entries, oldest first.
    digests: Vec<String>,
    /// The digest recorded in the ledger.
    recorded: Option<String>,
}

impl Run {
    /// A run on `data_set`, for a stated purpose.
    pub fn new(ledger: Ledger, data_set: &str, schema_fingerprint: &str, purpose: &str) -> Self {
        let [data_set, schema_fingerprint, purpose] =
            [data_set, schema_fingerprint, purpose].map(str::to_owned);
        let (journal, reservation, state, active) = (None, None, None, false);
        Self { ledger, data_set, schema_fingerprint, purpose, journal, reservation, state, active }
    }

    /// Adds a journal of releases at `path`, with the digests of its entries so far, oldest first. A run that the ledger already has
    /// under this token is not charged again, and is resumed only if the journal contains the digest recorded in the ledger.
    #[must_use]
    pub fn journalled(self, token: Token, path: PathBuf, digests: Vec<String>) -> Self {
        Self { journal: Some(Journal { token, path, digests, recorded: None }), ..self }
    }

    /// Records that the journal is durable up to this digest. Results of its releases may be revealed only afterwards.
    ///
    /// # Errors
    /// [`LedgerError::StaleJournal`] if another process has resumed the run; other errors if it cannot be recorded. Nothing may
    /// be released then.
    pub fn advance(&mut self, digest: &str) -> Result<(), LedgerError> {
        let (Some(journal), Some(reservation)) = (&mut self.journal, &self.reservation) else {
            return Ok(());
        };
        if !self.active || self.state != Some(State::Started) || journal.recorded.as_deref() == Some(digest) {
            return Ok(());
        }
        self.ledger.advance(reservation, journal.recorded.as_deref(), digest)?;
        journal.recorded = Some(digest.to_owned());
        Ok(())
    }

    /// The state of the charge, as last set or found by this run.
    pub fn state(&self) -> Option<State> {
        self.state
    }

    /// Whether this process has started or resumed the run and not settled it, so that a release may be made.
    pub fn may_release(&self) -> bool {
        self.active && self.state == Some(State::Started)
    }

    /// The number of the charge.
    pub fn id(&self) -> Option<i64> {
        self.reservation.as_ref().map(Reservation::id)
    }

    /// Cancels the reservation if it was not started. Returns whether nothing is charged afterwards. A commit that was reported as
    /// failed may have succeeded, so the state is read again.
    ///
    /// # Errors
    /// [`LedgerError`] if the ledger cannot be read or written: a charge then remains.
    pub fn refund(&mut self) -> Result<bool, LedgerError> {
        if let (None, Some(journal)) = (&self.reservation, &self.journal)
            && let Some((id, state)) = self.ledger.charge_of(&journal.token)?
        {
            if state == State::Reserved {
                self.ledger.cancel(id)?;
            }
            return Ok(matches!(state, State::Reserved | State::Cancelled));
        }
        if let (Some(State::Reserved), Some(id)) = (self.state, self.id()) {
            match self.ledger.cancel(id) {
                // The start had succeeded after all.
                Err(LedgerError::WrongState { state: State::Started, .. }) => {
                    self.state = Some(State::Started);
                }
                cancelled => {
                    cancelled?;
                    self.state = Some(State::Cancelled);
                }
            }
        }
        Ok(matches!(self.state, None | Some(State::Cancelled)))
    }

    fn reserve_new(
        &mut self,
        amount: Amount,
        adjacency: String,
        plan_json: String,
        releases: Releases,
    ) -> Result<(), LedgerError> {
        let token = match &self.journal {
            Some(journal) => journal.token.clone(),
            None => self.ledger.token()?,
        };
        if let Some(Found { reservation, state, progress }) =
            self.ledger.find(&token, &self.data_set, &plan_json)?
        {
            if state == State::Cancelled {
                return Err(LedgerError::WrongState { id: reservation.id(), action: "resume", state });
            }
            if let Some(journal) = &mut self.journal {
                journal.recorded = progress;
            }
            (self.reservation, self.state) = (Some(reservation), Some(state));
            return Ok(());
        }
        let request = Request {
            amount,
            schema_fingerprint: self.schema_fingerprint.clone(),
            adjacency,
            purpose: self.purpose.clone(),
            plan_json,
            releases: Some(releases),
        };
        let path = self.journal.as_ref().map(|journal| journal.path.as_path());
        let reserved = self.ledger.reserve_as(&token, path, &self.data_set, &request)?;
        (self.reservation, self.state) = (Some(reserved), Some(State::Reserved));
        Ok(())
    }

    fn begin(&mut self) -> Result<(), LedgerError> {
        let Some(reservation) = &self.reservation else { return Ok(()) };
        let newest = self.journal.as_ref().and_then(|journal| journal.digests.last().cloned());
        if self.state == Some(State::Reserved) {
            self.ledger.start_at(reservation, newest.as_deref())?;
            if let Some(journal) = &mut self.journal {
                journal.recorded = newest;
            }
            (self.state, self.active) = (Some(State::Started), true);
            return Ok(());
        }
        // A journal ahead of the ledger is left by a crash between the two writes; one that is behind is not the newest.
        let is_newest = |journal: &Journal| {
            journal.recorded.as_ref().is_some_and(|recorded| journal.digests.contains(recorded))
        };
        if !self.journal.as_ref().is_some_and(is_newest) {
            return Err(LedgerError::StaleJournal { id: reservation.id() });
        }
        self.active = true;
        let resumed = newest.map_or(Ok(()), |newest| self.advance(&newest));
        self.active = resumed.is_ok();
        resumed
    }
}

fn failed(error: impl std::fmt::Display) -> budget::LedgerError {
    budget::LedgerError::Failed(error.to_string())
}

/// Errors that the user can resolve are refusals; all others are failures.
fn refusal(error: LedgerError) -> budget::LedgerError {
    match error {
        LedgerError::Refused(_)
        | LedgerError::DifferentRun { .. }
        | LedgerError::StaleJournal { .. }
        | LedgerError::WrongState { .. } => budget::LedgerError::Refused(error.to_string()),
        other => failed(other),
    }
}

fn amount(cost: &budget::Cost) -> Amount {
    Amount::new(cost.epsilon.upper, cost.delta)
}

impl budget::Ledger for Run {
    fn name(&self) -> String {
        format!("data set {:?}", self.data_set)
    }

    fn reserve(&mut self, planned: &Planned) -> Result<Ticket, budget::LedgerError> {
        let Some(cost) = planned.guarantee.cost() else {
            return Err(budget::LedgerError::Refused(format!(
                "{}: such a run cannot be charged to a data set\nhint: run without a ledger, and do not publish the result",
                planned.guarantee
            )));
        };
        let plan_json = serde_json::to_string(planned).map_err(failed)?;
        let releases = Releases { event: planned.event.clone(), deviation: planned.deviation };
        self.reserve_new(amount(&cost), cost.adjacency.to_string(), plan_json, releases).map_err(refusal)?;
        Ok(Ticket(self.id().map_or_else(String::new, |id| id.to_string())))
    }

    fn start(&mut self, _: &Ticket) -> Result<(), budget::LedgerError> {
        if self.reservation.is_none() {
            return Err(failed("nothing is reserved"));
        }
        self.begin().map_err(refusal)
    }

    fn settle(&mut self, _: Ticket, spent: Spent<'_>) -> Result<(), budget::LedgerError> {
        let reservation = self.reservation.as_ref().ok_or_else(|| failed("nothing is reserved"))?;
        if self.state == Some(State::Settled) {
            // Settled by the same run, before a crash.
            return Ok(());
        }
        match spent.cost {
            // Nothing was released: the reservation is refunded.
            None => return self.refund().map(drop).map_err(failed),
            Some(cost) => {
                let receipt = serde_json::to_string(spent.receipt).map_err(failed)?;
                self.ledger.settle(reservation, amount(&cost), &receipt).map_err(failed)?;
            }
        }
        self.state = Some(State::Settled);
        Ok(())
    }
}
