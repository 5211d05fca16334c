use super::*;
use crate::chacha::{ChaCha, Rounds};
use crate::tables::{PART_BITS, SLOT_BITS, TABLES, tests::exact};
use num_bigint::BigInt;

fn side(purpose: u8) -> Stream {
    Stream::new(ChaCha::new(&[11; 8], &[purpose; 8], Rounds::Twelve))
}

impl Cell {
    fn screen(&self, h: usize, s: u64, v: u64) -> Option<bool> {
        let excess = self.excess(h, u128::from(s) << 64, u128::from(v) << 64, 3);
        (excess.unsigned_abs() > MARGIN).then_some(excess > 0)
    }

    fn decide(&self, h: usize, s: u128, v: u128) -> bool {
        self.excess(h, s, v, FULL_DEGREE) > 0
    }
}

/// The largest V that `decide` accepts, by bisection.
fn threshold(cell: &Cell, h: usize, s: u128) -> u128 {
    let (mut low, mut high) = (0, u128::MAX);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        *if cell.decide(h, s, middle) { &mut low } else { &mut high } = middle;
    }
    low
}

#[test]
fn decide_is_within_its_error() {
    // The accepted density V * envelope / 2^72 against the true remainder, at points of every cell.
    let mut side = side(1);
    let unit = SLOT_BITS + PART_BITS;
    let bound = exact::ratio(1, 117);
    for (h, cell) in TABLES.cells.iter().enumerate() {
        let s = match h % 3 {
            0 => 0,
            1 => u128::MAX,
            _ => u128::from(side.u64()) << 64 | u128::from(side.u64()),
        };
        if !cell.decide(h, s, 0) {
            continue; // a remainder below the error bound
        }
        let accepted = (BigInt::from(threshold(cell, h, s)) * cell.envelope) << (exact::BITS - 128 - 72);
        let taper = (exact::ratio(u128::from(cell.taper), unit) * s) >> 128u32;
        let truth = exact::cell_density(h, s) - exact::ratio(u128::from(cell.covered), unit) + taper;
        let error = BigInt::from((accepted - truth).magnitude().clone());
        assert!(error < bound, "cell {h}");
    }
}

#[test]
fn screen_never_contradicts_decide() {
    // Next to the threshold, where a wrong margin would show; the further bits oppose the result of the screening test.
    let (mut side, mut settled, mut unsettled) = (side(2), 0, 0);
    for _ in 0..6 {
        for (h, cell) in TABLES.cells.iter().enumerate() {
            let s = side.u64();
            let v = (threshold(cell, h, u128::from(s) << 64) >> 64) as u64;
            // An eighth of the margin in the difference is this much of V.
            let eighth = (1u128 << 101) / u128::from(cell.envelope);
            for eighths in [0, 1, 2, 4, 6, 7, 9, 12, 17, 1000] {
                let Ok(away) = u64::try_from(eighth * eighths) else { continue };
                for (v, clipped) in [v.overflowing_sub(away), v.overflowing_add(away)] {
                    if clipped {
                        continue;
                    }
                    let Some(accepted) = cell.screen(h, s, v) else {
                        unsettled += 1;
                        assert!(eighths < 17, "cell {h} is unsettled {eighths} eighths from its threshold");
                        continue;
                    };
                    settled += 1;
                    for low in [0, u64::MAX] {
                        let long = |x: u64, low: u64| u128::from(x) << 64 | u128::from(low);
                        assert_eq!(cell.decide(h, long(s, low), long(v, low)), accepted, "cell {h}");
                        assert_eq!(cell.decide(h, long(s, low), long(v, !low)), accepted, "cell {h}");
                    }
                }
            }
        }
    }
    assert!(settled > 10_000 && unsettled > 10_000, "{settled} settled, {unsettled} not");
}

#[test]
fn level_three_is_the_same_when_every_point_is_decided_exactly() {
    let (mut fast, mut slow, mut unsettled) = (side(3), side(3), 0);
    for _ in 0..200_000 {
        let expected = loop {
            let u = slow.u64();
            let h = TABLES.cumulated.partition_point(|&c| c <= u);
            if h == CELLS {
                continue;
            }
            let (s, v) = (slow.u64(), slow.u64());
            let settled = TABLES.cells[h].screen(h, s, v).is_some();
            unsettled += usize::from(!settled);
            let mut longer = |x| u128::from(x) << 64 | if settled { 0 } else { slow.u64().into() };
            if TABLES.cells[h].decide(h, longer(s), longer(v)) {
                break (h as u16, s);
            }
        };
        assert_eq!(TABLES.draw_remainder(&mut fast), expected);
    }
    assert!((1..200).contains(&unsettled), "{unsettled} unsettled"); // 2^-13 of 400,000 attempts is 49
}

proptest::proptest! {
    /// The floor of a product, and $e^{-y}$ within the 3 units assumed by the error bounds.
    #[test]
    fn fixed_point_errors_are_within_their_bounds(a: u128, b: u128, y in 0u128..=1 << 126) {
        let product: BigInt = (BigInt::from(a) * b) >> 128u32;
        proptest::prop_assert_eq!(BigInt::from(mul_high(a, b)), product);
        let error = exact::exp_neg(&exact::ratio(y, 128)) - exact::ratio(exp_neg(y, FULL_DEGREE), 128);
        proptest::prop_assert!(error.magnitude() < exact::ratio(4, 128).magnitude()); // 1 is 2^128 - 1 units
    }
}
