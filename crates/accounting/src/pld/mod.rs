//! Privacy loss distributions: the tightest accounting where a dominating pair is known.
//!
//! The result is a [`Bracket`]: both bounds come from the same computation, one on distributions that dominate the true
//! one, one on distributions it dominates, so the true value lies between them on any grid. The grid is refined until
//! the bracket is within the tolerance.
//!
//! # Citation
//! D. Sommer, S. Meiser, E. Mohammadi. *Privacy Loss Classes.* PoPETs 2019. A. Koskela, J. Jaelkoe, A. Honkela.
//! *Computing Tight Differential Privacy Guarantees Using FFT.* AISTATS 2020. Y. Zhu, J. Dong, Y.-X. Wang. *Optimal
//! Accounting of Differential Privacy via Characteristic Function.* AISTATS 2022 (dominating pairs).

mod compose;
mod grid;
mod pair;
mod step;

use crate::error::{Error, check, check_delta};
use crate::event::{Adjacency, Event, Mechanism, Release, Sampling};
use crate::rdp::check_pairing;
use crate::root::minimum;
use crate::{Method, composition};
use compose::{Composer, Precision};
use grid::Side;
use pair::{Base, Pair};
use step::{Direction, Step};

/// A lower and an upper bound on the true value. The upper one is the guarantee to report.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bracket {
    /// No sound accountant of this dominating pair can report less.
    pub lower: f64,
    /// The guarantee.
    pub upper: f64,
}

impl Bracket {
    /// A value known exactly.
    pub fn exact(value: f64) -> Self {
        Self { lower: value, upper: value }
    }

    /// `upper - lower`.
    pub fn width(self) -> f64 {
        if self.upper == self.lower { 0.0 } else { self.upper - self.lower }
    }

    /// The intersection of both intervals.
    fn intersect(self, other: Self) -> Self {
        Self { lower: self.lower.max(other.lower), upper: self.upper.min(other.upper) }
    }
}

/// The initial bound on the discretisation error at each level of the composition, as a share of epsilon. All searches
/// start here, so that brackets are nested.
const INITIAL_SHARE: f64 = 2e-4;

/// The smallest such share: below it rounding errors dominate.
const MIN_SHARE: f64 = 1e-10;

/// A refinement that lowers the upper end by less than this share of the tolerance is the last.
const SETTLED: f64 = 0.01;

/// The initial maximum of points of a grid; doubled with each refinement.
const INITIAL_POINTS: usize = 1 << 12;

/// The factor by which each refinement reduces the share.
const REFINEMENT: f64 = 8.0;

/// The probability that truncation of the tails may lose, as a share of delta, for each unit of the discretisation share: epsilon
/// depends on delta only through its logarithm.
const TAIL_SHARE: f64 = 20.0;

/// Of more releases than this the rounding errors alone would be as large as the result, and only basic composition is
/// used.
const MAX_RELEASES: u64 = 1 << 40;

/// The maximum number of releases of randomised response that are summed over all outcomes.
const MAX_RESPONSES: u64 = 10_000_000;

/// Accountant based on privacy loss distributions.
///
/// The upper end of a bracket is never below the true value: errors of rounding are bounded and added, and grow with the
/// number of releases. It is infinite where the cost is larger than a grid can hold, and for more than $2^{40}$ releases
/// unless all of them are pure; then it is that of basic composition.
///
/// ```
/// use reticent_accounting::{Adjacency, Event, Sampling, pld::PldAccountant};
/// let step = Event::gaussian(1.5, Sampling::Poisson { rate: 0.001 });
/// let bracket = PldAccountant::default().epsilon(&step.repeat(100_000), Adjacency::AddRemove, 1e-5).unwrap();
/// assert!(bracket.lower >= 0.8755 && bracket.upper <= 0.8775);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct PldAccountant {
    tolerance: f64,
}

impl Default for PldAccountant {
    /// Brackets of at most 0.015 % of epsilon, where rounding errors allow it.
    fn default() -> Self {
        Self { tolerance: 1.5e-4 }
    }
}

/// The quantity to compute.
#[derive(Clone, Copy)]
enum Query {
    /// Epsilon at this delta.
    Epsilon(f64),
    /// Delta at this epsilon.
    Delta(f64),
}

impl PldAccountant {
    /// An accountant that refines its grid until the bracket is at most `tolerance` times its upper end wide.
    pub fn with_tolerance(tolerance: f64) -> Result<Self, Error> {
        check(tolerance > 0.0 && tolerance < 1.0, "tolerance", "between 0 and 1, both excluded", tolerance)?;
        Ok(Self { tolerance })
    }

    /// The smallest $\varepsilon$ at `delta`.
    pub fn epsilon(&self, event: &Event, adjacency: Adjacency, delta: f64) -> Result<Bracket, Error> {
        check_delta(delta)?;
        self.bracket_of(event, adjacency, Query::Epsilon(delta))
    }

    /// The smallest $\delta$ at `epsilon`.
    pub fn delta(&self, event: &Event, adjacency: Adjacency, epsilon: f64) -> Result<Bracket, Error> {
        check(epsilon >= 0.0 && epsilon.is_finite(), "epsilon", "finite and not negative", epsilon)?;
        self.bracket_of(event, adjacency, Query::Delta(epsilon))
    }

    fn bracket_of(&self, event: &Event, adjacency: Adjacency, query: Query) -> Result<Bracket, Error> {
        let parts = pairs(&event.releases()?, adjacency)?;
        if let Some(exact) = closed_form(&parts, query)? {
            return Ok(exact);
        }
        // Basic composition, rounded up.
        let basic = parts.iter().map(|&(pair, times)| times as f64 * pair.pure_epsilon()).sum::<f64>()
            * (1.0 + 1e-12);
        let cap = match query {
            Query::Epsilon(_) => basic,
            Query::Delta(epsilon) if epsilon >= basic => 0.0,
            Query::Delta(_) => 1.0,
        };
        let unbounded =
            Bracket { lower: 0.0, upper: if let Query::Epsilon(_) = query { f64::INFINITY } else { 1.0 } };
        let cap = Bracket { lower: 0.0, upper: cap };
        if parts.iter().map(|&(_, times)| u128::from(times)).sum::<u128>() > u128::from(MAX_RELEASES) {
            return Ok(unbounded.intersect(cap));
        }
        let mut share = INITIAL_SHARE;
        let mut points = INITIAL_POINTS;
        let mut bracket = on_grid(&parts, query, share, points).intersect(cap);
        // Two refinements with little effect: rounding or truncation dominates, further ones are futile.
        let mut stalled = 0;
        while bracket.width() > self.tolerance * bracket.upper && share > MIN_SHARE && stalled < 2 {
            share /= REFINEMENT;
            points *= 2;
            let finer = bracket.intersect(on_grid(&parts, query, share, points));
            stalled = if finer.width() > 0.8 * bracket.width() { stalled + 1 } else { 0 };
            // Atoms between grid points make the lower end converge slowly. The guarantee is the upper end, and each
            // refinement gains about an eighth of the one before.
            if bracket.upper - finer.upper <= SETTLED * self.tolerance * finer.upper && stalled == 0 {
                return Ok(finer);
            }
            bracket = finer;
        }
        Ok(bracket)
    }
}

/// The dominating pairs of the releases; all Gaussian releases on all records become one.
fn pairs(releases: &[(Release, u64)], adjacency: Adjacency) -> Result<Vec<(Pair, u64)>, Error> {
    let mut parts = Vec::new();
    let mut precision = 0.0;
    for &(Release { mechanism, sampling }, times) in releases {
        check_pairing(sampling, adjacency, Method::Pld)?;
        let base = match mechanism {
            Mechanism::Gaussian { noise_multiplier } => Base::Gaussian { sigma: noise_multiplier },
            Mechanism::Laplace { noise_multiplier } => Base::Laplace { scale: noise_multiplier },
            Mechanism::Pure { epsilon } => Base::Pure { epsilon },
            Mechanism::BoundedRange { epsilon } => Base::BoundedRange { epsilon },
        };
        let rate = sampling.rate();
        let pair = match (sampling, base) {
            (_, Base::Gaussian { sigma }) if sampling.uses_all_records() => {
                precision += times as f64 / (sigma * sigma);
                continue;
            }
            _ if sampling.uses_all_records() => Pair::Poisson { base, rate: 1.0 },
            (Sampling::Fixed { .. }, _) => Pair::Fixed { base, rate },
            (_, Base::Gaussian { sigma }) if adjacency == Adjacency::ReplaceOne => {
                Pair::Substitution { sigma, rate }
            }
            _ if adjacency == Adjacency::ReplaceOne => {
                return Err(Error::Unsupported {
                    method: Method::Pld,
                    what: "a Poisson-sampled mechanism other than the Gaussian",
                    adjacency,
                    hint: "use add/remove adjacency or fixed-size sampling",
                });
            }
            _ => Pair::Poisson { base, rate },
        };
        parts.push((pair, times));
    }
    if precision > 0.0 {
        parts
            .push((Pair::Poisson { base: Base::Gaussian { sigma: precision.sqrt().recip() }, rate: 1.0 }, 1));
    }
    Ok(parts)
}

/// The cost without a grid: zero without releases, a closed form for a single one and for repeated randomised response.
fn closed_form(parts: &[(Pair, u64)], query: Query) -> Result<Option<Bracket>, Error> {
    let value = match (parts, query) {
        ([], _) => 0.0,
        (&[(Pair::Poisson { base: Base::Pure { epsilon }, rate: 1.0 }, times)], _)
            if times > 1 && times <= MAX_RESPONSES =>
        {
            return repeated_response(epsilon, times, query).map(Some);
        }
        (&[(pair, 1)], Query::Delta(epsilon)) => pair.log_profile(epsilon).exp(),
        (&[(pair, 1)], Query::Epsilon(delta)) => {
            let excess = |epsilon: f64| Ok::<_, Error>(pair.log_profile(epsilon) - delta.ln());
            let at_zero = excess(0.0)?;
            if at_zero <= 0.0 {
                return Ok(Some(Bracket::exact(0.0)));
            }
            let (mut low, mut high) = ((0.0, at_zero), 1e-12);
            let top = loop {
                match excess(high)? {
                    value if value <= 0.0 => break value.max(-1e4),
                    value => low = (high, value),
                }
                high *= 4.0;
            };
            crate::root::boundary(low, (high, top), 1e-14, |x| excess(x).map(|value| value.max(-1e4)))?
        }
        _ => return Ok(None),
    };
    Ok(Some(Bracket::exact(value)))
}

/// The exact composition of randomised response, with a bound on its rounding error.
fn repeated_response(epsilon: f64, times: u64, query: Query) -> Result<Bracket, Error> {
    // ln delta: three values of lgamma, about 80 sqrt(k) + 40 logarithms of binomial coefficients, each at most k ln 2 and
    // rounded when the next is added, and the logarithm of a probability, at most k (epsilon + ln 2).
    let k = times as f64;
    let terms = k.min(80.0 * k.sqrt() + 80.0);
    let error = f64::EPSILON * (8.0 * libm::lgamma(k + 2.0) + (terms + 8.0) * (k + 32.0) + 8.0 * k * epsilon);
    Ok(match query {
        Query::Epsilon(delta) => {
            let value = |delta: f64| match delta {
                // The search is precise to 1e-13.
                delta if delta < 1.0 => composition::optimal_epsilon(epsilon, 0.0, times, delta),
                _ => Ok(0.0),
            };
            let lower = value(delta * error.exp())? * (1.0 - 1e-12);
            Bracket { lower, upper: value(delta * (-error).exp())?.min(k * epsilon * (1.0 + 1e-15)) }
        }
        Query::Delta(target) => {
            let value = composition::optimal_delta(epsilon, 0.0, times, target)?;
            Bracket { lower: value * (-error).exp(), upper: (value * error.exp()).min(1.0) }
        }
    })
}

/// The bracket from grids of at most `points` points with a discretisation error of at most `share` of epsilon at each level.
fn on_grid(parts: &[(Pair, u64)], query: Query, share: f64, points: usize) -> Bracket {
    let symmetric = parts.iter().all(|(pair, _)| pair.is_symmetric());
    let directions: &[Direction] =
        if symmetric { &[Direction::Remove] } else { &[Direction::Remove, Direction::Add] };
    // The guarantee must hold in both directions; a lower bound from the worse one suffices.
    let runs: Vec<Run> =
        directions.iter().map(|&direction| Run::new(parts, query, share, points, direction)).collect();
    let uppers: Vec<f64> = runs.iter().map(|run| run.bound(Side::Upper)).collect();
    let worst = if uppers.last() > uppers.first() { runs.len() - 1 } else { 0 };
    let lower = runs[worst].bound(Side::Lower);
    Bracket { lower: lower.min(uppers[worst]), upper: uppers[worst] }
}

/// All releases in one direction, ready to be composed.
struct Run<'a> {
    parts: &'a [(Pair, u64)],
    query: Query,
    steps: Vec<Step>,
    tail: f64,
    tilt: f64,
    precision: Precision,
}

impl<'a> Run<'a> {
    fn new(parts: &'a [(Pair, u64)], query: Query, share: f64, points: usize, direction: Direction) -> Self {
        let releases: f64 = parts.iter().map(|&(_, times)| times as f64).sum();
        let tail = match query {
            Query::Epsilon(delta) => delta * (TAIL_SHARE * share).min(0.01),
            // A delta far below this is reported as this, which is still an upper bound.
            Query::Delta(_) => 1e-30,
        };
        let cut = |&(pair, _): &(Pair, u64)| Step::new(pair, direction, tail / releases);
        let steps: Vec<Step> = parts.iter().map(cut).collect();
        let (tilt, epsilon) = best_tilt(&steps, parts, query);
        let precision = Precision { allowance: share * epsilon.max(0.1 / tilt), points };
        Self { parts, query, steps, tail, tilt, precision }
    }

    /// The bound of one side on the queried quantity.
    fn bound(&self, side: Side) -> f64 {
        let mut grids = Vec::new();
        let (mut shift, mut log_mass, mut left_out, mut displacement) = (0.0, 0.0, 0.0, 0.0);
        for (step, &(_, times)) in self.steps.iter().zip(self.parts) {
            let parts = step.parts(side, self.tilt, times, self.precision);
            grids.extend(parts.grids);
            shift += parts.shift;
            log_mass += parts.log_mass;
            left_out += parts.left_out;
            displacement += parts.displacement;
        }
        let composer = Composer { precision: self.precision, tail: self.tail };
        let mut composed = composer.compose(grids).expect("there is at least one release");
        composed.log_mass += log_mass;
        composed.slack += left_out;
        // Losses that rounding may have moved down are moved up, and the reverse.
        let shift = if side == Side::Upper { shift - displacement } else { shift + displacement };
        let outwards = if side == Side::Upper { 1.0 + 1e-15 } else { 1.0 - 1e-15 };
        let (value, unbounded) = match self.query {
            Query::Epsilon(delta) => ((composed.epsilon(delta) - shift) * outwards, f64::INFINITY),
            Query::Delta(epsilon) => (composed.delta(epsilon + shift) * outwards, 1.0),
        };
        // A tilt beyond the range of a double leaves no weights to trust.
        if composed.log_mass.is_finite() && !value.is_nan() {
            value.max(0.0)
        } else if side == Side::Upper {
            unbounded
        } else {
            0.0
        }
    }
}

/// The tilt that centres the composition on the result (the minimiser of Chernoff's bound), and the approximate epsilon that
/// it is centred on.
fn best_tilt(steps: &[Step], parts: &[(Pair, u64)], query: Query) -> (f64, f64) {
    let atoms: Vec<(Vec<(f64, f64)>, f64)> =
        steps.iter().zip(parts).map(|(step, &(_, times))| (step.summary(), times as f64)).collect();
    let log_moment = |theta: f64| -> f64 {
        let term = |(atoms, times): &(Vec<(f64, f64)>, f64)| {
            let moment: f64 = atoms.iter().map(|&(loss, p)| p * (theta * loss).exp_m1()).sum();
            times * moment.max(-1.0).ln_1p()
        };
        atoms.iter().map(term).sum()
    };
    let objective = |x: f64| {
        let theta = x.exp();
        // The maximum of e^{-theta t} (1 - e^{-t}): delta counts losses above epsilon by less than their mass.
        let log_peak = -theta * (1.0 / theta).ln_1p() - theta.ln_1p();
        let value = match query {
            Query::Epsilon(delta) => (log_moment(theta) + log_peak - delta.ln()) / theta,
            Query::Delta(epsilon) => log_moment(theta) + log_peak - theta * epsilon,
        };
        if value.is_nan() { f64::INFINITY } else { value }
    };
    let (x, value) = minimum(-25.0, 21.0, 34, objective);
    (x.exp(), if let Query::Delta(epsilon) = query { epsilon } else { value })
}
