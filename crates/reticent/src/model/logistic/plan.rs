//! Planning and running a private fit.

use super::columns::{ClassSums, agree};
use super::curvature::{Curvature, variance_ratio};
use super::pooled::pool;
use super::products::Products;
use super::response::{Leg, Path, posterior};
use super::scores::{CentredScores, Curvatures, Scores};
use super::wander::wander;
use crate::budget::{Adjacency, Cost, Ledger, Privacy, Unlimited};
use crate::engine::exact_delta;
use crate::family::{Gamma, Moments};
use crate::matrix;
use crate::model::known_targets::{self, KnownTargets};
use crate::model::linear::LinearPosterior;
use crate::receipt::Receipt;
use crate::wall::{Geometry, NoiseSource, Plan, PlanError, Records, Sampler, SumId, Sums, Wall, WallError};
use reticent_accounting::gaussian;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a private logistic regression will do, chosen from public numbers only. It can be edited and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogisticPlan {
    /// $N$.
    pub records: usize,
    /// Inputs of each column: one, or one for each level of which one is 1 and the others are 0.
    pub columns: Vec<usize>,
    /// Which data sets are neighbours.
    pub adjacency: Adjacency,
    /// $r$: inputs, with the 1 of the bias, are usually no longer than this.
    pub radius: f64,
    /// The standard deviation of the noise in the number of records with a known target, where that is needed: with sums of inputs by class.
    pub count_noise: Option<f64>,
    /// Two rounds of a curvature at the weights so far and then steps; or one round that starts with sums of inputs by class.
    pub rounds: Vec<LogisticRound>,
    /// How many weights of the last steps are averaged.
    pub averaged: u64,
    /// The pull towards 0 during the steps.
    pub ridge: f64,
    /// Of the precision of the weights; of columns, which differ from each other, where there are products of centred inputs.
    pub prior: Gamma,
    /// Why it is this plan.
    pub why: Vec<String>,
}

/// What is known of a curvature, and steps with it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LogisticRound {
    /// The standard deviation of the noise of sums of inputs by class, if they are released, over the sensitivity.
    pub sums_noise: Option<f64>,
    /// The same of the curvature, or of products of centred inputs where there are sums by class.
    pub curvature_noise: Option<f64>,
    /// How many steps.
    pub steps: u64,
    /// The standard deviation of the noise of the scores of a step over the sensitivity.
    pub score_noise: f64,
}

/// What is known of how scores fall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A curvature, at two places.
    Matrix,
    /// Sums of inputs by class and products of inputs.
    Pooled,
    /// Sums of inputs by class.
    Columns,
}

/// Why a private logistic regression did not happen.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each message says what its variant is")]
pub enum LogisticError {
    #[error("a logistic regression needs columns and records, and a plan positive numbers within reason")]
    Numbers,
    #[error("delta must be positive: the noise is Gaussian")]
    NoDelta,
    #[error(
        "what was released cannot be made into a posterior: the plan has too little noise or too large steps"
    )]
    NoDensity,
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Wall(#[from] WallError),
    #[error(transparent)]
    Accounting(#[from] reticent_accounting::Error),
}

/// With more weights than this products of inputs are not released: they would be too wide to work with.
const MANY: usize = 300;
/// Where the noise of a score is more than this share of it products of inputs are not released either: they would be little but noise. On simulated
/// records fits without them are as good from half of it on, and better beyond, the more so the more columns depend on each other.
const LOUD: f64 = 0.6;
/// With more weights than this the law of $w \cdot x$ is taken to be normal, as what is a sum of many is: with few it would bend intervals.
const FEW: usize = 30;
/// The most weights that an edited plan may have with matrices of them.
const MOST: usize = 2000;
/// Shares of the budget: curvature and scores of the first round, and of the second.
const SHARES: [(f64, f64); 2] = [(0.08, 0.3), (0.12, 0.5)];
/// The share of products where there are sums by class.
const PRODUCTS: f64 = 0.1;
/// The share of sums by class: without noise, and what is added where noise is all. Chosen on simulated records.
const SUMS: (f64, f64) = (0.3, 0.4);
/// Steps of a round; and without privacy, where they are free.
const STEPS: u64 = 8;
const FREE_STEPS: u64 = 40;
/// The share of the last steps that is averaged.
const AVERAGED: f64 = 0.7;
/// The ridge over the noise of the average score of the second round.
const RIDGE: f64 = 0.3;
/// Curvatures are taken to be larger by this share of the norm of their noise, for steps that do not overshoot.
const OVERSHOOT: f64 = 0.5;
/// The shape of the prior of the precision of the weights.
const SHAPE: f64 = 2.0;

impl LogisticPlan {
    /// Chooses a plan for columns of so many inputs each. `prior_variance` is that of each weight, for inputs between -1 and 1. Without privacy it
    /// is a plan for the [same fit](Self::fit) without noise.
    ///
    /// # Errors
    /// [`LogisticError`] if there is no such plan.
    pub fn new(
        columns: &[usize],
        records: usize,
        prior_variance: f64,
        privacy: Option<&Privacy>,
    ) -> Result<Self, LogisticError> {
        let size = 1 + columns.iter().sum::<usize>();
        let kind = if size > MANY {
            Kind::Columns
        } else if size <= FEW || columns.len() == 1 {
            // One column has no products.
            Kind::Matrix
        } else if loudness(size, records, privacy)? > LOUD {
            Kind::Columns
        } else {
            Kind::Pooled
        };
        Self::with(columns, records, prior_variance, privacy, kind)
    }

    /// The same of a kind.
    pub(super) fn with(
        columns: &[usize],
        records: usize,
        prior_variance: f64,
        privacy: Option<&Privacy>,
        kind: Kind,
    ) -> Result<Self, LogisticError> {
        let sane =
            (1e-6..=1e6).contains(&prior_variance) && columns.iter().all(|&c| (1..1 << 20).contains(&c));
        if columns.is_empty() || records == 0 || !sane {
            return Err(LogisticError::Numbers);
        }
        let size = 1 + columns.iter().sum::<usize>();
        // A level is 1; a number is between -1 and 1, and its square 1/2 or less for most records.
        let square: f64 = 1.0 + columns.iter().map(|&c| if c == 1 { 0.5 } else { 1.0 }).sum::<f64>();
        let radius = square.sqrt();
        let mu = signal(privacy)?;
        let adjacency = privacy.map_or(Adjacency::ReplaceOne, Privacy::adjacency);
        let ends = if adjacency == Adjacency::ReplaceOne { 2.0 } else { 1.0 };
        let loudness = loudness(size, records, privacy)?;
        let steps = match (privacy, kind) {
            (None, _) => FREE_STEPS,
            (_, Kind::Pooled | Kind::Columns) => {
                (STEPS as f64 / (1.0 + 4.0 * loudness)).round().max(1.0) as u64
            }
            _ => STEPS,
        };
        let noise_of = |share: f64| 1.0 / (mu * share.sqrt());
        let count = (kind != Kind::Matrix).then_some(known_targets::SHARE);
        let round = |sums: Option<f64>, curvature: Option<f64>| {
            let left = 1.0 - sums.unwrap_or(0.0) - curvature.unwrap_or(0.0) - count.unwrap_or(0.0);
            LogisticRound {
                sums_noise: sums.map(noise_of),
                curvature_noise: curvature.map(noise_of),
                steps,
                score_noise: noise_of(left / steps as f64),
            }
        };
        let rounds = match kind {
            Kind::Matrix => SHARES
                .map(|(curvature, scores)| LogisticRound {
                    score_noise: noise_of(scores / steps as f64),
                    ..round(None, Some(curvature))
                })
                .to_vec(),
            Kind::Pooled => vec![round(Some(SUMS.0 + SUMS.1 * loudness.min(1.0)), Some(PRODUCTS))],
            Kind::Columns => vec![round(Some(SUMS.0 + SUMS.1 * loudness.min(1.0)), None)],
        };
        let noise = ends * 0.5 * radius / (mu * SHARES[1].1.sqrt());
        let ridge = (1.0 / prior_variance).min(1.0) + if privacy.is_some() { RIDGE * noise } else { 0.0 };
        let mut why =
            vec![format!("records count as if their inputs were no longer than {radius:.2}, which most are")];
        why.extend(match kind {
            Kind::Matrix => [
                format!(
                    "{steps} steps in each of two rounds, about all records: scores weighted so that none is longer than half of that"
                ),
                format!(
                    "the noise of the average of the last {steps} scores is {noise:.1} in each, so weights are drawn to 0 by a ridge of {ridge:.1} on the way"
                ),
            ],
            Kind::Pooled => [
                format!(
                    "sums of inputs by class, then products and {steps} steps about all records, of inputs less the means that those sums say: they are shorter, so their noise is less"
                ),
                format!(
                    "with {size} weights, scores of records are taken to have a normal law, so that all that was released is pooled: intervals are approximate"
                ),
            ],
            Kind::Columns => [
                format!(
                    "sums of inputs by class, then {steps} steps about all records, of inputs less the means that those sums say: they are shorter, so their noise is less"
                ),
                format!(
                    "products of inputs would be {}: columns are taken to be independent as far as scores do not tell otherwise, and intervals are approximate",
                    if size > MANY { "too many" } else { "little but noise" }
                ),
            ],
        });
        let averaged = (AVERAGED * steps as f64).round() as u64;
        let prior = Gamma { shape: SHAPE, rate: (SHAPE - 1.0) * prior_variance };
        let columns = columns.to_vec();
        let count_noise = count.map(noise_of);
        Ok(Self { records, columns, adjacency, radius, count_noise, rounds, averaged, ridge, prior, why })
    }

    /// Weights, with the bias.
    #[must_use]
    pub fn size(&self) -> usize {
        1 + self.columns.iter().sum::<usize>()
    }

    /// What is planned, by round: what it is, its width, its domain, its noise and how often.
    #[must_use]
    pub fn sums(&self) -> Vec<Sums> {
        let (size, sampler) = (self.size(), Sampler::Full);
        let sums = |what: &str, round: usize, width, geometry: Geometry, noise_multiplier, steps| Sums {
            what: format!("{what}, round {round}"),
            width,
            geometry,
            sampler,
            noise_multiplier,
            steps,
        };
        let (columns, radius) = (&self.columns, self.radius);
        let all = self.rounds.iter().zip(1..).flat_map(|(round, k)| {
            let by_class = round.sums_noise.map(|noise| {
                let (width, geometry) = (ClassSums::width(columns), ClassSums::geometry(radius));
                sums("inputs by class", k, width, geometry, noise, 1)
            });
            let curvature = round.curvature_noise.map(|noise| {
                let (what, width, geometry) = if by_class.is_some() {
                    ("products of centred inputs", Products::width(columns), Products::geometry())
                } else {
                    ("curvature of weighted scores", Curvatures::width(size), Curvatures::geometry(radius))
                };
                sums(what, k, width, geometry, noise, 1)
            });
            let (what, geometry) = if by_class.is_some() {
                ("weighted scores of centred inputs", CentredScores::geometry())
            } else {
                ("weighted scores", Scores::geometry(radius))
            };
            let scores = sums(what, k, size, geometry, round.score_noise, round.steps);
            by_class.into_iter().chain(curvature).chain([scores])
        });
        self.count_noise.map(KnownTargets::sums).into_iter().chain(all).collect()
    }

    /// What the rounds say.
    fn kind(&self) -> Option<Kind> {
        let known: Vec<(bool, bool)> =
            self.rounds.iter().map(|r| (r.sums_noise.is_some(), r.curvature_noise.is_some())).collect();
        match (self.count_noise, &known[..]) {
            (None, [(false, true), (false, true)]) => Some(Kind::Matrix),
            (Some(_), [(true, true)]) => Some(Kind::Pooled),
            (Some(_), [(true, false)]) => Some(Kind::Columns),
            _ => None,
        }
    }

    /// The pull towards 0 during the steps, if there is one.
    #[must_use]
    pub fn pull(&self) -> Option<f64> {
        (self.kind() == Some(Kind::Matrix)).then_some(self.ridge)
    }

    fn releases(&self) -> Result<(Plan, Vec<SumId>), LogisticError> {
        self.validate().map_err(PlanError::from)?;
        let sane = |x: f64| (1e-9..=1e9).contains(&x);
        // A matrix of the size of products is worked with.
        let small = self.kind() == Some(Kind::Columns) || self.size() <= MOST;
        let rounds = self.kind().is_some()
            && small
            && self.rounds.iter().all(|round| (1..=1 << 20).contains(&round.steps));
        let averaged = self.rounds.last().is_some_and(|round| (1..=round.steps).contains(&self.averaged));
        let numbers =
            sane(self.radius) && sane(self.ridge) && self.prior.shape > 1.0 && self.prior.is_proper();
        if !(rounds && averaged && numbers && !self.columns.is_empty()) {
            return Err(LogisticError::Numbers);
        }
        let mut plan = Plan::new(self.records, self.adjacency);
        let ids = self.sums().into_iter().map(|sums| plan.sums(sums)).collect::<Result<_, _>>()?;
        Ok((plan, ids))
    }

    /// What it costs.
    ///
    /// # Errors
    /// [`LogisticError`] if the wall would refuse it.
    pub fn price(&self, delta: f64) -> Result<Cost, LogisticError> {
        Ok(self.releases()?.0.price(delta)?)
    }

    /// Fits records: rows of inputs between -1 and 1 and, last, the class, -1 or 1. Without privacy if none is asked for.
    ///
    /// # Errors
    /// [`LogisticError`]; nothing was released if the wall could not be built.
    pub fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(LinearPosterior, Receipt), LogisticError> {
        let (plan, ids) = self.releases()?;
        let mut wall = match privacy {
            Some(privacy) => Wall::new(records, source, plan, privacy, ledger)?,
            None => Wall::without_privacy(records, source, plan, ledger)?,
        };
        // What was paid for is not lost: where noise leaves no density, what is left is the prior.
        let ([moments, naive], centre, projections) = match self.learn(&mut wall, &ids) {
            Err(LogisticError::NoDensity) => ([self.prior_moments(), self.prior_moments()], Vec::new(), 1),
            learnt => learnt?,
        };
        let receipt = wall.finish(projections)?;
        Ok((LinearPosterior::logistic(moments, naive, centre), receipt))
    }

    /// Makes all releases: the moments of the weights with and without the privacy noise, what inputs are less by, and how often something was moved
    /// back into its domain.
    fn learn(&self, wall: &mut Wall, ids: &[SumId]) -> Result<([Moments; 2], Vec<f64>, u64), LogisticError> {
        let (ids, known) = match self.count_noise {
            Some(_) => {
                let released = wall.sum(ids[0], &KnownTargets)?;
                (&ids[1..], KnownTargets::read(&released, self.records, self.adjacency))
            }
            None => (ids, self.records as f64),
        };
        Ok(match self.kind() {
            Some(Kind::Matrix) => {
                let (path, projections) = self.walk(wall, ids)?;
                let moments = posterior(&path, self.prior).ok_or(LogisticError::NoDensity)?;
                (moments, Vec::new(), projections)
            }
            Some(Kind::Pooled) => {
                let (moments, projections) = pool(self, known, wall, ids)?;
                (moments, Vec::new(), projections)
            }
            _ => {
                let (moments, frame, projections) = wander(self, known, wall, ids)?;
                let mut centre = frame.centre;
                centre.pop();
                (moments, centre, projections)
            }
        })
    }

    /// Of the weights before anything is released, with the diagonal of their covariance.
    fn prior_moments(&self) -> Moments {
        let variance = self.prior.rate / (self.prior.shape - 1.0);
        Moments { mean: vec![0.0; self.size()], covariance: vec![variance; self.size()] }
    }

    /// The same without privacy and without a ledger, for public records.
    ///
    /// # Errors
    /// [`LogisticError`].
    pub fn fit_openly(
        &self,
        records: Records,
        source: NoiseSource,
    ) -> Result<LinearPosterior, LogisticError> {
        Ok(self.fit(records, source, None, Box::new(Unlimited))?.0)
    }

    /// Takes all steps; and how many eigenvalues of curvatures were not positive.
    fn walk(&self, wall: &mut Wall, ids: &[SumId]) -> Result<(Path, u64), LogisticError> {
        let (size, radius) = (self.size(), self.radius);
        let mut weights = vec![0.0; size];
        let (mut mean, mut step) = (vec![0.0; size], vec![0.0; size]);
        let mut known: Option<Curvature> = None;
        let (mut legs, mut ratio, mut projections) = (Vec::new(), 1.0, 0);
        for (k, round) in self.rounds.iter().enumerate() {
            let released = wall.sum(ids[2 * k], &Curvatures { weights: &weights, radius })?;
            let found = Curvature::read(&released, &self.columns);
            let curvature = known.take().map_or_else(|| found.clone(), |first| first.updated(&found));
            ratio = variance_ratio(&released, radius, size);
            let over = OVERSHOOT * curvature.spectral();
            let (steep, moved) = curvature.mapped(|value| value.max(0.0) + over + self.ridge);
            projections += moved;
            let inverse = matrix::symmetric_inverse(&steep.elements, size).ok_or(LogisticError::NoDensity)?;
            known = Some(if k == 0 { curvature.mapped(|value| value.max(0.0)).0 } else { curvature });
            let mut noise_sd = 0.0;
            for taken in 0..round.steps {
                let mut released = wall.sum(ids[2 * k + 1], &Scores { weights: &weights, radius })?;
                noise_sd = released.noise_sd[0];
                agree(&mut released.values, &self.columns);
                released.values.iter_mut().zip(&weights).for_each(|(g, w)| *g -= self.ridge * w);
                matrix::times(&inverse, size, &released.values, &mut step);
                weights.iter_mut().zip(&step).for_each(|(w, step)| *w += step);
                if k == 1 && taken >= round.steps - self.averaged {
                    let share = 1.0 / self.averaged as f64;
                    mean.iter_mut().zip(&weights).for_each(|(mean, w)| *mean += share * w);
                }
            }
            legs.push(Leg { inverse, steps: round.steps, noise_sd });
        }
        let (Ok(legs), Some(curvature)) = (legs.try_into(), known) else {
            return Err(LogisticError::Numbers);
        };
        let (ridge, averaged, variance_ratio) = (self.ridge, self.averaged, ratio);
        Ok((Path { legs, ridge, averaged, weights: mean, curvature, variance_ratio }, projections))
    }
}

/// The signal to noise ratio that a budget buys: releases may have noise multipliers $z$ with $\sum z^{-2} \le \mu^2$.
fn signal(privacy: Option<&Privacy>) -> Result<f64, LogisticError> {
    let Some(privacy) = privacy else { return Ok(1e3) };
    if privacy.delta() == 0.0 {
        return Err(LogisticError::NoDelta);
    }
    Ok((1.0 - 1e-6) / gaussian::noise_multiplier(privacy.epsilon(), exact_delta(privacy))?)
}

/// The length of the noise of a score to that of the score, roughly.
fn loudness(size: usize, records: usize, privacy: Option<&Privacy>) -> Result<f64, LogisticError> {
    Ok(4.0 * size as f64 / (signal(privacy)? * records as f64))
}
