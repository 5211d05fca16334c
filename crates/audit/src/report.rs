//! The table of results as a document.

use std::fmt::Write as _;
use std::time::SystemTime;

use crate::row::{ALPHA, MOST_ROWS, Row};
use crate::suite::Section;

/// The document. `date` is that of the run.
#[must_use]
pub fn markdown(sections: &[Section], date: &str, seconds: f64) -> String {
    let rows = || sections.iter().flat_map(|section| &section.rows);
    let refuted = rows().filter(|row| row.refuted()).count();
    let counted: u64 = rows().map(Row::counted).sum();
    let mut text = format!(
        "# Audit\n\n\
         Written by `cargo xtask audit` on {date}, in {:.0} minutes. {} results from {counted} counted games and guesses; {refuted} claims are refuted.\n\n\
         Each line is an attack on a claim of privacy: two neighbouring data sets, fitted many times with noise from the operating system, and an event \
         that tells them apart. The event is chosen on other games than it is counted on. *Epsilon refuted* and *mu refuted* are lower bounds of what the \
         program really costs (Clopper-Pearson limits of both rates); they hold for all lines together with a confidence of 1 - 1e-6, that is 1 - {ALPHA:.0e} \
         for each of at most {MOST_ROWS}. A claim below a bound is refuted, and the audit fails. A bound far below its claim may mean that games were too few, \
         that the attack is weak, or that there is more noise than needed: observed over claimed mu tells the last apart, where it is given. \
         mu is the parameter of Gaussian differential privacy (Dong, Roth, Su 2022).\n\n\
         What is counted: how often the event happened on the first and on the second data set.\n",
        seconds / 60.0,
        rows().count(),
    );
    for Section { title, about, rows } in sections {
        let _ = write!(text, "\n## {title}\n\n{about}\n\n{}", Row::heading());
        rows.iter().for_each(|row| text.push_str(&row.markdown()));
    }
    text
}

/// The date of today, in UTC.
#[must_use]
pub fn today() -> String {
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(seconds / 86_400)
}

/// The date of a day, counted from 1970-01-01 (Gregorian calendar).
fn date(mut day: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", day + 1)
}

#[cfg(test)]
mod tests {
    use super::date;

    /// Days that `date -d @` prints.
    #[test]
    fn dates_are_those_of_the_calendar() {
        for (day, expected) in
            [(0, "1970-01-01"), (11_016, "2000-02-29"), (11_017, "2000-03-01"), (20_453, "2025-12-31")]
        {
            assert_eq!(date(day), expected);
        }
    }
}
