//! Table 1 of the DP-SEP paper: error of posteriors of a mixture, at several budgets.

use crate::error::ExperimentError;
use crate::metrics;
use crate::mixture;
use crate::table::{Cell, Quartiles, Table, TableError};
use crate::truth::{self, NutsOptions};
use rayon::prelude::*;
use reticent_accounting::{Event, calibrate};
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::engine::{Average, Coordinates, Damping, Phase, SiteModel, ep, sep};
use reticent_core::family::{Covariance, Moments};
use reticent_core::model::mixture::{Mixture, MixturePlan, MixturePosterior, NoiseVariance, Weights};
use reticent_core::wall::{Geometry, NoiseSource, Plan, Records, Sampler, Sums, Wall};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Settings of the experiment.
#[derive(Debug, Clone)]
pub struct Table1 {
    /// Data sets: the published generator with these seeds. The paper's own is 60.
    pub seeds: Vec<u32>,
    /// $N$.
    pub records: usize,
    /// $J$.
    pub components: usize,
    /// $D$.
    pub dimension: usize,
    /// $\delta$.
    pub delta: f64,
    /// Budgets.
    pub epsilons: Vec<f64>,
    /// Passes of the printed algorithm; the paper has 100. None leaves it out.
    pub printed_passes: Option<u64>,
    /// Whether the truth is sampled by NUTS with the labels unknown, or in closed form with the labels known.
    pub nuts: bool,
}

/// A method of the table.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Expectation propagation from the prior.
    Ep,
    /// SEP from the prior, with the step of Li et al.
    Sep,
    /// SEP from the prior with the printed step.
    PrintedSep,
    /// The printed algorithm with the noise that it needs.
    Printed {
        /// Epsilon of the budget.
        epsilon: f64,
    },
    /// The planned DP-SEP of this project.
    DpSep {
        /// Epsilon of the budget.
        epsilon: f64,
    },
    /// SEP without privacy, initialised at the result of [`DpSep`](Self::DpSep).
    SepSameStart {
        /// Epsilon of the budget.
        epsilon: f64,
    },
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ep => f.write_str("EP, from the prior"),
            Self::Sep => f.write_str("SEP, from the prior"),
            Self::PrintedSep => f.write_str("SEP, printed step"),
            Self::Printed { epsilon } => write!(f, "printed DP-SEP, true epsilon {epsilon}"),
            Self::DpSep { epsilon } => write!(f, "DP-SEP, epsilon {epsilon}"),
            Self::SepSameStart { epsilon } => write!(f, "SEP from where DP-SEP {epsilon} ended"),
        }
    }
}

/// Figures of the paper. They are stated for epsilon 5 in the full version and for 5.5 in the workshop
/// version.
pub const PAPER: [Printed; 4] = [
    Printed { method: "SEP", f_norm: 0.0007, kl: 4.3524 },
    Printed { method: "DP-SEP, epsilon 1", f_norm: 4.2722, kl: 4162.9041 },
    Printed { method: "DP-SEP, epsilon 5 or 5.5", f_norm: 1.6237, kl: 955.0533 },
    Printed { method: "DP-SEP, epsilon 50", f_norm: 0.5650, kl: 516.8689 },
];

/// A row of the paper's Table 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Printed {
    /// Name of the row.
    pub method: &'static str,
    /// The column "F-norm", to be compared with [`Outcome::published_f`].
    pub f_norm: f64,
    /// The column "KL-divergence (proxy)", to be compared with [`Outcome::published_kl`].
    pub kl: f64,
}

/// Scores of one method on one data set. JSON has no infinity: it is written as the string "inf".
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Outcome {
    /// The data set.
    pub seed: u32,
    /// The method.
    pub method: Method,
    /// The paper's figure called F-norm: squared errors, against its own truth.
    #[serde(serialize_with = "number_or_word")]
    pub published_f: f64,
    /// The size of the paper's figure called KL divergence, which lacks a term, against its own truth.
    #[serde(serialize_with = "number_or_word")]
    pub published_kl: f64,
    /// $\lVert M - \hat M\rVert_F$, against the truth.
    #[serde(serialize_with = "number_or_word")]
    pub f_mean: f64,
    /// The same for covariances.
    #[serde(serialize_with = "number_or_word")]
    pub f_cov: f64,
    /// $KL(p \Vert q)$, averaged over components.
    #[serde(serialize_with = "number_or_word")]
    pub kl: f64,
    /// $KL(q \Vert p)$, averaged over components.
    #[serde(serialize_with = "number_or_word")]
    pub reverse_kl: f64,
    /// $KL(p \Vert q)$ for the covariance without the privacy noise.
    #[serde(serialize_with = "number_or_word")]
    pub naive_kl: f64,
    /// The share of components whose 95 % region has the true mean.
    pub covered: f64,
    /// Number of projections to the domain, for methods that count them.
    pub projections: Option<u64>,
}

pub(crate) fn number_or_word<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.is_finite() { serializer.serialize_f64(*number) } else { serializer.collect_str(number) }
}

/// The inverse of [`number_or_word`].
pub(crate) fn number_of_word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(f64),
        Word(String),
    }
    match Either::deserialize(deserializer)? {
        Either::Number(number) => Ok(number),
        Either::Word(word) => word.parse().map_err(serde::de::Error::custom),
    }
}

/// The figures of an outcome, as they are called in files.
pub const FIGURES: [Figure; 8] = [
    ("paper_f", |o| o.published_f),
    ("paper_kl", |o| o.published_kl),
    ("f_mean", |o| o.f_mean),
    ("f_cov", |o| o.f_cov),
    ("kl_truth_fit", |o| o.kl),
    ("kl_fit_truth", |o| o.reverse_kl),
    ("naive_kl", |o| o.naive_kl),
    ("covered", |o| o.covered),
];

/// A name, and the figure that it is of.
pub type Figure = (&'static str, fn(&Outcome) -> f64);

/// A fit, with and without the covariance of the privacy noise.
#[derive(Debug, Clone)]
pub struct Posterior {
    /// The noise-aware posterior.
    pub components: Vec<Moments>,
    /// Without the privacy noise.
    pub naive: Vec<Moments>,
    /// Number of projections to the domain, for methods that count them.
    pub projections: Option<u64>,
}

impl Posterior {
    fn new(posterior: &MixturePosterior, projections: Option<u64>) -> Self {
        let of = |f: fn(&reticent_core::model::mixture::Component) -> Moments| {
            posterior.components.iter().map(f).collect()
        };
        Self { components: of(|c| c.moments()), naive: of(|c| c.naive_moments()), projections }
    }

    fn from_natural(
        model: &Mixture,
        natural: &[f64],
        projections: Option<u64>,
    ) -> Result<Self, ExperimentError> {
        let width = model.family().width();
        let parts = natural.chunks_exact(width).take(model.components());
        let moments: Option<Vec<_>> = parts.map(|part| model.family().moments(part)).collect();
        let components = moments.ok_or(ExperimentError::Improper)?;
        Ok(Self { naive: components.clone(), components, projections })
    }
}

/// The model that inference assumes.
///
/// # Errors
/// Errors of the library.
pub fn model(data: &mixture::Mixture, covariance: Covariance) -> Result<Mixture, ExperimentError> {
    let noise = NoiseVariance::Known(data.noise_variance);
    Ok(Mixture::new(&data.prior_means, data.prior_variance, covariance, noise, Weights::Uniform)?)
}

/// Runs a method on a data set, with noise from the operating system.
///
/// # Errors
/// Errors of the library.
pub fn run(
    data: &mixture::Mixture,
    method: Method,
    delta: f64,
    passes: u64,
) -> Result<Posterior, ExperimentError> {
    let (n, d) = (data.labels.len(), data.dimension());
    let full = model(data, Covariance::Full)?;
    let records = || Records::new(data.x.clone(), d);
    let source = NoiseSource::from_os()?;
    let zeros = vec![0.0; full.width()];
    let privacy =
        |epsilon| Privacy::new(epsilon, delta, Adjacency::ReplaceOne).map(Privacy::allow_large_delta);
    let wall = |sampler, steps: u64, private: Option<(f64, f64)>, source| {
        let mut plan = Plan::new(n, Adjacency::ReplaceOne);
        let (epsilon, noise_multiplier) = private.unwrap_or((1.0, 1.0));
        let geometry = Geometry::Ball { radius: 1.0 };
        let width = full.width();
        let id =
            plan.sums(Sums { what: "sites".into(), width, geometry, sampler, noise_multiplier, steps })?;
        let wall = match private {
            None => Wall::without_privacy(records()?, source, plan, Box::new(Unlimited))?,
            Some(_) => Wall::new(records()?, source, plan, &privacy(epsilon)?, Box::new(Unlimited))?,
        };
        Ok::<_, ExperimentError>((wall, id))
    };
    let phase =
        |sums, steps, damping| [Phase { sums, steps, coordinates: Coordinates::Factor, damping, clip: None }];
    match method {
        Method::Ep => Posterior::from_natural(&full, &ep(&full, &data.x, d, 20, 0.5), None),
        Method::Sep | Method::PrintedSep => {
            let (passes, eta) = if method == Method::Sep { (20, 1.0) } else { (100, 1.0 / n as f64) };
            let steps = passes * n as u64;
            let (mut wall, id) = wall(Sampler::Pass { batch: 1 }, steps, None, source)?;
            // Averaged, since at a step of 1 each record leaves a trace of its own.
            let fit =
                sep(&full, &mut wall, n, &zeros, &phase(id, steps, Damping::Step(eta)), Average::SecondHalf)?;
            Posterior::from_natural(&full, &fit.natural, Some(fit.projections))
        }
        Method::Printed { epsilon } => {
            let steps = passes * n as u64;
            let event = |noise_multiplier: f64| {
                let sampling = reticent_accounting::Sampling::Fixed { batch: 1, records: n as u64 };
                let mechanism = reticent_accounting::Mechanism::Gaussian { noise_multiplier };
                Event::release(mechanism, sampling).repeat(steps)
            };
            let multiplier = calibrate::noise_multiplier(
                event,
                Adjacency::ReplaceOne,
                epsilon,
                0.49 * delta,
                reticent_accounting::Method::Auto,
            )?;
            let (mut wall, id) =
                wall(Sampler::Fixed { batch: 1 }, steps, Some((epsilon, multiplier)), source)?;
            let fit = sep(
                &full,
                &mut wall,
                n,
                &zeros,
                &phase(id, steps, Damping::Step(1.0 / n as f64)),
                Average::Last,
            )?;
            let posterior = MixturePosterior::new(&full, &fit).ok_or(ExperimentError::Improper)?;
            // The printed algorithm ignores its noise.
            let naive = Posterior::new(&posterior, Some(fit.projections));
            Ok(Posterior { components: naive.naive.clone(), ..naive })
        }
        Method::DpSep { epsilon } => {
            let privacy = privacy(epsilon)?;
            let plan = MixturePlan::new(&full, n, &privacy)?;
            let (posterior, _) = plan.fit(&full, records()?, source, &privacy, Box::new(Unlimited))?;
            Ok(Posterior::new(&posterior, None))
        }
        Method::SepSameStart { epsilon } => {
            let start = run(data, Method::DpSep { epsilon }, delta, passes)?;
            let means: Vec<Vec<f64>> = start.components.into_iter().map(|c| c.mean).collect();
            let steps = 60;
            let (mut wall, id) = wall(Sampler::Full, steps, None, source)?;
            let precision = n as f64 / (data.components() as f64 * data.noise_variance);
            let start = full.start(&means, precision);
            let fit =
                sep(&full, &mut wall, n, &start, &phase(id, steps, Damping::Share(0.7)), Average::Last)?;
            Posterior::from_natural(&full, &fit.natural, Some(fit.projections))
        }
    }
}

/// Compares a fit with the truth.
///
/// # Errors
/// [`MetricError`](metrics::MetricError) if their shapes differ.
pub fn outcome(
    data: &mixture::Mixture,
    truth: &[Moments],
    fitted: &Posterior,
    seed: u32,
    method: Method,
) -> Result<Outcome, ExperimentError> {
    let found = metrics::accuracy(truth, &fitted.components)?;
    let naive = metrics::accuracy(truth, &fitted.naive)?;
    let published = metrics::published(&truth::published(data), &fitted.components)?;
    Ok(Outcome {
        seed,
        method,
        published_f: published.f_norm,
        published_kl: published.kl.abs(),
        f_mean: found.f_mean,
        f_cov: found.f_cov,
        kl: found.kl_truth_fit,
        reverse_kl: found.kl_fit_truth,
        naive_kl: naive.kl_truth_fit,
        covered: metrics::covered(&data.means, &fitted.components, 0.95)?,
        projections: fitted.projections,
    })
}

/// The first seeds from 60, the paper's own, that the published generator accepts.
#[must_use]
pub fn seeds(sets: usize, components: usize, dimension: usize) -> Vec<u32> {
    // It refuses some means, which are drawn before the records.
    let accepted = |&seed: &u32| mixture::paper_data(seed, 1, components, dimension).is_ok();
    (60..u32::MAX / 10).filter(accepted).take(sets).collect()
}

impl Table1 {
    /// The methods, in the order of the table.
    #[must_use]
    pub fn methods(&self) -> Vec<Method> {
        let mut methods = vec![Method::Ep, Method::Sep, Method::PrintedSep];
        if self.printed_passes.is_some() {
            methods.extend(self.epsilons.iter().map(|&epsilon| Method::Printed { epsilon }));
        }
        methods.extend(self.epsilons.iter().map(|&epsilon| Method::DpSep { epsilon }));
        methods.extend(self.epsilons.iter().map(|&epsilon| Method::SepSameStart { epsilon }));
        methods
    }

    /// Runs all fits on all cores; `progress` gets the number of finished data sets.
    ///
    /// # Errors
    /// The first error of any run.
    pub fn run(&self, progress: impl Fn(usize) + Sync) -> Result<Vec<Outcome>, ExperimentError> {
        let done = AtomicUsize::new(0);
        let sets: Result<Vec<Vec<Outcome>>, ExperimentError> = self
            .seeds
            .par_iter()
            .map(|&seed| {
                let data = mixture::paper_data(seed, self.records, self.components, self.dimension)?;
                let truth = if self.nuts {
                    truth::nuts(&data, &NutsOptions::default())?.components
                } else {
                    truth::given_labels(&data)
                };
                let outcomes = self
                    .methods()
                    .into_iter()
                    .map(|method| {
                        let passes = self.printed_passes.unwrap_or(0);
                        let fitted = run(&data, method, self.delta, passes)?;
                        outcome(&data, &truth, &fitted, seed, method)
                    })
                    .collect();
                progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                outcomes
            })
            .collect();
        Ok(sets?.concat())
    }
    /// A row for each method: the quartiles over data sets of each of the [`FIGURES`]. For the share of means that are
    /// covered, the mean is added, as its quartiles are uninformative. Projections are left empty where they are not counted.
    ///
    /// # Errors
    /// [`TableError`] if there are no outcomes of a method.
    pub fn summary(&self, outcomes: &[Outcome]) -> Result<Table, TableError> {
        let mut names = vec!["method".to_string()];
        for (name, _) in FIGURES {
            names.extend([name.to_string(), format!("{name}_lower"), format!("{name}_upper")]);
        }
        names.extend(["covered_mean", "projections"].map(str::to_string));
        let mut table = Table::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
        for method in self.methods() {
            let mut row: Vec<Cell> = vec![method.to_string().as_str().into()];
            for (_, figure) in FIGURES {
                let Quartiles { lower, median, upper } = Quartiles::of(&values(outcomes, method, figure))?;
                row.extend([median.into(), lower.into(), upper.into()]);
            }
            row.push(mean(&values(outcomes, method, |o| o.covered)).into());
            row.push(projections(outcomes, method)?.map_or("".into(), Cell::from));
            table.push(row)?;
        }
        Ok(table)
    }
}

/// A figure of all outcomes of a method.
#[must_use]
pub fn values(outcomes: &[Outcome], method: Method, figure: fn(&Outcome) -> f64) -> Vec<f64> {
    outcomes.iter().filter(|outcome| outcome.method == method).map(figure).collect()
}

/// The median number of projections of a method, if it counts them.
///
/// # Errors
/// [`TableError`] if there are no outcomes of the method.
pub fn projections(outcomes: &[Outcome], method: Method) -> Result<Option<f64>, TableError> {
    let of_method = outcomes.iter().filter(|outcome| outcome.method == method);
    let counts: Option<Vec<f64>> = of_method.map(|outcome| outcome.projections.map(|n| n as f64)).collect();
    counts.map(|counts| Quartiles::of(&counts).map(|quartiles| quartiles.median)).transpose()
}

/// The arithmetic mean.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_table_has_all_rows_and_figures() {
        let table = Table1 {
            seeds: seeds(1, 2, 2),
            records: 60,
            components: 2,
            dimension: 2,
            delta: 1e-5,
            epsilons: vec![5.0],
            printed_passes: Some(1),
            nuts: false,
        };
        assert_eq!(table.seeds, [60]);
        let outcomes = table.run(|_| ()).unwrap();
        assert_eq!(outcomes.len(), table.methods().len());
        let summary = table.summary(&outcomes).unwrap();
        assert_eq!(summary.rows().len(), 6);
        assert_eq!(summary.columns().len(), 3 + 3 * FIGURES.len());
        let infinite = Outcome { kl: f64::INFINITY, ..outcomes[0] };
        assert_eq!(serde_json::to_value(infinite).unwrap()["kl"], "inf");
    }
}
