//! One interface to all accountants.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, check, check_delta};
use crate::event::{Adjacency, Event, Mechanism, Release};
use crate::pld::{Bracket, PldAccountant};
use crate::rdp::{Conversion, Theorem};
use crate::{composition, gaussian, rdp, zcdp};

/// An accountant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Method {
    /// [`Method::Exact`] where it applies, else [`Method::Pld`], or [`Method::Rdp`] where that is smaller.
    Auto,
    /// The exact Gaussian mechanism: only Gaussian releases on all records.
    Exact,
    /// Privacy loss distributions.
    Pld,
    /// Renyi DP with the tightest known curve of each sampler (Theorem 27 for fixed size), improved conversion.
    Rdp,
    /// Renyi DP, fixed-size sampling by Theorem 9 of Wang, Balle and Kasiviswanathan.
    Wang9,
    /// Renyi DP, fixed-size sampling by their Theorem 27.
    Wang27,
    /// Zero-concentrated DP: releases on all records only.
    Zcdp,
    /// The optimal composition of pure mechanisms that are known by their epsilon alone.
    Composition,
}

impl Method {
    /// All accountants but `auto`, tightest first where they overlap.
    pub const ALL: [Self; 7] =
        [Self::Exact, Self::Pld, Self::Rdp, Self::Wang27, Self::Wang9, Self::Zcdp, Self::Composition];

    /// The name used on the command line and in receipts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Exact => "exact",
            Self::Pld => "pld",
            Self::Rdp => "rdp",
            Self::Wang9 => "wang9",
            Self::Wang27 => "wang27",
            Self::Zcdp => "zcdp",
            Self::Composition => "composition",
        }
    }

    /// The same in words, for people.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Auto => "the tightest accountant that applies",
            Self::Exact => "exact Gaussian composition",
            Self::Pld => "privacy loss distributions",
            Self::Rdp => "Renyi DP",
            Self::Wang9 => "Renyi DP, Theorem 9 of Wang et al.",
            Self::Wang27 => "Renyi DP, Theorem 27 of Wang et al.",
            Self::Zcdp => "zero-concentrated DP",
            Self::Composition => "composition of pure mechanisms",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        let known = Self::ALL.into_iter().chain([Self::Auto]).find(|method| method.name() == name);
        known.ok_or_else(|| UnknownMethod(name.to_owned()))
    }
}

/// No accountant has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no accountant called {0:?}")]
pub struct UnknownMethod(String);

/// The privacy cost of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Cost {
    /// The guarantee is the upper bound; the lower bound is 0 for accountants that have none.
    pub epsilon: Bracket,
    /// The $\delta$ that [`epsilon`](Self::epsilon) holds for.
    pub delta: f64,
    /// The adjacency that it holds under.
    pub adjacency: Adjacency,
    /// The accountant that computed it (never [`Method::Auto`]).
    pub method: Method,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epsilon, delta, adjacency, method } = self;
        let epsilon = rounded_up(epsilon.upper);
        write!(f, "epsilon {epsilon}, delta {delta:e}, {adjacency} adjacency ({})", method.description())
    }
}

/// Five significant digits of a privacy cost, rounded **up**: it may not look smaller than it is.
///
/// ```
/// use reticent_accounting::rounded_up;
///
/// assert_eq!([rounded_up(1.0), rounded_up(0.876_401), rounded_up(1.2e-9)], ["1.0000", "0.87641", "1.2000e-9"]);
/// ```
#[must_use]
pub fn rounded_up(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = 4 - value.abs().log10().floor() as i32;
    let unit = 10f64.powi(-digits);
    let rounded = (value / unit * (1.0 - 1e-15)).ceil() * unit;
    if (1e-4..1e6).contains(&rounded) {
        format!("{rounded:.*}", digits.max(0) as usize)
    } else {
        format!("{rounded:.4e}")
    }
}

/// The $\varepsilon$ of an event at `delta`, which may be 0 for pure releases.
pub fn account(event: &Event, adjacency: Adjacency, delta: f64, method: Method) -> Result<Cost, Error> {
    account_by(event, adjacency, delta, method, PldAccountant::default())
}

/// The largest number of releases for which the optimal composition is a sum over outcomes; a closed form bounds that of more.
const MAX_EXACT_COMPOSITION: u64 = 1_000_000_000;

/// [`account`], with the precision of `pld` where that accountant is used.
pub(crate) fn account_by(
    event: &Event,
    adjacency: Adjacency,
    delta: f64,
    method: Method,
    pld: PldAccountant,
) -> Result<Cost, Error> {
    if delta == 0.0 && matches!(method, Method::Auto | Method::Composition) {
        return pure(event, adjacency);
    }
    check_delta(delta)?;
    let (epsilon, method) = match method {
        Method::Auto => return auto(event, adjacency, delta, pld),
        Method::Exact => {
            let sigma = joint_multiplier(event, adjacency)?;
            let epsilon = if sigma.is_infinite() { 0.0 } else { gaussian::epsilon(sigma, delta)? };
            (Bracket::exact(epsilon), method)
        }
        Method::Pld => (pld.epsilon(event, adjacency, delta)?, method),
        Method::Rdp | Method::Wang9 | Method::Wang27 => {
            let curve = renyi_curve(event, adjacency, method)?;
            (upper_only(curve.epsilon(delta, Conversion::Improved)?.0), method)
        }
        Method::Zcdp => {
            let rho = zcdp::event_rho(event, adjacency)?;
            let pure = pure_sum(event)?;
            let epsilon = zcdp::epsilon(rho, delta, Conversion::Improved)?;
            (upper_only(epsilon.min(pure)), method)
        }
        Method::Composition => {
            let releases = pure_releases(event, adjacency)?;
            let epsilon = match releases[..] {
                [] => 0.0,
                [(epsilon, times)] if times <= MAX_EXACT_COMPOSITION => {
                    composition::optimal_epsilon(epsilon, 0.0, times, delta)?
                }
                _ => {
                    let parts: Vec<_> =
                        releases.iter().map(|&(epsilon, times)| (epsilon, 0.0, times)).collect();
                    composition::heterogeneous(&parts, delta)?
                }
            };
            (upper_only(epsilon), method)
        }
    };
    Ok(Cost { epsilon, delta, adjacency, method })
}

/// The $\delta$ of an event at `epsilon`, as a bracket.
pub fn account_delta(
    event: &Event,
    adjacency: Adjacency,
    epsilon: f64,
    method: Method,
) -> Result<Bracket, Error> {
    check(epsilon >= 0.0 && epsilon.is_finite(), "epsilon", "finite and not negative", epsilon)?;
    match method {
        Method::Auto => match account_delta(event, adjacency, epsilon, Method::Exact) {
            Err(Error::Unsupported { .. }) => account_delta(event, adjacency, epsilon, Method::Pld),
            answer => answer,
        },
        Method::Exact => {
            let sigma = joint_multiplier(event, adjacency)?;
            let delta = if sigma.is_infinite() { 0.0 } else { gaussian::delta(sigma, epsilon)? };
            Ok(Bracket::exact(delta))
        }
        Method::Pld => PldAccountant::default().delta(event, adjacency, epsilon),
        Method::Rdp | Method::Wang9 | Method::Wang27 => {
            let curve = renyi_curve(event, adjacency, method)?;
            Ok(upper_only(curve.log_delta(epsilon, Conversion::Improved).exp()))
        }
        Method::Zcdp => {
            let rho = zcdp::event_rho(event, adjacency)?;
            Ok(upper_only(zcdp::log_delta(rho, epsilon, Conversion::Improved)?.exp()))
        }
        Method::Composition => match pure_releases(event, adjacency)?[..] {
            [] => Ok(Bracket::exact(0.0)),
            [(each, times)] => composition::optimal_delta(each, 0.0, times, epsilon).map(upper_only),
            _ => Err(Error::Unsupported {
                method,
                what: "the delta of different mechanisms",
                adjacency,
                hint: "use the pld accountant",
            }),
        },
    }
}

/// The cost by every accountant, in the order of [`Method::ALL`]; an error states why one does not apply. The two theorems
/// on fixed-size sampling are left out of events without it: they would repeat [`Method::Rdp`].
pub fn compare(event: &Event, adjacency: Adjacency, delta: f64) -> Vec<(Method, Result<Cost, Error>)> {
    let fixed = rdp::requires_integer_orders(event).unwrap_or(false);
    let methods =
        Method::ALL.into_iter().filter(|method| fixed || !matches!(method, Method::Wang9 | Method::Wang27));
    methods.map(|method| (method, account(event, adjacency, delta, method))).collect()
}

fn auto(event: &Event, adjacency: Adjacency, delta: f64, pld: PldAccountant) -> Result<Cost, Error> {
    match account(event, adjacency, delta, Method::Exact) {
        Err(Error::Unsupported { .. }) => {}
        answer => return answer,
    }
    let tight = account_by(event, adjacency, delta, Method::Pld, pld)?;
    // The pair that dominates all bounded-range mechanisms composes worse than they do, and a grid has a limited
    // resolution: Renyi DP may be tighter there. For bounded ranges the lower bound of the pair does not apply then.
    let is_range = |release: &Release| matches!(release.mechanism, Mechanism::BoundedRange { .. });
    let ranged = event.releases()?.iter().any(|(release, _)| is_range(release));
    let is_narrow = tight.epsilon.upper.is_finite() && tight.epsilon.width() <= 0.1 * tight.epsilon.upper;
    if !ranged && is_narrow {
        return Ok(tight);
    }
    let lower = if ranged { 0.0 } else { tight.epsilon.lower };
    let methods: &[Method] =
        if is_narrow { &[Method::Rdp] } else { &[Method::Rdp, Method::Zcdp, Method::Composition] };
    let mut best = tight;
    for &method in methods {
        match account(event, adjacency, delta, method) {
            Ok(cost) if cost.epsilon.upper < best.epsilon.upper => {
                best = Cost { epsilon: Bracket { lower, ..cost.epsilon }, ..cost };
            }
            _ => {}
        }
    }
    Ok(best)
}

/// Basic composition at delta 0: the epsilons of pure releases add up, sampled or not; rounded up.
fn pure(event: &Event, adjacency: Adjacency) -> Result<Cost, Error> {
    let method = Method::Composition;
    for (release, _) in event.releases()? {
        rdp::check_pairing(release.sampling, adjacency, method)?;
    }
    let epsilon = upper_only(pure_sum(event)? * (1.0 + 1e-12));
    if epsilon.upper.is_finite() {
        return Ok(Cost { epsilon, delta: 0.0, adjacency, method });
    }
    Err(Error::Unsupported {
        method,
        what: "Gaussian releases without a delta",
        adjacency,
        hint: "choose a positive delta",
    })
}

fn upper_only(upper: f64) -> Bracket {
    Bracket { lower: 0.0, upper }
}

fn renyi_curve(event: &Event, adjacency: Adjacency, method: Method) -> Result<rdp::Curve, Error> {
    let theorem = if method == Method::Wang9 { Theorem::Nine } else { Theorem::TwentySeven };
    let orders = if rdp::requires_integer_orders(event)? {
        rdp::default_integer_orders()
    } else {
        rdp::default_orders()
    };
    rdp::curve(event, adjacency, &orders, theorem)
}

/// The noise multiplier of the single Gaussian release of equal cost; infinite when there are no releases.
fn joint_multiplier(event: &Event, adjacency: Adjacency) -> Result<f64, Error> {
    let mut precision = 0.0;
    for (release, times) in event.releases()? {
        rdp::check_pairing(release.sampling, adjacency, Method::Exact)?;
        match release.mechanism {
            Mechanism::Gaussian { noise_multiplier } if release.sampling.uses_all_records() => {
                precision += times as f64 / (noise_multiplier * noise_multiplier);
            }
            _ => {
                return Err(Error::Unsupported {
                    method: Method::Exact,
                    what: "anything but Gaussian releases on all records",
                    adjacency,
                    hint: "use the pld accountant",
                });
            }
        }
    }
    Ok(precision.sqrt().recip())
}

/// Basic composition of the pure releases; infinite if one is not pure.
fn pure_sum(event: &Event) -> Result<f64, Error> {
    let each = |(release, times): &(Release, u64)| *times as f64 * release.mechanism.pure_epsilon();
    Ok(event.releases()?.iter().map(each).sum())
}

fn pure_releases(event: &Event, adjacency: Adjacency) -> Result<Vec<(f64, u64)>, Error> {
    let unsupported = |what, hint| Error::Unsupported { method: Method::Composition, what, adjacency, hint };
    let mut parts = Vec::new();
    for (release, times) in event.releases()? {
        rdp::check_pairing(release.sampling, adjacency, Method::Composition)?;
        if !release.sampling.uses_all_records() {
            return Err(unsupported("sampled releases", "use the pld accountant"));
        }
        let epsilon = release.mechanism.pure_epsilon();
        if epsilon.is_infinite() {
            return Err(unsupported("Gaussian releases", "use the exact or the pld accountant"));
        }
        parts.push((epsilon, times));
    }
    Ok(parts)
}
