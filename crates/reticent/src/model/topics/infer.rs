//! What one document says about its own topics: the E-step.

#![allow(clippy::needless_range_loop, reason = "one index for several arrays")]

use super::document::Document;
use super::exp_digamma::exp_digamma;
use crate::family::digamma;
use reticent_noise::with_wide_vectors;

/// Numbers in a vector.
const LANES: usize = 8;
/// Below this, a factor of a product is taken for this: products stay normal numbers, and none is 0.
const FLOOR: f32 = 1e-18;
/// A topic that has fewer words of a document than this has none of it.
const NOTHING: f32 = 1e-6;

/// $e^{\mathrm{E}\log\beta}$, the topics of each word side by side.
///
/// A word's row is divided by its largest entry, which cancels in every posterior: single precision is enough then, however rare a
/// word is.
#[derive(Debug, Clone)]
pub struct Expected {
    /// $K$.
    topics: usize,
    /// $K$ and some zeros, to fill whole vectors.
    lanes: usize,
    rows: Vec<f32>,
    /// The logarithm of what each row was divided by.
    log_scale: Vec<f64>,
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Until {
    /// The mean change of $\gamma$ that is small enough.
    pub change: f64,
    /// Sweeps that are enough in any case.
    pub sweeps: usize,
}

impl Default for Until {
    /// As in the original code of online LDA.
    fn default() -> Self {
        Self { change: 1e-3, sweeps: 100 }
    }
}

/// $q(\theta)$ and $q(z)$ of a document.
#[derive(Debug, Clone)]
pub struct Inferred {
    /// $\gamma$.
    pub gamma: Vec<f32>,
    state: State,
}

/// What is left to be done for a document: topics that it has nothing of are dropped on the way.
#[derive(Debug, Clone)]
struct State {
    /// The topics that are left.
    alive: Vec<usize>,
    /// $\gamma$ of these, and then numbers that do not matter.
    gamma: Vec<f32>,
    /// $e^{\psi(\gamma)}$, and zeros.
    weights: Vec<f32>,
    /// The same topics of the rows of the document's words.
    rows: Vec<f32>,
}

impl Expected {
    /// From the parameters $\lambda$ of $q(\beta)$, the topics of each word side by side.
    ///
    /// # Panics
    /// If these are not whole rows.
    #[must_use]
    pub fn new(lambda: &[f64], topics: usize) -> Self {
        assert!(topics > 0 && lambda.len().is_multiple_of(topics), "rows of topics");
        let mut totals = vec![0.0; topics];
        for row in lambda.chunks_exact(topics) {
            totals.iter_mut().zip(row).for_each(|(total, x)| *total += x);
        }
        let totals: Vec<f64> = totals.into_iter().map(digamma).collect();
        let lanes = topics.next_multiple_of(LANES);
        let mut rows = vec![0.0; lambda.len() / topics * lanes];
        let mut log_scale = Vec::with_capacity(lambda.len() / topics);
        let mut logs = vec![0.0; topics];
        for (row, lambda) in rows.chunks_exact_mut(lanes).zip(lambda.chunks_exact(topics)) {
            for ((log, &x), total) in logs.iter_mut().zip(lambda).zip(&totals) {
                *log = digamma(x) - total;
            }
            let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            row.iter_mut().zip(&logs).for_each(|(x, log)| *x = ((log - largest).exp() as f32).max(FLOOR));
            log_scale.push(largest);
        }
        Self { topics, lanes, rows, log_scale }
    }

    /// Coordinate ascent on $\gamma$ and $\phi$ (eqs. 25 and 26), from all topics alike.
    ///
    /// With $t_k = e^{\psi(\gamma_k)}$: $\gamma_k \leftarrow \alpha + t_k\sum_w n_w\beta_{wk}/\sum_j t_j\beta_{wj}$. It starts afresh for each
    /// document, so that it is a function of the document and of what was released.
    #[must_use]
    pub fn infer(&self, document: &Document, alpha: f64, until: Until) -> Inferred {
        let mut rows = Vec::with_capacity(document.words.len() * self.lanes);
        for &word in &document.words {
            rows.extend_from_slice(&self.rows[word * self.lanes..][..self.lanes]);
        }
        let share = (alpha + document.length() / self.topics as f64) as f32;
        let (gamma, weights) = (vec![share; self.lanes], vec![0.0; self.lanes]);
        let mut state = State { alive: (0..self.topics).collect(), gamma, weights, rows };
        with_wide_vectors(
            #[inline(always)]
            || state.ascend(&document.counts, alpha as f32, until, self.topics),
        );
        let mut gamma = vec![alpha as f32; self.topics];
        state.alive.iter().zip(&state.gamma).for_each(|(&k, &x)| gamma[k] = x);
        Inferred { gamma, state }
    }

    /// $\sum_w n_w\log\sum_k e^{\mathrm{E}\log\theta_k + \mathrm{E}\log\beta_{kw}} - KL(q(\theta)\Vert p(\theta))$: the part of the lower bound that is about one
    /// document, at the best $q(z)$.
    #[must_use]
    pub fn bound(&self, document: &Document, inferred: &Inferred, alpha: f64) -> f64 {
        let gamma: Vec<f64> = inferred.gamma.iter().map(|&x| f64::from(x)).collect();
        let total: f64 = gamma.iter().sum();
        let log_theta: Vec<f64> = gamma.iter().map(|&x| digamma(x) - digamma(total)).collect();
        let theta: Vec<f64> = log_theta.iter().map(|x| x.exp()).collect();
        let words = document.words.iter().zip(&document.counts).map(|(&word, &count)| {
            let row = &self.rows[word * self.lanes..][..self.topics];
            let sum: f64 = row.iter().zip(&theta).map(|(&x, t)| f64::from(x) * t).sum();
            f64::from(count) * (sum.max(f64::MIN_POSITIVE).ln() + self.log_scale[word])
        });
        let k = self.topics as f64;
        let mut kl = libm::lgamma(total) - libm::lgamma(k * alpha) + k * libm::lgamma(alpha);
        for (&gamma, log) in gamma.iter().zip(&log_theta) {
            kl += (gamma - alpha) * log - libm::lgamma(gamma);
        }
        words.sum::<f64>() - kl
    }
}

impl Inferred {
    /// Writes $n_w\phi_{wk}$ to `out`, which holds zeros: the topics of each of the document's words side by side.
    pub fn write(&self, document: &Document, out: &mut [f64]) {
        let State { alive, weights, rows, .. } = &self.state;
        for ((out, row), &count) in
            out.chunks_exact_mut(self.gamma.len()).zip(rows.chunks_exact(weights.len())).zip(&document.counts)
        {
            let factor = count / dot(row, weights).max(f32::MIN_POSITIVE);
            for ((&k, x), weight) in alive.iter().zip(row).zip(weights) {
                out[k] = f64::from(factor * x * weight);
            }
        }
    }
}

impl State {
    #[inline(always)]
    fn ascend(&mut self, counts: &[f32], alpha: f32, until: Until, topics: usize) {
        let enough = (until.change * topics as f64) as f32;
        let mut sums = vec![0.0; self.gamma.len()];
        for _ in 0..until.sweeps {
            self.weigh();
            sweep(&self.rows, counts, &self.weights, &mut sums);
            let (mut change, mut left) = (0.0, 0);
            for ((gamma, weight), sum) in self.gamma.iter_mut().zip(&self.weights).zip(&sums) {
                let next = alpha + weight * sum;
                change += (next - *gamma).abs();
                left += u32::from(next > alpha + NOTHING);
                *gamma = next;
            }
            if change < enough {
                break;
            }
            if (left as usize).next_multiple_of(LANES) * 4 <= self.gamma.len() * 3 {
                self.shrink(alpha + NOTHING, counts.len());
                sums.truncate(self.gamma.len());
            }
        }
        self.weigh();
    }

    #[inline(always)]
    fn weigh(&mut self) {
        self.weights
            .iter_mut()
            .zip(&self.gamma)
            .for_each(|(weight, &gamma)| *weight = exp_digamma(gamma).max(FLOOR));
        self.weights[self.alive.len()..].fill(0.0);
    }

    /// Drops the topics that the document has nothing of.
    fn shrink(&mut self, nothing: f32, words: usize) {
        let kept: Vec<usize> = (0..self.alive.len()).filter(|&k| self.gamma[k] > nothing).collect();
        let (old, lanes) = (self.gamma.len(), kept.len().next_multiple_of(LANES).max(LANES));
        self.alive = kept.iter().map(|&k| self.alive[k]).collect();
        for (to, &from) in kept.iter().enumerate() {
            self.gamma[to] = self.gamma[from];
        }
        // Each row moves to the front, never beyond where it was.
        for word in 0..words {
            for (to, &from) in kept.iter().enumerate() {
                self.rows[word * lanes + to] = self.rows[word * old + from];
            }
            self.rows[word * lanes + kept.len()..(word + 1) * lanes].fill(0.0);
        }
        self.rows.truncate(words * lanes);
        self.gamma.truncate(lanes);
        self.weights.truncate(lanes);
    }
}

/// $\sum_w n_w \beta_{wk}/\sum_j t_j\beta_{wj}$ for each $k$, in registers if there are few topics.
#[inline(always)]
fn sweep(rows: &[f32], counts: &[f32], weights: &[f32], sums: &mut [f32]) {
    match weights.len() / LANES {
        1 => sweep_in::<1>(rows, counts, weights, sums),
        2 => sweep_in::<2>(rows, counts, weights, sums),
        3 => sweep_in::<3>(rows, counts, weights, sums),
        4 => sweep_in::<4>(rows, counts, weights, sums),
        5 => sweep_in::<5>(rows, counts, weights, sums),
        6 => sweep_in::<6>(rows, counts, weights, sums),
        7 => sweep_in::<7>(rows, counts, weights, sums),
        8 => sweep_in::<8>(rows, counts, weights, sums),
        _ => {
            sums.fill(0.0);
            for (row, &count) in rows.chunks_exact(weights.len()).zip(counts) {
                let factor = count / dot(row, weights).max(f32::MIN_POSITIVE);
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x);
            }
        }
    }
}

/// The same for $K = 8V$.
#[inline(always)]
fn sweep_in<const V: usize>(rows: &[f32], counts: &[f32], weights: &[f32], sums: &mut [f32]) {
    let mut t = [[0.0; LANES]; V];
    t.as_flattened_mut().copy_from_slice(weights);
    let mut acc = [[0.0; LANES]; V];
    for (row, &count) in rows.as_chunks::<LANES>().0.as_chunks::<V>().0.iter().zip(counts) {
        let mut lanes = [0.0; LANES];
        for v in 0..V {
            for i in 0..LANES {
                lanes[i] += row[v][i] * t[v][i];
            }
        }
        let factor = count / total(lanes).max(f32::MIN_POSITIVE);
        for v in 0..V {
            for i in 0..LANES {
                acc[v][i] += factor * row[v][i];
            }
        }
    }
    sums.copy_from_slice(acc.as_flattened());
}

/// In lanes, so that the compiler need not keep the order of additions.
#[inline(always)]
fn dot(row: &[f32], weights: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    for (row, weights) in row.as_chunks::<LANES>().0.iter().zip(weights.as_chunks::<LANES>().0) {
        for ((lane, x), weight) in lanes.iter_mut().zip(row).zip(weights) {
            *lane += x * weight;
        }
    }
    total(lanes)
}

/// In pairs, which is three steps instead of eight.
#[inline(always)]
fn total(lanes: [f32; LANES]) -> f32 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (b + f)) + ((c + g) + (d + h))
}
