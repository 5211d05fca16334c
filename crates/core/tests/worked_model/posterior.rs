//! The posterior: a normal distribution for each mean.

use reticent_core::model::parameters::{Block, Joint, Marginal, NormalMarginal, Parameter};
use reticent_core::model::{Codebook, CodedColumn, ModelError, Parameters, Posterior, Predicted, Saved};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Means {
    pub mean: Vec<f64>,
    pub sd: Vec<f64>,
}

impl Posterior for Means {
    /// The posterior has only means, so every record is equally probable within its bounds, which are 2 apart.
    fn predict_row(&self, inputs: &[f64], _: &[f64]) -> Predicted {
        Predicted::Component { log_density: -2f64.ln() * inputs.len() as f64, probabilities: Vec::new() }
    }

    /// `mean[column]`, in the units of the schema. All of the uncertainty is that of the noise: these are the means of the records at hand.
    fn parameters(&self, codebook: &Codebook) -> Parameters {
        let parameter = |(k, column): (usize, &CodedColumn)| {
            Parameter::new("mean", vec![("column", column.label())], k).with_unit(column.unit.as_deref())
        };
        let marginal = |((mean, sd), column): ((&f64, &f64), &CodedColumn)| {
            let (mean, sd) = (column.decode(*mean), column.decode_difference(*sd));
            Box::new(NormalMarginal { mean, sd, records_sd: 0.0 }) as Box<dyn Marginal>
        };
        let columns = &codebook.columns;
        let marginals = self.mean.iter().zip(&self.sd).zip(columns).map(marginal).collect();
        let parameters = columns.iter().enumerate().map(parameter).collect();
        Parameters::new(vec![Block { parameters, joint: Joint::Independent(marginals) }])
    }

    fn save(&self) -> Result<Saved, ModelError> {
        Saved::of(self)
    }
}
