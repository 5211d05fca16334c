//! Caps are exact to the last unit. (Unit tests of the arithmetic are in `amount.rs`.)

use proptest::prelude::*;
use reticent_ledger::{Amount, LedgerError};

use crate::spender::{request, with_cap};

#[test]
fn requests_that_exactly_fill_the_cap_are_granted() {
    // In binary, ten times 0.1 is not 1 and ten times 1e-6 is not 1e-5.
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    for _ in 0..10 {
        let _ = ledger.reserve("trial", &request(0.1, 1e-6)).unwrap();
    }
    let account = ledger.account("trial").unwrap();
    assert_eq!(account.spent, Amount::new(1.0, 1e-5));
    assert_eq!(account.remaining, Amount::new(0.0, 0.0));
    assert!(matches!(ledger.reserve("trial", &request(1e-12, 0.0)), Err(LedgerError::Refused(_))));
}

#[test]
fn one_unit_above_the_cap_is_refused_in_either_part() {
    let (_folder, _path, mut ledger) = with_cap(0.3, 1e-6);
    for (epsilon, delta) in [(0.300000000001, 1e-6), (0.1 + 0.2, 1e-6), (0.3, 1.000000000001e-6)] {
        let refused = ledger.reserve("trial", &request(epsilon, delta));
        assert!(matches!(refused, Err(LedgerError::Refused(_))), "{epsilon}, {delta}");
    }
    let _ = ledger.reserve("trial", &request(0.3, 1e-6)).unwrap();
}

#[test]
fn settling_refunds_the_difference_exactly() {
    let (_folder, _path, mut ledger) = with_cap(1.0, 1e-5);
    for _ in 0..3 {
        let reservation = ledger.reserve("trial", &request(0.7, 1e-6)).unwrap();
        ledger.start(&reservation).unwrap();
        ledger.settle(&reservation, Amount::new(0.1, 1e-7), "{}").unwrap();
    }
    assert_eq!(ledger.account("trial").unwrap().remaining, Amount::new(0.7, 9.7e-6));
    let _ = ledger.reserve("trial", &request(0.7, 9.7e-6)).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// The stated remainder can be reserved after any charges, and nothing more afterwards.
    #[test]
    fn the_stated_remainder_can_be_reserved(
        // Up to fifteen digits, where an f64 states a sum exactly.
        cap in (1e-6..1e3_f64, 1e-12..1e-3_f64),
        parts in prop::collection::vec((1e-9..0.4_f64, 0.0..0.4_f64), 0..5),
    ) {
        let (_folder, _path, mut ledger) = with_cap(cap.0, cap.1);
        for part in parts {
            match ledger.reserve("trial", &request(cap.0 * part.0, cap.1 * part.1)) {
                Ok(reservation) => prop_assert!(reservation.reserved().epsilon >= cap.0 * part.0),
                Err(LedgerError::Refused(_)) => {}
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            }
        }
        let before = ledger.account("trial").unwrap();
        prop_assert!(before.remaining.epsilon > 0.0);
        let _ = ledger.reserve("trial", &request(before.remaining.epsilon, before.remaining.delta)).unwrap();
        let after = ledger.account("trial").unwrap();
        prop_assert!(after.spent.epsilon <= cap.0 && after.spent.delta <= cap.1, "{:?}", after);
    }
}
