//! Typical records, simulated from public facts alone: what a plan is tried on before a record is read.
//!
//! Numbers are about the middle of their bounds with a standard deviation of three tenths of half their range, levels are equally frequent, a
//! twentieth of indicators mark a missing value. A linear predictor with random weights explains half of the variance of a number, and has a
//! standard deviation of 1.5 on the scale of log odds for two classes. Without a target, records are of four groups that differ in
//! means, levels and words.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Gamma, StandardNormal};
use reticent_core::model::{Code, Codebook};

/// Standard deviation of a number, over half its range.
const NUMBER_SD: f64 = 0.3;
/// The share of the variance of a numeric target that the inputs explain.
const EXPLAINED: f64 = 0.5;
/// Standard deviation of the log odds of two classes.
const SCORE_SD: f64 = 1.5;
/// Groups of records without a target.
const GROUPS: usize = 4;
/// Words of a text.
const LENGTH: usize = 60;

/// So many encoded rows: inputs, and the target if there is one.
pub(crate) fn rows(codebook: &Codebook, count: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let grouped = codebook.target.is_none();
    let groups: Vec<Group> =
        (0..if grouped { GROUPS } else { 1 }).map(|_| Group::new(codebook, grouped, &mut rng)).collect();
    let inputs: Vec<Vec<f64>> = (0..count)
        .map(|_| {
            let group = &groups[rng.random_range(0..groups.len())];
            group.record(codebook, &mut rng)
        })
        .collect();
    let targets = targets(codebook, &inputs, &mut rng);
    inputs.into_iter().zip(targets).flat_map(|(row, target)| row.into_iter().chain(target)).collect()
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// What the records of a group have in common.
struct Group {
    /// The mean of each number, and the shares of the levels or the frequency of the word.
    columns: Vec<Vec<f64>>,
    sd: f64,
}

impl Group {
    fn new(codebook: &Codebook, grouped: bool, rng: &mut ChaCha8Rng) -> Self {
        let shape = if grouped { 1.0 } else { f64::INFINITY };
        let share = |rng: &mut ChaCha8Rng| {
            if shape.is_finite() {
                Gamma::new(shape, 1.0).map_or(1.0, |gamma| gamma.sample(rng))
            } else {
                1.0
            }
        };
        let column = |code: &Code| match code {
            Code::Number { .. } => vec![if grouped { (0.5 * normal(rng)).clamp(-0.8, 0.8) } else { 0.0 }],
            Code::Flag { .. } => vec![share(rng), share(rng)],
            Code::Missing => vec![0.95, 0.05],
            Code::Levels { levels } => levels.iter().map(|_| share(rng)).collect(),
            Code::Word { .. } => vec![share(rng)],
        };
        let columns = codebook.columns.iter().map(|column| &column.code).map(column).collect();
        Self { columns, sd: if grouped { 0.5 * NUMBER_SD } else { NUMBER_SD } }
    }

    fn record(&self, codebook: &Codebook, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let mut row = Vec::with_capacity(codebook.inputs());
        let mut words: Vec<(usize, f64)> = Vec::new();
        for (column, facts) in codebook.columns.iter().zip(&self.columns) {
            match &column.code {
                Code::Number { .. } => row.push((facts[0] + self.sd * normal(rng)).clamp(-1.0, 1.0)),
                Code::Flag { .. } | Code::Missing => row.push(2.0 * choose(facts, rng) as f64 - 1.0),
                Code::Levels { levels } => {
                    let chosen = choose(facts, rng);
                    row.extend((0..levels.len()).map(|level| f64::from(u8::from(level == chosen))));
                }
                Code::Word { .. } => {
                    words.push((row.len(), facts[0]));
                    row.push(0.0);
                }
            }
        }
        if !words.is_empty() {
            let shares: Vec<f64> = words.iter().map(|(_, share)| *share).collect();
            (0..LENGTH).for_each(|_| row[words[choose(&shares, rng)].0] += 1.0);
        }
        row
    }
}

/// An index, with these weights.
fn choose(weights: &[f64], rng: &mut ChaCha8Rng) -> usize {
    let mut rest = rng.random::<f64>() * weights.iter().sum::<f64>();
    let chosen = weights.iter().position(|weight| {
        rest -= weight;
        rest <= 0.0
    });
    chosen.unwrap_or(weights.len().saturating_sub(1))
}

fn targets(codebook: &Codebook, inputs: &[Vec<f64>], rng: &mut ChaCha8Rng) -> Vec<Option<f64>> {
    let Some(target) = &codebook.target else { return vec![None; inputs.len()] };
    let weights: Vec<f64> = (0..codebook.inputs()).map(|_| normal(rng)).collect();
    let scores: Vec<f64> =
        inputs.iter().map(|row| row.iter().zip(&weights).map(|(x, w)| x * w).sum()).collect();
    let n = scores.len().max(1) as f64;
    let mean = scores.iter().sum::<f64>() / n;
    let sd = (scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n).sqrt().max(f64::MIN_POSITIVE);
    let mut one = |score: &f64| {
        let score = (score - mean) / sd;
        match &target.code {
            Code::Number { .. } => {
                let standard = EXPLAINED.sqrt() * score + (1.0 - EXPLAINED).sqrt() * normal(rng);
                (NUMBER_SD * standard).clamp(-1.0, 1.0)
            }
            Code::Levels { levels } => rng.random_range(0..levels.len().max(1)) as f64,
            _ => {
                let probability = 1.0 / (1.0 + (-SCORE_SD * score).exp());
                if rng.random::<f64>() < probability { 1.0 } else { -1.0 }
            }
        }
    };
    scores.iter().map(|score| Some(one(score))).collect()
}
