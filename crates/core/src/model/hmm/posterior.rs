//! Summaries of the draws: states, their profiles, and predictions.

use crate::field::FieldError;
use crate::model::hmm::{Coding, Evidence, Gibbs, HeldOut, Hmm};
use crate::model::{Codebook, ModelError, Parameters, Posterior, Predicted, Saved};
use crate::{field, threads};
use rand::rngs::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Length of the chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// Number of chains with different starts: each may find other states.
    pub chains: usize,
    /// Draws of each chain.
    pub iterations: usize,
    /// Burn-in: number of first draws that are discarded.
    pub burn_in: usize,
    /// Seed of the public generator.
    pub seed: u64,
}

impl Default for Sampling {
    /// Four chains with the iterations of the paper.
    fn default() -> Self {
        Self { chains: 4, iterations: 200, burn_in: 100, seed: 0 }
    }
}

/// A sampled posterior. All of it is public if the counts were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HmmPosterior {
    /// The model.
    pub model: Hmm,
    /// The most frequent state of each cell.
    pub assignments: Vec<usize>,
    /// Frequency of each state in each cell: the states of a cell are adjacent.
    pub frequencies: Vec<f64>,
    /// The category probabilities of states: means over draws, all categories of a state together.
    pub profiles: Vec<f64>,
    /// Their standard deviations.
    pub profiles_sd: Vec<f64>,
    /// The probability of each category in each cell: means over the draws of all chains.
    pub predictions: Vec<f64>,
    /// Draws of the profiles and the transition matrix; early files have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws: Option<StateDraws>,
}

/// Draws of the chain with the most likely states, thinned to at most [`MAX_DRAWS`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateDraws {
    /// In each: the category probabilities of all states, all categories of a state together.
    pub profiles: Vec<Vec<f64>>,
    /// In each: the transition matrix, row by row.
    pub transitions: Vec<Vec<f64>>,
    /// The expected number of events in the cells of each state.
    pub events: Vec<f64>,
    /// The expected number of transitions from each state, plus the prior.
    pub moves: Vec<f64>,
    /// Whether the draws include privacy noise.
    pub noisy: bool,
}

/// Maximum number of stored draws of profiles and transitions.
pub const MAX_DRAWS: usize = 100;

/// The sums of one chain.
struct Chain {
    log_likelihood: f64,
    frequencies: Vec<f64>,
    profiles: Vec<f64>,
    squares: Vec<f64>,
    predictions: Vec<f64>,
    draws: StateDraws,
}

impl Sampling {
    /// Samples the posterior. States, their profiles and their cells come from the chain with the most likely states,
    /// and are ordered by the number of their cells; predictions come from all chains.
    #[must_use]
    pub fn run(&self, evidence: &Evidence) -> HmmPosterior {
        let chains: Vec<Chain> = threads::install(|| {
            (0..self.chains.max(1)).into_par_iter().map(|chain| self.chain(evidence, chain)).collect()
        });
        let mut predictions = vec![0.0; chains[0].predictions.len()];
        for chain in &chains {
            predictions
                .iter_mut()
                .zip(&chain.predictions)
                .for_each(|(sum, p)| *sum += p / chains.len() as f64);
        }
        let best = chains.into_iter().max_by(|a, b| a.log_likelihood.total_cmp(&b.log_likelihood));
        let Chain { frequencies, profiles, squares, draws, .. } = best.expect("there is at least one chain");
        let (states, width) = (evidence.model().states, evidence.model().layout.categories());
        let mut order: Vec<usize> = (0..states).collect();
        let used = |k: usize| frequencies.iter().skip(k).step_by(states).sum::<f64>();
        order.sort_by(|&a, &b| used(b).total_cmp(&used(a)));
        let cells = frequencies.chunks(states);
        let frequencies: Vec<f64> = cells.flat_map(|cell| order.iter().map(|&k| cell[k])).collect();
        let of_states = |values: &[f64]| -> Vec<f64> {
            order.iter().flat_map(|&k| values[k * width..][..width].to_vec()).collect()
        };
        let (profiles, squares) = (of_states(&profiles), of_states(&squares));
        let sd = |(mean, square): (&f64, &f64)| (square - mean * mean).max(0.0).sqrt();
        let most_frequent =
            |cell: &[f64]| (0..states).fold(0, |best, k| if cell[k] > cell[best] { k } else { best });
        HmmPosterior {
            model: evidence.model().clone(),
            assignments: frequencies.chunks(states).map(most_frequent).collect(),
            profiles_sd: profiles.iter().zip(&squares).map(sd).collect(),
            frequencies,
            profiles,
            predictions,
            draws: Some(draws.ordered(&order, width)),
        }
    }

    /// The log-likelihood of held-out cells, by all chains together.
    #[must_use]
    pub fn held_out<'a>(&self, evidence: &Evidence, mut held_out: HeldOut<'a>) -> HeldOut<'a> {
        for chain in 0..self.chains.max(1) {
            self.draws(evidence, chain, |gibbs, _| {
                let theta = gibbs.theta().to_vec();
                held_out.add(&theta, |cell, weights| weights.extend(gibbs.predictive(cell)));
            });
        }
        held_out
    }

    fn draws(&self, evidence: &Evidence, chain: usize, mut use_draw: impl FnMut(&mut Gibbs<'_>, f64)) {
        let mut gibbs = Gibbs::new(evidence, self.seed.wrapping_add(chain as u64));
        for iteration in 0..self.iterations.max(1) {
            let log_likelihood = gibbs.step();
            if iteration + 1 == self.iterations || iteration >= self.burn_in {
                use_draw(&mut gibbs, log_likelihood);
            }
        }
    }

    fn chain(&self, evidence: &Evidence, chain: usize) -> Chain {
        let Hmm { layout, states, .. } = evidence.model();
        let width = layout.categories();
        let (cells, mut draws) = (layout.cells(), 0.0);
        let mut found = Chain {
            log_likelihood: 0.0,
            frequencies: vec![0.0; cells * states],
            profiles: vec![0.0; states * width],
            squares: vec![0.0; states * width],
            predictions: vec![0.0; cells * width],
            draws: StateDraws {
                profiles: Vec::new(),
                transitions: Vec::new(),
                events: vec![0.0; *states],
                moves: vec![0.0; *states],
                noisy: evidence.is_noisy(),
            },
        };
        let each = self.iterations.saturating_sub(self.burn_in).div_ceil(MAX_DRAWS).max(1);
        self.draws(evidence, chain, |gibbs, log_likelihood| {
            if (draws as usize).is_multiple_of(each) {
                found.draws.profiles.push(gibbs.theta().to_vec());
                found.draws.transitions.push(gibbs.draw_transitions());
            }
            found.draws.moves.iter_mut().zip(gibbs.transition_totals()).for_each(|(sum, n)| *sum += n);
            draws += 1.0;
            found.log_likelihood += log_likelihood;
            for ((mean, square), share) in
                found.profiles.iter_mut().zip(&mut found.squares).zip(gibbs.theta())
            {
                *mean += share;
                *square += share * share;
            }
            for (cell, &state) in gibbs.assignments().iter().enumerate() {
                found.frequencies[cell * states + state] += 1.0;
                found.draws.events[state] += evidence.events(cell);
                let shares = &gibbs.theta()[state * width..][..width];
                let sums = &mut found.predictions[cell * width..][..width];
                sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
            }
        });
        let Chain { log_likelihood, frequencies, profiles, squares, predictions, draws: stored } = &mut found;
        *log_likelihood /= draws;
        for sums in [frequencies, profiles, squares, predictions, &mut stored.events, &mut stored.moves] {
            sums.iter_mut().for_each(|sum| *sum /= draws);
        }
        found
    }
}

impl HmmPosterior {
    /// Whether all parts have the lengths that the model requires, for one that was read from a file.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let Hmm { layout, states, .. } = &self.model;
        if self.model.check().is_err() {
            return false;
        }
        let (cells, width) = (layout.cells(), layout.categories());
        let arrays = [
            (&self.frequencies, cells * states),
            (&self.profiles, states * width),
            (&self.profiles_sd, states * width),
            (&self.predictions, cells * width),
        ];
        let right = |(values, length): &(&Vec<f64>, usize)| {
            values.len() == *length && values.iter().all(|x| (0.0..=1.0 + 1e-9).contains(x))
        };
        let draws = self.draws.as_ref().is_none_or(|draws| draws.is_consistent(*states, width));
        let known = self.assignments.iter().all(|state| state < states);
        arrays.iter().all(right) && self.assignments.len() == cells && known && draws
    }

    /// The log probability of an event of a cell, and the probability of each state of the cell given that event.
    /// `None` is an unknown category.
    #[must_use]
    pub fn predict(&self, cell: usize, event: &[Option<usize>]) -> (f64, Vec<f64>) {
        let Hmm { layout, states, .. } = &self.model;
        let width = layout.categories();
        let places = || layout.field_ranges().zip(event).filter_map(|(range, j)| Some(range.start + (*j)?));
        let predictions = &self.predictions[cell * width..][..width];
        let log = places().map(|place| predictions[place].ln()).sum();
        let frequencies = &self.frequencies[cell * states..][..*states];
        let given = frequencies.iter().zip(self.profiles.chunks(width));
        let mut given: Vec<f64> =
            given.map(|(p, profile)| p * places().map(|place| profile[place]).product::<f64>()).collect();
        let total: f64 = given.iter().sum();
        given.iter_mut().for_each(|p| *p /= total);
        (log, given)
    }
}

impl Sampling {
    /// Checks that there are draws after the burn-in.
    pub(super) fn validate(&self) -> Result<(), FieldError> {
        field::integer("sampling.chains", self.chains as u64, 1..=1000)?;
        field::integer("sampling.iterations", self.iterations as u64, 1..=10_000_000)?;
        field::integer("sampling.burn_in", self.burn_in as u64, 0..=self.iterations as u64 - 1)
    }
}

/// A posterior, and the encoding of records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Fit {
    pub(super) coding: Coding,
    pub(super) posterior: HmmPosterior,
}

impl Posterior for Fit {
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let layout = &self.posterior.model.layout;
        // An encoded row always has a region and a time.
        let cell = self.coding.cell(layout, inputs).unwrap_or_default();
        let event: Vec<Option<usize>> = self.coding.event(inputs).collect();
        let (log_density, probabilities) = self.posterior.predict(cell, &event);
        Predicted::Component { log_density, probabilities }
    }

    fn parameters(&self, codebook: &Codebook) -> Parameters {
        self.named_parameters(codebook)
    }

    fn simulate(&self, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        Some(self.event(rng))
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
