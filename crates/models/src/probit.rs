//! Two classes by a linear score: probit regression, by DP-SEP.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use reticent::budget::{Adjacency, Cost, Ledger, Privacy};
use reticent::engine::{Average, Block, Coordinates, Damping, Phase, SepPlan, Simulate, SiteModel, sep};
use reticent::family::Covariance;
use reticent::field::{self, FieldError};
use reticent::model::linear::{Linear, LinearCavity, LinearPosterior, Response};
use reticent::model::network::NetworkPosterior;
use reticent::receipt::Receipt;
use reticent::wall::{Geometry, NoiseSource, Plan, Records, Sampler, Sums, Wall, WallError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{out_of_range, parse, same_shape, settings};
use crate::network::ClassPlan;
use crate::{
    Estimate, Facts, Fitted, Model, ModelError, Outline, Planned, Predicted, Release, Saved, Setting, Target,
    Variances,
};

pub(crate) struct Probit;

/// More inputs than this, and weights are taken to be independent: the noise in a full precision would be too much.
const FEW: usize = 8;
/// Steps without privacy.
const STEPS: u64 = 20;

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
            Some(privacy) if inputs > FEW => {
                return Ok(Box::new(ClassPlan::new(facts, Vec::new(), privacy)?));
            }
            Some(privacy) => {
                let model = linear(inputs, prior_variance)?;
                let rows = EncodedRows { model, columns: facts.columns.clone() };
                Some(SepPlan::new(&rows, records, privacy, Coordinates::Centred)?)
            }
            None => None,
        };
        Ok(Box::new(ProbitPlan { inputs, prior_variance, sep, records }))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        if plan.get("hidden").is_some() {
            return Ok(Box::new(parse::<ClassPlan>(self.name(), plan)?));
        }
        Ok(Box::new(parse::<ProbitPlan>(self.name(), plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        if let Ok(posterior) = saved.restore::<NetworkPosterior>(self.name()) {
            return Ok(Box::new(posterior));
        }
        Ok(Box::new(saved.restore::<LinearPosterior>(self.name())?))
    }
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
            steps: STEPS,
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
        let steps = self.sep.as_ref().map_or(STEPS, |sep| sep.steps) as f64;
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
            (Some(privacy), Some(plan)) => plan.fit(&model, &start, records, source, privacy, ledger)?,
            (Some(_), None) => {
                return Err(ModelError::Plan {
                    model: "probit",
                    why: "it is for a fit without privacy".into(),
                });
            }
            (None, _) => {
                let (plan, sums) = self.without_noise()?;
                let mut wall = Wall::without_privacy(records, source, plan, ledger)?;
                let (coordinates, damping) = (Coordinates::Centred, Damping::Harmonic);
                let phase = Phase { sums, steps: STEPS, coordinates, damping, clip: None };
                let fit = sep(&model, &mut wall, self.records, &start, &[phase], Average::Last)?;
                let receipt = wall.finish(fit.projections)?;
                (fit, receipt)
            }
        };
        let posterior =
            LinearPosterior::new(&model, &fit).unwrap_or_else(|| LinearPosterior::of_prior(&model));
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
            row[first] = (score + standard(&mut rng)).signum();
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
