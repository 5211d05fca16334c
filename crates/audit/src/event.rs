//! The event that distinguishes two data sets: chosen on some games, counted on others.

use crate::row::ALPHA;
use crate::statistics::{Counts, moments};

/// The observation of one game, as numbers. Games of one kind have equally many; values that are not finite are replaced.
pub type Observation = Vec<f64>;

/// Maximum number of thresholds tried for each score.
const THRESHOLDS: usize = 200;
/// Number of single coordinates tried as scores: those that differ most.
const SINGLES: usize = 8;
/// The error probability of the limits by which events are compared: that of a result. A larger one would favour extreme thresholds,
/// which overfit to a handful of games. Where games are too few to refute anything, the largest gap of both rates decides.
const COMPARED_AT: f64 = ALPHA;

/// The event that a weighted sum of an observation is above or below a threshold.
#[derive(Debug, Clone)]
pub struct Event {
    weights: Vec<(usize, f64)>,
    threshold: f64,
    above: bool,
}

/// The quantity by which events are compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Objective {
    /// The largest epsilon that is refuted at this delta.
    Epsilon(f64),
    /// The largest mu that is refuted.
    Mu,
}

impl Objective {
    fn of(self, counts: &Counts, alpha: f64) -> f64 {
        match self {
            Self::Epsilon(delta) => counts.epsilon(delta, alpha),
            Self::Mu => counts.mu(alpha),
        }
    }
}

fn finite(x: f64) -> f64 {
    if x.is_nan() { -1e300 } else { x.clamp(-1e300, 1e300) }
}

fn score(weights: &[(usize, f64)], observation: &[f64]) -> f64 {
    weights.iter().map(|&(k, weight)| weight * observation.get(k).map_or(-1e300, |x| finite(*x))).sum()
}

impl Event {
    /// Whether the event occurred.
    #[must_use]
    pub fn happened(&self, observation: &[f64]) -> bool {
        (score(&self.weights, observation) > self.threshold) == self.above
    }

    /// Counts the event on games that it was not chosen on.
    #[must_use]
    pub fn count(&self, first: &[Observation], second: &[Observation]) -> Counts {
        let hits = |games: &[Observation]| games.iter().filter(|game| self.happened(game)).count() as u64;
        Counts {
            hits: hits(first),
            games: first.len() as u64,
            false_hits: hits(second),
            other_games: second.len() as u64,
        }
    }

    /// The event that refutes the largest value on these games: a threshold of one of the numbers that differ most, of the first number, or of all
    /// numbers weighted by difference over variance (the best linear score of independent normal numbers).
    ///
    /// The event is more frequent on the first data set.
    #[must_use]
    pub fn choose(first: &[Observation], second: &[Observation], objective: Objective) -> Self {
        let candidates = candidates(first, second);
        let best = candidates.into_iter().map(|weights| best_threshold(weights, first, second, objective));
        best.max_by(|(a, _), (b, _)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)))
            .map_or(Self { weights: Vec::new(), threshold: 0.0, above: true }, |(_, event)| event)
    }
}

/// Candidate weighted sums.
fn candidates(first: &[Observation], second: &[Observation]) -> Vec<Vec<(usize, f64)>> {
    let width = first.iter().chain(second).map(Vec::len).max().unwrap_or(0);
    let column = |games: &[Observation], k: usize| -> Vec<f64> {
        games.iter().map(|game| game.get(k).map_or(-1e300, |x| finite(*x))).collect()
    };
    let mut all = Vec::new();
    let mut ranked: Vec<(f64, usize)> = Vec::new();
    for k in 0..width {
        let ((mean, variance), (other, other_variance)) =
            (moments(&column(first, k)), moments(&column(second, k)));
        let difference = mean - other;
        if difference == 0.0 {
            continue;
        }
        let common = 0.5 * (variance + other_variance);
        ranked.push((if common > 0.0 { difference.abs() / common.sqrt() } else { f64::INFINITY }, k));
        if common > 0.0 && (difference / common).is_finite() {
            all.push((k, difference / common));
        }
    }
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut singles: Vec<usize> = ranked.into_iter().take(SINGLES).map(|(_, k)| k).collect();
    if !singles.contains(&0) {
        singles.push(0);
    }
    singles.into_iter().map(|k| vec![(k, 1.0)]).chain([all]).collect()
}

/// The best threshold of a score, with the refuted value and the gap of the two rates.
fn best_threshold(
    weights: Vec<(usize, f64)>,
    first: &[Observation],
    second: &[Observation],
    objective: Objective,
) -> ((f64, f64), Event) {
    let scores = |games: &[Observation]| {
        let mut scores: Vec<f64> = games.iter().map(|game| score(&weights, game)).collect();
        scores.sort_by(f64::total_cmp);
        scores
    };
    let (a, b) = (scores(first), scores(second));
    let mut cuts: Vec<f64> = a.iter().chain(&b).copied().collect();
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    let middles: Vec<f64> = cuts.windows(2).map(|pair| 0.5 * pair[0] + 0.5 * pair[1]).collect();
    let above = |scores: &[f64], cut: f64| (scores.len() - scores.partition_point(|x| *x <= cut)) as u64;
    let mut best = ((f64::NEG_INFINITY, 0.0), (0.0, true));
    for cut in middles.iter().step_by(middles.len().div_ceil(THRESHOLDS).max(1)) {
        let (high, other_high) = (above(&a, *cut), above(&b, *cut));
        let (games, other_games) = (a.len() as u64, b.len() as u64);
        for up in [true, false] {
            let (hits, false_hits) =
                if up { (high, other_high) } else { (games - high, other_games - other_high) };
            let counts = Counts { hits, games, false_hits, other_games };
            let gap = hits as f64 / games as f64 - false_hits as f64 / other_games as f64;
            // The limits are slow to compute, and an event without a gap refutes nothing.
            if gap <= 0.0 {
                continue;
            }
            let value = (objective.of(&counts, COMPARED_AT), gap);
            if value > best.0 {
                best = (value, (*cut, up));
            }
        }
    }
    let (value, (threshold, above)) = best;
    (value, Event { weights, threshold, above })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One informative coordinate among many uninformative ones is found.
    #[test]
    fn the_informative_coordinate_is_found() {
        let game = |n: usize, informative: f64| {
            let mut observation: Vec<f64> = (0..30).map(|k| ((n * 31 + k * 17) as f64).sin()).collect();
            observation[5] = f64::NAN;
            observation[17] = informative;
            observation
        };
        let first: Vec<_> = (0..400).map(|n| game(n, 1.0)).collect();
        let second: Vec<_> = (400..800).map(|n| game(n, 0.0)).collect();
        let event = Event::choose(&first[..100], &second[..100], Objective::Epsilon(1e-5));
        let counts = event.count(&first[100..], &second[100..]);
        assert_eq!((counts.hits, counts.false_hits), (300, 0));
        assert!(counts.epsilon(1e-5, 1e-9) > 2.0);
        // The other way round it is the same event.
        let event = Event::choose(&second[..100], &first[..100], Objective::Mu);
        assert_eq!(event.count(&second[100..], &first[100..]).hits, 300);
    }

    /// Failed games have shorter observations, which is informative.
    #[test]
    fn missing_coordinates_are_informative() {
        let (complete, failed) = (vec![vec![0.0, 0.3]; 300], vec![vec![0.0]; 300]);
        let event = Event::choose(&failed[..50], &complete[..50], Objective::Epsilon(0.0));
        let counts = event.count(&failed[50..], &complete[50..]);
        assert_eq!((counts.hits, counts.false_hits), (250, 0));
    }

    /// Nothing is refuted where nothing differs: the same games on both sides have no event.
    #[test]
    fn games_that_do_not_differ_refute_nothing() {
        let games: Vec<_> = (0..600).map(|n| vec![f64::from(n).sin(), f64::from(n).cos()]).collect();
        let event = Event::choose(&games[..100], &games[..100], Objective::Mu);
        let counts = event.count(&games[100..350], &games[350..]);
        assert!(counts.epsilon(0.0, 1e-6) == 0.0, "{counts:?}");
    }
}
