//! Distinguishing games through the library.

use reticent_core::budget::{Adjacency, Privacy};
use reticent_core::receipt::Receipt;

use crate::case::Case;
use crate::clock::{Clock, of_thread};
use crate::event::{Event, Objective, Observation};
use crate::failure::Failure;
use crate::library::{Encoded, Mechanism, Released, encode, squared_mu, total_mu, visible_result};
use crate::neighbours::{Neighbours, Noise, SEEDS, Score};
use crate::row::{Claim, Evidence, Row};
use crate::statistics::separation;

/// Epsilons tried where a large budget is needed, and their delta.
const LARGE_BUDGETS: [f64; 4] = [8.0, 16.0, 30.0, 50.0];
const LARGE_BUDGET_DELTA: f64 = 1e-5;
/// The mu from which a hundred games distinguish two data sets.
const LARGE_BUDGET_MU: f64 = 1.5;

/// Number of first releases searched for those that do not depend on earlier ones.
const FIRST: usize = 4;

/// Games on each data set that are timed.
const TIMED: usize = 10;

/// The number of games to play.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Number of counted games if they are cheap, on both data sets together.
    pub cheap: usize,
    /// A game is cheap below this CPU time, in seconds.
    pub cheap_below: f64,
    /// CPU seconds for games that are not cheap.
    pub seconds: f64,
    /// Minimum number of counted games.
    pub min_games: usize,
}

impl Effort {
    /// A fixed number of games, independent of their time.
    #[must_use]
    pub fn exactly(games: usize) -> Self {
        Self { cheap: games, cheap_below: f64::INFINITY, seconds: 0.0, min_games: games }
    }

    /// The numbers of games to count on each data set and to choose the event on. They depend on time alone, not on results.
    #[must_use]
    pub fn games(&self, seconds: f64) -> (usize, usize) {
        let others = ((self.seconds / seconds.max(1e-9)) as usize)
            .clamp(self.min_games, self.cheap.max(self.min_games));
        let counted = if seconds < self.cheap_below { self.cheap } else { others }.div_ceil(2);
        (counted, (counted / 4).clamp(30, 1000))
    }
}

/// Games on a pair of data sets.
pub struct Games {
    /// Observations on the first data set.
    pub first: Vec<Observation>,
    /// Observations on the second data set.
    pub second: Vec<Observation>,
    /// How many of each are used to choose the event.
    pub chosen_on: usize,
    /// CPU seconds of one game.
    pub seconds: f64,
}

impl Games {
    /// Plays as many games as the effort allows by this clock, alternating between the data sets, so that only the data differ.
    ///
    /// # Errors
    /// What a game fails with.
    pub fn play(
        effort: &Effort,
        clock: Clock,
        mut first: impl FnMut() -> Result<Observation, Failure>,
        mut second: impl FnMut() -> Result<Observation, Failure>,
    ) -> Result<Self, Failure> {
        // Warm-up, for example reading the program from disk.
        first()?;
        second()?;
        let (mut games, mut others) = (Vec::new(), Vec::new());
        let started = clock();
        for _ in 0..TIMED {
            games.push(first()?);
            others.push(second()?);
        }
        let seconds = (clock() - started) / (2 * TIMED) as f64;
        let (counted, chosen_on) = effort.games(seconds);
        while games.len() < counted + chosen_on {
            games.push(first()?);
            others.push(second()?);
        }
        Ok(Self { first: games, second: others, chosen_on, seconds })
    }

    /// Chooses the event on some games and counts it on the others.
    #[must_use]
    pub fn row(&self, game: String, adjacency: Adjacency, claim: Claim) -> Row {
        let (chosen, counted) = self.first.split_at(self.chosen_on);
        let (other_chosen, other_counted) = self.second.split_at(self.chosen_on);
        let objective = if claim.mu.is_some() { Objective::Mu } else { Objective::Epsilon(claim.delta) };
        let event = Event::choose(chosen, other_chosen, objective);
        Row {
            game,
            adjacency: adjacency.to_string(),
            claim,
            evidence: Evidence::Event(event.count(counted, other_counted)),
            chosen_on: 2 * self.chosen_on,
            seconds: self.seconds,
            mu: None,
        }
    }

    /// The separation of the first numbers of the counted games in standard deviations, with its standard error.
    #[must_use]
    pub fn separation(&self) -> (f64, f64) {
        let first = |games: &[Observation]| -> Vec<f64> {
            games[self.chosen_on..].iter().filter_map(|game| game.first().copied()).collect()
        };
        separation(&first(&self.first), &first(&self.second))
    }
}

/// The data set of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Ordinary records, and one at a bound.
    Ordinary,
    /// No record but the one that differs; the public number of records is the ordinary one under add/remove, and 1 under replace-one. A model that has
    /// no plan for one record has the fewest that it has one for.
    Alone,
    /// The public estimate of the number of records is ten times too large.
    GuessTooLarge,
    /// The public estimate of the number of records is ten times too small.
    GuessTooSmall,
    /// All records at one bound.
    AtBound,
}

impl Data {
    /// The special data sets that are meaningful under an adjacency.
    #[must_use]
    pub fn special(adjacency: Adjacency) -> &'static [Self] {
        match adjacency {
            Adjacency::ReplaceOne => &[Self::Alone, Self::AtBound],
            Adjacency::AddRemove => &[Self::Alone, Self::GuessTooLarge, Self::GuessTooSmall, Self::AtBound],
        }
    }

    /// Description in the table of results.
    #[must_use]
    pub fn name(self, adjacency: Adjacency) -> &'static str {
        match (self, adjacency) {
            (Self::Ordinary, _) => "ordinary records",
            (Self::Alone, Adjacency::ReplaceOne) => "fewest records",
            (Self::Alone, Adjacency::AddRemove) => "one record or none",
            (Self::GuessTooLarge, _) => "N guessed ten times too large",
            (Self::GuessTooSmall, _) => "N guessed ten times too small",
            (Self::AtBound, _) => "all at a bound",
        }
    }

    /// Records that both data sets have, and the public number of records.
    #[must_use]
    pub fn common(self, case: &Case, adjacency: Adjacency) -> (Vec<String>, usize) {
        let n = case.records;
        match self {
            Self::Ordinary => (case.ordinary(n - 1), n),
            Self::Alone if adjacency == Adjacency::ReplaceOne => {
                (case.ordinary(case.fewest - 1), case.fewest)
            }
            Self::Alone => (Vec::new(), n),
            Self::GuessTooLarge => (case.ordinary(n / 10 - 1), n),
            Self::GuessTooSmall => (case.ordinary(10 * n - 1), n),
            Self::AtBound => (vec![case.extremes[0].clone(); n - 1], n),
        }
    }
}

/// A planned fit and its claim.
struct Planned {
    mechanism: Mechanism,
    receipt: Receipt,
    common: Vec<String>,
    rows: Encoded,
    privacy: Privacy,
}

impl Planned {
    fn new(case: &Case, data: Data, privacy: Privacy) -> Result<Self, Failure> {
        let (common, records) = data.common(case, privacy.adjacency());
        let mechanism = Mechanism::new(case, records, privacy)?;
        let rows = encode(case, &[&common[..], &case.extremes[..1]].concat())?;
        let receipt = mechanism.receipt(&rows)?;
        Ok(Self { mechanism, receipt, common, rows, privacy })
    }

    /// The parameter mu of the first release, if all noise is Gaussian and all records take part.
    fn first_mu(&self) -> Result<Option<f64>, Failure> {
        if total_mu(&self.receipt).is_none() {
            return Ok(None);
        }
        let first = self.mechanism.releases_with_seed(&self.rows, 1, 1)?;
        let square = first
            .first()
            .and_then(|transcript| squared_mu(&self.receipt, &transcript.what, transcript.earlier));
        Ok(square.map(f64::sqrt))
    }
}

/// An attack on a mechanism by a pair of neighbours.
pub struct Attack {
    mechanism: Mechanism,
    /// The data sets.
    pub neighbours: Neighbours,
    /// The receipt of one fit.
    pub receipt: Receipt,
    score: Score,
    name: String,
    privacy: Privacy,
}

impl Attack {
    /// Plans a fit and finds the neighbours.
    ///
    /// # Errors
    /// [`Failure`] if there is no such fit.
    pub fn new(case: &Case, data: Data, privacy: Privacy) -> Result<Self, Failure> {
        Self::of(case, data, Planned::new(case, data, privacy)?, case.releases)
    }

    /// As [`new`](Self::new) for games of first releases, with a budget so large that few games show how tight their share of it is. If
    /// their noise is not Gaussian, the budget is small.
    ///
    /// # Errors
    /// [`Failure`] if there is no such fit.
    pub fn with_large_budget(case: &Case, data: Data, adjacency: Adjacency) -> Result<Self, Failure> {
        Self::of_releases(case, data, adjacency, FIRST)
    }

    /// The same for the first release alone, whose neighbours may be farther apart than those of several releases together.
    ///
    /// # Errors
    /// [`Failure`] if there is no such fit.
    pub fn of_first_release(case: &Case, data: Data, adjacency: Adjacency) -> Result<Self, Failure> {
        Self::of_releases(case, data, adjacency, 1)
    }

    fn of_releases(case: &Case, data: Data, adjacency: Adjacency, releases: usize) -> Result<Self, Failure> {
        let planned =
            |epsilon| Planned::new(case, data, Privacy::new(epsilon, LARGE_BUDGET_DELTA, adjacency)?);
        let mut chosen = planned(1.0)?;
        if chosen.first_mu()?.is_some() {
            for epsilon in LARGE_BUDGETS {
                chosen = planned(epsilon)?;
                if chosen.first_mu()?.is_none_or(|mu| mu >= LARGE_BUDGET_MU) {
                    break;
                }
            }
        }
        Self::of(case, data, chosen, releases)
    }

    fn of(case: &Case, data: Data, planned: Planned, max_releases: usize) -> Result<Self, Failure> {
        let Planned { mechanism, receipt, common, privacy, .. } = planned;
        // After the last release there is only post-processing.
        let releases = receipt.groups.iter().map(|entry| entry.planned).sum::<u64>();
        let releases = max_releases.min(case.releases).min(releases as usize);
        let neighbours = Neighbours::farthest(case, &common, &mechanism, releases)?;
        let noise = Noise::measure(&mechanism, &neighbours.rows, releases, Some(&receipt))?;
        let rows = (&neighbours.rows, &neighbours.other_rows);
        let score = Score::between(&mechanism, rows, (&receipt, &noise), (releases, SEEDS))?;
        let name = format!("{}, {}", case.name, data.name(privacy.adjacency()));
        Ok(Self { mechanism, neighbours, receipt, score, name, privacy })
    }

    /// Whether the score is of more than one release.
    #[must_use]
    pub fn is_of_several(&self) -> bool {
        self.score.fixed > 1
    }

    /// The claim of the receipt.
    ///
    /// # Errors
    /// [`Failure`] if it has none.
    pub fn claim(&self) -> Result<Claim, Failure> {
        let cost = self.receipt.guarantee.cost().ok_or_else(|| Failure::new("the receipt claims nothing"))?;
        Ok(Claim { epsilon: cost.epsilon.upper, delta: self.privacy.delta(), mu: total_mu(&self.receipt) })
    }

    /// The score of a transcript.
    #[must_use]
    pub fn score(&self, transcript: &[Released]) -> f64 {
        self.score.of(transcript)
    }

    /// Complete fits: the event may depend on the releases, the posterior, and the outcome.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn complete(&self, effort: &Effort) -> Result<Row, Failure> {
        let game = |rows: &Encoded| {
            let ended = self.mechanism.play(rows, usize::MAX)?;
            let mut observation = vec![self.score.of(&ended.transcript)];
            observation.extend(visible_result(ended.result.as_ref()));
            Ok(observation)
        };
        let Neighbours { rows, other_rows, .. } = &self.neighbours;
        let games = Games::play(effort, of_thread, || game(rows), || game(other_rows))?;
        Ok(games.row(format!("{}: complete fit", self.name), self.mechanism.adjacency(), self.claim()?))
    }

    /// Fits up to the last release that does not depend on earlier ones, or to the first if there is none: the event depends on their score.
    /// Where noise is Gaussian and all records take part, the claim is that of these releases alone, and the score is normal.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn first_releases(&self, effort: &Effort) -> Result<Row, Failure> {
        let max_releases = self.score.fixed.max(1);
        let game =
            |rows: &Encoded| Ok(vec![self.score.of(&self.mechanism.play(rows, max_releases)?.transcript)]);
        let Neighbours { rows, other_rows, .. } = &self.neighbours;
        let games = Games::play(effort, of_thread, || game(rows), || game(other_rows))?;
        let claim = Claim { mu: self.score.fixed_mu, ..self.claim()? };
        let releases = if max_releases == 1 {
            "first release".to_owned()
        } else {
            format!("first {max_releases} releases")
        };
        let row = games.row(format!("{}: {releases}", self.name), self.mechanism.adjacency(), claim);
        Ok(Row { mu: claim.mu.map(|_| games.separation()), ..row })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_depend_on_their_cost() {
        let effort = Effort { cheap: 2000, cheap_below: 0.01, seconds: 10.0, min_games: 200 };
        assert_eq!(effort.games(0.0099), (1000, 250));
        assert_eq!(effort.games(0.01), (500, 125));
        assert_eq!(effort.games(1.0), (100, 30));
        assert_eq!(Effort::exactly(300).games(5.0), (150, 37));
    }
}
