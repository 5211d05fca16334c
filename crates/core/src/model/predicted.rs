//! What a fitted model says about a record.

use crate::math::vector::sigmoid;
use crate::model::Prediction;

/// Where the uncertainty of a prediction comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Variances {
    /// What the records leave open about the function.
    pub records: f64,
    /// What the privacy noise adds to that.
    pub privacy: f64,
    /// Of a target about the function.
    pub targets: f64,
}

impl Variances {
    /// Of a target about its prediction.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.records + self.privacy + self.targets
    }
}

/// The function from the score of a record to the probability of its second class.
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
    /// Of a number.
    Number {
        /// The expected target.
        mean: f64,
        /// Its uncertainty.
        variances: Variances,
        /// The quantiles that were asked for.
        quantiles: Vec<f64>,
    },
    /// Of two classes.
    Class {
        /// How probable the second class is, the one encoded as 1.
        probability: f64,
        /// The expected score behind it.
        score: f64,
        /// What makes a probability of a score.
        link: Link,
        /// The uncertainty of the score, on the score's scale.
        variances: Variances,
    },
    /// Of the component of a mixture.
    Component {
        /// The logarithm of the density of the record.
        log_density: f64,
        /// How probable each component is.
        probabilities: Vec<f64>,
    },
    /// Of the topics of a document.
    Topics {
        /// A lower bound on the logarithm of the probability of its words.
        bound: f64,
        /// How many these are.
        words: f64,
        /// The expected share of each topic.
        shares: Vec<f64>,
    },
    /// Of a record from what its hidden units are.
    Reconstruction {
        /// A lower bound on the logarithm of its probability.
        bound: f64,
        /// The share of its inputs that are on the right side of one half.
        right: f64,
        /// How probable a one is for each input.
        probabilities: Vec<f64>,
    },
}

impl Predicted {
    /// The same with a mean and quantiles of a number that are within its bounds, -1 and 1.
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
