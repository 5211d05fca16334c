//! Planning and running a private fit.

use crate::budget::{Adjacency, Cost, Guarantee, Ledger, NotPrivate, Privacy, Unlimited};
use crate::engine::exact_delta;
use crate::family::{Gamma, Moments};
use crate::model::known_targets::KnownTargets;
use crate::model::linear::LinearPosterior;
use crate::model::logistic::bounds;
use crate::model::logistic::exact::maximise;
use crate::model::logistic::independent_columns::independent_columns;
use crate::model::logistic::pooled::pool;
use crate::model::logistic::prior::WeightPrior;
use crate::model::logistic::query::{CentredScores, ClassSums, Curvatures, Products, RESIDUAL_BOUND, Scores};
use crate::model::logistic::response::posterior;
use crate::model::{CoefficientPrior, known_targets};
use crate::model::{DefinitionError, FitError};
use crate::receipt::Receipt;
use crate::wall::{Geometry, NoiseSource, Plan, PlanError, Records, Sampler, SumId, Sums, Wall};
use reticent_accounting::gaussian;
use serde::{Deserialize, Serialize};

/// The plan of a private logistic regression, chosen from public numbers only. It can be edited and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogisticPlan {
    /// Number of records $N$.
    pub records: usize,
    /// Number of inputs of each column: one, or one for each level of a one-hot encoding.
    pub columns: Vec<usize>,
    /// The neighbour relation of data sets.
    pub adjacency: Adjacency,
    /// $r$: records whose inputs, with the constant 1 of the bias, are longer are weighted down.
    pub radius: f64,
    /// $c$: the maximum of the weighted difference between a class and its probability; 1 does not weight it.
    #[serde(default = "residual_bound")]
    pub residual_bound: f64,
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
    /// Stated priors of coefficients, as functions of the weights with the bias last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priors: Vec<CoefficientPrior>,
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
        let kind = Self::kind_for(columns, records, privacy)?;
        Self::with(columns, records, prior_variance, privacy, kind)
    }

    /// As [`new`](Self::new), with stated priors of coefficients. With privacy, more than 30 weights cannot have them:
    /// such a plan is not [valid](Self::validate).
    ///
    /// # Errors
    /// [`FitError`] if the arguments are invalid.
    pub fn with_priors(
        columns: &[usize],
        records: usize,
        prior_variance: f64,
        privacy: Option<&Privacy>,
        priors: Vec<CoefficientPrior>,
    ) -> Result<Self, FitError> {
        let kind = Self::kind_for(columns, records, privacy)?;
        Ok(Self { priors, ..Self::with(columns, records, prior_variance, privacy, kind)? })
    }

    fn kind_for(columns: &[usize], records: usize, privacy: Option<&Privacy>) -> Result<Kind, FitError> {
        let size = 1 + columns.iter().sum::<usize>();
        Ok(if size > MAX_PRODUCT_WEIGHTS {
            Kind::Columns
        } else if size <= MAX_MATRIX_WEIGHTS || columns.len() == 1 || privacy.is_none() {
            // One column has no products, and without noise nothing has to be assumed.
            Kind::Matrix
        } else if noise_to_signal(size, records, privacy)? > MAX_NOISE_TO_SIGNAL {
            Kind::Columns
        } else {
            Kind::Pooled
        })
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
        let mu = mu_allowed(privacy)?;
        let adjacency = privacy.map_or(Adjacency::ReplaceOne, Privacy::adjacency);
        let factor = adjacency.sensitivity_factor(2.0);
        let noise = factor / (mu * SHARES[1].1.sqrt());
        let (radius, residual_bound) = match (kind, privacy) {
            (Kind::Matrix, None) => ((size as f64).sqrt(), 1.0),
            (Kind::Matrix, Some(_)) => bounds::choose(columns, records as f64, noise),
            // A level is 1; a number is between -1 and 1, and its square 1/2 or less for most records.
            _ => {
                let square = columns.iter().map(|&c| if c == 1 { 0.5 } else { 1.0 }).sum::<f64>();
                ((1.0 + square).sqrt(), RESIDUAL_BOUND)
            }
        };
        let noise = noise * residual_bound * radius;
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
        let ridge = (1.0 / prior_variance).min(1.0) + if privacy.is_some() { RIDGE * noise } else { 0.0 };
        let why = match (kind, privacy) {
            (Kind::Matrix, None) => vec![
                "without privacy no record is weighted: the fit is the mode of the posterior, with the curvature of the log likelihood there".into(),
            ],
            (Kind::Matrix, Some(_)) => vec![
                format!(
                    "records are weighted as if their inputs were no longer than {radius:.2}, and their residuals no larger than {residual_bound:.2}: that minimises the expected variance for so many records and this budget"
                ),
                format!("{steps} steps in each of two rounds over all records"),
                format!(
                    "the noise of the average of the last {steps} scores is {noise:.1} in each, so weights are shrunk by a ridge penalty of {ridge:.1} during the steps"
                ),
            ],
            _ => {
                vec![format!(
                    "records are weighted as if their inputs were no longer than {radius:.2}, which most are"
                )]
            }
        };
        let more = match kind {
            Kind::Matrix => Vec::new(),
            Kind::Pooled => vec![
                format!(
                    "sums of inputs by class, then centred second moments and {steps} steps over all records: centred inputs are shorter, so their noise is smaller"
                ),
                format!(
                    "with {size} weights, scores of records are assumed to be normally distributed, so that all releases are pooled: intervals are approximate"
                ),
            ],
            Kind::Columns => vec![
                format!(
                    "sums of inputs by class, then {steps} steps over all records, with centred inputs: they are shorter, so their noise is smaller"
                ),
                format!(
                    "second moments of inputs would be {}: columns are assumed to be independent except as far as scores show otherwise, and intervals are approximate",
                    if size > MAX_PRODUCT_WEIGHTS { "too many" } else { "mostly noise" }
                ),
            ],
        };
        let why = why.into_iter().chain(more).collect();
        let averaged = (AVERAGED * steps as f64).round() as u64;
        let prior = Gamma { shape: SHAPE, rate: (SHAPE - 1.0) * prior_variance };
        let columns = columns.to_vec();
        let count_noise = count.map(noise_of);
        Ok(Self {
            records,
            columns,
            adjacency,
            radius,
            residual_bound,
            count_noise,
            rounds,
            averaged,
            ridge,
            prior,
            priors: Vec::new(),
            why,
        })
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
                let (width, geometry) = (ClassSums::width_of(columns), ClassSums::geometry(radius));
                sums("inputs by class", k, width, geometry, noise, 1)
            });
            let curvature = round.curvature_noise.map(|noise| {
                let (what, width, geometry) = if by_class.is_some() {
                    ("centred second moments of inputs", Products::width_of(columns), Products::geometry())
                } else {
                    ("curvature of weighted scores", Curvatures::width_of(size), Curvatures::geometry(radius))
                };
                sums(what, k, width, geometry, noise, 1)
            });
            let (what, geometry) = if by_class.is_some() {
                ("weighted scores of centred inputs", CentredScores::geometry())
            } else {
                ("weighted scores", Scores::geometry(radius, self.residual_bound))
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
                let rows = wall.rows_per_unit();
                (&ids[1..], KnownTargets::read(&released, self.records, self.adjacency, rows))
            }
            None => (ids, self.records as f64),
        };
        Ok(match self.kind() {
            Some(Kind::Matrix) if wall.guarantee() == Guarantee::None(NotPrivate::NoNoise) => {
                let moments = maximise(self, wall, ids)?;
                ([moments.clone(), moments], Vec::new(), 0)
            }
            Some(Kind::Matrix) => {
                let prior = WeightPrior::new(self.prior, &self.priors, self.size());
                let (path, projections) = self.walk(wall, ids)?;
                let moments = prior.and_then(|prior| posterior(&path, &prior)).ok_or(FitError::Improper)?;
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
        let (size, variance) = (self.size(), self.prior.rate / (self.prior.shape - 1.0));
        let stated = (!self.priors.is_empty()).then(|| WeightPrior::new(self.prior, &self.priors, size));
        match stated.flatten().and_then(|prior| prior.moments(prior.start())) {
            Some((mean, covariance)) => {
                let covariance = covariance.into_iter().step_by(size + 1).collect();
                Moments { mean, covariance }
            }
            None => Moments { mean: vec![0.0; size], covariance: vec![variance; size] },
        }
    }

    /// As [`fit`](Self::fit), without privacy and without a ledger, for public records.
    ///
    /// # Errors
    /// [`FitError`].
    pub fn fit_openly(&self, records: Records, source: NoiseSource) -> Result<LinearPosterior, FitError> {
        Ok(self.fit(records, source, None, Box::new(Unlimited))?.0)
    }
}

/// The bound of residuals of plans that do not state one.
fn residual_bound() -> f64 {
    RESIDUAL_BOUND
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
