//! Sigmoid belief networks.

use reticent::budget::{Cost, Ledger, Privacy};
use reticent::model::sigmoid_belief::{BeliefModel, BeliefPlan, BeliefPosterior, Curvature};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records, WallError};
use serde_json::Value;

use crate::model::{out_of_range, parse, same_shape, settings};
use crate::{
    Estimate, Facts, Fitted, Highlight, Model, ModelError, Outline, Planned, Predicted, Release, Saved,
    Setting, Target,
};

pub(crate) struct SigmoidBelief;

const SETTINGS: [Setting; 1] =
    [Setting::integer("units", "the number of hidden units", (1, 100_000)).or(50.0)];

/// Passes over the records of a fit without privacy.
const PASSES: u64 = 30;
/// Inputs that a unit is shown by.
const SHOWN: usize = 5;

impl Model for SigmoidBelief {
    fn name(&self) -> &'static str {
        "sigmoid-belief"
    }
    fn about(&self) -> &'static str {
        "binary records from hidden binary units: what is above the middle is a one"
    }
    fn family(&self) -> &'static str {
        "gaussian"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::Nothing]
    }
    fn settings(&self) -> &'static [Setting] {
        &SETTINGS
    }
    fn new_plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [units] = settings(self, facts)?;
        let model = BeliefModel::new(facts.inputs(), units as usize, Curvature::Quadratic);
        Ok(Box::new(match privacy {
            Some(privacy) => BeliefPlan::new(&model, facts.records, privacy)?,
            None => BeliefPlan::with_noise(&model, facts.records, None, PASSES, 1.0),
        }))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new(parse::<BeliefPlan>(self.name(), plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        let posterior: BeliefPosterior = saved.restore(self.name())?;
        let (j, k) = (posterior.model.outputs, posterior.model.units);
        let beliefs = &posterior.beliefs;
        let cells = [&beliefs.weights, &beliefs.variances].iter().all(|x| x.len() == j * k);
        let units = [&beliefs.unit_biases, &beliefs.unit_variances].iter().all(|x| x.len() == k);
        let outputs = [&beliefs.output_biases, &beliefs.output_variances].iter().all(|x| x.len() == j);
        if !(cells && units && outputs) {
            return Err(ModelError::NotSaved { model: self.name() });
        }
        Ok(Box::new(posterior))
    }
}

impl Planned for BeliefPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn outline(&self) -> Outline {
        let releases = vec![Release {
            what: "statistics of the network".into(),
            width: self.model.width(),
            times: self.steps,
            clip: self.clip,
            noise_multiplier: self.noise_multiplier,
        }];
        Outline { releases, expected: Vec::new(), why: self.why.clone() }
    }

    fn validate(&self, facts: &Facts) -> Result<(), ModelError> {
        same_shape("sigmoid-belief", (self.model.outputs, self.records), facts)?;
        BeliefPlan::validate(self).map_err(out_of_range("sigmoid-belief"))
    }

    fn cost_estimate(&self) -> Estimate {
        let (j, k, steps) = (self.model.outputs as f64, self.model.units as f64, self.steps as f64);
        let records = self.batch.unwrap_or(self.records) as f64;
        // One matrix of the units, or one for each output.
        let matrices = if self.model.curvature == Curvature::PolyaGamma { j } else { 1.0 };
        let width = k + 2.0 * j + 2.0 * j * k + 0.5 * matrices * k * (k + 1.0);
        let update = 10.0 * j * k * k + matrices * 10.0 * k.powi(3) + 100.0 * width;
        let each = self.model.sweeps as f64 * 8.0 * j * k + 3.0 * width + 60.0 * (j + k);
        Estimate::new(14.0 * width, steps * update, 2.0 * (j * k + j + k))
            .releases(steps, width, records, each)
    }

    fn price(&self, privacy: &Privacy) -> Result<Cost, ModelError> {
        Ok(BeliefPlan::price(self, privacy.delta()).map_err(WallError::from)?)
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        let (posterior, receipt) = BeliefPlan::fit(self, records, source, privacy, ledger)?;
        Ok((Box::new(posterior), receipt))
    }
}

impl Fitted for BeliefPosterior {
    fn predict(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        assert_eq!(inputs.len(), self.model.outputs, "an input for each output");
        let ones: Vec<bool> = inputs.iter().map(|x| *x > 0.0).collect();
        let (probabilities, bound) = self.reconstruct(&ones);
        let right = probabilities.iter().zip(&ones).filter(|(p, y)| (**p > 0.5) == **y).count();
        Predicted::Reconstruction { bound, right: right as f64 / ones.len() as f64, probabilities }
    }

    /// What each unit turns on and off most.
    fn highlights(&self, inputs: &[String]) -> Vec<Highlight> {
        let j = self.model.outputs;
        let one = |(unit, weights): (usize, &[f64])| {
            let mut order: Vec<usize> = (0..j).collect();
            order.sort_by(|&a, &b| weights[b].abs().total_cmp(&weights[a].abs()));
            let strongest = order.iter().take(SHOWN);
            let texts = strongest
                .map(|&i| format!("{} {:+.2}", inputs.get(i).map_or("?", String::as_str), weights[i]));
            Highlight { name: format!("unit {}", unit + 1), text: texts.collect::<Vec<_>>().join(", ") }
        };
        self.beliefs.weights.chunks_exact(j).enumerate().map(one).collect()
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scorer, model};
    use reticent::budget::{Adjacency, Unlimited};

    /// Records whose six numbers are all on or all off: planned, fitted, saved, loaded and scored like any model.
    #[test]
    fn belief_networks_are_a_model_like_any_other() {
        let record = |n: usize| vec![if n.is_multiple_of(2) { 1.0 } else { -1.0 }; 6];
        let rows: Vec<f64> = (0..4000).flat_map(record).collect();
        let privacy = Privacy::new(4.0, 1e-6, Adjacency::ReplaceOne).unwrap();
        let mut facts = Facts::new(vec![1; 6], Target::Nothing, 4000);
        facts.settings.insert("units".into(), 2.0);
        let network = model("sigmoid-belief").unwrap();
        let plan = network.plan(&facts, Some(&privacy)).unwrap();
        assert!(plan.price(&privacy).unwrap().epsilon.upper <= 4.0);
        let again = network.read_plan(&facts, &plan.to_json()).unwrap();
        let records = Records::new(rows, 6).unwrap();
        let source = NoiseSource::from_os().unwrap();
        let (fitted, _) = again.fit(records, source, Some(&privacy), Box::new(Unlimited)).unwrap();
        let loaded = network.load(&fitted.save().unwrap()).unwrap();
        assert_eq!(loaded.predict(&record(0), &[]), fitted.predict(&record(0), &[]));
        let mut scorer = Scorer::new(1.0);
        (0..10).for_each(|n| scorer.add(&loaded.predict(&record(n), &[]), 0.0));
        // One value for all records would be right half of the time.
        let accuracy = scorer.finish().unwrap().accuracy.unwrap();
        assert!(accuracy > 0.75, "{accuracy}");
        assert_eq!(loaded.highlights(&vec!["x".to_owned(); 6]).len(), 2);
    }
}
