//! Amounts of budget, and the integer units that they are added in.
//!
//! Floating-point sums can fall below the true sum, and those of a privacy budget must not. So the ledger stores integer
//! multiples of a small fixed unit: integer addition is exact in any order. Each amount is rounded once, on conversion, and
//! always conservatively: charges up, caps down.
//!
//! The conversion interprets an `f64` as the shortest decimal that parses to it, which is the number a person wrote. So
//! `0.1` is exactly one tenth, and ten requests of `0.1` exactly fill a cap of `1`; as binary fractions they
//! would miss it by 5.6e-17. The two interpretations differ by at most half a unit in the last place of the `f64`,
//! which is below the resolution of the caller's own arithmetic.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::LedgerError;

/// One unit of epsilon is 10 to the minus this.
const EPSILON_DECIMALS: u32 = 12;
/// One unit of delta is 10 to the minus this.
const DELTA_DECIMALS: u32 = 18;
/// The largest epsilon, in units. Spent plus requested is at most twice this, which fits an `i64`.
const MAX_UNITS: i64 = 1_000_000_000_000_000_000;

/// An amount of budget or of privacy loss: an (epsilon, delta) pair.
///
/// Not validated by itself, since the domain depends on the use: a cap and a request need a positive epsilon, and the
/// actual cost of a run may be zero. Delta is always in `[0, 1)`.
///
/// The ledger counts epsilon in units of 1e-12 up to 1e6, and delta in units of 1e-18. Charges round up to a
/// unit and caps round down. An amount the ledger returns is exact below 1000 for epsilon and 1e-3 for delta; above, where
/// an `f64` has too few digits, it is rounded in the same direction: a request for the stated remainder always succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Amount {
    /// The bound on the privacy loss.
    pub epsilon: f64,
    /// Loosely, the probability that the bound fails.
    pub delta: f64,
}

impl Amount {
    /// The pair (`epsilon`, `delta`).
    pub const fn new(epsilon: f64, delta: f64) -> Self {
        Self { epsilon, delta }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("epsilon ")?;
        write_short(f, self.epsilon)?;
        f.write_str(", delta ")?;
        write_short(f, self.delta)
    }
}

/// Deltas are usually tiny, and `1e-5` is easier to read than `0.00001`.
fn write_short(f: &mut fmt::Formatter<'_>, x: f64) -> fmt::Result {
    if x != 0.0 && x.abs() < 1e-3 { write!(f, "{x:e}") } else { write!(f, "{x}") }
}

/// The use of an amount, which determines its domain and the direction of rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Cap,
    Request,
    Actual,
}

/// An amount in integer units, as stored, added and compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Units {
    pub epsilon: i64,
    pub delta: i64,
}

impl Units {
    /// Validates `amount` for its role and rounds it conservatively.
    pub fn read(amount: Amount, role: Role) -> Result<Self, LedgerError> {
        let direction = if role == Role::Cap { Direction::Down } else { Direction::Up };
        let Amount { epsilon, delta } = amount;

        let (name, expected) = match role {
            Role::Cap => ("the cap's epsilon", "a number from 1e-12 to 1e6"),
            Role::Request => ("the requested epsilon", "a number above 0 and at most 1e6"),
            Role::Actual => ("the epsilon spent", "a number from 0 to 1e6"),
        };
        let epsilon = to_units(epsilon, EPSILON_DECIMALS, direction)
            .filter(|&units| units <= MAX_UNITS && (units > 0 || role == Role::Actual))
            .ok_or(LedgerError::Amount { name, expected, value: epsilon })?;

        let (name, expected) = match role {
            Role::Cap => ("the cap's delta", "0 or a number from 1e-18 to below 1"),
            Role::Request => ("the requested delta", "a number from 0 to below 1"),
            Role::Actual => ("the delta spent", "a number from 0 to below 1"),
        };
        let delta = to_units(delta, DELTA_DECIMALS, direction)
            .filter(|&units| delta < 1.0 && (units > 0 || delta == 0.0))
            .ok_or(LedgerError::Amount { name, expected, value: delta })?;

        Ok(Self { epsilon, delta })
    }

    /// Converts to floating point, rounding down: for caps and remainders.
    pub fn at_most(self) -> Amount {
        Amount::new(at_most(self.epsilon, EPSILON_DECIMALS), at_most(self.delta, DELTA_DECIMALS))
    }

    /// Converts to floating point, rounding up: for requests, reservations and charges.
    pub fn at_least(self) -> Amount {
        Amount::new(at_least(self.epsilon, EPSILON_DECIMALS), at_least(self.delta, DELTA_DECIMALS))
    }

    /// Whether neither part is above that of `other`.
    pub fn fits_in(self, other: Self) -> bool {
        self.epsilon <= other.epsilon && self.delta <= other.delta
    }

    /// `self` minus `spent`, at least zero.
    pub fn minus(self, spent: Self) -> Self {
        let difference = |cap: i64, spent: i64| cap.saturating_sub(spent).max(0);
        Self { epsilon: difference(self.epsilon, spent.epsilon), delta: difference(self.delta, spent.delta) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// The shortest decimal of `x`, as an integer multiple of `10^-decimals`, rounded in `direction`.
///
/// `None` if `x` is negative, not finite, or too large to count.
fn to_units(x: f64, decimals: u32, direction: Direction) -> Option<i64> {
    if !x.is_finite() || x < 0.0 {
        return None;
    }
    // Rust prints the shortest decimal that reads back as x, here in the form 1.2345e-6: at most 17 digits.
    let text = format!("{:e}", x.abs());
    let (mantissa, exponent) = text.split_once('e')?;
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i128 = format!("{integer}{fraction}").parse().ok()?;
    let power = exponent.parse::<i64>().ok()? - i64::try_from(fraction.len()).ok()? + i64::from(decimals);

    let power_of_ten = u32::try_from(power.unsigned_abs()).ok().and_then(|p| 10_i128.checked_pow(p));
    let units = match (power >= 0, power_of_ten) {
        (true, Some(factor)) => digits.checked_mul(factor)?,
        (true, None) => return (digits == 0).then_some(0),
        (false, Some(divisor)) => {
            digits / divisor + i128::from(direction == Direction::Up && digits % divisor != 0)
        }
        (false, None) => i128::from(direction == Direction::Up && digits != 0),
    };
    i64::try_from(units).ok()
}

/// The largest `f64` near `units` that reads back as at most `units`.
fn at_most(units: i64, decimals: u32) -> f64 {
    let mut x = nearest(units, decimals);
    // One or two steps at most, and only for amounts of sixteen digits or more.
    while x > 0.0 && to_units(x, decimals, Direction::Up).is_none_or(|read| read > units) {
        x = x.next_down();
    }
    x
}

/// The smallest `f64` near `units` that reads back as at least `units`.
fn at_least(units: i64, decimals: u32) -> f64 {
    let mut x = nearest(units, decimals);
    while to_units(x, decimals, Direction::Down).is_some_and(|read| read < units) {
        x = x.next_up();
    }
    x
}

/// Both operands are exact below 2^53 units, and then the quotient is correctly rounded.
fn nearest(units: i64, decimals: u32) -> f64 {
    units as f64 / 10_f64.powi(decimals as i32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimals_are_read_as_they_are_written() {
        let read = |x, direction| to_units(x, EPSILON_DECIMALS, direction);
        for direction in [Direction::Up, Direction::Down] {
            assert_eq!(read(0.1, direction), Some(100_000_000_000));
            assert_eq!(read(0.3, direction), Some(300_000_000_000));
            assert_eq!(read(1.0, direction), Some(1_000_000_000_000));
            assert_eq!(read(1e-12, direction), Some(1));
            assert_eq!(read(123_456.789, direction), Some(123_456_789_000_000_000));
            assert_eq!(read(0.0, direction), Some(0));
            assert_eq!(read(-0.0, direction), Some(0));
            assert_eq!(to_units(1e-5, DELTA_DECIMALS, direction), Some(10_000_000_000_000));
        }
        // 0.1 + 0.2 is 0.30000000000000004 in binary: sixteen decimals do not fit in twelve.
        assert_eq!(read(0.1 + 0.2, Direction::Up), Some(300_000_000_001));
        assert_eq!(read(0.1 + 0.2, Direction::Down), Some(300_000_000_000));
        assert_eq!(read(f64::from_bits(1), Direction::Up), Some(1));
        assert_eq!(read(f64::from_bits(1), Direction::Down), Some(0));
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1e-300, -1.0, f64::MAX, 1e20] {
            assert_eq!(read(x, Direction::Up), None, "{x}");
        }
    }

    #[test]
    fn each_role_has_its_own_domain() {
        let ok = |epsilon, delta, role| Units::read(Amount::new(epsilon, delta), role).is_ok();
        for role in [Role::Cap, Role::Request, Role::Actual] {
            assert!(ok(1.0, 0.0, role) && ok(1e6, 1e-5, role) && ok(1e-12, 1e-18, role));
            for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -1e-300] {
                assert!(!ok(bad, 0.0, role) && !ok(1.0, bad, role), "{bad} as {role:?}");
            }
            assert!(!ok(1.0, 1.0, role) && !ok(1e6 + 1.0, 0.0, role));
        }
        assert!(!ok(0.0, 0.0, Role::Request) && !ok(0.0, 0.0, Role::Cap) && ok(0.0, 0.0, Role::Actual));
        // Below one unit: charged as one unit, and refused as a cap.
        assert!(ok(1e-13, 1e-19, Role::Request) && !ok(1e-13, 0.0, Role::Cap) && !ok(1.0, 1e-19, Role::Cap));
    }

    #[test]
    fn amounts_print_as_decimals() {
        assert_eq!(Amount::new(0.5, 1e-5).to_string(), "epsilon 0.5, delta 1e-5");
        assert_eq!(Amount::new(1.0, 0.0).to_string(), "epsilon 1, delta 0");
    }

    /// A million charges of each size; f64 addition would understate 1e-7 by 2e-13 and more.
    #[test]
    fn a_million_tiny_charges_add_up_exactly() {
        for (each, total) in [
            (1e-7, 100_000_000_000_i64), // 0.1 in all
            (1e-12, 1_000_000),
            (1e-15, 1_000_000), // below one unit: charged as one unit each
            (3.3e-9, 3_300_000_000),
        ] {
            let units = Units::read(Amount::new(each, 0.0), Role::Request).unwrap();
            let sum: i64 = (0..1_000_000).map(|_| units.epsilon).sum();
            assert_eq!(sum, total, "{each}");
        }
    }

    /// `x` as an exact multiple of 2^-80; needs 2^-27 <= x < 2^10.
    fn exact(x: f64) -> u128 {
        let mantissa = u128::from(x.to_bits() & ((1 << 52) - 1) | (1 << 52));
        let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1075;
        mantissa << (exponent + 80)
    }

    proptest! {
        /// Against the exact sum of the binary fractions, short of the half unit in the last place of each.
        #[test]
        fn sums_are_never_understated(charges in prop::collection::vec(1e-8..0.9_f64, 1..100)) {
            let units: i128 = charges
                .iter()
                .map(|&x| i128::from(Units::read(Amount::new(x, 0.0), Role::Request).unwrap().epsilon))
                .sum();
            let exact_sum: u128 = charges.iter().map(|&x| exact(x)).sum();
            // units / 1e12 >= truth / 2^80 * (1 - 2^-53), in integers: below 2^7 * 2^80 * 2^40.
            let exact_sum = exact_sum * 1_000_000_000_000;
            prop_assert!((units as u128) << 80 >= exact_sum - (exact_sum >> 53));
            // Nor overstated by more than a unit each.
            prop_assert!(((units - charges.len() as i128) as u128) << 80 <= exact_sum + (exact_sum >> 53));
        }

        #[test]
        fn caps_round_down_and_charges_up(epsilon in 1e-11..1e6_f64, delta in 1e-17..0.999_f64) {
            let amount = Amount::new(epsilon, delta);
            let cap = Units::read(amount, Role::Cap).unwrap();
            let charge = Units::read(amount, Role::Request).unwrap();
            prop_assert!(cap.fits_in(charge));
            prop_assert!(charge.epsilon - cap.epsilon <= 1 && charge.delta - cap.delta <= 1);
        }

        #[test]
        fn returned_amounts_convert_back_conservatively(epsilon in 1..=MAX_UNITS, delta in 0..MAX_UNITS) {
            let units = Units { epsilon, delta };
            // A request for the stated remainder fits, and a stated charge covers the actual one.
            if units.at_most().delta < 1.0 {
                prop_assert!(Units::read(units.at_most(), Role::Request).unwrap().fits_in(units));
            }
            let stated = units.at_least();
            prop_assert!(to_units(stated.epsilon, EPSILON_DECIMALS, Direction::Down).unwrap() >= epsilon);
            prop_assert!(to_units(stated.delta, DELTA_DECIMALS, Direction::Down).unwrap() >= delta);
        }

        #[test]
        fn amounts_of_few_digits_are_unchanged(thousandths in 1..100_000_i64) {
            let x = thousandths as f64 / 1000.0;
            let units = Units::read(Amount::new(x, 0.0), Role::Request).unwrap();
            prop_assert_eq!(units.at_most().epsilon, x);
            prop_assert_eq!(units.at_least().epsilon, x);
        }
    }
}
