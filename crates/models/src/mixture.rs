//! Mixtures of Gaussians.

use reticent::budget::{Cost, Ledger, Privacy};
use reticent::family::Covariance;
use reticent::model::mixture::{
    Component, Mixture, MixturePlan, MixturePosterior, NoiseVariance, StartPlan, Weights,
};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records, WallError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{parse, same_inputs, settle};
use crate::{
    Facts, Fitted, Model, ModelError, Outline, Planned, Point, Predicted, Release, Saved, Setting, Target,
};

pub(crate) struct Mixtures;

const SETTINGS: [Setting; 3] = [
    Setting { name: "components", about: "how many components there are", usual: None, whole: true },
    Setting {
        name: "noise-sd",
        about: "the standard deviation of a record about its component's mean, for inputs between -1 and 1",
        usual: None,
        whole: false,
    },
    Setting {
        name: "prior-variance",
        about: "the prior variance of each coordinate of a mean, for inputs between -1 and 1",
        usual: Some(0.25),
        whole: false,
    },
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
    fn plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [components, noise_sd, prior_variance] = settle(self, facts)?;
        let Some(privacy) = privacy else {
            return Err(ModelError::OnlyWithPrivacy { model: self.name() });
        };
        let model = mixture(components as usize, facts.inputs(), noise_sd, prior_variance)?;
        let plan = MixturePlan::new(&model, facts.records, privacy)?;
        Ok(Box::new(Plan { noise_sd, prior_variance, plan }))
    }
    fn read_plan(&self, facts: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        let plan: Plan = parse(self.name(), plan)?;
        same_inputs(self.name(), plan.plan.dimension, facts)?;
        Ok(Box::new(plan))
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
