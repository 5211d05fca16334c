//! Two classes by logistic regression, with weighted scores.

use reticent::budget::{Cost, Ledger, Privacy};
use reticent::model::linear::LinearPosterior;
use reticent::model::logistic::LogisticPlan;
use reticent::receipt::Receipt;
use reticent::wall::{Geometry, NoiseSource, Records};
use serde_json::Value;

use crate::model::{out_of_range, parse, same_columns, settings};
use crate::{Estimate, Facts, Fitted, Model, ModelError, Outline, Planned, Release, Saved, Setting, Target};

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
    fn new_plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [prior_variance] = settings(self, facts)?;
        Ok(Box::new(LogisticPlan::new(&facts.columns, facts.records, prior_variance, privacy)?))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new(parse::<LogisticPlan>(self.name(), plan)?))
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

    fn validate(&self, facts: &Facts) -> Result<(), ModelError> {
        same_columns("logistic", (&self.columns, self.records), facts)?;
        LogisticPlan::validate(self).map_err(out_of_range("logistic"))
    }

    fn cost_estimate(&self) -> Estimate {
        let (size, records) = (self.size() as f64, self.records as f64);
        let steps: f64 = self.rounds.iter().map(|round| round.steps as f64).sum();
        let matrices = self.rounds.iter().filter(|round| round.curvature_noise.is_some()).count() as f64;
        let scores = |start: Estimate| start.releases(steps, size, records, 12.0 * size + 60.0);
        let sums = |start: Estimate| start.releases(1.0, 3.0 * size, records, 12.0 * size + 60.0);
        if matrices == 0.0 {
            let post = steps * 2000.0 * size;
            return sums(scores(Estimate::new(100.0 * size, post, 5.0 * size)));
        }
        let square = size * size;
        // Every step is followed through the posterior by products of matrices.
        let post = (150.0 + 8.0 * steps) * square * size;
        let start = Estimate::new(40.0 * square, post, 2.0 * square + 4.0 * size);
        sums(scores(start)).releases(matrices, 0.5 * square, records, 2.0 * square + 60.0)
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
