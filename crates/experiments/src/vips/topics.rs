//! Private topics of an encyclopedia: Figures 2 and 3 and Table 3 of the paper.

use super::Corpus;
use crate::error::ExperimentError;
use crate::figure::{Scale, Series, lines};
use crate::table::{Cell, Table, digits};
use reticent_accounting::{Event, Method as Accountant, Sampling, account};
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::engine::vb::{Composition, StepSize, VbPlan as _};
use reticent_core::model::topics::{Cells, Layout, TopicModel, TopicPosterior, TopicsPlan};
use reticent_core::wall::NoiseSource;
use serde::Serialize;

/// Settings of the experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// $K$.
    pub topics: usize,
    /// Number of held-out documents, for the perplexity.
    pub held_out: usize,
    /// The actual epsilon of the calibrated private methods.
    pub epsilon: f64,
    /// Their delta.
    pub delta: f64,
    /// Number of batches of one pass.
    pub batches: u64,
}

/// The paper's figures: $\sigma = 1.24$, $S = 20{,}000$ of $400{,}000$ documents, epsilon 2.38 at a delta of $10^{-4}$, which is more than one over the number of
/// documents.
const PAPER: (f64, f64, f64) = (1.24, 2.38, 1e-4);
/// Distinct words of a document that a row has room for; of longer ones the most frequent are kept. That is public: one document in a hundred is
/// longer. With a quarter of it, a quarter of all words would be lost.
const SLOTS: usize = 512;
/// Passes of the methods that use all documents in each step.
const PASSES: u64 = 10;
/// Number of words shown of each topic.
const SHOWN: usize = 10;

/// One way to learn topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Without noise, one pass.
    NonPrivate,
    /// Without noise, ten passes.
    NonPrivateTenPasses,
    /// Our plan, one pass.
    OnePass,
    /// Our plan, all documents in each of ten steps.
    TenPasses,
    /// Algorithm 3 with the paper's step sizes and zeroed cells, at the same true epsilon.
    PaperRecipe,
    /// The same with the paper's noise, which it takes for epsilon 2.38.
    PaperNoise,
    /// The same with the noise that strong composition needs for the same epsilon.
    StrongComposition,
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 7] = [
        Self::NonPrivate,
        Self::NonPrivateTenPasses,
        Self::OnePass,
        Self::TenPasses,
        Self::PaperRecipe,
        Self::PaperNoise,
        Self::StrongComposition,
    ];

    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NonPrivate => "without privacy, one pass",
            Self::NonPrivateTenPasses => "without privacy, ten passes",
            Self::OnePass => "private, one pass",
            Self::TenPasses => "private, ten passes",
            Self::PaperRecipe => "Algorithm 3, true epsilon",
            Self::PaperNoise => "Algorithm 3, noise as printed",
            Self::StrongComposition => "Algorithm 3, strong composition",
        }
    }
}

/// What came of a method.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The data set.
    pub method: Method,
    /// The upper bound on the perplexity of held-out documents.
    pub perplexity: f64,
    /// Epsilon by the sensitivity and accountant of the paper; `None` for other methods.
    pub epsilon_as_printed: Option<f64>,
    /// Actual epsilon at the delta of the experiment; `None` without privacy.
    pub epsilon: Option<f64>,
    /// The topics.
    #[serde(skip)]
    pub posterior: TopicPosterior,
}

/// All that was found.
#[derive(Debug, Clone)]
pub struct Report {
    /// Of the words of the training documents, without privacy and exactly: what the paper compares with.
    pub baseline: f64,
    /// By method.
    pub outcomes: Vec<Outcome>,
}

impl Experiment {
    fn plan(
        &self,
        method: Method,
        documents: usize,
        words: usize,
    ) -> Result<(TopicsPlan, Option<f64>), ExperimentError> {
        let model = TopicModel::new(self.topics, words, Layout::Slots(SLOTS));
        let privacy = Privacy::new(self.epsilon, self.delta, Adjacency::ReplaceOne)?;
        let batch = (documents / self.batches as usize).max(1);
        Ok(match method {
            Method::NonPrivate => {
                (TopicsPlan::without_privacy(&model, documents, Some(batch), self.batches), None)
            }
            Method::NonPrivateTenPasses => {
                let steps = PASSES * self.batches;
                (TopicsPlan::without_privacy(&model, documents, Some(batch), steps), None)
            }
            Method::OnePass => {
                (TopicsPlan::with_batch(&model, documents, Some(batch), self.batches, &privacy)?, None)
            }
            Method::TenPasses => (TopicsPlan::new(&model, documents, &privacy)?, None),
            Method::PaperRecipe | Method::PaperNoise | Method::StrongComposition => {
                // S is a twentieth of the documents, as in the paper.
                let (steps, batch) = (20, (documents / 20).max(1));
                let sampling = Sampling::Fixed { batch: batch as u64, records: documents as u64 };
                let (sigma, _, delta) = PAPER;
                let noise_multiplier = match method {
                    Method::PaperRecipe => Composition::Tight.noise_multiplier(sampling, steps, &privacy)?,
                    // The paper's sensitivity is that of adding a document: exchanging one moves the sum by the root of 2 more.
                    Method::PaperNoise => sigma / 2f64.sqrt(),
                    _ => Composition::Strong.noise_multiplier(sampling, steps, &privacy)?,
                };
                let printed = (method == Method::PaperNoise)
                    .then(|| {
                        let event = Event::gaussian(sigma, sampling).repeat(steps);
                        account(&event, Adjacency::ReplaceOne, delta, Accountant::Rdp)
                    })
                    .transpose()?;
                let length = 500.0;
                let model = TopicModel { length: Some(length), ..model };
                let plan = TopicsPlan {
                    clip: 0.1 * length,
                    noise_multiplier,
                    step_size: StepSize::Decay { delay: 1024.0, forgetting: 0.7 },
                    cells: Cells::Zeroed,
                    start_shape: 100.0,
                    ..TopicsPlan::without_privacy(&model, documents, Some(batch), steps)
                };
                (plan, printed.map(|cost| cost.epsilon.upper))
            }
        })
    }

    /// Fits a method to all documents but those held out. The noise is fresh.
    ///
    /// # Errors
    /// Errors of the wall or the accountant.
    pub fn fit(&self, method: Method, corpus: &Corpus) -> Result<Outcome, ExperimentError> {
        let documents = self.training(corpus)?;
        let (plan, epsilon_as_printed) = self.plan(method, documents, corpus.words.len())?;
        let records = corpus.stream(documents, plan.model.layout)?;
        let source = NoiseSource::from_os().map_err(reticent_core::wall::WallError::from)?;
        let cost = match method {
            Method::NonPrivate | Method::NonPrivateTenPasses => None,
            _ => Some(plan.price(self.delta)?.epsilon.upper),
        };
        // The printed noise exceeds the budget, so its own cost is allowed.
        let allowed = cost.map(|cost| Privacy::new(cost * (1.0 + 1e-9), self.delta, Adjacency::ReplaceOne));
        let allowed = allowed.transpose()?;
        let (posterior, _) = plan.run(records, source, allowed.as_ref(), Box::new(Unlimited))?;
        let perplexity = posterior.perplexity(&corpus.held_out(documents));
        Ok(Outcome { method, perplexity, epsilon_as_printed, epsilon: cost, posterior })
    }

    fn training(&self, corpus: &Corpus) -> Result<usize, ExperimentError> {
        let (found, needed) = (corpus.documents.len(), self.held_out + 40);
        if found < needed {
            Err(ExperimentError::TooFew { what: "the corpus".into(), found, needed })
        } else {
            Ok(found - self.held_out)
        }
    }

    /// The perplexity of held-out documents under the word frequencies of the others, with one added to each.
    ///
    /// # Errors
    /// [`ExperimentError::TooFew`].
    pub fn baseline(&self, corpus: &Corpus) -> Result<f64, ExperimentError> {
        let documents = self.training(corpus)?;
        let mut counts = vec![1.0; corpus.words.len()];
        for (word, count) in corpus.documents[..documents].iter().flatten() {
            counts[*word as usize] += f64::from(*count);
        }
        let total: f64 = counts.iter().sum();
        let (mut log, mut words) = (0.0, 0.0);
        for (word, count) in corpus.documents[documents..].iter().flatten() {
            log += f64::from(*count) * (counts[*word as usize] / total).ln();
            words += f64::from(*count);
        }
        Ok((-log / words).exp())
    }
}

impl Report {
    /// Perplexities, with the printed and the actual epsilon.
    ///
    /// # Errors
    /// None in practice: rows are as wide as the table.
    pub fn table(&self) -> Result<Table, ExperimentError> {
        let mut table = Table::new(&["method", "perplexity", "epsilon as the paper counts", "true epsilon"]);
        let number = |x: Option<f64>, none: &str| x.map_or_else(|| Cell::from(none), Cell::Number);
        table.push(vec![
            "empirical word frequencies".into(),
            self.baseline.into(),
            "not private".into(),
            "not private".into(),
        ])?;
        for outcome in &self.outcomes {
            let none = if outcome.epsilon.is_none() { "not private" } else { "" };
            table.push(vec![
                outcome.method.name().into(),
                outcome.perplexity.into(),
                number(outcome.epsilon_as_printed, none),
                number(outcome.epsilon, none),
            ])?;
        }
        Ok(table)
    }

    /// The first words of topics: three of the first method, and those of each other that are most like them.
    ///
    /// # Errors
    /// None in practice: rows are as wide as the table.
    pub fn words(&self, vocabulary: &[String], topics: usize) -> Result<Table, ExperimentError> {
        let mut columns = vec!["topic"];
        columns.extend(self.outcomes.iter().map(|outcome| outcome.method.name()));
        let mut table = Table::new(&columns);
        let Some(first) = self.outcomes.first() else { return Ok(table) };
        let shares = first.posterior.shares();
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
        for (number, &topic) in order.iter().take(topics).enumerate() {
            let target = column(&first.posterior, topic);
            let tops: Vec<Vec<(usize, f64)>> = self
                .outcomes
                .iter()
                .map(|outcome| {
                    let likeness = |k: usize| cosine(&target, &column(&outcome.posterior, k));
                    let nearest = (0..outcome.posterior.model.topics)
                        .max_by(|&a, &b| likeness(a).total_cmp(&likeness(b)))
                        .unwrap_or(0);
                    outcome.posterior.top_words(nearest, SHOWN)
                })
                .collect();
            for rank in 0..SHOWN.min(vocabulary.len()) {
                let mut row = vec![Cell::from(format!("{}", number + 1).as_str())];
                row.extend(tops.iter().map(|top| {
                    let (word, p) = top[rank];
                    Cell::from(format!("{} {}", vocabulary[word], digits(p, 2)).as_str())
                }));
                table.push(row)?;
            }
        }
        Ok(table)
    }

    /// The perplexity of held-out documents by the true epsilon: a point for each private method, a dashed line for each other.
    #[must_use]
    pub fn figure(&self) -> String {
        let epsilons = || self.outcomes.iter().filter_map(|outcome| outcome.epsilon);
        let (least, most) = (epsilons().fold(f64::INFINITY, f64::min), epsilons().fold(0.0, f64::max));
        let one = |outcome: &Outcome| match outcome.epsilon {
            Some(epsilon) => Series::new(outcome.method.name(), vec![(epsilon, outcome.perplexity)]),
            None => {
                let points = vec![(least, outcome.perplexity), (most, outcome.perplexity)];
                Series { is_reference: true, ..Series::new(outcome.method.name(), points) }
            }
        };
        let series: Vec<Series> = self.outcomes.iter().map(one).collect();
        let axes =
            (("true epsilon", Scale::Logarithmic), ("perplexity of held-out documents", Scale::Linear));
        lines("Topics of an encyclopedia, private and not", axes.0, axes.1, &series)
    }
}

fn column(posterior: &TopicPosterior, topic: usize) -> Vec<f64> {
    posterior.lambda.iter().skip(topic).step_by(posterior.model.topics).copied().collect()
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent_core::wall::Records;

    /// Two halves of a vocabulary of twenty words, of which a document uses one.
    fn corpus() -> Corpus {
        let document = |n: u32| (0..10).map(|w| (10 * (n % 2) + w, 1 + (n + w) % 3)).collect();
        Corpus {
            words: (0..20).map(|w| format!("w{w}")).collect(),
            documents: (0..4000).map(document).collect(),
        }
    }

    /// Without noise and batches a fit is deterministic.
    #[test]
    fn a_stream_of_documents_has_the_same_rows() {
        let corpus = corpus();
        let model = TopicModel::new(2, 20, Layout::Slots(15));
        let plan = TopicsPlan::without_privacy(&model, 3000, None, 2);
        let fit = |records: Records| {
            plan.run(records, NoiseSource::from_os().unwrap(), None, Box::new(Unlimited)).unwrap().0
        };
        let mut rows = vec![0.0; 3000 * 15];
        for (row, document) in rows.chunks_exact_mut(15).zip(&*corpus.documents) {
            model.layout.write(document, 20, row);
        }
        let rows = Records::new(rows, 15).unwrap();
        assert_eq!(fit(rows), fit(corpus.stream(3000, model.layout).unwrap()));
    }

    #[test]
    fn every_method_reports_what_it_costs() {
        let experiment = Experiment { topics: 2, held_out: 200, epsilon: 2.38, delta: 1e-6, batches: 10 };
        let corpus = corpus();
        let baseline = experiment.baseline(&corpus).unwrap();
        assert!((baseline - 20.0).abs() < 0.5, "{baseline}");
        let outcomes: Vec<Outcome> =
            Method::ALL.iter().map(|&method| experiment.fit(method, &corpus).unwrap()).collect();
        for outcome in &outcomes {
            match outcome.method {
                Method::NonPrivate | Method::NonPrivateTenPasses => {
                    assert!(outcome.epsilon.is_none() && outcome.perplexity < 13.0);
                }
                // More was spent than was said, since delta is smaller and the sensitivity larger.
                Method::PaperNoise => {
                    assert!(outcome.epsilon.unwrap() > outcome.epsilon_as_printed.unwrap());
                }
                _ => assert!(outcome.epsilon.unwrap() <= 2.38),
            }
        }
        // A document tells its half: ours finds that, and the paper's steps have hardly moved.
        assert!(outcomes[3].perplexity < 0.75 * baseline, "{}", outcomes[3].perplexity);
        let report = Report { baseline, outcomes };
        assert_eq!(report.table().unwrap().rows().len(), 1 + Method::ALL.len());
        assert_eq!(report.words(&corpus.words, 2).unwrap().rows().len(), 2 * SHOWN);
        assert!(report.figure().starts_with("<svg"));
    }
}
