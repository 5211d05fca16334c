//! The posterior of topics, and inference for documents.

use crate::engine::conjugate::{choose, dirichlet};
use crate::family::Dirichlet;
use crate::model::parameters::{Block, Fixed, Joint, Marginal, POINT_ESTIMATE, Parameter};
use crate::model::topics::{Document, Expected, TopicModel, Until};
use crate::model::{Code, Codebook, ModelError, Parameters, Posterior, Predicted, Saved};
use rand::rngs::ChaCha8Rng;
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

/// Number of words of a topic among the parameters.
pub const TOP_WORDS: usize = 10;

/// Words of a simulated document.
pub const SIMULATED_LENGTH: f64 = 100.0;

impl TopicPosterior {
    /// Expected shares and probabilities, as point estimates: the variational posterior takes the assignment of words to topics as independent of
    /// the topics, so its variances are those of counts that were observed. They are far below the squared errors, whatever the privacy noise.
    fn named_parameters(&self, codebook: &Codebook) -> Parameters {
        let shares = self.shares();
        let label = |topic: usize| ("topic", (topic + 1).to_string());
        let fixed = |values: Vec<f64>| {
            let one = |value: f64| Box::new(Fixed(value)) as Box<dyn Marginal>;
            Joint::Independent(values.into_iter().map(one).collect())
        };
        let share =
            |topic| Parameter::new("topic_share", vec![label(topic)], topic).with_note(POINT_ESTIMATE);
        let mut blocks = Vec::new();
        if self.model.topics > 1 {
            let parameters = (0..self.model.topics).map(share).collect();
            blocks.push(Block { parameters, joint: fixed(shares.clone()) });
        }
        let mut order: Vec<usize> = (0..self.model.topics).collect();
        order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
        for topic in order {
            let top = self.top_words(topic, TOP_WORDS);
            let parameter = |(k, &(word, _)): (usize, &(usize, f64))| {
                let name = match codebook.columns.get(word).map(|column| &column.code) {
                    Some(Code::Word { word }) => word.clone(),
                    _ => codebook.columns.get(word).map_or_else(|| word.to_string(), |column| column.label()),
                };
                Parameter::new("word_probability", vec![label(topic), ("word", name)], k)
                    .with_note(POINT_ESTIMATE)
            };
            let parameters = top.iter().enumerate().map(parameter).collect();
            blocks.push(Block { parameters, joint: fixed(top.iter().map(|(_, p)| *p).collect()) });
        }
        Parameters::new(blocks)
    }

    /// A document from the model: shares of topics from their prior, and each word from a topic with its expected probabilities.
    fn simulated(&self, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let TopicModel { topics, words, document_prior, length, layout, .. } = self.model;
        let shares = dirichlet(std::iter::repeat_n(document_prior, topics), rng);
        let mut counts = std::collections::BTreeMap::new();
        let mut left = vec![0usize; topics];
        for _ in 0..length.unwrap_or(SIMULATED_LENGTH).round() as usize {
            left[choose(&shares, rng)] += 1;
        }
        for (topic, &count) in left.iter().enumerate().filter(|(_, count)| **count > 0) {
            let column: Vec<f64> = self.lambda.iter().skip(topic).step_by(topics).copied().collect();
            for _ in 0..count {
                *counts.entry(choose(&column, rng) as u32).or_insert(0u32) += 1;
            }
        }
        let counts: Vec<(u32, u32)> = counts.into_iter().collect();
        let mut row = vec![0.0; layout.width(words)];
        layout.write(&counts, words, &mut row);
        row
    }
}

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

    /// `topic_share[topic]`, the share of a topic in all words, and `word_probability[topic, word]` of the [`TOP_WORDS`] most probable words of each topic: a
    /// topic has thousands.
    fn parameters(&self, codebook: &Codebook) -> Parameters {
        self.posterior.named_parameters(codebook)
    }

    /// A document of the public length of the model, or of [`SIMULATED_LENGTH`] words: lengths are not part of the model.
    fn simulate(&self, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        Some(self.posterior.simulated(rng))
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(&self.posterior)
    }
}
