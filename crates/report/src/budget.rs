//! What remains of the budget of a data set.

use reticent::{Account, Amount, Composition};
use reticent_accounting::rounded_up;

/// What remains of the budget of a data set, as its ledger has it, in one sentence.
#[must_use]
pub fn remaining(account: &Account) -> String {
    let (left, cap, runs) = (&account.remaining, &account.data_set.cap, runs(account));
    let runs = format!("{runs} run{}", if runs == 1 { "" } else { "s" });
    if account.composition == Some(Composition::Joint) {
        return format!(
            "data set {:?} has spent epsilon {} of {} at delta {}, after {runs}; a run of one Gaussian release fits with up to epsilon {} at delta {}",
            account.data_set.id,
            rounded_up(account.spent.epsilon),
            at_least(cap.epsilon),
            at_least(cap.delta),
            at_least(left.epsilon),
            at_least(left.delta),
        );
    }
    format!(
        "data set {:?} has epsilon {} of {} and delta {} of {} left, after {runs}",
        account.data_set.id,
        at_least(left.epsilon),
        at_least(cap.epsilon),
        at_least(left.delta),
        at_least(cap.delta),
    )
}

/// Charges that count: reserved, started and settled.
fn runs(account: &Account) -> u64 {
    let counts = &account.counts;
    counts.reserved + counts.started + counts.settled
}

/// Parts of the epsilon of a data set: spent by one fit, by all other runs, and what is left of the cap. A joint cost is less
/// than the sum of the costs of runs, so the part of one fit is then at most what it has spent.
pub(crate) fn parts(account: &Account, fit: f64) -> [f64; 3] {
    let Amount { epsilon: spent, .. } = account.spent;
    let others = (spent - fit).max(0.0);
    let left = match account.composition {
        Some(Composition::Joint) => (account.data_set.cap.epsilon - spent).max(0.0),
        _ => account.remaining.epsilon,
    };
    // Charges are rounded up to a unit of 1e-12: less than that is nobody's.
    [fit.min(spent), if others < 1e-9 { 0.0 } else { others }, left]
}

/// Five significant digits, rounded down; small numbers as deltas are written, such as 9e-5.
#[must_use]
pub fn at_least(value: f64) -> String {
    let text = rounded_down(value);
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x < 0.001 => format!("{x:e}"),
        _ => text,
    }
}

fn rounded_down(value: f64) -> String {
    if !(value > 0.0 && value.is_finite()) {
        return value.max(0.0).to_string();
    }
    let unit = 10f64.powf(value.log10().floor() - 4.0);
    // 9e-5 is no exact number of units in binary.
    let units = (value / unit * (1.0 + 1e-12)).floor();
    let digits = (4.0 - value.log10().floor()).clamp(0.0, 17.0) as usize;
    let text = format!("{:.digits$}", units * unit);
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_down() {
        for (value, text) in [
            (2.000_007_7, "2"),
            (1.999_999, "1.9999"),
            (0.123_456_7, "0.12345"),
            (3.0, "3"),
            (123_456.7, "123450"),
            (0.0, "0"),
            (9e-5, "0.00009"),
        ] {
            assert_eq!(rounded_down(value), text);
        }
        assert_eq!([9e-5, 1e-6, 0.0, 0.05].map(at_least), ["9e-5", "1e-6", "0", "0.05"]);
    }
}
