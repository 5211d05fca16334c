//! What one text means: a number, a truth value.

/// A value as its column's kind reads it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value<T> {
    /// There is none.
    Missing,
    /// There is one, and it is not of the column's kind.
    Malformed,
    Known(T),
}

impl<T> Value<T> {
    pub(crate) fn known(self) -> Option<T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Missing | Self::Malformed => None,
        }
    }
}

/// A finite number. Spaces around it do not matter; NaN and infinities are missing.
pub(crate) fn number(text: Option<&[u8]>) -> Value<f64> {
    match text.map(<[u8]>::trim_ascii) {
        None | Some(b"") => Value::Missing,
        Some(text) => match parse(text) {
            Some(number) if number.is_finite() => Value::Known(number),
            Some(_) => Value::Missing,
            None => Value::Malformed,
        },
    }
}

/// True or false, yes or no, 1 or 0, in upper or lower case.
pub(crate) fn truth(text: Option<&[u8]>) -> Value<bool> {
    let text = match text.map(<[u8]>::trim_ascii) {
        None | Some(b"") => return Value::Missing,
        Some(text) => text,
    };
    let is = |word: &&str| text.eq_ignore_ascii_case(word.as_bytes());
    if ["true", "t", "yes", "y", "1"].iter().any(is) {
        Value::Known(true)
    } else if ["false", "f", "no", "n", "0"].iter().any(is) {
        Value::Known(false)
    } else {
        // A missing value among integers makes 1.0 of 1 in other programs.
        match parse(text) {
            Some(1.0) => Value::Known(true),
            Some(0.0) => Value::Known(false),
            Some(number) if !number.is_finite() => Value::Missing,
            _ => Value::Malformed,
        }
    }
}

/// `true` or `false` as a word.
pub(super) fn truth_word(text: &[u8]) -> Option<bool> {
    let text = text.trim_ascii();
    if text.eq_ignore_ascii_case(b"true") {
        Some(true)
    } else if text.eq_ignore_ascii_case(b"false") {
        Some(false)
    } else {
        None
    }
}

/// The canonical text of a whole number, of any length: its sign, and its digits without zeros in front and without a fraction of zeros.
pub(super) fn whole_number(text: &[u8]) -> Option<(bool, &[u8])> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let end = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let (digits, fraction) = digits.split_at(end);
    if digits.is_empty()
        || !digits.iter().all(u8::is_ascii_digit)
        || !fraction.iter().skip(1).all(|byte| *byte == b'0')
    {
        return None;
    }
    let first = digits.iter().position(|byte| *byte != b'0').unwrap_or(digits.len());
    Some((negative && first < digits.len(), &digits[first..]))
}

/// Powers of ten that are exact.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// A number, as the standard library reads it.
fn parse(text: &[u8]) -> Option<f64> {
    short_decimal(text).or_else(|| std::str::from_utf8(text).ok()?.parse().ok())
}

/// A number without exponent whose digits are an integer below $2^{53}$. It and the power of ten are exact, so their quotient
/// is the nearest number (Clinger 1990, "How to read floating point numbers accurately").
fn short_decimal(text: &[u8]) -> Option<f64> {
    let (negative, unsigned) = match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (mut digits, mut count, mut point) = (0u64, 0, None);
    for &byte in unsigned {
        match byte {
            b'0'..=b'9' if count < 19 => (digits, count) = (10 * digits + u64::from(byte - b'0'), count + 1),
            b'.' if point.is_none() => point = Some(count),
            _ => return None,
        }
    }
    if count == 0 || digits >= 1 << 53 {
        return None;
    }
    let number = digits as f64 / POWERS[count - point.unwrap_or(count)];
    Some(if negative { -number } else { number })
}

#[cfg(test)]
mod tests;
