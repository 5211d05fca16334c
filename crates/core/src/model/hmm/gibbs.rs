//! The sampler.

use super::chain::Transitions;
use super::{Counts, Evidence, Hmm};
use crate::engine::conjugate::dirichlet;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// A chain of draws of the states of all cells and of the category probabilities of all states.
///
/// # Privacy
/// It only uses released counts.
#[derive(Debug)]
pub struct Gibbs<'a> {
    evidence: &'a Evidence,
    transitions: Transitions,
    assignments: Vec<usize>,
    theta: Vec<f64>,
    /// The probabilities in the form of the likelihood.
    prepared: Vec<f64>,
    rng: ChaCha8Rng,
    transition_rng: ChaCha8Rng,
    weights: Vec<f64>,
    logs: Vec<f64>,
}

impl<'a> Gibbs<'a> {
    /// Starts with random states.
    #[must_use]
    pub fn new(evidence: &'a Evidence, seed: u64) -> Self {
        let Hmm { layout, states, transition_prior, .. } = evidence.model();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let assignments: Vec<usize> = (0..layout.cells()).map(|_| rng.random_range(0..*states)).collect();
        let theta = vec![0.0; states * layout.categories()];
        let transitions = Transitions::of(*states, *transition_prior, layout.steps, &assignments);
        let (weights, logs, prepared) = (vec![0.0; *states], vec![0.0; *states], theta.clone());
        let mut transition_rng = ChaCha8Rng::seed_from_u64(seed);
        transition_rng.set_stream(1);
        let mut gibbs =
            Self { evidence, transitions, assignments, theta, prepared, rng, transition_rng, weights, logs };
        gibbs.draw_theta();
        gibbs
    }

    /// The states of all cells.
    #[must_use]
    pub fn assignments(&self) -> &[usize] {
        &self.assignments
    }

    /// The category probabilities of all states: all categories of a state together.
    #[must_use]
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// A draw of the transition matrix given the states of all cells, row by row. It has a random stream of its own: the chain does not depend on it.
    pub fn draw_transitions(&mut self) -> Vec<f64> {
        let Self { transitions, transition_rng, .. } = self;
        let row = |state| dirichlet(transitions.concentrations(state), transition_rng);
        (0..transitions.states()).flat_map(row).collect()
    }

    /// The sum of the transition counts of each state, plus the prior.
    pub(super) fn transition_totals(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.transitions.states()).map(|state| self.transitions.concentrations(state).sum())
    }

    /// Draws the states of all cells, one after the other, and then the category probabilities of all states. Returns
    /// the log-likelihood of the drawn states.
    pub fn step(&mut self) -> f64 {
        let mut log_likelihood = 0.0;
        for cell in 0..self.assignments.len() {
            let between =
                self.transitions.between(&self.assignments, self.evidence.model().layout.steps, cell);
            self.transitions.change(between, self.assignments[cell], -1.0);
            self.transitions.weights(between, &mut self.weights);
            let observed = self.evidence.is_observed(cell);
            if observed {
                self.evidence.log_likelihood(cell, &self.prepared, &mut self.logs);
                let top = self.logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                self.weights
                    .iter_mut()
                    .zip(&self.logs)
                    .for_each(|(weight, log)| *weight *= (log - top).exp());
            }
            let state = categorical(&mut self.rng, &self.weights);
            log_likelihood += if observed { self.logs[state] } else { 0.0 };
            self.transitions.change(between, state, 1.0);
            self.assignments[cell] = state;
        }
        self.draw_theta();
        log_likelihood
    }

    fn draw_theta(&mut self) {
        self.evidence.draw(&mut self.rng, &self.assignments, &mut self.theta);
        self.evidence.prepare(&self.theta, &mut self.prepared);
    }

    /// The probability of each state of a cell, given those of all others and without its own events.
    pub fn predictive(&mut self, cell: usize) -> &[f64] {
        let steps = self.evidence.model().layout.steps;
        self.transitions.predictive(&self.assignments, steps, cell, &mut self.weights);
        &self.weights
    }
}

/// An index with probability proportional to its weight.
fn categorical(rng: &mut ChaCha8Rng, weights: &[f64]) -> usize {
    let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
    let found = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    found.unwrap_or(weights.len() - 1)
}

/// The log-likelihood of the events of held-out cells, averaged over draws cell by cell.
///
/// A draw gives the events $x_c$ of a cell the probability $\sum_k P(z_c = k|z_{-c})\,p(x_c|\theta_k)$.
#[derive(Debug, Clone)]
pub struct HeldOut<'a> {
    counts: Vec<(usize, &'a [f64])>,
    /// $\log \sum p$ over draws, by cell.
    log_sums: Vec<f64>,
    draws: usize,
}

impl<'a> HeldOut<'a> {
    /// The true counts of the cells that `observed` excludes.
    #[must_use]
    pub fn new(truth: &'a Counts, observed: &[bool]) -> Self {
        let width = truth.values().len() / observed.len().max(1);
        let cells = truth.values().chunks(width.max(1)).enumerate();
        let counts: Vec<_> = cells.filter(|(cell, _)| !observed[*cell]).collect();
        Self { log_sums: vec![f64::NEG_INFINITY; counts.len()], counts, draws: 0 }
    }

    /// Adds a draw: the category probabilities of all states, and the probabilities of states of a cell.
    pub fn add(&mut self, theta: &[f64], mut predictive: impl FnMut(usize, &mut Vec<f64>)) {
        self.draws += 1;
        let logs: Vec<f64> = theta.iter().map(|share| share.ln()).collect();
        let mut weights = Vec::new();
        for ((cell, counts), log_sum) in self.counts.iter().zip(&mut self.log_sums) {
            weights.clear();
            predictive(*cell, &mut weights);
            let by_state = weights.iter().zip(logs.chunks(counts.len())).map(|(weight, logs)| {
                weight.ln() + logs.iter().zip(*counts).map(|(log, count)| log * count).sum::<f64>()
            });
            *log_sum = by_state.fold(*log_sum, log_add);
        }
    }

    /// The sum over cells, in nats.
    #[must_use]
    pub fn log_likelihood(&self) -> f64 {
        let draws = self.draws.max(1) as f64;
        self.log_sums.iter().map(|log_sum| log_sum - draws.ln()).sum()
    }
}

/// $\log(e^a + e^b)$.
fn log_add(a: f64, b: f64) -> f64 {
    let (high, low) = if a > b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}
