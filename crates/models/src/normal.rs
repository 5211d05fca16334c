//! Means and variances of numeric columns.

use reticent::budget::{Ledger, Privacy};
use reticent::engine::conjugate::StatisticsPlan;
use reticent::field::FieldError;
use reticent::model::conjugate::{NormalColumn, NormalPlan, NormalPrior};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records, WallError};
use serde_json::Value;

use crate::conjugate::{Once, POSTERIOR, Single, only_numbers, parse_plan, plenty, reading};
use crate::model::settings;
use crate::{Estimate, Facts, Fitted, Model, ModelError, Planned, Point, Predicted, Saved, Setting, Target};

pub(crate) struct NormalColumns;

/// Weak: the mean as one record in ten would tell it, and deviations of about a quarter of the bounds.
const PRIOR: NormalPrior = NormalPrior { mean: 0.0, strength: 0.1, shape: 1.5, scale: 0.1 };

impl Model for NormalColumns {
    fn name(&self) -> &'static str {
        "normal"
    }
    fn about(&self) -> &'static str {
        "the mean and the deviation of each column: independent normal numbers, recorded within bounds"
    }
    fn family(&self) -> &'static str {
        "draws"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::Nothing]
    }
    fn settings(&self) -> &'static [Setting] {
        &[POSTERIOR]
    }
    fn can_be_pure(&self) -> bool {
        true
    }
    fn new_plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [posterior] = settings(self, facts)?;
        only_numbers(self, facts)?;
        let privacy = privacy.copied().unwrap_or_else(plenty);
        let mut plan =
            NormalPlan::new(facts.inputs(), PRIOR, facts.records, &privacy).map_err(WallError::from)?;
        plan.reading = reading(posterior);
        Ok(Box::new(Once(plan)))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan::<NormalPlan>(plan)
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        let whole = saved.restore::<Vec<NormalColumn>>(self.name())?;
        if !whole.iter().all(NormalColumn::is_whole) {
            return Err(ModelError::NotSaved { model: self.name() });
        }
        Ok(Box::new(whole))
    }
}

impl Single for NormalPlan {
    const MODEL: &'static str = "normal";

    fn fields(&self) -> Result<(), FieldError> {
        self.validate()
    }
    /// A thousand draws of the mean and of the variance of each column.
    fn posterior_estimate(&self) -> Estimate {
        let columns = 0.5 * self.statistics.width as f64;
        Estimate::new(2000.0 * columns, 5e7 * columns, 2060.0 * columns)
    }
    fn statistics(&self) -> &StatisticsPlan {
        &self.statistics
    }
    fn inputs(&self) -> usize {
        self.statistics.width / 2
    }
    fn run(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), WallError> {
        let (columns, receipt) = self.fit(records, source, privacy, ledger)?;
        Ok((Box::new(columns), receipt))
    }
}

impl Fitted for Vec<NormalColumn> {
    fn predict(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let log_density = self.iter().zip(inputs).map(|(column, &x)| column.log_density(x)).sum();
        Predicted::Component { log_density, probabilities: Vec::new() }
    }

    fn points(&self) -> Vec<Point> {
        let moments: Vec<(f64, f64, f64)> = self.iter().map(NormalColumn::mean).collect();
        vec![Point {
            name: "mean of each column, within its bounds".into(),
            mean: moments.iter().map(|m| m.0).collect(),
            records_sd: moments.iter().map(|m| m.1.sqrt()).collect(),
            sd: moments.iter().map(|m| m.2.sqrt()).collect(),
        }]
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
