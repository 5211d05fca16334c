//! Events: trees of releases; adjacency: which pairs of data sets are neighbours.

use std::fmt;

use crate::error::{Error, check};

/// Which pairs of data sets are neighbours, and so must be hard to distinguish.
///
/// The *noise multiplier* of an event is always the standard deviation of its noise over the sensitivity **under
/// the adjacency it is accounted for**. A sum of vectors clipped to $\lVert x\rVert_2 \le C$ has sensitivity $C$
/// under [`AddRemove`](Adjacency::AddRemove) and $2C$ under [`ReplaceOne`](Adjacency::ReplaceOne): the same noise of
/// standard deviation $s$ has multiplier $s/C$ under the first and $s/2C$ under the second. Other libraries differ
/// here by that factor of two, sometimes between two accountants of one library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Adjacency {
    /// One record is exchanged for another; the number of records is public.
    ReplaceOne,
    /// One record is added or removed; the number of records is not public.
    // Older files have the alias.
    #[cfg_attr(feature = "serde", serde(alias = "add/remove"))]
    AddRemove,
}

impl Adjacency {
    /// The sensitivity of a sum over the clipping norm: 1 under add/remove adjacency; under replace-one the diameter of the set of
    /// contributions over the norm: 2 for a ball, $\sqrt2$ where no coordinate is negative.
    #[must_use]
    pub fn sensitivity_factor(self, replace_one: f64) -> f64 {
        match self {
            Self::ReplaceOne => replace_one,
            Self::AddRemove => 1.0,
        }
    }
}

impl fmt::Display for Adjacency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReplaceOne => "replace-one",
            Self::AddRemove => "add/remove",
        })
    }
}

/// The noise of one release.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Mechanism {
    /// Gaussian noise of standard deviation `noise_multiplier` times the $\ell_2$ sensitivity.
    Gaussian {
        /// Standard deviation over the sensitivity of the stated adjacency.
        noise_multiplier: f64,
    },
    /// Laplace noise of scale `noise_multiplier` times the $\ell_1$ sensitivity.
    Laplace {
        /// Scale over the sensitivity of the stated adjacency; one release is $1/b$-DP.
        noise_multiplier: f64,
    },
    /// Any $\varepsilon$-DP mechanism.
    Pure {
        /// The largest log probability ratio between neighbours.
        epsilon: f64,
    },
    /// Any $\varepsilon$-bounded-range mechanism, such as the exponential mechanism: the log probability ratio
    /// between neighbours varies by at most $\varepsilon$ over the outcomes.
    BoundedRange {
        /// The width of the interval that contains the log ratio.
        epsilon: f64,
    },
}

/// How the records of one release are chosen. The sampler selects the accounting; there is no way to pair one
/// scheme's sampler with another's bound.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Sampling {
    /// Every record takes part in every release.
    None,
    /// Every record takes part independently with probability `rate`.
    Poisson {
        /// The inclusion probability $q$.
        rate: f64,
    },
    /// A uniformly random set of exactly `batch` of the `records` records, drawn afresh for each release.
    Fixed {
        /// Records in a batch, $B$.
        batch: u64,
        /// Records in the data set, $N$, public.
        records: u64,
    },
    /// The release is one pass over all records in which every record is used exactly once, in disjoint batches, in any order.
    /// No amplification is credited: a pass costs as much as one release on all records (condition on the order;
    /// a single batch differs between neighbours).
    Pass,
}

/// A mechanism together with its sampler: one release.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Release {
    /// The noise distribution and its scale.
    pub mechanism: Mechanism,
    /// How its records are chosen.
    pub sampling: Sampling,
}

/// Releases, composed and repeated; each may depend on the results of those before it (adaptive composition).
///
/// ```
/// use reticent_accounting::{Event, Mechanism, Sampling};
/// // 100,000 steps of one record out of 1,000, then one Laplace count.
/// let step = Event::release(Mechanism::Gaussian { noise_multiplier: 1.5 }, Sampling::Fixed { batch: 1, records: 1000 });
/// let count = Event::release(Mechanism::Laplace { noise_multiplier: 10.0 }, Sampling::None);
/// let run = Event::Compose(vec![step.repeat(100_000), count]);
/// assert_eq!(run.releases().unwrap().len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Event {
    /// One release.
    Release(Release),
    /// The adaptive composition of these events.
    Compose(Vec<Event>),
    /// The same event this many times.
    Repeat(Box<Event>, u64),
}

impl Event {
    /// One release of `mechanism` on records chosen by `sampling`.
    pub fn release(mechanism: Mechanism, sampling: Sampling) -> Self {
        Self::Release(Release { mechanism, sampling })
    }

    /// One Gaussian release.
    pub fn gaussian(noise_multiplier: f64, sampling: Sampling) -> Self {
        Self::release(Mechanism::Gaussian { noise_multiplier }, sampling)
    }

    /// The `times`-fold composition of this event.
    #[must_use]
    pub fn repeat(self, times: u64) -> Self {
        Self::Repeat(Box::new(self), times)
    }

    /// The distinct releases in the tree with how often each happens, validated. The order of composition does not
    /// change the cost, so equal releases are merged.
    pub fn releases(&self) -> Result<Vec<(Release, u64)>, Error> {
        let mut flat = Vec::new();
        self.collect(1, &mut flat)?;
        flat.retain(|&(_, times)| times > 0);
        Ok(flat)
    }

    fn collect(&self, times: u64, flat: &mut Vec<(Release, u64)>) -> Result<(), Error> {
        match self {
            Self::Release(release) => {
                release.validate()?;
                match flat.iter_mut().find(|(seen, _)| seen == release) {
                    Some((_, n)) => *n = n.checked_add(times).ok_or(Error::TooManyReleases)?,
                    None => flat.push((*release, times)),
                }
                Ok(())
            }
            Self::Compose(events) => events.iter().try_for_each(|event| event.collect(times, flat)),
            Self::Repeat(event, n) => {
                event.collect(times.checked_mul(*n).ok_or(Error::TooManyReleases)?, flat)
            }
        }
    }
}

impl Mechanism {
    /// The parameter that determines the privacy loss, with its name.
    fn parameter(self) -> (&'static str, f64) {
        match self {
            Self::Gaussian { noise_multiplier } | Self::Laplace { noise_multiplier } => {
                ("noise multiplier", noise_multiplier)
            }
            Self::Pure { epsilon } | Self::BoundedRange { epsilon } => ("epsilon of a release", epsilon),
        }
    }

    /// The largest log probability ratio between neighbours, $\epsilon(\infty)$.
    pub(crate) fn pure_epsilon(self) -> f64 {
        match self {
            Self::Gaussian { .. } => f64::INFINITY,
            Self::Laplace { noise_multiplier } => 1.0 / noise_multiplier,
            Self::Pure { epsilon } | Self::BoundedRange { epsilon } => epsilon,
        }
    }
}

impl Sampling {
    /// The share of the records in one release.
    pub fn rate(self) -> f64 {
        match self {
            Self::None | Self::Pass => 1.0,
            Self::Poisson { rate } => rate,
            Self::Fixed { batch, records } => batch as f64 / records as f64,
        }
    }

    /// Whether every record takes part, so that there is no amplification by sampling.
    pub(crate) fn uses_all_records(self) -> bool {
        self.rate() == 1.0
    }
}

impl Release {
    fn validate(self) -> Result<(), Error> {
        let (name, value) = self.mechanism.parameter();
        check(value > 0.0 && value.is_finite(), name, "positive and finite", value)?;
        match self.sampling {
            Sampling::None | Sampling::Pass => {}
            Sampling::Poisson { rate } => {
                check(rate > 0.0 && rate <= 1.0, "sampling rate", "in (0, 1]", rate)?;
            }
            Sampling::Fixed { batch, records } => {
                check(batch > 0, "batch size", "at least 1", 0.0)?;
                if batch > records {
                    return Err(Error::BatchTooLarge { batch, records });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_releases_merge_and_counts_multiply() {
        let a = Event::gaussian(1.0, Sampling::None);
        let b = Event::gaussian(2.0, Sampling::Poisson { rate: 0.1 });
        let tree = Event::Compose(vec![a.clone().repeat(3), Event::Compose(vec![a, b]).repeat(4)]).repeat(2);
        let counts: Vec<u64> = tree.releases().unwrap().into_iter().map(|(_, n)| n).collect();
        assert_eq!(counts, [14, 8]);
    }

    #[test]
    fn bad_parameters_are_refused() {
        for sigma in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Event::gaussian(sigma, Sampling::None).releases().is_err());
        }
        for rate in [0.0, 1.5, f64::NAN] {
            assert!(Event::gaussian(1.0, Sampling::Poisson { rate }).releases().is_err());
        }
        let too_large = Event::gaussian(1.0, Sampling::Fixed { batch: 3, records: 2 });
        assert_eq!(too_large.releases(), Err(Error::BatchTooLarge { batch: 3, records: 2 }));
        let many = Event::gaussian(1.0, Sampling::None).repeat(u64::MAX).repeat(2);
        assert_eq!(many.releases(), Err(Error::TooManyReleases));
    }
}
