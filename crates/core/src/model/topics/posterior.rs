//! The posterior of topics, and inference for documents.

use crate::family::Dirichlet;
use crate::model::topics::{Document, Expected, TopicModel, Until};
use crate::model::{Highlight, ModelError, Posterior, Predicted, Saved};
use serde::{Deserialize, Serialize};

/// The posterior of topics. All of it is public if the fit was private.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicPosterior {
    /// The public definition.
    pub model: TopicModel,
    /// $\lambda$ of $q(\beta)$, the topics of each word adjacent.
    pub lambda: Vec<f64>,
    /// Standard deviation of the privacy noise in each cell of the sums, in words.
    pub noise_sd: f64,
}

impl TopicPosterior {
    /// Prepares inference for documents.
    #[must_use]
    pub fn expected(&self) -> Expected {
        Expected::new(&self.lambda, self.model.topics)
    }

    /// The expected share of each topic in all documents.
    #[must_use]
    pub fn shares(&self) -> Vec<f64> {
        let totals = self.totals();
        let all: f64 = totals.iter().sum();
        totals.iter().map(|total| total / all).collect()
    }

    fn totals(&self) -> Vec<f64> {
        let mut totals = vec![0.0; self.model.topics];
        for row in self.lambda.chunks_exact(self.model.topics) {
            totals.iter_mut().zip(row).for_each(|(total, x)| *total += x);
        }
        totals
    }

    /// The words of a topic with the largest expected probabilities, and these probabilities.
    #[must_use]
    pub fn top_words(&self, topic: usize, count: usize) -> Vec<(usize, f64)> {
        let total = self.totals()[topic];
        let column = self.lambda.iter().skip(topic).step_by(self.model.topics);
        let mut words: Vec<(usize, f64)> = column.map(|x| x / total).enumerate().collect();
        words.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        words.truncate(count);
        words
    }

    /// The expected shares of the topics in a document, and the lower bound on the logarithm of its probability.
    #[must_use]
    pub fn read(&self, expected: &Expected, document: &Document) -> (Vec<f64>, f64) {
        let alpha = self.model.document_prior;
        let inferred = expected.infer(document, alpha, Until::default());
        let total: f64 = inferred.gamma.iter().map(|&x| f64::from(x)).sum();
        let shares = inferred.gamma.iter().map(|&x| f64::from(x) / total).collect();
        (shares, expected.bound(document, &inferred, alpha))
    }

    /// The upper bound on the perplexity of documents (eq. 32): $e^{-\text{bound}/\text{words}}$.
    #[must_use]
    pub fn perplexity<'a>(&self, documents: impl IntoIterator<Item = &'a Document>) -> f64 {
        let expected = self.expected();
        let (mut bound, mut words) = (0.0, 0.0);
        for document in documents {
            bound += self.read(&expected, document).1;
            words += document.length();
        }
        (-bound / words).exp()
    }

    /// The part of the lower bound for the topics: $-KL(q(\beta)\Vert p(\beta))$, for a symmetric prior.
    #[must_use]
    pub fn topics_bound(&self) -> f64 {
        let prior = Dirichlet { concentration: vec![self.model.word_prior; self.model.words] };
        let of = |topic: usize| Dirichlet {
            concentration: self.lambda.iter().skip(topic).step_by(self.model.topics).copied().collect(),
        };
        -(0..self.model.topics).map(|topic| of(topic).kl(&prior)).sum::<f64>()
    }
}

/// Number of words in the summary of a topic.
const HIGHLIGHTED: usize = 10;

/// Topics, prepared for documents.
pub(super) struct Read {
    posterior: TopicPosterior,
    expected: Expected,
}

impl Read {
    pub(super) fn new(posterior: TopicPosterior) -> Self {
        let expected = posterior.expected();
        Self { posterior, expected }
    }
}

impl Posterior for Read {
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let model = &self.posterior.model;
        assert_eq!(inputs.len(), model.words, "a count for each word");
        let document = Document::read(inputs, model.layout, model.words);
        let (shares, bound) = self.posterior.read(&self.expected, &document);
        Predicted::Topics { bound, words: document.length(), shares }
    }

    fn highlights(&self, inputs: &[String]) -> Vec<Highlight> {
        let shares = self.posterior.shares();
        let mut topics: Vec<usize> = (0..shares.len()).collect();
        topics.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
        let name = |word: usize| inputs.get(word).map_or("?", |name| name.rsplit(':').next().unwrap_or(name));
        let one = |topic: usize| {
            let words = self.posterior.top_words(topic, HIGHLIGHTED);
            let words = words.iter().map(|&(word, p)| format!("{} {p:.3}", name(word)));
            Highlight {
                name: format!("topic {}, {:.1} % of all words", topic + 1, 100.0 * shares[topic]),
                text: words.collect::<Vec<_>>().join(", "),
            }
        };
        topics.into_iter().map(one).collect()
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(&self.posterior)
    }
}
