//! Settings of models, as callers write them, and the least budget.

use std::collections::BTreeMap;

use reticent_core::budget::Privacy;
use reticent_core::model::SettingValue;
use serde::Deserialize as _;
use serde_json::Value;

use crate::error::Error;

/// The least epsilon. The ledger counts in units of 1e-12, and a plan may cost a little less than it was asked for.
const MIN_EPSILON: f64 = 1e-6;

/// Settings by name.
pub(crate) type Settings = BTreeMap<String, SettingValue>;

/// A setting as it is written: a name, `=` and a value.
///
/// # Errors
/// [`Error`] if it is not of this form. Whether the model has such a setting is checked when a fit is planned.
pub fn parse_setting(text: &str) -> Result<(String, SettingValue), Error> {
    let parsed = text.split_once('=').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)));
    parsed.ok_or_else(|| {
        Error::settings(
            format!("{text:?} is not a setting"),
            "give `setting` a name and a value, such as components=3",
        )
    })
}

/// The settings in a plan file; nothing if it has none.
pub(crate) fn from_json(settings: &Value) -> Result<Option<Settings>, &'static str> {
    Option::deserialize(settings).map_err(|_| "its settings are not values by name")
}

/// Refuses an epsilon that the ledger cannot count.
pub(crate) fn check_epsilon(privacy: &Privacy) -> Result<(), Error> {
    let epsilon = privacy.epsilon();
    if epsilon < MIN_EPSILON {
        let message = format!("epsilon must be at least {MIN_EPSILON:e}, not {epsilon:e}");
        return Err(Error::settings(message, "less than that leaves nothing but noise of any table"));
    }
    Ok(())
}
