//! A distribution of privacy loss on a grid, exponentially tilted.
//!
//! The weight stored for a loss $\ell$ is $w = p\,e^{\theta\ell - s}$, where $p$ is its probability and $s$ makes the
//! weights add up to one. The tilt $\theta$ moves the bulk of the *composed* distribution to the $\varepsilon$ of
//! interest, so that rounding errors of the Fourier transform, which are relative to the largest weight, are relative
//! to the result too, and a $\delta$ of $10^{-30}$ is as well resolved as one of $10^{-3}$.
//!
//! Two kinds of distribution are kept apart by [`Side`]: the *upper* one dominates the true distribution, the *lower*
//! one is dominated by it. Every operation here keeps that order:
//!
//! - **Splitting** an atom between its neighbours so that $P$- and $Q$-mass are kept gives an upper bound (the true distribution is
//!   recovered by merging the two, which is post-processing). This is "connecting the dots" of the privacy profile.
//! - **Merging** atoms into one at the ratio of their masses is post-processing, so it gives a lower bound.
//! - Moving mass to a larger loss (or to infinity) gives an upper bound, to a smaller one (or dropping it) a lower bound.
//!
//! # Citation
//! V. Doroshenko, B. Ghazi, P. Kamath, R. Kumar, P. Manurangsi. *Connect the Dots: Tighter Discrete Approximations of
//! Privacy Loss Distributions.* PoPETs 2022 (splitting).

/// Whether a distribution is an upper or a lower bound on the privacy loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Upper,
    Lower,
}

/// An atom off the grid: `index * h + offset`, with its mass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Atom {
    pub index: i64,
    pub offset: f64,
    pub mass: f64,
}

/// The relative error of a probability of one release, and of its remaining mass at loss 0.
const MASS_ERROR: f64 = 4e-15;

/// A tilted distribution of privacy loss.
#[derive(Debug, Clone)]
pub(super) struct Grid {
    pub side: Side,
    /// The tilt $\theta$, per unit of loss.
    pub tilt: f64,
    /// The step is $h = 2^{-\text{scale}}$.
    pub scale: i32,
    /// The multiple of $h$ at which the weights start.
    pub first: i64,
    /// Tilted weights, adding up to one.
    pub weights: Vec<f64>,
    /// $s$, the logarithm of the tilted mass before it was made one.
    pub log_mass: f64,
    /// Probability of infinite loss (upper side only).
    pub infinite: f64,
    /// Bound on the errors of the stored weights: the sum of their absolute values.
    pub slack: f64,
    /// Bound on the rounding errors of transforms: the root of the sum of their squares.
    pub rounding: f64,
}

impl Grid {
    /// Tilts plain probabilities at consecutive multiples of the step, from `first` on.
    pub(super) fn tilted(
        side: Side,
        scale: i32,
        first: i64,
        masses: Vec<f64>,
        infinite: f64,
        tilt: f64,
    ) -> Self {
        let (log_mass, slack, rounding) = (0.0, 0.0, 0.0);
        let mut grid =
            Self { side, tilt, scale, first, weights: masses, log_mass, infinite, slack, rounding };
        for k in 0..grid.weights.len() {
            if grid.weights[k] > 0.0 {
                let (log_p, tilted) = (grid.weights[k].ln(), tilt * grid.loss(k));
                grid.weights[k] = (log_p + tilted).exp();
                // Each probability is accurate to `MASS_ERROR`, and rounding the exponent adds to that.
                let exponent = log_p.abs() + tilted.abs();
                grid.slack += grid.weights[k] * (MASS_ERROR + f64::EPSILON * exponent);
            }
        }
        grid.normalise();
        grid
    }

    /// The step $h$.
    pub(super) fn step(&self) -> f64 {
        (-self.scale as f64).exp2()
    }

    /// The loss of the `k`-th weight.
    pub(super) fn loss(&self, k: usize) -> f64 {
        self.step() * (self.first + k as i64) as f64
    }

    /// The variance of the (tilted) loss.
    pub(super) fn variance(&self) -> f64 {
        let (mut first, mut second) = (0.0, 0.0);
        for (k, weight) in self.weights.iter().enumerate() {
            let loss = self.loss(k);
            first += weight * loss;
            second += weight * loss * loss;
        }
        (second - first * first).max(0.0)
    }

    /// $\ln$ of the probability per unit of tilted weight at `loss`.
    fn log_untilt(&self, loss: f64) -> f64 {
        self.log_mass - self.tilt * loss
    }

    /// Makes the weights add up to one; negative weights are rounding errors, already in `slack`.
    pub(super) fn normalise(&mut self) {
        self.weights.iter_mut().for_each(|weight| *weight = weight.max(0.0));
        let total = accurate_sum(&self.weights);
        if total > 0.0 {
            let scale = 1.0 / total;
            self.weights.iter_mut().for_each(|weight| *weight *= scale);
            self.log_mass += total.ln();
            // The weights add up to one, and `log_mass` belongs to them, to a few roundings.
            self.slack = self.slack * scale + 4.0 * f64::EPSILON;
            self.rounding *= scale;
        }
    }

    /// Drops at the bottom at most `weight` of tilted weight (which becomes slack on the upper side) and at the top at
    /// most `probability` (which becomes infinite loss on the upper side and stays at the new top on the lower one).
    pub(super) fn trim(&mut self, weight: f64, probability: f64) {
        let (mut dropped, mut start) = (0.0, 0);
        while start + 1 < self.weights.len() && dropped + self.weights[start] <= weight {
            dropped += self.weights[start];
            start += 1;
        }
        if self.side == Side::Upper {
            self.slack += dropped;
        }
        let mut end = self.weights.len();
        let mut cut = 0.0;
        let unit = |k: usize| self.log_untilt(self.loss(k)).exp();
        while end > start + 1 {
            let p = self.weights[end - 1] * unit(end - 1);
            if cut + p > probability {
                break;
            }
            cut += p;
            end -= 1;
        }
        let per_weight = unit(end - 1);
        match self.side {
            Side::Upper => self.infinite += cut,
            Side::Lower if per_weight > 0.0 => self.weights[end - 1] += cut / per_weight,
            Side::Lower => {}
        }
        self.weights.truncate(end);
        self.weights.drain(..start);
        self.first += start as i64;
        self.normalise();
    }

    /// The same distribution on a grid twice as coarse.
    pub(super) fn coarsen(&mut self) {
        match self.side {
            Side::Upper => self.split(),
            Side::Lower => {
                let atoms = self.weights.iter().enumerate().map(|(k, &mass)| {
                    let index = self.first + k as i64;
                    let half = index.rem_euclid(2);
                    Atom { index: index.div_euclid(2), offset: half as f64 * self.step(), mass }
                });
                let h = 2.0 * self.step();
                let end =
                    |k: usize| self.weights[k] + self.weights[k.abs_diff(1).min(self.weights.len() - 1)];
                (self.first, self.weights) = if end(0) > end(self.weights.len() - 1) {
                    merge(atoms, Sweep::Up, h, self.tilt)
                } else {
                    merge(atoms.rev(), Sweep::Down, h, self.tilt)
                };
            }
        }
        // The operator norm of the map above, by the square root of its largest column and row sums.
        self.rounding *= (2.0 * (1.0 + self.tilt * self.step())).sqrt();
        // Each weight is a sum of few products.
        self.slack += 8.0 * f64::EPSILON * (1.0 + self.tilt * self.step());
        self.scale -= 1;
        self.normalise();
    }

    /// Splits the atoms at odd indices between their neighbours: of the $P$-mass a share $1/(1+e^{h})$ goes down and
    /// $1/(1+e^{-h})$ up, which keeps the $Q$-mass too.
    fn split(&mut self) {
        let h = self.step();
        let down = (-self.tilt * h).exp() / (1.0 + h.exp());
        let up = (self.tilt * h).exp() / (1.0 + (-h).exp());
        let first = self.first.div_euclid(2);
        let last = (self.first + self.weights.len() as i64 - 1).div_euclid(2) + 1;
        let mut coarse = vec![0.0; (last - first + 1) as usize];
        for (k, &weight) in self.weights.iter().enumerate() {
            let index = self.first + k as i64;
            let place = (index.div_euclid(2) - first) as usize;
            if index.rem_euclid(2) == 0 {
                coarse[place] += weight;
            } else {
                coarse[place] += weight * down;
                coarse[place + 1] += weight * up;
            }
        }
        // An error in an odd weight grows like the weight.
        self.slack *= (down + up).max(1.0);
        (self.first, self.weights) = (first, coarse);
    }

    /// The smallest $\varepsilon \ge 0$ with $\delta(\varepsilon) \le \delta$, rounded to the side of this grid.
    pub(super) fn epsilon(&self, delta: f64) -> f64 {
        // For eps in the cell that starts at `bottom`, delta(eps) = A - (e^{eps - bottom} - 1) D + tail terms, where
        // A = sum p (1 - e^{-(loss - bottom)}) and D = sum p e^{-(loss - bottom)} over the losses above the
        // cell's start. Walk down from the top: nothing is subtracted until the cell is found.
        let (shrink, lift) = ((-self.step()).exp(), -(-self.step()).exp_m1());
        let delta = match self.side {
            Side::Upper => delta * (1.0 - self.evaluation_error()),
            Side::Lower => delta * (1.0 + self.evaluation_error()),
        };
        let (mut a, mut d) = (0.0, 0.0);
        let (mut bottom, mut start) = (0.0, 0.0);
        // The mass at `bottom` itself, which counts below it.
        let mut here = 0.0;
        for k in (0..self.weights.len()).rev() {
            bottom = self.loss(k);
            d += here;
            a += d * lift;
            d *= shrink;
            if a + self.tail_terms(bottom) > delta || bottom <= 0.0 {
                // The root is in this cell.
                start = bottom.max(0.0);
                here = 0.0;
                break;
            }
            here = (self.weights[k].ln() + self.log_untilt(bottom)).exp();
        }
        // Below the lowest loss the cell starts there and holds its mass.
        d += here;
        // The tail terms fall with eps, so their value at the start of the cell is conservative on the upper
        // grid, and, being subtracted, on the lower one too. Below the lowest loss the cell starts at 0.
        let excess = a + self.tail_terms(start) - delta;
        if d <= 0.0 {
            return if self.side == Side::Upper && excess > 0.0 { f64::INFINITY } else { start };
        }
        // Below the lowest loss the excess may be negative.
        (bottom + (excess / d).max(-1.0).ln_1p()).max(start)
    }

    /// The relative error of a sum over the weights with their exponentials.
    fn evaluation_error(&self) -> f64 {
        let ends = [self.loss(0), self.loss(self.weights.len().max(1) - 1)];
        let exponent = ends.iter().fold(0.0f64, |largest, loss| largest.max(self.tilt * loss.abs()));
        let cells = self.weights.len() as f64;
        f64::EPSILON * (16.0 + 4.0 * cells + 4.0 * (exponent + self.log_mass.abs()))
    }

    /// $\delta(\varepsilon)$, rounded to the side of this grid.
    pub(super) fn delta(&self, epsilon: f64) -> f64 {
        let terms = self.weights.iter().enumerate().rev().map_while(|(k, weight)| {
            let loss = self.loss(k);
            (loss > epsilon).then(|| (weight.ln() + self.log_untilt(loss)).exp() * -(epsilon - loss).exp_m1())
        });
        let error = match self.side {
            Side::Upper => self.evaluation_error(),
            Side::Lower => -self.evaluation_error(),
        };
        (terms.sum::<f64>() * (1.0 + error) + self.tail_terms(epsilon)).clamp(0.0, 1.0)
    }

    /// Infinite loss, plus (upper) or minus (lower) the bound on the error of $\delta(\varepsilon)$. A unit of tilted
    /// weight at $\varepsilon + t$ contributes $e^{s-\theta\varepsilon}g(t)$, $g(t)=e^{-\theta t}(1-e^{-t})$, which is
    /// largest at $e^{-t} = \theta/(1+\theta)$; by Cauchy and Schwarz rounding errors contribute at most their norm times
    /// that of $g$ on the grid, $\sum g^2 \le \max g^2 + \frac1h\int g^2$.
    fn tail_terms(&self, epsilon: f64) -> f64 {
        let theta = self.tilt.max(1e-9);
        let peak = (-theta * (1.0 / theta).ln_1p() - theta.ln_1p()).exp();
        let integral = 1.0 / (2.0 * theta * (2.0 * theta + 1.0) * (theta + 1.0));
        let norm = (peak * peak + integral / self.step()).sqrt();
        let error = (self.slack * peak + self.rounding * norm) * self.log_untilt(epsilon).exp();
        let error = if error.is_nan() { f64::INFINITY } else { error };
        match self.side {
            Side::Upper => self.infinite + error,
            Side::Lower => -error,
        }
    }
}

/// The sum to about one rounding, by Neumaier's compensation.
pub(super) fn accurate_sum(terms: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0);
    for &term in terms {
        let next = sum + term;
        lost += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    }
    sum + lost
}

/// The order in which atoms are merged. Leftover atoms at the end are moved down, so the sweep should end where there is
/// little mass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sweep {
    /// Atoms come from the smallest loss up.
    Up,
    /// Atoms come from the largest loss down.
    Down,
}

/// Merges atoms onto the grid of step `h`: grid point $i$ takes all remaining atoms behind it and just enough
/// of those ahead of it that the ratio of the merged $P$- and $Q$-mass is $e^{ih}$. Masses are tilted by `tilt`.
/// Returns the first index and the masses.
pub(super) fn merge(atoms: impl Iterator<Item = Atom>, sweep: Sweep, h: f64, tilt: f64) -> (i64, Vec<f64>) {
    // Half steps, the distances in coarsening, are tabulated.
    let factors = |distance: f64| ((-tilt * distance).exp(), -(-distance).exp_m1());
    let near: [(f64, f64); 9] = std::array::from_fn(|k| factors(0.5 * h * (k as f64 - 4.0)));
    let factors = |distance: f64| {
        let halves = 2.0 * distance / h + 4.0;
        if (0.0..=8.0).contains(&halves) && halves.fract() == 0.0 {
            near[halves as usize]
        } else {
            factors(distance)
        }
    };
    let mut atoms = atoms.filter(|atom| atom.mass > 0.0);
    let mut next = atoms.next();
    let Some(start) = next else { return (0, vec![0.0]) };
    let floor = |atom: &Atom| atom.index + (atom.offset / h).floor() as i64;
    let (ahead, first) = match sweep {
        Sweep::Up => (1, floor(&start) + i64::from(start.offset % h > 0.0)),
        Sweep::Down => (-1, floor(&start)),
    };
    let mut masses: Vec<f64> = Vec::new();
    let mut leftover: Option<(i64, f64)> = None;
    let mut index = first;
    while let Some(mut atom) = next {
        let gap = |atom: &Atom| (atom.index - index) as f64 * h + atom.offset;
        let is_ahead = |atom: &Atom| gap(atom) * ahead as f64 > 0.0;
        if is_ahead(&atom) {
            // Nothing behind this grid point: leave it empty.
            masses.push(0.0);
            index += ahead;
            continue;
        }
        // `excess` is the sum of p (1 - e^{-(loss - ih)}), zero when the merged ratio is e^{ih}; its sign is that of the
        // atoms behind until it is balanced.
        let (mut mass, mut excess) = (0.0, 0.0);
        let mut lowest = floor(&atom);
        let balanced = loop {
            let distance = gap(&atom);
            let (untilt, lift) = factors(distance);
            let untilted = atom.mass * untilt;
            if is_ahead(&atom) && (excess + untilted * lift) * ahead as f64 > 0.0 {
                let share = -excess / (untilted * lift);
                mass += share * untilted;
                atom.mass *= 1.0 - share;
                next = Some(atom);
                break true;
            }
            mass += untilted;
            excess += untilted * lift;
            lowest = lowest.min(floor(&atom));
            next = atoms.next();
            match next {
                Some(other) if excess != 0.0 || !is_ahead(&other) => atom = other,
                Some(_) => break true,
                None => break excess >= 0.0,
            }
        };
        if balanced {
            masses.push(mass);
        } else {
            // All mass is below the grid point: move it to the lowest grid point with mass above. Its tilted weight
            // was computed at `index`.
            leftover = Some((lowest, mass * (-tilt * (index - lowest) as f64 * h).exp()));
            masses.push(0.0);
        }
        index += ahead;
    }
    if sweep == Sweep::Down {
        masses.reverse();
    }
    let mut lowest = if sweep == Sweep::Down { first - masses.len() as i64 + 1 } else { first };
    if let Some((place, mass)) = leftover {
        if place < lowest {
            masses.splice(0..0, std::iter::repeat_n(0.0, (lowest - place) as usize));
            lowest = place;
        }
        masses[(place - lowest) as usize] += mass;
    }
    (lowest, masses)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// $\delta(\varepsilon)$ of plain atoms.
    fn profile(atoms: &[(f64, f64)], epsilon: f64) -> f64 {
        atoms.iter().map(|&(loss, p)| p * (1.0 - (epsilon - loss).exp()).max(0.0)).sum()
    }

    fn example(side: Side, tilt: f64) -> (Grid, Vec<(f64, f64)>) {
        let loss = |k: usize| (k as f64 - 160.0) / 64.0;
        let plain: Vec<f64> = (0..400).map(|k| (-0.5 * (loss(k) - 0.5).powi(2) / 0.3).exp()).collect();
        let total: f64 = plain.iter().sum();
        let plain: Vec<f64> = plain.iter().map(|p| p / total).collect();
        let atoms = plain.iter().enumerate().map(|(k, &p)| (loss(k), p)).collect();
        (Grid::tilted(side, 6, -160, plain, 0.0, tilt), atoms)
    }

    #[test]
    fn coarsening_keeps_to_its_side_and_close() {
        for tilt in [0.0, 3.0, 40.0] {
            for side in [Side::Upper, Side::Lower] {
                let (mut grid, atoms) = example(side, tilt);
                grid.coarsen();
                for k in -30..100 {
                    let epsilon = f64::from(k) * 0.037;
                    let (exact, coarse) = (profile(&atoms, epsilon), grid.delta(epsilon));
                    let slack = 1e-12 * exact.max(1e-12);
                    match side {
                        Side::Upper => assert!(coarse >= exact - slack, "{tilt} {epsilon}: {coarse} {exact}"),
                        Side::Lower => assert!(coarse <= exact + slack, "{tilt} {epsilon}: {coarse} {exact}"),
                    }
                    // Rounding errors of a strong tilt are small only where it has its weight.
                    let near = if tilt > 10.0 { 3.0..3.5 } else { 0.0..2.0 };
                    if near.contains(&epsilon) {
                        assert!(
                            (coarse / exact - 1.0).abs() < 0.05,
                            "{side:?} {tilt} {epsilon}: {coarse} {exact}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn epsilon_inverts_delta() {
        for side in [Side::Upper, Side::Lower] {
            let (grid, atoms) = example(side, 5.0);
            for target in [0.3, 0.1, 1e-2, 1e-4, 1e-6] {
                let epsilon = grid.epsilon(target);
                let exact = profile(&atoms, epsilon);
                assert!((exact / target - 1.0).abs() < 1e-6, "{side:?} {target}: {epsilon} {exact}");
            }
            assert_eq!(grid.epsilon(0.99), 0.0);
        }
    }

    #[test]
    fn trimming_keeps_to_its_side() {
        for side in [Side::Upper, Side::Lower] {
            let (mut grid, atoms) = example(side, 2.0);
            let before = grid.weights.len();
            grid.trim(1e-4, 1e-5);
            assert!(grid.weights.len() < before);
            for epsilon in [0.0, 0.5, 1.0, 2.0] {
                let (exact, trimmed) = (profile(&atoms, epsilon), grid.delta(epsilon));
                match side {
                    Side::Upper => assert!(trimmed >= exact - 1e-14 && trimmed < exact + 1e-3),
                    Side::Lower => assert!(trimmed <= exact + 1e-14 && trimmed > exact - 1e-3),
                }
            }
        }
    }

    /// Merging keeps the mass, in either order, and never raises the profile.
    #[test]
    fn merged_atoms_are_dominated() {
        let masses = [0.1, 0.25, 0.3, 0.2, 0.15];
        for offset in [0.0, 0.03, 0.08] {
            let atoms = masses.iter().enumerate().map(|(k, &mass)| Atom {
                index: k as i64 / 2,
                offset: offset + 0.05 * (k % 2) as f64,
                mass,
            });
            let plain: Vec<(f64, f64)> =
                atoms.clone().map(|atom| (0.1 * atom.index as f64 + atom.offset, atom.mass)).collect();
            let up = merge(atoms.clone(), Sweep::Up, 0.1, 0.0);
            let down = merge(atoms.rev(), Sweep::Down, 0.1, 0.0);
            for (first, weights) in [up, down] {
                assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-15, "{offset}: {first} {weights:?}");
                let merged: Vec<(f64, f64)> =
                    weights.iter().enumerate().map(|(k, &p)| (0.1 * (first + k as i64) as f64, p)).collect();
                for k in -10..60 {
                    let epsilon = 0.01 * f64::from(k);
                    let (below, exact) = (profile(&merged, epsilon), profile(&plain, epsilon));
                    assert!(below <= exact + 1e-14, "{offset} {epsilon}: {below} {exact} {merged:?}");
                }
            }
        }
    }
}
