//! Arrays of any type as numbers or texts, value by value.
//!
//! The writer of a file may have inferred its types from the values: one text among numbers makes texts of all of them, one
//! missing value makes 1.0 of 1. So a stored value counts as what its text would count as in a CSV file, whatever the
//! type of its column, and no type of a feature or target is an error:
//!
//! | stored | as a text |
//! |---|---|
//! | texts and bytes | as they are; missing if they are not UTF-8 |
//! | booleans | `true`, `false` |
//! | integers, decimals | their digits |
//! | numbers with a fraction | the shortest decimal; missing if not finite |
//! | dates, times, timestamps, durations | ISO 8601, such as `2020-01-31` and `2020-01-31T12:00:00` |
//! | intervals, lists and other nested types | missing |
//!
//! Dates are texts and no numbers, so a numeric column of dates has missing values only.

use arrow_array::cast::AsArray;
use arrow_array::timezone::Tz;
use arrow_array::types::{
    ArrowPrimitiveType, ArrowTemporalType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DecimalType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Float16Type, Float32Type, Float64Type, RunEndIndexType,
};
use arrow_array::{
    AnyDictionaryArray, Array, ArrayRef, BinaryArray, Float64Array, Int32Array, LargeBinaryArray,
    PrimitiveArray, RunArray, downcast_integer_array, downcast_run_array, downcast_temporal_array,
    new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, TimeUnit};

use super::value::number;
use crate::caught::caught;

/// The numbers of an array; null or NaN for a value that is none.
pub(crate) fn numbers(array: &ArrayRef) -> Float64Array {
    downcast_integer_array!(
        array => array.unary(|number| number as f64),
        DataType::Float64 => array.as_primitive::<Float64Type>().clone(),
        DataType::Float32 => array.as_primitive::<Float32Type>().unary(f64::from),
        DataType::Float16 => array.as_primitive::<Float16Type>().unary(f64::from),
        _ => texts(array).iter().map(|text| number(text).known()).collect()
    )
}

/// The texts of an array; null for a value that has none. Those that are stored as texts or bytes may not be UTF-8.
pub(crate) fn texts(array: &ArrayRef) -> LargeBinaryArray {
    match array.data_type() {
        DataType::LargeBinary => array.as_binary::<i64>().clone(),
        DataType::LargeUtf8 => array.as_string::<i64>().clone().into(),
        DataType::Binary => wide(array.as_binary::<i32>().clone()),
        DataType::Utf8 => wide(array.as_string::<i32>().clone().into()),
        DataType::BinaryView => array.as_binary_view().iter().collect(),
        DataType::Utf8View => array.as_string_view().iter().collect(),
        DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().iter().collect(),
        DataType::Boolean => {
            array.as_boolean().iter().map(|value| value.map(|value| value.to_string())).collect()
        }
        DataType::Float64 => array.as_primitive::<Float64Type>().iter().map(decimal).collect(),
        DataType::Float32 => array.as_primitive::<Float32Type>().iter().map(decimal).collect(),
        DataType::Float16 => {
            array.as_primitive::<Float16Type>().iter().map(|value| decimal(value.map(f32::from))).collect()
        }
        DataType::Decimal32(..) => decimals::<Decimal32Type>(array),
        DataType::Decimal64(..) => decimals::<Decimal64Type>(array),
        DataType::Decimal128(..) => decimals::<Decimal128Type>(array),
        DataType::Decimal256(..) => decimals::<Decimal256Type>(array),
        DataType::Duration(TimeUnit::Second) => durations::<DurationSecondType>(array),
        DataType::Duration(TimeUnit::Millisecond) => durations::<DurationMillisecondType>(array),
        DataType::Duration(TimeUnit::Microsecond) => durations::<DurationMicrosecondType>(array),
        DataType::Duration(TimeUnit::Nanosecond) => durations::<DurationNanosecondType>(array),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let values = texts(dictionary.values());
            chosen(&values, keys(dictionary).iter().map(|key| usize::try_from(key?).ok()))
        }
        DataType::RunEndEncoded(..) => downcast_run_array!(
            array => chosen(&texts(array.values()), places(array)),
            _ => missing(array.len())
        ),
        integer if integer.is_integer() => downcast_integer_array!(
            array => array.iter().map(|value| value.map(|value| value.to_string())).collect(),
            _ => missing(array.len())
        ),
        _ => downcast_temporal_array!(
            array => each(array, |row| moment(array, row)),
            _ => missing(array.len())
        ),
    }
}

/// Whether values of this type have texts. A column of nulls could have them: writers choose this type if all values are missing.
pub(crate) fn has_texts(declared: &DataType) -> bool {
    match declared {
        DataType::Dictionary(_, values) => has_texts(values),
        DataType::RunEndEncoded(_, values) => has_texts(values.data_type()),
        DataType::Timestamp(_, Some(zone)) => zone.parse::<Tz>().is_ok(),
        DataType::Interval(_) => false,
        single => !single.is_nested(),
    }
}

/// The shortest decimal that is this number.
fn decimal<N: ToString + Into<f64> + Copy>(number: Option<N>) -> Option<String> {
    number.filter(|&number| number.into().is_finite()).map(|number| number.to_string())
}

fn missing(rows: usize) -> LargeBinaryArray {
    new_null_array(&DataType::LargeBinary, rows).as_binary().clone()
}

/// The same values with wide offsets.
fn wide(array: BinaryArray) -> LargeBinaryArray {
    let (offsets, values, nulls) = array.into_parts();
    let offsets = offsets.iter().map(|&offset| i64::from(offset)).collect::<Vec<_>>();
    LargeBinaryArray::new(OffsetBuffer::new(offsets.into()), values, nulls)
}

/// The texts of values that are not null. One that no calendar has, or whose text cannot be made, is missing.
fn each<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    text: impl Fn(usize) -> Option<String>,
) -> LargeBinaryArray {
    let row = |row: usize| if array.is_valid(row) { caught(|| text(row)).flatten() } else { None };
    (0..array.len()).map(row).collect()
}

fn decimals<T: DecimalType + ArrowPrimitiveType>(array: &ArrayRef) -> LargeBinaryArray {
    let array = array.as_primitive::<T>();
    each(array, |row| Some(array.value_as_string(row)))
}

fn durations<T: ArrowTemporalType>(array: &ArrayRef) -> LargeBinaryArray
where
    i64: From<T::Native>,
{
    let array = array.as_primitive::<T>();
    each(array, |row| Some(array.value_as_duration(row)?.to_string()))
}

/// A date, a time or both in ISO 8601.
fn moment<T: ArrowTemporalType>(array: &PrimitiveArray<T>, row: usize) -> Option<String>
where
    i64: From<T::Native>,
{
    Some(match array.data_type() {
        DataType::Date32 => format!("{:?}", array.value_as_date(row)?),
        DataType::Time32(_) | DataType::Time64(_) => format!("{:?}", array.value_as_time(row)?),
        DataType::Timestamp(_, Some(zone)) => {
            let local = array.value_as_datetime_with_tz(row, zone.parse::<Tz>().ok()?)?.to_rfc3339();
            // The offset of UTC itself has one letter.
            local.strip_suffix("+00:00").map(|time| format!("{time}Z")).unwrap_or(local)
        }
        _ => format!("{:?}", array.value_as_datetime(row)?),
    })
}

/// For each place the value there, if there is one.
fn chosen(values: &LargeBinaryArray, places: impl Iterator<Item = Option<usize>>) -> LargeBinaryArray {
    let value = |place: usize| (place < values.len() && values.is_valid(place)).then(|| values.value(place));
    places.map(|place| value(place?)).collect()
}

/// Which run each record is in.
fn places<R: RunEndIndexType>(runs: &RunArray<R>) -> impl Iterator<Item = Option<usize>> {
    (0..runs.len()).map(|row| Some(runs.get_physical_index(row)))
}

/// Which value of a dictionary each record has; null or out of range if it has none.
#[allow(
    clippy::unnecessary_fallible_conversions,
    clippy::useless_conversion,
    reason = "the same lines are for integers of every size"
)]
pub(super) fn keys(dictionary: &dyn AnyDictionaryArray) -> Int32Array {
    let keys = dictionary.keys();
    downcast_integer_array!(
        keys => keys.unary_opt(|key| i32::try_from(key).ok()),
        _ => Int32Array::new_null(dictionary.len())
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int16Type;
    use arrow_array::{
        BinaryViewArray, BooleanArray, Date32Array, Date64Array, Decimal128Array, Decimal256Array,
        DictionaryArray, DurationMillisecondArray, FixedSizeBinaryArray, Int64Array, IntervalYearMonthArray,
        StringArray, StringViewArray, Time32SecondArray, Time64NanosecondArray, TimestampMillisecondArray,
        TimestampSecondArray, UInt64Array,
    };

    use super::*;

    /// Texts of the values of an array.
    fn as_texts(array: impl Array + 'static) -> Vec<Option<String>> {
        let array: ArrayRef = Arc::new(array);
        let text = |text: Option<&[u8]>| text.map(|text| String::from_utf8(text.to_vec()).unwrap());
        texts(&array).iter().map(text).collect()
    }

    /// Noon of the last day of January 2020, in seconds: 18,292 days and a half.
    const NOON: i64 = 18_292 * 86_400 + 43_200;

    #[test]
    fn texts_are_those_of_a_csv_file() {
        let one = |text: &str| vec![Some(text.to_owned()), None];
        assert_eq!(as_texts(BooleanArray::from(vec![Some(true), None])), one("true"));
        assert_eq!(as_texts(Int64Array::from(vec![Some(i64::MIN), None])), one("-9223372036854775808"));
        assert_eq!(as_texts(UInt64Array::from(vec![Some(u64::MAX), None])), one("18446744073709551615"));
        let decimals = Decimal128Array::from(vec![Some(-150), None]).with_precision_and_scale(10, 2).unwrap();
        assert_eq!(as_texts(decimals), one("-1.50"));
        let decimals =
            Decimal256Array::from(vec![Some(5.into()), None]).with_precision_and_scale(40, 3).unwrap();
        assert_eq!(as_texts(decimals), one("0.005"));
        assert_eq!(as_texts(StringArray::from(vec![Some("a"), None])), one("a"));
        assert_eq!(
            as_texts(StringViewArray::from(vec![Some("more than twelve bytes"), None])),
            one("more than twelve bytes")
        );
        assert_eq!(as_texts(BinaryViewArray::from(vec![Some(&b"b"[..]), None])), one("b"));
        let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some(b"cd"), None].into_iter(), 2);
        assert_eq!(as_texts(fixed.unwrap()), one("cd"));
        // A slice begins in the middle of its buffers.
        assert_eq!(as_texts(StringArray::from(vec![Some("x"), Some("a"), None]).slice(1, 2)), one("a"));
    }

    #[test]
    fn dates_and_times_are_iso_8601() {
        let one = |text: &str| vec![Some(text.to_owned()), None];
        assert_eq!(as_texts(Date32Array::from(vec![Some(18_292), None])), one("2020-01-31"));
        assert_eq!(as_texts(Date64Array::from(vec![Some(1000 * NOON), None])), one("2020-01-31T12:00:00"));
        assert_eq!(as_texts(Time32SecondArray::from(vec![Some(43_200), None])), one("12:00:00"));
        let nanoseconds = Time64NanosecondArray::from(vec![Some(1_500_000_000), None]);
        assert_eq!(as_texts(nanoseconds), one("00:00:01.500"));
        let seconds = || TimestampSecondArray::from(vec![Some(NOON), None]);
        assert_eq!(as_texts(seconds()), one("2020-01-31T12:00:00"));
        assert_eq!(as_texts(seconds().with_timezone("+00:00")), one("2020-01-31T12:00:00Z"));
        assert_eq!(as_texts(seconds().with_timezone("+01:00")), one("2020-01-31T13:00:00+01:00"));
        assert_eq!(as_texts(seconds().with_timezone("nowhere")), [None, None]);
        assert_eq!(as_texts(DurationMillisecondArray::from(vec![Some(90_500), None])), one("PT90.5S"));
        // One value that no calendar has is missing, and the others are not.
        let milliseconds = TimestampMillisecondArray::from(vec![i64::MAX, 1000 * NOON, i64::MIN]);
        assert_eq!(as_texts(milliseconds), [None, Some("2020-01-31T12:00:00".to_owned()), None]);
        assert_eq!(as_texts(Date32Array::from(vec![i32::MAX, 0]))[1].as_deref(), Some("1970-01-01"));
        assert_eq!(as_texts(IntervalYearMonthArray::from(vec![1])), [None]);
    }

    #[test]
    fn dictionaries_and_runs_have_the_texts_of_their_values() {
        let texts = [Some("a"), None, Some("b"), Some("a")];
        let expected: Vec<Option<String>> = texts.iter().map(|text| text.map(str::to_owned)).collect();
        assert_eq!(as_texts(texts.into_iter().collect::<DictionaryArray<Int16Type>>()), expected);
        assert_eq!(as_texts(texts.into_iter().collect::<RunArray<Int16Type>>()), expected);
        let sliced = texts.into_iter().collect::<RunArray<Int16Type>>().slice(1, 2);
        assert_eq!(as_texts(sliced), expected[1..3]);
    }

    #[test]
    fn numbers_are_those_of_their_texts() {
        let numbers = |array: ArrayRef| numbers(&array).iter().collect::<Vec<_>>();
        assert_eq!(numbers(Arc::new(UInt64Array::from(vec![Some(7), None]))), [Some(7.0), None]);
        let decimals = Decimal128Array::from(vec![Some(150), None]).with_precision_and_scale(10, 2).unwrap();
        assert_eq!(numbers(Arc::new(decimals)), [Some(1.5), None]);
        assert_eq!(numbers(Arc::new(StringArray::from(vec!["2.5", "x"]))), [Some(2.5), None]);
        assert_eq!(numbers(Arc::new(Date32Array::from(vec![1]))), [None]);
    }
}
