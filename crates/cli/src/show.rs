//! `reticent show`

use std::path::PathBuf;

use reticent::SavedModel;
use reticent_report::text;

use crate::balance::BalanceArgs;
use crate::output::{self, Failure};

/// Show a model file: a summary of the posterior, and the receipt.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  reticent show model.reticent")]
pub(crate) struct Args {
    /// The model file.
    model: PathBuf,
    #[command(flatten)]
    balance: BalanceArgs,
    /// Print everything but the arrays as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<String, Failure> {
    let model = SavedModel::load(&args.model)?;
    let account = args.balance.account(&model)?;
    if !args.json {
        return Ok(text::model(&model, account.as_ref())?);
    }
    let mut header = serde_json::to_value(model.header()).unwrap_or_default();
    header["parameters"] = serde_json::to_value(model.summary()?).unwrap_or_default();
    if let Some(check) = model.residual_check() {
        header["residuals"] = serde_json::to_value(check).unwrap_or_default();
    }
    if let Some(account) = account {
        header["account"] = serde_json::to_value(account).unwrap_or_default();
    }
    Ok(output::json(&header))
}
