//! Planning and running a private fit.

use crate::budget::{Adjacency, Guarantee, Ledger, NotPrivate, Privacy};
use crate::family::Covariance;
use crate::field;
use crate::model::mixture::refine::Refine;
use crate::model::mixture::sketch::{Effort, Sketch, Start};
use crate::model::mixture::{Mixture, MixturePosterior, NoiseVariance, Weights, normal, public_rng};
use crate::model::planned::{gaussian_mu, out_of_range, same_shape};
use crate::model::{DefinitionError, FitError};
use crate::model::{Estimate, ModelError, Planned, Posterior, TableShape};
use crate::receipt::Receipt;
use crate::wall::{Geometry, NoiseSource, Plan, PlanError, Records, Sampler, SumId, Sums, Wall, WallError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The plan of a private fit of a mixture, chosen from public numbers only. It can be edited and run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixturePlan {
    /// Number of records $N$.
    pub records: usize,
    /// Number of components $J$.
    pub components: usize,
    /// Dimension $D$ of records.
    pub dimension: usize,
    /// $\varepsilon$ of the budget.
    pub epsilon: f64,
    /// $\delta$ of the budget.
    pub delta: f64,
    /// The neighbour relation of data sets.
    pub adjacency: Adjacency,
    /// The initial means.
    pub start: StartPlan,
    /// The releases that refine them.
    pub sites: SitesPlan,
    /// Expected accuracy, for separated components.
    pub expected: Expected,
    /// The reasons for these choices.
    pub why: Vec<String>,
}

/// The initial means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartPlan {
    /// Fitted to a private sketch of the records: the cosines and sines of their products with random frequencies.
    Sketch {
        /// Number of frequencies.
        frequencies: usize,
        /// Resolution of the sketch.
        scale: f64,
        /// Standard deviation of its noise over its sensitivity.
        noise_multiplier: f64,
        /// Number of restarts of the fit of means.
        restarts: usize,
        /// Tempering of the fit: more than 1 widens the uncertainty.
        temper: f64,
        /// The share of the prior's variance that is added to the uncertainty of a very noisy sketch.
        #[serde(rename = "doubt")]
        prior_share: f64,
    },
    /// Public points, known to be about this near to the means.
    Public {
        /// A point for each component.
        means: Vec<Vec<f64>>,
        /// The standard deviation of a coordinate of a true mean about it.
        sd: f64,
    },
}

/// Releases of clipped sites of all records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SitesPlan {
    /// Number of releases.
    pub steps: u64,
    /// Clipping norm of a contribution.
    pub clip: f64,
    /// Scale of responsibilities relative to the residuals of means.
    pub count_scale: f64,
    /// Standard deviation of the noise over the sensitivity.
    pub noise_multiplier: f64,
    /// Simulated records behind each linear response.
    pub simulated: usize,
}

/// Expected accuracy for a separated component of average size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Standard deviation of a coordinate of its mean from sampling.
    pub data_sd: f64,
    /// Standard deviation due to privacy: clipping and noise.
    pub privacy_sd: f64,
    /// $E[KL(p \Vert q)]$ from the posterior without privacy: $\frac D2\log(1 + \text{privacy}^2/\text{data}^2)$.
    pub kl: f64,
    /// Approximate seconds on one core.
    pub seconds: f64,
}

/// Number of steps that refine a start: more than one, since the response is linear only near the means, and few,
/// since the noise of their average does not depend on their number.
const STEPS: u64 = 8;

/// Number of frequencies of a sketch: many more than there are coordinates of means.
const FREQUENCIES: usize = 200;

/// Target peak of a component in the sketch, in standard deviations of the noise.
const TARGET_PEAK: f64 = 12.0;
/// Peak from which a sketch is reliable.
const RELIABLE_PEAK: f64 = 8.0;
/// Peak up to which the largest one may well be noise.
const NOISE_PEAK: f64 = 4.0;

/// Scale of responsibilities relative to the residuals of means.
const COUNT_SCALE: f64 = 0.1;

impl MixturePlan {
    /// Chooses a plan from the model, the number of records and the budget. Nothing about the records is used.
    ///
    /// Full batches: all releases are Gaussian, so the cost depends only on the sum of their squared GDP parameters;
    /// neither sampling nor many steps would change it.
    ///
    /// # Errors
    /// [`DefinitionError::MixtureUnsupported`](crate::model::DefinitionError::MixtureUnsupported) for models without a private fit, and those of the accountant.
    pub fn new(model: &Mixture, records: usize, privacy: &Privacy) -> Result<Self, FitError> {
        let noise_variance = known_noise(model)?;
        let (j, d) = (model.components(), model.dimension());
        let each = records as f64 / j as f64;
        let mu = gaussian_mu(privacy)?;
        // The sensitivity is this many radii.
        let factor = privacy.adjacency().sensitivity_factor(2.0);
        let scale = (2.0 * noise_variance * d as f64).sqrt();
        let peak = each * (scale * scale / (scale * scale + noise_variance)).powf(d as f64 / 2.0);
        let required = (TARGET_PEAK * factor / (mu * peak)).powi(2);
        let share = required.clamp(0.02, 0.95);
        let enough = required <= 0.95;
        let peak_sds = TARGET_PEAK * (share / required).sqrt();
        let start = StartPlan::Sketch {
            frequencies: FREQUENCIES,
            scale,
            noise_multiplier: 1.0 / (mu * share.sqrt()),
            restarts: if enough { 30 } else { 60 },
            temper: if enough { 1.0 } else { 2.0 },
            prior_share: ((RELIABLE_PEAK - peak_sds) / (RELIABLE_PEAK - NOISE_PEAK)).clamp(0.0, 1.0),
        };
        let mut plan = Self {
            records,
            components: j,
            dimension: d,
            epsilon: privacy.epsilon(),
            delta: privacy.delta(),
            adjacency: privacy.adjacency(),
            start,
            sites: SitesPlan {
                steps: STEPS,
                clip: 0.0,
                count_scale: COUNT_SCALE,
                noise_multiplier: 0.0,
                simulated: (2 * records).max(40_000),
            },
            expected: Expected { data_sd: 0.0, privacy_sd: 0.0, kl: 0.0, seconds: 0.0 },
            why: vec![format!(
                "{:.0} % of the budget for a sketch in which a component has a peak of {:.1} standard deviations of the noise{}",
                100.0 * share,
                peak_sds,
                if enough { "" } else { ": too little to identify the modes, so the posterior will be wide" },
            )],
        };
        plan.choose_sites(noise_variance, mu * (1.0 - share).sqrt());
        Ok(plan)
    }

    /// A plan from public points, each coordinate known to within `sd`: no sketch is needed.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if the number of points is not that of components.
    pub fn from_points(
        model: &Mixture,
        records: usize,
        privacy: &Privacy,
        means: Vec<Vec<f64>>,
        sd: f64,
    ) -> Result<Self, FitError> {
        let noise_variance = known_noise(model)?;
        let mut plan = Self::new(model, records, privacy)?;
        plan.start = StartPlan::Public { means, sd };
        plan.why = vec!["the whole budget refines public points".into()];
        plan.check(model)?;
        plan.choose_sites(noise_variance, gaussian_mu(privacy)?);
        Ok(plan)
    }

    /// The clipping norm of minimum variance of a component's mean, and the noise multiplier for the GDP parameter
    /// `mu`.
    fn choose_sites(&mut self, noise_variance: f64, mu: f64) {
        let d = self.dimension as f64;
        let each = self.records as f64 / self.components as f64;
        let factor = self.adjacency.sensitivity_factor(2.0);
        let mut rng = public_rng(5);
        let lengths: Vec<f64> = (0..4000)
            .map(|_| {
                (0..self.dimension).map(|_| normal(&mut rng).powi(2)).sum::<f64>().sqrt()
                    * noise_variance.sqrt()
            })
            .collect();
        let count = lengths.len() as f64;
        // The variance of a coordinate of a mean from all steps together, with the shares of records and of noise.
        let variance = |clip: f64| {
            let response =
                lengths.iter().map(|x| x.min(clip) * x).sum::<f64>() / (count * d * noise_variance);
            let square = lengths.iter().map(|x| x.min(clip).powi(2)).sum::<f64>() / (count * d);
            (each * square + (factor * clip / mu).powi(2)) / (each * response).powi(2)
        };
        let clips = (0..80).map(|k| 0.2 * noise_variance.sqrt() * 1.06f64.powi(k));
        let best = clips.min_by(|&a, &b| variance(a).total_cmp(&variance(b))).unwrap_or(1.0);
        let data = noise_variance / each;
        let privacy = (variance(best) - data).max(0.0);
        self.sites.clip = best;
        self.sites.noise_multiplier = (self.sites.steps as f64).sqrt() / mu;
        let contributions =
            self.records as f64 * (self.sites.steps as f64 + 4.0) + 9.0 * self.sites.simulated as f64;
        self.expected = Expected {
            data_sd: data.sqrt(),
            privacy_sd: privacy.sqrt(),
            kl: 0.5 * d * (privacy / data).ln_1p(),
            seconds: contributions * 4e-8 * (self.components * self.dimension) as f64 + 0.5,
        };
        self.why.push(format!(
            "clipping norm {best:.3}: beyond it, less bias is outweighed by more noise; the expected error of a mean is {:.4} from \
             sampling and {:.4} from privacy",
            data.sqrt(),
            privacy.sqrt()
        ));
        self.why.push(format!(
            "{} releases over all records: few are enough, as each uses every record and the optimal damping averages them",
            self.sites.steps
        ));
    }

    fn check(&self, model: &Mixture) -> Result<(), FitError> {
        if (self.components, self.dimension) != (model.components(), model.dimension()) {
            return Err(FitError::OtherModel("components and dimension"));
        }
        if let StartPlan::Public { means, .. } = &self.start
            && (means.len() != self.components || means.iter().any(|mean| mean.len() != self.dimension))
        {
            return Err(FitError::OtherModel("one public point for each component"));
        }
        let start_is_positive = match self.start {
            StartPlan::Sketch { frequencies, scale, temper, prior_share, .. } => {
                frequencies > 0 && scale > 0.0 && temper > 0.0 && prior_share >= 0.0
            }

            StartPlan::Public { sd, .. } => sd > 0.0,
        };
        let sites = &self.sites;
        if start_is_positive && sites.clip > 0.0 && sites.count_scale > 0.0 && sites.simulated > 0 {
            Ok(())
        } else {
            Err(FitError::Definition(DefinitionError::MixturePlan))
        }
    }

    /// The planned releases.
    pub(crate) fn releases(&self) -> Result<(Plan, Option<SumId>, SumId), PlanError> {
        self.validate()?;
        let mut plan = Plan::new(self.records, self.adjacency);
        let mut sums = |what: &str, width, radius, noise_multiplier, steps| {
            let geometry = Geometry::Ball { radius };
            plan.sums(Sums {
                what: what.into(),
                width,
                geometry,
                sampler: Sampler::Full,
                noise_multiplier,
                steps,
            })
        };
        let sketch = match self.start {
            StartPlan::Sketch { frequencies, noise_multiplier, .. } => {
                Some(sums("sketch for the start", 2 * frequencies, 1.0, noise_multiplier, 1)?)
            }
            StartPlan::Public { .. } => None,
        };
        let width = self.components * (self.dimension + 1);
        let SitesPlan { clip, noise_multiplier, steps, .. } = self.sites;
        let sites = sums("clipped sites in centred coordinates", width, clip, noise_multiplier, steps)?;
        Ok((plan, sketch, sites))
    }

    /// The cost of the plan.
    ///
    /// # Errors
    /// [`PlanError`] if the wall refuses the plan.
    pub fn price(&self) -> Result<reticent_accounting::Cost, PlanError> {
        self.releases()?.0.price(self.delta)
    }

    /// Runs the plan on records.
    ///
    /// # Privacy
    /// The wall releases a sketch and the sums of clipped sites, all planned, priced and charged beforehand. The rest is
    /// post-processing, and randomness outside the wall is public.
    ///
    /// # Errors
    /// [`FitError`]; nothing was released if the wall could not be built.
    pub fn fit(
        &self,
        model: &Mixture,
        records: Records,
        source: NoiseSource,
        privacy: &Privacy,
        ledger: Box<dyn Ledger>,
    ) -> Result<(MixturePosterior, Receipt), FitError> {
        self.check(model)?;
        let mut wall = Wall::new(records, source, self.releases()?.0, privacy, ledger)?;
        let (posterior, projections) = self.fit_through(model, &mut wall)?;
        Ok((posterior, wall.finish(projections)?))
    }

    /// Fits through a wall of this plan. Returns the number of projections with the posterior.
    ///
    /// # Errors
    /// [`FitError`].
    pub fn fit_through(&self, model: &Mixture, wall: &mut Wall) -> Result<(MixturePosterior, u64), FitError> {
        let (_, sketch, sites) = self.releases()?;
        self.check(model)?;
        let noise_variance = known_noise(model)?;
        let (j, d, n) = (self.components, self.dimension, self.records as f64);
        let start = match (&self.start, sketch) {
            (StartPlan::Sketch { frequencies, scale, restarts, temper, prior_share, .. }, Some(id)) => {
                let prior_means: Vec<Vec<f64>> = (0..j).map(|k| model.prior_mean(k)).collect();
                let centre: Vec<f64> =
                    (0..d).map(|i| prior_means.iter().map(|mean| mean[i]).sum::<f64>() / j as f64).collect();
                let spread = 1.0 / model.prior_precision;
                let sketch = Sketch::new(j, n, noise_variance, centre, spread, *frequencies, *scale);
                let released = wall.sum(id, &sketch)?;
                let effort = Effort { restarts: *restarts, temper: *temper };
                let mut start = sketch.fit(&released.values, released.noise_sd[0], effort);
                (0..j * d).for_each(|u| start.covariance[u * (j * d + 1)] += prior_share * spread);
                start
            }
            (StartPlan::Public { means, sd }, _) => {
                let size = j * d;
                let covariance = (0..size * size).map(|k| if k % (size + 1) == 0 { sd * sd } else { 0.0 });
                Start { means: means.concat(), covariance: covariance.collect() }
            }
            _ => return Err(FitError::Definition(DefinitionError::MixturePlan)),
        };
        let refine = Refine {
            model,
            records: n,
            noise_variance,
            // Without privacy the wall does not clip.
            clip: if wall.guarantee() == Guarantee::None(NotPrivate::NoNoise) {
                f64::INFINITY
            } else {
                self.sites.clip
            },
            count_scale: self.sites.count_scale,
            draws: self.sites.simulated,
        };
        let (posterior, projections) =
            refine.run(start, self.sites.steps, |residuals| wall.sum(sites, residuals))?;
        Ok((posterior, projections))
    }
}

fn known_noise(model: &Mixture) -> Result<f64, FitError> {
    match (model.noise, model.weights) {
        (NoiseVariance::Known(variance), Weights::Uniform) => Ok(variance),
        _ => Err(FitError::Definition(DefinitionError::MixtureUnsupported)),
    }
}

/// A plan with the model that it is for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct PlannedMixture {
    pub(super) noise_sd: f64,
    pub(super) prior_variance: f64,
    pub(super) plan: MixturePlan,
}

/// Widths of the means of all components together, and of each.
pub(super) fn matrices(components: f64, dimension: f64) -> Estimate {
    let (size, blocks) = (components * dimension, components * dimension * dimension);
    let cubes = size.powi(3) + components * dimension.powi(3);
    Estimate::new(14.0 * size * size + 8.0 * blocks, 20.0 * cubes, 2.0 * blocks + size + 40.0 * components)
}

pub(super) fn mixture(
    components: usize,
    inputs: usize,
    noise_sd: f64,
    prior_variance: f64,
) -> Result<Mixture, ModelError> {
    let noise = NoiseVariance::Known(noise_sd * noise_sd);
    let means = vec![vec![0.0; inputs]; components];
    Ok(Mixture::new(&means, prior_variance, Covariance::Full, noise, Weights::Uniform)?)
}

impl Planned for PlannedMixture {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn releases(&self) -> Result<Plan, ModelError> {
        Ok(self.plan.releases().map_err(WallError::from)?.0)
    }

    fn expected(&self) -> Vec<(String, f64)> {
        let expected = &self.plan.expected;
        vec![
            ("error of a mean from sampling".into(), expected.data_sd),
            ("error of a mean from privacy".into(), expected.privacy_sd),
            ("KL divergence from the exact posterior".into(), expected.kl),
        ]
    }

    fn why(&self) -> Vec<String> {
        self.plan.why.clone()
    }

    fn validate(&self, shape: &TableShape) -> Result<(), ModelError> {
        same_shape("mixture", (self.plan.dimension, self.plan.records), shape)?;
        let fields = || {
            field::number("noise_sd", self.noise_sd, 1e-4..=1e3)?;
            field::number("prior_variance", self.prior_variance, field::PRIOR)?;
            self.plan.validate()
        };
        fields().map_err(out_of_range("mixture"))
    }

    fn cost_estimate(&self) -> Estimate {
        let MixturePlan { records, components, dimension, ref start, ref sites, .. } = self.plan;
        let (records, j, d) = (records as f64, components as f64, dimension as f64);
        let (size, steps) = (j * d, sites.steps as f64);
        let mut all = matrices(j, d);
        if let StartPlan::Sketch { frequencies, restarts, .. } = *start {
            let (frequencies, restarts) = (frequencies as f64, restarts as f64);
            all = all.releases(1.0, 2.0 * frequencies, records, frequencies * (d + 30.0));
            all.memory += 8.0 * frequencies * (d + 4.0 * size);
            // Candidates for each component with mean shift; and descents with a matrix for each.
            let candidates = j * 36.0 * 8.0 * frequencies * (3.0 * d + 30.0);
            let descents = (8.0 * j + 60.0) * (frequencies * (size * size + 30.0 * j) + size.powi(3));
            all.operations += restarts * (candidates + descents) + 3200.0 * frequencies * size;
        }
        all.operations +=
            (steps + 1.0) * (sites.simulated as f64 * (4.0 * size * size + 60.0 * j + 20.0 * size));
        all.operations += steps * 20.0 * size.powi(3);
        all.releases(steps, j * (d + 1.0), records, 8.0 * size + 40.0 * j)
    }

    fn fit(&self, wall: &mut Wall) -> Result<(Box<dyn Posterior>, u64), ModelError> {
        let MixturePlan { components, dimension, .. } = self.plan;
        let model = mixture(components, dimension, self.noise_sd, self.prior_variance)?;
        let (posterior, projections) = self.plan.fit_through(&model, wall)?;
        Ok((Box::new(posterior), projections))
    }
}
