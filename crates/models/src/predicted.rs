//! What a fitted model says about a record.

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
        /// The uncertainty of the score behind it.
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
