//! Private Metropolis-Hastings with Barker's acceptance.

use crate::wall::{DrawId, Draws, Query, Wall, WallError};
use rand::Rng;

/// A chain of which every step is a draw between staying and moving.
///
/// The wall's draw between two candidates moves with probability $\mathrm{sigmoid}(\lambda\sum_n\Delta_n + b)$:
/// Barker's acceptance, which leaves the tempered posterior invariant as that of Metropolis does. Metropolis' own,
/// $\min(1, \cdot)$, is not private: whether a move decreases the density, and so may be rejected, depends on the
/// record.
///
/// # Privacy
/// The logarithm of the sigmoid has a slope of at most 1, so the log probabilities of accepting and rejecting change
/// by at most $2\lambda\max|\Delta|$ if a record is replaced. $\Delta$ is clipped to the planned bound. Attacked by
/// `accepting_and_refusing_cost_what_is_charged`.
///
/// # Citation
/// Heikkilä, Jälkö, Dikmen, Honkela, "Differentially private Markov chain Monte Carlo", NeurIPS 2019. It replaces the acceptance of Foulds et al., appendix C.1.
pub struct Barker<L, P> {
    /// $\log p(x|\theta)$ of a record.
    pub log_likelihood: L,
    /// $\log p(\theta)$, up to a constant.
    pub log_prior: P,
}

/// The planned draws of this many steps with log-likelihood ratios within `bound` of 0, each of this epsilon.
#[must_use]
pub fn barker_draws(bound: f64, epsilon: f64, steps: u64) -> Draws {
    let half = 0.5 * bound;
    let what = "MCMC steps: stay or move".into();
    Draws { what, candidates: 2, lower: -half, upper: half, epsilon, draws: steps }
}

impl<L, P> Barker<L, P>
where
    L: Fn(&[f64], &[f64]) -> f64 + Sync,
    P: Fn(&[f64]) -> f64,
{
    /// A step from a public state to a symmetric proposal. Returns whether it was accepted.
    ///
    /// # Errors
    /// Those of the wall.
    pub fn step(
        &self,
        wall: &mut Wall,
        id: DrawId,
        at: &mut Vec<f64>,
        proposal: Vec<f64>,
    ) -> Result<bool, WallError> {
        let prior = (self.log_prior)(&proposal) - (self.log_prior)(at);
        // A move outside the support of the prior is rejected publicly.
        if prior.is_nan() || prior <= -1e6 {
            return Ok(false);
        }
        let query = Move { log_likelihood: &self.log_likelihood, from: at, to: &proposal };
        let moved = wall.draw(id, &query, &[0.0, prior.min(1e5)])?.index == 1;
        if moved {
            *at = proposal;
        }
        Ok(moved)
    }

    /// The states of a chain of this many steps.
    ///
    /// # Errors
    /// Those of the wall.
    pub fn run<R: Rng>(
        &self,
        wall: &mut Wall,
        id: DrawId,
        start: Vec<f64>,
        steps: u64,
        mut propose: impl FnMut(&[f64], &mut R) -> Vec<f64>,
        rng: &mut R,
    ) -> Result<Vec<Vec<f64>>, WallError> {
        let mut at = start;
        let mut states = Vec::new();
        for _ in 0..steps {
            let proposal = propose(&at, rng);
            self.step(wall, id, &mut at, proposal)?;
            states.push(at.clone());
        }
        Ok(states)
    }
}

struct Move<'a, L> {
    log_likelihood: &'a L,
    from: &'a [f64],
    to: &'a [f64],
}

impl<L: Fn(&[f64], &[f64]) -> f64 + Sync> Query for Move<'_, L> {
    fn width(&self) -> usize {
        2
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let ratio = (self.log_likelihood)(record, self.to) - (self.log_likelihood)(record, self.from);
        out.copy_from_slice(&[-0.5 * ratio, 0.5 * ratio]);
    }
}
