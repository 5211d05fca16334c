//! The ledger as the wall meets it: one run, charged to one data set.

use std::path::PathBuf;

use reticent_core::budget::{self, Request as Planned, Spent, Ticket};

use crate::{Amount, Found, Ledger, LedgerError, Request, Reservation, State, Token};

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
    /// Whether the ledger has let this process begin or go on.
    begun: bool,
}

/// What a run keeps so that it can go on after a crash.
struct Journal {
    token: Token,
    place: PathBuf,
    /// Of all that is in it, from the first to the newest.
    digests: Vec<String>,
    /// The one that the ledger has.
    recorded: Option<String>,
}

impl Run {
    /// A run on `data_set`, for a stated purpose.
    pub fn new(ledger: Ledger, data_set: &str, schema_fingerprint: &str, purpose: &str) -> Self {
        let [data_set, schema_fingerprint, purpose] =
            [data_set, schema_fingerprint, purpose].map(str::to_owned);
        let (journal, reservation, state, begun) = (None, None, None, false);
        Self { ledger, data_set, schema_fingerprint, purpose, journal, reservation, state, begun }
    }

    /// The same for a run that keeps its releases in a journal at `place`, which has these digests so far, the newest last. A run
    /// that the ledger has under this token already is not charged again, and goes on only if the journal has the digest that
    /// the ledger has.
    #[must_use]
    pub fn journalled(self, token: Token, place: PathBuf, digests: Vec<String>) -> Self {
        Self { journal: Some(Journal { token, place, digests, recorded: None }), ..self }
    }

    /// Records that the journal is on the disk up to this digest. Only then may anybody see what follows from its releases.
    ///
    /// # Errors
    /// [`LedgerError::Overtaken`] if another process has gone on with the run, and if it cannot be recorded. Nothing may be
    /// released then.
    pub fn advance(&mut self, digest: &str) -> Result<(), LedgerError> {
        let (Some(journal), Some(reservation)) = (&mut self.journal, &self.reservation) else {
            return Ok(());
        };
        if !self.begun || self.state != Some(State::Started) || journal.recorded.as_deref() == Some(digest) {
            return Ok(());
        }
        self.ledger.advance(reservation, journal.recorded.as_deref(), digest)?;
        journal.recorded = Some(digest.to_owned());
        Ok(())
    }

    /// Where the charge is on its way, as far as this run has brought it or found it.
    pub fn state(&self) -> Option<State> {
        self.state
    }

    /// Whether the charge is started by this process and not settled, so that a release may be made.
    pub fn may_release(&self) -> bool {
        self.begun && self.state == Some(State::Started)
    }

    /// The number of the charge.
    pub fn id(&self) -> Option<i64> {
        self.reservation.as_ref().map(Reservation::id)
    }

    /// Gives back what was reserved, if nothing was started. Whether nothing is charged then. A commit may have succeeded that was
    /// reported as failed, so the ledger is looked at again.
    ///
    /// # Errors
    /// [`LedgerError`] if that cannot be recorded, or not be found out: it then stays charged, if it was.
    pub fn give_back(&mut self) -> Result<bool, LedgerError> {
        if let (None, Some(journal)) = (&self.reservation, &self.journal)
            && let Some((id, state)) = self.ledger.number(&journal.token)?
        {
            if state == State::Reserved {
                self.ledger.cancel(id)?;
            }
            return Ok(matches!(state, State::Reserved | State::Cancelled));
        }
        if let (Some(State::Reserved), Some(id)) = (self.state, self.id()) {
            match self.ledger.cancel(id) {
                // So it had been started after all.
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
        };
        let place = self.journal.as_ref().map(|journal| journal.place.as_path());
        let reserved = self.ledger.reserve_as(&token, place, &self.data_set, &request)?;
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
            (self.state, self.begun) = (Some(State::Started), true);
            return Ok(());
        }
        // A journal that is ahead of the ledger is from a crash between the two; one that is behind is not the newest.
        let furthest = |journal: &Journal| {
            journal.recorded.as_ref().is_some_and(|recorded| journal.digests.contains(recorded))
        };
        if !self.journal.as_ref().is_some_and(furthest) {
            return Err(LedgerError::Overtaken { id: reservation.id() });
        }
        self.begun = true;
        let gone_on = newest.map_or(Ok(()), |newest| self.advance(&newest));
        self.begun = gone_on.is_ok();
        gone_on
    }
}

fn failed(error: impl std::fmt::Display) -> budget::LedgerError {
    budget::LedgerError::Failed(error.to_string())
}

/// What the user can do something about is a refusal; the rest is a failure.
fn refusal(error: LedgerError) -> budget::LedgerError {
    match error {
        LedgerError::Refused(_)
        | LedgerError::OtherRun { .. }
        | LedgerError::Overtaken { .. }
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
                "{}: such a run cannot be charged to a data set\nhint: leave the ledger out, and keep the result to yourself",
                planned.guarantee
            )));
        };
        let plan_json = serde_json::to_string(planned).map_err(failed)?;
        self.reserve_new(amount(&cost), cost.adjacency.to_string(), plan_json).map_err(refusal)?;
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
            // By the same run, before a crash.
            return Ok(());
        }
        match spent.cost {
            // Nothing was released: what was set aside goes back.
            None => return self.give_back().map(drop).map_err(failed),
            Some(cost) => {
                let receipt = serde_json::to_string(spent.receipt).map_err(failed)?;
                self.ledger.settle(reservation, amount(&cost), &receipt).map_err(failed)?;
            }
        }
        self.state = Some(State::Settled);
        Ok(())
    }
}
