//! Probabilistic backpropagation without privacy: ADF, EP, SEP and SEP with clipped sites, by the protocol of the papers.

use super::Method;
use crate::error::ExperimentError;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use reticent_core::budget::{Adjacency, Unlimited};
use reticent_core::engine::{Average, Coordinates, Damping, Ep, Fit, Noise, Phase, Sep, SiteModel, adf_pass};
use reticent_core::model::network::{Network, NetworkPosterior, OutputNoise, Start};
use reticent_core::wall::{Geometry, NoiseSource, Plan, Records, Sampler, Sums, Wall};

/// The norm that the paper clips sites to.
const CLIP: f64 = 1.0;
/// The damping of EP in the public code.
const EP_STEP: f64 = 0.4;

/// How a network is fitted.
pub(super) struct Backpropagation {
    pub(super) hidden: usize,
    pub(super) passes: usize,
    pub(super) seed: u64,
}

impl Backpropagation {
    /// Fits rows of inputs and a target of about unit variance. The prior is refined after each pass.
    pub(super) fn fit(
        &self,
        method: Method,
        values: Vec<f64>,
        inputs: usize,
    ) -> Result<NetworkPosterior, ExperimentError> {
        let mut model = Network::new(&[inputs, self.hidden], OutputNoise::default())?;
        let start = model.start(self.seed, Start::Prior);
        let fit = match method {
            Method::Adf => self.adf(&mut model, &values, start),
            Method::Ep => self.ep(&mut model, &values, &start),
            Method::SepClipped => {
                self.sep(&mut model, values, &start, Some(Geometry::Ball { radius: CLIP }))?
            }
            _ => self.sep(&mut model, values, &start, None)?,
        };
        Ok(NetworkPosterior::new(&model, &fit))
    }

    fn sep(
        &self,
        model: &mut Network,
        values: Vec<f64>,
        start: &[f64],
        clip: Option<Geometry>,
    ) -> Result<Fit, ExperimentError> {
        let width = model.inputs() + 1;
        let n = values.len() / width;
        let mut plan = Plan::new(n, Adjacency::ReplaceOne);
        let sums = plan.sums(Sums {
            what: "sites".into(),
            width: model.width(),
            geometry: Geometry::Ball { radius: CLIP },
            sampler: Sampler::Pass { batch: 1 },
            noise_multiplier: 1.0,
            steps: (self.passes * n) as u64,
        })?;
        let source = NoiseSource::from_os()?;
        let mut wall =
            Wall::without_privacy(Records::new(values, width)?, source, plan, Box::new(Unlimited))?;
        let (coordinates, damping) = (Coordinates::Factor, Damping::Step(1.0));
        let phase = Phase { sums, steps: n as u64, coordinates, damping, clip };
        let mut state = Sep::new(model, n, start);
        for _ in 0..self.passes {
            state.run(model, &mut wall, &phase, Average::Last)?;
            model.refine_prior(&state.fit(model).natural);
        }
        Ok(state.fit(model))
    }

    fn ep(&self, model: &mut Network, values: &[f64], start: &[f64]) -> Fit {
        let width = model.inputs() + 1;
        let mut state = Ep::new(model, values, width, start);
        for order in self.orders(values.len() / width) {
            state.pass(model, values, order, EP_STEP);
            model.refine_prior(&state.natural(model));
        }
        state.fit(model)
    }

    fn adf(&self, model: &mut Network, values: &[f64], mut likelihood: Vec<f64>) -> Fit {
        let width = model.inputs() + 1;
        let natural = |model: &Network, likelihood: &[f64]| -> Vec<f64> {
            model.prior().iter().zip(likelihood).map(|(p, l)| p + l).collect()
        };
        for order in self.orders(values.len() / width) {
            adf_pass(model, values, width, order, &mut likelihood);
            model.refine_prior(&natural(model, &likelihood));
        }
        Fit { natural: natural(model, &likelihood), noise: Noise::none(model.blocks()), projections: 0 }
    }

    /// An order of the records for each pass.
    fn orders(&self, records: usize) -> impl Iterator<Item = Vec<usize>> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        (0..self.passes).map(move |_| {
            let mut order: Vec<usize> = (0..records).collect();
            order.shuffle(&mut rng);
            order
        })
    }
}
