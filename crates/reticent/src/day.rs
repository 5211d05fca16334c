//! Days of the calendar.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A day of the Gregorian calendar in UTC, written as `2026-01-31`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day {
    year: u16,
    month: u8,
    day: u8,
}

impl Day {
    /// Today, by the clock of the machine. No decision depends on it.
    pub(crate) fn today() -> Self {
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self::after_1970(seconds / 86_400)
    }

    /// So many days after the first of January 1970.
    fn after_1970(days: u64) -> Self {
        let (mut left, mut year) = (days, 1970);
        while left >= days_of_year(year) && year < 9999 {
            left -= days_of_year(year);
            year += 1;
        }
        let mut month = 1;
        while month < 12 && left >= u64::from(days_of_month(year, month)) {
            left -= u64::from(days_of_month(year, month));
            month += 1;
        }
        Self { year, month, day: left.min(30) as u8 + 1 }
    }

    /// Nothing if there is no such day.
    fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let digits = |range: std::ops::Range<usize>| {
            let part = text.get(range).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
            part.and_then(|part| part.parse::<u16>().ok())
        };
        if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
            return None;
        }
        let (year, month, day) = (digits(0..4)?, digits(5..7)? as u8, digits(8..10)? as u8);
        let exists = (1..=12).contains(&month) && (1..=days_of_month(year, month)).contains(&day);
        exists.then_some(Self { year, month, day })
    }
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of_year(year: u16) -> u64 {
    365 + u64::from(is_leap(year))
}

fn days_of_month(year: u16, month: u8) -> u8 {
    match month {
        2 => 28 + u8::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that is no day is an error: a model file may be forged.
impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("no day such as 2026-01-31"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values from `date -u -d @N +%F`.
    #[test]
    fn days_agree_with_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_767_225_599, "2025-12-31"),
            (4_107_542_400, "2100-03-01"),
        ] {
            let day = Day::after_1970(seconds / 86_400);
            assert_eq!(day.to_string(), text);
            assert_eq!(serde_json::from_str::<Day>(&format!("\"{text}\"")).unwrap(), day);
        }
    }

    #[test]
    fn a_text_that_is_no_day_is_an_error() {
        for text in [
            "2026-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-1-1",
            "+026-01-01",
            "2026-01-01<b>",
            "\u{e9}26-01-01",
        ] {
            assert_eq!(Day::parse(text), None, "{text}");
        }
    }
}
