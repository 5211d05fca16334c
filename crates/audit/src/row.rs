//! A line of the table of results.

use std::fmt::Write as _;

use crate::statistics::Counts;

/// The largest number of results of one audit.
pub const MAX_ROWS: usize = 1000;
/// The error probability of one result: 1e-6 for all of them, by Bonferroni.
pub const ALPHA: f64 = 1e-6 / MAX_ROWS as f64;

/// The privacy claim of a fit, or of a part of its releases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// The epsilon of the receipt.
    pub epsilon: f64,
    /// The delta that epsilon holds for.
    pub delta: f64,
    /// The parameter of Gaussian differential privacy, where all noise is Gaussian and all records take part.
    pub mu: Option<f64>,
}

/// The evidence of an attack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Evidence {
    /// Counts of an event on both neighbours.
    Event(Counts),
    /// Guesses about canaries.
    Guesses(crate::one_run::Guesses),
}

/// A line of the table of results.
#[derive(Debug, Clone)]
pub struct Row {
    /// Case and kind of the game.
    pub game: String,
    /// Adjacency of the neighbours.
    pub adjacency: String,
    /// The claim under attack.
    pub claim: Claim,
    /// Counts on games that were not used to choose the event.
    pub evidence: Evidence,
    /// Number of games that the event was chosen on.
    pub chosen_on: usize,
    /// CPU seconds of one game, or of one run with canaries.
    pub seconds: f64,
    /// The estimate of mu with its standard error, where scores are normal.
    pub mu: Option<(f64, f64)>,
}

impl Row {
    /// Number of counted games, or of guesses about canaries.
    #[must_use]
    pub fn counted(&self) -> u64 {
        match self.evidence {
            Evidence::Event(counts) => counts.games + counts.other_games,
            Evidence::Guesses(guesses) => guesses.made,
        }
    }

    /// The largest epsilon that is refuted.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        match self.evidence {
            Evidence::Event(counts) => counts.epsilon(self.claim.delta, ALPHA),
            Evidence::Guesses(guesses) => guesses.epsilon(self.claim.delta, ALPHA),
        }
    }

    /// The largest mu that is refuted, where one is claimed.
    #[must_use]
    pub fn refuted_mu(&self) -> Option<f64> {
        match self.evidence {
            Evidence::Event(counts) => self.claim.mu.map(|_| counts.mu(ALPHA)),
            Evidence::Guesses(_) => None,
        }
    }

    /// The estimate of mu over the claim, with half the width of its 95 % interval.
    #[must_use]
    pub fn tightness(&self) -> Option<(f64, f64)> {
        let ((estimate, error), claimed) = self.mu.zip(self.claim.mu)?;
        Some((estimate / claimed, 1.96 * error / claimed))
    }

    /// Whether the claim is refuted.
    #[must_use]
    pub fn refuted(&self) -> bool {
        let mu = self.refuted_mu().zip(self.claim.mu);
        self.epsilon() > self.claim.epsilon || mu.is_some_and(|(refuted, claimed)| refuted > claimed)
    }

    /// The names of the columns.
    #[must_use]
    pub fn heading() -> String {
        let names = "| game | adjacency | epsilon, delta claimed | epsilon, lower bound | mu claimed | mu, lower bound \
                     | tightness: mu estimated / claimed (95 %) | event counted | chosen on | ms a game | result |\n";
        format!("{names}{}|\n", "|---".repeat(11))
    }

    /// As a line of Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let Claim { epsilon, delta, mu } = self.claim;
        let number = |x: Option<f64>| x.map_or(String::new(), |x| format!("{x:.3}"));
        let mut line = format!(
            "| {} | {} | {epsilon:.3}, {delta:.0e} | {:.3} ",
            self.game,
            self.adjacency,
            self.epsilon()
        );
        let _ = write!(line, "| {} | {} ", number(mu), number(self.refuted_mu()));
        let tightness = self.tightness().map(|(estimate, half)| {
            format!("{estimate:.3} ({:.3} to {:.3})", estimate - half, estimate + half)
        });
        let counted = match self.evidence {
            Evidence::Event(Counts { hits, games, false_hits, other_games }) => {
                format!("{hits} of {games}, {false_hits} of {other_games}")
            }
            Evidence::Guesses(guesses) => {
                format!("{} of {} guesses right, {} canaries", guesses.right, guesses.made, guesses.canaries)
            }
        };
        let verdict = if self.refuted() { "**refuted**" } else { "holds" };
        let _ = writeln!(
            line,
            "| {} | {counted} | {} | {:.3} | {verdict} |",
            tightness.unwrap_or_default(),
            self.chosen_on,
            1e3 * self.seconds
        );
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(hits: u64, false_hits: u64, epsilon: f64, mu: Option<f64>) -> Row {
        let counts = Counts { hits, games: 1000, false_hits, other_games: 1000 };
        let claim = Claim { epsilon, delta: 1e-5, mu };
        let (game, adjacency) = ("a game".to_owned(), "replace-one".to_owned());
        Row {
            game,
            adjacency,
            claim,
            evidence: Evidence::Event(counts),
            chosen_on: 0,
            seconds: 0.001,
            mu: None,
        }
    }

    /// With 1000 games each and nothing on the other side, 1 - (alpha/2)^(1/1000) and its complement are the rates.
    #[test]
    fn a_claim_below_the_lower_bound_is_refuted() {
        let limit = (ALPHA / 2.0).powf(1e-3);
        let epsilon = ((limit - 1e-5) / (1.0 - limit)).ln();
        assert!((row(1000, 0, 1.0, None).epsilon() - epsilon).abs() < 1e-9);
        assert!(row(1000, 0, epsilon - 0.01, None).refuted());
        assert!(!row(1000, 0, epsilon + 0.01, None).refuted());
        let mu = row(1000, 0, 9.0, Some(1.0)).refuted_mu().unwrap();
        assert!(
            row(1000, 0, 9.0, Some(mu - 0.01)).refuted() && !row(1000, 0, 9.0, Some(mu + 0.01)).refuted()
        );
        assert!(!row(500, 500, 0.01, Some(0.01)).refuted());
    }

    #[test]
    fn a_line_has_as_many_cells_as_the_heading() {
        let cells = |text: &str| text.matches('|').count();
        let line = Row { mu: Some((1.0, 0.1)), ..row(600, 400, 1.0, Some(1.5)) }.markdown();
        let heading = Row::heading();
        assert!(heading.lines().all(|names| cells(names) == cells(&line)), "{line}");
    }
}
