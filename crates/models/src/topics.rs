//! Topics of documents.

use reticent::budget::{Cost, Ledger, Privacy};
use reticent::field;
use reticent::model::topics::{Document, Expected, Layout, TopicModel, TopicPosterior, TopicsPlan};
use reticent::receipt::Receipt;
use reticent::wall::{NoiseSource, Records, WallError};
use serde_json::Value;

use crate::model::{out_of_range, parse, same_shape, settings};
use crate::{
    Estimate, Facts, Fitted, Highlight, Model, ModelError, Outline, Planned, Predicted, Release, Saved,
    Setting, Target,
};

pub(crate) struct Topics;

const SETTINGS: [Setting; 1] = [Setting::integer("topics", "the number of topics", (1, 100_000)).or(50.0)];

/// Passes over the documents of a fit without privacy.
const PASSES: u64 = 20;
/// Words that a topic is shown by.
const SHOWN: usize = 10;

impl Model for Topics {
    fn name(&self) -> &'static str {
        "topics"
    }
    fn about(&self) -> &'static str {
        "topics of documents, whose words are counted: latent Dirichlet allocation"
    }
    fn family(&self) -> &'static str {
        "dirichlet"
    }
    fn targets(&self) -> &'static [Target] {
        &[Target::Nothing]
    }
    fn settings(&self) -> &'static [Setting] {
        &SETTINGS
    }
    fn new_plan(&self, facts: &Facts, privacy: Option<&Privacy>) -> Result<Box<dyn Planned>, ModelError> {
        let [topics] = settings(self, facts)?;
        only_words(self, facts)?;
        let model = TopicModel::new(topics as usize, facts.inputs(), Layout::Counts);
        Ok(Box::new(match privacy {
            Some(privacy) => TopicsPlan::new(&model, facts.records, privacy)?,
            None => TopicsPlan::without_privacy(&model, facts.records, None, PASSES),
        }))
    }
    fn parse_plan(&self, facts: &Facts, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        only_words(self, facts)?;
        Ok(Box::new(parse::<TopicsPlan>(self.name(), plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Fitted>, ModelError> {
        let posterior: TopicPosterior = saved.restore(self.name())?;
        let whole = posterior.model.topics > 0 && posterior.lambda.len() == posterior.model.width();
        if !whole || !posterior.lambda.iter().all(|x| *x > 0.0) {
            return Err(ModelError::NotSaved { model: self.name() });
        }
        Ok(Box::new(Read::new(posterior)))
    }
}

/// Refuses columns that are not counts of words, which would be taken for documents.
fn only_words(model: &dyn Model, facts: &Facts) -> Result<(), ModelError> {
    if facts.words.is_some_and(|words| words != facts.columns.len()) {
        return Err(ModelError::Words { model: model.name() });
    }
    Ok(())
}

impl Planned for TopicsPlan {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a plan is numbers and texts")
    }

    fn outline(&self) -> Outline {
        let releases = vec![Release {
            what: "words of each topic".into(),
            width: self.model.width(),
            times: self.steps,
            clip: self.clip,
            noise_multiplier: self.noise_multiplier,
        }];
        Outline { releases, expected: Vec::new(), why: self.why.clone() }
    }

    fn validate(&self, facts: &Facts) -> Result<(), ModelError> {
        same_shape("topics", (self.model.words, self.records), facts)?;
        let fields = || {
            field::agrees("model.layout", &self.model.layout, &Layout::Counts)?;
            TopicsPlan::validate(self)
        };
        fields().map_err(out_of_range("topics"))
    }

    fn cost_estimate(&self) -> Estimate {
        let (topics, words, steps) = (self.model.topics as f64, self.model.words as f64, self.steps as f64);
        let documents = self.batch.unwrap_or(self.records) as f64;
        let width = topics * words;
        // Words that differ in a document, each with all topics in every sweep of its inference.
        let distinct = words.min(self.mean_length.unwrap_or(100.0).max(10.0));
        let each = 4.0 * words + distinct * topics * 60.0;
        Estimate::new(12.0 * width, steps * width * 100.0, width).releases(steps, width, documents, each)
    }

    fn price(&self, privacy: &Privacy) -> Result<Cost, ModelError> {
        Ok(TopicsPlan::price(self, privacy.delta()).map_err(WallError::from)?)
    }

    fn fit(
        &self,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Box<dyn Fitted>, Receipt), ModelError> {
        let (posterior, receipt) = TopicsPlan::fit(self, records, source, privacy, ledger)?;
        Ok((Box::new(Read::new(posterior)), receipt))
    }
}

/// Topics, ready for documents.
struct Read {
    posterior: TopicPosterior,
    expected: Expected,
}

impl Read {
    fn new(posterior: TopicPosterior) -> Self {
        let expected = posterior.expected();
        Self { posterior, expected }
    }
}

impl Fitted for Read {
    fn predict(&self, inputs: &[f64], _: &[f64]) -> Predicted {
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
            let words = self.posterior.top_words(topic, SHOWN);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scorer, model};
    use reticent::budget::{Adjacency, Unlimited};

    /// Documents of one of two halves of the vocabulary, ten words each: planned, fitted, saved, loaded and scored like any model.
    #[test]
    fn topics_are_a_model_like_any_other() {
        let document = |n: usize| (0..8).map(move |w| if (w < 4) == n.is_multiple_of(2) { 2.5 } else { 0.0 });
        let rows: Vec<f64> = (0..3000).flat_map(document).collect();
        let privacy = Privacy::new(2.0, 1e-6, Adjacency::ReplaceOne).unwrap();
        let mut facts = Facts::new(vec![1; 8], Target::Nothing, 3000);
        facts.settings.insert("topics".into(), 2.0);
        let topics = model("topics").unwrap();
        let plan = topics.plan(&facts, Some(&privacy)).unwrap();
        assert!(plan.price(&privacy).unwrap().epsilon.upper <= 2.0);
        let again = topics.read_plan(&facts, &plan.to_json()).unwrap();
        let records = Records::new(rows, 8).unwrap();
        let source = NoiseSource::from_os().unwrap();
        let (fitted, _) = again.fit(records, source, Some(&privacy), Box::new(Unlimited)).unwrap();
        let loaded = topics.load(&fitted.save().unwrap()).unwrap();
        let row: Vec<f64> = document(1).collect();
        assert_eq!(loaded.predict(&row, &[]), fitted.predict(&row, &[]));
        let mut scorer = Scorer::new(1.0);
        (0..10).for_each(|n| scorer.add(&loaded.predict(&document(n).collect::<Vec<_>>(), &[]), 0.0));
        // A document tells its half: between 4, which is the best, and 8, which knows nothing.
        let perplexity = scorer.finish().unwrap().perplexity.unwrap();
        assert!((4.0..8.0).contains(&perplexity), "{perplexity}");
        let names: Vec<String> = (0..8).map(|w| format!("text:w{w}")).collect();
        let highlights = loaded.highlights(&names);
        assert_eq!(highlights.len(), 2);
        assert!(highlights[0].text.contains("w0") || highlights[0].text.contains("w4"), "{highlights:?}");
    }
}
