//! Table 1 of the DP-SEP paper: how far posteriors of a mixture are from the truth, at several budgets.

use crate::metrics::{self, MetricError};
use crate::mixture::{self, MixtureError};
use crate::truth::{self, NutsOptions, TruthError};
use rayon::prelude::*;
use reticent::budget::{Adjacency, Privacy, PrivacyError, Unlimited};
use reticent::engine::{Average, Coordinates, Damping, Phase, SiteModel, ep, sep};
use reticent::family::{Covariance, Moments};
use reticent::model::mixture::{FitError, Mixture, MixturePlan, MixturePosterior, NoiseVariance, Weights};
use reticent::wall::{
    Geometry, NoiseError, NoiseSource, Plan, PlanError, Records, Sampler, Sums, Wall, WallError,
};
use reticent_accounting::{Event, calibrate};
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};
use thiserror::Error;

/// What to run.
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
        /// At this epsilon.
        epsilon: f64,
    },
    /// Ours.
    DpSep {
        /// At this epsilon.
        epsilon: f64,
    },
    /// SEP without privacy, from where ours ended.
    SepSameStart {
        /// At this epsilon.
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
            Self::SepSameStart { epsilon } => write!(f, "SEP from the start of DP-SEP {epsilon}"),
        }
    }
}

/// How one method did on one data set.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Outcome {
    /// The data set.
    pub seed: u32,
    /// The method.
    pub method: Method,
    /// The paper's figure called F-norm: squared errors, against its own truth.
    pub published_f: f64,
    /// $\lVert M - \hat M\rVert_F$, against the truth.
    pub f_mean: f64,
    /// The same for covariances.
    pub f_cov: f64,
    /// $KL(p \Vert q)$, averaged over components.
    pub kl: f64,
    /// $KL(q \Vert p)$, averaged over components.
    pub reverse_kl: f64,
    /// $KL(p \Vert q)$ for the covariance without the privacy noise.
    pub naive_kl: f64,
    /// The share of components whose 95 % region has the true mean.
    pub covered: f64,
    /// How often a step had to be moved back into its domain.
    pub projections: u64,
}

/// Why a reproduction failed.
#[derive(Debug, Error)]
#[allow(missing_docs, reason = "each is another error")]
pub enum ReproduceError {
    #[error(transparent)]
    Mixture(#[from] MixtureError),
    #[error(transparent)]
    Model(#[from] reticent::model::mixture::MixtureError),
    #[error(transparent)]
    Metric(#[from] MetricError),
    #[error(transparent)]
    Truth(#[from] TruthError),
    #[error(transparent)]
    Fit(#[from] FitError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Wall(#[from] WallError),
    #[error(transparent)]
    Noise(#[from] NoiseError),
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    #[error(transparent)]
    Accounting(#[from] reticent_accounting::Error),
    #[error("the fit is no density")]
    Improper,
}

/// A fit, with and without what privacy adds to its covariance.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// What is reported.
    pub components: Vec<Moments>,
    /// Without the privacy noise.
    pub naive: Vec<Moments>,
    /// How often a step had to be moved back into its domain.
    pub projections: u64,
}

impl Fitted {
    fn new(posterior: &MixturePosterior, projections: u64) -> Self {
        let of = |f: fn(&reticent::model::mixture::Component) -> Moments| {
            posterior.components.iter().map(f).collect()
        };
        Self { components: of(|c| c.moments()), naive: of(|c| c.naive_moments()), projections }
    }

    fn from_natural(model: &Mixture, natural: &[f64]) -> Result<Self, ReproduceError> {
        let width = model.family().width();
        let parts = natural.chunks_exact(width).take(model.components());
        let moments: Option<Vec<_>> = parts.map(|part| model.family().moments(part)).collect();
        let components = moments.ok_or(ReproduceError::Improper)?;
        Ok(Self { naive: components.clone(), components, projections: 0 })
    }
}

/// The model that inference assumes.
///
/// # Errors
/// What the library refuses.
pub fn model(data: &mixture::Mixture, covariance: Covariance) -> Result<Mixture, ReproduceError> {
    let noise = NoiseVariance::Known(data.noise_variance);
    Ok(Mixture::new(&data.prior_means, data.prior_variance, covariance, noise, Weights::Uniform)?)
}

/// Runs a method on a data set. Noise has a fixed seed: the records are simulated, and runs can be repeated.
///
/// # Errors
/// What the library refuses.
pub fn run(
    data: &mixture::Mixture,
    method: Method,
    delta: f64,
    passes: u64,
    seed: u64,
) -> Result<Fitted, ReproduceError> {
    let (n, d) = (data.labels.len(), data.dimension());
    let full = model(data, Covariance::Full)?;
    let records = || Records::new(data.x.clone(), d);
    let source = NoiseSource::insecure_from_seed(seed);
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
        Ok::<_, ReproduceError>((wall, id))
    };
    let phase =
        |sums, steps, damping| [Phase { sums, steps, coordinates: Coordinates::Factor, damping, clip: None }];
    match method {
        Method::Ep => Fitted::from_natural(&full, &ep(&full, &data.x, d, 20, 0.5)),
        Method::Sep | Method::PrintedSep => {
            let (passes, eta) = if method == Method::Sep { (20, 1.0) } else { (100, 1.0 / n as f64) };
            let steps = passes * n as u64;
            let (mut wall, id) = wall(Sampler::Pass { batch: 1 }, steps, None, source)?;
            // Averaged, since at a step of 1 each record leaves a trace of its own.
            let fit =
                sep(&full, &mut wall, n, &zeros, &phase(id, steps, Damping::Step(eta)), Average::SecondHalf)?;
            Fitted::from_natural(&full, &fit.natural)
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
            let posterior = MixturePosterior::new(&full, &fit).ok_or(ReproduceError::Improper)?;
            // The printed algorithm knows nothing of its noise.
            let naive = Fitted::new(&posterior, fit.projections);
            Ok(Fitted { components: naive.naive.clone(), ..naive })
        }
        Method::DpSep { epsilon } => {
            let privacy = privacy(epsilon)?;
            let plan = MixturePlan::new(&full, n, &privacy)?;
            let (posterior, _) = plan.fit(&full, records()?, source, &privacy, Box::new(Unlimited))?;
            Ok(Fitted::new(&posterior, 0))
        }
        Method::SepSameStart { epsilon } => {
            let start = run(data, Method::DpSep { epsilon }, delta, passes, seed)?;
            let means: Vec<Vec<f64>> = start.components.into_iter().map(|c| c.mean).collect();
            let steps = 60;
            let (mut wall, id) = wall(Sampler::Full, steps, None, source)?;
            let precision = n as f64 / (data.components() as f64 * data.noise_variance);
            let start = full.start(&means, precision);
            let fit =
                sep(&full, &mut wall, n, &start, &phase(id, steps, Damping::Share(0.7)), Average::Last)?;
            Fitted::from_natural(&full, &fit.natural)
        }
    }
}

/// Compares a fit with the truth.
///
/// # Errors
/// [`MetricError`] if their shapes differ.
pub fn outcome(
    data: &mixture::Mixture,
    truth: &[Moments],
    fitted: &Fitted,
    seed: u32,
    method: Method,
) -> Result<Outcome, ReproduceError> {
    let found = metrics::accuracy(truth, &fitted.components)?;
    let naive = metrics::accuracy(truth, &fitted.naive)?;
    Ok(Outcome {
        seed,
        method,
        published_f: metrics::published(&truth::published(data), &fitted.components)?.f_norm,
        f_mean: found.f_mean,
        f_cov: found.f_cov,
        kl: found.kl_truth_fit,
        reverse_kl: found.kl_fit_truth,
        naive_kl: naive.kl_truth_fit,
        covered: metrics::covered(&data.means, &fitted.components, 0.95)?,
        projections: fitted.projections,
    })
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

    /// Runs everything on all cores; `progress` is told how many data sets are done.
    ///
    /// # Errors
    /// The first that any run meets.
    pub fn run(&self, progress: impl Fn(usize) + Sync) -> Result<Vec<Outcome>, ReproduceError> {
        let done = AtomicUsize::new(0);
        let sets: Result<Vec<Vec<Outcome>>, ReproduceError> = self
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
                        let fitted = run(&data, method, self.delta, passes, u64::from(seed))?;
                        outcome(&data, &truth, &fitted, seed, method)
                    })
                    .collect();
                progress(done.fetch_add(1, Ordering::Relaxed) + 1);
                outcomes
            })
            .collect();
        Ok(sets?.concat())
    }
}
