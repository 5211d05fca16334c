//! Two classes by a linear score: probit regression, by DP-SEP.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use reticent::budget::{Adjacency, Cost, Ledger, Privacy};
use reticent::engine::{Average, Coordinates, Damping, Phase, SepPlan, SiteModel, UnbiasedClip, sep};
use reticent::family::{Covariance, Moments};
use reticent::field::{self, FieldError};
use reticent::model::linear::{ClippingNorm, Linear, LinearPosterior, Response, Simulated};
use reticent::receipt::Receipt;
use reticent::wall::{Geometry, NoiseSource, Plan, Records, Sampler, Sums, Wall, WallError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{out_of_range, parse, same_shape, settings};
use crate::{
    Estimate, Facts, Fitted, Link, Model, ModelError, Outline, Planned, Predicted, Release, Saved, Setting,
    Target, Variances,
};

pub(crate) struct Probit;

/// The most inputs of a private fit. Intervals of independent weights, which would do with less noise, are too narrow where inputs
/// depend on each other, as levels do; and the covariance of the noise in a full precision has about $d^4/8$ elements.
const MAX_INPUTS: usize = 32;
/// Releases with privacy, and steps without.
const STEPS: (u64, u64) = (40, 20);
/// The step from which all releases have the same weight: those before lead there.
const FULL_WEIGHT: u64 = 8;
/// Simulated sets of records that the clipping norm is chosen by, and records in each.
const SIMULATED: (u64, usize) = (8, 500);

pub(crate) const SETTINGS: [Setting; 1] = [Setting::number(
    "prior-variance",
    "the prior variance of each weight, for inputs between -1 and 1",
    (1e-6, 1e6),
)
.or(1.0)];

impl Model for Probit {
    fn name(&self) -> &'static str {
        "probit"
    }
    fn about(&self) -> &'static str {
        "one of two classes, by the normal distribution function of a weighted sum of the inputs"
    }
    fn family(&self) -> &'static str {
        "gaussian"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::TwoClasses]
    }
    fn settings(&self) -> &'static [Setting] {
        &SETTINGS
    }
    fn new_plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [prior_variance] = settings(self, facts)?;
        let (inputs, records) = (facts.inputs(), facts.records);
        let sep = match privacy {
            Some(_) if inputs > MAX_INPUTS => return Err(too_many_inputs()),
            Some(privacy) => {
                let model = linear(inputs, prior_variance)?;
                Some(private_plan(&model, &facts.columns, prior_variance, records, privacy)?)
            }
            None => None,
        };
        Ok(Box::new(ProbitPlan { inputs, prior_variance, sep, records }))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        let plan: ProbitPlan = parse(self.name(), plan)?;
        if plan.sep.is_some() && plan.inputs > MAX_INPUTS {
            return Err(too_many_inputs());
        }
        Ok(Box::new(plan))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        Ok(Box::new(saved.restore::<LinearPosterior>(self.name())?))
    }
}

fn too_many_inputs() -> ModelError {
    let expected = "at most 32 inputs to be private (a logistic model may have more)";
    ModelError::Columns { model: "probit", expected }
}

/// A plan with the model that it is for.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ProbitPlan {
    inputs: usize,
    prior_variance: f64,
    /// None for a fit without privacy.
    sep: Option<SepPlan>,
    records: usize,
}

fn linear(inputs: usize, prior_variance: f64) -> Result<Linear, ModelError> {
    Ok(Linear::new(inputs, prior_variance, Covariance::Full, Response::Probit)?)
}

/// A plan for few inputs, with the clipping norm that leaves the most information.
fn private_plan(
    model: &Linear,
    columns: &[usize],
    prior_variance: f64,
    records: usize,
    privacy: &Privacy,
) -> Result<SepPlan, ModelError> {
    let plan = |clip| SepPlan::of_steps(STEPS.0, clip, Damping::Rising(FULL_WEIGHT), records, privacy);
    let sets: Vec<Simulated> =
        (0..SIMULATED.0).map(|seed| simulated(columns, prior_variance, seed)).collect();
    let noise_sd = plan(1.0)?.expected_noise;
    let chosen = ClippingNorm::choose(model, &sets, records, noise_sd).ok_or(ModelError::NoDensity)?;
    let ClippingNorm { norm, clipped, longest, expected_sd } = chosen;
    let why = vec![
        format!(
            "clipping norm {norm:.3}: it leaves the most information about weights from the prior; {:.1} % of simulated sites \
             are longer, the longest {longest:.3}",
            100.0 * clipped
        ),
        "sites are clipped by a factor that does not depend on the class, so that clipping adds no bias"
            .into(),
        format!(
            "{} releases of all records, averaged: the first {FULL_WEIGHT} with smaller weights",
            STEPS.0
        ),
        format!("expected standard deviation of a weight: {expected_sd:.3}, without the next"),
        "intervals are wider along the length of the weights, by the share of their square that is noise: noise makes long weights shorter"
            .into(),
    ];
    Ok(SepPlan { why, ..plan(norm)? })
}

impl ProbitPlan {
    fn width(&self) -> usize {
        let d = self.inputs + 1;
        d + d * (d + 1) / 2
    }

    fn fields(&self) -> Result<(), FieldError> {
        field::integer("inputs", self.inputs as u64, 1..=1 << 20)?;
        field::number("prior_variance", self.prior_variance, field::PRIOR)?;
        field::integer("records", self.records as u64, field::RECORDS)?;
        let Some(sep) = &self.sep else { return Ok(()) };
        field::agrees("sep.records", &sep.records, &self.records)?;
        sep.validate()
    }

    /// What is released without privacy.
    fn without_noise(&self) -> Result<(Plan, reticent::wall::SumId), WallError> {
        let mut plan = Plan::new(self.records, Adjacency::ReplaceOne);
        let sums = plan.sums(Sums {
            what: "sites".into(),
            width: self.width(),
            geometry: Geometry::Ball { radius: 1.0 },
            sampler: Sampler::Full,
            noise_multiplier: 1.0,
            steps: STEPS.1,
        })?;
        Ok((plan, sums))
    }
}

impl Planned for ProbitPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn outline(&self) -> Outline {
        let Some(plan) = &self.sep else {
            return Outline { releases: Vec::new(), expected: Vec::new(), why: Vec::new() };
        };
        let release = Release {
            what: "clipped sites in centred coordinates".into(),
            width: self.width(),
            times: plan.steps,
            clip: plan.clip,
            noise_multiplier: plan.noise_multiplier,
        };
        let expected = vec![
            ("standard deviation of the noise in each natural parameter".into(), plan.expected_noise),
            ("norm of what simulated records of this number say".into(), plan.expected_norm),
        ];
        Outline { releases: vec![release], expected, why: plan.why.clone() }
    }

    fn validate(&self, facts: &Facts) -> Result<(), ModelError> {
        same_shape("probit", (self.inputs, self.records), facts)?;
        self.fields().map_err(out_of_range("probit"))
    }

    fn cost_estimate(&self) -> Estimate {
        let (d, width, records) = (self.inputs as f64 + 1.0, self.width() as f64, self.records as f64);
        let steps = self.sep.as_ref().map_or(STEPS.1, |sep| sep.steps) as f64;
        // The noise has a covariance of all natural parameters, which each step adds to.
        let noise = if self.sep.is_some() { steps * width.powi(3) } else { 0.0 };
        let post = noise + (steps + 60.0) * 30.0 * d.powi(3);
        let start = Estimate::new(width * width + 30.0 * d * d, post, 2.0 * d * d + 3.0 * d);
        start.releases(steps, width, records, 8.0 * d * d + 200.0)
    }

    fn price(&self, privacy: &Privacy) -> Result<Cost, ModelError> {
        let Some(sep) = &self.sep else {
            return Err(ModelError::Plan { model: "probit", why: "it is for a fit without privacy".into() });
        };
        Ok(sep.price(self.width(), privacy)?)
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        let model = linear(self.inputs, self.prior_variance)?;
        let start = vec![0.0; model.width()];
        let (fit, receipt) = match (privacy, &self.sep) {
            (Some(privacy), Some(plan)) => {
                plan.fit(&UnbiasedClip::new(&model, plan.clip), &start, records, source, privacy, ledger)?
            }
            (Some(_), None) => {
                return Err(ModelError::Plan {
                    model: "probit",
                    why: "it is for a fit without privacy".into(),
                });
            }
            (None, _) => {
                let (plan, sums) = self.without_noise()?;
                let mut wall = Wall::without_privacy(records, source, plan, ledger)?;
                let (coordinates, damping) = (Coordinates::Centred, Damping::Rising(FULL_WEIGHT));
                let phase = Phase { sums, steps: STEPS.1, coordinates, damping, clip: None };
                let fit = sep(&model, &mut wall, self.records, &start, &[phase], Average::Last)?;
                let receipt = wall.finish(fit.projections)?;
                (fit, receipt)
            }
        };
        let mut posterior =
            LinearPosterior::new(&model, &fit).unwrap_or_else(|| LinearPosterior::of_prior(&model));
        if self.sep.is_some() {
            widen(&mut posterior);
        }
        Ok((Box::new(posterior), receipt))
    }
}

/// Adds to the covariance what the noise leaves unknown of the length of the weights.
///
/// Sites are linear about means that noise has moved. That makes weights shorter, the more so the longer they are, since probabilities near 0 and 1
/// change little with the length; a covariance of first order does not have it. The length is taken to be uncertain by the share of the
/// expected square of the weights that is privacy noise, $\operatorname{tr}(V - V_0)/(|m|^2 + \operatorname{tr} V)$ with $V_0$ the covariance without
/// noise: $mm^T$ times that is added, which vanishes as the budget grows.
fn widen(posterior: &mut LinearPosterior) {
    let Moments { mean, covariance } = &mut posterior.moments;
    let d = mean.len();
    let trace = |covariance: &[f64]| (0..d).map(|i| covariance[i * (d + 1)]).sum::<f64>();
    let (all, records) = (trace(covariance), trace(&posterior.naive.covariance));
    let square: f64 = mean.iter().map(|m| m * m).sum();
    let share = (all - records).max(0.0) / (square + all);
    for (row, a) in covariance.chunks_exact_mut(d).zip(&*mean) {
        row.iter_mut().zip(&*mean).for_each(|(x, b)| *x += share * a * b);
    }
}

impl Fitted for LinearPosterior {
    fn predict(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let (aware, naive) = (LinearPosterior::predict(self, inputs), self.predict_naively(inputs));
        let privacy = (aware.variance - naive.variance).max(0.0);
        let variances =
            Variances { records: aware.variance - privacy, privacy, targets: aware.noise_variance };
        let link = if self.is_logistic() { Link::Logistic } else { Link::Probit };
        Predicted::Class { probability: self.positive(inputs), score: aware.mean, link, variances }
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}

/// Records that look like encoded ones, in which a column of several levels has one 1 among zeros, with the classes that
/// weights from the prior give them. The seed is public.
fn simulated(columns: &[usize], prior_variance: f64, seed: u64) -> Simulated {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let inputs: usize = columns.iter().sum();
    let weights: Vec<f64> = (0..=inputs).map(|_| prior_variance.sqrt() * standard(&mut rng)).collect();
    let mut records = vec![0.0; SIMULATED.1 * (inputs + 1)];
    for row in records.chunks_exact_mut(inputs + 1) {
        let mut first = 0;
        for &levels in columns {
            if levels == 1 {
                row[first] = rng.random_range(-1.0..1.0);
            } else {
                row[first + rng.random_range(0..levels)] = 1.0;
            }
            first += levels;
        }
        let score: f64 = row.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() + weights[inputs];
        row[inputs] = (score + standard(&mut rng)).signum();
    }
    Simulated { weights, records }
}

fn standard(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent::budget::Unlimited;

    /// Records of these columns, drawn with these weights.
    fn drawn(weights: &[f64], columns: &[usize], n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let inputs = weights.len() - 1;
        let mut records = vec![0.0; n * (inputs + 1)];
        for row in records.chunks_exact_mut(inputs + 1) {
            let mut first = 0;
            for &levels in columns {
                if levels == 1 {
                    row[first] = rng.random_range(-1.0..1.0);
                } else {
                    row[first + rng.random_range(0..levels)] = 1.0;
                }
                first += levels;
            }
            let score: f64 = row.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>() + weights[inputs];
            row[inputs] = (score + standard(rng)).signum();
        }
        records
    }

    const WEIGHTS: [f64; 3] = [0.8, -0.4, 0.2];

    fn budget(epsilon: f64) -> Privacy {
        Privacy::new(epsilon, 1e-6, Adjacency::ReplaceOne).unwrap()
    }

    fn fitted(
        plan: &dyn Planned,
        values: Vec<f64>,
        width: usize,
        privacy: Option<&Privacy>,
    ) -> LinearPosterior {
        let (records, source) = (Records::new(values, width).unwrap(), NoiseSource::from_os().unwrap());
        let (fitted, _) = plan.fit(records, source, privacy, Box::new(Unlimited)).unwrap();
        fitted.save().unwrap().restore("probit").unwrap()
    }

    /// Errors of the weights over their stated deviations.
    fn errors(posterior: &LinearPosterior, truth: &[f64]) -> Vec<f64> {
        let Moments { mean, covariance } = &posterior.moments;
        let d = mean.len();
        (0..d).map(|i| (mean[i] - truth[i]) / covariance[i * (d + 1)].sqrt()).collect()
    }

    /// A clip that looks at the class left these weights at 1.47, -0.69 and 0.31 with deviations of 0.02, whatever the budget. A
    /// normal number is six deviations off once in 5e8: two fits of three weights are so by chance once in 8e7 runs.
    #[test]
    fn clipping_adds_no_bias() {
        let (n, privacy) = (20_000, budget(3.0));
        let plan = Probit.new_plan(&Facts::new(vec![1, 1], Target::TwoClasses, n), Some(&privacy)).unwrap();
        for seed in 0..2 {
            let values = drawn(&WEIGHTS, &[1, 1], n, &mut ChaCha8Rng::seed_from_u64(seed));
            let posterior = fitted(plan.as_ref(), values, 3, Some(&privacy));
            let errors = errors(&posterior, &WEIGHTS);
            assert!(errors.iter().all(|error| error.abs() < 6.0), "{posterior:?}");
            // An interval that is right because it is wide would be no use: half as much again as records alone leave.
            assert!(posterior.moments.covariance[0].sqrt() < 0.03, "{posterior:?}");
        }
    }

    /// 95 % intervals of the first weight over 20 sets of records. Intervals that hold the truth in at least 93 % of all sets miss
    /// it in ten of 20 with a probability below 6e-7; those of a biased clip missed it in all.
    #[test]
    fn intervals_of_a_private_weight_cover() {
        let (n, privacy) = (3000, budget(3.0));
        let plan = Probit.new_plan(&Facts::new(vec![1, 1], Target::TwoClasses, n), Some(&privacy)).unwrap();
        let missed = |seed: &u64| {
            let values = drawn(&WEIGHTS, &[1, 1], n, &mut ChaCha8Rng::seed_from_u64(100 + seed));
            errors(&fitted(plan.as_ref(), values, 3, Some(&privacy)), &WEIGHTS)[0].abs() > 1.96
        };
        let missed = (0..20).filter(missed).count();
        assert!(missed < 10, "{missed}");
    }

    /// With a budget that buys all there is to have, nothing is clipped and the noise is a hundredth of what records leave: the same
    /// posterior as without privacy, to a fifth of a deviation.
    #[test]
    fn a_large_budget_gives_the_fit_without_privacy() {
        let (n, privacy) = (20_000, budget(50.0));
        let facts = Facts::new(vec![1, 1], Target::TwoClasses, n);
        let values = drawn(&WEIGHTS, &[1, 1], n, &mut ChaCha8Rng::seed_from_u64(5));
        let private = Probit.new_plan(&facts, Some(&privacy)).unwrap();
        assert!(
            private.outline().why[0].contains(" 0.0 % of simulated sites"),
            "{:?}",
            private.outline().why
        );
        let private = fitted(private.as_ref(), values.clone(), 3, Some(&privacy));
        let plain = fitted(Probit.new_plan(&facts, None).unwrap().as_ref(), values, 3, None);
        let apart = errors(&private, &plain.moments.mean);
        assert!(apart.iter().all(|gap| gap.abs() < 0.2), "{private:?} {plain:?}");
        for i in [0, 4, 8] {
            let ratio = private.moments.covariance[i] / plain.moments.covariance[i];
            assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
        }
    }

    /// Weights from the prior, columns of levels, few records and small budgets. Without what is added along the length of the weights, 82 to 92 % of
    /// those of 8 and more numbers were within 95 % intervals. The bound is four binomial errors: errors of weights in a set depend on each other.
    #[test]
    #[ignore = "takes minutes"]
    fn intervals_cover_at_every_budget() {
        let levels = vec![1, 1, 2, 3, 4, 5];
        for columns in [vec![1; 2], vec![1, 3], vec![1; 8], levels, vec![1; 12], vec![1; 24]] {
            for (n, epsilon) in [(20_000, 3.0), (20_000, 0.5), (2000, 3.0), (2000, 0.5), (500, 1.0)] {
                let privacy = budget(epsilon);
                let facts = Facts::new(columns.clone(), Target::TwoClasses, n);
                let plan = Probit.new_plan(&facts, Some(&privacy)).unwrap();
                let d = facts.inputs() + 1;
                let sets = if d < 10 { 40 } else { 20 };
                let mut covered = 0;
                for seed in 0..sets {
                    let mut rng = ChaCha8Rng::seed_from_u64(1000 + seed);
                    let truth: Vec<f64> = (0..d).map(|_| standard(&mut rng)).collect();
                    let values = drawn(&truth, &columns, n, &mut rng);
                    let errors = errors(&fitted(plan.as_ref(), values, d, Some(&privacy)), &truth);
                    covered += errors.iter().filter(|error| error.abs() < 1.96).count();
                }
                let trials = d as f64 * sets as f64;
                let (covered, bound) = (covered as f64 / trials, 0.95 - 4.0 * (0.95 * 0.05 / trials).sqrt());
                assert!(covered > bound, "{columns:?}, {n} records, epsilon {epsilon}: {covered}");
            }
        }
    }

    /// Half of the square of these weights is noise: their length is uncertain by that, other directions are as they were.
    #[test]
    fn intervals_are_wider_along_the_weights() {
        let mut posterior = LinearPosterior::of_prior(&linear(1, 1.0).unwrap());
        posterior.moments = Moments { mean: vec![0.6, 0.8], covariance: vec![0.75, 0.0, 0.0, 0.75] };
        posterior.naive = Moments { mean: vec![0.6, 0.8], covariance: vec![0.125, 0.0, 0.0, 0.125] };
        widen(&mut posterior);
        let expected = [0.36, 0.48, 0.48, 0.64].map(|square| 0.5 * square);
        for (k, (found, more)) in posterior.moments.covariance.iter().zip(expected).enumerate() {
            let before = if k % 3 == 0 { 0.75 } else { 0.0 };
            assert!((found - before - more).abs() < 1e-12, "{posterior:?}");
        }
        // Without noise nothing is added.
        posterior.naive = posterior.moments.clone();
        let before = posterior.clone();
        widen(&mut posterior);
        assert_eq!(posterior, before);
    }

    #[test]
    fn many_inputs_are_refused_with_privacy_only() {
        let facts = Facts::new(vec![MAX_INPUTS + 1], Target::TwoClasses, 1000);
        let refused = Probit.new_plan(&facts, Some(&budget(1.0))).err().unwrap().to_string();
        assert!(refused.contains("at most 32 inputs") && refused.contains("logistic"), "{refused}");
        assert!(Probit.new_plan(&facts, None).is_ok());
    }
}
