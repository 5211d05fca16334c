//! Private sigmoid belief networks of binary images: Figure 8 of the paper.

use super::Images;
use crate::error::ExperimentError;
use crate::figure::{Scale, Series, lines};
use crate::table::{Cell, Table};
use reticent_accounting::{Event, Method as Accountant, Sampling, account};
use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::engine::vb::{StepSize, VbPlan as _};
use reticent_core::model::sigmoid_belief::{BeliefModel, BeliefPlan, Curvature};
use reticent_core::wall::{NoiseSource, Records, WallError};
use serde::Serialize;

/// Settings of the experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// $K$.
    pub units: usize,
    /// Batch sizes; each run makes one pass over the images.
    pub batches: Vec<usize>,
    /// $\sigma$.
    pub noise_multiplier: f64,
    /// How the likelihood is bounded: six blocks as in the paper, or four.
    pub curvature: Curvature,
    /// The delta of the true epsilon.
    pub delta: f64,
    /// Number of test images.
    pub tested: usize,
}

/// What the paper prints for $\sigma = 1$, at a delta of $10^{-4}$; its accuracies are only drawn.
const PRINTED: [(usize, f64); 4] = [(400, 1.34), (800, 1.74), (1600, 2.44), (3200, 3.34)];
const PAPER_DELTA: f64 = 1e-4;

/// Results for a batch size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// Images in a batch.
    pub batch: usize,
    /// The share of pixels of test images that have the value which is most frequent in training images, without privacy: what a network without
    /// units could do.
    pub most_frequent: f64,
    /// The share of pixels of test images that are reconstructed, without privacy.
    pub accuracy: f64,
    /// The same with it.
    pub private_accuracy: f64,
    /// Epsilon as printed in the paper.
    pub printed: Option<f64>,
    /// The same by the moments accountant here, at the paper's delta.
    pub moments: f64,
    /// By the tightest bound, at the paper's delta.
    pub tight: f64,
    /// And at the experiment's.
    pub epsilon: f64,
}

impl Experiment {
    /// Fits with and without noise at each batch size.
    ///
    /// # Errors
    /// Errors of the wall or the accountant.
    pub fn run(
        &self,
        train: &Images,
        test: &Images,
        mut done: impl FnMut(usize),
    ) -> Result<Vec<Outcome>, ExperimentError> {
        let mut outcomes = Vec::new();
        for (k, &batch) in self.batches.iter().enumerate() {
            outcomes.push(self.one(batch, train, test)?);
            done(k + 1);
        }
        Ok(outcomes)
    }

    fn one(&self, batch: usize, train: &Images, test: &Images) -> Result<Outcome, ExperimentError> {
        let records = train.values.len() / train.pixels;
        if batch > records {
            return Err(ExperimentError::TooFew {
                what: "the training set".into(),
                found: records,
                needed: batch,
            });
        }
        let model = BeliefModel::new(train.pixels, self.units, self.curvature);
        let steps = (records / batch).max(1) as u64;
        let mut plan = BeliefPlan::with_noise(&model, records, Some(batch), steps, self.noise_multiplier);
        plan.step_size = StepSize::Linear;
        let sampling = Sampling::Fixed { batch: batch as u64, records: records as u64 };
        let event = Event::gaussian(self.noise_multiplier, sampling).repeat(steps);
        let epsilon = |delta, accountant| {
            account(&event, Adjacency::ReplaceOne, delta, accountant).map(|cost| cost.epsilon.upper)
        };
        let cost = plan.price(self.delta)?.epsilon.upper;
        let privacy = Privacy::new(cost * (1.0 + 1e-9), self.delta, Adjacency::ReplaceOne)?;
        let fit = |privacy: Option<&Privacy>| -> Result<f64, ExperimentError> {
            let records = Records::new(train.values.clone(), train.pixels)?;
            let source = NoiseSource::from_os().map_err(WallError::from)?;
            let (posterior, _) = plan.run(records, source, privacy, Box::new(Unlimited))?;
            let images = test.values.chunks_exact(test.pixels).take(self.tested);
            let count = images.len().max(1) as f64;
            let accuracy = |image: &[f64]| {
                let ones: Vec<bool> = image.iter().map(|x| *x > 0.0).collect();
                posterior.accuracy(&ones)
            };
            Ok(images.map(accuracy).sum::<f64>() / count)
        };
        Ok(Outcome {
            batch,
            most_frequent: most_frequent(train, test, self.tested),
            accuracy: fit(None)?,
            private_accuracy: fit(Some(&privacy))?,
            printed: PRINTED.iter().find(|(size, _)| *size == batch).map(|(_, epsilon)| *epsilon),
            moments: epsilon(PAPER_DELTA, Accountant::Rdp)?,
            tight: epsilon(PAPER_DELTA, Accountant::Auto)?,
            epsilon: cost,
        })
    }
}

/// Accuracy of predicting the most frequent value of each pixel.
fn most_frequent(train: &Images, test: &Images, tested: usize) -> f64 {
    let mut sums = vec![0.0; train.pixels];
    for image in train.values.chunks_exact(train.pixels) {
        sums.iter_mut().zip(image).for_each(|(sum, x)| *sum += x);
    }
    let images = test.values.chunks_exact(test.pixels).take(tested);
    let pixels = (images.len() * test.pixels).max(1) as f64;
    let right =
        |image: &[f64]| image.iter().zip(&sums).filter(|(x, sum)| (**x > 0.0) == (**sum > 0.0)).count();
    images.map(right).sum::<usize>() as f64 / pixels
}

/// Accuracies, with the printed and the actual epsilon.
///
/// # Errors
/// None in practice: rows are as wide as the table.
pub fn table(outcomes: &[Outcome]) -> Result<Table, ExperimentError> {
    let mut table = Table::new(&[
        "batch",
        "most frequent values",
        "accuracy, no privacy",
        "accuracy, private",
        "epsilon printed",
        "by moments",
        "tight",
        "at our delta",
    ]);
    for outcome in outcomes {
        table.push(vec![
            (outcome.batch as f64).into(),
            outcome.most_frequent.into(),
            outcome.accuracy.into(),
            outcome.private_accuracy.into(),
            outcome.printed.map_or_else(|| Cell::from(""), Cell::Number),
            outcome.moments.into(),
            outcome.tight.into(),
            outcome.epsilon.into(),
        ])?;
    }
    Ok(table)
}

/// The share of pixels that are reconstructed, by the true epsilon.
#[must_use]
pub fn figure(outcomes: &[Outcome]) -> String {
    let of = |name: &str, accuracy: fn(&Outcome) -> f64| {
        Series::new(name, outcomes.iter().map(|outcome| (outcome.epsilon, accuracy(outcome))).collect())
    };
    let reference = |series: Series| Series { is_reference: true, ..series };
    let series = [
        of("private", |o| o.private_accuracy),
        of("same batches, without privacy", |o| o.accuracy),
        reference(of("most frequent value of a pixel", |o| o.most_frequent)),
    ];
    let axes = (("true epsilon", Scale::Logarithmic), ("share of pixels reconstructed", Scale::Linear));
    lines("Sigmoid belief networks of binary images", axes.0, axes.1, &series)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Images of nine pixels that are all on or all off. The moments accountant prints what the paper does for its batch sizes; the tight
    /// one is below it.
    #[test]
    fn images_are_reconstructed_and_costs_are_those_of_the_paper() {
        let images = |n: usize| Images {
            pixels: 9,
            values: (0..n).flat_map(|i| [if i % 2 == 0 { 1.0 } else { -1.0 }; 9]).collect(),
        };
        let experiment = Experiment {
            units: 2,
            batches: vec![400, 3200],
            noise_multiplier: 1.0,
            curvature: Curvature::Quadratic,
            delta: 1e-6,
            tested: 20,
        };
        let mut seen = 0;
        let outcomes = experiment.run(&images(60_000), &images(20), |k| seen = k).unwrap();
        assert_eq!(seen, 2);
        for outcome in &outcomes {
            let printed = outcome.printed.unwrap();
            assert!(outcome.moments < 1.05 * printed, "{outcome:?}");
            assert!(outcome.tight < outcome.moments && outcome.tight < outcome.epsilon, "{outcome:?}");
            assert!(outcome.accuracy > 0.9, "{outcome:?}");
            // Half of the images are on.
            assert!((outcome.most_frequent - 0.5).abs() < 1e-9, "{outcome:?}");
        }
        assert!(outcomes[1].private_accuracy > 0.6, "{outcomes:?}");
        assert_eq!(table(&outcomes).unwrap().rows().len(), 2);
        assert!(figure(&outcomes).starts_with("<svg"));
    }
}
