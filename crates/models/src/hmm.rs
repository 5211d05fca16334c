//! Hidden Markov models of events by region and time.

use reticent::budget::{Adjacency, Cost, Ledger, Privacy};
use reticent::model::hmm::{Coded, Coding, HmmPlan, HmmPosterior, Mechanism, Posterior};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records, WallError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{out_of_range, parse, same_columns, settings};
use crate::{
    Estimate, Facts, Fitted, Model, ModelError, Outline, Planned, Point, Predicted, Range, Release, Saved,
    Setting, Target,
};

pub(crate) struct HiddenMarkov;

const SETTINGS: [Setting; 6] = [
    Setting::integer("states", "the number of states", (1, 1_000)).or(3.0),
    Setting::integer("region", "which feature of the schema is the region, counted from 1", (1, 1_024))
        .or(1.0),
    Setting::integer(
        "time",
        "which feature of the schema is the time, counted from 1: its levels in order, or a number",
        (1, 1_024),
    )
    .or(2.0),
    Setting::integer(
        "steps",
        "how many evenly spaced values a numeric time has, from one bound to the other, with both",
        (2, 100_000),
    )
    .or(12.0),
    Setting::integer("iterations", "the number of draws of each chain", (2, 1_000_000)).or(200.0),
    Setting::integer(
        "posterior",
        "1 to make the noise part of the model, 2 to take noisy counts for the true ones",
        (1, 2),
    )
    .or(1.0),
];

impl Model for HiddenMarkov {
    fn name(&self) -> &'static str {
        "hmm"
    }
    fn about(&self) -> &'static str {
        "states of regions over time, each with its own shares of the categories of events"
    }
    fn family(&self) -> &'static str {
        "samples"
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
        let [states, region, time, steps, iterations, posterior] = settings(self, facts)?;
        let place = |column: f64, name| match column as usize - 1 {
            place if place < facts.columns.len() => Ok(place),
            _ => {
                let range = Range::integers(1, facts.columns.len());
                let about = "the number of a feature of the schema, counted from 1";
                Err(ModelError::Setting { model: self.name(), name, range, about })
            }
        };
        let (region, time) = (place(region, "region")?, place(time, "time")?);
        let coded = |(column, &inputs): (usize, &usize)| {
            let levels = match inputs {
                // A number is below or above the middle of its bounds, unless it is the time.
                1 if column == time => steps as usize,
                1 => 2,
                levels => levels,
            };
            Coded { inputs, levels }
        };
        let columns = facts.columns.iter().enumerate().map(coded).collect();
        let coding = Coding { columns, region, time };
        // Without privacy there is no noise, so any budget will do.
        let none = Privacy::new(1.0, 0.0, Adjacency::AddRemove).map_err(WallError::from)?;
        let mut plan = HmmPlan::new(coding, states as usize, facts.records, privacy.unwrap_or(&none))?;
        plan.sampling.iterations = iterations as usize;
        plan.sampling.burn_in = plan.sampling.iterations / 2;
        if posterior != 1.0 {
            plan.posterior = Posterior::Naive;
        }
        Ok(Box::new(plan))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new(parse::<HmmPlan>(self.name(), plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        let fit: Fit = saved.restore(self.name())?;
        let same = fit.coding.layout().is_ok_and(|layout| layout == fit.posterior.model.layout);
        if same && fit.posterior.is_whole() {
            Ok(Box::new(fit))
        } else {
            Err(ModelError::NotSaved { model: self.name() })
        }
    }
}

impl Planned for HmmPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn outline(&self) -> Outline {
        let layout = &self.model.layout;
        let fields = layout.fields.len() as f64;
        let (laplace, gaussian) = self.expected_sd;
        let (clip, sd) = match self.mechanism {
            Mechanism::Laplace => (fields, laplace),
            Mechanism::Gaussian => (fields.sqrt(), gaussian.unwrap_or(f64::NAN)),
        };
        Outline {
            releases: vec![Release {
                what: "counts of events by region, step, field and category".into(),
                width: layout.width(),
                times: 1,
                clip,
                noise_multiplier: self.noise_multiplier,
            }],
            expected: vec![
                ("standard deviation of the noise in a count".into(), sd),
                ("events of a region in a step".into(), self.records as f64 / layout.cells() as f64),
            ],
            why: self.why.clone(),
        }
    }

    fn validate(&self, facts: &Facts) -> Result<(), ModelError> {
        let inputs: Vec<usize> = self.coding.columns.iter().map(|column| column.inputs).collect();
        same_columns("hmm", (&inputs, self.records), facts)?;
        HmmPlan::validate(self).map_err(out_of_range("hmm"))
    }

    fn cost_estimate(&self) -> Estimate {
        let layout = &self.model.layout;
        let (cells, categories) = (layout.cells() as f64, layout.categories() as f64);
        let (states, width, records) = (self.model.states as f64, cells * categories, self.records as f64);
        let (chains, draws) = (self.sampling.chains as f64, self.sampling.iterations as f64);
        // Curves of the likelihood of each count over the root of its rate, by sums over all true counts.
        let (_, sd) = (self.expected_sd.0, self.noise_multiplier * 2.0 * layout.fields.len() as f64);
        let events = (records / cells + sd).max(1.0);
        let nodes = 4.0 * (events.sqrt() + 1.0);
        let curves = width * nodes * (events + 40.0).min(2500.0);
        let draw = cells * states * (categories * 8.0 + 40.0) + states * categories * 600.0 + 2.0 * width;
        let kept = cells * states + 2.0 * states * categories + width + 0.5 * cells;
        let memory = width * (nodes + 4.0) + 2.0 * chains * kept;
        let inputs = self.coding.width() as f64;
        Estimate::new(memory, curves + chains * draws * draw, kept).releases(
            1.0,
            width,
            records,
            4.0 * inputs + 200.0,
        )
    }

    fn price(&self, _: &Privacy) -> Result<Cost, ModelError> {
        Ok(HmmPlan::price(self)?)
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        let (posterior, receipt) = HmmPlan::fit(self, records, source, privacy, ledger)?;
        Ok((Box::new(Fit { coding: self.coding.clone(), posterior }), receipt))
    }
}

/// A posterior, and how records are written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Fit {
    coding: Coding,
    posterior: HmmPosterior,
}

impl Fitted for Fit {
    fn predict(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let layout = &self.posterior.model.layout;
        // An encoded row always has a region and a time.
        let cell = self.coding.cell(layout, inputs).unwrap_or_default();
        let event: Vec<Option<usize>> = self.coding.event(inputs).collect();
        let (log_density, probabilities) = self.posterior.predict(cell, &event);
        Predicted::Component { log_density, probabilities }
    }

    /// The profile of each state: shares of its regions and times, and of the categories of its events.
    fn points(&self) -> Vec<Point> {
        let HmmPosterior { model, frequencies, profiles, profiles_sd, .. } = &self.posterior;
        let (layout, states) = (&model.layout, model.states);
        let point = |state: usize| {
            let of_cells = |levels: usize, level: &dyn Fn(usize) -> usize| {
                let mut shares = vec![0.0; levels];
                for (cell, times) in frequencies.iter().skip(state).step_by(states).enumerate() {
                    shares[level(cell)] += times;
                }
                let total: f64 = shares.iter().sum::<f64>().max(f64::MIN_POSITIVE);
                shares.iter().map(|times| times / total).collect::<Vec<f64>>()
            };
            let width = layout.categories();
            let (profile, sds) =
                (&profiles[state * width..][..width], &profiles_sd[state * width..][..width]);
            let (mut mean, mut sd, mut first) = (Vec::new(), Vec::new(), 0);
            for (column, coded) in self.coding.columns.iter().enumerate() {
                let (shares, deviations) = if column == self.coding.region {
                    (of_cells(layout.regions, &|cell| cell / layout.steps), vec![0.0; layout.regions])
                } else if column == self.coding.time {
                    (of_cells(layout.steps, &|cell| cell % layout.steps), vec![0.0; layout.steps])
                } else {
                    let field = first..first + coded.levels;
                    first = field.end;
                    (profile[field.clone()].to_vec(), sds[field].to_vec())
                };
                if coded.inputs > 1 {
                    mean.extend(shares);
                    sd.extend(deviations);
                } else {
                    // The mean of what is written as a single number, from -1 to 1.
                    let last = (coded.levels - 1).max(1) as f64;
                    let numbers = shares.iter().enumerate().map(|(k, p)| p * (2.0 * k as f64 / last - 1.0));
                    mean.push(numbers.sum());
                    sd.push(2.0 * deviations.last().copied().unwrap_or_default());
                }
            }
            Point { name: format!("state {}", state + 1), mean, records_sd: sd.clone(), sd }
        };
        (0..states).map(point).collect()
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model;
    use reticent::budget::Unlimited;

    /// Two regions, a time of four levels and a number, a field of three levels and a flag. The first region is in the first state in the first
    /// half of the time.
    fn rows() -> Vec<f64> {
        let mut rows = Vec::new();
        for n in 0..8000 {
            let (region, time) = (n % 2, n / 2 % 4);
            let one_of = |k: usize, levels: usize| (0..levels).map(move |l| f64::from(u8::from(l == k)));
            rows.extend(one_of(region, 2));
            rows.extend(one_of(time, 4));
            let first = (region == 0) == (time < 2);
            let level = if first { [0, 0, 0, 1, 2][n / 8 % 5] } else { [2, 2, 2, 1, 0][n / 8 % 5] };
            rows.extend(one_of(level, 3));
            rows.push(if first == (n / 8 % 4 > 0) { 1.0 } else { -1.0 });
        }
        rows
    }

    #[test]
    fn events_are_fitted_saved_and_predicted() {
        let hmm = model("hmm").unwrap();
        let mut facts = Facts::new(vec![2, 4, 3, 1], Target::Nothing, 8000);
        facts.settings.insert("states".into(), 2.0);
        let privacy = Privacy::new(1.0, 1e-6, Adjacency::ReplaceOne).unwrap();
        for privacy in [Some(&privacy), None] {
            let plan = hmm.plan(&facts, privacy).unwrap();
            let plan = hmm.read_plan(&facts, &plan.to_json()).unwrap();
            assert_eq!(plan.outline().releases[0].width, 2 * 4 * 5);
            let records = Records::new(rows(), 10).unwrap();
            let source = NoiseSource::from_os().unwrap();
            let (fitted, receipt) = plan.fit(records, source, privacy, Box::new(Unlimited)).unwrap();
            assert_eq!(receipt.guarantee.cost().is_some(), privacy.is_some());
            let again = hmm.load(&fitted.save().unwrap()).unwrap();
            let event = |region: f64, level: f64| {
                [region, 1.0 - region, 1.0, 0.0, 0.0, 0.0, level, 0.0, 1.0 - level, 1.0]
            };
            for (region, level, log) in [(1.0, 1.0, 0.6f64 * 0.75), (0.0, 0.0, 0.6 * 0.25)] {
                let predicted = fitted.predict(&event(region, level), &[]);
                assert_eq!(predicted, again.predict(&event(region, level), &[]));
                let Predicted::Component { log_density, probabilities } = predicted else {
                    panic!("an event")
                };
                assert!((log_density - log.ln()).abs() < 0.1, "{log_density} {}", log.ln());
                assert!(probabilities.iter().any(|p| *p > 0.95), "{probabilities:?}");
            }
            let points = again.points();
            assert_eq!((points.len(), points[0].mean.len()), (2, 10));
            // Each region is in each state half of the time.
            assert!(
                (points[0].mean[0] - 0.5).abs() < 1e-6
                    && (points[0].mean[6..9].iter().sum::<f64>() - 1.0).abs() < 1e-6
            );
            let Saved { arrays, state } = fitted.save().unwrap();
            let cut = arrays.into_iter().map(|(name, (shape, mut values))| {
                values.pop();
                (name, (shape, values))
            });
            assert!(matches!(
                hmm.load(&Saved { arrays: cut.collect(), state }),
                Err(ModelError::NotSaved { .. })
            ));
        }
    }

    #[test]
    fn columns_are_named_by_their_place() {
        let hmm = model("hmm").unwrap();
        let mut facts = Facts::new(vec![3, 1, 5], Target::Nothing, 100);
        facts.settings = [("region".into(), 3.0), ("steps".into(), 36.0)].into();
        let plan = hmm.plan(&facts, None).unwrap();
        // Five regions, 36 steps, and one field of three categories.
        assert_eq!(plan.outline().releases[0].width, 5 * 36 * 3);
        facts.settings.insert("region".into(), 4.0);
        let Err(error) = hmm.plan(&facts, None) else { panic!("there is no fourth column") };
        assert!(error.to_string().contains("region"), "{error}");
        let other = Facts::new(vec![3, 2, 5], Target::Nothing, 100);
        assert!(hmm.read_plan(&other, &plan.to_json()).is_err());
    }
}
