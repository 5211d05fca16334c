//! What remains of the budget of the data set that a model was charged to, for `show` and `report`.

use std::path::PathBuf;

use reticent::{Account, SavedModel, Session};

use crate::output::Failure;

/// The ledger of a fit.
#[derive(clap::Args)]
pub(crate) struct BalanceArgs {
    /// State what remains of the budget of the data set in this ledger, which the fit was charged to.
    #[arg(long, value_name = "FILE")]
    ledger: Option<PathBuf>,
}

impl BalanceArgs {
    /// The account of the data set that the receipt names.
    pub(crate) fn account(&self, model: &SavedModel) -> Result<Option<Account>, Failure> {
        let Some(ledger) = &self.ledger else { return Ok(None) };
        let Some(data_set) = model.data_set() else {
            let hint = "leave --ledger out: its receipt names no data set";
            return Err(Failure::failed("the model was charged to no ledger", Some(hint.to_owned())));
        };
        Ok(Some(Session::open(ledger, data_set)?.account()?))
    }
}
