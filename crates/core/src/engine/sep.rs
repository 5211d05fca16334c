//! Stochastic expectation propagation through the wall: SEP, SEP clipped and DP-SEP are one loop.
//!
//! The state is $\theta_L = N\theta_f$, the natural parameters of the likelihood part of $q = p_0 f^N$. A step
//! releases the sum $R$ of the sites of a batch of (expected) size $B$, and moves a share $\beta$ of the way to its
//! estimate for all records:
//!
//! $$\theta_L \leftarrow (1 - \beta)\,\theta_L + \beta \tfrac{N}{B} R.$$
//!
//! With $\beta = \eta B/N$ this is $\theta_q \leftarrow \theta_q + \eta\sum_{n \in B}(\theta_{f_n} - \theta_f)$; $B = 1$ and $\eta = 1$ is the SEP of Li et al.
//! Equation 4 of the DP-SEP paper has $\eta = \gamma/N$, which is $N$ times smaller and hardly moves:
//! [`Damping::Step`] can reproduce it.
//!
//! All computations after the release are linear in it, so the covariance of the noise in $\theta_L$ is exact: see
//! [`Noise`]. Noise can move $\theta_L$ outside the family's domain. The recursion continues with the unprojected
//! $\theta_L$; only the cavities of sites and the result are projected, and projections are counted.

use super::{Noise, SiteModel};
use crate::budget::{Guarantee, NotPrivate};
use crate::jobs::Named;
use crate::wall::{Geometry, Query, QuerySpec, SumId, Wall, WallError};
use reticent_noise::with_wide_vectors;
use serde::{Deserialize, Serialize};

/// The coordinates of a record's contribution, before clipping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coordinates {
    /// Its site $\theta_{f_n}$.
    Factor,
    /// Its site minus the average site, $\theta_{f_n} - \theta_f$. The clipping norm then bounds the influence of a
    /// record under add/remove adjacency too.
    Difference,
    /// Its site in the model's [centred](SiteModel::centre) coordinates at the cavity, which is public.
    Centred,
}

/// The damping $\beta$ of each step: the share of the way to its new value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Damping {
    /// $\beta = \eta B/N$: $\eta = 1$ is that of Li et al., and $\eta = \gamma/N$ the printed step of the DP-SEP paper.
    Step(f64),
    /// The same $\beta$ for all steps.
    Share(f64),
    /// $\beta = 1/(t+1)$ for $t = 0, 1, \dots$: the average of all releases.
    Harmonic,
    /// A weighted average of all releases: weights rise with the square of the step up to this step, and are constant
    /// after it. The first releases are computed at cavities far from the final one and have little weight; the noise
    /// is little more than that of a plain average.
    Rising(u64),
    /// A separate $\beta$ for each step.
    Planned(Vec<f64>),
}

impl Damping {
    fn share(&self, step: u64, batch: f64, records: f64) -> f64 {
        match self {
            Self::Step(eta) => (eta * batch / records).min(1.0),
            Self::Share(beta) => *beta,
            Self::Harmonic => 1.0 / (step + 1) as f64,
            Self::Rising(full) => {
                let weight = |t: u64| ((t + 1) as f64 / (*full).max(1) as f64).min(1.0).powi(2);
                let rising = (0..(step + 1).min(*full)).map(weight).sum::<f64>();
                weight(step) / (rising + (step + 1).saturating_sub(*full) as f64)
            }
            Self::Planned(shares) => shares.get(step as usize).copied().unwrap_or(0.0),
        }
    }

    /// The standard deviation of the noise after this many releases over all records, relative to that of each
    /// release.
    pub(crate) fn noise_left(&self, steps: u64) -> f64 {
        let step = |variance: f64, t: u64| {
            let share = self.share(t, 1.0, 1.0);
            (1.0 - share).powi(2) * variance + share * share
        };
        (0..steps).fold(0.0, step).sqrt()
    }
}

/// A number of steps of the same kind.
#[derive(Debug, Clone)]
pub struct Phase {
    /// The planned sums that it releases, of the width of the model.
    pub sums: SumId,
    /// Number of steps.
    pub steps: u64,
    /// Coordinates of the contributions.
    pub coordinates: Coordinates,
    /// Damping of each step.
    pub damping: Damping,
    /// Clips contributions before the wall, since a wall without privacy does not: SEP clipped.
    pub clip: Option<Geometry>,
}

/// The iterates that are averaged for the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Average {
    /// The last one.
    #[default]
    Last,
    /// The mean of the second half of the steps of the last phase.
    SecondHalf,
}

/// The result of SEP.
#[derive(Debug, Clone)]
pub struct Fit {
    /// Natural parameters of $q$, which is proper.
    pub natural: Vec<f64>,
    /// The covariance of the privacy noise in them, before projection.
    pub noise: Noise,
    /// Number of projections to a proper density.
    pub projections: u64,
}

/// The sites of records at a cavity: the query of a step.
#[derive(Serialize)]
#[serde(bound = "M: Serialize, M::Cavity: Serialize")]
pub struct Sites<'a, M: SiteModel> {
    pub(super) model: &'a M,
    pub(super) cavity: &'a M::Cavity,
    pub(super) factor: &'a [f64],
    pub(super) coordinates: Coordinates,
    pub(super) clip: Option<&'a Geometry>,
}

impl<M: SiteModel> Sites<'_, M> {
    /// The model of the sites.
    #[must_use]
    pub fn model(&self) -> &M {
        self.model
    }
}

impl<M: SiteModel> Query for Sites<'_, M> {
    fn width(&self) -> usize {
        self.model.width()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        if self.coordinates == Coordinates::Centred {
            self.model.site_centred(self.cavity, record, out);
        } else {
            self.model.site(self.cavity, record, out);
        }
        if self.coordinates == Coordinates::Difference {
            out.iter_mut().zip(self.factor).for_each(|(x, f)| *x -= f);
        }
        if let Some(geometry) = self.clip {
            clip(geometry, out);
        }
    }

    fn spec(&self) -> Option<QuerySpec> {
        M::sites_spec(self)
    }
}

/// The same, read from a job.
#[derive(Deserialize)]
#[serde(bound = "M: Deserialize<'de>, M::Cavity: Deserialize<'de>")]
pub(crate) struct OwnedSites<M: SiteModel> {
    model: M,
    cavity: M::Cavity,
    factor: Vec<f64>,
    coordinates: Coordinates,
    clip: Option<Geometry>,
}

impl<M: SiteModel> OwnedSites<M> {
    fn sites(&self) -> Sites<'_, M> {
        let Self { model, cavity, factor, coordinates, clip } = self;
        Sites { model, cavity, factor, coordinates: *coordinates, clip: clip.as_ref() }
    }
}

impl<M: SiteModel + Named> Named for OwnedSites<M> {
    const NAME: &'static str = M::NAME;
}

impl<M: SiteModel + Named> Named for Sites<'_, M> {
    const NAME: &'static str = M::NAME;
}

impl<M: SiteModel> Query for OwnedSites<M> {
    fn width(&self) -> usize {
        self.model.width()
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        self.sites().contribute(record, out);
    }
}

/// Clips in floating point. It gives no privacy: the wall clips again, exactly.
pub(crate) fn clip(geometry: &Geometry, x: &mut [f64]) {
    let (radius, blocks) = match geometry {
        Geometry::Ball { radius } => (*radius, &[][..]),
        Geometry::Blocks { radius, blocks } => (*radius, &blocks[..]),
        _ => return,
    };
    let scales =
        blocks.iter().flat_map(|b| std::iter::repeat_n(b.scale, b.width)).chain(std::iter::repeat(1.0));
    let norm = x.iter().zip(scales).map(|(x, scale)| x / scale).map(|x| x * x).sum::<f64>().sqrt();
    if norm > radius {
        x.iter_mut().for_each(|x| *x *= radius / norm);
    } else if norm.is_nan() {
        x.fill(0.0);
    }
}

/// The state of a run, which can be continued with the same model or with one whose prior has changed.
#[derive(Debug, Clone)]
pub struct Sep {
    records: f64,
    likelihood: Vec<f64>,
    noise: Noise,
    projections: u64,
    /// The averaged result, if it is not the last iterate.
    averaged: Option<(Vec<f64>, Noise)>,
}

impl Sep {
    /// Starts over a public number of records, from the likelihood part `start` (zeros by default).
    #[must_use]
    pub fn new<M: SiteModel>(model: &M, records: usize, start: &[f64]) -> Self {
        let noise = Noise::none(model.blocks());
        let (likelihood, projections, averaged) = (start.to_vec(), 0, None);
        Self { records: records as f64, likelihood, noise, projections, averaged }
    }

    /// Takes the steps of a phase.
    ///
    /// # Privacy
    /// Only uses released sums: all of it is post-processing.
    ///
    /// # Errors
    /// Those of the wall.
    pub fn run<M: SiteModel>(
        &mut self,
        model: &M,
        wall: &mut Wall,
        phase: &Phase,
        average: Average,
    ) -> Result<(), WallError> {
        let (width, n, by_n) = (model.width(), self.records, 1.0 / self.records);
        let (mut factor, mut natural, mut cavity) =
            (vec![0.0; width], vec![0.0; width], M::Cavity::default());
        let mut mean = (average == Average::SecondHalf).then(|| Mean::new(&self.noise, width));
        let coordinates = phase.coordinates;
        for step in 0..phase.steps {
            if coordinates == Coordinates::Difference {
                factor.iter_mut().zip(&self.likelihood).for_each(|(f, l)| *f = l * by_n);
            }
            let kept = 1.0 - by_n;
            self.projections +=
                model.leave_out_noisy(&self.likelihood, &self.noise, kept, &mut natural, &mut cavity);
            let sites =
                Sites { model, cavity: &cavity, factor: &factor, coordinates, clip: phase.clip.as_ref() };
            let mut released = wall.sum(phase.sums, &sites)?;
            let batch = released.expected_batch;
            let share = phase.damping.share(step, batch, n);
            let by = share * n / batch;
            self.noise.scale(1.0 - share);
            if coordinates == Coordinates::Centred {
                model.uncentre(&cavity, &mut released.values);
            }
            match coordinates {
                _ if released.guarantee == Guarantee::None(NotPrivate::NoNoise) => {}
                Coordinates::Centred => match model.shear(&cavity) {
                    Some(shear) => self.noise.add_sheared(&released.noise_sd, by, shear),
                    None => self.noise.add_mapped(&released.noise_sd, by, |x| model.uncentre(&cavity, x)),
                },
                _ => self.noise.add(&released.noise_sd, by),
            }
            // A sum of differences lacks the average site of each record in the batch.
            let kept = if coordinates == Coordinates::Difference { 1.0 } else { 1.0 - share };
            with_wide_vectors(
                #[inline(always)]
                || {
                    for (state, sum) in self.likelihood.iter_mut().zip(&released.values) {
                        *state = kept * *state + by * sum;
                    }
                },
            );
            if let Some(mean) = mean.as_mut().filter(|_| 2 * step >= phase.steps) {
                mean.push(&self.likelihood, &self.noise, 1.0 - share);
            }
        }
        self.averaged = mean.and_then(Mean::finish);
        Ok(())
    }

    /// The likelihood part $\theta_L$, unprojected.
    #[must_use]
    pub fn likelihood(&self) -> &[f64] {
        &self.likelihood
    }

    /// The posterior, with the prior of the model.
    #[must_use]
    pub fn fit<M: SiteModel>(&self, model: &M) -> Fit {
        let (likelihood, noise) = match &self.averaged {
            Some((likelihood, noise)) => (likelihood, noise),
            None => (&self.likelihood, &self.noise),
        };
        let mut natural: Vec<f64> = model.prior().iter().zip(likelihood).map(|(p, l)| p + l).collect();
        let projections = self.projections + model.project(&mut natural);
        Fit { natural, noise: noise.clone(), projections }
    }
}

/// Runs SEP over `records` (a public number of them) behind a wall, from the likelihood part `start` (zeros by
/// default). The average, if any, is over the last phase.
///
/// # Privacy
/// Only uses released sums: all of it is post-processing.
///
/// # Errors
/// Those of the wall.
pub fn sep<M: SiteModel>(
    model: &M,
    wall: &mut Wall,
    records: usize,
    start: &[f64],
    phases: &[Phase],
    average: Average,
) -> Result<Fit, WallError> {
    let mut state = Sep::new(model, records, start);
    for (k, phase) in phases.iter().enumerate() {
        let last = k + 1 == phases.len();
        state.run(model, wall, phase, if last { average } else { Average::Last })?;
    }
    Ok(state.fit(model))
}

/// The running mean of iterates $\theta_t$, with the covariance of its noise: the covariances of $S = \sum\theta_t$
/// and of $S$ with $\theta_t$ obey recursions.
struct Mean {
    count: f64,
    sum: Vec<f64>,
    /// Covariance of the sum with the iterate, and of the sum.
    cross: Noise,
    square: Noise,
}

impl Mean {
    fn new(like: &Noise, width: usize) -> Self {
        let none = like.emptied();
        Self { count: 0.0, sum: vec![0.0; width], cross: none.clone(), square: none }
    }

    fn push(&mut self, iterate: &[f64], noise: &Noise, kept: f64) {
        self.count += 1.0;
        self.sum.iter_mut().zip(iterate).for_each(|(sum, x)| *sum += x);
        // The share that the iterate kept of its predecessor is correlated with the sum so far. The new noise is
        // independent.
        self.cross.scale(kept.abs().sqrt());
        self.square.add_covariance(&self.cross, 2.0);
        self.square.add_covariance(noise, 1.0);
        self.cross.add_covariance(noise, 1.0);
    }

    fn finish(mut self) -> Option<(Vec<f64>, Noise)> {
        if self.count == 0.0 {
            return None;
        }
        self.square.scale(1.0 / self.count);
        Some((self.sum.iter().map(|x| x / self.count).collect(), self.square))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The weights that shares give to each release: squares of the step up to the fourth, and then all the same.
    #[test]
    fn rising_weights_are_squares_up_to_a_step() {
        let damping = Damping::Rising(4);
        let mut weights: Vec<f64> = Vec::new();
        for step in 0..10 {
            let share = damping.share(step, 1.0, 1.0);
            weights.iter_mut().for_each(|weight| *weight *= 1.0 - share);
            weights.push(share);
        }
        let expected: Vec<f64> = (1..=10u32).map(|t| (f64::from(t) / 4.0).min(1.0).powi(2)).collect();
        let total: f64 = expected.iter().sum();
        for (found, expected) in weights.iter().zip(&expected) {
            assert!((found - expected / total).abs() < 1e-12, "{weights:?}");
        }
        let square: f64 = expected.iter().map(|x| x * x).sum();
        assert!((damping.noise_left(10) - square.sqrt() / total).abs() < 1e-12);
        assert!((Damping::Harmonic.noise_left(25) - 0.2).abs() < 1e-12);
    }
}
