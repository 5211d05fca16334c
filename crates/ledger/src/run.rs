//! The ledger as the wall meets it: one run, charged to one data set.

use reticent::budget::{self, Request as Planned, Spent, Ticket};

use crate::{Amount, Ledger, LedgerError, Request, Reservation};

/// A run that is charged to a data set.
///
/// Only runs with a guarantee can be charged: one without noise or with a fixed seed is refused here.
pub struct Run {
    ledger: Ledger,
    data_set: String,
    schema_fingerprint: String,
    purpose: String,
    reservation: Option<Reservation>,
    /// The number and token of a run that was stopped, and goes on with this.
    stopped: Option<(i64, String)>,
    plan_json: String,
    started: bool,
}

impl Run {
    /// A run on `data_set`, for a stated purpose.
    pub fn new(ledger: Ledger, data_set: &str, schema_fingerprint: &str, purpose: &str) -> Self {
        let [data_set, schema_fingerprint, purpose] =
            [data_set, schema_fingerprint, purpose].map(str::to_owned);
        let (reservation, stopped, plan_json, started) = (None, None, String::new(), false);
        Self { ledger, data_set, schema_fingerprint, purpose, reservation, stopped, plan_json, started }
    }

    /// The same, going on with a run that was [set aside](budget::Ledger::set_aside). It is not charged again.
    #[must_use]
    pub fn resuming(self, id: i64, secret: String) -> Self {
        Self { stopped: Some((id, secret)), ..self }
    }
}

fn failed(error: impl std::fmt::Display) -> budget::LedgerError {
    budget::LedgerError::Failed(error.to_string())
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
        self.plan_json = serde_json::to_string(planned).map_err(failed)?;
        if let Some((id, _)) = &self.stopped {
            return Ok(Ticket(id.to_string()));
        }
        let request = Request {
            amount: amount(&cost),
            schema_fingerprint: self.schema_fingerprint.clone(),
            adjacency: cost.adjacency.to_string(),
            purpose: self.purpose.clone(),
            plan_json: self.plan_json.clone(),
        };
        let reservation = self.ledger.reserve(&self.data_set, &request).map_err(|error| match error {
            LedgerError::Refused(refusal) => budget::LedgerError::Refused(refusal.to_string()),
            other => failed(other),
        })?;
        let ticket = Ticket(reservation.id().to_string());
        self.reservation = Some(reservation);
        Ok(ticket)
    }

    fn start(&mut self, _: &Ticket) -> Result<(), budget::LedgerError> {
        if let Some((id, secret)) = self.stopped.take() {
            let resumed = self.ledger.resume(&self.data_set, id, &secret, &self.plan_json);
            let resumed = resumed.map_err(|error| match error {
                LedgerError::UnknownReservation { .. } | LedgerError::WrongState { .. } => {
                    budget::LedgerError::Refused(
                        "a run that was stopped goes on once, with the plan it had\nhint: start anew"
                            .to_owned(),
                    )
                }
                other => failed(other),
            })?;
            self.reservation = Some(resumed);
        } else {
            let reservation = self.reservation.as_ref().ok_or_else(|| failed("nothing is reserved"))?;
            self.ledger.start(reservation).map_err(failed)?;
        }
        self.started = true;
        Ok(())
    }

    fn set_aside(&mut self) -> Option<(i64, String)> {
        let reservation = self.reservation.as_ref().filter(|_| self.started)?;
        Some((reservation.id(), reservation.token().to_owned()))
    }

    fn settle(&mut self, _: Ticket, spent: Spent<'_>) -> Result<(), budget::LedgerError> {
        let reservation = self.reservation.take().ok_or_else(|| failed("nothing is reserved"))?;
        let settled = match spent.cost {
            // Nothing was released: what was set aside goes back.
            None => self.ledger.cancel(reservation.id()),
            Some(cost) => {
                let receipt = serde_json::to_string(spent.receipt).map_err(failed)?;
                self.ledger.settle(&reservation, amount(&cost), &receipt)
            }
        };
        settled.map_err(failed)
    }
}
