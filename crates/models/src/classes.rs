//! Two classes by a linear score: logistic and probit regression.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use reticent::budget::{Adjacency, Cost, Ledger, Privacy};
use reticent::engine::{Average, Block, Coordinates, Damping, Phase, SepPlan, Simulate, SiteModel, ep, sep};
use reticent::family::Covariance;
use reticent::model::linear::{Linear, LinearCavity, LinearPosterior, Response};
use reticent::receipt::Receipt;
use reticent::wall::{Geometry, NoiseSource, Plan, PlanError, Records, Sampler, Sums, Wall, WallError};
use reticent_accounting::gaussian;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{parse, settle};
use crate::{
    Facts, Fitted, Model, ModelError, Outline, Planned, Predicted, Release, Saved, Setting, Target, Variances,
};

/// A regression of this response.
pub(crate) struct Classes {
    name: &'static str,
    about: &'static str,
    response: Response,
}

pub(crate) static LOGISTIC: Classes = Classes {
    name: "logistic",
    about: "one of two classes, by the logistic function of a weighted sum of the inputs",
    response: Response::Logistic,
};

pub(crate) static PROBIT: Classes = Classes {
    name: "probit",
    about: "one of two classes, by the normal distribution function of a weighted sum of the inputs",
    response: Response::Probit,
};

/// More inputs than this, and weights are taken to be independent: the noise in a full precision would be too much.
const FEW: usize = 8;
/// Steps without privacy.
const STEPS: u64 = 50;
/// Steps with independent weights: they need more, and without privacy these are free.
const CAUTIOUS: (u64, u64) = (60, 300);
/// Simulated data sets behind a plan, and records in each.
const SIMULATED: (u64, usize) = (4, 1000);

const SETTINGS: [Setting; 1] = [Setting {
    name: "prior-variance",
    about: "the prior variance of each weight, for inputs between -1 and 1",
    usual: Some(1.0),
    whole: false,
}];

impl Model for Classes {
    fn name(&self) -> &'static str {
        self.name
    }
    fn about(&self) -> &'static str {
        self.about
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
    fn plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        plan(self, self.response, facts, privacy)
    }
    fn read_plan(&self, facts: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        read_plan(self, facts, plan)
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        Ok(Box::new(saved.restore::<LinearPosterior>(self.name)?))
    }
}

/// A plan with the model that it is for.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ClassesPlan {
    inputs: usize,
    columns: usize,
    prior_variance: f64,
    covariance: Covariance,
    response: Response,
    /// None for a fit without privacy.
    sep: Option<SepPlan>,
    records: usize,
}

fn plan(
    model: &dyn Model,
    response: Response,
    facts: &Facts,
    privacy: Option<&Privacy>,
) -> Result<Box<dyn Planned>, ModelError> {
    let [prior_variance] = settle(model, facts)?;
    let inputs = facts.inputs();
    let covariance = if inputs <= FEW { Covariance::Full } else { Covariance::Diagonal };
    let linear = Linear::new(inputs, prior_variance, covariance, response)?;
    let sep = match privacy {
        Some(privacy) => {
            let rows = EncodedRows { model: linear, columns: facts.columns.clone() };
            Some(if covariance == Covariance::Full {
                SepPlan::new(&rows, facts.records, privacy, Coordinates::Centred)?
            } else {
                cautious_plan(&rows, facts, privacy)?
            })
        }
        None => None,
    };
    let (columns, records) = (facts.columns.len(), facts.records);
    Ok(Box::new(ClassesPlan { inputs, columns, prior_variance, covariance, response, sep, records }))
}

/// A plan for independent weights.
///
/// A step moves all weights at once, each as if the others stood still, so it overshoots by up to the number of inputs that are
/// not 0 in a record: at most one for each column, and the bias. Shares of the reciprocal of that cannot, as the largest
/// eigenvalue of the Hessian over its diagonal is at most that number. Once near the solution, shares fall and
/// average the noise.
fn cautious_plan(rows: &EncodedRows, facts: &Facts, privacy: &Privacy) -> Result<SepPlan, ModelError> {
    let width = rows.record_width();
    let (mut norms, mut learnt) = (Vec::new(), 0.0);
    for seed in 0..SIMULATED.0 {
        let values = rows.simulate(SIMULATED.1, seed);
        let natural = ep(rows, &values, width, 3, 0.7);
        let mut cavity = LinearCavity::default();
        rows.condition(&natural, &mut cavity);
        let mut likelihood: Vec<f64> = natural.iter().zip(rows.prior()).map(|(q, p)| q - p).collect();
        rows.centre(&cavity, &mut likelihood);
        learnt += norm(&likelihood) * facts.records as f64 / (SIMULATED.0 as f64 * SIMULATED.1 as f64);
        let mut out = vec![0.0; rows.width()];
        for record in values.chunks_exact(width) {
            out.fill(0.0);
            rows.site(&cavity, record, &mut out);
            rows.centre(&cavity, &mut out);
            norms.push(norm(&out));
        }
    }
    norms.retain(|norm| norm.is_finite());
    norms.sort_by(f64::total_cmp);
    let clip = norms.get(norms.len() / 2).copied().unwrap_or(1.0).max(1e-6);
    // The single release that costs as much, of which the noise of an average of all steps has about the deviation.
    let kept = if privacy.epsilon() < 25.0 { 2e-4 } else { 0.6 };
    let single = gaussian::noise_multiplier(privacy.epsilon(), privacy.delta() * (1.0 - kept))
        .map_err(|error| WallError::from(PlanError::from(error)))?;
    let ends = if privacy.adjacency() == Adjacency::ReplaceOne { 2.0 } else { 1.0 };
    let steps = CAUTIOUS.0;
    Ok(SepPlan {
        records: facts.records,
        adjacency: privacy.adjacency(),
        batch: None,
        steps,
        coordinates: Coordinates::Centred,
        clip,
        damping: cautious(facts.columns.len(), steps),
        noise_multiplier: single * (steps as f64).sqrt() * (1.0 + 1e-6),
        expected_noise: single * ends * clip,
        expected_norm: learnt,
        why: vec![
            format!("clip {clip:.3}: half of the sites of simulated records are shorter"),
            format!(
                "{steps} releases of all records: the first half goes {:.0} % of the way each, the second averages",
                100.0 / (facts.columns.len() + 1) as f64
            ),
        ],
    })
}

/// Shares for so many columns: constant for half of the steps, and then falling as those of an average do.
fn cautious(columns: usize, steps: u64) -> Damping {
    let most = columns as f64 + 1.0;
    Damping::Planned((0..steps).map(|t| 1.0 / (most + t.saturating_sub(steps / 2) as f64)).collect())
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn read_plan(model: &dyn Model, facts: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
    settle::<1>(model, facts)?;
    let plan: ClassesPlan = parse(model.name(), plan)?;
    if plan.inputs != facts.inputs() {
        let why = format!("it has {} inputs, and the schema {}", plan.inputs, facts.inputs());
        return Err(ModelError::Plan { model: model.name(), why });
    }
    Ok(Box::new(plan))
}

impl ClassesPlan {
    fn model(&self) -> Result<Linear, ModelError> {
        Ok(Linear::new(self.inputs, self.prior_variance, self.covariance, self.response)?)
    }

    fn width(&self) -> usize {
        let d = self.inputs + 1;
        d + if self.covariance == Covariance::Full { d * (d + 1) / 2 } else { d }
    }

    /// Steps without privacy, and how far they go.
    fn steps(&self) -> (u64, Damping) {
        match self.covariance {
            Covariance::Full => (STEPS, Damping::Harmonic),
            _ => (CAUTIOUS.1, cautious(self.columns, CAUTIOUS.1)),
        }
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
            steps: self.steps().0,
        })?;
        Ok((plan, sums))
    }
}

impl Planned for ClassesPlan {
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
        let mut why = plan.why.clone();
        if self.covariance == Covariance::Diagonal {
            why.push(format!("weights are taken to be independent, as there are more than {FEW} inputs"));
        }
        Outline { releases: vec![release], expected, why }
    }

    fn price(&self, privacy: &Privacy) -> Result<Cost, ModelError> {
        let Some(sep) = &self.sep else {
            return Err(ModelError::Plan { model: "linear", why: "it is for a fit without privacy".into() });
        };
        let mut plan = Plan::new(sep.records, sep.adjacency);
        plan.sums(Sums {
            what: "clipped sites".into(),
            width: self.width(),
            geometry: Geometry::Ball { radius: sep.clip },
            sampler: sep.batch.map_or(Sampler::Full, |batch| Sampler::Fixed { batch }),
            noise_multiplier: sep.noise_multiplier,
            steps: sep.steps,
        })
        .map_err(WallError::from)?;
        Ok(plan.price(privacy.delta()).map_err(WallError::from)?)
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        let model = self.model()?;
        let start = vec![0.0; model.width()];
        let (fit, receipt) = match (privacy, &self.sep) {
            (Some(privacy), Some(plan)) => plan.fit(&model, &start, records, source, privacy, ledger)?,
            (Some(_), None) => {
                return Err(ModelError::Plan {
                    model: "linear",
                    why: "it is for a fit without privacy".into(),
                });
            }
            (None, _) => {
                let (plan, sums) = self.without_noise()?;
                let mut wall = Wall::without_privacy(records, source, plan, ledger)?;
                let (coordinates, (steps, damping)) = (Coordinates::Centred, self.steps());
                let phase = Phase { sums, steps, coordinates, damping, clip: None };
                let fit = sep(&model, &mut wall, self.records, &start, &[phase], Average::Last)?;
                let receipt = wall.finish(fit.projections)?;
                (fit, receipt)
            }
        };
        let posterior = LinearPosterior::new(&model, &fit).ok_or(ModelError::NoDensity)?;
        Ok((Box::new(posterior), receipt))
    }
}

impl Fitted for LinearPosterior {
    fn predict(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let (aware, naive) = (LinearPosterior::predict(self, inputs), self.predict_naively(inputs));
        let privacy = (aware.variance - naive.variance).max(0.0);
        let variances =
            Variances { records: aware.variance - privacy, privacy, targets: aware.noise_variance };
        Predicted::Class { probability: self.positive(inputs), variances }
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}

/// A regression whose simulated records look like encoded ones: a column of several levels has one 1 among zeros. Norms of
/// sites, and so the clip of a plan, depend on that.
struct EncodedRows {
    model: Linear,
    columns: Vec<usize>,
}

impl SiteModel for EncodedRows {
    type Cavity = LinearCavity;

    fn width(&self) -> usize {
        self.model.width()
    }
    fn prior(&self) -> &[f64] {
        self.model.prior()
    }
    fn condition(&self, natural: &[f64], cavity: &mut LinearCavity) {
        self.model.condition(natural, cavity);
    }
    fn site(&self, cavity: &LinearCavity, record: &[f64], out: &mut [f64]) {
        self.model.site(cavity, record, out);
    }
    fn project(&self, natural: &mut [f64]) -> u64 {
        self.model.project(natural)
    }
    fn centre(&self, cavity: &LinearCavity, natural: &mut [f64]) {
        self.model.centre(cavity, natural);
    }
    fn uncentre(&self, cavity: &LinearCavity, centred: &mut [f64]) {
        self.model.uncentre(cavity, centred);
    }
    fn blocks(&self) -> Vec<Block> {
        self.model.blocks()
    }
}

impl Simulate for EncodedRows {
    fn record_width(&self) -> usize {
        self.model.record_width()
    }

    /// Inputs as they are encoded, and the class that weights from the prior give them.
    fn simulate(&self, records: usize, seed: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let width = self.record_width();
        let mut values = vec![0.0; records * width];
        let weights: Vec<f64> = (0..width).map(|_| self.prior_sd() * standard(&mut rng)).collect();
        for row in values.chunks_exact_mut(width) {
            let mut first = 0;
            for &levels in &self.columns {
                if levels == 1 {
                    row[first] = rng.random_range(-1.0..1.0);
                } else {
                    row[first + rng.random_range(0..levels)] = 1.0;
                }
                first += levels;
            }
            let score: f64 = row.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() + weights[first];
            let noise = match self.model.response() {
                Response::Logistic => {
                    let u: f64 = rng.random_range(f64::EPSILON..1.0);
                    (u / (1.0 - u)).ln()
                }
                _ => standard(&mut rng),
            };
            row[first] = (score + noise).signum();
        }
        values
    }
}

impl EncodedRows {
    fn prior_sd(&self) -> f64 {
        let family = self.model.family();
        let moments = family.moments(&self.model.prior()[..family.width()]);
        moments.map_or(1.0, |moments| moments.covariance[0].sqrt())
    }
}

fn standard(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}
