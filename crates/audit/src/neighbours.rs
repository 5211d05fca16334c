//! The choice of neighbours, and the score of a transcript that distinguishes them.
//!
//! Two fits with the same seed have the same noise. On neighbouring data sets their releases differ by exactly the effect of the record, as
//! long as no release depends on an earlier one. That difference over the variance of the noise is the log likelihood ratio of Gaussian noise up to a
//! constant, so that no other test of a release has more power (Neyman and Pearson). It needs no knowledge of the model.

use std::collections::BTreeMap;

use reticent_core::budget::Adjacency;
use reticent_core::receipt::{Kind, Receipt};
use reticent_core::wall::Geometry;

use crate::case::Case;
use crate::failure::Failure;
use crate::library::{Encoded, Mechanism, Released, encode, entry, squared_mu};

/// Default number of seeds that differences are averaged over.
pub const SEEDS: u64 = 6;
/// Number of seeds that variances are estimated from.
const VARIANCE_SEEDS: u64 = 24;
/// Minimum variance, for fits without noise: keeps scores finite.
const NO_NOISE: f64 = 1e-12;
/// Number of releases by which neighbours are chosen.
const CHOSEN_BY: usize = 3;

/// Two data sets that differ in one record, or in all rows of one privacy unit, the last.
#[derive(Debug, Clone)]
pub struct Neighbours {
    /// Lines of the first file.
    pub lines: Vec<String>,
    /// Lines of the second.
    pub other_lines: Vec<String>,
    /// Rows of the first.
    pub rows: Encoded,
    /// Rows of the second.
    pub other_rows: Encoded,
}

impl Neighbours {
    /// Encodes the lines of both files.
    ///
    /// # Errors
    /// [`Failure`] if they cannot be read.
    pub fn new(case: &Case, lines: Vec<String>, other_lines: Vec<String>) -> Result<Self, Failure> {
        let (rows, other_rows) = (encode(case, &lines)?, encode(case, &other_lines)?);
        Ok(Self { lines, other_lines, rows, other_rows })
    }

    /// Common lines with one of the extremes, and with another (replace-one) or none (add/remove): those whose first releases are farthest
    /// apart, in units of the noise.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn farthest(
        case: &Case,
        common: &[String],
        mechanism: &Mechanism,
        releases: usize,
    ) -> Result<Self, Failure> {
        let max_releases = releases.min(CHOSEN_BY);
        let with = |last: Option<&String>| common.iter().chain(last).cloned().collect::<Vec<_>>();
        let mut candidates: Vec<Option<&String>> = case.extremes.iter().map(Some).collect();
        if mechanism.adjacency() == Adjacency::AddRemove {
            candidates.push(None);
        }
        let rows = candidates
            .iter()
            .map(|candidate| encode(case, &with(*candidate)))
            .collect::<Result<Vec<_>, _>>()?;
        let noise = Noise::measure(mechanism, &rows[0], max_releases, None)?;
        let mut transcripts = Vec::new();
        for rows in &rows {
            let seeds = (1..=SEEDS).map(|seed| mechanism.releases_with_seed(rows, max_releases, seed));
            transcripts.push(seeds.collect::<Result<Vec<_>, _>>()?);
        }
        let distance = |a: usize, b: usize| -> f64 {
            transcripts[a].iter().zip(&transcripts[b]).map(|(a, b)| noise.distance(a, b)).sum()
        };
        let last = candidates.len() - 1;
        let seconds = |a: usize| match mechanism.adjacency() {
            Adjacency::AddRemove => last..last + 1,
            Adjacency::ReplaceOne => 0..a,
        };
        let pairs =
            (0..candidates.len()).flat_map(|a| seconds(a).map(move |b| (a, b))).filter(|(a, b)| a != b);
        let (a, b) = pairs
            .max_by(|&(a, b), &(c, d)| distance(a, b).total_cmp(&distance(c, d)))
            .ok_or_else(|| Failure::new("a case needs two extremes"))?;
        Self::new(case, with(candidates[a]), with(candidates[b]))
    }
}

/// Number of fits, and for each value the sum and the sum of squares.
type Sums = (f64, Vec<[f64; 2]>);

/// The variance of each released value.
pub struct Noise(BTreeMap<(String, u64), Vec<f64>>);

impl Noise {
    /// Estimated from fits with different seeds. Values of a release have one common variance, unless the receipt states that their noise has scales.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn measure(
        mechanism: &Mechanism,
        rows: &Encoded,
        max_releases: usize,
        receipt: Option<&Receipt>,
    ) -> Result<Self, Failure> {
        let mut sums: BTreeMap<(String, u64), Sums> = BTreeMap::new();
        for seed in 0..VARIANCE_SEEDS {
            for Released { what, earlier, values } in
                mechanism.releases_with_seed(rows, max_releases, 1000 + seed)?
            {
                let (times, sums) = sums.entry((what, earlier)).or_default();
                sums.resize(values.len(), [0.0; 2]);
                *times += 1.0;
                for (sum, x) in sums.iter_mut().zip(values) {
                    *sum = [sum[0] + x, sum[1] + x * x];
                }
            }
        }
        let variances = sums.into_iter().map(|((what, earlier), (times, sums))| {
            let variance =
                |sum: &[f64; 2]| ((sum[1] - sum[0] * sum[0] / times) / (times - 1.0).max(1.0)).max(NO_NOISE);
            let mut each: Vec<f64> = sums.iter().map(variance).collect();
            let scaled = receipt.is_some_and(|receipt| has_scales(receipt, &what, earlier));
            if !scaled {
                let common = each.iter().sum::<f64>() / each.len() as f64;
                each.fill(common);
            }
            ((what, earlier), each)
        });
        Ok(Self(variances.collect()))
    }

    /// The squared distance of two transcripts in units of the noise.
    fn distance(&self, first: &[Released], second: &[Released]) -> f64 {
        let squares =
            first.iter().zip(second).filter(|(a, b)| (&a.what, a.earlier) == (&b.what, b.earlier)).map(
                |(a, b)| {
                    let variances = self.0.get(&(a.what.clone(), a.earlier));
                    let squares = a.values.iter().zip(&b.values).map(|(a, b)| (a - b).powi(2));
                    variances.map_or(0.0, |all| {
                        squares.zip(all).map(|(square, variance)| square / variance).sum::<f64>()
                    })
                },
            );
        squares.sum()
    }
}

fn has_scales(receipt: &Receipt, what: &str, earlier: u64) -> bool {
    let kind = entry(receipt, what, earlier).map(|entry| &entry.kind);
    matches!(kind, Some(Kind::Sum { geometry: Geometry::Blocks { .. } | Geometry::Outer { .. }, .. }))
}

/// A linear score of transcripts.
pub struct Score {
    weights: BTreeMap<(String, u64), Vec<f64>>,
    /// Number of first releases whose difference does not depend on the noise of earlier ones, so that they are not adaptive.
    pub fixed: usize,
    /// The parameter mu that is claimed for these releases together, if their noise is Gaussian and all records take part.
    pub fixed_mu: Option<f64>,
}

impl Score {
    /// The score that distinguishes two data sets, from at most `max_releases` releases, by differences at seeds from 1 to `seeds`.
    ///
    /// # Errors
    /// [`Failure`] if a fit is refused.
    pub fn between(
        mechanism: &Mechanism,
        (rows, other_rows): (&Encoded, &Encoded),
        (receipt, noise): (&Receipt, &Noise),
        (max_releases, seeds): (usize, u64),
    ) -> Result<Self, Failure> {
        let differences = (1..=seeds)
            .map(|seed| {
                let (first, second) = (
                    mechanism.releases_with_seed(rows, max_releases, seed)?,
                    mechanism.releases_with_seed(other_rows, max_releases, seed)?,
                );
                Ok(difference(&first, &second))
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        let order: Vec<(String, u64)> = mechanism
            .releases_with_seed(rows, max_releases, 1)?
            .into_iter()
            .map(|transcript| (transcript.what, transcript.earlier))
            .collect();
        let is_fixed = |key: &&(String, u64)| {
            let all: Option<Vec<&Vec<f64>>> = differences.iter().map(|one| one.get(*key)).collect();
            let (Some(all), Some(variances)) = (all, noise.0.get(*key)) else { return false };
            // A difference of integers times a step: equal but for the rounding of the product.
            let same = |a: &f64, b: &f64, variance: &f64| (a - b).abs() <= 1e-6 * variance.sqrt();
            all.iter().all(|one| one.iter().zip(all[0]).zip(variances).all(|((a, b), v)| same(a, b, v)))
        };
        let fixed = order.iter().take_while(is_fixed).count();
        let squares = order[..fixed].iter().map(|(what, earlier)| squared_mu(receipt, what, *earlier));
        let fixed_mu = squares.sum::<Option<f64>>().map(f64::sqrt).filter(|mu| *mu > 0.0);
        let weights = order.into_iter().filter_map(|key| {
            let variances = noise.0.get(&key)?;
            let all: Vec<&Vec<f64>> = differences.iter().filter_map(|one| one.get(&key)).collect();
            let mean =
                |k: usize| all.iter().filter_map(|one| one.get(k)).sum::<f64>() / all.len().max(1) as f64;
            let weights = variances.iter().enumerate().map(|(k, variance)| mean(k) / variance).collect();
            Some((key, weights))
        });
        Ok(Self { weights: weights.collect(), fixed, fixed_mu })
    }

    /// The score of a transcript.
    #[must_use]
    pub fn of(&self, transcript: &[Released]) -> f64 {
        let one = |transcript: &Released| {
            let weights = self.weights.get(&(transcript.what.clone(), transcript.earlier));
            weights.map_or(0.0, |weights| {
                weights.iter().zip(&transcript.values).map(|(w, x)| w * x).sum::<f64>()
            })
        };
        transcript.iter().map(one).sum()
    }

    /// The sum of products of the differences that two scores are made of, over the variance: the covariance of the scores due to noise.
    #[must_use]
    pub fn covariance(&self, other: &Self, noise: &Noise) -> f64 {
        let one = |(key, weights): (&(String, u64), &Vec<f64>)| {
            let (Some(others), Some(variances)) = (other.weights.get(key), noise.0.get(key)) else {
                return 0.0;
            };
            weights.iter().zip(others).zip(variances).map(|((a, b), variance)| a * b * variance).sum::<f64>()
        };
        self.weights.iter().map(one).sum()
    }
}

/// Differences of two transcripts, by release.
fn difference(first: &[Released], second: &[Released]) -> BTreeMap<(String, u64), Vec<f64>> {
    let others: BTreeMap<(&str, u64), &Released> = second
        .iter()
        .map(|transcript| ((transcript.what.as_str(), transcript.earlier), transcript))
        .collect();
    first
        .iter()
        .filter_map(|transcript| {
            let other = others.get(&(transcript.what.as_str(), transcript.earlier))?;
            let values = transcript.values.iter().zip(&other.values).map(|(a, b)| a - b).collect();
            Some(((transcript.what.clone(), transcript.earlier), values))
        })
        .collect()
}
