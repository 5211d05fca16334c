//! Distinguishing games on private evaluations: the records of a game are test records, and the fitted model is public.

use std::sync::{Arc, Mutex};

use reticent_core::budget::{Adjacency, Privacy, Unlimited};
use reticent_core::evaluation::{EvaluationPlan, Judged};
use reticent_core::model::{Posterior, Target};
use reticent_core::observer::{Observer, ObserverError, Step};
use reticent_core::receipt::Receipt;
use reticent_core::wall::{NoiseSource, Records, Wall};

use crate::case::Case;
use crate::clock::of_thread;
use crate::failure::Failure;
use crate::game::{Effort, Games};
use crate::library::{Mechanism, encode, total_mu};
use crate::row::{Claim, Row};

/// A budget so large that few games show how tight the noise is: its mu is about 1.6.
const BUDGET: (f64, f64) = (8.0, 1e-5);

/// Keeps the values of the release.
struct Recorder(Arc<Mutex<Vec<f64>>>);

impl Observer for Recorder {
    fn on_release(&mut self, _: Step<'_>, values: &[f64]) -> Result<(), ObserverError> {
        *self.0.lock().expect("no other thread") = values.to_vec();
        Ok(())
    }
}

/// A model that was fitted without noise, to be evaluated on private records.
struct Evaluated {
    posterior: Box<dyn Posterior>,
    middle: Vec<f64>,
    records: usize,
    privacy: Privacy,
}

impl Evaluated {
    fn new(case: &Case, privacy: Privacy) -> Result<Self, Failure> {
        let mechanism = Mechanism::without_noise(case, case.records, privacy)?;
        let rows = encode(case, &case.ordinary(case.records))?;
        let result = mechanism.run_with_seed(&rows, usize::MAX, 1)?.result;
        let (posterior, _) = result.ok_or_else(|| Failure::new("a fit has no result"))??;
        let middle = vec![0.0; case.columns.iter().sum()];
        Ok(Self { posterior, middle, records: case.records, privacy })
    }

    fn plan(&self) -> Result<EvaluationPlan<'_>, Failure> {
        let judged =
            Judged { posterior: self.posterior.as_ref(), middle: &self.middle, unit: 1.0, bounded: true };
        EvaluationPlan::new(vec![judged], self.records, &self.privacy).map_err(Failure::from_error)
    }

    /// One evaluation: the released values and the receipt. Without noise if that is asked for.
    fn run(&self, rows: &[f64], noise: bool) -> Result<(Vec<f64>, Receipt), Failure> {
        let (plan, values) = (self.plan()?, Arc::new(Mutex::new(Vec::new())));
        let records = Records::new(rows.to_vec(), plan.record_width()).map_err(Failure::from_error)?;
        let source = NoiseSource::from_os().map_err(Failure::from_error)?;
        let releases = plan.releases().map_err(Failure::from_error)?;
        let privacy = noise.then_some(&self.privacy);
        let wall = Wall::open(records, source, releases, privacy, Box::new(Unlimited));
        let wall = wall.map_err(Failure::from_error)?;
        let mut wall = wall.observed_by(Box::new(Recorder(Arc::clone(&values))));
        plan.evaluate(&mut wall).map_err(Failure::from_error)?;
        let receipt = wall.finish(0).map_err(Failure::from_error)?;
        let values = std::mem::take(&mut *values.lock().expect("the run is over"));
        Ok((values, receipt))
    }
}

/// The two data sets of a game, and the direction that distinguishes their releases best.
struct Neighbours {
    rows: Vec<f64>,
    other_rows: Vec<f64>,
    direction: Vec<f64>,
}

impl Neighbours {
    /// Those of the records at the bounds of the case that are farthest apart.
    fn farthest(case: &Case, evaluated: &Evaluated, adjacency: Adjacency) -> Result<Self, Failure> {
        let common = case.ordinary(case.records - 1);
        let with = |line: &String| -> Result<Vec<f64>, Failure> {
            let mut lines = common.clone();
            lines.push(line.clone());
            Ok(encode(case, &lines)?.values)
        };
        let mut sets: Vec<Vec<f64>> = case.extremes.iter().map(with).collect::<Result<_, Failure>>()?;
        if adjacency == Adjacency::AddRemove {
            sets.insert(0, encode(case, &common)?.values);
        }
        let sums = sets.iter().map(|rows| Ok(evaluated.run(rows, false)?.0));
        let sums: Vec<Vec<f64>> = sums.collect::<Result<_, Failure>>()?;
        let mut best = (0.0, 0, 0);
        // Under add/remove the first set lacks the record, and only pairs with it are neighbours.
        for a in 0..if adjacency == Adjacency::AddRemove { 1 } else { sets.len() } {
            for b in a + 1..sets.len() {
                let distance = sums[a].iter().zip(&sums[b]).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
                if distance > best.0 {
                    best = (distance, a, b);
                }
            }
        }
        let (_, a, b) = best;
        // Scores are larger on the first data set.
        let direction = sums[a].iter().zip(&sums[b]).map(|(a, b)| a - b).collect();
        Ok(Self { rows: sets[a].clone(), other_rows: sets[b].clone(), direction })
    }
}

/// Plays evaluations of a model of the case on neighbouring test records. The score is the log likelihood ratio of the noise. `None` if the
/// case has no target.
///
/// # Errors
/// [`Failure`] if an evaluation is refused.
pub fn play(case: &Case, adjacency: Adjacency, effort: &Effort) -> Result<Option<Row>, Failure> {
    if !matches!(case.target, Target::Number | Target::TwoClasses) {
        return Ok(None);
    }
    let privacy = Privacy::new(BUDGET.0, BUDGET.1, adjacency)?;
    let evaluated = Evaluated::new(case, privacy)?;
    let Neighbours { rows, other_rows, direction } = Neighbours::farthest(case, &evaluated, adjacency)?;
    let (_, receipt) = evaluated.run(&rows, true)?;
    let cost = receipt.guarantee.cost().ok_or_else(|| Failure::new("the receipt claims nothing"))?;
    let claim = Claim { epsilon: cost.epsilon.upper, delta: privacy.delta(), mu: total_mu(&receipt) };
    let game = |rows: &[f64]| {
        let (values, _) = evaluated.run(rows, true)?;
        Ok(vec![values.iter().zip(&direction).map(|(value, direction)| value * direction).sum::<f64>()])
    };
    let games = Games::play(effort, of_thread, || game(&rows), || game(&other_rows))?;
    let row = games.row(format!("evaluation of {}: its release", case.name), adjacency, claim);
    Ok(Some(Row { mu: claim.mu.map(|_| games.separation()), ..row }))
}
