//! Filters: what several runs cost together, when each run may depend on the results of those before it.
//!
//! A cap $(\varepsilon, \delta)$ limits all runs on a data set. Each run is described by public integers that are computed before
//! its first release, its [`Figures`], and its own $(\varepsilon_j, \delta_j)$. A [`History`] is their sum, and
//! [`History::is_within`] decides whether it may go on. Three filters are tried:
//!
//! | filter | sum over the runs | limit | share of $\delta$ |
//! |---|---|---|---|
//! | Gaussian | $\sum\mu^2$ of all releases | $\mu^2$ of the Gaussian mechanism at $(\varepsilon, \delta_G)$ | 85 % |
//! | Renyi, at one order $\alpha$ | $\sum\varepsilon(\alpha)$ | the bound that converts to $(\varepsilon, \delta_R)$ | 4.9 % |
//! | basic | $\sum\varepsilon_j$, $\sum\delta_j$ | $\varepsilon$, $\delta_B$ | 10 % |
//!
//! The rest, 0.1 %, is for the error of the noise. Order and limits depend on the cap alone and are fixed with it ([`Limits`]).
//!
//! **The rule.** If the figures of the first run that was ever requested pass the Gaussian or the Renyi filter by themselves, a
//! history is within the cap if it passes *at least one* of the three. Otherwise it is within the cap if it passes the basic
//! filter with all of $\delta$. So one run of $(\varepsilon, \delta)$ fits its cap, and data sets whose first run has no figures
//! are under basic composition as they always were.
//!
//! # Privacy
//! Claim: if every run is requested before its first release, and started only if the sum of all requests that are not cancelled, its own included,
//! was within the cap when it was requested, then everything released is $(\varepsilon, \delta)$-DP. Runs may overlap in time. Each
//! $\varepsilon_j, \delta_j$ and every figure must bound what the run releases under one adjacency, the same for all. Attacked by
//! `no_accepted_history_costs_more_than_the_cap` and `switching_filters_after_a_release_stays_within_delta`.
//!
//! *Setting.* Fix two neighbouring data sets and an analyst. Runs that overlap are one sequence of releases in the order of
//! time: release $t$ is a mechanism whose parameters are fixed by the transcript before it. Let $H_t$ be the runs that have
//! started by $t$; it only grows. A run is counted in full from its start on, whether or not its releases are made, and with the releases of other runs
//! in between: only that the sum over *releases made* is at most the sum over $H_t$ is used below.
//!
//! *Gaussian filter* (Smith and Thakurta 2022; Koskela, Tobaben and Honkela 2023). Let release $t$ be $\mu_t$-GDP given the past, with $\sum_t\mu_t^2 \le B^2$
//! always. Then the transcript is $B$-GDP. Proof: by Blackwell's theorem release $t$ is a randomised function of one draw of $N(0,\mu_t^2)$ on one
//! data set and of $N(\mu_t^2,\mu_t^2)$ on the other. That is the increment over a time $\mu_t^2$ of a Brownian motion of drift 0 or 1. Take the
//! next increment for each release; when it begins is decided by the past, so the increments have their law. All of them fit into
//! $[0, B^2]$. So the transcript is a randomised function of one path on $[0,B^2]$, whose likelihood ratio is that of its end point,
//! $N(0,B^2)$ against $N(B^2,B^2)$.
//!
//! *Values of $\mu$.* Gaussian noise: one over the noise multiplier. An $\varepsilon$-DP release: $\mu=-2\Phi^{-1}(1/(1+e^\varepsilon))$. Its trade-off
//! function is above the two chords from $(0,1)$ and $(1,0)$ to $(c,c)$, $c=1/(1+e^\varepsilon)$; that of $\mu$-GDP is convex,
//! ends in the same points and passes through $(c,c)$. A release of $\varepsilon$-bounded range: the same with
//! $\varepsilon/2$. Its trade-off function is above that of two outcomes with log ratios $t$ and $t-\varepsilon$ (which spread the ratio most), of
//! probabilities $p$ and $q$ with $\mathrm{logit}\,p=\mathrm{logit}\,q+\varepsilon$. So $\mu=g(x+\varepsilon)-g(x)$, where $g=\Phi^{-1}\circ\mathrm{logit}^{-1}$ is odd and
//! concave on the positive side (van Zwet 1964: the logistic distribution has a larger kurtosis, in his order, than the normal one): the largest
//! is at $x=-\varepsilon/2$. A sample of records: $\mu$ as without sampling, since given the sample, a public variable of the
//! same law under both data sets, the outputs are $\mu$-GDP or equal. A shuffled pass: given its order, one batch differs.
//!
//! *Renyi filter* (Feldman and Zrnic 2021; Lecuyer 2021). Let the Renyi divergence of release $t$ given the past, at order $\alpha$ and in both directions, be
//! at most $\rho_t$, with $\sum_t\rho_t\le R$ always. With $L_t$ the log likelihood ratio of the transcript,
//! $e^{\alpha L_t-(\alpha-1)\sum_{s\le t}\rho_s}$ is a supermartingale under the second data set. So its mean is at most 1, the divergence of
//! the transcript at most $R$, and [`Conversion::Improved`] gives $(\varepsilon,\delta_R)$.
//!
//! *Basic filter* (Rogers et al. 2016; Haney et al. 2023 for runs that overlap, which are interactive and have adaptive parameters: each filter for
//! $(\varepsilon,\delta)$, for $f$-DP and for Renyi divergences of a fixed order holds for concurrent composition too). If $\sum\varepsilon_j\le\varepsilon$ and $\sum\delta_j\le\delta_B$ always, the transcript is $(\varepsilon,\delta_B)$-DP.
//!
//! *At least one of them.* Let $A_i$ be the transcripts whose final $H$ passes filter $i$ and none before it; they are a
//! partition: when the last run of $H$ was requested, all of $H$ was requested and not cancelled, and passed a filter as a part of a larger sum.
//! Sums only grow along a transcript, so for a transcript in $A_i$ filter $i$ has passed at *every* time. Let $M_i$ be the same
//! process that halts when $H_t$ fails filter $i$. It is $(\varepsilon,\delta_i)$-DP by the above, and on $A_i$ it has the
//! probabilities of the real process. So for every event $S$
//! $$P(S)=\sum_i P_{M_i}(S\cap A_i)\le\sum_i\left(e^\varepsilon P'_{M_i}(S\cap A_i)+\delta_i\right)=e^\varepsilon P'(S)+\sum_i\delta_i .$$
//! The deltas must add up: an analyst may choose the filter after bad luck. A history of charges that are lowered when they are settled has sums
//! that shrink; it is covered if the lowered $(\varepsilon_j,\delta_j)$ is the sum over the releases that were made, since that
//! only grows. Figures are never lowered.
//!
//! *The first run* is chosen before anything is released. So which of the two rules applies does not depend on the records,
//! and each rule is $(\varepsilon,\delta)$-DP.
//!
//! *Error of the noise.* The proofs of the Gaussian and the Renyi filter are about ideal noise. If the real noise of all
//! releases together is within $\tau$ of it in total variation, delta grows by at most $(1+e^\varepsilon)\tau$. Both filters demand that this is within the 0.1 %. It is
//! counted once for both, since they halt as one process: that which halts when both fail is within $\tau$ of the same process with ideal noise, which is
//! $(\varepsilon,\delta_G+\delta_R)$-DP. In the
//! basic filter $\delta_j$ includes it.
//!
//! *Rounding.* Figures are rounded up and limits down, by more than the error of the functions that they are computed with; sums are of integers.
//!
//! # Citation
//! A. Smith, A. Thakurta. *Fully Adaptive Composition for Gaussian Differential Privacy.* 2022. A. Koskela, M. Tobaben,
//! A. Honkela. *Individual Privacy Accounting with Gaussian Differential Privacy.* ICLR 2023. V. Feldman, T. Zrnic.
//! *Individual Privacy Accounting via a Renyi Filter.* NeurIPS 2021. M. Lecuyer. *Practical Privacy Filters and Odometers
//! with Renyi Differential Privacy.* 2021. J. Whitehouse, A. Ramdas, R. Rogers, S. Wu. *Fully-Adaptive Composition in
//! Differential Privacy.* ICML 2023. R. Rogers, A. Roth, J. Ullman, S. Vadhan. *Privacy Odometers and Filters.* NeurIPS
//! 2016. S. Haney, M. Shoemate, G. Tian, S. Vadhan, A. Vyrros, V. Xu, W. Zhang. *Concurrent Composition for Interactive Differential Privacy with
//! Adaptive Privacy-Loss Parameters.* CCS 2023. W. van Zwet. *Convex Transformations of Random
//! Variables.* 1964.

use std::convert::Infallible;

use crate::error::{Error, check};
use crate::event::{Adjacency, Event, Mechanism};
use crate::normal::log_cdf;
use crate::rdp::{self, Conversion, Theorem};
use crate::root::boundary;
use crate::{Method, gaussian};

/// One over the unit of epsilons and of figures of the filters.
const UNIT: f64 = 1e12;
/// One over the unit of deltas.
const DELTA_UNIT: f64 = 1e18;
/// One over the unit of the error of the noise.
const DEVIATION_UNIT: f64 = 1e30;
/// The largest figure; a larger one is none.
const LARGEST: f64 = 1e18;
/// Relative margin of each rounding, far above the error of a double.
const MARGIN: f64 = 1e-9;

/// Epsilons that follow from sums have nine decimals: what is spent is rounded up, and what remains down.
const SHOWN: f64 = 1e9;

/// Shares of delta, in thousandths: 1000 in all.
const GAUSSIAN_SHARE: i64 = 850;
const RENYI_SHARE: i64 = 49;
const NOISE_SHARE: i64 = 1;
const BASIC_SHARE: i64 = 100;

/// What a run adds to the filters: integers, rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Figures {
    /// The sum of $\mu^2$ over its releases, in units of 1e-12. None above 1e6, and where no bound is known.
    pub gaussian: Option<i64>,
    /// The Renyi divergence at the order of the limits, in units of 1e-12. None above 1e6, and where no bound is known.
    pub renyi: Option<i64>,
    /// Total variation between its noise and ideal noise, in units of 1e-30.
    pub deviation: i64,
}

impl Figures {
    /// The figures of a run that makes at most the releases of `event`, with noise within `deviation` of the ideal one in total variation.
    ///
    /// # Errors
    /// [`Error::Domain`] if the event, the order or the deviation is invalid.
    pub fn of(event: &Event, adjacency: Adjacency, order: i64, deviation: f64) -> Result<Self, Error> {
        let deviation = check(deviation >= 0.0, "deviation of the noise", "not negative", deviation)?;
        let deviation = rounded_up(deviation, DEVIATION_UNIT).unwrap_or(i64::MAX);
        let releases = event.releases()?;
        let known = releases
            .iter()
            .all(|(release, _)| rdp::check_pairing(release.sampling, adjacency, Method::Auto).is_ok());
        if !known {
            return Ok(Self { gaussian: None, renyi: None, deviation });
        }
        let squares: f64 =
            releases.iter().map(|(release, times)| *times as f64 * mu(release.mechanism).powi(2)).sum();
        let renyi = match rdp::curve(event, adjacency, &[order as f64], Theorem::TwentySeven) {
            Ok(curve) => curve.points().first().and_then(|&(_, bound)| rounded_up(bound, UNIT)),
            Err(Error::Unsupported { .. }) => None,
            Err(error) => return Err(error),
        };
        Ok(Self { gaussian: rounded_up(squares, UNIT), renyi, deviation })
    }
}

/// The $\mu$ for which a release on all records is $\mu$-GDP.
fn mu(mechanism: Mechanism) -> f64 {
    match mechanism {
        Mechanism::Gaussian { noise_multiplier } => 1.0 / noise_multiplier,
        Mechanism::Laplace { noise_multiplier } => pure_mu(1.0 / noise_multiplier),
        Mechanism::Pure { epsilon } => pure_mu(epsilon),
        Mechanism::BoundedRange { epsilon } => pure_mu(0.5 * epsilon),
    }
}

/// $-2\Phi^{-1}(1/(1+e^\varepsilon))$, not below; a little above for a large epsilon.
fn pure_mu(epsilon: f64) -> f64 {
    // ln(1 + e^epsilon), without overflow.
    let target = epsilon + (-epsilon).exp().ln_1p();
    let excess = |mu: f64| Ok::<_, Infallible>(log_cdf(-0.5 * mu) + target);
    // Phi(-x) <= e^(-x^2/2) / 2 for x >= 0.
    let top = 2.0 * (2.0 * target).sqrt();
    let (Ok(at_zero), Ok(at_top)) = (excess(0.0), excess(top));
    if at_zero <= 0.0 || at_top > 0.0 {
        return top;
    }
    let Ok(mu) = boundary((0.0, at_zero), (top, at_top), 1e-13, excess);
    // The logarithm has an absolute error below 1e-15 where mu is small.
    mu + 1e-14
}

/// `x` in units, rounded up; none above [`LARGEST`] and if it is not a number.
fn rounded_up(x: f64, unit: f64) -> Option<i64> {
    let units = (x * unit * (1.0 + MARGIN)).ceil();
    (units <= LARGEST).then_some(units as i64)
}

/// `x` in units, rounded down by at least one: a difference of numbers that are nearly equal has an absolute error.
fn rounded_down(x: f64, unit: f64) -> i64 {
    (x * unit * (1.0 - MARGIN) - 1.0).floor().clamp(0.0, LARGEST) as i64
}

/// Limits of the filters for a cap, to be stored with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Limits {
    /// The cap's epsilon, in units of 1e-12.
    pub epsilon: i64,
    /// The cap's delta, in units of 1e-18.
    pub delta: i64,
    /// The order of the Renyi filter: that which allows most of releases whose curve is a line, such as Gaussian ones.
    pub order: i64,
    /// The largest sum of [`Figures::gaussian`].
    pub gaussian: i64,
    /// The largest sum of [`Figures::renyi`].
    pub renyi: i64,
    /// The largest sum of [`Figures::deviation`].
    pub deviation: i64,
    /// The largest sum of deltas in the basic filter, where its share applies.
    pub basic_delta: i64,
}

impl Limits {
    /// The limits of a cap of epsilon in units of 1e-12 and delta in units of 1e-18. Without a delta, nothing passes the
    /// Gaussian and the Renyi filter.
    ///
    /// # Errors
    /// [`Error::Domain`] unless epsilon is above 0, and delta from 0 to below 1.
    pub fn of(epsilon: i64, delta: i64) -> Result<Self, Error> {
        let (e, d) = (epsilon as f64 / UNIT, delta as f64 / DELTA_UNIT);
        check(epsilon > 0, "epsilon", "positive", e)?;
        check((0..DELTA_UNIT as i64).contains(&delta), "delta", "at least 0 and below 1", d)?;
        let none = Self { epsilon, delta, order: 2, gaussian: 0, renyi: 0, deviation: 0, basic_delta: 0 };
        if delta == 0 {
            return Ok(none);
        }
        let multiplier = gaussian::noise_multiplier(e, d * share(GAUSSIAN_SHARE))?;
        let bound = |order: i64| renyi_bound(order as f64, e, d * share(RENYI_SHARE));
        let best = (2..=4096).max_by(|a, b| (bound(*a) / *a as f64).total_cmp(&(bound(*b) / *b as f64)));
        let order = best.unwrap_or(2);
        Ok(Self {
            order,
            gaussian: rounded_down(multiplier.powi(-2), UNIT),
            renyi: rounded_down(bound(order), UNIT),
            deviation: rounded_down(d * share(NOISE_SHARE) / (1.0 + e.exp()), DEVIATION_UNIT),
            basic_delta: (i128::from(delta) * i128::from(BASIC_SHARE) / 1000) as i64,
            ..none
        })
    }

    fn cap(&self) -> (f64, f64) {
        (self.epsilon as f64 / UNIT, self.delta as f64 / DELTA_UNIT)
    }
}

fn share(thousandths: i64) -> f64 {
    thousandths as f64 / 1000.0
}

/// The Renyi divergence at `order` that [`Conversion::Improved`] turns into epsilon at delta.
fn renyi_bound(order: f64, epsilon: f64, delta: f64) -> f64 {
    epsilon - (-1.0 / order).ln_1p() + (delta.ln() + order.ln()) / (order - 1.0)
}

/// The sum of runs on a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct History {
    /// The figures of the first run that was requested; the outer option is none before it.
    first: Option<Option<Figures>>,
    epsilon: i128,
    delta: i128,
    gaussian: Option<i128>,
    renyi: Option<i128>,
    deviation: i128,
}

impl Default for History {
    fn default() -> Self {
        let (gaussian, renyi) = (Some(0), Some(0));
        Self { first: None, epsilon: 0, delta: 0, gaussian, renyi, deviation: 0 }
    }
}

impl History {
    /// Adds a run of this epsilon, delta (in the units of the limits) and figures. Runs are added in the order in which they were
    /// requested.
    pub fn add(&mut self, epsilon: i64, delta: i64, figures: Option<Figures>) {
        self.request(figures);
        self.epsilon += i128::from(epsilon);
        self.delta += i128::from(delta);
        let sum = |sum: Option<i128>, figure: Option<i64>| Some(sum? + i128::from(figure?));
        self.gaussian = sum(self.gaussian, figures.and_then(|figures| figures.gaussian));
        self.renyi = sum(self.renyi, figures.and_then(|figures| figures.renyi));
        self.deviation += i128::from(figures.map_or(0, |figures| figures.deviation));
    }

    /// Adds a run that was cancelled before its first release. If it is the first, it still decides which rule applies.
    pub fn request(&mut self, figures: Option<Figures>) {
        self.first.get_or_insert(figures);
    }

    /// The sums of epsilon and delta, in the units of the limits.
    #[must_use]
    pub fn sum(&self) -> (i128, i128) {
        (self.epsilon, self.delta)
    }

    /// Whether the three filters apply with their shares; none before the first run.
    #[must_use]
    pub fn is_joint(&self, limits: &Limits) -> Option<bool> {
        self.first.map(|first| {
            first.is_some_and(|figures| {
                let passes = |figure: Option<i64>, limit| figure.is_some_and(|figure| figure <= limit);
                figures.deviation <= limits.deviation
                    && (passes(figures.gaussian, limits.gaussian) || passes(figures.renyi, limits.renyi))
            })
        })
    }

    /// Whether the runs are within the cap.
    ///
    /// # Privacy
    /// See the [module](self).
    #[must_use]
    pub fn is_within(&self, limits: &Limits) -> bool {
        let basic = |delta| self.epsilon <= i128::from(limits.epsilon) && self.delta <= i128::from(delta);
        if self.is_joint(limits) != Some(true) {
            return basic(limits.delta);
        }
        let passes = |sum: Option<i128>, limit| sum.is_some_and(|sum| sum <= i128::from(limit));
        let ideal = passes(self.gaussian, limits.gaussian) || passes(self.renyi, limits.renyi);
        basic(limits.basic_delta) || (ideal && self.deviation <= i128::from(limits.deviation))
    }

    /// The least epsilon that the filters have shown for these runs at the cap's delta; infinite if none of them applies.
    #[must_use]
    pub fn epsilon(&self, limits: &Limits) -> f64 {
        let (_, delta) = limits.cap();
        let sum = self.epsilon as f64 / UNIT;
        let basic = |most: i64| if self.delta <= i128::from(most) { sum } else { f64::INFINITY };
        if self.is_joint(limits) != Some(true) {
            return basic(limits.delta);
        }
        let mut least = basic(limits.basic_delta);
        if self.deviation <= i128::from(limits.deviation) {
            if let Some(squares) = self.gaussian {
                let multiplier = (squares.max(1) as f64 / UNIT).sqrt().recip();
                let exact = gaussian::epsilon(multiplier, delta * share(GAUSSIAN_SHARE));
                least = least.min(exact.unwrap_or(f64::INFINITY));
            }
            if let Some(bound) = self.renyi {
                let (order, bound) = (limits.order as f64, bound as f64 / UNIT);
                least = least.min(Conversion::Improved.epsilon(order, bound, delta * share(RENYI_SHARE)));
            }
        }
        (least * SHOWN).ceil() / SHOWN
    }

    /// The largest epsilon at `delta` of a run of one Gaussian release that can be added: 0 if there is none. Before the first run it is that of the
    /// cap, by any kind of run.
    #[must_use]
    pub fn largest(&self, limits: &Limits, delta: f64) -> f64 {
        let (epsilon, cap_delta) = limits.cap();
        let rest = (i128::from(limits.epsilon) - self.epsilon).max(0) as f64 / UNIT;
        let basic = |most: i64| {
            let left = (i128::from(most) - self.delta) as f64 / DELTA_UNIT;
            // A delta is rounded up to a unit when it is charged.
            if left >= 0.0 && delta <= left { rest } else { 0.0 }
        };
        match self.is_joint(limits) {
            None if delta <= cap_delta => return epsilon,
            Some(true) => {}
            _ => return basic(limits.delta),
        }
        let left = |limit: i64, sum: Option<i128>| sum.map_or(0, |sum| i128::from(limit) - sum);
        let squares = left(limits.gaussian, self.gaussian) as f64;
        // A Gaussian release has a divergence of order * mu^2 / 2.
        let lines = 2.0 * left(limits.renyi, self.renyi) as f64 / limits.order as f64;
        // Two units and two margins less, for the rounding of its figures.
        let square = (squares.max(lines) - 2.0) / UNIT * (1.0 - 2.0 * MARGIN);
        let ideal = self.deviation <= i128::from(limits.deviation) && square > 0.0 && delta > 0.0;
        let joint = if ideal { gaussian::epsilon(square.sqrt().recip(), delta).unwrap_or(0.0) } else { 0.0 };
        ((joint * SHOWN).floor() / SHOWN).max(basic(limits.basic_delta))
    }
}

#[cfg(test)]
mod tests;
