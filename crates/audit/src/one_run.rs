//! Lower bounds on epsilon from guesses about many canaries in few runs.
//!
//! Each canary takes part with probability 1/2, independently. The attacker guesses for some of them whether they did. A mechanism
//! that is (epsilon, delta)-differentially private allows no more right guesses than randomised response would, up to delta.
//!
//! Several independent runs, each with canaries of its own, are one mechanism on all of their canaries: one canary changes one of the runs.
//! So canaries and guesses of runs add up.
//!
//! # Citation
//! Steinke, Nasr, Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023, Theorem 5.2.

use crate::statistics::{at_least, exactly};

/// Numbers of canaries, guesses and right guesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guesses {
    /// All canaries, including those without a guess.
    pub canaries: u64,
    /// Guesses.
    pub made: u64,
    /// Right ones among them.
    pub right: u64,
}

impl Guesses {
    /// The largest probability of so many right guesses under (epsilon, delta): P(B >= v) + 2 m delta max_i P(v > B >= v - i) / i, where B is
    /// binomial with r trials of probability e^epsilon / (1 + e^epsilon), r guesses were made of m canaries, and v of them are right.
    #[must_use]
    pub fn p_value(&self, epsilon: f64, delta: f64) -> f64 {
        let &Self { canaries, made, right } = self;
        let rate = 1.0 / (1.0 + (-epsilon).exp());
        let (mut sum, mut steepest) = (0.0f64, 0.0f64);
        for i in 1..=right {
            sum += exactly(made, right - i, rate);
            steepest = steepest.max(sum / i as f64);
            // The sum is at most 1, and later terms are divided by more than i.
            if delta == 0.0 || steepest * (i + 1) as f64 >= 1.0 {
                break;
            }
        }
        (at_least(made, right, rate) + 2.0 * canaries as f64 * delta * steepest).min(1.0)
    }

    /// The largest epsilon that is refuted at this delta with an error probability of at most `alpha`.
    #[must_use]
    pub fn epsilon(&self, delta: f64, alpha: f64) -> f64 {
        let (mut low, mut high) = (0.0, 30.0);
        if self.p_value(low, delta) > alpha {
            return 0.0;
        }
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            *(if self.p_value(middle, delta) <= alpha { &mut low } else { &mut high }) = middle;
        }
        low
    }
}

/// Guesses about the `each` canaries of the highest scores that they took part and about the `each` of the lowest that they did not: how
/// many are right.
#[must_use]
pub fn guess(scores: &[f64], took_part: &[bool], each: usize) -> Guesses {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let each = each.min(order.len() / 2);
    let (low, high) = (&order[..each], &order[order.len() - each..]);
    let right =
        low.iter().filter(|&&i| !took_part[i]).count() + high.iter().filter(|&&i| took_part[i]).count();
    Guesses { canaries: scores.len() as u64, made: 2 * each as u64, right: right as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a delta: all of n guesses right has the probability p^n, so epsilon is the log odds of alpha^(1/n).
    #[test]
    fn without_a_delta_it_is_the_tail_of_randomised_response() {
        for (n, alpha) in [(20u64, 1e-3), (100, 1e-9), (1000, 1e-12)] {
            let p = f64::powf(alpha, 1.0 / n as f64);
            let all = Guesses { canaries: 2 * n, made: n, right: n };
            assert!((all.epsilon(0.0, alpha) - (p / (1.0 - p)).ln()).abs() < 1e-6, "{n}");
            let some = Guesses { right: n - n / 10, ..all };
            let epsilon = some.epsilon(0.0, alpha);
            let p = 1.0 / (1.0 + (-epsilon).exp());
            assert!((at_least(n, n - n / 10, p) / alpha - 1.0).abs() < 1e-6, "{n}");
        }
        // Half of the guesses right refute nothing.
        assert_eq!(Guesses { canaries: 100, made: 100, right: 50 }.epsilon(0.0, 0.05), 0.0);
    }

    /// One canary, one guess, right: P = p, and (1, delta) adds 2 delta (1 - p). By hand: any mechanism that reveals its canary with probability
    /// delta and else answers at random is right with probability p + delta (1 - p) at most.
    #[test]
    fn a_delta_adds_what_the_theorem_states() {
        let one = Guesses { canaries: 1, made: 1, right: 1 };
        let (epsilon, delta) = (1.0f64, 0.01);
        let p = epsilon.exp() / (1.0 + epsilon.exp());
        assert!((one.p_value(epsilon, delta) - (p + 2.0 * delta * (1.0 - p))).abs() < 1e-12);
        // Two guesses, both right: max(P(B = 1), P(B <= 1) / 2) = 2 p (1 - p) or (1 - p^2) / 2.
        let two = Guesses { canaries: 5, made: 2, right: 2 };
        let steepest = (2.0 * p * (1.0 - p)).max((1.0 - p * p) / 2.0);
        assert!((two.p_value(epsilon, delta) - (p * p + 2.0 * 5.0 * delta * steepest)).abs() < 1e-12);
    }

    /// The figure that the paper's own program prints for 600 right guesses of 600 about 1000 canaries at delta 1e-5 and 95 % is between that of
    /// delta 0, log odds of 0.05^(1/600), and that less what delta costs; more canaries, more guesses that are wrong or a larger delta refute less.
    #[test]
    fn less_is_refuted_with_a_delta_more_canaries_or_wrong_guesses() {
        let all = Guesses { canaries: 1000, made: 600, right: 600 };
        let pure = all.epsilon(0.0, 0.05);
        let with = |delta| all.epsilon(delta, 0.05);
        assert!(with(1e-6) < pure && with(1e-5) < with(1e-6) && with(1e-4) < with(1e-5));
        assert!(Guesses { canaries: 5000, ..all }.epsilon(1e-5, 0.05) < with(1e-5));
        assert!(Guesses { right: 590, ..all }.epsilon(1e-5, 0.05) < with(1e-5));
    }

    /// Randomised response itself: a claim of its own epsilon is refuted with probability at most alpha, and half of it is refuted.
    #[test]
    fn randomised_response_is_refuted_at_half_of_its_epsilon() {
        let (epsilon, m) = (2.0f64, 4000u64);
        let expected = (m as f64 / (1.0 + (-epsilon).exp())) as u64;
        let found = Guesses { canaries: m, made: m, right: expected }.epsilon(0.0, 1e-9);
        assert!(found < epsilon && found > epsilon / 2.0, "{found}");
    }

    #[test]
    fn guesses_are_about_extreme_scores() {
        let scores = [0.1, 5.0, -3.0, 0.2, 4.0, -2.0];
        let took_part = [true, true, false, true, false, true];
        assert_eq!(guess(&scores, &took_part, 2), Guesses { canaries: 6, made: 4, right: 2 });
        assert_eq!(guess(&scores, &took_part, 1), Guesses { canaries: 6, made: 2, right: 2 });
    }
}
