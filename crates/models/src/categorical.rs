//! Shares of the levels of columns.

use reticent::budget::{Ledger, Privacy};
use reticent::engine::conjugate::StatisticsPlan;
use reticent::field::FieldError;
use reticent::model::conjugate::{CategoricalPlan, Shares};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records, WallError};
use serde_json::Value;

use crate::conjugate::{Once, POSTERIOR, Single, parse_plan, plenty, reading};
use crate::model::settings;
use crate::{Estimate, Facts, Fitted, Model, ModelError, Planned, Point, Predicted, Saved, Setting, Target};

pub(crate) struct DirichletCategorical;

const SETTINGS: [Setting; 2] = [
    Setting::number("concentration", "the parameter of the Dirichlet prior for each level", (1e-6, 1e6))
        .or(1.0),
    POSTERIOR,
];

impl Model for DirichletCategorical {
    fn name(&self) -> &'static str {
        "dirichlet"
    }
    fn about(&self) -> &'static str {
        "how often each level of each column occurs: shares of independent columns, numbers by their sign"
    }
    fn family(&self) -> &'static str {
        "mixture of dirichlets"
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
        let privacy = privacy.copied().unwrap_or_else(plenty);
        let columns = facts.columns.clone();
        let mut plan =
            CategoricalPlan::new(columns, concentration, facts.records, &privacy).map_err(WallError::from)?;
        plan.reading = reading(posterior);
        Ok(Box::new(Once(plan)))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan::<CategoricalPlan>(plan)
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        let whole = saved.restore::<Vec<Shares>>(self.name())?;
        if !whole.iter().all(Shares::is_whole) {
            return Err(ModelError::NotSaved { model: self.name() });
        }
        Ok(Box::new(whole))
    }
}

impl Single for CategoricalPlan {
    const MODEL: &'static str = "dirichlet";

    fn fields(&self) -> Result<(), FieldError> {
        self.validate()
    }
    /// A thousand draws of each level, of which a few quantiles are kept.
    fn posterior_estimate(&self) -> Estimate {
        let (columns, levels) = (self.columns.len() as f64, self.statistics.width as f64);
        let kept = 17.0 * levels + 80.0 * columns;
        Estimate::new(1100.0 * levels, 1300.0 * levels * 500.0, kept)
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
        let (shares, receipt) = self.fit(records, source, privacy, ledger)?;
        Ok((Box::new(shares), receipt))
    }
}

impl Fitted for Vec<Shares> {
    fn predict(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let (mut log_density, mut first) = (0.0, 0);
        for shares in self {
            let width = shares.inputs();
            let inputs = &inputs[first..first + width];
            let level = match inputs {
                [x] => Some(usize::from(*x > 0.0)),
                levels => levels.iter().position(|&x| x > 0.5),
            };
            log_density += level.map_or(0.0, |level| shares.mean[level].max(f64::MIN_POSITIVE).ln());
            first += width;
        }
        Predicted::Component { log_density, probabilities: Vec::new() }
    }

    fn points(&self) -> Vec<Point> {
        let mut point =
            Point { name: "mean".into(), mean: Vec::new(), records_sd: Vec::new(), sd: Vec::new() };
        for shares in self {
            let root = |variances: &[f64], factor: f64| {
                variances.iter().map(|v| factor * v.sqrt()).collect::<Vec<_>>()
            };
            if shares.inputs() == 1 {
                point.mean.push(2.0 * shares.mean[1] - 1.0);
                point.records_sd.extend(root(&shares.records_variance[1..], 2.0));
                point.sd.extend(root(&shares.variance[1..], 2.0));
            } else {
                point.mean.extend(&shares.mean);
                point.records_sd.extend(root(&shares.records_variance, 1.0));
                point.sd.extend(root(&shares.variance, 1.0));
            }
        }
        vec![point]
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
