//! The bounds of scores: the length $r$ to which inputs are weighted, and the maximum $c$ of weighted residuals.
//!
//! The noise of a score is proportional to $cr$. Bounds that hold for every record, $c = 1$ and the length of the longest possible inputs, weight all
//! records alike, and then the fit is that of the likelihood; lower ones down-weight records that are long or far from their class, and are less
//! efficient. With weights $u = \min(1, c/\max(p, 1 - p))$ and $v = \min(1, r^2/\lVert x\rVert^2)$, $h = p(1 - p)$, and mean squares $q$ of inputs,
//! the variance of a weight is about
//!
//! $$\frac{E[u^2h]}{E[uh]^2}\,\frac{E[v^2]}{E[v]^2}\,\frac{1}{Nq} + \left(\frac{zcr}{N q\,E[uh]\,E[v]}\right)^2,$$
//!
//! from records and from noise, which is $zcr$ in the average score. The bounds minimise its mean over weights, for inputs whose squares are independent
//! and uniform between 0 and 1, levels that are equally frequent, and scores $w \cdot x$ that are normal with standard deviation [`SCORE_SD`]. So they
//! depend on public numbers only, and tend to those of the likelihood as noise becomes small.

use super::query::score_weight;
use crate::math::normal;
use crate::math::vector::sigmoid;

/// Standard deviation of $w \cdot x$ for which bounds are chosen.
const SCORE_SD: f64 = 2.0;
/// Steps between nodes of normal distributions, which are quantiles.
const NODES: usize = 40;
/// Candidates for each bound.
const CANDIDATES: usize = 50;

/// The radius $r$ and the bound $c$ for so many records and noise $z$ of the average score, as a multiple of $cr$.
pub(super) fn choose(columns: &[usize], records: f64, z: f64) -> (f64, f64) {
    // The ends of the range count too, so that bounds tend to those of the longest inputs.
    let nodes: Vec<f64> =
        (0..=NODES).map(|k| normal::quantile(k as f64 / NODES as f64).clamp(-40.0, 40.0)).collect();
    let numbers = columns.iter().filter(|&&levels| levels == 1).count() as f64;
    let least = 1.0 + columns.len() as f64 - numbers;
    let squares: Vec<f64> = nodes
        .iter()
        .map(|x| least + (0.5 * numbers + (numbers / 12.0).sqrt() * x).clamp(0.0, numbers))
        .collect();
    // Means of 1/q and of 1/q^2 over weights.
    let inputs: f64 = columns.iter().map(|&levels| levels as f64).sum();
    let over = |power: i32| {
        let inverse_square = |levels: usize| if levels == 1 { 2.0 } else { levels as f64 };
        let each = |&levels: &usize| levels as f64 * f64::powi(inverse_square(levels), power);
        columns.iter().map(each).sum::<f64>() / inputs
    };
    let (sampling, noise) = (over(1) / records, over(2) * (z / records).powi(2));
    let mean = |of: &dyn Fn(f64) -> f64, at: &[f64]| {
        let ends = 0.5 * (of(at[0]) + of(at[NODES]));
        (ends + at[1..NODES].iter().map(|x| of(*x)).sum::<f64>()) / NODES as f64
    };
    let share = |k: usize| k as f64 / CANDIDATES as f64;
    // First and second moments of weights.
    let radii: Vec<(f64, f64, f64)> = (0..=CANDIDATES)
        .map(|k| {
            let square = least + share(k) * numbers;
            let v = |length: f64| (square / length).min(1.0);
            (square.sqrt(), mean(&v, &squares), mean(&|length| v(length).powi(2), &squares))
        })
        .collect();
    let bounds: Vec<(f64, f64, f64)> = (0..=CANDIDATES)
        .map(|k| {
            let bound = 0.5 + 0.5 * share(k);
            let moment = |power: i32| {
                let of = |x: f64| {
                    let p = sigmoid(SCORE_SD * x);
                    score_weight(p, bound).powi(power) * p * (1.0 - p)
                };
                mean(&of, &nodes)
            };
            (bound, moment(1), moment(2))
        })
        .collect();
    let mut best = (f64::INFINITY, 1.0, 1.0);
    for &(r, v, v_square) in &radii {
        for &(c, u, u_square) in &bounds {
            let variance =
                u_square / (u * u) * v_square / (v * v) * sampling + noise * (c * r / (u * v)).powi(2);
            if variance <= best.0 {
                best = (variance, r, c);
            }
        }
    }
    (best.1, best.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds grow with the budget, from less than the typical length to the largest possible one, and do not depend on it without numbers.
    #[test]
    fn bounds_tend_to_those_of_the_likelihood() {
        let columns = [1, 1, 1, 1, 1, 3];
        let mut last = (0.0, 0.5);
        for z in [1e6, 100.0, 10.0, 1.0, 0.1, 1e-3, 0.0] {
            let (r, c) = choose(&columns, 10_000.0, z);
            assert!(r >= last.0 && c >= last.1, "{z}: {r} {c}");
            last = (r, c);
        }
        assert!((last.0 - 7f64.sqrt()).abs() < 1e-12 && (last.1 - 1.0).abs() < 1e-12);
        // By noise alone, r/E[v] is least near the typical length, whose square is 2 and a half of 5, and its deviation (5/12)^(1/2); and c/E[uh] near
        // a half, where it does not depend on c until the weights of the first records reach 1.
        let (r, c) = choose(&columns, 10_000.0, 1e6);
        assert!((4.5 - 2.0 * 0.65..4.5 + 2.0 * 0.65).contains(&(r * r)) && c < 0.55, "{r} {c}");
        assert_eq!(choose(&[4, 3], 1000.0, 1.0).0, 3f64.sqrt());
    }
}
