//! What a fit is expected to give, before anything is spent: the plan is run on [typical records](crate::typical_records), simulated from public facts.

use reticent_core::budget::{Privacy, Unlimited};
use reticent_core::engine::gdp_mu;
use reticent_core::model::{QUANTILES, Score, Scorer, Summary, TableShape};
use reticent_core::wall::{NoiseSource, Records};
use serde::Serialize;

use crate::error::Error;
use crate::plan::Plan;
use crate::typical_records;

/// Simulated records of a data set, unless the budget needs more of them.
const RECORDS: usize = 20_000;
/// Simulated records that predictions are scored on.
const TESTED: usize = 1000;
/// Numbers of simulated data sets, at most.
const MAX_VALUES: usize = 1 << 23;
/// Operations of a simulated fit, at most: a few seconds, since estimates are generous.
const MAX_OPERATIONS: f64 = 4e9;
/// The largest epsilon that smaller data sets are fitted with instead.
const MAX_EPSILON: f64 = 50.0;

/// What to expect of a fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Forecast {
    /// What may be spent; none without privacy.
    pub epsilon: Option<f64>,
    /// The public number of records.
    pub records: usize,
    /// Half the width of the 95 % interval of each parameter, in its unit: the median over simulated data sets.
    pub parameters: Vec<ExpectedWidth>,
    /// The error of predictions of new records, by name: the median over simulated data sets.
    pub errors: Vec<(String, f64)>,
    /// Number of simulated data sets.
    pub data_sets: usize,
    /// Records of each.
    pub simulated_records: usize,
}

/// Half the width of an interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExpectedWidth {
    /// The parameter, such as `coefficient[age]`.
    pub name: String,
    /// The variable that it is an element of.
    pub variable: &'static str,
    /// Its unit.
    pub unit: Option<String>,
    /// Half the width of its 95 % interval.
    pub half_width: f64,
    /// The same without the privacy noise.
    pub without_noise: f64,
}

impl Forecast {
    /// The medians over the parameters of each variable, in the order of the parameters: the half width, and that without noise.
    #[must_use]
    pub fn variables(&self) -> Vec<(&'static str, f64, f64)> {
        let mut found: Vec<(&'static str, Vec<f64>, Vec<f64>)> = Vec::new();
        for parameter in &self.parameters {
            let (with, without) = (parameter.half_width, parameter.without_noise);
            match found.iter_mut().find(|(variable, ..)| *variable == parameter.variable) {
                Some((_, widths, free)) => {
                    widths.push(with);
                    free.push(without);
                }
                None => found.push((parameter.variable, vec![with], vec![without])),
            }
        }
        found
            .into_iter()
            .map(|(variable, mut widths, mut free)| (variable, median(&mut widths), median(&mut free)))
            .collect()
    }
}

impl Plan {
    /// Runs the plan on so many simulated data sets. `None` if bounds are still to be estimated, or if even a small simulated fit would take
    /// long: widths in units need the first, and patience the second.
    ///
    /// Where the table is large, a smaller one is simulated with as much more budget: the noise in sums then has the same size relative to the
    /// number of records, and the uncertainty from records is scaled by the root of the ratio.
    ///
    /// # Errors
    /// [`Error`] if a simulated fit fails.
    pub fn forecast(&self, data_sets: usize, seed: u64) -> Result<Option<Forecast>, Error> {
        let Some(codebook) = self.codebook.as_ref() else { return Ok(None) };
        let Some((shape, privacy)) = self.affordable() else { return Ok(None) };
        let planned = self.model.plan(&shape, privacy.as_ref())?;
        let operations = planned.cost_estimate().operations;
        if operations.is_nan() || operations > MAX_OPERATIONS {
            return Ok(None);
        }
        let ratio = (shape.records as f64 / self.shape.records as f64).min(1.0);
        let (width, inputs) = (shape.width(), shape.inputs());
        let mut summaries: Vec<Vec<Summary>> = Vec::new();
        let mut scores = Vec::new();
        for k in 0..data_sets.max(1) {
            let mut rows =
                typical_records::rows(codebook, shape.records + TESTED, seed.wrapping_add(k as u64));
            let tests = rows.split_off(shape.records * width);
            let records = Records::new(rows, width)?;
            let (posterior, _) =
                planned.run(records, NoiseSource::from_os()?, privacy.as_ref(), Box::new(Unlimited))?;
            summaries.push(posterior.parameters(codebook).summary());
            let mut scorer = Scorer::new(codebook.target_scale());
            for row in tests.chunks_exact(width) {
                let predicted = posterior.predict_row(&row[..inputs], &QUANTILES);
                scorer.add(&predicted, row.get(inputs).copied().unwrap_or(0.0));
            }
            scores.extend(scorer.finish());
        }
        Ok(Some(Forecast {
            epsilon: self.privacy.map(|privacy| privacy.epsilon()),
            records: self.shape.records,
            parameters: widths(&summaries, ratio.sqrt()),
            errors: errors(&scores),
            data_sets: summaries.len(),
            simulated_records: shape.records,
        }))
    }

    /// The shape and the budget of the simulated fits.
    fn affordable(&self) -> Option<(TableShape, Option<Privacy>)> {
        let most = (MAX_VALUES / self.shape.width().max(1)).max(100);
        let mut records = self.shape.records.min(RECORDS).min(most);
        loop {
            let shape = TableShape { records, ..self.shape.clone() };
            let factor = self.shape.records as f64 / records as f64;
            let Some(privacy) = &self.privacy else { return Some((shape, None)) };
            if factor <= 1.0 {
                return Some((shape, Some(*privacy)));
            }
            if let Some(larger) = larger(privacy, factor) {
                return Some((shape, Some(larger)));
            }
            if records >= most {
                return None;
            }
            records = (2 * records).min(self.shape.records).min(most);
        }
    }
}

/// The budget whose noise is smaller by a factor; `None` if its epsilon would be too large.
fn larger(privacy: &Privacy, factor: f64) -> Option<Privacy> {
    let with = |epsilon: f64| {
        let larger = Privacy::new(epsilon, privacy.delta(), privacy.adjacency()).ok()?;
        Some(larger.allow_large_delta())
    };
    if privacy.delta() == 0.0 {
        return (factor * privacy.epsilon() <= MAX_EPSILON)
            .then(|| with(factor * privacy.epsilon()))
            .flatten();
    }
    let wanted = factor * gdp_mu(privacy).ok()?;
    let mu = |epsilon: f64| gdp_mu(&with(epsilon)?).ok();
    if mu(MAX_EPSILON)? < wanted {
        return None;
    }
    let (mut low, mut high) = (privacy.epsilon(), MAX_EPSILON);
    while high / low > 1.001 {
        let middle = (low * high).sqrt();
        *if mu(middle)? < wanted { &mut low } else { &mut high } = middle;
    }
    with(high)
}

fn widths(summaries: &[Vec<Summary>], records_scale: f64) -> Vec<ExpectedWidth> {
    let Some(first) = summaries.first() else { return Vec::new() };
    let one = |(k, summary): (usize, &Summary)| {
        let each = || summaries.iter().filter_map(|summaries| summaries.get(k));
        let half = |summary: &Summary| 0.5 * (summary.quantiles[4] - summary.quantiles[0]);
        // The width scales as the standard deviation does.
        let scaled = |summary: &Summary, privacy: f64| {
            let sd = (summary.records_sd * records_scale).hypot(privacy);
            if summary.sd > 0.0 { half(summary) * sd / summary.sd } else { 0.0 }
        };
        ExpectedWidth {
            name: summary.name.clone(),
            variable: summary.variable,
            unit: summary.unit.clone(),
            half_width: median(&mut each().map(|s| scaled(s, s.privacy_sd)).collect::<Vec<_>>()),
            without_noise: median(&mut each().map(|s| scaled(s, 0.0)).collect::<Vec<_>>()),
        }
    };
    first.iter().enumerate().map(one).collect()
}

fn errors(scores: &[Score]) -> Vec<(String, f64)> {
    type Figure = (&'static str, fn(&Score) -> Option<f64>);
    let figures: [Figure; 5] = [
        ("root mean squared error", |score| score.rmse),
        ("area under the ROC curve", |score| score.auc),
        ("accuracy", |score| score.accuracy),
        ("perplexity", |score| score.perplexity),
        ("mean log-likelihood", |score| Some(score.log_likelihood)),
    ];
    let figure = |(name, of): &Figure| {
        let mut values: Vec<f64> = scores.iter().filter_map(of).collect();
        (!values.is_empty()).then(|| ((*name).to_owned(), median(&mut values)))
    };
    figures.iter().filter_map(figure).collect()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => 0.5 * (values[n / 2 - 1] + values[n / 2]),
    }
}
