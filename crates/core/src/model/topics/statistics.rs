//! Contributions of documents, and the M-step.

use super::shrink::Shrinkage;
use super::{Expected, TopicModel, Until};
use crate::engine::vb::{ExpectationModel, ExpectedSums};
use crate::jobs::Named;
use crate::wall::{Query, QuerySpec};
use rand::SeedableRng;
use rand::rngs::ChaCha12Rng;
use rand_distr::{Distribution, Gamma};
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;

/// The treatment of noisy cells.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cells {
    /// Negative ones are set to 0, as in the paper: a bias of $\tau/\sqrt{2\pi}$ in empty cells.
    Zeroed,
    /// Each is replaced by its posterior mean, see `shrink.rs`; and the prior of a topic is the private word
    /// frequencies.
    Shrunk {
        /// The shape of the gamma prior: small if words belong to few topics.
        shape: f64,
    },
}

/// The state of a fit.
#[derive(Debug, Clone)]
pub struct Learning {
    model: TopicModel,
    until: Until,
    cells: Cells,
    /// Mean length of a document, if it is publicly known: clipping shortens documents.
    mean_length: Option<f64>,
    /// $\lambda$, the topics of each word adjacent.
    pub(super) lambda: Vec<f64>,
}

impl Learning {
    /// Starts from random topics, which are public: $\lambda \sim \mathrm{Gamma}$ of this shape and mean 1. The
    /// larger the shape, the more similar the topics.
    #[must_use]
    pub fn new(model: &TopicModel, cells: Cells, shape: f64, seed: u64) -> Self {
        let mut rng = ChaCha12Rng::seed_from_u64(seed);
        let gamma = Gamma::new(shape, 1.0 / shape).ok();
        let mut draw = || gamma.map_or(1.0, |gamma| gamma.sample(&mut rng)) + 1e-3;
        let lambda = (0..model.width()).map(|_| draw()).collect();
        Self { model: *model, until: Until::default(), cells, mean_length: None, lambda }
    }

    /// Sets a public guess of the mean length of documents: clipped sums are scaled up to it, so that topics have the
    /// precision of that many words. Not used for zeroed cells.
    #[must_use]
    pub fn mean_length(mut self, words: Option<f64>) -> Self {
        self.mean_length = words;
        self
    }

    /// The stopping rule of a document's E-step.
    #[must_use]
    pub fn until(mut self, until: Until) -> Self {
        self.until = until;
        self
    }

    /// Replaces noisy cells by estimates of the true ones; returns how many were negative.
    fn denoise(&self, sums: &ExpectedSums, shape: f64, out: &mut [f64]) -> u64 {
        let (k, cells) = (self.model.topics, sums.values.len() as f64);
        let sd = (sums.noise_variance.iter().sum::<f64>() / cells).sqrt();
        let mut topics = vec![0.0; k];
        let mut words: Vec<f64> = Vec::with_capacity(self.model.words);
        for row in sums.values.chunks_exact(k) {
            topics.iter_mut().zip(row).for_each(|(total, x)| *total += x);
            words.push(row.iter().sum());
        }
        let total: f64 = topics.iter().sum::<f64>().max(sd * cells.sqrt()).max(1e-9);
        let mean = total / self.model.words as f64;
        // The frequencies of words vary less, and the noise is that of K cells.
        let marginal = Shrinkage::new(0.7);
        let words_sd = sd * (k as f64).sqrt();
        words.iter_mut().for_each(|x| *x = marginal.mean(*x, words_sd.max(1e-9 * mean), mean));
        topics.iter_mut().for_each(|x| *x = x.max(0.1 * total / k as f64));
        let (all_words, all_topics) = (words.iter().sum::<f64>(), topics.iter().sum::<f64>());
        let shrinkage = Shrinkage::new(shape);
        let prior = self.model.word_prior * self.model.words as f64 / all_words;
        let scale = self.mean_length.map_or(1.0, |words| (words * sums.records / total).max(1.0));
        let rows = out.chunks_exact_mut(k).zip(sums.values.chunks_exact(k)).zip(&words);
        let mut negative = 0;
        for ((out, phi_row), word) in rows {
            for ((out, &x), topic) in out.iter_mut().zip(phi_row).zip(&topics) {
                negative += u64::from(x < 0.0);
                *out = prior * word + scale * shrinkage.mean(x, sd, word * topic / all_topics);
            }
        }
        negative
    }
}

/// The expected counts of a document's words by topic.
#[derive(Serialize, Deserialize)]
pub(crate) struct DocumentStatistics<E> {
    model: TopicModel,
    until: Until,
    expected: E,
}

impl<E> Named for DocumentStatistics<E> {
    const NAME: &'static str = "topic-counts";
}

impl<E: Borrow<Expected> + Serialize + Sync> Query for DocumentStatistics<E> {
    fn width(&self) -> usize {
        self.model.width()
    }

    fn block(&self) -> usize {
        self.model.topics
    }

    fn blocks(&self, record: &[f64], blocks: &mut Vec<usize>) {
        blocks.extend(self.model.document(record).words);
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let document = self.model.document(record);
        self.expected.borrow().infer(&document, self.model.document_prior, self.until).write(out);
    }
}

impl ExpectationModel for Learning {
    type Expectations = Expected;

    fn width(&self) -> usize {
        self.model.width()
    }

    fn block(&self) -> usize {
        self.model.topics
    }

    fn blocks(&self, record: &[f64], blocks: &mut Vec<usize>) {
        blocks.extend(self.model.document(record).words);
    }

    fn condition(&self) -> Expected {
        Expected::new(&self.lambda, self.model.topics)
    }

    fn statistics(&self, expected: &Expected, record: &[f64], out: &mut [f64]) {
        DocumentStatistics { model: self.model, until: self.until, expected }.contribute(record, out);
    }

    fn spec(&self, expected: &Expected) -> Option<QuerySpec> {
        QuerySpec::of(&DocumentStatistics { model: self.model, until: self.until, expected })
    }

    /// $\lambda = \eta + S$, with $S$ denoised.
    fn maximise(&mut self, sums: &ExpectedSums) -> u64 {
        let mut lambda = std::mem::take(&mut self.lambda);
        let noiseless = sums.noise_variance.iter().all(|variance| *variance == 0.0);
        let negative = match self.cells {
            // Without noise nothing is shrunk, and words that occur in no document keep the prior.
            _ if noiseless => {
                lambda.iter_mut().zip(&sums.values).for_each(|(l, x)| *l = self.model.word_prior + x);
                0
            }
            Cells::Zeroed => {
                for (lambda, &x) in lambda.iter_mut().zip(&sums.values) {
                    *lambda = self.model.word_prior + x.max(0.0);
                }
                sums.values.iter().filter(|x| **x < 0.0).count() as u64
            }
            Cells::Shrunk { shape } => self.denoise(sums, shape, &mut lambda),
        };
        self.lambda = lambda;
        negative
    }
}
