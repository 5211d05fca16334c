//! The table of results as a document.

use std::fmt::Write as _;
use std::time::SystemTime;

use crate::case::{NOT_PRIVATE, cases};
use crate::row::{ALPHA, Evidence, MAX_ROWS, Row};
use crate::suite::Section;

/// Minimum number of games for an estimate of tightness in the summary.
pub const TIGHTNESS_GAMES: u64 = 20_000;

/// Explanation of the columns, before the sections.
const ABOUT: &str = "\
## How to read it

Each line is an attack on a claim of privacy. Two neighbouring data sets are fitted many times, with noise from the operating system, and an event that \
distinguishes them is counted. The event is chosen on other games than it is counted on. Where many canaries are in one data set, right guesses are counted instead.

- *Epsilon, lower bound* and *mu, lower bound* are the largest values that the counts rule out, from Clopper-Pearson limits of both rates. mu is the \
  parameter of Gaussian differential privacy (Dong, Roth, Su 2022); it is given where all noise is Gaussian and all records take part.
- A claim below its lower bound is refuted, and the audit fails.
- *Tightness* is an estimate of mu, from the distance of the scores of both data sets, over the claim. At 1 the noise is just sufficient; \
  below 1 it exceeds what these neighbours require. The estimate has an error, so a value slightly above 1 refutes nothing.
- A lower bound far below its claim has three possible causes: few games, a weak attack, or more noise than needed. Tightness shows the last.
- *Event counted*: in how many games on the first and on the second data set the event happened. *Chosen on*: the games that the event was chosen on. \
  *ms a game*: CPU time of one.
";

/// The report in Markdown. `date` is that of the run.
#[must_use]
pub fn markdown(sections: &[Section], date: &str, seconds: f64) -> String {
    let rows: Vec<&Row> = sections.iter().flat_map(|section| &section.rows).collect();
    let mut text = format!(
        "# Audit\n\nWritten by `cargo xtask audit` on {date}, in {:.0} minutes.\n\n{}{}\n{ABOUT}",
        seconds / 60.0,
        summary(&rows),
        not_played()
    );
    for Section { title, about, rows } in sections {
        let _ = write!(text, "\n## {title}\n\n{about}\n\n{}", Row::heading());
        rows.iter().for_each(|row| text.push_str(&row.markdown()));
    }
    text
}

/// The results in a few lines.
fn summary(rows: &[&Row]) -> String {
    let refuted = rows.iter().filter(|row| row.refuted()).count();
    let games: u64 =
        rows.iter().filter(|row| matches!(row.evidence, Evidence::Event(_))).map(|row| row.counted()).sum();
    let guesses: u64 =
        rows.iter().filter(|row| matches!(row.evidence, Evidence::Guesses(_))).map(|row| row.counted()).sum();
    let mut text = format!(
        "- {} results from {games} counted games and {guesses} guesses about canaries; {refuted} claims are refuted.\n\
         - All lower bounds hold together with a confidence of 1 - 1e-6: 1 - {ALPHA:.0e} for each of at max {MAX_ROWS}.\n",
        rows.len()
    );
    let mut largest = |name: &str, ratio: &dyn Fn(&Row) -> Option<f64>| {
        let ratios = rows.iter().filter_map(|row| Some((ratio(row)?, row)));
        if let Some((ratio, row)) = ratios.max_by(|(a, _), (b, _)| a.total_cmp(b)) {
            let _ = writeln!(
                text,
                "- Largest lower bound of {name} over its claim: {ratio:.3} ({}, {}).",
                row.game, row.adjacency
            );
        }
    };
    largest("epsilon", &|row| Some(row.epsilon() / row.claim.epsilon));
    largest("mu", &|row| Some(row.refuted_mu()? / row.claim.mu?));
    let (many, few): (Vec<&Row>, Vec<&Row>) =
        rows.iter().filter(|row| row.tightness().is_some()).partition(|row| row.counted() >= TIGHTNESS_GAMES);
    let ratios = || many.iter().filter_map(|row| Some(row.tightness()?.0));
    let (min, max) = ratios().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    if !many.is_empty() {
        let _ = writeln!(
            text,
            "- Tightness from at min {TIGHTNESS_GAMES} games: {min:.3} to {max:.3}, over {} results. {} more have fewer games: they are of \
             special data, or their games take long.",
            many.len(),
            few.len()
        );
    }
    text
}

/// Models and adjacencies without games.
fn not_played() -> String {
    let cases = cases();
    let mut without: Vec<&str> =
        cases.iter().filter(|case| !case.add_remove).map(|case| case.model).collect();
    without.dedup();
    format!(
        "- Not played, since the program refuses it: {} with privacy; {} under add/remove.\n",
        NOT_PRIVATE.join(", "),
        without.join(", ")
    )
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
