//! Games through the library.

use reticent_core::budget::{Adjacency, Privacy};
use reticent_core::receipt::Receipt;

use crate::case::Case;
use crate::clock::{Clock, of_thread};
use crate::event::{Aim, Event, Observation};
use crate::failure::Failure;
use crate::library::{Mechanism, encode, shown, squared_mu, whole_mu};
use crate::neighbours::{Neighbours, Noise, SEEDS, Score};
use crate::row::{Claim, Found, Row};
use crate::statistics::separation;

/// Budgets that are tried where one should be large, and the delta of all.
const SHARP: [f64; 4] = [8.0, 16.0, 30.0, 50.0];
const SHARP_DELTA: f64 = 1e-5;
/// The parameter mu from which on a hundred games tell two data sets apart.
const SHARP_MU: f64 = 1.5;

/// Releases among which those are looked for that do not depend on earlier ones.
const FIRST: usize = 4;

/// Games on each data set that are timed.
const TIMED: usize = 10;

/// How many games to play.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Games that are counted where one is cheap, on both data sets together.
    pub cheap: usize,
    /// A game is cheap if it takes less CPU time than this, in seconds.
    pub cheap_below: f64,
    /// CPU seconds for games that are not cheap.
    pub seconds: f64,
    /// Games that are counted at least.
    pub least: usize,
}

impl Effort {
    /// So many games, whatever one takes.
    #[must_use]
    pub fn games_in_any_case(games: usize) -> Self {
        Self { cheap: games, cheap_below: f64::INFINITY, seconds: 0.0, least: games }
    }

    /// Games to count on each data set, and games to choose the event on. They depend on time alone, not on what games show.
    #[must_use]
    pub fn games(&self, seconds: f64) -> (usize, usize) {
        let others =
            ((self.seconds / seconds.max(1e-9)) as usize).clamp(self.least, self.cheap.max(self.least));
        let counted = if seconds < self.cheap_below { self.cheap } else { others }.div_ceil(2);
        (counted, (counted / 4).clamp(30, 1000))
    }
}

/// The two sets of games of a pair of data sets.
pub struct Games {
    /// On the first.
    pub first: Vec<Observation>,
    /// On the second.
    pub second: Vec<Observation>,
    /// How many of each are for choosing the event.
    pub chosen_on: usize,
    /// CPU time of one game.
    pub seconds: f64,
}

impl Games {
    /// Plays as many games as the effort allows by this clock: one after the other on both data sets, so that nothing else than the data differs.
    ///
    /// # Errors
    /// What a game fails with.
    pub fn play(
        effort: &Effort,
        clock: Clock,
        mut first: impl FnMut() -> Result<Observation, Failure>,
        mut second: impl FnMut() -> Result<Observation, Failure>,
    ) -> Result<Self, Failure> {
        // The first games include what is only done once, such as reading a program from disk.
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
        let aim = if claim.mu.is_some() { Aim::Mu } else { Aim::Epsilon(claim.delta) };
        let event = Event::choose(chosen, other_chosen, aim);
        Row {
            game,
            adjacency: adjacency.to_string(),
            claim,
            found: Found::Event(event.count(counted, other_counted)),
            chosen_on: 2 * self.chosen_on,
            seconds: self.seconds,
            mu: None,
        }
    }

    /// The distance of the first numbers of the counted games in units of their deviation, with its error.
    #[must_use]
    pub fn separation(&self) -> (f64, f64) {
        let first = |games: &[Observation]| -> Vec<f64> {
            games[self.chosen_on..].iter().filter_map(|game| game.first().copied()).collect()
        };
        separation(&first(&self.first), &first(&self.second))
    }
}

/// Where a game is special.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Ordinary records, with one at an end.
    Ordinary,
    /// No record but the one that differs; the public number of records is the ordinary one under add/remove, and 1 under replace-one.
    Alone,
    /// A public guess of the number of records that is ten times the true one.
    GuessTooLarge,
    /// A public guess of the number of records that is a tenth of the true one.
    GuessTooSmall,
    /// All records at one end.
    AtBound,
}

impl Data {
    /// All of them that are different from ordinary data and make sense under an adjacency.
    #[must_use]
    pub fn special(adjacency: Adjacency) -> &'static [Self] {
        match adjacency {
            Adjacency::ReplaceOne => &[Self::Alone, Self::AtBound],
            Adjacency::AddRemove => &[Self::Alone, Self::GuessTooLarge, Self::GuessTooSmall, Self::AtBound],
        }
    }

    /// In words.
    #[must_use]
    pub fn name(self, adjacency: Adjacency) -> &'static str {
        match (self, adjacency) {
            (Self::Ordinary, _) => "ordinary records",
            (Self::Alone, Adjacency::ReplaceOne) => "one record",
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
            Self::Alone if adjacency == Adjacency::ReplaceOne => (Vec::new(), 1),
            Self::Alone => (Vec::new(), n),
            Self::GuessTooLarge => (case.ordinary(n / 10 - 1), n),
            Self::GuessTooSmall => (case.ordinary(10 * n - 1), n),
            Self::AtBound => (vec![case.extremes[0].clone(); n - 1], n),
        }
    }
}

/// A planned fit with what it claims.
struct Planned {
    mechanism: Mechanism,
    receipt: Receipt,
    common: Vec<String>,
    rows: Vec<f64>,
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
        if whole_mu(&self.receipt).is_none() {
            return Ok(None);
        }
        let first = self.mechanism.rehearse(&self.rows, 1, 1)?;
        let square = first.first().and_then(|heard| squared_mu(&self.receipt, &heard.what, heard.earlier));
        Ok(square.map(f64::sqrt))
    }
}

/// A pair of neighbours that a mechanism is attacked on, with what it claims.
pub struct Arena {
    mechanism: Mechanism,
    /// The data sets.
    pub neighbours: Neighbours,
    /// The receipt of one fit.
    pub receipt: Receipt,
    score: Score,
    name: String,
    privacy: Privacy,
}

impl Arena {
    /// Plans a fit and finds the neighbours.
    ///
    /// # Errors
    /// [`Failure`] if there is no such fit.
    pub fn new(case: &Case, data: Data, privacy: Privacy) -> Result<Self, Failure> {
        Self::of(case, data, Planned::new(case, data, privacy)?, case.releases)
    }

    /// The same for games of first releases, with a budget so large that few games tell how tight these are: theirs is a share of it. If their
    /// noise is not Gaussian, few games tell with a small budget.
    ///
    /// # Errors
    /// [`Failure`] if there is no such fit.
    pub fn sharp(case: &Case, data: Data, adjacency: Adjacency) -> Result<Self, Failure> {
        let planned = |epsilon| Planned::new(case, data, Privacy::new(epsilon, SHARP_DELTA, adjacency)?);
        let mut chosen = planned(1.0)?;
        if chosen.first_mu()?.is_some() {
            for epsilon in SHARP {
                chosen = planned(epsilon)?;
                if chosen.first_mu()?.is_none_or(|mu| mu >= SHARP_MU) {
                    break;
                }
            }
        }
        Self::of(case, data, chosen, FIRST)
    }

    fn of(case: &Case, data: Data, planned: Planned, most: usize) -> Result<Self, Failure> {
        let Planned { mechanism, receipt, common, privacy, .. } = planned;
        // After the last release there is only post-processing.
        let releases = receipt.groups.iter().map(|entry| entry.planned).sum::<u64>();
        let releases = most.min(case.releases).min(releases as usize);
        let neighbours = Neighbours::farthest(case, &common, &mechanism, releases)?;
        let noise = Noise::measure(&mechanism, &neighbours.rows, releases, Some(&receipt))?;
        let rows = (&neighbours.rows[..], &neighbours.other_rows[..]);
        let score = Score::between(&mechanism, rows, (&receipt, &noise), (releases, SEEDS))?;
        let name = format!("{}, {}", case.name, data.name(privacy.adjacency()));
        Ok(Self { mechanism, neighbours, receipt, score, name, privacy })
    }

    /// What the receipt claims.
    ///
    /// # Errors
    /// [`Failure`] if it claims nothing.
    pub fn claim(&self) -> Result<Claim, Failure> {
        let cost = self.receipt.guarantee.cost().ok_or_else(|| Failure::new("the receipt claims nothing"))?;
        Ok(Claim { epsilon: cost.epsilon.upper, delta: self.privacy.delta(), mu: whole_mu(&self.receipt) })
    }

    /// Whole fits: the event is about the releases, the posterior, and how the fit ended.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn whole(&self, effort: &Effort) -> Result<Row, Failure> {
        let game = |rows: &[f64]| {
            let ended = self.mechanism.play(rows, usize::MAX)?;
            let mut observation = vec![self.score.of(&ended.heard)];
            observation.extend(shown(ended.result.as_ref()));
            Ok(observation)
        };
        let Neighbours { rows, other_rows, .. } = &self.neighbours;
        let games = Games::play(effort, of_thread, || game(rows), || game(other_rows))?;
        Ok(games.row(format!("{}: whole fit", self.name), self.mechanism.adjacency(), self.claim()?))
    }

    /// Fits up to the last release that does not depend on earlier ones, or to the first if there is none: the event is about their score.
    /// Where noise is Gaussian and all records take part, the claim is that of these releases alone, and the score is normal.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn first_releases(&self, effort: &Effort) -> Result<Row, Failure> {
        let most = self.score.fixed.max(1);
        let game = |rows: &[f64]| Ok(vec![self.score.of(&self.mechanism.play(rows, most)?.heard)]);
        let Neighbours { rows, other_rows, .. } = &self.neighbours;
        let games = Games::play(effort, of_thread, || game(rows), || game(other_rows))?;
        let claim = Claim { mu: self.score.fixed_mu, ..self.claim()? };
        let releases = if most == 1 { "first release".to_owned() } else { format!("first {most} releases") };
        let row = games.row(format!("{}: {releases}", self.name), self.mechanism.adjacency(), claim);
        Ok(Row { mu: claim.mu.map(|_| games.separation()), ..row })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_depend_on_their_cost() {
        let effort = Effort { cheap: 2000, cheap_below: 0.01, seconds: 10.0, least: 200 };
        assert_eq!(effort.games(0.0099), (1000, 250));
        assert_eq!(effort.games(0.01), (500, 125));
        assert_eq!(effort.games(1.0), (100, 30));
        assert_eq!(Effort::games_in_any_case(300).games(5.0), (150, 37));
    }
}
