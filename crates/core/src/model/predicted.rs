//! Predictions of a fitted model.

use crate::math::vector::sigmoid;
use crate::model::Prediction;

/// The variance of a prediction by source.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Variances {
    /// Posterior variance of the function without the privacy noise.
    pub records: f64,
    /// Variance added by the privacy noise.
    pub privacy: f64,
    /// Variance of a target about the function.
    pub targets: f64,
}

impl Variances {
    /// Total variance of a target about its prediction.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.records + self.privacy + self.targets
    }
}

/// The inverse link, from the score of a record to the probability of its second class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// The normal distribution function.
    Probit,
    /// The logistic function: the score is the logarithm of the odds.
    Logistic,
}

impl Link {
    /// The probability of a score.
    #[must_use]
    pub fn probability(self, score: f64) -> f64 {
        match self {
            Self::Probit => Prediction { mean: score, variance: 0.0, noise_variance: 1.0 }.positive(),
            Self::Logistic => sigmoid(score),
        }
    }
}

/// A prediction for one record, in encoded units.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicted {
    /// For a numeric target.
    Number {
        /// The expected target.
        mean: f64,
        /// Its uncertainty.
        variances: Variances,
        /// The requested quantiles.
        quantiles: Vec<f64>,
    },
    /// For two classes.
    Class {
        /// How probable the second class is, the one encoded as 1.
        probability: f64,
        /// The expected score behind it.
        score: f64,
        /// The inverse link of the score.
        link: Link,
        /// The variance of the score, on the scale of the score.
        variances: Variances,
    },
    /// For the component of a mixture.
    Component {
        /// The logarithm of the density of the record.
        log_density: f64,
        /// How probable each component is.
        probabilities: Vec<f64>,
    },
    /// For the topics of a document.
    Topics {
        /// A lower bound on the logarithm of the probability of its words.
        bound: f64,
        /// Number of words.
        words: f64,
        /// The expected share of each topic.
        shares: Vec<f64>,
    },
    /// For a record given its hidden units.
    Reconstruction {
        /// A lower bound on the logarithm of its probability.
        bound: f64,
        /// The share of its inputs whose probability is on the correct side of one half.
        right: f64,
        /// The probability of a one for each input.
        probabilities: Vec<f64>,
    },
}

impl Predicted {
    /// The prediction with its mean and quantiles clipped to the bounds of a number, -1 and 1.
    #[must_use]
    pub fn within_bounds(self) -> Self {
        match self {
            Self::Number { mean, variances, mut quantiles } => {
                quantiles.iter_mut().for_each(|quantile| *quantile = quantile.clamp(-1.0, 1.0));
                Self::Number { mean: mean.clamp(-1.0, 1.0), variances, quantiles }
            }
            other => other,
        }
    }
}
