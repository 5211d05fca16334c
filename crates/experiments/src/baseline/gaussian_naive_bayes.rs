//! Naive Bayes with normal columns, as libraries of differential privacy have it.

use reticent_core::budget::{Ledger, Privacy};
use reticent_core::receipt::Receipt;
use reticent_core::wall::{Geometry, NoiseSource, Plan, Query, Records, Sampler, Sums, Wall, WallError};

/// Two classes by columns of numbers between -1 and 1 that are normal and independent given the class, with pure epsilon.
///
/// A third of epsilon each for counts of classes, for sums and for squares, the latter two shared by the columns, with Laplace noise; the
/// noisy values are treated as exact. Records are the columns and, last, a number that is positive for the second class.
///
/// # Citation
/// Vaidya, Shafiq, Basu, Hong, "Differentially private naive Bayes classification", WI-IAT 2013; the same as in diffprivlib.
#[derive(Debug, Clone, PartialEq)]
pub struct GaussianNaiveBayes {
    /// Of each class: the logarithm of its share, and mean and variance of each column.
    classes: [(f64, Vec<(f64, f64)>); 2],
}

/// Minimum variance of a column.
const MIN_VARIANCE: f64 = 1e-4;

impl GaussianNaiveBayes {
    /// Fits the columns of the records; without privacy if `privacy` is `None`.
    ///
    /// # Errors
    /// Errors of the wall.
    pub fn fit(
        columns: usize,
        count: usize,
        records: Records,
        source: NoiseSource,
        privacy: Option<&Privacy>,
        ledger: Box<dyn Ledger>,
    ) -> Result<(Self, Receipt), WallError> {
        let epsilon = privacy.map_or(1.0, Privacy::epsilon);
        let adjacency = privacy.map_or(reticent_core::budget::Adjacency::ReplaceOne, Privacy::adjacency);
        let mut plan = Plan::new(count, adjacency);
        let ids = [0, 1, 2].map(|power| {
            let query = Powers { columns, power };
            plan.sums(Sums {
                what: ["counts of classes", "sums by class", "squares by class"][power].into(),
                width: query.width(),
                geometry: Geometry::L1Ball { radius: if power == 0 { 1.0 } else { columns as f64 } },
                sampler: Sampler::Full,
                noise_multiplier: 3.0 * (1.0 + 1e-9) / epsilon,
                steps: 1,
            })
        });
        let [counts, sums, squares] = ids;
        let ids = [counts?, sums?, squares?];
        let mut wall = match privacy {
            Some(privacy) => Wall::new(records, source, plan, privacy, ledger)?,
            None => Wall::without_privacy(records, source, plan, ledger)?,
        };
        let mut released = Vec::new();
        for (power, id) in ids.into_iter().enumerate() {
            released.push(wall.sum(id, &Powers { columns, power })?.values);
        }
        let total = (released[0][0] + released[0][1]).max(2.0);
        let class = |c: usize| {
            let n = released[0][c].clamp(1.0, total - 1.0);
            let column = |d: usize| {
                let mean = (released[1][c * columns + d] / n).clamp(-1.0, 1.0);
                (mean, (released[2][c * columns + d] / n - mean * mean).clamp(MIN_VARIANCE, 1.0))
            };
            ((n / total).ln(), (0..columns).map(column).collect())
        };
        Ok((Self { classes: [class(0), class(1)] }, wall.finish(0)?))
    }

    /// The log odds of the second class.
    #[must_use]
    pub fn log_odds(&self, inputs: &[f64]) -> f64 {
        let score = |(share, columns): &(f64, Vec<(f64, f64)>)| {
            let logs = columns.iter().zip(inputs).map(|((m, v), x)| -0.5 * ((x - m).powi(2) / v + v.ln()));
            share + logs.sum::<f64>()
        };
        score(&self.classes[1]) - score(&self.classes[0])
    }
}

/// Powers of the columns, in the place of the record's class.
struct Powers {
    columns: usize,
    power: usize,
}

impl Query for Powers {
    fn width(&self) -> usize {
        if self.power == 0 { 2 } else { 2 * self.columns }
    }

    fn contribute(&self, record: &[f64], out: &mut [f64]) {
        let class = usize::from(record[self.columns] > 0.0);
        if self.power == 0 {
            out[class] = 1.0;
            return;
        }
        for (out, x) in out[class * self.columns..].iter_mut().zip(&record[..self.columns]) {
            *out = x.clamp(-1.0, 1.0).powi(self.power as i32);
        }
    }
}
