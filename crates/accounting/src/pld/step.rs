//! Discretisation of a dominating pair: truncation of the tails and choice of the grid step.
//!
//! A sampled release has a narrow *bulk* of losses (the record is not in the batch) and a wide, thin tail (it is, and
//! the noise does not hide it). One grid cannot serve both when there are many releases: the error of its step, which
//! the tail determines, counts once per release. So the pair is split, $P = F + R$ with $R$ the losses beyond a
//! threshold, the *jumps*, which are rare in a run:
//! $$(F+R)^{T} = \sum_k \tbinom{T}{k} F^{T-k} R^{k} .$$
//! With $a = P(F)$ and $c = \max(1, Q(F)/P(F))$, one more factor $F/a$, shifted up by $\ln c$, can only raise the
//! profile (it is a privacy loss distribution), and $F$ merged into one atom is $a$ at loss $-\ln c$ or more. Hence,
//! writing $\tilde R$ for $R/a$ shifted up by $\ln c$, and for jumps numbering between $k_0$ and $k_1$,
//! $$ a^{k_1} F^{T-k_1} (1+\tilde R)^T \text{ shifted down by } k_1\ln c
//!    \;\preceq\; (F+R)^T \;\preceq\; a^{k_0} F^{T-k_0} (1+\tilde R)^T ,$$
//! the bulk on a fine grid and the jumps on a coarse one, each composed by itself.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::compose::Precision;
use super::grid::{Atom, Grid, Side, Sweep, merge};
use super::pair::{Bin, Pair};

/// The direction of the pair: the data set with the record against the one without, or the reverse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Remove,
    Add,
}

/// Distributions whose composition bounds that of a repeated release.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    /// The distributions to compose, with their multiplicities.
    pub grids: Vec<(Grid, u64)>,
    /// The losses of the bound are shifted down by this much.
    pub shift: f64,
    /// The logarithm of the factor on the total mass.
    pub log_mass: f64,
    /// The share of the tilted weight that the bound omits.
    pub left_out: f64,
    /// By how much rounding may have moved the losses of the composition.
    pub displacement: f64,
}

/// Bins of equal width $2^{-\text{scale}}$ of a pair; bin `k` holds the losses from `first + k` to `first + k + 1`
/// widths.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pair: Pair,
    direction: Direction,
    scale: i32,
    first: i64,
    bins: Rc<[Bin]>,
    cuts: Rc<Cuts>,
}

/// Cache of bins by scale, first and end: both sides use the same.
type Cuts = RefCell<HashMap<(i32, i64, i64), Rc<[Bin]>>>;

/// Number of bins of a coarse discretisation, enough to locate the mass.
const COARSE_BINS: f64 = 512.0;

impl Step {
    /// A coarse discretisation with a probability of at most `tail` beyond either end.
    pub(super) fn new(pair: Pair, direction: Direction, tail: f64) -> Self {
        let (bottom, top) = support(pair, direction, tail);
        let empty = Self { pair, direction, scale: 0, first: 0, bins: Rc::new([]), cuts: Rc::default() };
        empty.cut((top - bottom) / COARSE_BINS, bottom, top)
    }

    /// The same pair in bins no wider than `width`.
    fn cut(&self, width: f64, bottom: f64, top: f64) -> Self {
        let scale = scale_of(width);
        let h = (-scale as f64).exp2();
        let first = (bottom / h).floor() as i64;
        let end = ((top / h).ceil() as i64).max(first + 1);
        self.bins(scale, first, end)
    }

    fn bins(&self, scale: i32, first: i64, end: i64) -> Self {
        let h = (-scale as f64).exp2();
        let cut = || (first..end).map(|i| self.pair.bin(h * i as f64, h * (i + 1) as f64)).collect();
        let bins = self.cuts.borrow_mut().entry((scale, first, end)).or_insert_with(cut).clone();
        Self { scale, first, bins, cuts: self.cuts.clone(), ..*self }
    }

    fn step(&self) -> f64 {
        (-self.scale as f64).exp2()
    }

    fn edge(&self, k: usize) -> f64 {
        self.step() * (self.first + k as i64) as f64
    }

    /// Whether losses appear with the opposite sign.
    fn is_mirrored(&self) -> bool {
        self.direction == Direction::Add && !self.is_doubled()
    }

    /// Whether losses appear with both signs.
    fn is_doubled(&self) -> bool {
        matches!(self.pair, Pair::Fixed { .. })
    }

    /// Whether the losses have a thin tail below as well as above.
    fn has_two_tails(&self) -> bool {
        matches!(self.pair, Pair::Substitution { .. })
    }

    fn is_jump(&self, loss: f64, threshold: f64) -> bool {
        let size = if self.is_doubled() || self.has_two_tails() {
            loss.abs()
        } else if self.is_mirrored() {
            -loss
        } else {
            loss
        };
        size > threshold
    }

    /// $P$ and $Q$ of the losses above `t`, in this direction (and below `-t`, where losses have both signs).
    fn tails(&self, t: f64) -> (f64, f64) {
        let (p, q) = self.pair.tails(t);
        if self.is_doubled() || self.has_two_tails() {
            (p + q, p + q)
        } else if self.is_mirrored() {
            (q, p)
        } else {
            (p, q)
        }
    }

    /// `(loss, probability)` atoms of the coarse discretisation.
    pub(super) fn summary(&self) -> Vec<(f64, f64)> {
        let (first, masses) = self.upper(self.at_zero());
        let atoms = masses.iter().enumerate().map(|(k, &p)| (self.step() * (first + k as i64) as f64, p));
        atoms.filter(|&(_, p)| p > 0.0).collect()
    }

    /// The release composed `times`-fold at this precision: split into bulk and jumps where that needs fewer
    /// points.
    pub(super) fn parts(&self, side: Side, tilt: f64, times: u64, precision: Precision) -> Parts {
        self.split(side, tilt, times, precision).unwrap_or_else(|| {
            let (bottom, top) = (self.edge(0), self.edge(self.bins.len()));
            let width = precision.step(top - bottom, tilt, times as f64);
            let single_grid = self.cut(width, bottom, top).single_grid(side, tilt);
            let displacement = times as f64 * self.pair.displacement(bottom, top);
            Parts {
                grids: vec![(single_grid, times)],
                shift: 0.0,
                log_mass: 0.0,
                left_out: 0.0,
                displacement,
            }
        })
    }

    /// One grid for bulk and jumps.
    fn single_grid(&self, side: Side, tilt: f64) -> Grid {
        if side == Side::Lower {
            let (first, masses) = self.lower(self.at_zero());
            return Grid::tilted(side, self.scale, first, masses, 0.0, tilt);
        }
        let (first, mut masses) = self.upper(self.at_zero());
        let (beyond_p, beyond_q) = self.pair.tails(self.edge(self.bins.len()));
        let (below_p, below_q) = if self.is_doubled() { (0.0, 0.0) } else { self.pair.below(self.edge(0)) };
        // The mass beyond either end moves to infinity or to the lowest loss.
        let (lowest, infinite) = if self.is_doubled() {
            (beyond_q, beyond_p)
        } else if self.is_mirrored() {
            (beyond_q, below_q)
        } else {
            (below_p, beyond_p)
        };
        masses[0] += lowest;
        Grid::tilted(side, self.scale, first, masses, infinite, tilt)
    }

    /// Separate grids for bulk and jumps; `None` where one grid is as good.
    fn split(&self, side: Side, tilt: f64, times: u64, precision: Precision) -> Option<Parts> {
        let (bottom, top) = (self.edge(0), self.edge(self.bins.len()));
        // One jump is expected in all `times` releases.
        let threshold = crossing(top, |t| self.tails(t).0 * times as f64 > 1.0);
        let few_bins = (top - bottom) < COARSE_BINS * precision.step(0.0, tilt, times as f64);
        if threshold > 0.25 * top || few_bins {
            return None;
        }
        // The approximate number of jumps under the tilt.
        let (mut jumping, mut all) = (0.0, 0.0);
        for (loss, p) in self.summary() {
            let weight = p * (tilt * loss).exp();
            all += weight;
            jumping += if self.is_jump(loss, threshold) { weight } else { 0.0 };
        }
        let expected = (times as f64 * jumping / all).max(1.0);
        let scale = scale_of(precision.step(top, tilt, expected));
        let h = (-scale as f64).exp2();
        let boundary = (threshold / h).ceil() as i64;
        let threshold = boundary as f64 * h;
        let (p, q) = self.tails(threshold);
        let (a, shift) = (1.0 - p, ((1.0 - q) / (1.0 - p)).ln().max(0.0));
        if shift > h {
            return None;
        }
        let jumps = self.jumps(side, tilt, scale, boundary, a, shift);
        let mean = times as f64 * (1.0 - jumps.weights[(-jumps.first) as usize]);
        let (min_count, max_count) = probable_counts(mean);
        let lowest = if self.has_two_tails() { bottom.max(-threshold) } else { bottom };
        let width = precision.step(threshold - lowest, tilt, times as f64).min(h);
        let bulk = self.cut(width, lowest, threshold).bulk(side, tilt);
        // The cost of not knowing the number of jumps, compared with that of one grid.
        let cost_of_count = 0.5 * (tilt + 1.0) * (max_count - min_count) as f64 * bulk.variance();
        if max_count >= times || cost_of_count > precision.cost(top - bottom, tilt, times as f64) {
            return None;
        }
        let count = if side == Side::Upper { min_count } else { max_count };
        Some(Parts {
            grids: vec![(bulk, times - count), (jumps, times)],
            shift: if side == Side::Lower { count as f64 * shift } else { 0.0 },
            log_mass: count as f64 * a.ln(),
            // `a` is right to one rounding, and so is each shift of a jump.
            left_out: 1e-12 + count as f64 * f64::EPSILON,
            displacement: times as f64 * self.pair.displacement(bottom, top)
                + 4.0 * f64::EPSILON * max_count as f64,
        })
    }

    /// The losses up to the threshold.
    fn bulk(&self, side: Side, tilt: f64) -> Grid {
        let (first, mut masses) = match side {
            Side::Upper => self.upper(self.at_zero()),
            Side::Lower => self.lower(self.at_zero()),
        };
        let mut infinite = 0.0;
        if side == Side::Upper && !self.is_doubled() {
            let (p, q) = self.pair.below(self.edge(0));
            match self.pair {
                // The losses below are among the jumps.
                Pair::Substitution { .. } => {}
                _ if self.is_mirrored() => infinite = q,
                _ => masses[0] += p,
            }
        }
        Grid::tilted(side, self.scale, first, masses, infinite, tilt)
    }

    /// An atom of mass one at loss 0, and the losses beyond the threshold over `a`, shifted up (on the upper side).
    fn jumps(&self, side: Side, tilt: f64, scale: i32, boundary: i64, a: f64, shift: f64) -> Grid {
        let h = (-scale as f64).exp2();
        let slice = |from: i64, to: i64| {
            let slice = self.bins(scale, from, to);
            match side {
                Side::Upper => slice.upper(0.0),
                Side::Lower => slice.lower(0.0),
            }
        };
        let end = ((self.edge(self.bins.len()) / h).ceil() as i64).max(boundary + 1);
        let (mut first, mut masses) = slice(boundary, end);
        let lowest = (self.edge(0) / h).floor() as i64;
        if self.has_two_tails() && lowest < -boundary {
            let (start, mut all) = slice(lowest, -boundary);
            all.resize((first - start) as usize + masses.len(), 0.0);
            all[(first - start) as usize..].iter_mut().zip(masses).for_each(|(sum, mass)| *sum += mass);
            (first, masses) = (start, all);
        }
        let mut infinite = 0.0;
        if side == Side::Upper {
            let (beyond_p, beyond_q) = self.pair.tails(h * end as f64);
            if self.is_mirrored() {
                masses[0] += beyond_q;
            } else {
                infinite = beyond_p / a;
                masses[0] += match self.pair {
                    Pair::Fixed { .. } => beyond_q,
                    Pair::Substitution { .. } => self.pair.below(h * lowest as f64).0,
                    Pair::Poisson { .. } => 0.0,
                };
                // Shifted up: a share of each atom goes to the next, P- and Q-mass as if it had moved by `shift`.
                let share = (-shift).exp_m1() / (-h).exp_m1();
                debug_assert!(share <= 1.0);
                masses.push(0.0);
                for k in (1..masses.len()).rev() {
                    masses[k] += share * (masses[k - 1] - masses[k]);
                }
                masses[0] *= 1.0 - share;
            }
        }
        masses.iter_mut().for_each(|mass| *mass /= a);
        // Make room for loss 0.
        if first > 0 {
            masses.splice(0..0, std::iter::repeat_n(0.0, first as usize));
            first = 0;
        }
        let past = first + masses.len() as i64;
        if past <= 0 {
            masses.extend(std::iter::repeat_n(0.0, (1 - past) as usize));
        }
        masses[(-first) as usize] += 1.0;
        Grid::tilted(side, scale, first, masses, infinite, tilt)
    }

    /// The probability of loss 0 in a fixed-size release.
    fn at_zero(&self) -> f64 {
        if self.is_doubled() {
            let (p, q) = self.pair.tails(0.0);
            (1.0 - p - q).max(0.0)
        } else {
            0.0
        }
    }

    /// Probabilities on the grid that dominate the pair on these bins, with the mass `at_zero` added at loss 0: the first
    /// multiple of the step, and the masses from there.
    fn upper(&self, at_zero: f64) -> (i64, Vec<f64>) {
        let n = self.bins.len();
        // Each bin split between its edges, in Q-mass.
        let mut q = vec![0.0; n + 1];
        for (k, bin) in self.bins.iter().enumerate() {
            q[k] += bin.down;
            q[k + 1] += bin.up;
        }
        let last = self.first + n as i64;
        if self.is_mirrored() {
            q.reverse();
            return (-last, q);
        }
        let p = |k: usize| q[k] * self.edge(k).exp();
        if !self.is_doubled() {
            return (self.first, (0..=n).map(p).collect());
        }
        // Positive losses, and their mirror image.
        let mut masses = vec![0.0; (2 * last + 1) as usize];
        for (k, mirrored) in q.iter().enumerate() {
            let index = self.first + k as i64;
            masses[(last + index) as usize] += p(k);
            masses[(last - index) as usize] += mirrored;
        }
        masses[last as usize] += at_zero;
        (-last, masses)
    }

    /// Probabilities on the grid that the pair dominates on these bins, with the mass `at_zero` added at loss 0.
    fn lower(&self, at_zero: f64) -> (i64, Vec<f64>) {
        let n = self.bins.len();
        let h = self.step();
        // Each bin merged into one atom.
        let merged = |k: usize, mirrored: bool| {
            let bin = self.bins[k];
            let mass = bin.mass();
            let share = if mass > 0.0 { bin.up / mass } else { 0.0 };
            let offset = (share * h.exp_m1()).ln_1p().clamp(0.0, h);
            let index = self.first + k as i64;
            if mirrored {
                Atom { index: -index - 1, offset: h - offset, mass }
            } else {
                Atom { index, offset, mass: self.edge(k).exp() * bin.down + self.edge(k + 1).exp() * bin.up }
            }
        };
        let upwards = (0..n).map(|k| merged(k, false));
        let mirrored = (0..n).map(|k| merged(k, true));
        if self.is_doubled() {
            let at_zero = Atom { index: 0, offset: 0.0, mass: at_zero };
            merge(upwards.rev().chain([at_zero]).chain(mirrored), Sweep::Down, h, 0.0)
        } else if self.is_mirrored() {
            merge(mirrored, Sweep::Down, h, 0.0)
        } else {
            merge(upwards, Sweep::Up, h, 0.0)
        }
    }
}

/// The exponent of the largest power of two that is at most `width`.
fn scale_of(width: f64) -> i32 {
    (-width.max(1e-300).log2()).ceil() as i32
}

/// A range that a Poisson (and so a binomial) count of this mean leaves with probability below $10^{-13}$.
fn probable_counts(mean: f64) -> (u64, u64) {
    // ln P(count > k) <= k - mean - k ln(k / mean), and the same below the mean.
    let unlikely = |k: f64| k - mean - k * (k / mean.max(1e-300)).ln() < -30.0;
    let mut max_count = mean.ceil() + 8.0;
    while !unlikely(max_count) {
        max_count += (0.1 * mean.sqrt()).ceil();
    }
    let mut min_count = mean.floor();
    while min_count > 0.0 && !unlikely(min_count) {
        min_count -= (0.1 * mean.sqrt()).ceil();
    }
    (min_count.max(0.0) as u64, max_count as u64)
}

/// The range of losses of a pair up to a probability of `tail` at either end. The reverse direction has the same losses
/// under $Q$, with the opposite sign, which the caller applies.
fn support(pair: Pair, direction: Direction, tail: f64) -> (f64, f64) {
    let of = |(p, q): (f64, f64)| match direction {
        Direction::Remove => p,
        Direction::Add => q,
    };
    let largest = pair.largest_loss();
    let top = crossing(largest, |t| of(pair.tails(t)) > tail);
    let bottom = match pair {
        Pair::Fixed { .. } => 0.0,
        _ => -crossing(600.0, |t| of(pair.below(-t)) > tail),
    };
    (bottom, top)
}

/// A point just above where `big` turns false between 0 and `high`.
fn crossing(mut high: f64, big: impl Fn(f64) -> bool) -> f64 {
    if big(high) {
        return high;
    }
    // A geometric search: the result may be 1e-9 or 100.
    let mut low = high;
    while !big(low) {
        high = low;
        low *= 1e-2;
        if low < 1e-14 {
            return high;
        }
    }
    while high > 1.02 * low {
        let middle = (low * high).sqrt();
        if big(middle) { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::super::pair::Base;
    use super::*;

    /// The upper discretisation lies above the exact profile, the lower one below, both close.
    #[test]
    fn discretisations_bracket_the_exact_profile() {
        for base in [
            Base::Gaussian { sigma: 0.4 },
            Base::Gaussian { sigma: 2.0 },
            Base::Laplace { scale: 0.7 },
            Base::Pure { epsilon: 0.8 },
            Base::BoundedRange { epsilon: 1.1 },
        ] {
            for rate in [1e-3, 0.2, 1.0] {
                let pairs = [Pair::Poisson { base, rate }, Pair::Fixed { base, rate }];
                for pair in pairs.into_iter().chain([Pair::Substitution { sigma: 0.7, rate }]) {
                    for direction in [Direction::Remove, Direction::Add] {
                        let step = Step::new(pair, direction, 1e-12);
                        let (upper, lower) =
                            (step.single_grid(Side::Upper, 1.0), step.single_grid(Side::Lower, 1.0));
                        for k in 0..100 {
                            let epsilon = step.step() * f64::from(k) * 0.5;
                            let (p, q) = pair.tails(epsilon);
                            let exact = match direction {
                                Direction::Add if !pair.is_symmetric() => {
                                    let (p, q) = pair.tails(-epsilon);
                                    (1.0 - q) - epsilon.exp() * (1.0 - p)
                                }
                                _ => p - epsilon.exp() * q,
                            };
                            let (above, below) = (upper.delta(epsilon), lower.delta(epsilon));
                            let case = format!("{pair:?} {direction:?} {epsilon}: {below} {exact} {above}");
                            assert!(above >= exact - 1e-12, "{case}");
                            assert!(below <= exact + 1e-12, "{case}");
                            assert!(above - below <= 0.05 * exact + 2.0 * upper.step(), "{case}");
                        }
                    }
                }
            }
        }
    }
}
