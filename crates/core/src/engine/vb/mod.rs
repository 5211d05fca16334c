//! Stochastic variational Bayes for conjugate-exponential models, through the wall.
//!
//! Such a model has local variables for each record and global variables for all of them. Given the globals, a record
//! has *expected sufficient statistics* $\bar s_n$; the posterior of the globals has natural parameters
//! $\lambda_0 + S$ with $S = \sum_n \bar s_n$, and depends on the records only through $S$. A step releases the sum
//! $R$ of the statistics of a batch of (expected) size $B$, and moves a share $\rho$ of the way to its estimate for
//! all $N$ records:
//!
//! $$S \leftarrow (1 - \rho) S + \rho \tfrac NB R.$$
//!
//! This is the update of natural parameters of Algorithms 1 and 2 of the paper: the prior is part of both sides and
//! cancels. $\rho = 1$ with all records is batch variational Bayes. All computations after the release are linear in
//! it, so the variance of the privacy noise in $S$ is exact, and is passed to the model with it.
//!
//! A model defines its statistics, as a pure function of one record and public globals, and the M-step for their
//! sums.
//!
//! # Privacy
//! All blocks of statistics are one contribution, clipped once and with one noise: blocks share a batch, so they are
//! one mechanism. The geometry of the planned sums makes their units comparable; see [`Share`] for scales.
//!
//! # Citation
//! Park, Foulds, Chaudhuri, Welling, "Variational Bayes in private settings (VIPS)", JAIR 2020; Hoffman, Blei, Wang, Paisley, "Stochastic
//! variational inference", JMLR 2013.

mod composition;
mod plan;
mod share;

pub use composition::Composition;
pub use plan::VbPlan;
pub use share::Share;

use crate::budget::{Guarantee, NotPrivate};
use crate::wall::{Query, QuerySpec, SumId, Wall, WallError};
use reticent_noise::with_wide_vectors;
use serde::{Deserialize, Serialize};

/// A model whose global variables depend on the records only through sums of expected sufficient statistics.
pub trait ExpectationModel: Sync {
    /// Expectations under the globals that the statistics need, computed once for all records of a step.
    type Expectations: Sync;

    /// Coordinates of the statistics of a record.
    fn width(&self) -> usize;

    /// Coordinates in a block, if statistics are [sparse](Query::block).
    fn block(&self) -> usize {
        self.width()
    }

    /// Writes the indices of the non-zero [blocks](Query::blocks) of the statistics of a record.
    fn blocks(&self, _record: &[f64], blocks: &mut Vec<usize>) {
        blocks.push(0);
    }

    /// Prepares the E-step at the current globals.
    fn condition(&self) -> Self::Expectations;

    /// Writes the expected statistics of a record to `out`, which holds zeros. A pure function of the record and of public globals: no local
    /// variable outlives the call.
    fn statistics(&self, expectations: &Self::Expectations, record: &[f64], out: &mut [f64]);

    /// Statistics as data, which another process can compute; `None` if only this one can.
    fn spec(&self, _expectations: &Self::Expectations) -> Option<QuerySpec> {
        None
    }

    /// The M-step: globals for these sums. Returns how many parts of them noise had moved out of their domain and
    /// were projected back.
    fn maximise(&mut self, sums: &ExpectedSums) -> u64;
}

/// Noisy estimates of the sums of expected statistics of all records.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedSums {
    /// Number of records $N$.
    pub records: f64,
    /// Estimates of $S$.
    pub values: Vec<f64>,
    /// Variance of the privacy noise in each of them; the noises are independent of each other and of the records.
    pub noise_variance: Vec<f64>,
}

/// The step size $\rho$: the share of the way to the new estimate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepSize {
    /// $\rho = 1$: earlier estimates are discarded.
    #[serde(rename = "whole")]
    Full,
    /// $\rho_t = (\tau_0 + t)^{-\kappa}$ for $t = 1, 2, \dots$
    Decay {
        /// Delay $\tau_0$.
        delay: f64,
        /// Forgetting rate $\kappa$, above 1/2 and at most 1.
        forgetting: f64,
    },
    /// $\rho_t = 1/t$: the average of all releases.
    Average,
    /// $\rho_t = 2/(t+1)$: an average in which the weight of a release is proportional to its number, so that early
    /// estimates are forgotten.
    Linear,
}

impl StepSize {
    /// The step size of step `step`, from 1.
    #[must_use]
    pub fn share(self, step: u64) -> f64 {
        match self {
            Self::Full => 1.0,
            Self::Decay { delay, forgetting } => (delay + step as f64).powf(-forgetting).min(1.0),
            Self::Average => 1.0 / step as f64,
            Self::Linear => 2.0 / (step as f64 + 1.0),
        }
    }
}

/// The query of a step.
struct Statistics<'a, M: ExpectationModel> {
    model: &'a M,
    expectations: &'a M::Expectations,
}

impl<M: ExpectationModel> Query for Statistics<'_, M> {
    fn width(&self) -> usize {
        self.model.width()
    }

    fn block(&self) -> usize {
        self.model.block()
    }

    fn blocks(&self, record: &[f64], blocks: &mut Vec<usize>) {
        self.model.blocks(record, blocks);
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        self.model.statistics(self.expectations, record, out);
    }

    fn spec(&self) -> Option<QuerySpec> {
        self.model.spec(self.expectations)
    }
}

/// The state of a run.
#[derive(Debug, Clone)]
pub struct Vb {
    sums: ExpectedSums,
    steps: u64,
    projections: u64,
}

impl Vb {
    /// Starts over a public number of records, from the sums that the model was initialised with: zeros if it starts
    /// with its prior, or if the first step is a full one.
    #[must_use]
    pub fn new(records: usize, start: Vec<f64>) -> Self {
        let noise_variance = vec![0.0; start.len()];
        let sums = ExpectedSums { records: records as f64, values: start, noise_variance };
        Self { sums, steps: 0, projections: 0 }
    }

    /// Takes a step: statistics of a batch at the current globals, a share of the way towards them, and the M-step.
    ///
    /// # Privacy
    /// Only uses released sums: all of it is post-processing.
    ///
    /// # Errors
    /// Those of the wall.
    pub fn step<M: ExpectationModel>(
        &mut self,
        model: &mut M,
        wall: &mut Wall,
        id: SumId,
        size: StepSize,
    ) -> Result<(), WallError> {
        let expectations = model.condition();
        let released = wall.sum(id, &Statistics { model, expectations: &expectations })?;
        drop(expectations);
        self.steps += 1;
        let share = size.share(self.steps);
        let (kept, by) = (1.0 - share, share * self.sums.records / released.expected_batch);
        let quiet = released.guarantee == Guarantee::None(NotPrivate::NoNoise);
        let ExpectedSums { values, noise_variance, .. } = &mut self.sums;
        with_wide_vectors(
            #[inline(always)]
            || {
                values.iter_mut().zip(&released.values).for_each(|(s, r)| *s = kept * *s + by * r);
                let new = if quiet { 0.0 } else { by * by };
                for (variance, sd) in noise_variance.iter_mut().zip(released.noise_sd.iter()) {
                    *variance = kept * kept * *variance + new * sd * sd;
                }
            },
        );
        self.projections += model.maximise(&self.sums);
        Ok(())
    }

    /// The current estimates of the sums.
    #[must_use]
    pub fn sums(&self) -> &ExpectedSums {
        &self.sums
    }

    /// Number of steps taken.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Number of projections of globals into their domain.
    #[must_use]
    pub fn projections(&self) -> u64 {
        self.projections
    }
}

#[cfg(test)]
mod tests;
