//! Two classes by columns that are independent given the class.

use reticent::budget::{Ledger, Privacy};
use reticent::engine::conjugate::StatisticsPlan;
use reticent::field::FieldError;
use reticent::model::conjugate::{MAX_BINS, NaiveBayesPlan, NaiveBayesPosterior};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records, WallError};
use serde_json::Value;

use crate::conjugate::{Once, POSTERIOR, Single, parse_plan, plenty, reading};
use crate::model::settings;
use crate::{
    Estimate, Facts, Fitted, Link, Model, ModelError, Planned, Predicted, Saved, Setting, Target, Variances,
};

pub(crate) struct NaiveBayes;

/// The largest logarithm of odds: beyond it a probability is 0 or 1 in floating point.
const MAX_SCORE: f64 = 36.0;

const SETTINGS: [Setting; 3] = [
    Setting::integer("bins", "the levels that a number is cut into, equally wide", (1, MAX_BINS as u32))
        .or(16.0),
    Setting::number("concentration", "the parameter of the Dirichlet prior for each level", (1e-6, 1e6))
        .or(1.0),
    POSTERIOR,
];

impl Model for NaiveBayes {
    fn name(&self) -> &'static str {
        "naive-bayes"
    }
    fn about(&self) -> &'static str {
        "one of two classes, by columns that are independent given the class: tables of counts, numbers cut into bins"
    }
    fn family(&self) -> &'static str {
        "draws"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::TwoClasses]
    }
    fn settings(&self) -> &'static [Setting] {
        &SETTINGS
    }
    fn can_be_pure(&self) -> bool {
        true
    }
    fn new_plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [bins, concentration, posterior] = settings(self, facts)?;
        let privacy = privacy.copied().unwrap_or_else(plenty);
        let columns = facts.columns.clone();
        let mut plan = NaiveBayesPlan::new(columns, bins as usize, concentration, facts.records, &privacy)
            .map_err(WallError::from)?;
        plan.reading = reading(posterior);
        Ok(Box::new(Once(plan)))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan::<NaiveBayesPlan>(plan)
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        let whole = saved.restore::<NaiveBayesPosterior>(self.name())?;
        if !whole.is_whole() {
            return Err(ModelError::NotSaved { model: self.name() });
        }
        Ok(Box::new(whole))
    }
}

impl Single for NaiveBayesPlan {
    const MODEL: &'static str = "naive-bayes";

    fn fields(&self) -> Result<(), FieldError> {
        self.validate()
    }
    /// 32 draws of each level and class, from chains of 520.
    fn posterior_estimate(&self) -> Estimate {
        let (columns, cells) = (self.columns.len() as f64, self.statistics.width as f64);
        Estimate::new(400.0 * cells, 520.0 * cells * 1000.0, 34.0 * cells + 40.0 * columns)
    }
    fn statistics(&self) -> &StatisticsPlan {
        &self.statistics
    }
    fn inputs(&self) -> usize {
        self.columns.iter().sum()
    }
    fn columns(&self) -> Option<&[usize]> {
        Some(&self.columns)
    }
    fn run(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), WallError> {
        let (posterior, receipt) = self.fit(records, source, privacy, ledger)?;
        Ok((Box::new(posterior), receipt))
    }
}

impl Fitted for NaiveBayesPosterior {
    fn predict(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let (probability, records, all) = NaiveBayesPosterior::predict(self, inputs);
        let variances = Variances { records, privacy: all - records, targets: 0.0 };
        let score = (probability / (1.0 - probability)).ln().clamp(-MAX_SCORE, MAX_SCORE);
        Predicted::Class { probability, score, link: Link::Logistic, variances }
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
