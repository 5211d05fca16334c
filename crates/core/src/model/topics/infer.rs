//! The E-step: the posterior of the topics of one document.

#![allow(clippy::needless_range_loop, reason = "one index for several arrays")]

use super::document::Document;
use super::exp_digamma::{exp_digamma, exp_minus, parts};
use crate::family::digamma;
use reticent_noise::with_wide_vectors;
use serde::{Deserialize, Serialize};

/// Width of a vector.
const LANES: usize = 8;
/// Minimum of a factor of a product: products stay normal numbers, and none is 0.
const FLOOR: f32 = 1e-18;
/// Number of words of a document below which a topic is dropped.
const MIN_WORDS: f32 = 1e-6;

/// $e^{\mathrm{E}\log\beta}$, the topics of each word adjacent.
///
/// A word's row is divided by its largest entry, which cancels in every posterior: single precision is enough then, however rare a
/// word is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Expected {
    /// Number of topics $K$.
    topics: usize,
    /// $K$ with padding, to fill complete vectors.
    lanes: usize,
    rows: Vec<f32>,
    /// The logarithm of the divisor of each row.
    log_scale: Vec<f64>,
}

/// The stopping rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Until {
    /// Mean change of $\gamma$ for convergence.
    pub change: f64,
    /// Maximum number of sweeps.
    pub sweeps: usize,
}

impl Default for Until {
    /// That of the original code of online LDA.
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

type Vector = [f32; LANES];

/// The state of the inference for one document. Topics with a negligible share are dropped.
///
/// The words of each topic are adjacent: a vector is then eight words, whose normalisers need no horizontal sum and
/// one division, and a dropped topic is simply skipped.
#[derive(Debug, Clone)]
struct State {
    /// Number of remaining topics.
    left: usize,
    /// Indices of the remaining topics; the rest is unused.
    topics: Vec<usize>,
    /// Their $\gamma$, and then $\alpha$.
    gamma: Vec<Vector>,
    /// Their $t_k = e^{\psi(\gamma_k)}$, and then zeros.
    weights: Vec<Vector>,
    /// $n_w$, and zeros to fill the last vector.
    counts: Vec<Vector>,
    /// $n_w/\sum_k t_k\beta_{wk}$.
    factors: Vec<Vector>,
    /// $\beta_{wk}$, the words of each topic adjacent.
    rows: Vec<Vector>,
    /// Vectors from one topic to the next: an odd number, so that topics do not compete for the same cache sets.
    stride: usize,
}

impl Expected {
    /// From the parameters $\lambda$ of $q(\beta)$, the topics of each word adjacent.
    ///
    /// # Panics
    /// If the last row is incomplete.
    #[must_use]
    pub fn new(lambda: &[f64], topics: usize) -> Self {
        assert!(topics > 0 && lambda.len().is_multiple_of(topics), "rows of topics");
        let mut totals = vec![0.0; topics];
        for row in lambda.chunks_exact(topics) {
            totals.iter_mut().zip(row).for_each(|(total, x)| *total += x);
        }
        let per_total: Vec<f64> = totals.into_iter().map(|total| (-digamma(total)).exp()).collect();
        let lanes = topics.next_multiple_of(LANES);
        let mut rows = vec![0.0; lambda.len() / topics * lanes];
        let mut log_scale = vec![0.0; lambda.len() / topics];
        with_wide_vectors(
            #[inline(always)]
            || {
                let mut exponents = vec![0.0; topics];
                let words = rows.chunks_exact_mut(lanes).zip(lambda.chunks_exact(topics)).zip(&mut log_scale);
                for ((row, lambda), log_scale) in words {
                    *log_scale = scaled(lambda, &per_total, &mut exponents, &mut row[..topics]);
                }
            },
        );
        Self { topics, lanes, rows, log_scale }
    }

    /// Coordinate ascent on $\gamma$ and $\phi$ (eqs. 25 and 26), from equal topics.
    ///
    /// With $t_k = e^{\psi(\gamma_k)}$: $\gamma_k \leftarrow \alpha + t_k\sum_w n_w\beta_{wk}/\sum_j t_j\beta_{wj}$.
    /// It has no state between documents, so it is a function of the document and of released values.
    #[must_use]
    pub fn infer(&self, document: &Document, alpha: f64, until: Until) -> Inferred {
        let mut state = self.start(document, alpha);
        with_wide_vectors(
            #[inline(always)]
            || state.ascend(alpha as f32, until, self.topics),
        );
        let mut gamma = vec![alpha as f32; self.topics];
        let left = state.topics[..state.left].iter().zip(state.gamma.as_flattened());
        left.for_each(|(&topic, &x)| gamma[topic] = x);
        Inferred { gamma, state }
    }

    fn start(&self, document: &Document, alpha: f64) -> State {
        let vectors = document.words.len().div_ceil(LANES);
        let stride = vectors | 1;
        let mut rows = vec![[0.0; LANES]; self.lanes * stride];
        with_wide_vectors(
            #[inline(always)]
            || transpose(&self.rows, self.lanes, &document.words, rows.as_flattened_mut(), stride * LANES),
        );
        let mut counts = vec![[0.0; LANES]; vectors];
        counts.as_flattened_mut()[..document.counts.len()].copy_from_slice(&document.counts);
        let share = (alpha + document.length() / self.topics as f64) as f32;
        let mut gamma = vec![[alpha as f32; LANES]; self.lanes / LANES];
        gamma.as_flattened_mut()[..self.topics].fill(share);
        let mut topics: Vec<usize> = (0..self.topics).collect();
        topics.resize(self.lanes, 0);
        let (weights, factors) = (gamma.clone(), counts.clone());
        State { left: self.topics, topics, gamma, weights, counts, factors, rows, stride }
    }

    /// $\sum_w n_w\log\sum_k e^{\mathrm{E}\log\theta_k + \mathrm{E}\log\beta_{kw}} - KL(q(\theta)\Vert p(\theta))$:
    /// the part of the lower bound for one document, at the optimal $q(z)$.
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

/// The exponentials of $\psi(\lambda_k) - \psi(\sum\lambda_k)$ of a word, divided by the largest; returns the
/// logarithm of that. The smallest exponent is factored out first, so that small $\lambda$ do not underflow.
#[inline(always)]
fn scaled(lambda: &[f64], per_total: &[f64], exponents: &mut [f64], row: &mut [f32]) -> f64 {
    for (((x, exponent), &lambda), per_total) in
        row.iter_mut().zip(&mut *exponents).zip(lambda).zip(per_total)
    {
        let (factor, minus) = parts(lambda);
        (*x, *exponent) = ((factor * per_total) as f32, minus);
    }
    let smallest =
        exponents.iter().fold(f64::INFINITY, |smallest, &x| if x < smallest { x } else { smallest });
    row.iter_mut().zip(&*exponents).for_each(|(x, exponent)| *x *= exp_minus((exponent - smallest) as f32));
    let largest = row.iter().fold(f32::MIN_POSITIVE, |largest, &x| if x > largest { x } else { largest });
    let by = 1.0 / largest;
    row.iter_mut().for_each(|x| *x = (*x * by).max(FLOOR));
    f64::from(largest).ln() - smallest
}

impl Inferred {
    /// Writes $n_w\phi_{wk}$ to `out`, which holds zeros: the topics of each of the document's words adjacent.
    pub fn write(&self, out: &mut [f64]) {
        let State { left, topics, weights, factors, rows, stride, .. } = &self.state;
        let weights = weights.as_flattened();
        for (place, (out, factor)) in
            out.chunks_exact_mut(self.gamma.len()).zip(factors.as_flattened()).enumerate()
        {
            let words = &rows[place / LANES..];
            for (&topic, weight) in topics[..*left].iter().zip(weights) {
                out[topic] = f64::from(factor * words[topic * stride][place % LANES] * weight);
            }
        }
    }
}

impl State {
    #[inline(always)]
    fn ascend(&mut self, alpha: f32, until: Until, topics: usize) {
        let enough = (until.change * topics as f64) as f32;
        let mut sums = self.gamma.clone();
        for _ in 0..until.sweeps {
            self.assign();
            project(&self.rows, self.stride, &self.topics, &self.factors, &mut sums);
            let (change, left) = update(&mut self.gamma, &self.weights, &sums, alpha);
            if change < enough {
                break;
            }
            if left < self.left {
                self.drop_topics(alpha);
                sums.truncate(self.gamma.len());
            }
        }
        self.assign();
    }

    /// The optimal $\phi$ at this $\gamma$, by its factors.
    #[inline(always)]
    fn assign(&mut self) {
        weigh(self.gamma.as_flattened(), self.left, self.weights.as_flattened_mut());
        mix(&self.rows, self.stride, &self.topics, self.weights.as_flattened(), &mut self.factors);
        divide(self.counts.as_flattened(), self.factors.as_flattened_mut());
    }

    /// Drops the topics with a negligible share of the document.
    fn drop_topics(&mut self, alpha: f32) {
        let gamma = self.gamma.as_flattened_mut();
        let mut left = 0;
        for from in 0..self.left {
            if gamma[from] > alpha + MIN_WORDS {
                (gamma[left], self.topics[left]) = (gamma[from], self.topics[from]);
                left += 1;
            }
        }
        gamma[left..].fill(alpha);
        let vectors = left.div_ceil(LANES).max(1);
        self.left = left;
        self.topics.truncate(vectors * LANES);
        self.gamma.truncate(vectors);
        self.weights.truncate(vectors);
    }
}

// Functions of slices, which the compiler can assume to be disjoint, and loops over complete vectors: these are
// vectorised.

/// Transposes rows of words to rows of topics: four by four. Rows begin `stride` apart.
#[inline(always)]
fn transpose(from: &[f32], lanes: usize, words: &[usize], rows: &mut [f32], stride: usize) {
    let (fours, rest) = words.as_chunks::<4>();
    for (at, words) in fours.iter().enumerate() {
        let [a, b, c, d] = words.map(|word| from[word * lanes..][..lanes].as_chunks::<4>().0);
        for (k, to) in rows.chunks_exact_mut(4 * stride).enumerate() {
            let (a, b, c, d) = (a[k], b[k], c[k], d[k]);
            for j in 0..4 {
                to[j * stride + 4 * at..][..4].copy_from_slice(&[a[j], b[j], c[j], d[j]]);
            }
        }
    }
    for (word, at) in rest.iter().zip(words.len() - rest.len()..) {
        let row = &from[word * lanes..][..lanes];
        rows[at..].iter_mut().step_by(stride).zip(row).for_each(|(to, x)| *to = *x);
    }
}

/// $t_k = e^{\psi(\gamma_k)}$ of the remaining topics.
#[inline(always)]
fn weigh(gamma: &[f32], left: usize, weights: &mut [f32]) {
    weights.iter_mut().zip(gamma).for_each(|(weight, &gamma)| *weight = exp_digamma(gamma).max(FLOOR));
    weights[left..].fill(0.0);
}

/// $\sum_k t_k\beta_{wk}$ of each word, as many vectors at a time as there are registers for.
#[inline(always)]
fn mix(rows: &[Vector], stride: usize, topics: &[usize], weights: &[f32], norms: &mut [Vector]) {
    for (part, norms) in norms.chunks_mut(8).enumerate() {
        let rows = &rows[8 * part..];
        match norms.len() {
            1 => mix_in::<1>(rows, stride, topics, weights, norms),
            2 => mix_in::<2>(rows, stride, topics, weights, norms),
            3 => mix_in::<3>(rows, stride, topics, weights, norms),
            4 => mix_in::<4>(rows, stride, topics, weights, norms),
            5 => mix_in::<5>(rows, stride, topics, weights, norms),
            6 => mix_in::<6>(rows, stride, topics, weights, norms),
            7 => mix_in::<7>(rows, stride, topics, weights, norms),
            _ => mix_in::<8>(rows, stride, topics, weights, norms),
        }
    }
}

#[inline(always)]
fn mix_in<const N: usize>(
    rows: &[Vector],
    stride: usize,
    topics: &[usize],
    weights: &[f32],
    norms: &mut [Vector],
) {
    let mut sums = [[0.0; LANES]; N];
    for (topic, &weight) in topics.iter().zip(weights) {
        let row = &rows[topic * stride..][..N];
        for j in 0..N {
            for i in 0..LANES {
                sums[j][i] += weight * row[j][i];
            }
        }
    }
    norms.copy_from_slice(&sums);
}

/// $n_w/\sum_k t_k\beta_{wk}$ in place of the sum.
#[inline(always)]
fn divide(counts: &[f32], factors: &mut [f32]) {
    for (factor, count) in factors.iter_mut().zip(counts) {
        *factor = count / factor.max(f32::MIN_POSITIVE);
    }
}

/// $\sum_w \beta_{wk} n_w/\sum_j t_j\beta_{wj}$ of each topic.
#[inline(always)]
fn project(rows: &[Vector], stride: usize, topics: &[usize], factors: &[Vector], sums: &mut [Vector]) {
    for (topics, sums) in topics.as_chunks::<LANES>().0.iter().zip(sums) {
        let mut products = [[0.0; LANES]; LANES];
        for (topic, products) in topics.iter().zip(&mut products) {
            let mut lanes = [0.0; LANES];
            for (row, factor) in rows[topic * stride..].iter().zip(factors) {
                for i in 0..LANES {
                    lanes[i] += row[i] * factor[i];
                }
            }
            *products = lanes;
        }
        *sums = products.map(total);
    }
}

/// $\gamma_k \leftarrow \alpha + t_k\sum_w\dots$: returns the total change, and the number of remaining topics.
#[inline(always)]
fn update(gamma: &mut [Vector], weights: &[Vector], sums: &[Vector], alpha: f32) -> (f32, usize) {
    let (mut change, mut left) = ([0.0; LANES], [0; LANES]);
    for ((gamma, weight), sum) in gamma.iter_mut().zip(weights).zip(sums) {
        for i in 0..LANES {
            let next = alpha + weight[i] * sum[i];
            change[i] += (next - gamma[i]).abs();
            left[i] += u32::from(next > alpha + MIN_WORDS);
            gamma[i] = next;
        }
    }
    (total(change), left.iter().sum::<u32>() as usize)
}

/// Pairwise, in three steps instead of eight.
#[inline(always)]
fn total(lanes: Vector) -> f32 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + e) + (b + f)) + ((c + g) + (d + h))
}
