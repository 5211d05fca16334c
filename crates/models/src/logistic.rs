//! Two classes by logistic regression, with weighted scores.

use reticent::budget::{Cost, Ledger, Privacy};
use reticent::model::linear::LinearPosterior;
use reticent::model::logistic::LogisticPlan;
use reticent::receipt::Receipt;
use reticent::wall::{Geometry, NoiseSource, Records};
use serde_json::Value;

use crate::model::{parse, settle};
use crate::{Facts, Fitted, Model, ModelError, Outline, Planned, Release, Saved, Setting, Target};

pub(crate) struct Logistic;

impl Model for Logistic {
    fn name(&self) -> &'static str {
        "logistic"
    }
    fn about(&self) -> &'static str {
        "one of two classes, by the logistic function of a weighted sum of the inputs"
    }
    fn family(&self) -> &'static str {
        "gaussian"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::TwoClasses]
    }
    fn settings(&self) -> &'static [Setting] {
        &crate::probit::SETTINGS
    }
    fn plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [prior_variance] = settle(self, facts)?;
        Ok(Box::new(LogisticPlan::new(&facts.columns, facts.records, prior_variance, privacy)?))
    }
    fn read_plan(&self, facts: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        settle::<1>(self, facts)?;
        let plan: LogisticPlan = parse(self.name(), plan)?;
        if plan.columns != facts.columns {
            let why = "its columns are not those of the schema".to_owned();
            return Err(ModelError::Plan { model: self.name(), why });
        }
        Ok(Box::new(plan))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        Ok(Box::new(saved.restore::<LinearPosterior>(self.name())?))
    }
}

impl Planned for LogisticPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn outline(&self) -> Outline {
        let release = |sums: reticent::wall::Sums| Release {
            what: sums.what,
            width: sums.width,
            times: sums.steps,
            clip: match sums.geometry {
                Geometry::Ball { radius } | Geometry::NonNegativeBall { radius } => radius,
                // A count.
                Geometry::Box { .. } => 1.0,
                _ => f64::NAN,
            },
            noise_multiplier: sums.noise_multiplier,
        };
        let releases = self.sums().into_iter().map(release).collect();
        let pull = self.pull().map(|pull| ("pull of each weight towards 0 during the steps".into(), pull));
        let expected = pull.into_iter().collect();
        Outline { releases, expected, why: self.why.clone() }
    }

    fn price(&self, privacy: &Privacy) -> Result<Cost, ModelError> {
        Ok(LogisticPlan::price(self, privacy.delta())?)
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        let (posterior, receipt) = LogisticPlan::fit(self, records, source, privacy, ledger)?;
        Ok((Box::new(posterior), receipt))
    }
}
