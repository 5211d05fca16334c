//! Public texts, numbered: the levels of a category, the words of a vocabulary.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::value::{Value, number, truth_word};
use crate::schema::{Column, Kind};

/// A fixed hash will do: no record ever adds to the table.
type Codes<K> = HashMap<K, usize, FixedState>;

fn numbered<'t>(texts: impl IntoIterator<Item = &'t str>) -> Codes<Box<[u8]>> {
    texts.into_iter().enumerate().map(|(code, text)| (text.as_bytes().into(), code)).collect()
}

/// How a value is found among the levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Missing,
    /// There is a value, and it is no level.
    Unknown,
    Level(usize),
}

/// The levels of a column.
///
/// Values match by what they are, not by how they are written: first by their text; then as numbers, so that `1`, `1.0`
/// and `1e0` are one level; then `true`, `True` and `TRUE` are one. A number that two levels have, such as the
/// codes `250.0` and `250.00`, is found by its text alone.
#[derive(Debug, Clone)]
pub(crate) struct Levels {
    texts: Codes<Box<[u8]>>,
    /// By the bits of the number.
    numbers: Codes<u64>,
    truths: [Option<usize>; 2],
    unknown: Option<usize>,
    missing: Option<usize>,
}

impl Levels {
    /// Those of a categorical column. Where nothing is stated, a value counts as the first level, or as none in a target.
    pub(crate) fn new(column: &Column, is_target: bool) -> Self {
        let names = column.levels();
        let texts = numbered(names.iter().copied());
        let (mut numbers, mut truths) = (HashMap::<u64, Option<usize>>::new(), [Vec::new(), Vec::new()]);
        for (code, name) in names.iter().enumerate() {
            if let Value::Known(number) = number(Some(name.as_bytes())) {
                numbers.entry(key(number)).and_modify(|code| *code = None).or_insert(Some(code));
            }
            if let Some(truth) = truth_word(name.as_bytes()) {
                truths[usize::from(truth)].push(code);
            }
        }
        let numbers = numbers.into_iter().filter_map(|(number, code)| Some((number, code?))).collect();
        let truths = truths.map(|codes| if let [code] = codes[..] { Some(code) } else { None });
        let (stated_unknown, stated_missing) = match column.kind() {
            Kind::Categorical { unknown, missing, .. } => (unknown.as_ref(), missing.as_ref()),
            _ => (None, None),
        };
        let code = |level: &String| texts.get(level.as_bytes()).copied();
        let (unknown, missing) = (stated_unknown.and_then(code), stated_missing.and_then(code));
        let (unknown, missing) = match is_target {
            // A record whose target is missing is no record of a class.
            true => (unknown.or(missing), missing),
            false => (unknown.or(missing).or(Some(0)), missing.or(unknown).or(Some(0))),
        };
        Self { texts, numbers, truths, unknown, missing }
    }

    pub(super) fn count(&self) -> usize {
        self.texts.len()
    }

    pub(crate) fn place(&self, text: Option<&[u8]>) -> Place {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Place::Missing };
        if let Some(&code) = self.texts.get(text) {
            return Place::Level(code);
        }
        let by_number = || match number(Some(text)) {
            Value::Known(number) if !self.numbers.is_empty() => self.numbers.get(&key(number)).copied(),
            _ => None,
        };
        let by_truth = || truth_word(text).and_then(|truth| self.truths[usize::from(truth)]);
        match by_number().or_else(by_truth) {
            Some(code) => Place::Level(code),
            None if std::str::from_utf8(text).is_err() => Place::Missing,
            None => Place::Unknown,
        }
    }

    /// The code of a value; none for a target that is not known.
    pub(super) fn code(&self, text: Option<&[u8]>) -> Option<usize> {
        match self.place(text) {
            Place::Level(code) => Some(code),
            Place::Unknown => self.unknown,
            Place::Missing => self.missing,
        }
    }
}

/// The same bits for the same number.
fn key(number: f64) -> u64 {
    if number == 0.0 { 0 } else { number.to_bits() }
}

/// Public words.
#[derive(Debug, Clone)]
pub(super) struct Words {
    codes: Codes<Box<[u8]>>,
    /// Which lengths those have that begin with each byte, as bits: most words of a text need not be looked up then.
    lengths: Box<[u64; 256]>,
}

impl Words {
    pub(super) fn new(vocabulary: &[String]) -> Self {
        let mut lengths = Box::new([0; 256]);
        for word in vocabulary {
            let (first, bit) = Self::mark(word);
            lengths[first] |= bit;
        }
        Self { codes: numbered(vocabulary.iter().map(String::as_str)), lengths }
    }

    pub(super) fn count(&self) -> usize {
        self.codes.len()
    }

    fn mark(word: &str) -> (usize, u64) {
        (word.bytes().next().map_or(0, usize::from), 1 << word.len().min(63))
    }

    pub(super) fn code(&self, word: &str) -> Option<usize> {
        let (first, bit) = Self::mark(word);
        if self.lengths[first] & bit == 0 { None } else { self.codes.get(word.as_bytes()).copied() }
    }
}
