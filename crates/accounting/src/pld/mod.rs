//! Privacy loss distributions: the tightest accounting there is where a dominating pair is known.
//!
//! The answer is a [`Bracket`]: both ends come from the same computation, one on distributions that dominate the true
//! one, one on distributions it dominates, so the truth lies between them whatever the grid. The grid is refined until
//! the bracket is as narrow as asked.
//!
//! # Citation
//! D. Sommer, S. Meiser, E. Mohammadi. *Privacy Loss Classes.* PoPETs 2019. A. Koskela, J. Jaelkoe, A. Honkela.
//! *Computing Tight Differential Privacy Guarantees Using FFT.* AISTATS 2020. Y. Zhu, J. Dong, Y.-X. Wang. *Optimal
//! Accounting of Differential Privacy via Characteristic Function.* AISTATS 2022 (dominating pairs).

mod compose;
mod grid;
mod pair;
mod step;

use crate::Method;
use crate::error::{Error, check, check_delta};
use crate::event::{Adjacency, Event, Mechanism, Release, Sampling};
use crate::rdp::check_pairing;
use crate::root::minimum;
use compose::Composer;
use grid::Side;
use pair::{Base, Pair};
use step::{Direction, Step};

/// Two ends between which the true value lies. Report the upper one.
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

    /// What both brackets agree on.
    fn intersect(self, other: Self) -> Self {
        Self { lower: self.lower.max(other.lower), upper: self.upper.min(other.upper) }
    }
}

/// The points of the first grid; each refinement doubles them.
const FIRST_POINTS: usize = 1 << 11;

/// The points beyond which refinement stops: about a second and 100 MB.
const MOST_POINTS: usize = 1 << 18;

/// Of delta, what may be lost to the tails on the first grid.
const TAIL_SHARE: f64 = 1e-3;

/// An accountant by privacy loss distributions.
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
    /// Brackets at most 1 % of epsilon wide (and mostly far narrower).
    fn default() -> Self {
        Self { tolerance: 0.01 }
    }
}

/// What to find out.
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
        self.answer(event, adjacency, Query::Epsilon(delta))
    }

    /// The smallest $\delta$ at `epsilon`.
    pub fn delta(&self, event: &Event, adjacency: Adjacency, epsilon: f64) -> Result<Bracket, Error> {
        check(epsilon >= 0.0 && epsilon.is_finite(), "epsilon", "finite and not negative", epsilon)?;
        self.answer(event, adjacency, Query::Delta(epsilon))
    }

    fn answer(&self, event: &Event, adjacency: Adjacency, query: Query) -> Result<Bracket, Error> {
        let parts = pairs(&event.releases()?, adjacency)?;
        if let Some(exact) = closed_form(&parts, query)? {
            return Ok(exact);
        }
        let mut points = FIRST_POINTS;
        let mut bracket = on_grid(&parts, query, points);
        // The error of a grid falls with the square of its points, so two refinements that change little mean that
        // something else (rounding, the tails) is in the way.
        let mut stalled = 0;
        while bracket.width() > self.tolerance * bracket.upper && points < MOST_POINTS && stalled < 2 {
            points *= 2;
            let finer = bracket.intersect(on_grid(&parts, query, points));
            stalled = if finer.width() > 0.8 * bracket.width() { stalled + 1 } else { 0 };
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
            (_, Base::Gaussian { sigma }) if sampling.is_whole() => {
                precision += times as f64 / (sigma * sigma);
                continue;
            }
            _ if sampling.is_whole() => Pair::Poisson { base, rate: 1.0 },
            (Sampling::Fixed { .. }, _) => Pair::Fixed { base, rate },
            (_, Base::Gaussian { sigma }) if adjacency == Adjacency::ReplaceOne => Pair::Substitution { sigma, rate },
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
        parts.push((Pair::Poisson { base: Base::Gaussian { sigma: precision.sqrt().recip() }, rate: 1.0 }, 1));
    }
    Ok(parts)
}

/// No release costs nothing; a single one has a closed form.
fn closed_form(parts: &[(Pair, u64)], query: Query) -> Result<Option<Bracket>, Error> {
    let value = match (parts, query) {
        ([], _) => 0.0,
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

/// The bracket from grids of about `points` points.
fn on_grid(parts: &[(Pair, u64)], query: Query, points: usize) -> Bracket {
    let symmetric = parts.iter().all(|(pair, _)| pair.is_symmetric());
    let directions: &[Direction] =
        if symmetric { &[Direction::Remove] } else { &[Direction::Remove, Direction::Add] };
    let mut whole = Bracket::exact(0.0);
    for &direction in directions {
        let bracket = in_direction(parts, query, points, direction);
        // The guarantee must hold in both directions.
        whole = Bracket { lower: whole.lower.max(bracket.lower), upper: whole.upper.max(bracket.upper) };
    }
    whole
}

fn in_direction(parts: &[(Pair, u64)], query: Query, points: usize, direction: Direction) -> Bracket {
    let releases: f64 = parts.iter().map(|&(_, times)| times as f64).sum();
    let tail = match query {
        Query::Epsilon(delta) => delta * TAIL_SHARE * FIRST_POINTS as f64 / points as f64,
        // A delta far below this is reported as this, which is still an upper bound.
        Query::Delta(_) => 1e-30,
    };
    let rough: Vec<Step> =
        parts.iter().map(|&(pair, _)| Step::new(pair, direction, points, tail / releases)).collect();
    let tilt = best_tilt(&rough, parts, query);
    let side = |side: Side, points: usize| {
        let (mut grids, mut shift, mut log_mass, mut left_out) = (Vec::new(), 0.0, 0.0, 0.0);
        for (step, &(_, times)) in rough.iter().zip(parts) {
            let parts = step.parts(side, tilt, times, points);
            grids.extend(parts.grids);
            shift += parts.shift;
            log_mass += parts.log_mass;
            left_out += parts.left_out;
        }
        let mut whole = Composer { points, tail }.compose(grids).expect("there is at least one release");
        whole.log_mass += log_mass;
        whole.slack += left_out;
        match query {
            Query::Epsilon(delta) => (whole.epsilon(delta) - shift).max(0.0),
            Query::Delta(epsilon) => whole.delta(epsilon + shift),
        }
    };
    let (lower, upper) = (side(Side::Lower, points), side(Side::Upper, points));
    Bracket { lower: lower.min(upper), upper }
}

/// The tilt that centres the composition on the answer: the minimiser of Chernoff's bound on it.
fn best_tilt(steps: &[Step], parts: &[(Pair, u64)], query: Query) -> f64 {
    // Few atoms are enough to find it: every stride-th bin would be biased, so bins are merged instead.
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
        // The largest that e^{-theta t} (1 - e^{-t}) gets: delta counts losses above epsilon by less than their mass.
        let log_peak = -theta * (1.0 / theta).ln_1p() - theta.ln_1p();
        let value = match query {
            Query::Epsilon(delta) => (log_moment(theta) + log_peak - delta.ln()) / theta,
            Query::Delta(epsilon) => log_moment(theta) + log_peak - theta * epsilon,
        };
        if value.is_nan() { f64::INFINITY } else { value }
    };
    minimum(-7.0, 21.0, 30, objective).0.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_case() {
        let t = 463715u64 * 40;
        let parts = [(Pair::Fixed { base: Base::Gaussian { sigma: 0.441 }, rate: 1.0/463715.0 }, t)];
        for direction in [Direction::Remove] {
            for points in [2048, 8192, 32768] {
                let query = Query::Epsilon(1e-5);
                let tail = 1e-8*2048.0/points as f64;
                let rough: Vec<Step> = parts.iter().map(|&(pair, _)| Step::new(pair, direction, points, tail / t as f64)).collect();
                let tilt = best_tilt(&rough, &parts, query);
                for side in [Side::Upper, Side::Lower] {
                    let p = rough[0].parts(side, tilt, t, points);
                    println!("{direction:?} {points} tilt {tilt} {side:?} n={} {} {} ", p.grids.len(), p.shift, p.log_mass);
                    for (g, n) in &p.grids {
                        println!("   {n} h {} first {} len {} logmass {} inf {} slack {} var {}", g.step(), g.first, g.weights.len(), g.log_mass, g.infinite, g.slack, g.variance());
                    }
                    let w = Composer { points, tail }.compose(p.grids).unwrap();
                    println!("   => h {} first {} len {} logmass {} inf {} slack {} rounding {} sd {} eps {}", w.step(), w.first, w.weights.len(), w.log_mass, w.infinite, w.slack, w.rounding, w.variance().sqrt(), w.epsilon(1e-5));
                }
            }
        }
    }
}
