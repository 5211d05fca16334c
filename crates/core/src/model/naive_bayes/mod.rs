//! Two classes by columns that are independent given the class: naive Bayes from tables of counts.
//!
//! One release: the counts of all levels of all columns by class; numbers are cut into `bins` of equal width.
//! Predictions average over posterior draws of the tables, so their variance includes that of the noise.
//!
//! Not for: calibrated probabilities where columns depend on each other given the class; `logistic` is better there.

pub(crate) mod plan;
mod posterior;
mod tables;

pub use plan::{MAX_BINS, NaiveBayesPlan};
pub use posterior::NaiveBayesPosterior;

use crate::budget::Privacy;
use crate::model::conjugate::single::{Once, POSTERIOR, noise_treatment, parse_plan, unlimited_budget};
use crate::model::reference::{FOULDS, NOISE_AWARE};
use crate::model::settings::Settings;
use crate::model::{Declaration, Model, ModelError, Planned, Posterior, Saved, Setting, TableShape, Target};
use crate::wall::WallError;
use serde_json::Value;

pub(crate) struct NaiveBayes;

const SETTINGS: [Setting; 3] = [
    Setting::integer("bins", "the levels that a number is cut into, equally wide", (1, MAX_BINS))
        .or_integer(16),
    Setting::number("concentration", "the parameter of the Dirichlet prior for each level", (1e-6, 1e6))
        .or_number(1.0),
    POSTERIOR,
];

const DECLARATION: Declaration = Declaration {
    name: "naive-bayes",
    about: "a target of two classes by naive Bayes: columns are independent given the class, and numbers are cut into bins",
    not_for: "calibrated probabilities where columns depend on each other given the class (use logistic)",
    references: &[FOULDS, NOISE_AWARE],
    family: "draws",
    targets: &[Target::TwoClasses],
    settings: &SETTINGS,
    needs_bounds: true,
    can_be_private: true,
    can_be_pure: true,
};

impl Model for NaiveBayes {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        let settings = Settings::new(self, shape)?;
        let bins = settings.integer("bins");
        let concentration = settings.number("concentration");
        let posterior = settings.choice("posterior");
        let privacy = privacy.copied().unwrap_or_else(unlimited_budget);
        let columns = shape.columns.clone();
        let mut plan = NaiveBayesPlan::new(columns, bins, concentration, shape.records, &privacy)
            .map_err(WallError::from)?;
        plan.noise_treatment = noise_treatment(posterior);
        Ok(Box::new(Once(plan)))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        parse_plan::<NaiveBayesPlan>(plan)
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        let posterior = saved.restore::<NaiveBayesPosterior>(self.name())?;
        if !posterior.is_consistent() {
            return Err(ModelError::NotSaved { model: self.name() });
        }
        Ok(Box::new(posterior))
    }
}
