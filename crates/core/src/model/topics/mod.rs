//! Topics of documents: latent Dirichlet allocation.
//!
//! A topic $\beta_k \sim \mathrm{Dirichlet}(\eta)$ is a distribution over the $V$ words of a public vocabulary. A document mixes topics by
//! $\theta_d \sim \mathrm{Dirichlet}(\alpha)$; each of its words has a topic $z \sim \theta_d$ and is drawn from $\beta_z$. Variational Bayes keeps
//! $q(\beta_k) = \mathrm{Dirichlet}(\lambda_k)$ for all documents and $q(\theta_d)\,q(z_d)$ for each; a document's expected statistics are
//! $s_{kw} = n_w\phi_{wk}$, how many of its words $w$ are of topic $k$, and $\lambda = \eta + \sum_d s_d$.
//!
//! Read [`document`](Document), [`infer`](Expected) (the E-step, which takes most of the time), `statistics.rs` (the
//! contributions), `shrink.rs` (denoising of the sums), `plan.rs` and `posterior.rs`.
//!
//! # Privacy
//! One document is one record. Its contribution is non-negative, and clipped to a norm of $C$ words: the sensitivity
//! under replace-one is $\sqrt2 C$, attained by documents without a common word (the paper's $C$ holds only for
//! adding or removing one), and $C$ under add/remove. Attacked by
//! `neighbouring_documents_reach_and_never_exceed_the_sensitivity`. The E-step has no state between documents and
//! uses only released topics. The privacy unit is a document, not an author: an author of ten documents is protected
//! ten times less.
//!
//! # Citation
//! Blei, Ng, Jordan, "Latent Dirichlet allocation", JMLR 2003; Hoffman, Blei, Bach, "Online learning for latent Dirichlet allocation",
//! NeurIPS 2010; Park, Foulds, Chaudhuri, Welling, "Variational Bayes in private settings (VIPS)", JAIR 2020, Algorithm 3.

mod document;
mod exp_digamma;
mod infer;
mod plan;
mod posterior;
mod shrink;
pub(crate) mod statistics;

pub use document::{Document, Layout};
pub use infer::{Expected, Inferred, Until};
pub use plan::TopicsPlan;
pub use posterior::{SIMULATED_LENGTH, TOP_WORDS, TopicPosterior};
pub use statistics::{Cells, Learning};

use crate::budget::Privacy;
use crate::model::planned::parse;
use crate::model::reference::{LDA, ONLINE_LDA, VIPS};
use crate::model::settings::Settings;
use crate::model::topics::posterior::Read;
use crate::model::{Declaration, Model, ModelError, Planned, Posterior, Saved, Setting, TableShape, Target};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The public definition of a topic model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TopicModel {
    /// Number of topics $K$.
    pub topics: usize,
    /// Size of the vocabulary $V$.
    pub words: usize,
    /// Concentration $\alpha$ of the prior of a document's topics.
    pub document_prior: f64,
    /// Concentration $\eta$ of the prior of a topic's words, the mean over the words.
    pub word_prior: f64,
    /// The length that documents are scaled to, as in the paper, by multiplying all their counts; `None` leaves them
    /// as they are, and only clipping bounds the contribution of a long one.
    pub length: Option<f64>,
    /// The encoding of documents in rows.
    pub layout: Layout,
}

impl TopicModel {
    /// A model with the default priors of $1/K$, and documents of their own length.
    #[must_use]
    pub fn new(topics: usize, words: usize, layout: Layout) -> Self {
        let prior = 1.0 / topics.max(1) as f64;
        Self { topics, words, document_prior: prior, word_prior: prior, length: None, layout }
    }

    /// Number of coordinates of the statistics of a document, most of them 0.
    #[must_use]
    pub fn width(&self) -> usize {
        self.topics * self.words
    }

    /// A row as a document of the public length, if there is one.
    #[must_use]
    pub fn document(&self, row: &[f64]) -> Document {
        let mut document = Document::read(row, self.layout, self.words);
        if let Some(length) = self.length {
            document.resize(length);
        }
        document
    }

    /// Why the model is invalid, if it is.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let sane = |x: f64| (1e-6..=1e6).contains(&x);
        if self.topics == 0 || self.words == 0 || self.layout == Layout::Slots(0) {
            Some("topics, words and slots must be at least 1")
        } else if !(sane(self.document_prior) && sane(self.word_prior) && self.length.is_none_or(sane)) {
            Some("priors and the length must be between 1e-6 and 1e6")
        } else {
            None
        }
    }
}

pub(crate) struct Topics;

const SETTINGS: [Setting; 1] =
    [Setting::integer("topics", "the number of topics", (1, 100_000)).or_integer(50)];

/// Passes over the documents of a fit without privacy.
const PASSES: u64 = 20;

const DECLARATION: Declaration = Declaration {
    name: "topics",
    about: "topics of documents from counts of words: latent Dirichlet allocation",
    not_for: "protecting authors of several documents (one document is protected), columns that are not counts of words, or intervals: topics are point estimates",
    references: &[VIPS, LDA, ONLINE_LDA],
    family: "dirichlet",
    targets: &[Target::Nothing],
    settings: &SETTINGS,
    needs_bounds: true,
    can_be_private: true,
    can_be_pure: false,
};

impl Model for Topics {
    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }
    fn new_plan(
        &self,
        shape: &TableShape,
        privacy: Option<&Privacy>,
    ) -> Result<Box<dyn Planned>, ModelError> {
        let settings = Settings::new(self, shape)?;
        let topics = settings.integer("topics");
        only_words(self, shape)?;
        let model = TopicModel::new(topics, shape.inputs(), Layout::Counts);
        Ok(Box::new(match privacy {
            Some(privacy) => TopicsPlan::new(&model, shape.records, privacy)?,
            None => TopicsPlan::without_privacy(&model, shape.records, None, PASSES),
        }))
    }
    fn parse_plan(&self, shape: &TableShape, plan: &Value) -> Result<Box<dyn Planned>, ModelError> {
        only_words(self, shape)?;
        Ok(Box::new(parse::<TopicsPlan>(self.name(), plan)?))
    }
    fn load(&self, saved: &Saved) -> Result<Box<dyn Posterior>, ModelError> {
        let posterior: TopicPosterior = saved.restore(self.name())?;
        let valid = posterior.model.topics > 0 && posterior.lambda.len() == posterior.model.width();
        if !valid || !posterior.lambda.iter().all(|x| *x > 0.0) {
            return Err(ModelError::NotSaved { model: self.name() });
        }
        Ok(Box::new(Read::new(posterior)))
    }
}

/// Refuses columns that are not counts of words.
fn only_words(model: &dyn Model, shape: &TableShape) -> Result<(), ModelError> {
    if shape.words.is_some_and(|words| words != shape.columns.len()) {
        return Err(ModelError::Words { model: model.name() });
    }
    Ok(())
}

#[cfg(test)]
mod registry_tests;
#[cfg(test)]
mod tests;
