//! Means and covariances of numeric columns.

use reticent::budget::{Ledger, Privacy};
use reticent::engine::conjugate::StatisticsPlan;
use reticent::field::FieldError;
use reticent::model::conjugate::{MultivariatePlan, MultivariatePosterior, WishartPrior};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records, WallError};
use serde_json::Value;

use crate::conjugate::{Once, POSTERIOR, Single, only_numbers, parse_plan, plenty, reading};
use crate::model::settings;
use crate::{
    Estimate, Facts, Fitted, Highlight, Model, ModelError, Planned, Point, Predicted, Saved, Setting, Target,
};

pub(crate) struct MultivariateNormal;

/// With one column it is the prior of the model `normal`.
fn prior(columns: usize) -> WishartPrior {
    WishartPrior { strength: 0.1, freedom: columns as f64 + 2.0, scale: 0.2 }
}

impl Model for MultivariateNormal {
    fn name(&self) -> &'static str {
        "multivariate-normal"
    }
    fn about(&self) -> &'static str {
        "the means of up to 12 columns and how they go together: normal numbers with a covariance, within bounds"
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
        let columns = facts.inputs();
        let mut plan = MultivariatePlan::new(columns, prior(columns), facts.records, &privacy)
            .map_err(WallError::from)?;
        plan.reading = reading(posterior);
        Ok(Box::new(Once(plan)))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan::<MultivariatePlan>(plan)
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        let posterior = saved.restore::<MultivariatePosterior>(self.name())?;
        if !posterior.is_whole() {
            return Err(ModelError::NotSaved { model: self.name() });
        }
        Ok(Box::new(posterior))
    }
}

impl Single for MultivariatePlan {
    const MODEL: &'static str = "multivariate-normal";

    fn fields(&self) -> Result<(), FieldError> {
        self.validate()
    }
    /// A thousand draws of all means and covariances, from a chain of 4400 with factors of the covariance of all sums.
    fn posterior_estimate(&self) -> Estimate {
        let (d, pairs) = (self.columns as f64, self.statistics.width as f64);
        let slices = pairs * 15.0 * (d.powi(3) + 15.0 * pairs);
        let factors = pairs.powi(3) + 30.0 * pairs.powi(2);
        Estimate::new(
            1000.0 * d * (d + 1.0) + 6.0 * pairs * pairs,
            4400.0 * (slices + factors),
            1000.0 * d * (d + 1.0),
        )
    }
    fn statistics(&self) -> &StatisticsPlan {
        &self.statistics
    }
    fn inputs(&self) -> usize {
        self.columns
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

impl Fitted for MultivariatePosterior {
    fn predict(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        Predicted::Component { log_density: self.log_density(inputs), probabilities: Vec::new() }
    }

    fn points(&self) -> Vec<Point> {
        let moments = self.mean();
        vec![Point {
            name: "mean".into(),
            mean: moments.iter().map(|m| m.0).collect(),
            records_sd: moments.iter().map(|m| m.1.sqrt()).collect(),
            sd: moments.iter().map(|m| m.2.sqrt()).collect(),
        }]
    }

    /// The correlation of each pair of columns, strongest first.
    fn highlights(&self, inputs: &[String]) -> Vec<Highlight> {
        let d = self.columns();
        let pairs = (0..d).flat_map(|i| (0..i).map(move |j| (j, i)));
        let mut found: Vec<(f64, Highlight)> = pairs
            .filter_map(|(i, j)| {
                let (mean, sd) = self.correlation(i, j);
                let name = format!("{} and {}", inputs.get(i)?, inputs.get(j)?);
                let text = format!("correlation {mean:.2}, standard deviation {sd:.2}");
                Some((mean, Highlight { name, text }))
            })
            .collect();
        found.sort_by(|(a, _), (b, _)| b.abs().total_cmp(&a.abs()));
        found.into_iter().map(|(_, highlight)| highlight).collect()
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
