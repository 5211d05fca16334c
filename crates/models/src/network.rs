//! Networks by stochastic expectation propagation: with privacy for what a linear prediction leaves, and without for all.

use reticent::budget::{Adjacency, Cost, Ledger, Privacy};
use reticent::engine::{Average, Coordinates, Damping, Phase, Sep, SepPlan, SiteModel, UnbiasedClip};
use reticent::family::Gamma;
use reticent::model::network::{Network, NetworkPosterior, OutputNoise, Start};
use reticent::model::regression::{RegressionPlan, RegressionPosterior};
use reticent::receipt::Receipt;
use reticent::wall::{Geometry, NoiseSource, Plan, Records, Sampler, Sums, Wall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{parse, same_inputs, settle};
use crate::{
    Bounded, Facts, Fitted, Link, Model, ModelError, Outline, Planned, Predicted, Release, Saved, Setting,
    Target, Variances,
};

pub(crate) struct Networks;

const SETTINGS: [Setting; 2] = [
    Setting { name: "hidden", about: "units in the hidden layer", usual: Some(50.0), whole: true },
    Setting { name: "passes", about: "passes over the records", usual: Some(40.0), whole: true },
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
    fn plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [hidden, passes] = settle(self, facts)?;
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
    fn read_plan(&self, facts: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        if plan.get("rounds").is_some() {
            return crate::regression::read_plan(self, facts, plan);
        }
        let (inputs, plan): (_, Box<dyn Planned>) = if plan.get("sep").is_some() {
            let plan: ClassPlan = parse(self.name(), plan)?;
            (plan.inputs, Box::new(plan))
        } else {
            let plan: Passes = parse(self.name(), plan)?;
            (plan.inputs, Box::new(plan))
        };
        same_inputs(self.name(), inputs, facts)?;
        Ok(plan)
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
        let sums = plan.sums(sums).map_err(reticent::wall::WallError::from)?;
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
pub(crate) struct ClassPlan {
    pub(crate) inputs: usize,
    /// Units of hidden layers; none is probit regression.
    hidden: Vec<usize>,
    /// Of the public draw of the weights to start from.
    seed: u64,
    /// Of each weight, for inputs between -1 and 1; if none is given, what is usual for networks.
    pub(crate) prior_variance: Option<f64>,
    /// What holds weights at first.
    start_precision: f64,
    /// What the precision of a weight is at least, over the prior's: noise in precisions may not let weights loose.
    floor: f64,
    sep: SepPlan,
}

/// Hidden units of private networks of two classes, if nothing else is asked for: each weight has its noise.
const PRIVATE_UNITS: usize = 10;
/// Releases of a network of two classes, the norm that sites are clipped to, and the share of the way that a step goes.
const CLASSES: (u64, f64, f64) = (60, 1.0, 0.1);

impl ClassPlan {
    pub(crate) fn new(facts: &Facts, hidden: Vec<usize>, privacy: &Privacy) -> Result<Self, ModelError> {
        let (steps, clip, share) = CLASSES;
        let falling = |t: u64| 1.0 / (1.0 / share + t.saturating_sub(steps / 2) as f64);
        let damping = Damping::Planned((0..steps).map(falling).collect());
        let why = format!("{steps} releases of all records, of which the second half is averaged");
        let sep =
            SepPlan { why: vec![why], ..SepPlan::of_steps(steps, clip, damping, facts.records, privacy)? };
        Ok(Self {
            inputs: facts.inputs(),
            hidden,
            seed: 1,
            prior_variance: None,
            start_precision: 10.0,
            floor: 30.0,
            sep,
        })
    }

    fn model(&self) -> Result<Network, ModelError> {
        let sizes: Vec<usize> = std::iter::once(self.inputs).chain(self.hidden.iter().copied()).collect();
        let network = Network::new(&sizes, OutputNoise::Probit)?;
        let network = match self.prior_variance {
            // A network divides sums by the root of their number of terms.
            Some(variance) => network
                .with_weight_prior(Gamma { shape: 6.0, rate: 5.0 * variance * (self.inputs + 1) as f64 })?,
            None => network,
        };
        Ok(network.with_floor(self.floor)?)
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
        Ok((Box::new(NetworkPosterior::new(&model, &fit)), receipt))
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
    use reticent::budget::Unlimited;

    /// The share of points on a grid that a private network puts in the right class, of which it knows 20,000: those far
    /// from 0, and those near it. No linear score has more than half of the near and half of the far ones.
    fn right(noise: f64) -> f64 {
        let point = |n: u32| f64::from(n) / 10_000.0 - 1.0;
        let class = |x: f64| if x.abs() > 0.5 { 1.0 } else { -1.0 };
        let values = (0..20_000).flat_map(|n| [point(n), class(point(n))]).collect();
        let privacy = Privacy::new(1.0, 1e-6, Adjacency::AddRemove).unwrap();
        let facts = Facts::new(vec![1], Target::TwoClasses, 20_000);
        let mut plan = ClassPlan::new(&facts, vec![PRIVATE_UNITS], &privacy).unwrap();
        plan.sep.noise_multiplier *= noise;
        let (records, source) = (Records::new(values, 2).unwrap(), NoiseSource::from_os().unwrap());
        let (fitted, _) = plan.fit(records, source, Some(&privacy), Box::new(Unlimited)).unwrap();
        let right = (0..200).map(|n| point(100 * n)).filter(|&x| {
            let Predicted::Class { probability, .. } = fitted.predict(&[x], &[]) else { return false };
            (probability > 0.5) == (class(x) > 0.0)
        });
        right.count() as f64 / 200.0
    }

    #[test]
    fn a_private_network_learns_classes_that_no_line_divides() {
        let right = right(1.0);
        assert!(right > 0.8, "{right}");
    }

    /// With a million times the noise, whatever it says has nothing to do with the records: on average half is right, which eight
    /// fits in a row exceed by this much with a probability below one in a thousand.
    #[test]
    fn huge_noise_destroys_the_classes() {
        let mean = (0..8).map(|_| right(1e6)).sum::<f64>() / 8.0;
        assert!(mean < 0.85, "{mean}");
    }

    #[test]
    fn explore_network() {
        use rand::{RngExt, SeedableRng};
        use rand_distr::Distribution;
        let var = |name: &str, or: f64| std::env::var(name).map_or(or, |x| x.parse().unwrap());
        let sets = var("SETS", 3.0) as u64;
        let f = |x: &[f64]| 1.5 * (3.0 * x[0]).sin() + x[1] - 0.3;
        for (n, epsilon) in [(20_000, 1.0), (20_000, 10.0), (5000, 1.0), (20_000, 1000.0)] {
            let privacy = Privacy::new(epsilon, 1e-6, Adjacency::AddRemove).unwrap();
            let facts = Facts::new(vec![1, 1], Target::TwoClasses, n);
            let mut plan = ClassPlan::new(&facts, vec![PRIVATE_UNITS], &privacy).unwrap();
            if std::env::var("CLIP").is_ok() {
                plan.sep.clip = var("CLIP", 1.0);
            }
            if std::env::var("FLOOR").is_ok() {
                plan.floor = var("FLOOR", 1.0);
            }
            let (mut covered, mut squares, mut brier, mut lowest, mut sds, mut slope, mut under) =
                (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
            let mut bins = [[0.0; 3]; 10];
            for seed in 0..sets {
                let mut rng = rand::rngs::ChaCha8Rng::seed_from_u64(seed);
                let mut values = Vec::new();
                for _ in 0..n {
                    let x = [rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)];
                    let z: f64 = rand_distr::StandardNormal.sample(&mut rng);
                    values.extend([x[0], x[1], (f(&x) + z).signum()]);
                }
                let (records, source) = (Records::new(values, 3).unwrap(), NoiseSource::from_os().unwrap());
                let (fitted, _) = plan.fit(records, source, Some(&privacy), Box::new(Unlimited)).unwrap();
                let m = 1000;
                for _ in 0..m {
                    let x = [rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)];
                    let Predicted::Class { probability, score, link, variances } = fitted.predict(&x, &[])
                    else {
                        panic!()
                    };
                    let (p, sd) = (link.probability(f(&x)), (variances.records + variances.privacy).sqrt());
                    let by = 1.0 / (m as f64 * sets as f64);
                    covered += by * f64::from(u8::from((score - f(&x)).abs() < 1.96 * sd));
                    squares += by * (score - f(&x)).powi(2);
                    brier += by * (probability - p).powi(2);
                    lowest += by
                        * -(p * probability.ln() + (1.0 - p) * (1.0 - probability).ln()
                            - p * p.ln()
                            - (1.0 - p) * (1.0 - p).ln());
                    sds += by * sd * sd;
                    slope += by * score * f(&x);
                    under += by * score * score;
                    let bin = &mut bins[((probability * 10.0) as usize).min(9)];
                    bin[0] += by;
                    bin[1] += by * probability;
                    bin[2] += by * p;
                }
            }
            let ece: f64 = bins.iter().map(|b| (b[1] - b[2]).abs()).sum();
            println!(
                "N {n} eps {epsilon} clip {}: coverage {covered:.3} rmse {:.3} sd {:.3} rmse p {:.3} excess log loss {lowest:.4} ece {ece:.4} slope {:.3}",
                plan.sep.clip,
                squares.sqrt(),
                sds.sqrt(),
                brier.sqrt(),
                slope / under
            );
        }
    }
}
