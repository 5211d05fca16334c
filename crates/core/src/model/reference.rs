//! The papers that models follow.

use serde::Serialize;
use std::fmt;

/// A paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// Family names, in the order of the paper.
    pub authors: &'static str,
    /// The title.
    pub title: &'static str,
    /// Journal or conference, and year.
    pub published: &'static str,
}

impl Reference {
    /// From authors, title, and journal or conference with year.
    #[must_use]
    pub const fn new(authors: &'static str, title: &'static str, published: &'static str) -> Self {
        Self { authors, title, published }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, \"{}\", {}", self.authors, self.title, self.published)
    }
}

pub(crate) const EP: Reference =
    Reference::new("Minka", "Expectation propagation for approximate Bayesian inference", "UAI 2001");
pub(crate) const SEP: Reference =
    Reference::new("Li, Hernandez-Lobato, Turner", "Stochastic expectation propagation", "NeurIPS 2015");
pub(crate) const DP_SEP: Reference =
    Reference::new("Vinaroz, Park", "Differentially private stochastic expectation propagation", "TMLR 2022");
pub(crate) const PBP: Reference = Reference::new(
    "Hernandez-Lobato, Adams",
    "Probabilistic backpropagation for scalable learning of Bayesian neural networks",
    "ICML 2015",
);
pub(crate) const VIPS: Reference = Reference::new(
    "Park, Foulds, Chaudhuri, Welling",
    "Variational Bayes in private settings (VIPS)",
    "JAIR 2020",
);
pub(crate) const FOULDS: Reference = Reference::new(
    "Foulds, Geumlek, Welling, Chaudhuri",
    "On the theory and practice of privacy-preserving Bayesian data analysis",
    "UAI 2016",
);
pub(crate) const NOISE_AWARE: Reference = Reference::new(
    "Bernstein, Sheldon",
    "Differentially private Bayesian inference for exponential families",
    "NeurIPS 2018",
);
pub(crate) const POLYA_GAMMA: Reference = Reference::new(
    "Polson, Scott, Windle",
    "Bayesian inference for logistic models using Polya-Gamma latent variables",
    "JASA 2013",
);
pub(crate) const RANDOM_FEATURES: Reference =
    Reference::new("Rahimi, Recht", "Random features for large-scale kernel machines", "NeurIPS 2007");
pub(crate) const ORTHOGONAL_FEATURES: Reference =
    Reference::new("Yu et al.", "Orthogonal random features", "NeurIPS 2016");
pub(crate) const COINPRESS: Reference = Reference::new(
    "Biswas, Dong, Kamath, Ullman",
    "CoinPress: practical private mean and covariance estimation",
    "NeurIPS 2020",
);
pub(crate) const PRIVATE_LINEAR: Reference =
    Reference::new("Wang", "Revisiting differentially private linear regression", "UAI 2018");
pub(crate) const LDA: Reference =
    Reference::new("Blei, Ng, Jordan", "Latent Dirichlet allocation", "JMLR 2003");
pub(crate) const ONLINE_LDA: Reference =
    Reference::new("Hoffman, Blei, Bach", "Online learning for latent Dirichlet allocation", "NeurIPS 2010");
pub(crate) const BELIEF_NETWORKS: Reference =
    Reference::new("Neal", "Connectionist learning of belief networks", "Artificial Intelligence 1992");
pub(crate) const DEEP_BELIEF: Reference = Reference::new(
    "Gan, Henao, Carlson, Carin",
    "Learning deep sigmoid belief networks with data augmentation",
    "AISTATS 2015",
);
pub(crate) const BAYESIAN_TAGGING: Reference = Reference::new(
    "Goldwater, Griffiths",
    "A fully Bayesian approach to unsupervised part-of-speech tagging",
    "ACL 2007",
);
pub(crate) const SKETCHED_MIXTURES: Reference = Reference::new(
    "Gribonval, Blanchard, Keriven, Traonmilin",
    "Compressive statistical learning with random feature moments",
    "2021",
);
pub(crate) const BOUNDED_INFLUENCE: Reference = Reference::new(
    "Künsch, Stefanski, Carroll",
    "Conditionally unbiased bounded-influence estimation in general regression models, with applications to generalized linear models",
    "JASA 1989",
);
pub(crate) const BRILLINGER: Reference =
    Reference::new("Brillinger", "A generalized linear model with Gaussian regressor variables", "1983");
pub(crate) const DP_SGD: Reference =
    Reference::new("Abadi et al.", "Deep learning with differential privacy", "CCS 2016");
pub(crate) const PRACTICAL_VI: Reference =
    Reference::new("Graves", "Practical variational inference for neural networks", "NeurIPS 2011");
