//! The posterior.

use crate::engine::conjugate::Scalar;
use crate::model::parameters::{Block, Joint, Marginal, Parameter};
use crate::model::{Codebook, CodedColumn, ModelError, Parameters, Posterior, Predicted, Saved};
use rand::rngs::ChaCha8Rng;
use rand_distr::{Distribution, Poisson};
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

/// The posterior of a rate, with its standard deviation without privacy noise.
#[derive(Debug)]
struct RateMarginal {
    rate: Scalar,
    records_sd: f64,
}

impl Marginal for RateMarginal {
    fn mean(&self) -> f64 {
        self.rate.mean()
    }
    fn sd(&self) -> f64 {
        self.rate.variance().sqrt()
    }
    fn records_sd(&self) -> f64 {
        self.records_sd
    }
    fn quantile(&self, probability: f64) -> f64 {
        self.rate.quantile(probability)
    }
    fn below(&self, x: f64) -> f64 {
        let half = 0.5 * self.rate.width();
        let share =
            |(centre, weight): (f64, f64)| weight * ((x - centre + half) / (2.0 * half)).clamp(0.0, 1.0);
        self.rate.cells().map(share).sum()
    }
    fn draw(&self, rng: &mut ChaCha8Rng) -> f64 {
        self.rate.draw(rng)
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

    /// `rate[column]`: the expected count of a record.
    fn parameters(&self, codebook: &Codebook) -> Parameters {
        let parameter = |(k, column): (usize, &CodedColumn)| {
            let unit =
                column.unit.as_deref().map_or("per record".to_owned(), |unit| format!("{unit} per record"));
            Parameter::new("rate", vec![("column", column.label())], k).with_unit(Some(&unit))
        };
        let parameters = codebook.columns.iter().take(self.rates.len()).enumerate().map(parameter).collect();
        let marginal = |rate: &Scalar| {
            let records_sd = (rate.mean() / self.records.max(1) as f64).sqrt();
            Box::new(RateMarginal { rate: rate.clone(), records_sd }) as Box<dyn Marginal>
        };
        let joint = Joint::Independent(self.rates.iter().map(marginal).collect());
        Parameters::new(vec![Block { parameters, joint }])
    }

    /// Counts above the bound are recorded as the bound.
    fn simulate(&self, rng: &mut ChaCha8Rng) -> Option<Vec<f64>> {
        let count = |rate: &Scalar| {
            let drawn = Poisson::new(rate.draw(rng)).map_or(0.0, |poisson| poisson.sample(rng));
            drawn.min(self.max_count as f64) / self.unit() - 1.0
        };
        Some(self.rates.iter().map(count).collect())
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
