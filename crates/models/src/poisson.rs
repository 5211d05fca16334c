//! Rates of counts.

use reticent::budget::{Ledger, Privacy};
use reticent::engine::conjugate::{Reading, Scalar, StatisticsPlan};
use reticent::family::Gamma;
use reticent::field::FieldError;
use reticent::model::conjugate::{MAX_COUNT, PoissonPlan};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records, WallError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::conjugate::{Once, POSTERIOR, Single, only_numbers, parse_plan, plenty, reading};
use crate::model::settings;
use crate::{Estimate, Facts, Fitted, Model, ModelError, Planned, Point, Predicted, Saved, Setting, Target};

pub(crate) struct PoissonCounts;

const SETTINGS: [Setting; 3] = [
    Setting::integer(
        "bound",
        "the upper bound that the schema states for every column; the lower one must be 0",
        (1, MAX_COUNT as u32),
    ),
    Setting::number("prior-mean", "the mean of the prior of each rate, which is exponential", (1e-6, 1e6))
        .or(10.0),
    POSTERIOR,
];

impl Model for PoissonCounts {
    fn name(&self) -> &'static str {
        "poisson"
    }
    fn about(&self) -> &'static str {
        "the rate of each column of counts: independent Poisson counts, recorded up to a bound"
    }
    fn family(&self) -> &'static str {
        "grid"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::Nothing]
    }
    fn settings(&self) -> &'static [Setting] {
        &SETTINGS
    }
    fn can_be_pure(&self) -> bool {
        true
    }
    fn new_plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [bound, prior_mean, posterior] = settings(self, facts)?;
        only_numbers(self, facts)?;
        let privacy = privacy.copied().unwrap_or_else(plenty);
        let prior = Gamma { shape: 1.0, rate: 1.0 / prior_mean };
        let plan = PoissonPlan::new(facts.inputs(), bound as usize, prior, facts.records, &privacy);
        let mut plan = plan.map_err(WallError::from)?;
        (plan.scaled, plan.reading) = (true, reading(posterior));
        Ok(Box::new(Once(plan)))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan::<PoissonPlan>(plan)
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        Ok(Box::new(saved.restore::<Rates>(self.name())?))
    }
}

impl Single for PoissonPlan {
    const MODEL: &'static str = "poisson";

    fn fields(&self) -> Result<(), FieldError> {
        // Records of tables are always scaled.
        reticent::field::agrees("scaled", &self.scaled, &true)?;
        self.validate()
    }
    /// A grid of 2048 cells, laid again up to about 20 times, with a sum over all counts for each.
    fn posterior_estimate(&self) -> Estimate {
        let columns = self.statistics.width as f64;
        let each = 20.0 + if self.reading == Reading::NoiseAware { 10.0 * self.most as f64 } else { 0.0 };
        Estimate::new(columns * 2048.0, columns * 2048.0 * 20.0 * each, columns * (2048.0 + 40.0))
    }
    fn statistics(&self) -> &StatisticsPlan {
        &self.statistics
    }
    fn inputs(&self) -> usize {
        self.statistics.width
    }
    fn run(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), WallError> {
        let (rates, receipt) = self.fit(records, source, privacy, ledger)?;
        Ok((Box::new(Rates { rates, most: self.most, records: self.statistics.records }), receipt))
    }
}

/// The posterior of each rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Rates {
    rates: Vec<Scalar>,
    most: usize,
    records: usize,
}

impl Rates {
    /// Of a unit of the encoding.
    fn unit(&self) -> f64 {
        0.5 * self.most as f64
    }
}

impl Fitted for Rates {
    /// At the mean of each rate.
    fn predict(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let log = |(rate, x): (&Scalar, &f64)| {
            let (rate, count) = (rate.mean(), (self.unit() * (x + 1.0)).round());
            count * rate.ln() - rate - (1..=count as u64).map(|k| (k as f64).ln()).sum::<f64>()
        };
        let log_density = self.rates.iter().zip(inputs).map(log).sum();
        Predicted::Component { log_density, probabilities: Vec::new() }
    }

    fn points(&self) -> Vec<Point> {
        let unit = self.unit();
        let records = |rate: &Scalar| (rate.mean() / self.records as f64).min(rate.variance());
        vec![Point {
            name: "rate".into(),
            mean: self.rates.iter().map(|rate| rate.mean() / unit - 1.0).collect(),
            records_sd: self.rates.iter().map(|rate| records(rate).sqrt() / unit).collect(),
            sd: self.rates.iter().map(|rate| rate.variance().sqrt() / unit).collect(),
        }]
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
