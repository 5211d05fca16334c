//! Plans of fits without privacy.

use serde_json::Value;

/// Parts of a plan that are about privacy alone.
const ABOUT_PRIVACY: [&str; 8] =
    ["delta", "laplace", "mechanism", "adjacency", "sensitivity", "expected", "expected_sd", "why"];

/// And parts of their names.
const IN_NAMES: [&str; 3] = ["epsilon", "multiplier", "_noise"];

/// A plan without what is about privacy: what a file may state of a fit that had none. It cannot be run again.
///
/// Several models choose the plan of a fit without privacy as if for a large budget. Neither that budget nor the noise that
/// follows from it took part in the fit.
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
