//! A hidden Markov model of events: one chain of states for each region, and in each state a distribution for each
//! categorical field.
//!
//! # Model
//! $$A_{k,:} \sim \mathrm{Dirichlet}(\alpha),\quad \theta^{(k,d)} \sim \mathrm{Dirichlet}(\beta),\quad
//! z_{r,t} \sim A_{z_{r,t-1},:},\quad x^{(r,t)}_{i,d} \sim \theta^{(z_{r,t},d)}$$
//! for regions $r$, steps $t$, the events $i$ of such a *cell* and their fields $d$. With one state it is naive
//! Bayes. The data enter through counts $n_{r,t,d,j}$ alone, so a private fit releases these once, with noise, and
//! [`Gibbs`] sampling is post-processing:
//!
//! | posterior | treatment of the released counts |
//! |---|---|
//! | [`NoiseTreatment::Naive`] | taken for the true ones, with negative ones set to 0, as in the paper |
//! | [`NoiseTreatment::NoiseAware`] | true ones plus noise of a known distribution; the true ones are integrated out |
//!
//! # Noise-aware updates
//! Given the state of a cell and its expected number of events $N$, true counts are Poisson with means $N\theta_j$, and their convolution
//! with the noise is summed exactly. (Without noise this is the multinomial likelihood, since $\sum_j N \theta_j$ is the same in all
//! states.) $N$ is estimated from the noisy totals of all fields, shrunk towards the mean of its region according to
//! the noise. Given the states, the sum of a state's cells is a noisy multinomial count whose noise is close to
//! normal, and the true sum is drawn with the probabilities integrated out, then the probabilities. Neither update
//! conditions on true counts of cells, which would mix slowly where noise is large.
//!
//! # Privacy
//! One event adds 1 to one count of each field of one cell: the sensitivity of the table is $D$ in $L_1$ and
//! $\sqrt D$ in $L_2$ under add/remove adjacency, and $2D$ and $\sqrt{2D}$ under replace-one, also if the new event
//! is in another cell. Attacked by `an_event_moves_as_many_counts_as_there_are_fields` and
//! `the_release_never_exceeds_its_epsilon`.
//!
//! # Not for
//! Cells of a few events: noise of several counts in each category then hides the differences between states.
//!
//! # Citation
//! Foulds, Geumlek, Welling, Chaudhuri, "On the theory and practice of privacy-preserving Bayesian data analysis", UAI 2016, section 5 and
//! appendix E; Goldwater, Griffiths, "A fully Bayesian approach to unsupervised part-of-speech tagging", ACL 2007.

mod chain;
mod coding;
mod emissions;
mod exponential;
mod gibbs;
mod layout;
mod noise;
mod parameters;
mod plan;
mod posterior;
pub(crate) mod query;
mod simplex;

pub use crate::engine::conjugate::NoiseTreatment;
pub use coding::{Coded, Coding};
pub use emissions::{Counts, Evidence};
pub use exponential::{ExponentialGibbs, Pass};
pub use gibbs::{Gibbs, HeldOut};
pub use layout::Layout;
pub use noise::Noise;
pub use plan::{HmmPlan, Mechanism};
pub use posterior::{HmmPosterior, MAX_DRAWS, Sampling, StateDraws};

use crate::budget::{Adjacency, Privacy};
use crate::model::conjugate::single::{POSTERIOR, noise_treatment};
use crate::model::hmm::posterior::Fit;
use crate::model::planned::parse;
use crate::model::reference::{BAYESIAN_TAGGING, FOULDS};
use crate::model::settings::{SettingKind, Settings};
use crate::model::{Declaration, Model, ModelError, Planned, Posterior, Saved, Setting, TableShape, Target};
use crate::model::{DefinitionError, FitError};
use crate::wall::WallError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A model without its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hmm {
    /// Layout of the counts.
    pub layout: Layout,
    /// Number of states $K$.
    pub states: usize,
    /// Concentration $\alpha$ of the transition prior.
    pub transition_prior: f64,
    /// Concentration $\beta$ of the emission prior.
    pub emission_prior: f64,
}

impl Hmm {
    /// A model with flat priors.
    ///
    /// # Errors
    /// [`DefinitionError::HmmLayout`] and [`DefinitionError::HmmNumbers`].
    pub fn new(layout: Layout, states: usize) -> Result<Self, FitError> {
        let model = Self { layout, states, transition_prior: 1.0, emission_prior: 1.0 };
        model.check()?;
        Ok(model)
    }

    /// Checks that the model is valid.
    ///
    /// # Errors
    /// [`DefinitionError::HmmLayout`] and [`DefinitionError::HmmNumbers`].
    pub fn check(&self) -> Result<(), FitError> {
        self.layout.check()?;
        let positive = |x: f64| (1e-6..=1e6).contains(&x);
        let priors = positive(self.transition_prior) && positive(self.emission_prior);
        if (1..=1000).contains(&self.states) && priors {
            Ok(())
        } else {
            Err(FitError::Definition(DefinitionError::HmmNumbers))
        }
    }
}

pub(crate) struct HiddenMarkov;

const SETTINGS: [Setting; 6] = [
    Setting::integer("states", "the number of states", (1, 1_000)).or_integer(3),
    Setting::integer("region", "which feature of the schema is the region, counted from 1", (1, 1_024))
        .or_integer(1),
    Setting::integer(
        "time",
        "which feature of the schema is the time, counted from 1: its levels in order, or a number",
        (1, 1_024),
    )
    .or_integer(2),
    Setting::integer(
        "steps",
        "how many evenly spaced values a numeric time has, from one bound to the other, with both",
        (2, 100_000),
    )
    .or_integer(12),
    Setting::integer("iterations", "the number of draws of each chain", (2, 1_000_000)).or_integer(200),
    POSTERIOR,
];

const DECLARATION: Declaration = Declaration {
    name: "hmm",
    about: "hidden states of regions over time, each with its own shares of the categories of events: a hidden Markov model",
    not_for: "cells (a region in a step) of a few events: noise of several counts in each category then hides the states",
    references: &[FOULDS, BAYESIAN_TAGGING],
    family: "samples",
    targets: &[Target::Nothing],
    settings: &SETTINGS,
    needs_bounds: true,
    can_be_private: true,
    can_be_pure: true,
};

impl Model for HiddenMarkov {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        let settings = Settings::new(self, shape)?;
        let states = settings.integer("states");
        let region = settings.integer("region");
        let time = settings.integer("time");
        let steps = settings.integer("steps");
        let iterations = settings.integer("iterations");
        let posterior = settings.choice("posterior");
        let place = |column: usize, name| match column - 1 {
            place if place < shape.columns.len() => Ok(place),
            _ => {
                let range = SettingKind::Integer { min: 1, max: shape.columns.len() as u64 };
                let about = "the number of a feature of the schema, counted from 1";
                Err(ModelError::Setting { model: self.name(), name, range, about })
            }
        };
        let (region, time) = (place(region, "region")?, place(time, "time")?);
        let coded = |(column, &inputs): (usize, &usize)| {
            let levels = match inputs {
                // A number is binary, by the centre of its bounds, unless it is the time.
                1 if column == time => steps,
                1 => 2,
                levels => levels,
            };
            Coded { inputs, levels }
        };
        let columns = shape.columns.iter().enumerate().map(coded).collect();
        let coding = Coding { columns, region, time };
        // Without privacy there is no noise, so any budget is valid.
        let none = Privacy::new(1.0, 0.0, Adjacency::AddRemove).map_err(WallError::from)?;
        let mut plan = HmmPlan::new(coding, states, shape.records, privacy.unwrap_or(&none))?;
        plan.sampling.iterations = iterations;
        plan.sampling.burn_in = plan.sampling.iterations / 2;
        plan.posterior = noise_treatment(posterior);
        Ok(Box::new(plan))
    }
    fn parse_plan(&self, _: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        Ok(Box::new(parse::<HmmPlan>(self.name(), plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        let fit: Fit = saved.restore(self.name())?;
        let same = fit.coding.layout().is_ok_and(|layout| layout == fit.posterior.model.layout);
        if same && fit.posterior.is_consistent() {
            Ok(Box::new(fit))
        } else {
            Err(ModelError::NotSaved { model: self.name() })
        }
    }
}

#[cfg(test)]
mod registry_tests;
#[cfg(test)]
mod tests;
