//! One column into its place in the rows.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, StringArray};
use arrow_cast::cast;
use arrow_cast::parse::Parser;
use arrow_schema::DataType;
use foldhash::fast::FixedState;

use super::Units;
use crate::error::TableError;
use crate::schema::{Column, Kind, Scale};
use crate::source::{Format, Found};
use crate::words::each_word;

/// Public texts, numbered. A fixed hash will do: no record ever adds to the table.
type Codes = HashMap<String, usize, FixedState>;

/// Why a column could not be encoded. There is no value in it, and no row.
pub(crate) enum Fault {
    Missing,
    Unknown,
    Type { expected: &'static str, found: &'static str },
}

impl Fault {
    pub(crate) fn at(self, file: &Path, column: &str) -> TableError {
        let (file, column) = (file.to_owned(), column.to_owned());
        match self {
            Self::Missing => TableError::Missing { file, column },
            Self::Unknown => TableError::Unknown { file, column },
            Self::Type { expected, found } => TableError::Type { file, column, expected, found },
        }
    }
}

/// A column's place in the rows, and what is written there.
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
        missing: Option<f64>,
    },
    Flag {
        missing: Option<f64>,
    },
    /// Two levels as -1 and 1.
    Side(Levels),
    /// Levels as one number each.
    OneHot(Levels),
    Counts {
        words: Words,
        missing: Option<String>,
    },
}

#[derive(Debug, Clone)]
struct Levels {
    codes: Codes,
    unknown: Option<usize>,
    missing: Option<usize>,
}

/// Public words, numbered.
#[derive(Debug, Clone)]
struct Words {
    codes: Codes,
    /// Which lengths those have that begin with each byte, as bits: most words of a text need not be looked up then.
    lengths: Box<[u64; 256]>,
}

impl Words {
    fn new(vocabulary: &[String]) -> Self {
        let mut lengths = Box::new([0; 256]);
        for word in vocabulary {
            let (first, bit) = Self::mark(word);
            lengths[first] |= bit;
        }
        Self { codes: numbered(vocabulary.iter().map(String::as_str)), lengths }
    }

    fn mark(word: &str) -> (usize, u64) {
        (word.bytes().next().map_or(0, usize::from), 1 << word.len().min(63))
    }

    fn code(&self, word: &str) -> Option<usize> {
        let (first, bit) = Self::mark(word);
        if self.lengths[first] & bit == 0 { None } else { self.codes.get(word).copied() }
    }
}

fn numbered<'t>(texts: impl IntoIterator<Item = &'t str>) -> Codes {
    texts.into_iter().enumerate().map(|(code, text)| (text.to_owned(), code)).collect()
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
                // Without bounds a quotient may overflow, and rows are finite.
                let limit = if matches!(scale, Scale::Bounds { .. }) { 1.0 } else { f64::MAX };
                let missing = missing.map(|value| units.encode(value).clamp(-limit, limit));
                Code::Number { units, limit, missing }
            }
            Kind::Boolean { missing } => Code::Flag { missing: missing.map(side) },
            Kind::Categorical { unknown, missing, .. } => {
                let codes = numbered(column.levels());
                let code =
                    |level: &Option<String>| level.as_ref().and_then(|level| codes.get(level).copied());
                let (unknown, missing) = (code(unknown), code(missing));
                let two = is_target && codes.len() == 2;
                let levels = Levels { codes, unknown, missing };
                if two { Code::Side(levels) } else { Code::OneHot(levels) }
            }
            Kind::Text { vocabulary, missing } => {
                Code::Counts { words: Words::new(vocabulary), missing: missing.clone() }
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
            Code::Number { .. } | Code::Flag { .. } | Code::Side(_) => 1,
            Code::OneHot(levels) => levels.codes.len(),
            Code::Counts { words, .. } => words.codes.len(),
        }
    }

    /// Writes its numbers into rows of `width`, which hold zeros there.
    pub(super) fn encode(
        &self,
        array: &ArrayRef,
        format: Format,
        rows: &mut [f64],
        width: usize,
    ) -> Result<(), Fault> {
        let places = rows.chunks_exact_mut(width).map(|row| &mut row[self.offset..]);
        match &self.code {
            Code::Number { units, limit, missing } => {
                let encode = |value: f64| units.encode(value).clamp(-limit, *limit);
                match numbers(array, format)? {
                    Numbers::Typed(values) => write_numbers(&values, places, encode, *missing),
                    Numbers::Written(texts) => write_written(texts, places, encode, *missing),
                }
            }
            Code::Flag { missing } => {
                let flags = flags(array, format)?;
                for (flag, place) in flags.iter().zip(places) {
                    place[0] = flag.map(side).or(*missing).ok_or(Fault::Missing)?;
                }
                Ok(())
            }
            Code::Side(levels) => levels.each(array, places, |place, code| place[0] = side(code == 1)),
            Code::OneHot(levels) => levels.each(array, places, |place, code| place[code] = 1.0),
            Code::Counts { words, missing } => {
                let mut lower = String::new();
                for (text, place) in texts(array)?.iter().zip(places) {
                    let text = text.or(missing.as_deref()).ok_or(Fault::Missing)?;
                    each_word(text, &mut lower, |word| {
                        if let Some(code) = words.code(word) {
                            place[code] += 1.0;
                        }
                    });
                }
                Ok(())
            }
        }
    }
}

/// Writes one number in each place. Those that are not finite are missing.
fn write_numbers<'r>(
    values: &Float64Array,
    places: impl Iterator<Item = &'r mut [f64]>,
    encode: impl Fn(f64) -> f64,
    missing: Option<f64>,
) -> Result<(), Fault> {
    let finish = |value: Option<f64>| match value.filter(|value| value.is_finite()) {
        Some(value) => Ok(encode(value)),
        None => missing.ok_or(Fault::Missing),
    };
    if values.null_count() == 0 {
        for (value, place) in values.values().iter().zip(places) {
            place[0] = finish(Some(*value))?;
        }
    } else {
        for (value, place) in values.iter().zip(places) {
            place[0] = finish(value)?;
        }
    }
    Ok(())
}

/// The same, from a CSV file.
fn write_written<'r>(
    texts: &StringArray,
    places: impl Iterator<Item = &'r mut [f64]>,
    encode: impl Fn(f64) -> f64,
    missing: Option<f64>,
) -> Result<(), Fault> {
    for (text, place) in texts.iter().zip(places) {
        let value = match text.map(str::trim_ascii).filter(|text| !text.is_empty()) {
            Some(text) => {
                let value = Float64Type::parse(text);
                value.ok_or(Fault::Type { expected: "numbers", found: "a text that is not one" })?
            }
            None => f64::NAN,
        };
        place[0] = if value.is_finite() { encode(value) } else { missing.ok_or(Fault::Missing)? };
    }
    Ok(())
}

impl Levels {
    fn each<'r>(
        &self,
        array: &ArrayRef,
        places: impl Iterator<Item = &'r mut [f64]>,
        write: impl Fn(&mut [f64], usize),
    ) -> Result<(), Fault> {
        // A short dictionary is looked up once, a long one only where it is used.
        if let Some(dictionary) =
            array.as_dictionary_opt::<Int32Type>().filter(|d| d.values().len() <= d.len())
        {
            let codes: Vec<Option<usize>> =
                texts(dictionary.values())?.iter().map(|text| self.code(text?)).collect();
            for (key, place) in dictionary.keys().iter().zip(places) {
                let code = match key {
                    Some(key) => codes.get(key as usize).copied().flatten().ok_or(Fault::Unknown)?,
                    None => self.missing.ok_or(Fault::Missing)?,
                };
                write(place, code);
            }
            return Ok(());
        }
        for (text, place) in texts(array)?.iter().zip(places) {
            let code = match text {
                Some(text) => self.code(text).ok_or(Fault::Unknown)?,
                None => self.missing.ok_or(Fault::Missing)?,
            };
            write(place, code);
        }
        Ok(())
    }

    fn code(&self, text: &str) -> Option<usize> {
        self.codes.get(text).copied().or(self.unknown)
    }
}

pub(crate) enum Numbers<'a> {
    Typed(Cow<'a, Float64Array>),
    Written(&'a StringArray),
}

pub(crate) fn numbers(array: &ArrayRef, format: Format) -> Result<Numbers<'_>, Fault> {
    if format == Format::Csv {
        return Ok(Numbers::Written(array.as_string()));
    }
    match Found::of(array.data_type()) {
        _ if array.data_type() == &DataType::Float64 => {
            Ok(Numbers::Typed(Cow::Borrowed(array.as_primitive())))
        }
        found @ (Found::Integers | Found::Numbers) => {
            let converted = convert(array, &DataType::Float64, "numbers", found)?;
            Ok(Numbers::Typed(Cow::Owned(converted.as_primitive::<Float64Type>().clone())))
        }
        found => Err(Fault::Type { expected: "numbers", found: found.name() }),
    }
}

fn flags(array: &ArrayRef, format: Format) -> Result<BooleanArray, Fault> {
    const EXPECTED: &str = "booleans (true and false, yes and no, or 1 and 0)";
    match (format, Found::of(array.data_type())) {
        (Format::Csv, _) => {
            let flag = |text: &str| match text.trim_ascii() {
                "" => Ok(None),
                text => truth(text)
                    .map(Some)
                    .ok_or(Fault::Type { expected: EXPECTED, found: "a text that is neither" }),
            };
            array.as_string::<i32>().iter().map(|text| text.map_or(Ok(None), flag)).collect()
        }
        (Format::Parquet, Found::Booleans) => Ok(array.as_boolean().clone()),
        (Format::Parquet, found @ Found::Integers) => {
            let numbers = convert(array, &DataType::Float64, EXPECTED, found)?;
            let flag = |number: f64| match number {
                0.0 => Ok(false),
                1.0 => Ok(true),
                _ => Err(Fault::Type { expected: EXPECTED, found: "an integer that is neither 0 nor 1" }),
            };
            numbers.as_primitive::<Float64Type>().iter().map(|number| number.map(flag).transpose()).collect()
        }
        (Format::Parquet, found) => Err(Fault::Type { expected: EXPECTED, found: found.name() }),
    }
}

pub(crate) fn truth(text: &str) -> Option<bool> {
    let is = |word: &&str| text.eq_ignore_ascii_case(word);
    if ["true", "t", "yes", "y", "1"].iter().any(&is) {
        Some(true)
    } else if ["false", "f", "no", "n", "0"].iter().any(is) {
        Some(false)
    } else {
        None
    }
}

/// Texts, or integers and booleans as they are written.
pub(crate) fn texts(array: &ArrayRef) -> Result<StringArray, Fault> {
    let expected = "texts";
    match Found::of(array.data_type()) {
        found @ (Found::Texts | Found::Integers | Found::Booleans) => {
            let texts = convert(array, &DataType::Utf8, expected, found)?;
            Ok(texts.as_string::<i32>().clone())
        }
        found => Err(Fault::Type { expected, found: found.name() }),
    }
}

/// None of the conversions asked for can fail; if one does, the types are to blame.
fn convert(array: &ArrayRef, to: &DataType, expected: &'static str, found: Found) -> Result<ArrayRef, Fault> {
    cast(array, to).map_err(|_| Fault::Type { expected, found: found.name() })
}
