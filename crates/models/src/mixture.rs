//! Mixtures of Gaussians.

use reticent::budget::{Cost, Ledger, Privacy};
use reticent::family::Covariance;
use reticent::field;
use reticent::model::mixture::{
    Component, Mixture, MixturePlan, MixturePosterior, NoiseVariance, StartPlan, Weights,
};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records, WallError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{out_of_range, parse, same_shape, settings};
use crate::{
    Estimate, Facts, Fitted, Model, ModelError, Outline, Planned, Point, Predicted, Release, Saved, Setting,
    Target,
};

pub(crate) struct Mixtures;

const SETTINGS: [Setting; 3] = [
    Setting::integer("components", "the number of components", (1, 1000)),
    Setting::number(
        "noise-sd",
        "the standard deviation of a record about its component's mean, for inputs between -1 and 1",
        (1e-4, 1e3),
    ),
    Setting::number(
        "prior-variance",
        "the prior variance of each coordinate of a mean, for inputs between -1 and 1",
        (1e-6, 1e6),
    )
    .or(0.25),
];

impl Model for Mixtures {
    fn name(&self) -> &'static str {
        "mixture"
    }
    fn about(&self) -> &'static str {
        "groups of records: Gaussian components of a known, spherical size"
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
        let [components, noise_sd, prior_variance] = settings(self, facts)?;
        let Some(privacy) = privacy else {
            return Err(ModelError::OnlyWithPrivacy { model: self.name() });
        };
        let model = mixture(components as usize, facts.inputs(), noise_sd, prior_variance)?;
        let plan = MixturePlan::new(&model, facts.records, privacy)?;
        Ok(Box::new(Plan { noise_sd, prior_variance, plan }))
    }
    fn parse_plan(&self, _: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new(parse::<Plan>(self.name(), plan)?))
    }
    /// The prior has a matrix for each component.
    fn least_estimate(&self, facts: &Facts) -> Option<Estimate> {
        let components = facts.settings.get("components").copied().unwrap_or(1.0);
        Some(matrices(components, facts.inputs() as f64))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        Ok(Box::new(saved.restore::<MixturePosterior>(self.name())?))
    }
}

/// A plan with the model that it is for.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Plan {
    noise_sd: f64,
    prior_variance: f64,
    plan: MixturePlan,
}

/// Of the means of all components together, and of each.
fn matrices(components: f64, dimension: f64) -> Estimate {
    let (size, blocks) = (components * dimension, components * dimension * dimension);
    let cubes = size.powi(3) + components * dimension.powi(3);
    Estimate::new(14.0 * size * size + 8.0 * blocks, 20.0 * cubes, 2.0 * blocks + size + 40.0 * components)
}

fn mixture(
    components: usize,
    inputs: usize,
    noise_sd: f64,
    prior_variance: f64,
) -> Result<Mixture, ModelError> {
    let noise = NoiseVariance::Known(noise_sd * noise_sd);
    let means = vec![vec![0.0; inputs]; components];
    Ok(Mixture::new(&means, prior_variance, Covariance::Full, noise, Weights::Uniform)?)
}

impl Planned for Plan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn outline(&self) -> Outline {
        let MixturePlan { components, dimension, sites, start, expected, why, .. } = &self.plan;
        let mut releases = Vec::new();
        if let StartPlan::Sketch { frequencies, noise_multiplier, .. } = start {
            releases.push(Release {
                what: "sketch, to find the components".into(),
                width: 2 * frequencies,
                times: 1,
                clip: 1.0,
                noise_multiplier: *noise_multiplier,
            });
        }
        releases.push(Release {
            what: "clipped sites, to refine the means".into(),
            width: components * (dimension + 1),
            times: sites.steps,
            clip: sites.clip,
            noise_multiplier: sites.noise_multiplier,
        });
        let expected = vec![
            ("error of a mean from the records".into(), expected.data_sd),
            ("error of a mean from privacy".into(), expected.privacy_sd),
            ("KL from the exact posterior".into(), expected.kl),
        ];
        Outline { releases, expected, why: why.clone() }
    }

    fn validate(&self, facts: &Facts) -> Result<(), ModelError> {
        same_shape("mixture", (self.plan.dimension, self.plan.records), facts)?;
        let fields = || {
            field::number("noise_sd", self.noise_sd, 1e-4..=1e3)?;
            field::number("prior_variance", self.prior_variance, field::PRIOR)?;
            self.plan.validate()
        };
        fields().map_err(out_of_range("mixture"))
    }

    fn cost_estimate(&self) -> Estimate {
        let MixturePlan { records, components, dimension, ref start, ref sites, .. } = self.plan;
        let (records, j, d) = (records as f64, components as f64, dimension as f64);
        let (size, steps) = (j * d, sites.steps as f64);
        let mut all = matrices(j, d);
        if let StartPlan::Sketch { frequencies, restarts, .. } = *start {
            let (frequencies, restarts) = (frequencies as f64, restarts as f64);
            all = all.releases(1.0, 2.0 * frequencies, records, frequencies * (d + 30.0));
            all.memory += 8.0 * frequencies * (d + 4.0 * size);
            // Candidates for each component, climbed to; and descents with a matrix for each.
            let candidates = j * 36.0 * 8.0 * frequencies * (3.0 * d + 30.0);
            let descents = (8.0 * j + 60.0) * (frequencies * (size * size + 30.0 * j) + size.powi(3));
            all.operations += restarts * (candidates + descents) + 3200.0 * frequencies * size;
        }
        all.operations +=
            (steps + 1.0) * (sites.simulated as f64 * (4.0 * size * size + 60.0 * j + 20.0 * size));
        all.operations += steps * 20.0 * size.powi(3);
        all.releases(steps, j * (d + 1.0), records, 8.0 * size + 40.0 * j)
    }

    fn price(&self, _: &Privacy) -> Result<Cost, ModelError> {
        Ok(self.plan.price().map_err(WallError::from)?)
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        let Some(privacy) = privacy else {
            return Err(ModelError::OnlyWithPrivacy { model: "mixture" });
        };
        let MixturePlan { components, dimension, .. } = self.plan;
        let model = mixture(components, dimension, self.noise_sd, self.prior_variance)?;
        let (posterior, receipt) = self.plan.fit(&model, records, source, privacy, ledger)?;
        Ok((Box::new(posterior), receipt))
    }
}

impl Fitted for MixturePosterior {
    fn predict(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let (log_density, probabilities) = MixturePosterior::predict(self, inputs);
        Predicted::Component { log_density, probabilities }
    }

    fn points(&self) -> Vec<Point> {
        let point = |(k, component): (usize, &Component)| {
            let d = component.mean.len();
            let sd = |covariance: &[f64]| (0..d).map(|i| covariance[i * (d + 1)].sqrt()).collect();
            Point {
                name: format!("component {}", k + 1),
                mean: component.mean.clone(),
                records_sd: sd(&component.data_covariance),
                sd: sd(&component.moments().covariance),
            }
        };
        self.components.iter().enumerate().map(point).collect()
    }

    fn warnings(&self, inputs: &[String]) -> Vec<String> {
        let warning = |(k, component): (usize, &Component)| {
            let outside = component.mean.iter().zip(inputs).filter(|(mean, _)| mean.abs() > 1.0);
            let names: Vec<&str> = outside.map(|(_, name)| name.as_str()).collect();
            (!names.is_empty()).then(|| {
                format!(
                    "the mean of component {} is outside the bounds of {}, where no record is: it is noise or the \
                     prior rather than a group of records",
                    k + 1,
                    names.join(", ")
                )
            })
        };
        self.components.iter().enumerate().filter_map(warning).collect()
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
