//! Ranges of the fields of plans.
//!
//! Plans are printed, edited and read back. Each has a `validate`, which its fit calls before the wall is built: a
//! value that is out of range, or inconsistent with other fields, is refused before anything is spent. Within these
//! ranges a fit terminates with a posterior. Its running time is estimated by the caller from the same fields.

use crate::budget::Adjacency;
use crate::wall::PlanError;
use std::fmt::Debug;
use std::ops::RangeInclusive;

/// A field of a plan that is out of range, or inconsistent with another one. Plans are public, so the message
/// contains the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} must be {expected}, not {found}")]
pub struct FieldError {
    /// The path of the field.
    pub field: String,
    /// The valid range, or the value required by another field.
    pub expected: String,
    /// The value in the plan.
    pub found: String,
}

impl From<FieldError> for PlanError {
    fn from(error: FieldError) -> Self {
        Self::Invalid { what: error.to_string(), fault: "nothing was released" }
    }
}

/// Range of the number of records.
pub const RECORDS: RangeInclusive<u64> = 1..=1 << 40;
/// Range of the number of releases.
pub const STEPS: RangeInclusive<u64> = 1..=1_000_000;
/// Range of noise multipliers, which is that of the wall.
pub const NOISE_MULTIPLIER: RangeInclusive<f64> = 1e-6..=1e9;
/// Range of clipping norms.
pub const CLIP: RangeInclusive<f64> = 1e-9..=1e9;
/// Range of prior variances, concentrations, rates and shapes.
pub const PRIOR: RangeInclusive<f64> = 1e-6..=1e6;

/// Refuses a number out of a range; one that is not finite is out of every range.
///
/// # Errors
/// [`FieldError`].
pub fn number(field: &str, value: f64, range: RangeInclusive<f64>) -> Result<(), FieldError> {
    if value.is_finite() && range.contains(&value) {
        return Ok(());
    }
    let expected = format!("a number from {} to {}", short(*range.start()), short(*range.end()));
    Err(FieldError { field: field.into(), expected, found: format!("{value:e}") })
}

/// Refuses an integer out of a range.
///
/// # Errors
/// [`FieldError`].
pub fn integer(field: &str, value: u64, range: RangeInclusive<u64>) -> Result<(), FieldError> {
    if range.contains(&value) {
        return Ok(());
    }
    let expected = format!("an integer from {} to {}", range.start(), range.end());
    Err(FieldError { field: field.into(), expected, found: value.to_string() })
}

/// Refuses a value that differs from the one required by other fields or the schema.
///
/// # Errors
/// [`FieldError`].
pub fn agrees<T: PartialEq + Debug>(field: &str, found: &T, expected: &T) -> Result<(), FieldError> {
    if found == expected {
        return Ok(());
    }
    let (expected, found) =
        (format!("{expected:?}, to be consistent with the rest of the plan"), format!("{found:?}"));
    Err(FieldError { field: field.into(), expected, found })
}

/// Refuses an empty batch, and one larger than the number of records.
///
/// # Errors
/// [`FieldError`].
pub fn batch(batch: Option<usize>, records: usize) -> Result<(), FieldError> {
    batch.map_or(Ok(()), |batch| integer("batch", batch as u64, 1..=records as u64))
}

/// Refuses an invalid $\varepsilon$ or $\delta$.
///
/// # Errors
/// [`FieldError`].
pub fn budget(epsilon: f64, delta: f64) -> Result<(), FieldError> {
    number("epsilon", epsilon, 1e-9..=1e6)?;
    number("delta", delta, 0.0..=1.0 - f64::EPSILON)
}

/// Refuses add/remove adjacency where the number of records has to be public.
///
/// # Errors
/// [`FieldError`].
pub(crate) fn replace_one(adjacency: Adjacency) -> Result<(), FieldError> {
    agrees("adjacency", &adjacency, &Adjacency::ReplaceOne)
}

/// Refuses hidden layers without units, and more of either than there is memory for.
///
/// # Errors
/// [`FieldError`].
pub fn hidden_layers(field: &str, units: &[usize]) -> Result<(), FieldError> {
    integer(&format!("the number of layers of {field}"), units.len() as u64, 0..=16)?;
    units.iter().try_for_each(|&units| integer(field, units as u64, 1..=1 << 20))
}

/// Refuses more or longer explanations than a reader needs.
///
/// # Errors
/// [`FieldError`].
pub fn reasons(why: &[String]) -> Result<(), FieldError> {
    integer("the number of entries of why", why.len() as u64, 0..=100)?;
    why.iter().try_for_each(|text| integer("the length of an entry of why", text.len() as u64, 0..=10_000))
}

/// A bound in short decimal or scientific notation.
fn short(x: f64) -> String {
    if x == 0.0 || (1e-3..1e6).contains(&x.abs()) { format!("{x}") } else { format!("{x:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_not_finite_are_in_no_range() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 2.5] {
            let error = number("clip", value, 0.0..=2.0).unwrap_err();
            assert!(error.to_string().starts_with("clip must be a number from 0 to 2, not "), "{error}");
        }
        assert!(number("clip", 2.0, 0.0..=2.0).is_ok());
        assert!(number("clip", f64::INFINITY, 0.0..=f64::INFINITY).is_err());
    }
}
