//! Sampling of the records of a release, and the accounting event of each sampler.

use reticent_accounting::{Event, Mechanism, Sampling};
use reticent_noise::{NoiseError, NoiseSource, SampleKey};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// How the records of each release are sampled. The same value samples them and names the accounting event.
///
/// # Privacy
/// The sample must stay secret, and its distribution is exactly the accounted one. Attacked by
/// `fixed_batches_are_distinct_and_uniform`, `poisson_rate_is_the_accounted_one`,
/// `a_pass_uses_each_record_once` and `the_event_is_that_of_the_sampler`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sampler {
    /// Every record, every time.
    Full,
    /// Exactly `batch` records without replacement, afresh each time.
    Fixed {
        /// Records in a batch.
        batch: usize,
    },
    /// Every record independently with probability `rate`.
    Poisson {
        /// The inclusion probability.
        rate: Rate,
    },
    /// Disjoint batches of a shuffled data set, shuffled again after each pass over all records. A complete pass
    /// costs as much as one release about all records: no amplification is proved for it.
    Pass {
        /// Records in a batch; the last one of a pass may have fewer.
        batch: usize,
    },
}

/// A probability $k/2^{53}$, which fair coins can realise exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(u64);

impl Rate {
    /// The largest such probability that is not above `rate`; `None` unless that is in $(0, 1]$.
    #[must_use]
    pub fn at_most(rate: f64) -> Option<Self> {
        let k = rate * (1u64 << 53) as f64; // exact: a power of two
        (k >= 1.0 && rate <= 1.0).then_some(Self(k as u64))
    }

    /// The probability, exactly.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0 as f64 / (1u64 << 53) as f64
    }
}

impl Sampler {
    /// The accounting event of `steps` releases.
    pub(super) fn event(self, mechanism: Mechanism, steps: u64, records: usize) -> Event {
        let (sampling, times) = match self {
            Self::Full => (Sampling::None, steps),
            Self::Fixed { batch } => {
                (Sampling::Fixed { batch: batch as u64, records: records as u64 }, steps)
            }
            Self::Poisson { rate } => (Sampling::Poisson { rate: rate.value() }, steps),
            // An incomplete pass costs as much as a complete one.
            Self::Pass { batch } => (Sampling::Pass, steps.div_ceil(records.div_ceil(batch) as u64)),
        };
        Event::release(mechanism, sampling).repeat(times)
    }

    /// Whether the batch size is possible for this number of records.
    pub(super) fn fits(self, records: usize) -> bool {
        match self {
            Self::Full | Self::Poisson { .. } => records > 0,
            Self::Fixed { batch } | Self::Pass { batch } => (1..=records).contains(&batch),
        }
    }

    /// The expected size of the batch of this step (from 0), out of a public number of records.
    pub(super) fn expected(self, step: u64, records: usize) -> f64 {
        match self {
            Self::Full => records as f64,
            Self::Fixed { batch } => batch as f64,
            Self::Poisson { rate } => rate.value() * records as f64,
            Self::Pass { batch } => {
                let first = (step % records.div_ceil(batch) as u64) as usize * batch;
                batch.min(records - first) as f64
            }
        }
    }

    /// The sampled units of a range, if a unit's coin decides alone whether it is; `None` for all units, or for another sampler.
    pub(super) fn sampled(self, key: &SampleKey, units: Range<usize>) -> Option<Vec<usize>> {
        let Self::Poisson { rate } = self else { return None };
        Some(key.sampled(units, rate.0).collect())
    }

    /// Whether any part of the units can be sampled without the others.
    pub(super) fn in_parts(self) -> bool {
        matches!(self, Self::Full | Self::Poisson { .. })
    }

    /// Samples the rows of a step (from 0). `state` belongs to this sampler: the order of a pass, or the last batch.
    pub(super) fn choose<'a>(
        self,
        (step, key): (u64, &SampleKey),
        rows: usize,
        source: &mut NoiseSource,
        state: &'a mut Vec<usize>,
    ) -> Result<Batch<'a>, NoiseError> {
        match self {
            Self::Full => return Ok(None),
            Self::Fixed { batch } => *state = source.coins()?.subset(rows, batch)?,
            Self::Poisson { .. } => *state = self.sampled(key, 0..rows).unwrap_or_default(),
            Self::Pass { batch } => {
                let place = (step % rows.div_ceil(batch).max(1) as u64) as usize;
                if place == 0 {
                    *state = source.coins()?.permutation(rows);
                }
                let first = place * batch;
                return Ok(Some(&state[first..rows.min(first + batch)]));
            }
        }
        Ok(Some(state))
    }
}

/// Row indices of one release; `None` for all rows.
pub(super) type Batch<'a> = Option<&'a [usize]>;

#[cfg(test)]
#[path = "sampler_tests.rs"]
mod tests;
