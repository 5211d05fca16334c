//! Attack by many canaries in one data set: see [`one_run`](crate::one_run) for the bound.

use rand::RngExt;
use reticent_core::budget::{Adjacency, Privacy};
use reticent_core::math::matrix::{cholesky, solve};

use crate::case::Case;
use crate::clock::of_thread;
use crate::failure::Failure;
use crate::game::Effort;
use crate::library::{Encoded, Mechanism, Released, encode};
use crate::neighbours::{Noise, Score};
use crate::one_run::{Guesses, guess};
use crate::row::{ALPHA, Claim, Evidence, Row};

/// Number of ordinary records beside the canaries.
const COMMON: usize = 20;
/// Number of releases scored: later ones depend more on the noise of earlier ones than on one canary.
const RELEASES: usize = 16;
/// Number of seeds that the effect of a canary is averaged over.
const SEEDS: u64 = 2;
/// Number of runs that the number of guesses is chosen on.
const CHOSEN_ON: usize = 20;

/// Rows of a table with canaries, each of which takes part or not.
struct Table {
    common: Vec<f64>,
    canaries: Vec<Vec<f64>>,
    /// The row that replaces an absent canary; empty under add/remove.
    instead: Vec<f64>,
}

impl Table {
    fn new(case: &Case, adjacency: Adjacency) -> Result<Self, Failure> {
        let neutral = case.ordinary(1);
        let instead = match adjacency {
            Adjacency::ReplaceOne => encode(case, &neutral)?.values,
            Adjacency::AddRemove => Vec::new(),
        };
        let canaries = case.extremes.iter().map(|line| Ok(encode(case, std::slice::from_ref(line))?.values));
        Ok(Self {
            common: encode(case, &case.ordinary(COMMON))?.values,
            canaries: canaries.collect::<Result<_, Failure>>()?,
            instead,
        })
    }

    fn rows(&self, takes_part: impl Fn(usize) -> bool) -> Encoded {
        let mut rows = self.common.clone();
        for (k, canary) in self.canaries.iter().enumerate() {
            rows.extend(if takes_part(k) { canary } else { &self.instead });
        }
        Encoded::rows(rows)
    }
}

/// Scores of a transcript for each canary, with their covariance and means.
struct CanaryScores {
    scores: Vec<Score>,
    covariance: Vec<f64>,
    means: Vec<f64>,
}

impl CanaryScores {
    fn new(mechanism: &Mechanism, table: &Table, releases: usize) -> Result<Self, Failure> {
        let half = |k: usize| k.is_multiple_of(2);
        let rows = table.rows(half);
        let receipt = mechanism.receipt(&rows)?;
        let noise = Noise::measure(mechanism, &rows, releases, Some(&receipt))?;
        let score = |canary: usize| {
            let (with, without) =
                (table.rows(|k| k == canary || half(k)), table.rows(|k| k != canary && half(k)));
            Score::between(mechanism, (&with, &without), (&receipt, &noise), (releases, SEEDS))
        };
        let scores = (0..table.canaries.len()).map(score).collect::<Result<Vec<_>, _>>()?;
        let pairs = scores.iter().flat_map(|a| scores.iter().map(move |b| (a, b)));
        let covariance = pairs.map(|(a, b)| a.covariance(b, &noise)).collect();
        let means = vec![0.0; scores.len()];
        Ok(Self { scores, covariance, means })
    }

    fn raw(&self, transcript: &[Released]) -> Vec<f64> {
        self.scores.iter().map(|score| score.of(transcript)).collect()
    }

    /// The best linear estimate of which canaries took part. Scores are $s = G b + n$ with coins $b$ of variance 1/4 and noise $n$ of covariance $G$,
    /// so that $E[b | s] - 1/2 = (G + 4)^{-1} (s - E s)$.
    fn estimate(&self, transcript: &[Released]) -> Vec<f64> {
        let m = self.scores.len();
        let mut centred: Vec<f64> =
            self.raw(transcript).iter().zip(&self.means).map(|(s, mean)| s - mean).collect();
        let mut matrix = self.covariance.clone();
        (0..m).for_each(|k| matrix[k * (m + 1)] += 4.0);
        let mut factor = vec![0.0; m * m];
        // If the factorisation fails, the scores themselves are used.
        if cholesky(&matrix, m, &mut factor) {
            solve(&factor, m, &mut centred);
        }
        centred
    }
}

/// Plans a fit of a table of canaries, and attacks it.
///
/// # Errors
/// [`Failure`] if there is no such fit.
pub fn play(case: &Case, privacy: Privacy, effort: &Effort) -> Result<Row, Failure> {
    let mechanism = Mechanism::new(case, records(case), privacy)?;
    let table = Table::new(case, privacy.adjacency())?;
    let cost = mechanism.receipt(&table.rows(|_| true))?.guarantee.cost();
    let epsilon = cost.ok_or_else(|| Failure::new("the receipt claims nothing"))?.epsilon.upper;
    attack(case, &mechanism, Claim { epsilon, delta: privacy.delta(), mu: None }, effort)
}

/// The public number of records of a table of canaries.
#[must_use]
pub fn records(case: &Case) -> usize {
    COMMON + case.extremes.len()
}

/// Fits a table of canaries repeatedly, each time with fresh coins, and guesses which canaries took part.
///
/// # Errors
/// [`Failure`] if a fit is refused.
pub fn attack(case: &Case, mechanism: &Mechanism, claim: Claim, effort: &Effort) -> Result<Row, Failure> {
    let adjacency = mechanism.adjacency();
    let table = Table::new(case, adjacency)?;
    let m = table.canaries.len();
    let releases = case.releases.min(RELEASES);
    let mut scorer = CanaryScores::new(mechanism, &table, releases)?;
    let mut random = rand::rng();
    let mut run = || {
        let coins: Vec<bool> = (0..m).map(|_| random.random_bool(0.5)).collect();
        let ended = mechanism.play(&table.rows(|k| coins[k]), releases)?;
        Ok::<_, Failure>((coins, ended.transcript))
    };
    let started = of_thread();
    let chosen = (0..CHOSEN_ON).map(|_| run()).collect::<Result<Vec<_>, _>>()?;
    let seconds = (of_thread() - started) / CHOSEN_ON as f64;
    let (runs, _) = effort.games(seconds);
    for (_, transcript) in &chosen {
        let raw = scorer.raw(transcript);
        scorer.means.iter_mut().zip(raw).for_each(|(mean, s)| *mean += s / CHOSEN_ON as f64);
    }
    let chosen: Vec<(Vec<bool>, Vec<f64>)> =
        chosen.into_iter().map(|(coins, transcript)| (coins, scorer.estimate(&transcript))).collect();
    // The number of guesses that maximises the refuted epsilon on these runs, scaled to the number of counted runs.
    let refuted = |each: usize| {
        let all = chosen.iter().map(|(coins, estimate)| guess(estimate, coins, each)).fold(NONE, add);
        let scale = (2 * runs / CHOSEN_ON).max(1) as u64;
        let Guesses { canaries, made, right } = all;
        let all = Guesses { canaries: scale * canaries, made: scale * made, right: scale * right };
        (all.epsilon(claim.delta, ALPHA), all.right as f64 / all.made as f64)
    };
    let each = [1, 2, m / 8, m / 4, m / 2].into_iter().filter(|each| *each > 0);
    let each =
        each.map(|each| (refuted(each), each)).max_by(|(a, _), (b, _)| a.partial_cmp(b).expect("numbers"));
    let each = each.map_or(1, |(_, each)| each);
    let mut found = NONE;
    for _ in 0..2 * runs {
        let (coins, transcript) = run()?;
        found = add(found, guess(&scorer.estimate(&transcript), &coins, each));
    }
    Ok(Row {
        game: format!("{}, {m} canaries in each of {} runs", case.name, 2 * runs),
        adjacency: adjacency.to_string(),
        claim,
        evidence: Evidence::Guesses(found),
        chosen_on: CHOSEN_ON,
        seconds,
        mu: None,
    })
}

const NONE: Guesses = Guesses { canaries: 0, made: 0, right: 0 };

/// Independent runs are one mechanism on all of their canaries.
fn add(a: Guesses, b: Guesses) -> Guesses {
    Guesses { canaries: a.canaries + b.canaries, made: a.made + b.made, right: a.right + b.right }
}
