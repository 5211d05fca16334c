//! The posterior.

use crate::engine::conjugate::Scalar;
use crate::model::{ModelError, Point, Posterior, Predicted, Saved};
use serde::{Deserialize, Serialize};

/// The posterior of each rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Rates {
    pub(super) rates: Vec<Scalar>,
    #[serde(rename = "most")]
    pub(super) max_count: usize,
    pub(super) records: usize,
}

impl Rates {
    /// Counts per unit of the encoding.
    fn unit(&self) -> f64 {
        0.5 * self.max_count as f64
    }
}

impl Posterior for Rates {
    /// The likelihood at the mean of each rate.
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        let log = |(rate, x): (&Scalar, &f64)| {
            let (rate, count) = (rate.mean(), (self.unit() * (x + 1.0)).round());
            count * rate.ln() - rate - (1..=count as u64).map(|k| (k as f64).ln()).sum::<f64>()
        };
        let log_density = self.rates.iter().zip(inputs).map(log).sum();
        Predicted::Component { log_density, probabilities: Vec::new() }
    }

    fn points(&self) -> Vec<Point> {
        let unit = self.unit();
        let records = |rate: &Scalar| (rate.mean() / self.records as f64).min(rate.variance());
        vec![Point {
            name: "rate".into(),
            mean: self.rates.iter().map(|rate| rate.mean() / unit - 1.0).collect(),
            records_sd: self.rates.iter().map(|rate| records(rate).sqrt() / unit).collect(),
            sd: self.rates.iter().map(|rate| rate.variance().sqrt() / unit).collect(),
        }]
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
