//! Plans of fits without privacy.

use serde_json::Value;

/// Fields of a plan that only concern privacy.
const ABOUT_PRIVACY: [&str; 8] =
    ["delta", "laplace", "mechanism", "adjacency", "sensitivity", "expected", "expected_sd", "why"];

/// Parts of the names of such fields.
const IN_NAMES: [&str; 3] = ["epsilon", "multiplier", "_noise"];

/// A plan without the fields that concern privacy, for the file of a fit without it. It cannot be run again.
///
/// Several models plan a fit without privacy as for a large budget. Neither that budget nor its noise took part in
/// the fit.
#[must_use]
pub fn without_privacy(plan: Value) -> Value {
    match plan {
        Value::Object(entries) => {
            let private =
                |name: &str| ABOUT_PRIVACY.contains(&name) || IN_NAMES.iter().any(|part| name.contains(part));
            let kept = entries.into_iter().filter(|(name, _)| !private(name));
            Value::Object(kept.map(|(name, value)| (name, without_privacy(value))).collect())
        }
        Value::Array(items) => items.into_iter().map(without_privacy).collect(),
        other => other,
    }
}
