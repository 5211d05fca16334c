//! Networks by stochastic expectation propagation: with privacy for what a linear prediction leaves, and without for all.

use reticent::budget::{Adjacency, Cost, Ledger, Privacy, Unlimited};
use reticent::engine::{Average, Coordinates, Damping, Phase, Sep, SepPlan, SiteModel, UnbiasedClip, sep};
use reticent::field::{self, FieldError};
use reticent::model::network::{Network, NetworkPosterior, OutputNoise, SimulatedClasses, Start};
use reticent::model::regression::{RegressionPlan, RegressionPosterior};
use reticent::receipt::Receipt;
use reticent::wall::{Geometry, NoiseSource, Plan, Records, Sampler, Sums, Wall, WallError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{out_of_range, parse, same_shape, settings};
use crate::regression::{network_estimate, weights};
use crate::{
    Bounded, Estimate, Facts, Fitted, Link, Model, ModelError, Outline, Planned, Predicted, Release, Saved,
    Setting, Target, Variances,
};

pub(crate) struct Networks;

const SETTINGS: [Setting; 2] = [
    Setting::integer("hidden", "the number of units in the hidden layer", (1, 100_000)).or(50.0),
    Setting::integer("passes", "the number of passes over the records", (1, 100_000)).or(40.0),
];

impl Model for Networks {
    fn name(&self) -> &'static str {
        "network"
    }
    fn about(&self) -> &'static str {
        "a number or one of two classes, by a network of rectified linear units"
    }
    fn family(&self) -> &'static str {
        "gaussian"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::Number, Target::TwoClasses]
    }
    fn settings(&self) -> &'static [Setting] {
        &SETTINGS
    }
    fn needs_bounds(&self) -> bool {
        false
    }
    fn new_plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [hidden, passes] = settings(self, facts)?;
        let classes = facts.target == Target::TwoClasses;
        let few = classes && privacy.is_some() && !facts.settings.contains_key("hidden");
        let (hidden, passes) = (if few { PRIVATE_UNITS } else { hidden as usize }, passes as usize);
        if let Some(privacy) = privacy {
            if classes {
                return Ok(Box::new(ClassPlan::new(facts, vec![hidden], privacy)?));
            }
            let plan = RegressionPlan::network(facts.inputs(), &[hidden], facts.records, privacy)?;
            return Ok(Box::new(plan));
        }
        Ok(Box::new(Passes { inputs: facts.inputs(), hidden, passes, classes, records: facts.records }))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        if plan.get("rounds").is_some() {
            return crate::regression::parse_plan(self.name(), plan);
        }
        if plan.get("sep").is_some() {
            return Ok(Box::new(parse::<ClassPlan>(self.name(), plan)?));
        }
        Ok(Box::new(parse::<Passes>(self.name(), plan)?))
    }
    /// A plan for two classes fits simulated records.
    fn least_estimate(&self, facts: &Facts) -> Option<Estimate> {
        let hidden = facts.settings.get("hidden").map_or(PRIVATE_UNITS, |hidden| *hidden as usize);
        let simulated = SIMULATED.0 as usize * SIMULATED.1;
        let of = weights(facts.inputs(), &[hidden]);
        Some(network_estimate(Estimate::new(0.0, 0.0, 0.0), of, CLASSES.0, simulated))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        if let Ok(posterior) = saved.restore::<RegressionPosterior>(self.name()) {
            return Ok(Box::new(Bounded(posterior)));
        }
        Ok(Box::new(saved.restore::<NetworkPosterior>(self.name())?))
    }
}

/// What is done, record by record.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Passes {
    inputs: usize,
    hidden: usize,
    passes: usize,
    classes: bool,
    records: usize,
}

fn network(inputs: usize, hidden: usize, classes: bool) -> Result<Network, ModelError> {
    let noise = if classes { OutputNoise::Probit } else { OutputNoise::default() };
    Ok(Network::new(&[inputs, hidden], noise)?)
}

impl Planned for Passes {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers")
    }

    fn outline(&self) -> Outline {
        let why = format!("{} passes of SEP over single records, as in the papers", self.passes);
        Outline { releases: Vec::new(), expected: Vec::new(), why: vec![why] }
    }

    fn validate(&self, facts: &Facts) -> Result<(), ModelError> {
        same_shape("network", (self.inputs, self.records), facts)?;
        let fields = || {
            field::hidden_layers("hidden", &[self.hidden])?;
            field::integer("passes", self.passes as u64, 1..=100_000)
        };
        fields().map_err(out_of_range("network"))
    }

    /// A step for each record.
    fn cost_estimate(&self) -> Estimate {
        let weights = weights(self.inputs, &[self.hidden]);
        let steps = self.passes as f64 * self.records as f64;
        Estimate::new(60.0 * weights, steps * (120.0 * weights + 400.0), 3.0 * weights)
    }

    fn price(&self, _: &Privacy) -> Result<Cost, ModelError> {
        Err(ModelError::OnlyWithoutPrivacy { model: "network" })
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        if privacy.is_some() {
            return Err(ModelError::OnlyWithoutPrivacy { model: "network" });
        }
        let mut model = network(self.inputs, self.hidden, self.classes)?;
        let mut plan = Plan::new(self.records, Adjacency::ReplaceOne);
        let sums = Sums {
            what: "sites".into(),
            width: model.width(),
            geometry: Geometry::Ball { radius: 1.0 },
            sampler: Sampler::Pass { batch: 1 },
            noise_multiplier: 1.0,
            steps: (self.passes * self.records) as u64,
        };
        let sums = plan.sums(sums).map_err(WallError::from)?;
        let mut wall = Wall::without_privacy(records, source, plan, ledger)?;
        let (coordinates, damping) = (Coordinates::Factor, Damping::Step(1.0));
        let phase = Phase { sums, steps: self.records as u64, coordinates, damping, clip: None };
        let mut state = Sep::new(&model, self.records, &model.start(1, Start::Usual));
        for _ in 0..self.passes {
            state.run(&model, &mut wall, &phase, Average::Last)?;
            model.refine_prior(&state.fit(&model).natural);
        }
        let fit = state.fit(&model);
        let receipt = wall.finish(fit.projections)?;
        Ok((Box::new(NetworkPosterior::new(&model, &fit)), receipt))
    }
}

/// DP-SEP for two classes: all records in every release, in centred coordinates, and an average of the second half.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ClassPlan {
    inputs: usize,
    /// Units of hidden layers.
    hidden: Vec<usize>,
    /// Of the public draw of the weights to start from.
    seed: u64,
    /// What holds weights at first.
    start_precision: f64,
    /// What the precision of a weight is at least, over the prior's: noise in precisions may not let weights loose.
    floor: f64,
    /// The variance of scores that the variances of weights leave out: how far fits of simulated records end from the network
    /// that these were drawn with.
    #[serde(default)]
    misfit: f64,
    sep: SepPlan,
}

/// Simulated sets of records that the misfit is found by, and records in each.
const SIMULATED: (u64, usize) = (4, 500);

/// Hidden units of private networks of two classes, if nothing else is asked for: each weight has its noise.
const PRIVATE_UNITS: usize = 10;
/// Releases of a network of two classes, the norm that sites are clipped to, and the share of the way that a step goes.
const CLASSES: (u64, f64, f64) = (60, 1.0, 0.1);

impl ClassPlan {
    fn new(facts: &Facts, hidden: Vec<usize>, privacy: &Privacy) -> Result<Self, ModelError> {
        let (steps, clip, share) = CLASSES;
        let falling = |t: u64| 1.0 / (1.0 / share + t.saturating_sub(steps / 2) as f64);
        let damping = Damping::Planned((0..steps).map(falling).collect());
        let why = format!("{steps} releases of all records, of which the second half is averaged");
        let sep =
            SepPlan { why: vec![why], ..SepPlan::of_steps(steps, clip, damping, facts.records, privacy)? };
        let mut plan = Self {
            inputs: facts.inputs(),
            hidden,
            seed: 1,
            start_precision: 10.0,
            floor: 30.0,
            misfit: 0.0,
            sep,
        };
        plan.misfit = plan.simulated_misfit(&facts.columns)?;
        let why = format!(
            "scores are uncertain by {:.3} beside the weights: so far fits of simulated records are off",
            plan.misfit.sqrt()
        );
        plan.sep.why.push(why);
        Ok(plan)
    }

    /// The mean squared distance of scores from those that simulated records were drawn with, less the variance that weights
    /// have: what the number of steps, clipping, the floor of precisions and independent weights cost. Without noise, whose
    /// variance is known. All of it is public.
    fn simulated_misfit(&self, columns: &[usize]) -> Result<f64, ModelError> {
        let model = self.model()?;
        let (mut excess, count) = (0.0, (SIMULATED.0 as usize * SIMULATED.1) as f64);
        for seed in 0..SIMULATED.0 {
            let SimulatedClasses { records, scores } = model.simulate_classes(columns, SIMULATED.1, seed);
            let held = Records::new(records.clone(), self.inputs + 1)?;
            let posterior = self.fit_without_noise(&model, held, SIMULATED.1)?;
            for (row, score) in records.chunks_exact(self.inputs + 1).zip(scores) {
                let found = posterior.predict_naively(&row[..self.inputs]);
                excess += ((found.mean - score).powi(2) - found.variance) / count;
            }
        }
        if excess.is_finite() { Ok(excess.max(0.0)) } else { Err(ModelError::NoDensity) }
    }

    /// The same fit of public records, without noise.
    fn fit_without_noise(
        &self,
        model: &Network,
        records: Records,
        count: usize,
    ) -> Result<NetworkPosterior, ModelError> {
        let mut plan = Plan::new(count, Adjacency::ReplaceOne);
        let (coordinates, damping, steps) = (self.sep.coordinates, self.sep.damping.clone(), self.sep.steps);
        let sums = Sums {
            what: "sites of simulated records".into(),
            width: model.width(),
            geometry: Geometry::Ball { radius: self.sep.clip },
            sampler: Sampler::Full,
            noise_multiplier: 1.0,
            steps,
        };
        let sums = plan.sums(sums).map_err(WallError::from)?;
        let source = NoiseSource::from_os().map_err(WallError::from)?;
        let mut wall = Wall::without_privacy(records, source, plan, Box::new(Unlimited))?;
        let phase = Phase { sums, steps, coordinates, damping, clip: None };
        let clipped = UnbiasedClip::new(model, self.sep.clip);
        let start = model.start(self.seed, Start::Held { precision: self.start_precision });
        let fit = sep(&clipped, &mut wall, count, &start, &[phase], Average::Last)?;
        Ok(NetworkPosterior::new(model, &fit))
    }

    fn fields(&self) -> Result<(), FieldError> {
        field::hidden_layers("hidden", &self.hidden)?;
        field::number("misfit", self.misfit, 0.0..=1e6)?;
        field::number("start_precision", self.start_precision, 0.0..=1e6)?;
        field::number("floor", self.floor, 1e-6..=1e6)?;
        self.sep.validate()
    }

    fn model(&self) -> Result<Network, ModelError> {
        let sizes: Vec<usize> = std::iter::once(self.inputs).chain(self.hidden.iter().copied()).collect();
        Ok(Network::new(&sizes, OutputNoise::Probit)?.with_floor(self.floor)?)
    }
}

impl Planned for ClassPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn outline(&self) -> Outline {
        let SepPlan { steps, clip, noise_multiplier, expected_noise, why, .. } = &self.sep;
        let release = Release {
            what: "clipped sites of the network".into(),
            width: self.model().map_or(0, |model| model.width()),
            times: *steps,
            clip: *clip,
            noise_multiplier: *noise_multiplier,
        };
        let noise = ("standard deviation of the noise in each natural parameter".into(), *expected_noise);
        Outline { releases: vec![release], expected: vec![noise], why: why.clone() }
    }

    fn validate(&self, facts: &Facts) -> Result<(), ModelError> {
        same_shape("network", (self.inputs, self.sep.records), facts)?;
        self.fields().map_err(out_of_range("network"))
    }

    fn cost_estimate(&self) -> Estimate {
        let start = Estimate::new(0.0, 0.0, 0.0);
        network_estimate(start, weights(self.inputs, &self.hidden), self.sep.steps, self.sep.records)
    }

    fn price(&self, privacy: &Privacy) -> Result<Cost, ModelError> {
        Ok(self.sep.price(self.model()?.width(), privacy)?)
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        let Some(privacy) = privacy else { return Err(ModelError::OnlyWithPrivacy { model: "network" }) };
        let model = self.model()?;
        let start = model.start(self.seed, Start::Held { precision: self.start_precision });
        let (fit, receipt) = self.sep.fit(
            &UnbiasedClip::new(&model, self.sep.clip),
            &start,
            records,
            source,
            privacy,
            ledger,
        )?;
        Ok((Box::new(NetworkPosterior::new(&model, &fit).with_misfit(self.misfit.max(0.0))), receipt))
    }
}

impl Fitted for NetworkPosterior {
    fn predict(&self, inputs: &[f64], probabilities: &[f64]) -> Predicted {
        let prediction = NetworkPosterior::predict(self, inputs);
        let naive = self.predict_naively(inputs).variance;
        let privacy = (prediction.variance - naive).max(0.0);
        let records = prediction.variance - privacy;
        let variances = Variances { records, privacy, targets: prediction.noise_variance };
        if self.has_classes() {
            let (probability, score) = (prediction.positive(), prediction.mean);
            return Predicted::Class { probability, score, link: Link::Probit, variances };
        }
        let quantiles = probabilities.iter().map(|&p| prediction.quantile(p)).collect();
        Predicted::Number { mean: prediction.mean, variances, quantiles }
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};
    use rand_distr::{Distribution, StandardNormal};
    use reticent::model::Prediction;

    const RECORDS: u32 = 20_000;

    fn plan(inputs: usize, records: usize, privacy: &Privacy) -> ClassPlan {
        let facts = Facts::new(vec![1; inputs], Target::TwoClasses, records);
        ClassPlan::new(&facts, vec![PRIVATE_UNITS], privacy).unwrap()
    }

    fn privacy() -> Privacy {
        Privacy::new(1.0, 1e-6, Adjacency::AddRemove).unwrap()
    }

    /// The share of points on a grid that a private network puts in the right class, of which it knows 20,000: those far
    /// from 0, and those near it. No linear score has more than half of the near and half of the far ones.
    fn right(plan: &ClassPlan) -> f64 {
        let point = |n: u32| f64::from(n) / 10_000.0 - 1.0;
        let class = |x: f64| if x.abs() > 0.5 { 1.0 } else { -1.0 };
        let values = (0..RECORDS).flat_map(|n| [point(n), class(point(n))]).collect();
        let (records, source) = (Records::new(values, 2).unwrap(), NoiseSource::from_os().unwrap());
        let (fitted, _) = plan.fit(records, source, Some(&privacy()), Box::new(Unlimited)).unwrap();
        let right = (0..200).map(|n| point(100 * n)).filter(|&x| {
            let Predicted::Class { probability, .. } = fitted.predict(&[x], &[]) else { return false };
            (probability > 0.5) == (class(x) > 0.0)
        });
        right.count() as f64 / 200.0
    }

    #[test]
    fn a_private_network_learns_classes_that_no_line_divides() {
        let right = right(&plan(1, RECORDS as usize, &privacy()));
        assert!(right > 0.8, "{right}");
    }

    /// With a million times the noise, whatever it says has nothing to do with the records: on average half is right, which eight
    /// fits in a row exceed by this much with a probability below one in a thousand.
    #[test]
    fn huge_noise_destroys_the_classes() {
        let mut plan = plan(1, RECORDS as usize, &privacy());
        plan.sep.noise_multiplier *= 1e6;
        let mean = (0..8).map(|_| right(&plan)).sum::<f64>() / 8.0;
        assert!(mean < 0.85, "{mean}");
    }

    /// What scores are worth: the factor that brings them nearest to the true ones, and the share of 95 % intervals that hold these.
    fn worth(predict: impl Fn(&[f64]) -> Prediction, truth: impl Fn(&[f64]) -> f64) -> (f64, f64) {
        let (mut both, mut square, mut inside) = (0.0, 0.0, 0.0);
        for k in 0..400 {
            let x = [f64::from(k % 20) / 9.5 - 1.0, f64::from(k / 20) / 9.5 - 1.0];
            let (found, truth) = (predict(&x), truth(&x));
            both += found.mean * truth;
            square += found.mean * found.mean;
            let close = (found.mean - truth).abs() < 1.96 * found.variance.sqrt();
            inside += f64::from(u8::from(close)) / 400.0;
        }
        (both / square, inside)
    }

    /// Records of a score that waves. With the unbiased clip scores are as large as they should be, on average; with one that looks
    /// at the class they are too large. And more intervals hold the true score with the misfit than without.
    #[test]
    fn scores_of_a_private_network_are_not_too_sure() {
        let truth = |x: &[f64]| 1.5 * (3.0 * x[0]).sin() + x[1] - 0.3;
        let (n, privacy) = (10_000, Privacy::new(3.0, 1e-6, Adjacency::AddRemove).unwrap());
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut values = Vec::new();
        for _ in 0..n {
            let x = [rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)];
            let z: f64 = StandardNormal.sample(&mut rng);
            values.extend([x[0], x[1], (truth(&x) + z).signum()]);
        }
        let plan = plan(2, n, &privacy);
        let fit = |unbiased: bool| {
            let model = plan.model().unwrap();
            let start = model.start(plan.seed, Start::Held { precision: plan.start_precision });
            let records = Records::new(values.clone(), 3).unwrap();
            let source = NoiseSource::from_os().unwrap();
            let ledger = Box::new(Unlimited);
            let (fit, _) = if unbiased {
                let model = UnbiasedClip::new(&model, plan.sep.clip);
                plan.sep.fit(&model, &start, records, source, &privacy, ledger).unwrap()
            } else {
                plan.sep.fit(&model, &start, records, source, &privacy, ledger).unwrap()
            };
            NetworkPosterior::new(&model, &fit)
        };
        let unbiased = fit(true);
        let (factor, alone) = worth(|x| NetworkPosterior::predict(&unbiased, x), truth);
        let widened = unbiased.with_misfit(plan.misfit);
        let (_, inside) = worth(|x| NetworkPosterior::predict(&widened, x), truth);
        let biased = fit(false);
        let (biased, _) = worth(|x| NetworkPosterior::predict(&biased, x), truth);
        let text = format!(
            "factor {factor}, biased {biased}, inside {inside}, without misfit {alone}, misfit {}",
            plan.misfit
        );
        assert!((0.8..1.3).contains(&factor) && biased < 0.9 * factor, "{text}");
        assert!(inside > alone, "{text}");
    }
}
