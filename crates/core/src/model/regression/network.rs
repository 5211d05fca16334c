//! A network by DP-SEP for the residual of the linear prediction: probabilistic backpropagation on whitened inputs
//! and standardised residuals, which is the scale of its priors.

use super::parameters::Functional;
use super::rounds::Frame;
use crate::engine::{Average, Block, Coordinates, Damping, Phase, Sep, SiteModel, Sites};
use crate::jobs::Named;
use crate::model::DefinitionError;
use crate::model::network::{Network, NetworkCavity, NetworkPosterior, OutputNoise, Start};
use crate::wall::{QuerySpec, SumId, Wall, WallError};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;

/// The refinement by a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkPlan {
    /// Units of each hidden layer.
    pub hidden: Vec<usize>,
    /// Seed of the public draw of the initial weights.
    pub seed: u64,
    /// Number of releases.
    pub steps: u64,
    /// Clipping norm of sites.
    pub clip: f64,
    /// Damping of each step.
    pub damping: f64,
    /// The variance of residuals about the network, over that about the linear prediction.
    pub noise_variance: f64,
    /// Initial precision in addition to the prior's: without it all weights move together, and too far.
    pub start_precision: f64,
    /// Minimum precision of a weight, relative to the prior's: noise must not make weights improper.
    pub floor: f64,
    /// The standard deviation of the noise of a release over the sensitivity.
    pub noise_multiplier: f64,
    /// As `noise_multiplier`, for the release that compares the result with the linear prediction.
    pub check_noise_multiplier: f64,
}

impl NetworkPlan {
    /// The network, for this many inputs.
    pub(super) fn network(&self, inputs: usize) -> Result<Network, DefinitionError> {
        let sizes: Vec<usize> = std::iter::once(inputs).chain(self.hidden.iter().copied()).collect();
        Network::new(&sizes, OutputNoise::Known(self.noise_variance))?.with_floor(self.floor)
    }

    /// Coordinates of a release, for this many inputs; 0 if the network is invalid.
    #[must_use]
    pub fn width(&self, inputs: usize) -> usize {
        self.network(inputs).map_or(0, |network| network.width())
    }

    /// Runs DP-SEP. `sums` are the planned releases of sites. Returns the number of projections with the weights.
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

/// A noise-aware posterior of the weights of a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    posterior: NetworkPosterior,
    /// Scale of its output.
    deviation: f64,
}

impl Weights {
    /// The mean variance of the output of the network, over Gaussian inputs.
    pub(super) fn mean_variance(&self, frame: &Frame) -> f64 {
        const DRAWS: u32 = 200;
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let mut draw = |v: &f64| -> f64 { v.sqrt() * Distribution::<f64>::sample(&StandardNormal, &mut rng) };
        let variances =
            (0..DRAWS).map(|_| self.moments(&frame.spread.iter().map(&mut draw).collect::<Vec<_>>()).1);
        variances.sum::<f64>() / f64::from(DRAWS)
    }

    /// The mean of each functional, and its deviations in draws of the weights: their squares sum to the variance.
    pub(super) fn functionals(
        &self,
        functionals: &[Functional],
        spread: &[f64],
    ) -> (Vec<f64>, Vec<Vec<f64>>) {
        const DRAWS: u32 = 100;
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let inputs = gaussian_inputs(spread, &mut rng);
        let of = |f: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
            functionals.iter().map(|functional| functional.of(f, &inputs)).collect()
        };
        let mean = of(&|z| self.moments(z).0);
        let drawn: Vec<Vec<f64>> = (0..DRAWS)
            .map(|_| {
                let weights = self.posterior.draw_weights(&mut rng);
                of(&|z| self.deviation * self.posterior.output(&weights, z))
            })
            .collect();
        let scale = f64::from(DRAWS).sqrt().recip();
        let average = |k: usize| drawn.iter().map(|draw| draw[k]).sum::<f64>() / f64::from(DRAWS);
        let averages: Vec<f64> = (0..functionals.len()).map(average).collect();
        let centred = |draw: &Vec<f64>| draw.iter().zip(&averages).map(|(x, m)| (x - m) * scale).collect();
        (mean, drawn.iter().map(centred).collect())
    }

    /// The share of the variance of the output that is due to the privacy noise, on average over Gaussian inputs.
    pub(super) fn privacy_share(&self, spread: &[f64]) -> f64 {
        let inputs = gaussian_inputs(spread, &mut ChaCha8Rng::seed_from_u64(0));
        let privacy: f64 = inputs.iter().map(|z| self.privacy_variance(z)).sum();
        let all: f64 = inputs.iter().map(|z| self.moments(z).1).sum();
        if all > 0.0 { (privacy / all).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// The mean and the variance of the output of the network at $z$.
    pub(super) fn moments(&self, z: &[f64]) -> (f64, f64) {
        let found = self.posterior.predict(z);
        (found.mean * self.deviation, found.variance * self.deviation * self.deviation)
    }

    /// The part of the variance that is due to the privacy noise.
    pub(super) fn privacy_variance(&self, z: &[f64]) -> f64 {
        let naive = self.posterior.predict_naively(z).variance * self.deviation * self.deviation;
        (self.moments(z).1 - naive).max(0.0)
    }
}

/// Public draws of Gaussian inputs with these variances.
fn gaussian_inputs(spread: &[f64], rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    const INPUTS: u32 = 50;
    let mut draw = |v: &f64| -> f64 { v.sqrt() * Distribution::<f64>::sample(&StandardNormal, &mut *rng) };
    (0..INPUTS).map(|_| spread.iter().map(&mut draw).collect()).collect()
}

/// The network as a model of unscaled records.
#[derive(Serialize, Deserialize)]
pub(crate) struct Residual<F, N> {
    frame: F,
    network: N,
}

impl<F, N> Named for Residual<F, N> {
    const NAME: &'static str = "regression-network-sites";
}

impl<F: Borrow<Frame>, N: Borrow<Network>> Residual<F, N> {
    /// Whitened inputs, and the standardised residual.
    fn record(&self, record: &[f64]) -> Vec<f64> {
        let frame = self.frame.borrow();
        let mut whitened = vec![0.0; record.len()];
        let d = frame.inputs();
        frame.whiten(&record[..d], &mut whitened[..d]);
        whitened[d] = frame.residual(record) / frame.residual_variance.sqrt();
        whitened
    }

    fn network(&self) -> &Network {
        self.network.borrow()
    }
}

impl<F, N> SiteModel for Residual<F, N>
where
    F: Borrow<Frame> + Serialize + Sync,
    N: Borrow<Network> + Serialize + Sync,
{
    type Cavity = NetworkCavity;

    fn width(&self) -> usize {
        self.network().width()
    }

    fn prior(&self) -> &[f64] {
        self.network().prior()
    }

    fn condition(&self, natural: &[f64], cavity: &mut NetworkCavity) {
        self.network().condition(natural, cavity);
    }

    fn site(&self, cavity: &NetworkCavity, record: &[f64], out: &mut [f64]) {
        self.network().site(cavity, &self.record(record), out);
    }

    fn site_centred(&self, cavity: &NetworkCavity, record: &[f64], out: &mut [f64]) {
        self.network().site_centred(cavity, &self.record(record), out);
    }

    fn sites_spec(sites: &Sites<'_, Self>) -> Option<QuerySpec> {
        QuerySpec::of(sites)
    }

    fn project(&self, natural: &mut [f64]) -> u64 {
        self.network().project(natural)
    }

    fn centre(&self, cavity: &NetworkCavity, natural: &mut [f64]) {
        self.network().centre(cavity, natural);
    }

    fn uncentre(&self, cavity: &NetworkCavity, centred: &mut [f64]) {
        self.network().uncentre(cavity, centred);
    }

    fn shear<'a>(&self, cavity: &'a NetworkCavity) -> Option<&'a [f64]> {
        self.network().shear(cavity)
    }

    fn blocks(&self) -> Vec<Block> {
        self.network().blocks()
    }
}
