//! Mutations of bytes.

use crate::Dice;

/// Maximum length of an input.
pub(crate) const MAX_LENGTH: usize = 1 << 16;

/// Edge cases for parsers of numbers.
const NUMBERS: [&[u8]; 14] = [
    b"0",
    b"-0",
    b"-1",
    b"1e308",
    b"1e-320",
    b"1e999",
    b"NaN",
    b"inf",
    b"18446744073709551616",
    b"9223372036854775807",
    b"4294967296",
    b"0.1e",
    b"000000000000000000000001",
    b"1_000",
];

/// Applies a few edits; `tokens` are fragments of the format.
pub(crate) fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice, tokens: &[&[u8]]) {
    for _ in 0..=dice.below(4) {
        edit(bytes, dice, tokens);
    }
    bytes.truncate(MAX_LENGTH);
}

/// Edits without a change of length, for parts that are referred to by position.
pub(crate) fn mutate_in_place(bytes: &mut [u8], dice: &mut Dice) {
    if bytes.is_empty() {
        return;
    }
    for _ in 0..=dice.below(4) {
        let at = dice.below(bytes.len());
        match dice.below(4) {
            0 => bytes[at] = dice.number() as u8,
            1 => bytes[at] ^= 1 << dice.below(8),
            2 => extreme(bytes, at, dice),
            _ => {
                let from = dice.below(bytes.len());
                let length = dice.below(32).min(bytes.len() - at.max(from));
                bytes.copy_within(from..from + length, at);
            }
        }
    }
}

fn edit(bytes: &mut Vec<u8>, dice: &mut Dice, tokens: &[&[u8]]) {
    let length = bytes.len();
    let at = dice.below(length + 1);
    let some = 1 + dice.below(32);
    match dice.below(10) {
        0 if at < length => bytes[at] = dice.number() as u8,
        1 if at < length => bytes[at] ^= 1 << dice.below(8),
        2 => bytes.insert(at, dice.number() as u8),
        3 => drop(bytes.drain(at..(at + some).min(length))),
        4 if dice.below(4) == 0 => bytes.truncate(at),
        5 => {
            let from = dice.below(length + 1);
            let part = bytes[from..(from + some).min(length)].to_vec();
            bytes.splice(at..at, part);
        }
        6 if !tokens.is_empty() => drop(bytes.splice(at..at, dice.pick(tokens).iter().copied())),
        7 if !tokens.is_empty() => {
            let token = *dice.pick(tokens);
            bytes.splice(at..(at + token.len()).min(length), token.iter().copied());
        }
        8 => extreme(bytes, at, dice),
        _ => number(bytes, at, dice),
    }
}

/// Overwrites one to eight bytes by an extreme integer.
fn extreme(bytes: &mut [u8], at: usize, dice: &mut Dice) {
    let value = *dice.pick(&[
        0,
        1,
        u64::MAX,
        i64::MAX as u64,
        i64::MIN as u64,
        0x7fff_ffff,
        0x8000_0000,
        0x7fff_7fff_7fff_7fff,
    ]);
    let width = (1 << dice.below(4)).min(bytes.len() - at.min(bytes.len()));
    let value = value.to_le_bytes();
    bytes.iter_mut().skip(at).zip(&value[..width]).for_each(|(byte, new)| *byte = *new);
}

/// Replaces the digits after `at` by another number.
fn number(bytes: &mut Vec<u8>, at: usize, dice: &mut Dice) {
    let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|offset| at + offset) else {
        return;
    };
    let end = bytes[start..]
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .map_or(bytes.len(), |offset| start + offset);
    bytes.splice(start..end, dice.pick(&NUMBERS).iter().copied());
}
