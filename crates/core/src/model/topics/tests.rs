#![allow(clippy::needless_range_loop, reason = "one index for several arrays")]

use super::*;
use crate::budget::{Adjacency, Privacy, Unlimited};
use crate::engine::vb::{ExpectationModel, ExpectedSums, StepSize, VbPlan as _};
use crate::family::digamma;
use crate::wall::{Geometry, NoiseSource, Plan, Query, Records, Sampler, Sums, Wall};
use rand::rngs::ChaCha12Rng;
use rand::{RngExt, SeedableRng};

const TOPICS: usize = 3;
const WORDS: usize = 12;

/// Documents of about thirty words, each mostly of one of three topics, which have four words each.
fn corpus(documents: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    let mut rows = vec![0.0; documents * WORDS];
    for row in rows.chunks_exact_mut(WORDS) {
        let main = rng.random_range(0..TOPICS);
        for _ in 0..30 {
            let topic = if rng.random_bool(0.8) { main } else { rng.random_range(0..TOPICS) };
            row[4 * topic + rng.random_range(0..4)] += 1.0;
        }
    }
    rows
}

fn model() -> TopicModel {
    TopicModel { document_prior: 0.3, word_prior: 0.1, ..TopicModel::new(TOPICS, WORDS, Layout::Counts) }
}

fn strict() -> Until {
    Until { change: 1e-6, sweeps: 2000 }
}

/// Textbook batch variational Bayes: $\gamma$ and $\phi$ in double precision, without dropped topics. Returns the
/// topics, and the lower bound.
fn reference(rows: &[f64], lambda: &[f64]) -> (Vec<f64>, f64) {
    let TopicModel { document_prior: alpha, word_prior: eta, .. } = model();
    let totals: Vec<f64> = (0..TOPICS).map(|k| lambda.iter().skip(k).step_by(TOPICS).sum()).collect();
    let log_beta: Vec<f64> =
        lambda.iter().enumerate().map(|(i, &x)| digamma(x) - digamma(totals[i % TOPICS])).collect();
    let mut next = vec![eta; lambda.len()];
    let mut bound = 0.0;
    for row in rows.chunks_exact(WORDS) {
        let length: f64 = row.iter().sum();
        let mut gamma = [alpha + length / TOPICS as f64; TOPICS];
        let mut phi = vec![0.0; WORDS * TOPICS];
        let total = alpha * TOPICS as f64 + length;
        for _ in 0..2000 {
            for w in 0..WORDS {
                let logs: Vec<f64> =
                    (0..TOPICS).map(|k| digamma(gamma[k]) + log_beta[w * TOPICS + k]).collect();
                let norm: f64 = logs.iter().map(|x| x.exp()).sum();
                (0..TOPICS).for_each(|k| phi[w * TOPICS + k] = logs[k].exp() / norm);
            }
            for k in 0..TOPICS {
                gamma[k] = alpha + (0..WORDS).map(|w| row[w] * phi[w * TOPICS + k]).sum::<f64>();
            }
        }
        for k in 0..TOPICS {
            let log_theta = digamma(gamma[k]) - digamma(total);
            bound += (alpha - gamma[k]) * log_theta + libm::lgamma(gamma[k]) - libm::lgamma(alpha);
            for w in 0..WORDS {
                let (n, phi) = (row[w], phi[w * TOPICS + k]);
                next[w * TOPICS + k] += n * phi;
                if n * phi > 0.0 {
                    bound += n * phi * (log_theta + log_beta[w * TOPICS + k] - phi.ln());
                }
            }
        }
        bound += libm::lgamma(alpha * TOPICS as f64) - libm::lgamma(total);
    }
    (next, bound)
}

/// The sums of the statistics of all rows, at the current topics.
fn sums(learning: &Learning, rows: &[f64]) -> ExpectedSums {
    let expected = learning.condition();
    let mut values = vec![0.0; learning.width()];
    for row in rows.chunks_exact(WORDS) {
        let mut blocks = Vec::new();
        learning.blocks(row, &mut blocks);
        let mut out = vec![0.0; blocks.len() * TOPICS];
        learning.statistics(&expected, row, &mut out);
        for (block, out) in blocks.iter().zip(out.chunks_exact(TOPICS)) {
            values[block * TOPICS..].iter_mut().zip(out).for_each(|(sum, x)| *sum += x);
        }
    }
    let noise_variance = vec![0.0; values.len()];
    ExpectedSums { records: (rows.len() / WORDS) as f64, values, noise_variance }
}

fn posterior(lambda: &[f64]) -> TopicPosterior {
    TopicPosterior { model: model(), lambda: lambda.to_vec(), noise_sd: 0.0 }
}

/// Without noise it is the textbook algorithm, and its lower bound, documents and topics together, never decreases.
#[test]
fn without_noise_it_is_batch_variational_bayes() {
    let rows = corpus(50, 1);
    let mut learning = Learning::new(&model(), Cells::Zeroed, 1.0, 7).until(strict());
    let mut last = f64::NEG_INFINITY;
    for step in 0..12 {
        let (expected, documents_bound) = reference(&rows, &learning.lambda);
        let posterior = posterior(&learning.lambda);
        let expectations = posterior.expected();
        let found: f64 = rows
            .chunks_exact(WORDS)
            .map(|row| {
                let document = model().document(row);
                expectations.bound(&document, &expectations.infer(&document, 0.3, strict()), 0.3)
            })
            .sum();
        assert!((found / documents_bound - 1.0).abs() < 1e-5, "step {step}: {found} {documents_bound}");
        let bound = found + posterior.topics_bound();
        assert!(bound > last - 1e-5 * bound.abs(), "step {step}: {bound} after {last}");
        last = bound;
        let sums = sums(&learning, &rows);
        learning.maximise(&sums);
        for (found, expected) in learning.lambda.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-3 * expected + 1e-3, "step {step}: {found} {expected}");
        }
    }
}

/// $\gamma$ and $\lambda$ maximise the bound: changing any coordinate by one per cent makes it smaller.
#[test]
fn each_step_is_an_optimum_on_fifty_documents() {
    let rows = corpus(50, 2);
    let mut learning = Learning::new(&model(), Cells::Zeroed, 1.0, 7).until(strict());
    let before = sums(&learning, &rows);
    let expected = learning.condition();
    let document = model().document(&rows[..WORDS]);
    let inferred = expected.infer(&document, 0.3, strict());
    let best = expected.bound(&document, &inferred, 0.3);
    for k in 0..TOPICS {
        for by in [0.99, 1.01] {
            let mut moved = inferred.clone();
            moved.gamma[k] *= by;
            assert!(expected.bound(&document, &moved, 0.3) < best, "{k} {by}");
        }
    }
    learning.maximise(&before);
    // At fixed phi the bound is S E[log beta] - KL(q || p), up to a constant.
    let bound = |lambda: &[f64]| {
        let totals: Vec<f64> = (0..TOPICS).map(|k| lambda.iter().skip(k).step_by(TOPICS).sum()).collect();
        let logs = lambda.iter().enumerate().map(|(i, &x)| digamma(x) - digamma(totals[i % TOPICS]));
        before.values.iter().zip(logs).map(|(s, log)| s * log).sum::<f64>() + posterior(lambda).topics_bound()
    };
    let best = bound(&learning.lambda);
    for i in 0..learning.lambda.len() {
        for by in [0.99, 1.01] {
            let mut moved = learning.lambda.clone();
            moved[i] *= by;
            assert!(bound(&moved) < best, "{i} {by}");
        }
    }
}

/// Statistics are a function of one document and the topics, not of earlier documents; and dropped topics change
/// nothing.
#[test]
fn statistics_do_not_depend_on_the_documents_before() {
    let rows = corpus(30, 3);
    let learning = Learning::new(&model(), Cells::Zeroed, 0.1, 5);
    let expected = learning.condition();
    let one = |row: &[f64]| {
        let mut out = vec![0.0; model().document(row).words.len() * TOPICS];
        learning.statistics(&expected, row, &mut out);
        out
    };
    let first: Vec<Vec<f64>> = rows.chunks_exact(WORDS).map(one).collect();
    let again: Vec<Vec<f64>> = rows.chunks_exact(WORDS).rev().map(one).collect();
    assert!(first.iter().eq(again.iter().rev()));
    for (row, out) in rows.chunks_exact(WORDS).zip(&first) {
        let (words, total) = (row.iter().sum::<f64>(), out.iter().sum::<f64>());
        assert!((total - words).abs() < 1e-4 * words, "{total} {words}");
    }
}

/// Through the wall, with the same noise for both: the difference is the effect of the document. Documents without a
/// common word are farthest apart, as in the non-negative ball, and a search finds none farther.
#[test]
fn neighbouring_documents_reach_and_never_exceed_the_sensitivity() {
    struct Sum<'a>(&'a Learning, Expected);
    impl Query for Sum<'_> {
        fn width(&self) -> usize {
            self.0.width()
        }
        fn block(&self) -> usize {
            self.0.block()
        }
        fn blocks(&self, record: &[f64], blocks: &mut Vec<usize>) {
            self.0.blocks(record, blocks);
        }
        fn contribute(&self, record: &[f64], out: &mut [f64]) {
            self.0.statistics(&self.1, record, out);
        }
    }
    let (clip, multiplier) = (2.0, 5.0);
    let learning = Learning::new(&model(), Cells::Zeroed, 0.1, 5);
    let release = |rows: Vec<f64>| {
        let mut plan = Plan::new(rows.len() / WORDS, Adjacency::ReplaceOne);
        let geometry = Geometry::NonNegativeBall { radius: clip };
        let (width, sampler) = (learning.width(), Sampler::Full);
        let sums =
            Sums { what: "words".into(), width, geometry, sampler, noise_multiplier: multiplier, steps: 1 };
        let id = plan.sums(sums).unwrap();
        let privacy = Privacy::new(10.0, 1e-3, Adjacency::ReplaceOne).unwrap();
        let source = NoiseSource::insecure_from_seed(3);
        let records = Records::new(rows, WORDS).unwrap();
        let mut wall = Wall::new(records, source, plan, &privacy, Box::new(Unlimited)).unwrap();
        wall.sum(id, &Sum(&learning, learning.condition())).unwrap()
    };
    let others = corpus(20, 4);
    let mut rng = ChaCha12Rng::seed_from_u64(9);
    let mut pair = [(); 2].map(|()| corpus(1, rng.random()));
    let mut best = 0.0;
    for _ in 0..300 {
        let mut next = pair.clone();
        let row = &mut next[rng.random_range(0..2)];
        row[rng.random_range(0..WORDS)] = [0.0, 0.0, 1.0, 50.0][rng.random_range(0..4)];
        let [a, b] = next.each_ref().map(|row| release([others.clone(), row.clone()].concat()));
        let distance = a.values.iter().zip(&b.values).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        let sensitivity = a.noise_sd[0] / multiplier;
        assert!((sensitivity / (2f64.sqrt() * clip) - 1.0).abs() < 1e-6, "{sensitivity}");
        assert!(distance <= sensitivity * (1.0 + 1e-9), "{}", distance / sensitivity);
        if distance >= best {
            (pair, best) = (next, distance);
        }
    }
    assert!(best > 0.99 * 2f64.sqrt() * clip, "{best}");
}

fn fit(multiplier: Option<f64>, rows: Vec<f64>, seed: u64) -> (TopicPosterior, crate::receipt::Receipt) {
    let documents = rows.len() / WORDS;
    let privacy = Privacy::new(2.0, 1e-6, Adjacency::ReplaceOne).unwrap();
    let mut plan = TopicsPlan::new(&model(), documents, &privacy).unwrap();
    if let Some(multiplier) = multiplier {
        plan.noise_multiplier = multiplier;
    }
    let records = Records::new(rows, WORDS).unwrap();
    plan.run(records, NoiseSource::insecure_from_seed(seed), Some(&privacy), Box::new(Unlimited)).unwrap()
}

/// The three topics of simulated documents are found at epsilon 2: each has its words first in some topic.
#[test]
fn private_topics_are_found() {
    let (posterior, receipt) = fit(None, corpus(4000, 5), 1);
    let tops: std::collections::BTreeSet<Vec<usize>> =
        (0..TOPICS).map(|k| posterior.top_words(k, 4).iter().map(|(word, _)| word / 4).collect()).collect();
    assert_eq!(tops, [vec![0; 4], vec![1; 4], vec![2; 4]].into());
    assert!(posterior.lambda.iter().all(|x| *x > 0.0 && x.is_finite()));
    assert_eq!(receipt.groups[0].width, TOPICS * WORDS);
    // A uniform guess has a perplexity of 12, and one that identifies the topic 4 at best.
    let held_out: Vec<Document> =
        corpus(100, 6).chunks_exact(WORDS).map(|row| model().document(row)).collect();
    let perplexity = posterior.perplexity(&held_out);
    assert!((4.0..11.0).contains(&perplexity), "{perplexity}");
}

/// With a million times the noise two corpora without a common word give the same topics, up to a millionth.
#[test]
fn huge_noise_destroys_the_topics() {
    let only = |word: usize| {
        let mut rows = vec![0.0; 200 * WORDS];
        rows.chunks_exact_mut(WORDS).for_each(|row| row[word] = 30.0);
        fit(Some(1e6), rows, 2).0.lambda
    };
    for (a, b) in only(0).iter().zip(only(7)) {
        assert!((a / b - 1.0).abs() < 0.02, "{a} {b}");
    }
}

/// Half of the documents are about three words, the others about three others: a topic each, whatever the start.
/// Topics that identify the half of a document have a perplexity of about 3, equal topics one of 6; all results are
/// nearer to the first.
#[test]
fn no_start_is_stuck_where_topics_are_alike() {
    let model = TopicModel::new(2, 6, Layout::Counts);
    let row = |n: usize| (0..6).map(move |w| if w / 3 == n % 2 { (5 + (n + w) % 5) as f64 } else { 0.0 });
    let held_out: Vec<Document> = (0..2).map(|n| model.document(&row(n).collect::<Vec<_>>())).collect();
    for seed in 1..=10 {
        let mut plan = TopicsPlan::without_privacy(&model, 500, None, 20);
        plan.start_seed = seed;
        let records = Records::new((0..500).flat_map(row).collect(), 6).unwrap();
        let source = NoiseSource::insecure_from_seed(1);
        let (posterior, _) = plan.run(records, source, None, Box::new(Unlimited)).unwrap();
        let perplexity = posterior.perplexity(&held_out);
        assert!(perplexity < 18f64.sqrt(), "seed {seed}: {perplexity}");
    }
}

/// Coordinate ascent in double precision without dropped topics, for numbers of words and topics that fill some
/// vectors and a part of one.
#[test]
fn documents_of_any_length_are_as_in_the_textbook() {
    const K: usize = 21;
    let (alpha, mut rng) = (0.3, ChaCha12Rng::seed_from_u64(8));
    let lambda: Vec<f64> = (0..K * 300).map(|_| 0.02 + 3.0 * rng.random::<f64>().powi(6)).collect();
    let expected = Expected::new(&lambda, K);
    let totals: Vec<f64> = (0..K).map(|k| lambda.iter().skip(k).step_by(K).sum()).collect();
    for length in [0, 1, 7, 8, 33, 64, 65, 100, 137, 300] {
        let counts: Vec<f32> = (0..length).map(|_| rng.random_range(1..4) as f32).collect();
        let document = Document { words: (300 - length..300).collect(), counts };
        let words: f64 = document.length();
        let mut gamma = [alpha + words / K as f64; K];
        for _ in 0..2000 {
            let mut next = [alpha; K];
            for (&word, &count) in document.words.iter().zip(&document.counts) {
                let phi: [f64; K] = std::array::from_fn(|k| {
                    (digamma(gamma[k]) + digamma(lambda[word * K + k]) - digamma(totals[k])).exp()
                });
                let norm: f64 = phi.iter().sum();
                (0..K).for_each(|k| next[k] += f64::from(count) * phi[k] / norm);
            }
            gamma = next;
        }
        let inferred = expected.infer(&document, alpha, strict());
        for (found, expected) in inferred.gamma.iter().zip(&gamma) {
            assert!(
                (f64::from(*found) - expected).abs() < 1e-3 * (1.0 + words),
                "{length}: {found} {expected}"
            );
        }
        let mut statistics = vec![0.0; length * K];
        inferred.write(&mut statistics);
        for (row, &count) in statistics.chunks_exact(K).zip(&document.counts) {
            assert!((row.iter().sum::<f64>() - f64::from(count)).abs() < 1e-4, "{length}");
        }
    }
}

/// A plan is an editable file, and an invalid one is refused.
#[test]
fn plans_are_read_back_and_checked() {
    let privacy = Privacy::new(2.38, 1e-6, Adjacency::ReplaceOne).unwrap();
    let plan = TopicsPlan::one_pass(&model(), 5000, &privacy).unwrap();
    let json = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<TopicsPlan>(&json).unwrap(), plan);
    let cost = plan.price(1e-6).unwrap().epsilon.upper;
    assert!(cost <= 2.38 && cost > 2.37, "{cost}");
    assert_eq!(plan.step_size, StepSize::Linear);
    let wrong = TopicsPlan { model: TopicModel { topics: 0, ..model() }, ..plan };
    assert!(wrong.price(1e-6).is_err());
}

/// A word that occurs in no document keeps its prior: other documents that contain it are not impossible.
#[test]
fn words_of_no_document_keep_the_prior() {
    let mut rows = corpus(300, 5);
    rows.iter_mut().step_by(WORDS).for_each(|count| *count = 0.0);
    let (records, source) = (Records::new(rows, WORDS).unwrap(), NoiseSource::insecure_from_seed(1));
    let plan = TopicsPlan::without_privacy(&model(), 300, None, 5);
    let (posterior, _) = plan.run(records, source, None, Box::new(Unlimited)).unwrap();
    // Exactly the prior, in every topic.
    assert_eq!(posterior.lambda[..TOPICS], [model().word_prior; TOPICS]);
}
