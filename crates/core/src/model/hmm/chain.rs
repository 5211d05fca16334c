//! Transitions between states, with their probabilities integrated out.

/// Transition counts of all chains together. The dummy state before the first step has its own row.
///
/// # Maths
/// With $A_{a,:} \sim \mathrm{Dirichlet}(\alpha)$ integrated out, and all counts without the state $z_t = k$ between $a$ and $c$,
/// $$P(z_t = k | \cdot) \propto (n_{ak} + \alpha) \frac{n_{kc} + I[a = k = c] + \alpha}{n_k + I[a = k] + K\alpha}\,p(x_t|k).$$
/// This is equation 48 of Foulds et al. (2016), whose second denominator lacks the move from $a$ to $k$ itself and has the index of the
/// step before. A last step has no second factor.
#[derive(Debug, Clone)]
pub(super) struct Transitions {
    states: usize,
    alpha: f64,
    /// $n_{ab}$, a row for each state and one for the start.
    counts: Vec<f64>,
    /// $n_a$.
    totals: Vec<f64>,
}

/// The neighbours of a step in its chain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Between {
    /// The row of the state before; the number of states denotes the start.
    pub(super) before: usize,
    pub(super) after: Option<usize>,
}

impl Transitions {
    /// Counts of chains of `steps` states each.
    pub(super) fn of(states: usize, alpha: f64, steps: usize, assignments: &[usize]) -> Self {
        let (counts, totals) = (vec![0.0; (states + 1) * states], vec![0.0; states + 1]);
        let mut transitions = Self { states, alpha, counts, totals };
        for chain in assignments.chunks(steps) {
            let mut before = states;
            for &state in chain {
                transitions.count(before, state, 1.0);
                before = state;
            }
        }
        transitions
    }

    pub(super) fn states(&self) -> usize {
        self.states
    }

    /// The transition counts of a state plus the prior: the concentrations of its row of the transition matrix.
    pub(super) fn concentrations(&self, state: usize) -> impl Iterator<Item = f64> + '_ {
        self.counts[state * self.states..][..self.states].iter().map(|n| n + self.alpha)
    }

    fn count(&mut self, before: usize, state: usize, times: f64) {
        self.counts[before * self.states + state] += times;
        self.totals[before] += times;
    }

    /// The neighbours of a cell.
    pub(super) fn between(&self, assignments: &[usize], steps: usize, cell: usize) -> Between {
        let step = cell % steps;
        Between {
            before: if step == 0 { self.states } else { assignments[cell - 1] },
            after: (step + 1 < steps).then(|| assignments[cell + 1]),
        }
    }

    /// Adds a state between its neighbours (1) or removes it (-1).
    pub(super) fn change(&mut self, Between { before, after }: Between, state: usize, times: f64) {
        self.count(before, state, times);
        if let Some(after) = after {
            self.count(state, after, times);
        }
    }

    /// The probability of each state of a cell, given those of all others.
    pub(super) fn predictive(
        &mut self,
        assignments: &[usize],
        steps: usize,
        cell: usize,
        weights: &mut [f64],
    ) {
        let between = self.between(assignments, steps, cell);
        self.change(between, assignments[cell], -1.0);
        self.weights(between, weights);
        self.change(between, assignments[cell], 1.0);
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
    }

    /// The probability of each state between neighbours, up to a factor. The state itself must not be counted.
    pub(super) fn weights(&self, Between { before, after }: Between, weights: &mut [f64]) {
        let row = &self.counts[before * self.states..][..self.states];
        for (k, (weight, n)) in weights.iter_mut().zip(row).enumerate() {
            *weight = n + self.alpha;
            if let Some(after) = after {
                let same = before == k;
                let there = self.counts[k * self.states + after] + f64::from(u8::from(same && k == after));
                let total = self.totals[k] + f64::from(u8::from(same));
                *weight *= (there + self.alpha) / (total + self.states as f64 * self.alpha);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// $\log p(z)$ with the transition probabilities integrated out: a Dirichlet-multinomial for each row.
    fn log_joint(states: usize, alpha: f64, steps: usize, assignments: &[usize]) -> f64 {
        let counted = Transitions::of(states, alpha, steps, assignments);
        let k_alpha = states as f64 * alpha;
        let row = |a: usize| {
            let counts = &counted.counts[a * states..][..states];
            let parts: f64 = counts.iter().map(|n| libm::lgamma(n + alpha) - libm::lgamma(alpha)).sum();
            parts + libm::lgamma(k_alpha) - libm::lgamma(counted.totals[a] + k_alpha)
        };
        (0..=states).map(row).sum()
    }

    /// Every state of two chains of length 8, against the joint probability of all of them, with emissions.
    #[test]
    fn conditional_updates_equal_brute_force() {
        let (states, steps, alpha) = (3, 8, 0.7);
        let mut seed = 5u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as f64 / (1u64 << 31) as f64
        };
        for _ in 0..50 {
            let assignments: Vec<usize> = (0..2 * steps).map(|_| (next() * states as f64) as usize).collect();
            let emissions: Vec<f64> = (0..2 * steps * states).map(|_| 0.1 + next()).collect();
            for cell in 0..2 * steps {
                let of = |k: usize| &emissions[cell * states..][k];
                let mut counted = Transitions::of(states, alpha, steps, &assignments);
                let between = counted.between(&assignments, steps, cell);
                counted.change(between, assignments[cell], -1.0);
                let mut found = vec![0.0; states];
                counted.weights(between, &mut found);
                found.iter_mut().enumerate().for_each(|(k, w)| *w *= of(k));
                let mut exact: Vec<f64> = (0..states)
                    .map(|k| {
                        let mut changed = assignments.clone();
                        changed[cell] = k;
                        log_joint(states, alpha, steps, &changed).exp() * of(k)
                    })
                    .collect();
                for weights in [&mut found, &mut exact] {
                    let total: f64 = weights.iter().sum();
                    weights.iter_mut().for_each(|w| *w /= total);
                }
                for (a, b) in found.iter().zip(&exact) {
                    assert!((a - b).abs() < 1e-12, "{a} {b}");
                }
            }
        }
    }
}
