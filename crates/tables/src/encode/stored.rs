//! Arrays of any type as numbers or texts, value by value.
//!
//! The writer of a file may have inferred its types from the values: one text among numbers makes texts of all of them, one
//! missing value makes 1.0 of 1. So a stored value counts as what its text would count as in a CSV file, whatever the
//! type of its column, and no type is an error:
//!
//! | stored | as a text |
//! |---|---|
//! | texts and bytes | as they are; missing if they are not UTF-8 |
//! | booleans | `true`, `false` |
//! | integers, decimals | their digits |
//! | numbers with a fraction | the shortest decimal; missing if not finite |
//! | dates, times, timestamps, durations | ISO 8601, such as `2020-01-31` and `2020-01-31T12:00:00` |
//! | lists and other nested types | missing |
//!
//! Dates are texts and no numbers, so a numeric column of dates has missing values only.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type};
use arrow_array::{
    AnyDictionaryArray, Array, ArrayRef, Float64Array, Int32Array, LargeBinaryArray, new_null_array,
};
use arrow_cast::cast;
use arrow_schema::DataType;

use super::value::number;
use crate::caught::caught;

/// The numbers of an array; null or NaN for a value that is none.
pub(crate) fn numbers(array: &ArrayRef) -> Float64Array {
    let of = |converted: &ArrayRef| converted.as_primitive::<Float64Type>().clone();
    match array.data_type() {
        DataType::Float64 => of(array),
        data_type if data_type.is_numeric() => match converted(array, &DataType::Float64) {
            Some(numbers) => of(&numbers),
            None => each(array, &DataType::Float64)
                .map(|number| number.and_then(|number| of(&number).iter().next().flatten()))
                .collect(),
        },
        _ => texts(array).iter().map(|text| number(text).known()).collect(),
    }
}

/// The texts of an array; null for a value that has none. Those that are stored as texts or bytes may not be UTF-8.
pub(crate) fn texts(array: &ArrayRef) -> LargeBinaryArray {
    let of = |converted: &ArrayRef| converted.as_binary::<i64>().clone();
    match array.data_type() {
        DataType::LargeBinary => of(array),
        nested if nested.is_nested() => missing(array.len()),
        DataType::Dictionary(_, values) => flattened(array, values),
        DataType::RunEndEncoded(_, values) => flattened(array, values.data_type()),
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().map(decimal).collect(),
        DataType::Float32 => array.as_primitive::<Float32Type>().iter().map(decimal).collect(),
        DataType::Float16 => flattened(array, &DataType::Float32),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => bytes(array),
        DataType::Binary | DataType::BinaryView | DataType::FixedSizeBinary(_) => bytes(array),
        _ => match converted(array, &DataType::LargeUtf8) {
            Some(texts) => bytes(&texts),
            None => each(array, &DataType::LargeUtf8)
                .map(|text| Some(text?.as_string::<i64>().iter().next()??.to_owned()))
                .collect(),
        },
    }
}

/// The shortest decimal that is this number.
fn decimal<N: ToString + Into<f64> + Copy>(number: Option<N>) -> Option<String> {
    number.filter(|&number| number.into().is_finite()).map(|number| number.to_string())
}

fn missing(rows: usize) -> LargeBinaryArray {
    new_null_array(&DataType::LargeBinary, rows).as_binary().clone()
}

/// The texts of an array whose values are of another type.
fn flattened(array: &ArrayRef, to: &DataType) -> LargeBinaryArray {
    let to = match to {
        // With offsets of 32 bits, texts that repeat may be too long together.
        DataType::Utf8 | DataType::Binary => &DataType::LargeBinary,
        other => other,
    };
    match converted(array, to) {
        Some(values) => texts(&values),
        None => {
            each(array, to).map(|value| texts(&value?).iter().next().flatten().map(<[u8]>::to_vec)).collect()
        }
    }
}

/// Which value of a dictionary each record has; null or out of range if it has none.
pub(super) fn keys(dictionary: &dyn AnyDictionaryArray) -> Int32Array {
    let none = || new_null_array(&DataType::Int32, dictionary.len());
    let keys = caught(|| cast(dictionary.keys(), &DataType::Int32)).and_then(Result::ok);
    keys.unwrap_or_else(none).as_primitive::<Int32Type>().clone()
}

fn bytes(array: &ArrayRef) -> LargeBinaryArray {
    converted(array, &DataType::LargeBinary)
        .map_or_else(|| missing(array.len()), |bytes| bytes.as_binary().clone())
}

/// An array of another type, if all of its values can be converted. One date that no calendar has fails them all.
fn converted(array: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    caught(|| cast(array, to)).and_then(Result::ok).filter(|converted| converted.data_type() == to)
}

/// Each value of an array by itself.
fn each<'a>(array: &'a ArrayRef, to: &'a DataType) -> impl Iterator<Item = Option<ArrayRef>> + 'a {
    (0..array.len()).map(|row| converted(&array.slice(row, 1), to))
}
