//! Gibbs sampling in which every update is charged, for comparison: each draw is from an exponential mechanism.
//!
//! A pass draws the state of each cell from the tempered conditional, and then the category probabilities of each
//! state from public candidates. Scores of an event are log-likelihoods, minus their mean over the candidates (which
//! changes no draw), clipped.
//!
//! Candidates for the probabilities of a state are exchangeable with its current ones under the prior: with counts
//! $c \sim \mathrm{Multinomial}(n, \theta)$ from public randomness, they are draws from
//! $\mathrm{Dirichlet}(\beta + c)$. So choosing one by its likelihood leaves the tempered posterior invariant, and no
//! truncation of the Dirichlet is needed: clipping bounds the scores.
//!
//! # Privacy
//! Under add/remove adjacency. The events of a cell, and those of the cells of a state when its probabilities are
//! drawn, have separate walls. The wall of an event depends on its own region and step and on earlier draws, so an
//! event takes part in one draw for states and one for probabilities in each pass, and all other draws are the same
//! without it: the cost is that of $2P$ draws of a bounded range, whatever the numbers of cells and states. A random
//! scan would cost no less: a changed state reveals which cell was updated. The ledger is charged for these $2P$
//! draws, each before it is made, by a separate wall without events. Attacked by `a_pass_never_exceeds_its_epsilon`
//! and `the_observer_receives_each_half_of_a_pass`.
//!
//! # Choice of constants
//! The clipping range, the number of candidates and their initial distance are fixed, the same for all data and
//! budgets. They were chosen by scores on held-out cells of public crash data, so on such data they favour this
//! sampler, which the counts are compared with. The final distance of candidates is a function of public numbers: the
//! records, the states and the epsilon of a draw.
//!
//! # Citation
//! Foulds et al., UAI 2016, section 4.1, whose random scan is not private as claimed; Tjelmeland, "Using all Metropolis-Hastings proposals to
//! estimate mean values", 2004.

use super::chain::Transitions;
use super::simplex::dirichlet;
use super::{Coding, Hmm, Layout};
use crate::budget::{Adjacency, Cost, Ledger, Privacy, PrivacyError, Unlimited};
use crate::model::FitError;
use crate::observer::Observer;
use crate::receipt::Receipt;
use crate::wall::{DrawId, Draws, NoiseSource, Plan, Query, Records, Wall, WallError};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Binomial, Distribution};

/// Clipping range of the differences of log-likelihoods of an event between candidates.
const RANGE: f64 = 2.0;
/// Number of candidates for the probabilities of a state, with the current ones.
const CANDIDATES: usize = 32;
/// Number of public draws that candidates of the first pass have in common.
const FIRST: f64 = 4.0;

/// A sampler in which every update is charged.
#[derive(Debug, Clone, PartialEq)]
pub struct ExponentialGibbs {
    /// The model.
    pub model: Hmm,
    /// The encoding of records.
    pub coding: Coding,
    /// Passes over all states and probabilities.
    pub passes: u64,
    /// The epsilon of each draw.
    pub epsilon_per_draw: f64,
    /// Approximate number of records.
    pub records: usize,
}

/// The draws of a pass.
#[derive(Debug)]
pub struct Pass<'a> {
    /// Number of the pass, from 0.
    pub number: u64,
    /// The category probabilities of all states: all categories of a state together.
    pub theta: &'a [f64],
    /// The states of all cells.
    pub assignments: &'a [usize],
    steps: usize,
    transitions: &'a mut Transitions,
}

impl Pass<'_> {
    /// Multiplies `weights` by the probability of each state of a cell, given those of all others.
    pub fn predictive(&mut self, cell: usize, weights: &mut Vec<f64>) {
        let first = weights.len();
        weights.resize(first + self.transitions.states(), 0.0);
        self.transitions.predictive(self.assignments, self.steps, cell, &mut weights[first..]);
    }
}

/// The score of an event for each candidate: its log-likelihood, minus the mean over candidates.
struct Scores<'a> {
    layout: &'a Layout,
    coding: &'a Coding,
    /// Centred logarithms: the candidates of a category are adjacent.
    logs: Vec<f64>,
    candidates: usize,
}

impl<'a> Scores<'a> {
    /// For the probabilities of candidates, all categories of one together.
    fn new(layout: &'a Layout, coding: &'a Coding, probabilities: &[f64]) -> Self {
        let width = layout.categories();
        let candidates = probabilities.len() / width;
        let mut logs = vec![0.0; probabilities.len()];
        for (c, distribution) in probabilities.chunks(width).enumerate() {
            distribution.iter().enumerate().for_each(|(j, share)| logs[j * candidates + c] = share.ln());
        }
        for category in logs.chunks_mut(candidates) {
            let mean = category.iter().sum::<f64>() / candidates as f64;
            category.iter_mut().for_each(|log| *log -= mean);
        }
        Self { layout, coding, logs, candidates }
    }
}

impl Query for Scores<'_> {
    fn width(&self) -> usize {
        self.candidates
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        for (range, level) in self.layout.field_ranges().zip(self.coding.event(record)) {
            let Some(level) = level else { continue };
            let logs = &self.logs[(range.start + level) * self.candidates..][..self.candidates];
            out.iter_mut().zip(logs).for_each(|(score, log)| *score += log);
        }
    }
}

/// The planned draws among candidates.
fn draws(candidates: usize, epsilon: f64, draws: u64) -> Draws {
    let (what, half) = ("a state or its category probabilities".into(), 0.5 * RANGE);
    Draws { what, candidates, lower: -half, upper: half, epsilon, draws }
}

/// The draws that any one event takes part in.
fn of_one_event(epsilon: f64, times: u64, records: usize) -> Result<(Plan, DrawId), FitError> {
    let mut plan = Plan::new(records, Adjacency::AddRemove);
    let id = plan.draws(draws(2, epsilon, times))?;
    Ok((plan, id))
}

/// A draw about no event, which charges the ledger.
struct Nothing;

impl Query for Nothing {
    fn width(&self) -> usize {
        2
    }

    fn contribute(&self, _record: &[f64], _out: &mut [f64]) {}
}

impl ExponentialGibbs {
    /// The largest epsilon for each draw that the budget allows.
    ///
    /// # Errors
    /// [`FitError`] if there is none, or if the budget is not for add/remove adjacency.
    pub fn new(
        model: Hmm,
        coding: Coding,
        passes: u64,
        records: usize,
        privacy: &Privacy,
    ) -> Result<Self, FitError> {
        if privacy.adjacency() != Adjacency::AddRemove {
            let (plan, privacy) = (Adjacency::AddRemove, privacy.adjacency());
            return Err(WallError::from(PrivacyError::Adjacency { plan, privacy }).into());
        }
        model.check()?;
        // The cost increases with it, and a single draw may use the whole budget.
        let (mut low, mut high) = (1e-6, privacy.epsilon().min(RANGE));
        for _ in 0..30 {
            let middle = f64::midpoint(low, high);
            let cost = of_one_event(middle, 2 * passes, records)?.0.price(privacy.delta())?;
            if cost.epsilon.upper <= privacy.epsilon() { low = middle } else { high = middle }
        }
        Ok(Self { model, coding, passes, epsilon_per_draw: low, records })
    }

    /// The cost of all passes together.
    ///
    /// # Errors
    /// [`FitError`] if no accountant bounds the cost.
    pub fn price(&self, delta: f64) -> Result<Cost, FitError> {
        Ok(of_one_event(self.epsilon_per_draw, 2 * self.passes, self.records)?.0.price(delta)?)
    }

    /// A wall around some events, with this many draws among candidates.
    fn wall(
        &self,
        rows: Vec<f64>,
        width: usize,
        candidates: usize,
        times: u64,
        source: NoiseSource,
    ) -> Result<(Wall, DrawId), FitError> {
        let mut plan = Plan::new(self.records, Adjacency::AddRemove);
        let id = plan.draws(draws(candidates, self.epsilon_per_draw, times))?;
        // The cost of all walls together is reserved by a separate one, in `sample`.
        let any = Privacy::new(1e9, 0.0, Adjacency::AddRemove).map_err(WallError::from)?;
        Ok((Wall::new(Records::new(rows, width)?, source, plan, &any, Box::new(Unlimited))?, id))
    }

    /// Samples, and reports each pass. `rows` are records encoded by [`Coding`]; the cell of each is determined here,
    /// from that record alone.
    ///
    /// # Errors
    /// [`FitError`] if a wall cannot be built, or if the observer stops it.
    pub fn sample(
        &self,
        rows: &[f64],
        seed: u64,
        privacy: &Privacy,
        (ledger, observer): (Box<dyn Ledger>, Box<dyn Observer>),
        mut use_pass: impl FnMut(&mut Pass<'_>),
    ) -> Result<Receipt, FitError> {
        let Self { model, coding, passes, .. } = self;
        let (layout, states) = (&model.layout, model.states);
        let width = coding.width();
        let mut cells = vec![Vec::new(); layout.cells()];
        for row in rows.chunks(width) {
            if let Some(cell) = coding.cell(layout, row) {
                cells[cell].extend_from_slice(row);
            }
        }
        let fresh = || NoiseSource::from_os().map_err(WallError::from);
        let (plan, event) = of_one_event(self.epsilon_per_draw, 2 * passes, self.records)?;
        let none = Records::new(Vec::new(), width)?;
        let mut account = Wall::new(none, fresh()?, plan, privacy, ledger)?.observed_by(observer);
        let mut walls = cells
            .iter()
            .map(|rows| self.wall(rows.clone(), width, states, *passes, fresh()?))
            .collect::<Result<Vec<_>, FitError>>()?;

        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut assignments: Vec<usize> = cells.iter().map(|_| rng.random_range(0..states)).collect();
        let mut transitions = Transitions::of(states, model.transition_prior, layout.steps, &assignments);
        let mut theta = vec![0.0; states * layout.categories()];
        let none = vec![0.0; layout.categories()];
        for distribution in theta.chunks_mut(layout.categories()) {
            for field in layout.field_ranges() {
                dirichlet(&mut rng, model.emission_prior, &none[field.clone()], &mut distribution[field]);
            }
        }
        let mut weights = vec![0.0; states];
        for pass in 0..*passes {
            account.draw(event, &Nothing, &[])?;
            let scores = Scores::new(layout, coding, &theta);
            for (cell, (wall, id)) in walls.iter_mut().enumerate() {
                let between = transitions.between(&assignments, layout.steps, cell);
                transitions.change(between, assignments[cell], -1.0);
                transitions.weights(between, &mut weights);
                weights.iter_mut().for_each(|weight| *weight = weight.ln());
                assignments[cell] = wall.draw(*id, &scores, &weights)?.index;
                transitions.change(between, assignments[cell], 1.0);
            }
            account.draw(event, &Nothing, &[])?;
            for (state, distribution) in theta.chunks_mut(layout.categories()).enumerate() {
                let own = cells.iter().zip(&assignments).filter(|(_, z)| **z == state);
                let rows: Vec<f64> = own.flat_map(|(rows, _)| rows.iter().copied()).collect();
                let candidates = self.candidates(&mut rng, distribution, pass);
                let (mut wall, id) = self.wall(rows, width, CANDIDATES, 1, fresh()?)?;
                let chosen = wall.draw(id, &Scores::new(layout, coding, &candidates), &[])?.index;
                distribution
                    .copy_from_slice(&candidates[chosen * distribution.len()..][..distribution.len()]);
            }
            use_pass(&mut Pass {
                number: pass,
                theta: &theta,
                assignments: &assignments,
                steps: layout.steps,
                transitions: &mut transitions,
            });
        }
        Ok(account.finish(0)?)
    }

    /// The current probabilities of a state, and alternatives for one of the fields, in turn, that are exchangeable
    /// with them under the prior.
    fn candidates(&self, rng: &mut ChaCha8Rng, distribution: &[f64], pass: u64) -> Vec<f64> {
        // First far from each other, and finally about as near as the tempered posterior is wide if states are
        // equally frequent.
        let tempered = self.epsilon_per_draw / RANGE * self.records as f64 / self.model.states as f64;
        let share = (pass + 1) as f64 / self.passes as f64;
        let common = tempered.max(FIRST).powf(share) * FIRST.powf(1.0 - share);
        let layout = &self.model.layout;
        let field = layout.field_ranges().nth(pass as usize % layout.fields.len()).unwrap_or(0..0);
        let mut centre = vec![0.0; field.len()];
        multinomial(rng, common as u64, &distribution[field.clone()], &mut centre);
        let mut candidates = distribution.to_vec();
        for _ in 1..CANDIDATES {
            let first = candidates.len();
            candidates.extend_from_slice(distribution);
            dirichlet(rng, self.model.emission_prior, &centre, &mut candidates[first..][field.clone()]);
        }
        candidates
    }
}

/// Counts of `n` public draws, one category after the other.
fn multinomial(rng: &mut ChaCha8Rng, n: u64, shares: &[f64], counts: &mut [f64]) {
    let (mut left, mut rest) = (n, 1.0);
    for (share, count) in shares.iter().zip(counts) {
        let p = (share / rest).clamp(0.0, 1.0);
        let drawn = Binomial::new(left, if p.is_nan() { 1.0 } else { p })
            .map_or(0, |distribution| distribution.sample(rng));
        *count = drawn as f64;
        left -= drawn;
        rest -= share;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Coded;
    use super::*;
    use crate::observer::{ObserverError, Step, Unobserved};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    const CATEGORIES: usize = 3;

    /// The probabilities of a draw, from the contributions of the query as clipped by the wall.
    fn distribution(scores: &Scores<'_>, events: &[Vec<f64>], power: f64, log_weights: &[f64]) -> Vec<f64> {
        let mut sums = log_weights.to_vec();
        for event in events {
            let mut out = vec![0.0; scores.width()];
            scores.contribute(event, &mut out);
            sums.iter_mut().zip(&out).for_each(|(sum, x)| *sum += power * x.clamp(-0.5 * RANGE, 0.5 * RANGE));
        }
        let total: f64 = sums.iter().map(|x| x.exp()).sum();
        sums.iter().map(|x| x.exp() / total).collect()
    }

    /// Every outcome of a pass over two cells, two states and three candidates for the probabilities of each, for all
    /// data sets of up to two events and all neighbours with one more. A pass may cost two draws; its states alone,
    /// one.
    #[test]
    fn a_pass_never_exceeds_its_epsilon() {
        let columns = [1, 2, CATEGORIES].map(|levels| Coded { inputs: 1, levels }).to_vec();
        let coding = Coding { columns, region: 0, time: 1 };
        let layout = coding.layout().unwrap();
        // One category that is very rare in one state: without clipping its score would be 20.
        let theta = [0.5, 0.5 - 1e-9, 1e-9, 0.2, 0.1, 0.7];
        let candidates = [[0.6, 0.4 - 1e-6, 1e-6], [0.1, 0.1, 0.8], [1.0 / 3.0; 3]].concat();
        let epsilon = 0.3;
        let power = epsilon / RANGE;
        let (of_states, of_probabilities) =
            (Scores::new(&layout, &coding, &theta), Scores::new(&layout, &coding, &candidates));
        let pass = |events: &[Vec<f64>]| {
            let in_cell = |cells: &[usize]| -> Vec<Vec<f64>> {
                let there =
                    |event: &&Vec<f64>| coding.cell(&layout, event).is_some_and(|c| cells.contains(&c));
                events.iter().filter(there).cloned().collect()
            };
            let mut outcomes = Vec::new();
            for first in 0..2 {
                // From states (0, 1), one cell after the other.
                let draw = |cell: usize, assignments: &[usize]| {
                    let mut transitions = Transitions::of(2, 1.0, 2, assignments);
                    let between = transitions.between(assignments, 2, cell);
                    transitions.change(between, assignments[cell], -1.0);
                    let mut weights = [0.0; 2];
                    transitions.weights(between, &mut weights);
                    distribution(&of_states, &in_cell(&[cell]), power, &weights.map(f64::ln))
                };
                let p_first = draw(0, &[0, 1])[first];
                for (second, p_second) in draw(1, &[first, 1]).into_iter().enumerate() {
                    let cells = |state: usize| -> Vec<usize> {
                        (0..2).filter(|&cell| [first, second][cell] == state).collect()
                    };
                    let probabilities = [0, 1].map(|state| {
                        distribution(&of_probabilities, &in_cell(&cells(state)), power, &[0.0; 3])
                    });
                    for (a, b) in (0..9).map(|k| (k / 3, k % 3)) {
                        outcomes.push((p_first * p_second, probabilities[0][a] * probabilities[1][b]));
                    }
                }
            }
            outcomes
        };
        let all: Vec<Vec<f64>> = (0..2 * CATEGORIES)
            .map(|k| vec![0.0, [-1.0, 1.0][k / CATEGORIES], [-1.0, 0.0, 1.0][k % CATEGORIES]])
            .collect();
        let mut sets = vec![Vec::new()];
        sets.extend(all.iter().map(|a| vec![a.clone()]));
        sets.extend(all.iter().flat_map(|a| all.iter().map(|b| vec![a.clone(), b.clone()])));
        let (mut states, mut both_draws) = (0f64, 0f64);
        for set in &sets {
            let without = pass(set);
            for more in &all {
                let with = pass(&[set.clone(), vec![more.clone()]].concat());
                for (a, b) in without.iter().zip(&with) {
                    states = states.max((a.0 / b.0).ln().abs());
                    both_draws = both_draws.max(((a.0 * a.1) / (b.0 * b.1)).ln().abs());
                }
            }
        }
        assert!(states <= epsilon && both_draws <= 2.0 * epsilon, "{states} {both_draws}");
        // The test can fail: a draw without clipping would exceed it many times.
        assert!(states > 0.3 * epsilon, "{states}");
    }

    /// The charge of passes is that of two draws each, by bounded range: for many small ones $\rho = \varepsilon^2/8$ each.
    #[test]
    fn passes_are_charged_for_two_draws() {
        let columns = [2, 2, 2].map(|levels| Coded { inputs: 1, levels }).to_vec();
        let coding = Coding { columns, region: 0, time: 1 };
        let model = Hmm::new(coding.layout().unwrap(), 2).unwrap();
        let privacy = Privacy::new(5.0, 1e-6, Adjacency::AddRemove).unwrap();
        let gibbs = ExponentialGibbs::new(model.clone(), coding.clone(), 200, 1000, &privacy).unwrap();
        assert!(gibbs.price(1e-6).unwrap().epsilon.upper <= 5.0);
        // By zCDP alone, 400 draws of rho = e^2/8 cost rho + 2 sqrt(rho log(1/delta)) = 5 at rho = 0.392, e = 0.0886.
        assert!(gibbs.epsilon_per_draw > 0.0885, "{}", gibbs.epsilon_per_draw);
        let replace = Privacy::new(5.0, 1e-6, Adjacency::ReplaceOne).unwrap();
        assert!(ExponentialGibbs::new(model, coding, 200, 1000, &replace).is_err());
    }

    /// Stops after this many releases, and counts them.
    struct Counting {
        max_releases: u64,
        made: Arc<AtomicU64>,
    }

    impl Observer for Counting {
        fn should_stop(&mut self) -> bool {
            self.made.load(Ordering::Relaxed) >= self.max_releases
        }
        fn on_release(&mut self, step: Step<'_>, _: &[f64]) -> Result<(), ObserverError> {
            assert_eq!(step.planned, 6);
            self.made.store(step.step, Ordering::Relaxed);
            Ok(())
        }
    }

    /// Three passes are six draws of any one event. An observer that stops after the third ends the second pass
    /// midway.
    #[test]
    fn the_observer_receives_each_half_of_a_pass() {
        let columns = [2, 2, 2].map(|levels| Coded { inputs: 1, levels }).to_vec();
        let coding = Coding { columns, region: 0, time: 1 };
        let model = Hmm::new(coding.layout().unwrap(), 2).unwrap();
        let privacy = Privacy::new(2.0, 1e-6, Adjacency::AddRemove).unwrap();
        let gibbs = ExponentialGibbs::new(model, coding, 3, 10, &privacy).unwrap();
        for (max_releases, passes_made) in [(6, 3), (3, 1)] {
            let (made, mut passes_seen) = (Arc::new(AtomicU64::new(0)), 0);
            // Stops are checked in each pass over records too, so the last release needs a margin.
            let stop = if max_releases == 6 { 7 } else { max_releases };
            let observer = Box::new(Counting { max_releases: stop, made: made.clone() });
            let both: (Box<dyn Ledger>, Box<dyn Observer>) = (Box::new(Unlimited), observer);
            let receipt = gibbs.sample(&[-1.0, 1.0, 1.0], 1, &privacy, both, |_| passes_seen += 1);
            assert_eq!((made.load(Ordering::Relaxed), passes_seen), (max_releases, passes_made));
            assert_eq!(receipt.is_ok_and(|receipt| receipt.groups[0].made == 6), max_releases == 6);
        }
        // A budget that was not planned for is refused before anything is drawn.
        let less = Privacy::new(1.9, 1e-6, Adjacency::AddRemove).unwrap();
        let both: (Box<dyn Ledger>, Box<dyn Observer>) = (Box::new(Unlimited), Box::new(Unobserved));
        assert!(gibbs.sample(&[], 1, &less, both, |_| panic!("a pass")).is_err());
    }
}
