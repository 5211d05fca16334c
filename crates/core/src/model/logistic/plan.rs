//! Planning and running a private fit.

use crate::budget::{Adjacency, Cost, Ledger, Privacy, Unlimited};
use crate::engine::exact_delta;
use crate::family::{Gamma, Moments};
use crate::math::matrix;
use crate::model::known_targets::KnownTargets;
use crate::model::linear::LinearPosterior;
use crate::model::logistic::columns::agree;
use crate::model::logistic::curvature::{Curvature, variance_ratio};
use crate::model::logistic::independent_columns::independent_columns;
use crate::model::logistic::pooled::pool;
use crate::model::logistic::query::{CentredScores, ClassSums, Curvatures, Products, Scores};
use crate::model::logistic::response::{Path, Segment, posterior};
use crate::model::planned::{out_of_range, same_columns};
use crate::model::{DefinitionError, FitError};
use crate::model::{Estimate, ModelError, Planned, Posterior, TableShape, known_targets};
use crate::receipt::Receipt;
use crate::wall::{Geometry, NoiseSource, Plan, PlanError, Records, Sampler, SumId, Sums, Wall};
use reticent_accounting::gaussian;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The plan of a private logistic regression, chosen from public numbers only. It can be edited and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogisticPlan {
    /// Number of records $N$.
    pub records: usize,
    /// Number of inputs of each column: one, or one for each level of a one-hot encoding.
    pub columns: Vec<usize>,
    /// The neighbour relation of data sets.
    pub adjacency: Adjacency,
    /// $r$: the typical length of inputs, with the constant 1 of the bias.
    pub radius: f64,
    /// The standard deviation of the noise in the number of records with a known target, where that is needed: with sums of inputs by class.
    pub count_noise: Option<f64>,
    /// Two rounds of a curvature at the weights so far and then steps; or one round that starts with sums of inputs by class.
    pub rounds: Vec<LogisticRound>,
    /// Number of final weights that are averaged.
    pub averaged: u64,
    /// Ridge penalty during the steps.
    pub ridge: f64,
    /// Prior of the precision of the weights; of each column where there are products of centred inputs.
    pub prior: Gamma,
    /// The reasons for these choices.
    pub why: Vec<String>,
}

/// A round: a release of the curvature, and steps with it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LogisticRound {
    /// The standard deviation of the noise of sums of inputs by class, if they are released, over the sensitivity.
    pub sums_noise: Option<f64>,
    /// As `sums_noise`, of the curvature, or of products of centred inputs where there are sums by class.
    pub curvature_noise: Option<f64>,
    /// Number of steps.
    pub steps: u64,
    /// The standard deviation of the noise of the scores of a step over the sensitivity.
    pub score_noise: f64,
}

/// The source of the slope of scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A curvature matrix, at two weights.
    Matrix,
    /// Sums of inputs by class and products of inputs.
    Pooled,
    /// Sums of inputs by class.
    Columns,
}

/// Maximum number of weights for which products of inputs are released: more would be too wide to work with.
const MAX_PRODUCT_WEIGHTS: usize = 300;

/// Noise-to-signal ratio of a score above which products of inputs are not released: they would be mostly noise. On
/// simulated records fits without them are as good from half of this ratio on, and better beyond, the more so the
/// more columns are correlated.
const MAX_NOISE_TO_SIGNAL: f64 = 0.6;

/// Number of weights above which $w \cdot x$ is assumed to be normal over records, as a sum of many terms: with few
/// terms the assumption would distort intervals.
pub(super) const MAX_MATRIX_WEIGHTS: usize = 30;

/// Maximum number of weights of an edited plan with matrices.
const MAX_EDITED_WEIGHTS: usize = 2000;

/// Shares of the budget: curvature and scores of the first round, and of the second.
const SHARES: [(f64, f64); 2] = [(0.08, 0.3), (0.12, 0.5)];

/// The share of products where there are sums by class.
const PRODUCTS: f64 = 0.1;

/// The share of sums by class: without noise, and its increase where noise dominates. Chosen on simulated records.
const SUMS: (f64, f64) = (0.3, 0.4);

/// Steps of a round.
const STEPS: u64 = 8;
/// Steps without privacy, where they cost nothing.
const STEPS_WITHOUT_PRIVACY: u64 = 40;

/// The share of the last steps that is averaged.
const AVERAGED: f64 = 0.7;

/// The ridge over the noise of the average score of the second round.
const RIDGE: f64 = 0.3;

/// Curvatures are increased by this share of the norm of their noise, so that steps do not overshoot.
const OVERSHOOT: f64 = 0.5;

/// The shape of the prior of the precision of the weights.
const SHAPE: f64 = 2.0;

impl LogisticPlan {
    /// Chooses a plan for columns of these numbers of inputs. `prior_variance` is that of each weight, for inputs
    /// between -1 and 1. Without privacy it is a plan for the [same fit](Self::fit) without noise.
    ///
    /// # Errors
    /// [`FitError`] if the arguments are invalid.
    pub fn new(
        columns: &[usize],
        records: usize,
        prior_variance: f64,
        privacy: Option<&Privacy>,
    ) -> Result<Self, FitError> {
        let size = 1 + columns.iter().sum::<usize>();
        let kind = if size > MAX_PRODUCT_WEIGHTS {
            Kind::Columns
        } else if size <= MAX_MATRIX_WEIGHTS || columns.len() == 1 {
            // One column has no products.
            Kind::Matrix
        } else if noise_to_signal(size, records, privacy)? > MAX_NOISE_TO_SIGNAL {
            Kind::Columns
        } else {
            Kind::Pooled
        };
        Self::with(columns, records, prior_variance, privacy, kind)
    }

    /// A plan of this kind.
    pub(super) fn with(
        columns: &[usize],
        records: usize,
        prior_variance: f64,
        privacy: Option<&Privacy>,
        kind: Kind,
    ) -> Result<Self, FitError> {
        let sane =
            (1e-6..=1e6).contains(&prior_variance) && columns.iter().all(|&c| (1..1 << 20).contains(&c));
        if columns.is_empty() || records == 0 || !sane {
            return Err(FitError::Definition(DefinitionError::Logistic));
        }
        let size = 1 + columns.iter().sum::<usize>();
        // A level is 1; a number is between -1 and 1, and its square 1/2 or less for most records.
        let square: f64 = 1.0 + columns.iter().map(|&c| if c == 1 { 0.5 } else { 1.0 }).sum::<f64>();
        let radius = square.sqrt();
        let mu = mu_allowed(privacy)?;
        let adjacency = privacy.map_or(Adjacency::ReplaceOne, Privacy::adjacency);
        let factor = adjacency.sensitivity_factor(2.0);
        let noise_to_signal = noise_to_signal(size, records, privacy)?;
        let steps = match (privacy, kind) {
            (None, _) => STEPS_WITHOUT_PRIVACY,
            (_, Kind::Pooled | Kind::Columns) => {
                (STEPS as f64 / (1.0 + 4.0 * noise_to_signal)).round().max(1.0) as u64
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
            Kind::Pooled => vec![round(Some(SUMS.0 + SUMS.1 * noise_to_signal.min(1.0)), Some(PRODUCTS))],
            Kind::Columns => vec![round(Some(SUMS.0 + SUMS.1 * noise_to_signal.min(1.0)), None)],
        };
        let noise = factor * 0.5 * radius / (mu * SHARES[1].1.sqrt());
        let ridge = (1.0 / prior_variance).min(1.0) + if privacy.is_some() { RIDGE * noise } else { 0.0 };
        let mut why = vec![format!(
            "records are weighted as if their inputs were no longer than {radius:.2}, which most are"
        )];
        why.extend(match kind {
            Kind::Matrix => [
                format!(
                    "{steps} steps in each of two rounds over all records: scores are weighted so that none is longer than half of that"
                ),
                format!(
                    "the noise of the average of the last {steps} scores is {noise:.1} in each, so weights are shrunk by a ridge penalty of {ridge:.1} during the steps"
                ),
            ],
            Kind::Pooled => [
                format!(
                    "sums of inputs by class, then centred second moments and {steps} steps over all records: centred inputs are shorter, so their noise is smaller"
                ),
                format!(
                    "with {size} weights, scores of records are assumed to be normally distributed, so that all releases are pooled: intervals are approximate"
                ),
            ],
            Kind::Columns => [
                format!(
                    "sums of inputs by class, then {steps} steps over all records, with centred inputs: they are shorter, so their noise is smaller"
                ),
                format!(
                    "second moments of inputs would be {}: columns are assumed to be independent except as far as scores show otherwise, and intervals are approximate",
                    if size > MAX_PRODUCT_WEIGHTS { "too many" } else { "mostly noise" }
                ),
            ],
        });
        let averaged = (AVERAGED * steps as f64).round() as u64;
        let prior = Gamma { shape: SHAPE, rate: (SHAPE - 1.0) * prior_variance };
        let columns = columns.to_vec();
        let count_noise = count.map(noise_of);
        Ok(Self { records, columns, adjacency, radius, count_noise, rounds, averaged, ridge, prior, why })
    }

    /// Number of weights, with the bias.
    #[must_use]
    pub fn size(&self) -> usize {
        1 + self.columns.iter().sum::<usize>()
    }

    /// The planned releases, by round.
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
                    ("centred second moments of inputs", Products::width(columns), Products::geometry())
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

    /// The kind that the rounds imply.
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

    /// The ridge penalty during the steps, if there is one.
    #[must_use]
    pub fn ridge_penalty(&self) -> Option<f64> {
        (self.kind() == Some(Kind::Matrix)).then_some(self.ridge)
    }

    pub(crate) fn releases(&self) -> Result<(Plan, Vec<SumId>), FitError> {
        self.validate().map_err(PlanError::from)?;
        let sane = |x: f64| (1e-9..=1e9).contains(&x);
        // Matrices of the size of the second moments are needed.
        let small = self.kind() == Some(Kind::Columns) || self.size() <= MAX_EDITED_WEIGHTS;
        let rounds = self.kind().is_some()
            && small
            && self.rounds.iter().all(|round| (1..=1 << 20).contains(&round.steps));
        let averaged = self.rounds.last().is_some_and(|round| (1..=round.steps).contains(&self.averaged));
        let numbers =
            sane(self.radius) && sane(self.ridge) && self.prior.shape > 1.0 && self.prior.is_proper();
        if !(rounds && averaged && numbers && !self.columns.is_empty()) {
            return Err(FitError::Definition(DefinitionError::Logistic));
        }
        let mut plan = Plan::new(self.records, self.adjacency);
        let ids = self.sums().into_iter().map(|sums| plan.sums(sums)).collect::<Result<_, _>>()?;
        Ok((plan, ids))
    }

    /// The cost of the plan.
    ///
    /// # Errors
    /// [`FitError`] if the wall refuses the plan.
    pub fn price(&self, delta: f64) -> Result<Cost, FitError> {
        Ok(self.releases()?.0.price(delta)?)
    }

    /// Fits records: rows of inputs between -1 and 1 and, last, the class, -1 or 1. Without privacy if there is no
    /// budget.
    ///
    /// # Errors
    /// [`FitError`]; nothing was released if the wall could not be built.
    pub fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(LinearPosterior, Receipt), FitError> {
        let mut wall = Wall::open(records, source, self.releases()?.0, privacy, ledger)?;
        let (posterior, projections) = self.fit_through(&mut wall)?;
        Ok((posterior, wall.finish(projections)?))
    }

    /// Fits through a wall of this plan. Returns the number of projections with the posterior.
    ///
    /// # Errors
    /// [`FitError`].
    pub fn fit_through(&self, wall: &mut Wall) -> Result<(LinearPosterior, u64), FitError> {
        let (_, ids) = self.releases()?;
        // The releases are already charged: if the posterior is improper under the noise, the prior is returned.
        let ([moments, naive], centre, projections) = match self.learn(wall, &ids) {
            Err(FitError::Improper) => ([self.prior_moments(), self.prior_moments()], Vec::new(), 1),
            fitted => fitted?,
        };
        Ok((LinearPosterior::logistic(moments, naive, centre), projections))
    }

    /// Makes all releases: the moments of the weights with and without the privacy noise, the centre of the inputs,
    /// and the number of projections.
    fn learn(&self, wall: &mut Wall, ids: &[SumId]) -> Result<([Moments; 2], Vec<f64>, u64), FitError> {
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
                let moments = posterior(&path, self.prior).ok_or(FitError::Improper)?;
                (moments, Vec::new(), projections)
            }
            Some(Kind::Pooled) => {
                let (moments, projections) = pool(self, known, wall, ids)?;
                (moments, Vec::new(), projections)
            }
            _ => {
                let (moments, frame, projections) = independent_columns(self, known, wall, ids)?;
                let mut centre = frame.centre;
                centre.pop();
                (moments, centre, projections)
            }
        })
    }

    /// Prior moments of the weights, with the diagonal of their covariance.
    fn prior_moments(&self) -> Moments {
        let variance = self.prior.rate / (self.prior.shape - 1.0);
        Moments { mean: vec![0.0; self.size()], covariance: vec![variance; self.size()] }
    }

    /// As [`fit`](Self::fit), without privacy and without a ledger, for public records.
    ///
    /// # Errors
    /// [`FitError`].
    pub fn fit_openly(&self, records: Records, source: NoiseSource) -> Result<LinearPosterior, FitError> {
        Ok(self.fit(records, source, None, Box::new(Unlimited))?.0)
    }

    /// Takes all steps; returns how many eigenvalues of curvatures were not positive.
    fn walk(&self, wall: &mut Wall, ids: &[SumId]) -> Result<(Path, u64), FitError> {
        let (size, radius) = (self.size(), self.radius);
        let mut weights = vec![0.0; size];
        let (mut mean, mut step) = (vec![0.0; size], vec![0.0; size]);
        let mut known: Option<Curvature> = None;
        let (mut legs, mut ratio, mut projections) = (Vec::new(), 1.0, 0);
        let (mut curvatures, mut between) = (Vec::new(), Vec::new());
        for (k, round) in self.rounds.iter().enumerate() {
            let released = wall.sum(ids[2 * k], &Curvatures { weights: &weights, radius })?;
            let found = Curvature::read(&released, &self.columns);
            curvatures.push(found.clone());
            between.clone_from(&weights);
            let curvature = known.take().map_or_else(|| found.clone(), |first| first.updated(&found));
            ratio = variance_ratio(&released, radius, size);
            let over = OVERSHOOT * curvature.spectral();
            let (steep, moved) = curvature.mapped(|value| value.max(0.0) + over + self.ridge)?;
            projections += moved;
            let inverse = matrix::symmetric_inverse(&steep.elements, size).ok_or(FitError::Improper)?;
            known = Some(if k == 0 { curvature.mapped(|value| value.max(0.0))?.0 } else { curvature });
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
            legs.push(Segment { inverse, steps: round.steps, noise_sd });
        }
        let (Ok(legs), Ok([first, second])) = (legs.try_into(), <[Curvature; 2]>::try_from(curvatures))
        else {
            return Err(FitError::Definition(DefinitionError::Logistic));
        };
        let (ridge, averaged, variance_ratio) = (self.ridge, self.averaged, ratio);
        let expected = Curvature::expected(&self.columns, self.records as f64);
        let path =
            Path { legs, ridge, averaged, weights: mean, variance_ratio, expected, first, second, between };
        Ok((path, projections))
    }
}

/// The GDP parameter $\mu$ that a budget allows; without privacy a large number. Releases may have noise multipliers $z$ with $\sum z^{-2} \le \mu^2$.
fn mu_allowed(privacy: Option<&Privacy>) -> Result<f64, FitError> {
    let Some(privacy) = privacy else { return Ok(1e3) };
    if privacy.delta() == 0.0 {
        return Err(FitError::NoDelta);
    }
    Ok((1.0 - 1e-6) / gaussian::noise_multiplier(privacy.epsilon(), exact_delta(privacy))?)
}

/// The approximate noise-to-signal ratio of a score.
fn noise_to_signal(size: usize, records: usize, privacy: Option<&Privacy>) -> Result<f64, FitError> {
    Ok(4.0 * size as f64 / (mu_allowed(privacy)? * records as f64))
}

impl Planned for LogisticPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn releases(&self) -> Result<Plan, ModelError> {
        Ok(LogisticPlan::releases(self)?.0)
    }

    fn expected(&self) -> Vec<(String, f64)> {
        self.ridge_penalty()
            .map(|ridge| ("ridge penalty of each weight during the steps".into(), ridge))
            .into_iter()
            .collect()
    }

    fn why(&self) -> Vec<String> {
        self.why.clone()
    }

    fn validate(&self, shape: &TableShape) -> Result<(), ModelError> {
        same_columns("logistic", (&self.columns, self.records), shape)?;
        LogisticPlan::validate(self).map_err(out_of_range("logistic"))
    }

    fn cost_estimate(&self) -> Estimate {
        let (size, records) = (self.size() as f64, self.records as f64);
        let steps: f64 = self.rounds.iter().map(|round| round.steps as f64).sum();
        let matrices = self.rounds.iter().filter(|round| round.curvature_noise.is_some()).count() as f64;
        let scores = |start: Estimate| start.releases(steps, size, records, 12.0 * size + 60.0);
        let sums = |start: Estimate| start.releases(1.0, 3.0 * size, records, 12.0 * size + 60.0);
        if matrices == 0.0 {
            let post = steps * 2000.0 * size;
            return sums(scores(Estimate::new(100.0 * size, post, 5.0 * size)));
        }
        let square = size * size;
        // Every step is propagated to the posterior by matrix products.
        let post = (1200.0 + 140.0 * steps) * square * size;
        let start = Estimate::new(40.0 * square, post, 2.0 * square + 4.0 * size);
        sums(scores(start)).releases(matrices, 0.5 * square, records, 2.0 * square + 60.0)
    }

    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError> {
        let (posterior, projections) = self.fit_through(wall)?;
        Ok((Box::new(posterior), projections))
    }
}
