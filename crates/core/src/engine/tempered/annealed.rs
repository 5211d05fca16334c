//! Private annealed importance sampling.

use super::barker::{Barker, barker_draws};
use crate::budget::{Ledger, Privacy};
use crate::receipt::Receipt;
use crate::wall::{Draws, NoiseSource, Plan, Query, Records, Wall, WallError};
use rand::Rng;

/// The $L_1$ sensitivity of the normalised weights of particles, if each log weight changes by at most `h`:
/// $2\tanh(h/2)$. A pair of equal weights, one of which rises and the other falls, attains it; the paper's bound is
/// 2.
#[must_use]
pub fn weights_sensitivity(h: f64) -> f64 {
    2.0 * (0.5 * h).tanh()
}

/// Particles from the prior, annealed to the posterior at a power $\beta_0$; one of them is drawn by its importance
/// weight.
///
/// # Privacy
/// A step of a particle at the power $\beta_j$ costs $2\beta_j$ times the bound of log-likelihood ratios, under
/// replace-one adjacency. Weights are not released: one particle is drawn by them, and log weights are sums over
/// records of scores within $\beta_0$ times the range of $\log p(x|\theta)$, so the draw costs twice that, without
/// further noise.
///
/// # Citation
/// Foulds et al., UAI 2016, appendix C.2, with the exact sensitivity instead of its bound of 2.
#[derive(Debug, Clone, PartialEq)]
pub struct AnnealedPlan {
    /// Powers $\beta$ from near 0 up to $\beta_0 \le 1$.
    pub powers: Vec<f64>,
    /// Number of particles.
    pub particles: usize,
    /// Lower and upper bound of $\log p(x|\theta)$.
    pub log_likelihoods: (f64, f64),
    /// Bound of the change of $\log p(x|\theta)$ in a step.
    pub bound: f64,
}

/// Runs the plan and returns the chosen particle. `draw` draws a particle from the prior and `propose` is a symmetric
/// proposal.
///
/// # Errors
/// Those of the wall.
#[allow(clippy::too_many_arguments, reason = "a model is three functions, and a run has four inputs")]
pub fn annealed<L, P, R: Rng>(
    plan: &AnnealedPlan,
    model: &Barker<L, P>,
    mut draw: impl FnMut(&mut R) -> Vec<f64>,
    mut propose: impl FnMut(&[f64], &mut R) -> Vec<f64>,
    (records, count): (Records, usize),
    source: NoiseSource,
    privacy: &Privacy,
    ledger: Box<dyn Ledger>,
    rng: &mut R,
) -> Result<(Vec<f64>, Receipt), WallError>
where
    L: Fn(&[f64], &[f64]) -> f64 + Sync,
    P: Fn(&[f64]) -> f64,
{
    let (releases, steps, choice) = plan.releases(count, privacy)?;
    let mut wall = Wall::new(records, source, releases, privacy, ledger)?;
    let mut particles = Vec::new();
    for _ in 0..plan.particles {
        let mut at = draw(rng);
        let mut path = Vec::new();
        for (&step, share) in steps.iter().zip(plan.shares()) {
            path.push((share, at.clone()));
            let proposal = propose(&at, rng);
            model.step(&mut wall, step, &mut at, proposal)?;
        }
        particles.push((path, at));
    }
    let query = Choice { log_likelihood: &model.log_likelihood, particles: &particles };
    let chosen = wall.draw(choice, &query, &[])?.index;
    let receipt = wall.finish(0)?;
    Ok((particles.swap_remove(chosen).1, receipt))
}

impl AnnealedPlan {
    /// $\beta_j - \beta_{j+1}$: the weight of each state of a path.
    fn shares(&self) -> impl Iterator<Item = f64> {
        self.powers.iter().scan(0.0, |last, &power| {
            let share = power - *last;
            *last = power;
            Some(share)
        })
    }

    fn releases(
        &self,
        records: usize,
        privacy: &Privacy,
    ) -> Result<(Plan, Vec<crate::wall::DrawId>, crate::wall::DrawId), WallError> {
        let factor = privacy.adjacency().sensitivity_factor(2.0);
        let mut plan = Plan::new(records, privacy.adjacency());
        let step = |&power: &f64| {
            plan.draws(barker_draws(self.bound, factor * power * self.bound, self.particles as u64))
        };
        let steps = self.powers.iter().map(step).collect::<Result<_, _>>()?;
        let last = self.powers.last().copied().unwrap_or(1.0);
        let (lower, upper) = (last * self.log_likelihoods.0, last * self.log_likelihoods.1);
        let epsilon = factor * (upper - lower);
        let what = "draw of a particle by its weight".into();
        let choice =
            plan.draws(Draws { what, candidates: self.particles, lower, upper, epsilon, draws: 1 })?;
        Ok((plan, steps, choice))
    }
}

type Path = (Vec<(f64, Vec<f64>)>, Vec<f64>);

struct Choice<'a, L> {
    log_likelihood: &'a L,
    particles: &'a [Path],
}

impl<L: Fn(&[f64], &[f64]) -> f64 + Sync> Query for Choice<'_, L> {
    fn width(&self) -> usize {
        self.particles.len()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        for (out, (path, _)) in out.iter_mut().zip(self.particles) {
            *out = path.iter().map(|(share, at)| share * (self.log_likelihood)(record, at)).sum();
        }
    }
}
