//! One column into its place in the rows.

use arrow_array::cast::AsArray;
use arrow_array::{AnyDictionaryArray, Array, ArrayRef, Float64Array};
use arrow_schema::DataType;

use super::Units;
use super::levels::{Levels, Words};
use super::stored::{keys, numbers, texts};
use super::value::{number, truth};
use crate::error::TableError;
use crate::schema::{Column, Kind, Missing, Scale};
use crate::words::each_word;

/// A column's place in the rows, and what is written there.
///
/// There is a code for every value, and none is an error: whether a fit fails must not depend on a record.
#[derive(Debug, Clone)]
pub(super) struct ColumnEncoder {
    offset: usize,
    code: Code,
}

#[derive(Debug, Clone)]
enum Code {
    Number {
        units: Units,
        limit: f64,
        missing: Substitute,
    },
    Flag {
        missing: Substitute,
        /// The sign of true: -1 if false is the positive class.
        sign: f64,
    },
    /// Two levels as -1 and 1.
    Side(Levels),
    /// Levels as one number each.
    OneHot(Levels),
    Counts {
        words: Words,
        missing: String,
    },
}

/// What is written where there is no value.
#[derive(Debug, Clone, Copy)]
struct Substitute {
    value: f64,
    /// Whether a second number is 1 there, and -1 elsewhere.
    indicator: bool,
}

impl Substitute {
    /// That of a rule; `encode` is for a value that is stated.
    fn new<T: Copy>(rule: Missing<T>, is_target: bool, encode: impl Fn(T) -> f64) -> Self {
        let value = match rule {
            Missing::Value(value) => encode(value),
            Missing::Absent => f64::NAN,
            Missing::Unstated if is_target => f64::NAN,
            Missing::Unstated | Missing::Indicator => 0.0,
        };
        Self { value, indicator: matches!(rule, Missing::Indicator) }
    }

    fn width(self) -> usize {
        if self.indicator { 2 } else { 1 }
    }

    fn write(self, value: Option<f64>, place: &mut [f64]) {
        place[0] = value.unwrap_or(self.value);
        if self.indicator {
            place[1] = side(value.is_none());
        }
    }
}

fn side(second: bool) -> f64 {
    if second { 1.0 } else { -1.0 }
}

impl ColumnEncoder {
    pub(super) fn new(column: &Column, is_target: bool, offset: usize) -> Result<Self, TableError> {
        let code = match column.kind() {
            Kind::Numeric { scale, missing } => {
                let units = Units::of(*scale)
                    .ok_or_else(|| TableError::NoBounds { column: column.name().to_owned() })?;
                // Without bounds a quotient may overflow.
                let limit = if matches!(scale, Scale::Bounds { .. }) { 1.0 } else { f64::MAX };
                let encode = |value: f64| units.encode(value).clamp(-limit, limit);
                Code::Number { units, limit, missing: Substitute::new(*missing, is_target, encode) }
            }
            Kind::Boolean { missing } => {
                let sign = if column.levels() == ["false", "true"] { 1.0 } else { -1.0 };
                Code::Flag { missing: Substitute::new(*missing, is_target, |flag| sign * side(flag)), sign }
            }
            Kind::Categorical { .. } => {
                let levels = Levels::new(column, is_target);
                if is_target && levels.count() == 2 { Code::Side(levels) } else { Code::OneHot(levels) }
            }
            Kind::Text { vocabulary, missing } => {
                Code::Counts { words: Words::new(vocabulary), missing: missing.clone().unwrap_or_default() }
            }
        };
        Ok(Self { offset, code })
    }

    /// Where its numbers begin in a row.
    pub(super) fn offset(&self) -> usize {
        self.offset
    }

    /// Numbers that it writes in each row.
    pub(super) fn width(&self) -> usize {
        match &self.code {
            Code::Number { missing, .. } | Code::Flag { missing, .. } => missing.width(),
            Code::Side(_) => 1,
            Code::OneHot(levels) => levels.count(),
            Code::Counts { words, .. } => words.count(),
        }
    }

    /// Writes the numbers of texts into rows of `width`, which hold zeros there.
    pub(super) fn encode_texts<'t>(
        &self,
        texts: impl Iterator<Item = Option<&'t [u8]>>,
        rows: &mut [f64],
        width: usize,
    ) {
        self.code.write_texts(texts, self.places(rows, width));
    }

    /// The same for an array of any type.
    pub(super) fn encode_array(&self, array: &ArrayRef, rows: &mut [f64], width: usize) {
        self.code.write_array(array, self.places(rows, width));
    }

    fn places<'r>(&self, rows: &'r mut [f64], width: usize) -> impl Iterator<Item = &'r mut [f64]> {
        let place = self.offset..self.offset + self.width();
        rows.chunks_exact_mut(width).map(move |row| &mut row[place.clone()])
    }
}

impl Code {
    fn write_texts<'r, 't>(
        &self,
        values: impl Iterator<Item = Option<&'t [u8]>>,
        places: impl Iterator<Item = &'r mut [f64]>,
    ) {
        match self {
            Self::Number { units, limit, missing } => {
                let encode = |value: f64| units.encode(value).clamp(-limit, *limit);
                for (text, place) in values.zip(places) {
                    missing.write(number(text).known().map(encode), place);
                }
            }
            Self::Flag { missing, sign } => {
                for (text, place) in values.zip(places) {
                    missing.write(truth(text).known().map(|flag| sign * side(flag)), place);
                }
            }
            Self::Side(levels) => {
                values.zip(places).for_each(|(text, place)| write_side(levels.code(text), place));
            }
            Self::OneHot(levels) => {
                values.zip(places).for_each(|(text, place)| write_one_hot(levels.code(text), place));
            }
            Self::Counts { words, missing } => {
                let mut lower = String::new();
                for (text, place) in values.zip(places) {
                    let text =
                        text.and_then(|text| std::str::from_utf8(text).ok()).filter(|text| !text.is_empty());
                    each_word(text.unwrap_or(missing), &mut lower, |word| {
                        if let Some(code) = words.code(word) {
                            place[code] += 1.0;
                        }
                    });
                }
            }
        }
    }

    fn write_array<'r>(&self, array: &ArrayRef, places: impl Iterator<Item = &'r mut [f64]>) {
        match self {
            Self::Number { units, limit, missing } => {
                let encode = |value: f64| units.encode(value).clamp(-limit, *limit);
                write_numbers(&numbers(array), places, encode, *missing);
            }
            Self::Side(levels) => write_levels(levels, array, places, write_side),
            Self::OneHot(levels) => write_levels(levels, array, places, write_one_hot),
            Self::Flag { missing, sign } if array.data_type() == &DataType::Boolean => {
                let flags = array.as_boolean().iter();
                let code = |flag: bool| sign * side(flag);
                flags.zip(places).for_each(|(flag, place)| missing.write(flag.map(code), place));
            }
            Self::Flag { .. } | Self::Counts { .. } => self.write_texts(texts(array).iter(), places),
        }
    }
}

fn write_side(code: Option<usize>, place: &mut [f64]) {
    place[0] = code.map_or(f64::NAN, |code| side(code == 1));
}

fn write_one_hot(code: Option<usize>, place: &mut [f64]) {
    match code {
        Some(code) => place[code] = 1.0,
        None => place.fill(f64::NAN),
    }
}

/// Writes one number in each place. Those that are not finite are missing.
fn write_numbers<'r>(
    values: &Float64Array,
    places: impl Iterator<Item = &'r mut [f64]>,
    encode: impl Fn(f64) -> f64,
    missing: Substitute,
) {
    let finite = |value: f64| if value.is_finite() { Some(encode(value)) } else { None };
    if values.null_count() == 0 {
        values.values().iter().zip(places).for_each(|(value, place)| missing.write(finite(*value), place));
    } else {
        values.iter().zip(places).for_each(|(value, place)| missing.write(value.and_then(finite), place));
    }
}

fn write_levels<'r>(
    levels: &Levels,
    array: &ArrayRef,
    places: impl Iterator<Item = &'r mut [f64]>,
    write: impl Fn(Option<usize>, &mut [f64]),
) {
    // A short dictionary is looked up once, a long one only where it is used.
    let short = |dictionary: &&dyn AnyDictionaryArray| dictionary.values().len() <= dictionary.len();
    if let Some(dictionary) = array.as_any_dictionary_opt().filter(short) {
        let codes: Vec<Option<usize>> =
            texts(dictionary.values()).iter().map(|text| levels.code(text)).collect();
        let (keys, missing) = (keys(dictionary), levels.code(None));
        for (key, place) in keys.iter().zip(places) {
            let code = key.and_then(|key| codes.get(key as usize).copied());
            write(code.unwrap_or(missing), place);
        }
    } else {
        texts(array).iter().zip(places).for_each(|(text, place)| write(levels.code(text), place));
    }
}
