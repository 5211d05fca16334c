//! What the linear prediction leaves, by a network and DP-SEP: probabilistic backpropagation on whitened inputs and on residuals over their
//! deviation, which is the scale that its priors are made for.

use super::rounds::Frame;
use crate::engine::{Average, Block, Coordinates, Damping, Phase, Sep, SiteModel};
use crate::model::DefinitionError;
use crate::model::network::{Network, NetworkCavity, NetworkPosterior, OutputNoise, Start};
use crate::wall::{SumId, Wall, WallError};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// The refinement by a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkPlan {
    /// Units of each hidden layer.
    pub hidden: Vec<usize>,
    /// Of the public draw of the weights to start from.
    pub seed: u64,
    /// Releases.
    pub steps: u64,
    /// The norm that sites are clipped to.
    pub clip: f64,
    /// The share of the way that each step goes.
    pub damping: f64,
    /// The variance of residuals about the network, over that about the linear prediction.
    pub noise_variance: f64,
    /// What precisions have at first beside the prior's: without it all weights move together, and too far.
    pub start_precision: f64,
    /// What the precision of a weight is at least, over the prior's: noise in precisions may not let weights loose.
    pub floor: f64,
    /// The standard deviation of the noise of a release over the sensitivity.
    pub noise_multiplier: f64,
    /// The same for the release that compares the result with the linear prediction.
    pub check_noise_multiplier: f64,
}

impl NetworkPlan {
    /// The network, for this many inputs.
    pub(super) fn network(&self, inputs: usize) -> Result<Network, DefinitionError> {
        let sizes: Vec<usize> = std::iter::once(inputs).chain(self.hidden.iter().copied()).collect();
        Network::new(&sizes, OutputNoise::Known(self.noise_variance))?.with_floor(self.floor)
    }

    /// Coordinates of a release, for this many inputs; 0 if there is no such network.
    #[must_use]
    pub fn width(&self, inputs: usize) -> usize {
        self.network(inputs).map_or(0, |network| network.width())
    }

    /// Runs DP-SEP. `sums` are the planned releases of sites. Also how often a weight was moved back into its domain.
    pub(super) fn fit(
        &self,
        network: &Network,
        frame: &Frame,
        wall: &mut Wall,
        sums: SumId,
        records: usize,
    ) -> Result<(Weights, u64), WallError> {
        let model = Residual { frame, network };
        let phase = Phase {
            sums,
            steps: self.steps,
            coordinates: Coordinates::Centred,
            damping: Damping::Share(self.damping),
            clip: None,
        };
        let start = network.start(self.seed, Start::Held { precision: self.start_precision });
        let mut state = Sep::new(&model, records, &start);
        state.run(&model, wall, &phase, Average::SecondHalf)?;
        let fit = state.fit(&model);
        let posterior = NetworkPosterior::new(network, &fit);
        Ok((Weights { posterior, deviation: frame.residual_variance.sqrt() }, fit.projections))
    }
}

/// A posterior of the weights of a network, which knows of the privacy noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    posterior: NetworkPosterior,
    /// What its output is multiplied with.
    deviation: f64,
}

impl Weights {
    /// The mean of the variance of what the network adds, over Gaussian inputs.
    pub(super) fn mean_variance(&self, frame: &Frame) -> f64 {
        const DRAWS: u32 = 200;
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut draw = |v: &f64| -> f64 { v.sqrt() * Distribution::<f64>::sample(&StandardNormal, &mut rng) };
        let variances =
            (0..DRAWS).map(|_| self.moments(&frame.spread.iter().map(&mut draw).collect::<Vec<_>>()).1);
        variances.sum::<f64>() / f64::from(DRAWS)
    }

    /// The mean and the variance of what the network adds at $z$.
    pub(super) fn moments(&self, z: &[f64]) -> (f64, f64) {
        let found = self.posterior.predict(z);
        (found.mean * self.deviation, found.variance * self.deviation * self.deviation)
    }

    /// The part of the variance that the privacy noise is responsible for.
    pub(super) fn privacy_variance(&self, z: &[f64]) -> f64 {
        let naive = self.posterior.predict_naively(z).variance * self.deviation * self.deviation;
        (self.moments(z).1 - naive).max(0.0)
    }
}

/// The network, as a model of records as they are.
struct Residual<'a> {
    frame: &'a Frame,
    network: &'a Network,
}

impl Residual<'_> {
    /// Whitened inputs, and the residual over its deviation.
    fn record(&self, record: &[f64]) -> Vec<f64> {
        let mut whitened = vec![0.0; record.len()];
        let d = self.frame.inputs();
        self.frame.whiten(&record[..d], &mut whitened[..d]);
        whitened[d] = self.frame.residual(record) / self.frame.residual_variance.sqrt();
        whitened
    }
}

impl SiteModel for Residual<'_> {
    type Cavity = NetworkCavity;

    fn width(&self) -> usize {
        self.network.width()
    }

    fn prior(&self) -> &[f64] {
        self.network.prior()
    }

    fn condition(&self, natural: &[f64], cavity: &mut NetworkCavity) {
        self.network.condition(natural, cavity);
    }

    fn site(&self, cavity: &NetworkCavity, record: &[f64], out: &mut [f64]) {
        self.network.site(cavity, &self.record(record), out);
    }

    fn site_centred(&self, cavity: &NetworkCavity, record: &[f64], out: &mut [f64]) {
        self.network.site_centred(cavity, &self.record(record), out);
    }

    fn project(&self, natural: &mut [f64]) -> u64 {
        self.network.project(natural)
    }

    fn centre(&self, cavity: &NetworkCavity, natural: &mut [f64]) {
        self.network.centre(cavity, natural);
    }

    fn uncentre(&self, cavity: &NetworkCavity, centred: &mut [f64]) {
        self.network.uncentre(cavity, centred);
    }

    fn shear<'a>(&self, cavity: &'a NetworkCavity) -> Option<&'a [f64]> {
        self.network.shear(cavity)
    }

    fn blocks(&self) -> Vec<Block> {
        self.network.blocks()
    }
}
