//! Rates of columns that are yes or no.

use reticent::budget::{Ledger, Privacy};
use reticent::engine::conjugate::{Reading, StatisticsPlan};
use reticent::family::Beta;
use reticent::field::FieldError;
use reticent::model::conjugate::{BernoulliPlan, Rate};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records, WallError};
use serde_json::Value;

use crate::conjugate::{Once, POSTERIOR, Single, only_numbers, parse_plan, plenty, reading};
use crate::model::settings;
use crate::{Estimate, Facts, Fitted, Model, ModelError, Planned, Point, Predicted, Saved, Setting, Target};

pub(crate) struct BetaBernoulli;

const SETTINGS: [Setting; 2] = [
    Setting::number("concentration", "both parameters of the beta prior of each rate", (1e-6, 1e6)).or(1.0),
    POSTERIOR,
];

impl Model for BetaBernoulli {
    fn name(&self) -> &'static str {
        "beta-bernoulli"
    }
    fn about(&self) -> &'static str {
        "how often each column is yes: rates of independent columns, each yes or no"
    }
    fn family(&self) -> &'static str {
        "mixture of betas"
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
        let [concentration, posterior] = settings(self, facts)?;
        only_numbers(self, facts)?;
        let prior = Beta { a: concentration, b: concentration };
        let mut plan = BernoulliPlan::new(facts.inputs(), prior, facts.records, privacy.unwrap_or(&plenty()))
            .map_err(WallError::from)?;
        plan.reading = reading(posterior);
        Ok(Box::new(Once(plan)))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan::<BernoulliPlan>(plan)
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        Ok(Box::new(saved.restore::<Vec<Rate>>(self.name())?))
    }
}

impl Single for BernoulliPlan {
    const MODEL: &'static str = "beta-bernoulli";

    fn fields(&self) -> Result<(), FieldError> {
        self.validate()
    }
    /// A weight for each count that could be behind the noisy one, at most 4096.
    fn posterior_estimate(&self) -> Estimate {
        let (columns, records) = (self.statistics.width as f64, self.statistics.records as f64);
        let spread = if self.statistics.laplace { 50.0 } else { 17.0 } * self.statistics.noise_sd() + 3.0;
        let weights = match self.reading {
            Reading::NoiseAware => spread.min(records + 1.0).min(3000.0),
            Reading::Naive => 1.0,
        };
        let rounds = 2.0 + (records / 4096.0).max(1.0).log2();
        Estimate::new(columns * 4096.0, columns * 4096.0 * 250.0 * rounds, columns * (weights + 60.0))
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
        Ok((Box::new(rates), receipt))
    }
}

impl Fitted for Vec<Rate> {
    fn predict(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let log = |(rate, x): (&Rate, &f64)| {
            let yes = rate.mean();
            if *x > 0.0 { yes.ln() } else { (-yes).ln_1p() }
        };
        let log_density = self.iter().zip(inputs).map(log).sum();
        Predicted::Component { log_density, probabilities: Vec::new() }
    }

    /// Yes is 1 and no is -1, so a mean is twice the rate less 1.
    fn points(&self) -> Vec<Point> {
        vec![Point {
            name: "mean".into(),
            mean: self.iter().map(|rate| 2.0 * rate.mean() - 1.0).collect(),
            records_sd: self.iter().map(|rate| 2.0 * rate.records_variance().sqrt()).collect(),
            sd: self.iter().map(|rate| 2.0 * rate.variance().sqrt()).collect(),
        }]
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
