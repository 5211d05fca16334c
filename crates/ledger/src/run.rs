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
}

impl Run {
    /// A run on `data_set`, for a stated purpose.
    pub fn new(ledger: Ledger, data_set: &str, schema_fingerprint: &str, purpose: &str) -> Self {
        let [data_set, schema_fingerprint, purpose] =
            [data_set, schema_fingerprint, purpose].map(str::to_owned);
        Self { ledger, data_set, schema_fingerprint, purpose, reservation: None }
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
        let request = Request {
            amount: amount(&cost),
            schema_fingerprint: self.schema_fingerprint.clone(),
            adjacency: cost.adjacency.to_string(),
            purpose: self.purpose.clone(),
            plan_json: serde_json::to_string(planned).map_err(failed)?,
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
        let reservation = self.reservation.as_ref().ok_or_else(|| failed("nothing is reserved"))?;
        self.ledger.start(reservation).map_err(failed)
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
